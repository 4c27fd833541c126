//! Watches: what changes in a folder, told as it happens or kept until it is asked for.

use std::{
    collections::{HashMap, VecDeque},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::{net::unix::pipe, task::AbortHandle};

use super::{
    super::{files::UNNAMED, guest::Guest, paths, users::Everybody},
    descent::Descent,
    describe, fault,
};
use crate::wire::{
    Code, Empty, Fault,
    filesystem::{
        CHMOD, CREATE, FilesystemEvent, REMOVE, RENAME, WRITE, WatchRequest, Watcher as WatcherName, WatcherEvents,
    },
};

/// So many changes wait for one who asks for them now and then.
const MOST_KEPT: usize = 16_384;
const MOST_WATCHERS: usize = 256;

/// Follows the changes in a folder.
pub(in crate::daemon) struct Watch {
    /// To the runtime it is something to read from, like a pipe.
    inotify: pipe::Receiver,
    root: PathBuf,
    recursive: bool,
    include_entry: bool,
    /// The watched folders, relative to the root.
    folders: HashMap<i32, PathBuf>,
    guest: Arc<Guest>,
}

/// Begins a watch; it is in place when this returns.
pub(in crate::daemon) fn watch(guest: &Arc<Guest>, user: Option<&str>, request: &WatchRequest) -> Result<Watch, Fault> {
    let root = paths::resolve(&request.path, &guest.user(user)?, None)?;
    let broken = |error: io::Error| fault(&error, &root);
    if !fs::metadata(&root).map_err(broken)?.is_dir() {
        return Err(Fault::new(Code::InvalidArgument, format!("path is not a directory: {}", root.display())));
    }
    if !request.allow_network_mounts && is_network_mount(&root) {
        let message = format!("path is on a network mount, where changes are not seen: {}", root.display());
        return Err(Fault::new(Code::InvalidArgument, message));
    }
    let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(|error| broken(error.into()))?;
    let inotify = pipe::Receiver::from_owned_fd_unchecked(inotify).map_err(broken)?;
    let mut watch = Watch {
        inotify,
        root: root.clone(),
        recursive: request.recursive,
        include_entry: request.include_entry,
        folders: HashMap::new(),
        guest: guest.clone(),
    };
    watch.add(Path::new("")).map_err(broken)?;
    if request.recursive {
        watch.add_below(Path::new(""), &mut Vec::new());
    }
    Ok(watch)
}

impl Watch {
    /// What changed since; waits until something did.
    pub(in crate::daemon) async fn next(&mut self) -> Result<Vec<FilesystemEvent>, Fault> {
        loop {
            let broken = |error: io::Error| Fault::new(Code::Internal, format!("the watch broke: {error}"));
            self.inotify.readable().await.map_err(broken)?;
            let mut buffer = [0; 4096];
            let seen = match self.inotify.try_read(&mut buffer) {
                Ok(length) => understand(&buffer[..length]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    continue;
                }
                Err(error) => return Err(broken(error)),
            };
            let events = self.tell(seen)?;
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    fn tell(&mut self, seen: Vec<(i32, ReadFlags, Option<PathBuf>)>) -> Result<Vec<FilesystemEvent>, Fault> {
        let everybody = self.guest.users.everybody();
        let mut events: Vec<FilesystemEvent> = Vec::new();
        for (folder, flags, name) in seen {
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                return Err(Fault::new(Code::DataLoss, "more changed at once than could be remembered"));
            }
            if flags.contains(ReadFlags::IGNORED) {
                self.folders.remove(&folder);
                continue;
            }
            // What happens to a watched folder itself is told by the one above it.
            let (Some(folder), Some(name)) = (self.folders.get(&folder), name) else { continue };
            let name = folder.join(name);
            if self.is_on_its_way(&name, flags) {
                continue;
            }
            let is_folder = flags.contains(ReadFlags::ISDIR);
            let kind = if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                CREATE
            } else if flags.contains(ReadFlags::MODIFY) {
                WRITE
            } else if flags.contains(ReadFlags::DELETE) {
                REMOVE
            } else if flags.contains(ReadFlags::MOVED_FROM) {
                RENAME
            } else if flags.contains(ReadFlags::ATTRIB) {
                CHMOD
            } else {
                continue;
            };
            if kind == RENAME && is_folder {
                self.forget(&name);
            }
            self.push(&mut events, &name, kind, &everybody);
            if kind == CREATE && is_folder && self.recursive && self.add(&name).is_ok() {
                let mut below = Vec::new();
                self.add_below(&name, &mut below);
                for name in below {
                    self.push(&mut events, &name, CREATE, &everybody);
                }
            }
        }
        Ok(events)
    }

    /// Whether something is a file that is still coming in: it has a name of ours, or none, and then the kernel calls it
    /// by a number that nobody finds.
    fn is_on_its_way(&self, name: &Path, flags: ReadFlags) -> bool {
        let last = name.file_name().unwrap_or_default().as_bytes();
        let numbered = last.strip_prefix(b"#").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit));
        let left = flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        last.starts_with(UNNAMED.as_bytes()) || numbered && !left && fs::symlink_metadata(self.root.join(name)).is_err()
    }

    fn push(&self, events: &mut Vec<FilesystemEvent>, name: &Path, kind: i32, everybody: &Everybody) {
        let text = name.to_string_lossy().into_owned();
        // One write that came in pieces is one change.
        if kind == WRITE && events.last().is_some_and(|last| last.kind == WRITE && last.name == text) {
            return;
        }
        let entry = match kind {
            CREATE | WRITE | CHMOD if self.include_entry => describe(&self.root.join(name), everybody).ok(),
            _ => None,
        };
        events.push(FilesystemEvent { name: text, kind, entry });
    }

    fn add(&mut self, folder: &Path) -> io::Result<()> {
        let flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR;
        let watched = inotify::add_watch(&self.inotify, self.root.join(folder), flags)?;
        self.folders.insert(watched, folder.to_owned());
        Ok(())
    }

    /// Watches every folder below one, and names all that is there: it may have been made before the watch was.
    fn add_below(&mut self, folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(mut descent) = Descent::begin(&self.root.join(folder)) else { return };
        let Ok(first) = descent.look() else { return };
        let mut here = folder.to_owned();
        let mut levels = vec![first.into_iter()];
        while let Some(level) = levels.last_mut() {
            let Some(next) = level.next() else {
                levels.pop();
                if !levels.is_empty() {
                    here.pop();
                    if descent.leave().is_err() {
                        return;
                    }
                }
                continue;
            };
            here.push(std::ffi::OsStr::from_bytes(next.name.as_bytes()));
            found.push(here.clone());
            if next.is_folder && self.add(&here).is_ok() && descent.enter(&next.name).is_ok() {
                levels.push(descent.look().unwrap_or_default().into_iter());
                continue;
            }
            here.pop();
        }
    }

    fn forget(&mut self, gone: &Path) {
        let inotify = &self.inotify;
        self.folders.retain(|watched, folder| {
            let stays = !folder.starts_with(gone);
            if !stays {
                let _ = inotify::remove_watch(inotify, *watched);
            }
            stays
        });
    }
}

/// The events in what the kernel wrote: watch, mask, cookie, length, and a name filled up with zeros.
fn understand(mut bytes: &[u8]) -> Vec<(i32, ReadFlags, Option<PathBuf>)> {
    let mut events = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(16) {
        let word = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
        let length = u32::from_ne_bytes(word(12)) as usize;
        let Some((name, rest)) = rest.split_at_checked(length) else { break };
        let name = name.split(|byte| *byte == 0).next().filter(|name| !name.is_empty());
        let name = name.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)));
        events.push((i32::from_ne_bytes(word(0)), ReadFlags::from_bits_retain(u32::from_ne_bytes(word(4))), name));
        bytes = rest;
    }
    events
}

fn is_network_mount(path: &Path) -> bool {
    const NFS: u64 = 0x6969;
    const SMB: u64 = 0x517B;
    const CIFS: u64 = 0xFF53_4D42;
    const SMB2: u64 = 0xFE53_4D42;
    const FUSE: u64 = 0x6573_5546;
    rustix::fs::statfs(path).is_ok_and(|found| matches!(found.f_type as u64, NFS | SMB | CIFS | SMB2 | FUSE))
}

/// A watch whose changes are asked for now and then.
pub(in crate::daemon) struct Watcher {
    kept: Arc<Mutex<Kept>>,
    task: AbortHandle,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<FilesystemEvent>,
    fault: Option<Fault>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Begins a watch that is asked now and then.
pub(in crate::daemon) fn create_watcher(
    guest: &Arc<Guest>,
    user: Option<&str>,
    request: WatchRequest,
) -> Result<WatcherName, Fault> {
    let mut watch = watch(guest, user, &request)?;
    let mut watchers = lock(&guest.watchers);
    if watchers.len() >= MOST_WATCHERS {
        return Err(Fault::new(Code::ResourceExhausted, format!("there are {MOST_WATCHERS} watchers already")));
    }
    let kept = Arc::new(Mutex::new(Kept::default()));
    let theirs = kept.clone();
    let task = tokio::spawn(async move {
        loop {
            let next = watch.next().await;
            let mut kept = lock(&theirs);
            match next {
                Ok(events) => kept.events.extend(events),
                Err(fault) => {
                    kept.fault = Some(fault);
                    return;
                }
            }
            if kept.events.len() > MOST_KEPT {
                kept.events.clear();
                kept.fault = Some(Fault::new(Code::DataLoss, "more changed than could be remembered"));
            }
        }
    });
    let watcher_id = format!("w{}", (1..).find(|number| !watchers.contains_key(&format!("w{number}"))).unwrap_or(0));
    watchers.insert(watcher_id.clone(), Watcher { kept, task: task.abort_handle() });
    Ok(WatcherName { watcher_id })
}

/// Takes what a watcher has seen.
pub(in crate::daemon) fn watcher_events(guest: &Guest, request: &WatcherName) -> Result<WatcherEvents, Fault> {
    let watchers = lock(&guest.watchers);
    let watcher = watchers.get(&request.watcher_id).ok_or_else(|| unknown(request))?;
    let mut kept = lock(&watcher.kept);
    match kept.fault.take() {
        Some(fault) => Err(fault),
        None => Ok(WatcherEvents { events: kept.events.drain(..).collect() }),
    }
}

/// Ends a watcher.
pub(in crate::daemon) fn remove_watcher(guest: &Guest, request: &WatcherName) -> Result<Empty, Fault> {
    lock(&guest.watchers).remove(&request.watcher_id).map(|_| Empty {}).ok_or_else(|| unknown(request))
}

fn unknown(request: &WatcherName) -> Fault {
    Fault::new(Code::NotFound, format!("watcher with id {} not found", request.watcher_id))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
