//! Folders in and out, as tar archives.
//!
//! Packing follows no link and keeps modes, times and links. Unpacking walks from the folder down by descriptors that
//! refuse links, so neither `..` nor a link, in the archive or already there, leads out of it.

use std::{
    ffi::{CString, OsStr, OsString},
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Component, Path, PathBuf},
};

use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt;
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, Timespec, Timestamps},
    io::Errno,
    process::{Gid, Uid},
};
use tar::{EntryType, Header};
use tokio::sync::mpsc;

use super::super::{
    body::{Answer, Body, Refusal, status},
    files::{CHUNK, Inflater, WAITING, drain},
    filesystem::{Descent, make_parents},
    paths,
    serve::Asked,
    users::User,
};

/// Gives a folder.
pub(in crate::daemon) async fn pack(asked: Asked) -> Result<Answer, Refusal> {
    let user = asked.named_user()?;
    let path = paths::resolve(&asked.parameter("path").unwrap_or_default(), &user, None)?;
    let descent = Descent::begin(&path).map_err(|error| Refusal::of_io(&error, &path))?;
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(WAITING);
    tokio::task::spawn_blocking(move || {
        let mut pipe = Pipe { sender, held: Vec::new() };
        let result = write_tree(descent, &mut pipe, Owners::Nobody).and_then(|()| pipe.flush());
        if let Err(error) = result {
            let _ = pipe.sender.blocking_send(Err(error));
        }
    });
    let content = stream::unfold(receiver, |mut receiver| async move { Some((receiver.recv().await?, receiver)) });
    let mut answer = Response::new(Body::stream(content, None));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    Ok(answer)
}

/// Takes a folder.
pub(in crate::daemon) async fn unpack(mut asked: Asked) -> Result<Answer, Refusal> {
    let result = take(&mut asked).await;
    if result.is_err() {
        drain(asked.request.into_body());
    }
    result.map(|()| status(StatusCode::NO_CONTENT))
}

async fn take(asked: &mut Asked) -> Result<(), Refusal> {
    let user = asked.named_user()?;
    let path = paths::resolve(&asked.parameter("path").unwrap_or_default(), &user, None)?;
    let coding = asked.header(header::CONTENT_ENCODING);
    let mut inflater = Inflater::of(coding).ok_or_else(|| bad("only identity and gzip are understood"))?;
    make_parents(&path.join("x"), &user).map_err(|error| Refusal::of_io(&error, &path))?;
    let root = open_root(&path).map_err(|error| Refusal::of_io(&error, &path))?;
    let (sender, receiver) = mpsc::channel::<Bytes>(WAITING);
    let unpacked = tokio::task::spawn_blocking(move || {
        let mut source = Source { receiver, held: Bytes::new() };
        read_tree(&mut source, root, &Owners::Everything(user))?;
        // What follows the archive is padding.
        io::copy(&mut source, &mut io::sink()).map(drop)
    });
    let mut broken = None;
    'body: while let Some(frame) = asked.request.body_mut().frame().await {
        let data = match frame {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(error) => {
                broken = Some(bad(format!("the upload broke off: {error}")));
                break;
            }
        };
        for piece in inflater.pieces(data) {
            match inflater.inflate(piece) {
                // The other side stopped: it knows why.
                Ok(bytes) => {
                    if !bytes.is_empty() && sender.send(bytes).await.is_err() {
                        break 'body;
                    }
                }
                Err(error) => {
                    broken = Some(bad(format!("the content is not gzip: {error}")));
                    break 'body;
                }
            }
        }
    }
    drop(sender);
    let result = unpacked.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    match (broken, result) {
        (Some(broken), _) => Err(broken),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) if error.kind() == io::ErrorKind::InvalidData => Err(bad(error.to_string())),
        (None, Err(error)) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::Other) => {
            Err(bad(format!("the archive is not understood: {error}")))
        }
        (None, Err(error)) => Err(Refusal::of_io(&error, &path)),
    }
}

/// Copies something to another place with all it has, when it cannot be renamed.
pub(in crate::daemon) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (from.parent(), from.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (Some(new_parent), Some(new_name)) = (to.parent(), to.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (reader, writer) = io::pipe()?;
    let source = Descent::begin(parent)?;
    let target = open_root(new_parent)?;
    let (name, new_name) = (CString::new(name.as_bytes())?, new_name.to_owned());
    std::thread::scope(|scope| {
        let packing = scope.spawn(move || {
            let mut writer = io::BufWriter::with_capacity(CHUNK, writer);
            let mut archive = tar::Builder::new(&mut writer);
            let mut source = source;
            write_one(&mut source, &mut archive, &name, &PathBuf::from(&new_name), Owners::Kept)?;
            archive.finish()?;
            drop(archive);
            writer.flush()
        });
        let unpacked = read_tree(&mut io::BufReader::with_capacity(CHUNK, reader), target, &Owners::Kept);
        let packed = packing.join().unwrap_or_else(|_| Err(io::Error::other("the copy broke off")));
        unpacked.and(packed)
    })
}

/// Whose files are.
#[derive(Clone)]
enum Owners {
    /// The archive does not say.
    Nobody,
    /// As they were.
    Kept,
    /// All of them one user's.
    Everything(User),
}

fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

fn write_tree(mut descent: Descent, out: &mut impl Write, owners: Owners) -> io::Result<()> {
    let mut archive = tar::Builder::new(out);
    let first = descent.look()?;
    walk(&mut descent, &mut archive, first, PathBuf::new(), &owners)?;
    archive.finish()
}

/// Writes what is below and beside `first`, in the order of a walk, without a stack of calls.
fn walk(
    descent: &mut Descent,
    archive: &mut tar::Builder<impl Write>,
    first: Vec<super::super::filesystem::Found>,
    mut here: PathBuf,
    owners: &Owners,
) -> io::Result<()> {
    let mut levels = vec![first.into_iter()];
    while let Some(level) = levels.last_mut() {
        let Some(found) = level.next() else {
            levels.pop();
            if !levels.is_empty() {
                here.pop();
                descent.leave()?;
            }
            continue;
        };
        here.push(OsStr::from_bytes(found.name.as_bytes()));
        write_entry(descent, archive, &found.name, &here, owners)?;
        if found.is_folder && descent.enter(&found.name).is_ok() {
            levels.push(descent.look()?.into_iter());
        } else {
            here.pop();
        }
    }
    Ok(())
}

fn write_one(
    descent: &mut Descent,
    archive: &mut tar::Builder<impl Write>,
    name: &CString,
    as_path: &Path,
    owners: Owners,
) -> io::Result<()> {
    write_entry(descent, archive, name, as_path, &owners)?;
    match descent.enter(name) {
        Ok(()) => {
            let first = descent.look()?;
            walk(descent, archive, first, as_path.to_owned(), &owners)
        }
        // A file or a link: that was all.
        Err(_) => Ok(()),
    }
}

/// Writes one thing. What went away meanwhile, and what no archive should carry (sockets, devices), is left out.
fn write_entry(
    descent: &Descent,
    archive: &mut tar::Builder<impl Write>,
    name: &CString,
    path: &Path,
    owners: &Owners,
) -> io::Result<()> {
    let Ok(stat) = rustix::fs::statat(descent.here(), name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    let mut header = Header::new_gnu();
    header.set_mode(stat.st_mode & 0o7777);
    header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
    let (uid, gid) = if let Owners::Kept = owners { (stat.st_uid, stat.st_gid) } else { (0, 0) };
    header.set_uid(uid.into());
    header.set_gid(gid.into());
    header.set_size(0);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            header.set_entry_type(EntryType::Directory);
            archive.append_data(&mut header, path, io::empty())
        }
        FileType::Symlink => {
            header.set_entry_type(EntryType::Symlink);
            let target = rustix::fs::readlinkat(descent.here(), name, Vec::new())?;
            archive.append_link(&mut header, path, OsStr::from_bytes(target.as_bytes()))
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let Ok(file) = rustix::fs::openat(descent.here(), name, flags, Mode::empty()) else { return Ok(()) };
            let stat = rustix::fs::fstat(&file)?;
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            header.set_entry_type(EntryType::Regular);
            header.set_size(size);
            // A file that grows is cut, one that shrinks is filled up: the archive stays readable.
            let content = File::from(file).take(size).chain(io::repeat(0)).take(size);
            archive.append_data(&mut header, path, io::BufReader::with_capacity(CHUNK.min(size as usize + 1), content))
        }
        FileType::Fifo => {
            header.set_entry_type(EntryType::Fifo);
            archive.append_data(&mut header, path, io::empty())
        }
        _ => Ok(()),
    }
}

/// Unpacks an archive below a folder.
fn read_tree(source: &mut impl Read, root: OwnedFd, owners: &Owners) -> io::Result<()> {
    let mut archive = tar::Archive::new(source);
    let mut target = Target { root, parent: None, owners: owners.clone(), folders: Vec::new() };
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = safe_path(&entry.path_bytes())?;
        if path.is_empty() {
            continue;
        }
        target.put(&mut entry, path)?;
    }
    target.finish()
}

/// The parts of a path in an archive: relative, and never up.
fn safe_path(bytes: &[u8]) -> io::Result<Vec<OsString>> {
    let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) if !part.as_bytes().contains(&0) => parts.push(part.to_owned()),
            Component::CurDir | Component::RootDir => {}
            _ => return Err(leads_out(&path)),
        }
    }
    Ok(parts)
}

fn leads_out(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("'{}' leads out of the folder", path.display()))
}

struct Target {
    root: OwnedFd,
    /// The folder of the last entry: the next one is usually in it too.
    parent: Option<(Vec<OsString>, OwnedFd)>,
    owners: Owners,
    /// Folders get their times and modes at the end, when nothing is put into them any more.
    folders: Vec<(Vec<OsString>, u32, i64)>,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

impl Target {
    fn put<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>, mut path: Vec<OsString>) -> io::Result<()> {
        let Some(name) = path.pop() else { return Ok(()) };
        let header = entry.header();
        let mode = header.mode()? & 0o7777;
        let time = i64::try_from(header.mtime()?).unwrap_or(0);
        let owner = match &self.owners {
            Owners::Nobody => None,
            Owners::Kept => Some((header.uid()? as u32, header.gid()? as u32)),
            Owners::Everything(user) => Some((user.uid, user.gid)),
        };
        let kind = header.entry_type();
        self.enter(&path)?;
        let root = &self.root;
        let parent = self.parent.as_ref().map_or(root, |(_, parent)| parent);
        let name_c = CString::new(name.as_bytes())?;
        match kind {
            EntryType::Directory => {
                match rustix::fs::mkdirat(parent, &name_c, Mode::from_raw_mode(0o700)) {
                    Ok(()) => own(parent, &name_c, owner)?,
                    Err(Errno::EXIST) if is_folder(parent, &name_c) => {}
                    Err(Errno::EXIST) => {
                        rustix::fs::unlinkat(parent, &name_c, AtFlags::empty())?;
                        rustix::fs::mkdirat(parent, &name_c, Mode::from_raw_mode(0o700))?;
                        own(parent, &name_c, owner)?;
                    }
                    Err(error) => return Err(error.into()),
                }
                path.push(name);
                self.folders.push((path, mode, time));
                return Ok(());
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().ok_or_else(|| io::Error::other("a link without a target"))?;
                remove_file(parent, &name_c)?;
                rustix::fs::symlinkat(&*target, parent, &name_c)?;
                own(parent, &name_c, owner)?;
                set_time(parent, &name_c, time)?;
            }
            EntryType::Link => {
                let target = entry.link_name_bytes().ok_or_else(|| io::Error::other("a link without a target"))?;
                let mut target = safe_path(&target)?;
                let Some(old) = target.pop() else { return Err(leads_out(Path::new("."))) };
                let old = CString::new(old.as_bytes())?;
                let parent = parent.try_clone()?;
                let folder = walk_to(&self.root, &target, None)?;
                remove_file(&parent, &name_c)?;
                rustix::fs::linkat(&folder, &old, &parent, &name_c, AtFlags::empty())?;
            }
            EntryType::Fifo => {
                remove_file(parent, &name_c)?;
                rustix::fs::mknodat(parent, &name_c, FileType::Fifo, Mode::from_raw_mode(mode), 0)?;
                own(parent, &name_c, owner)?;
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                // A new file rather than the old one's content: what stood here may have other names.
                remove_file(parent, &name_c)?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = rustix::fs::openat(parent, &name_c, flags, Mode::from_raw_mode(0o600))?;
                let mut file = File::from(file);
                copy(entry, &mut file)?;
                if let Some((uid, gid)) = owner {
                    tolerate(rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))))?;
                }
                rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
                rustix::fs::futimens(&file, &times(time))?;
            }
            // Devices are not for guests to bring.
            _ => {}
        }
        Ok(())
    }

    /// Goes to the folder of the next entry, making what is missing.
    fn enter(&mut self, path: &[OsString]) -> io::Result<()> {
        if self.parent.as_ref().is_none_or(|(at, _)| at != path) {
            self.parent = Some((path.to_vec(), walk_to(&self.root, path, Some(&self.owners))?));
        }
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        for (path, mode, time) in self.folders.iter().rev() {
            let folder = match walk_to(&self.root, path, None) {
                Ok(folder) => folder,
                // A later entry put something else there.
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::NotFound) => continue,
                Err(error) => return Err(error),
            };
            rustix::fs::fchmod(&folder, Mode::from_raw_mode(*mode))?;
            rustix::fs::futimens(&folder, &times(*time))?;
        }
        Ok(())
    }
}

/// Walks down by descriptors that refuse links; makes what is missing when it may.
fn walk_to(root: &OwnedFd, path: &[OsString], make: Option<&Owners>) -> io::Result<OwnedFd> {
    let mut here = root.try_clone()?;
    for part in path {
        let name = CString::new(part.as_bytes())?;
        let next = match (rustix::fs::openat(&here, &name, FOLDER, Mode::empty()), make) {
            (Err(Errno::NOENT), Some(owners)) => {
                rustix::fs::mkdirat(&here, &name, Mode::from_raw_mode(0o755))?;
                if let Owners::Everything(user) = owners {
                    own(&here, &name, Some((user.uid, user.gid)))?;
                }
                rustix::fs::openat(&here, &name, FOLDER, Mode::empty())
            }
            (result, _) => result,
        };
        here = match next {
            Ok(next) => next,
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(leads_out(&path.iter().collect::<PathBuf>())),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(here)
}

fn own(parent: impl AsFd, name: &CString, owner: Option<(u32, u32)>) -> io::Result<()> {
    let Some((uid, gid)) = owner else { return Ok(()) };
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    tolerate(rustix::fs::chownat(parent, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW))
}

/// Someone who is not root makes only what is theirs anyway.
fn tolerate(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::PERM) => Ok(()),
        other => Ok(other?),
    }
}

fn is_folder(parent: impl AsFd, name: &CString) -> bool {
    let stat: rustix::io::Result<Stat> = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn remove_file(parent: impl AsFd, name: &CString) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn set_time(parent: impl AsFd, name: &CString, time: i64) -> io::Result<()> {
    Ok(rustix::fs::utimensat(parent, name, &times(time), AtFlags::SYMLINK_NOFOLLOW)?)
}

fn times(seconds: i64) -> Timestamps {
    let time = Timespec { tv_sec: seconds as _, tv_nsec: 0 };
    Timestamps { last_access: time, last_modification: time }
}

fn copy(from: &mut impl Read, to: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            count => to.write_all(&buffer[..count])?,
        }
    }
}

/// Writes into a body.
struct Pipe {
    sender: mpsc::Sender<io::Result<Bytes>>,
    held: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.held);
        if bytes.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(Ok(bytes.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Reads from a body.
struct Source {
    receiver: mpsc::Receiver<Bytes>,
    held: Bytes,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.held.is_empty() {
            match self.receiver.blocking_recv() {
                Some(bytes) => self.held = bytes,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.held.len());
        buffer[..count].copy_from_slice(&self.held.split_to(count));
        Ok(count)
    }
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}
