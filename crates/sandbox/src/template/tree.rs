//! A folder that becomes a layer. Whatever names it is told, and whatever links lie in it, it writes nowhere else: the
//! kernel resolves every path with the folder as its `/`.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::Path,
    rc::Rc,
};

use rustix::{
    fs::{AtFlags, Dev, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, makedev},
    io::Errno,
};

use super::{
    TemplateError,
    beneath::{erase_entry, names, open_in, open_root},
    error::Doing,
};

/// A name that removes another from the layers below begins so.
const GONE: &[u8] = b".wh.";
/// Hides all that the layers below have in this folder.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Links that lead to links, at most.
const LINKS: usize = 40;

/// What is told of an entry besides its name and content.
#[derive(Debug, Default)]
pub(super) struct Meta {
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) mode: u32,
    /// Seconds since 1970.
    pub(super) changed: i64,
    pub(super) attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Meta {
    /// Something of root's.
    pub(super) fn mode(mode: u32) -> Self {
        Meta { mode, ..Meta::default() }
    }
}

/// A folder that fills. Nothing it is told can reach beyond it.
pub(super) struct Tree {
    root: OwnedFd,
    /// As a plain user everything is ours, and must stay readable to us.
    as_root: bool,
    /// The folder that was written to last, for the next entry is most often in it.
    last: Option<(Vec<u8>, Rc<OwnedFd>)>,
    /// Folders get their permissions and times when nothing more is written into them.
    folders: BTreeMap<Vec<u8>, (u32, i64)>,
    buffer: Vec<u8>,
}

/// The attribute by which overlayfs knows that a folder hides those below.
pub(super) fn opaque_mark() -> &'static str {
    if rustix::process::geteuid().is_root() { "trusted.overlay.opaque" } else { "user.overlay.opaque" }
}

impl Tree {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Tree {
            root: open_root(folder)?,
            as_root: rustix::process::geteuid().is_root(),
            last: None,
            folders: BTreeMap::new(),
            buffer: vec![0; 128 * 1024],
        })
    }

    /// Writes a file of a few bytes.
    pub(super) fn write(&mut self, name: &str, mode: u32, content: &[u8]) -> Result<(), TemplateError> {
        self.file(name.as_bytes(), &Meta::mode(mode), content.len() as u64, &mut &*content).map(|_| ())
    }

    /// Reads a file of a few bytes, if it is there.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, TemplateError> {
        let what = || format!("read {}", show(name.as_bytes()));
        match open_in(&self.root, name.as_bytes(), OFlags::RDONLY | OFlags::NONBLOCK) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            file => {
                let mut text = Vec::new();
                File::from(file.doing(what)?).take(1 << 20).read_to_end(&mut text).doing(what)?;
                Ok(Some(text))
            }
        }
    }

    /// Removes all that a folder has, if it is there. Subfolders stay, empty, where asked.
    pub(super) fn empty(&mut self, name: &str, keep_folders: bool) -> Result<(), TemplateError> {
        self.last = None;
        match open_in(&self.root, name.as_bytes(), OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            folder => folder
                .map_err(io::Error::from)
                .and_then(|folder| empty(&folder, keep_folders))
                .doing(|| format!("empty {}", show(name.as_bytes()))),
        }
    }

    /// Writes a file, or the mark that its name stands for, and says how many bytes it has.
    pub(super) fn file(
        &mut self,
        name: &[u8],
        meta: &Meta,
        size: u64,
        content: &mut impl Read,
    ) -> Result<u64, TemplateError> {
        let (folder, last) = self.place(name)?;
        if last.as_bytes().starts_with(GONE) {
            self.mark(name, &folder, last.as_bytes())?;
            return Ok(0);
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let make = || rustix::fs::openat(&*folder, &last, flags, Mode::RUSR | Mode::WUSR);
        let file = match make() {
            Err(Errno::EXIST) => {
                self.clear(&folder, &last).doing(|| format!("replace {}", show(name)))?;
                make()
            }
            made => made,
        };
        let mut file = File::from(file.doing(|| format!("make {}", show(name)))?);
        let written = copy(content, &mut file, &mut self.buffer, name)?;
        if written != size {
            return Err(TemplateError::invalid(format!("the archive ends in the middle of {}", show(name))));
        }
        let readable = if self.as_root { 0 } else { 0o600 };
        self.dress(&file, meta, meta.mode | readable).doing(|| format!("set the owner of {}", show(name)))?;
        rustix::fs::futimens(&file, &times(meta.changed)).doing(|| format!("set the time of {}", show(name)))?;
        Ok(written)
    }

    /// Makes a folder, or finds it made.
    pub(super) fn folder(&mut self, name: &[u8], meta: &Meta) -> Result<(), TemplateError> {
        let parts = parts(name)?;
        let path = parts.join(b"/".as_slice());
        let folder = if parts.is_empty() {
            open_in(&self.root, b"", OFlags::RDONLY | OFlags::DIRECTORY).doing(|| "open the folder".to_owned())?
        } else {
            self.make_folder(name)?
        };
        self.dress(&folder, meta, 0o700).doing(|| format!("set the owner of {}", show(name)))?;
        self.folders.insert(path, (meta.mode, meta.changed));
        Ok(())
    }

    pub(super) fn symlink(&mut self, name: &[u8], target: &[u8], meta: &Meta) -> Result<(), TemplateError> {
        if target.len() > 4095 {
            return Err(TemplateError::invalid(format!("{} is a link to a name that is too long", show(name))));
        }
        let target = text(target)?;
        let (folder, last) = self.place(name)?;
        let make = || rustix::fs::symlinkat(&target, &*folder, &last);
        match make() {
            Err(Errno::EXIST) => {
                self.clear(&folder, &last).doing(|| format!("replace {}", show(name)))?;
                make()
            }
            made => made,
        }
        .doing(|| format!("make the link {}", show(name)))?;
        // Names that went another way until now may go through the link.
        self.last = None;
        if self.as_root {
            let (user, group) = owner(meta);
            rustix::fs::chownat(&*folder, &last, user, group, AtFlags::SYMLINK_NOFOLLOW)
                .doing(|| format!("set the owner of {}", show(name)))?;
        }
        rustix::fs::utimensat(&*folder, &last, &times(meta.changed), AtFlags::SYMLINK_NOFOLLOW)
            .doing(|| format!("set the time of {}", show(name)))
    }

    /// Gives a file of the same archive a second name.
    pub(super) fn hard_link(&mut self, name: &[u8], target: &[u8]) -> Result<(), TemplateError> {
        let refused = || {
            TemplateError::invalid(format!(
                "{} is another name for {}, which the layer does not have",
                show(name),
                show(target)
            ))
        };
        let wanted = parts(target)?;
        let Some((source_last, source_folder)) = wanted.split_last() else { return Err(refused()) };
        let source_last = text(source_last)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let source_folder = open_in(&self.root, &source_folder.join(b"/".as_slice()), flags).map_err(|_| refused())?;
        let source =
            rustix::fs::statat(&source_folder, &source_last, AtFlags::SYMLINK_NOFOLLOW).map_err(|_| refused())?;
        if !matches!(FileType::from_raw_mode(source.st_mode), FileType::RegularFile | FileType::Symlink) {
            return Err(refused());
        }
        let (folder, last) = self.place(name)?;
        if let Ok(there) = rustix::fs::statat(&*folder, &last, AtFlags::SYMLINK_NOFOLLOW) {
            if (there.st_dev, there.st_ino) == (source.st_dev, source.st_ino) {
                return Ok(());
            }
            self.clear(&folder, &last).doing(|| format!("replace {}", show(name)))?;
        }
        match rustix::fs::linkat(&source_folder, &source_last, &*folder, &last, AtFlags::empty()) {
            // It went away with what it replaced: `a/b` became another name for itself.
            Err(Errno::NOENT) => Err(refused()),
            done => done.doing(|| format!("make the link {}", show(name))),
        }
    }

    /// Gives folders their permissions and times, the deepest first.
    pub(super) fn finish(self) -> Result<(), TemplateError> {
        let reachable = if self.as_root { 0 } else { 0o700 };
        for (path, (mode, changed)) in self.folders.iter().rev() {
            let Ok(folder) = open_in(&self.root, path, OFlags::RDONLY | OFlags::DIRECTORY) else {
                // Replaced by something else later in the archive.
                continue;
            };
            rustix::fs::fchmod(&folder, Mode::from_raw_mode(mode | reachable))
                .doing(|| format!("set the permissions of {}", show(path)))?;
            rustix::fs::futimens(&folder, &times(*changed)).doing(|| format!("set the time of {}", show(path)))?;
        }
        Ok(())
    }

    /// Translates `.wh.` names to overlayfs's marks.
    fn mark(&mut self, name: &[u8], folder: &OwnedFd, last: &[u8]) -> Result<(), TemplateError> {
        if last == OPAQUE {
            return hide_below(folder).doing(|| format!("mark the folder of {}", show(name)));
        }
        let gone = &last[GONE.len()..];
        if gone.starts_with(GONE) {
            // Notes that another kind of union filesystem made for itself.
            return Ok(());
        }
        if matches!(gone, b"" | b"." | b"..") {
            return Err(TemplateError::invalid(format!("{} removes no name", show(name))));
        }
        let gone = text(gone)?;
        match rustix::fs::statat(folder, &gone, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {
                rustix::fs::mknodat(folder, &gone, FileType::CharacterDevice, Mode::empty(), nothing())
                    .doing(|| format!("mark {} as removed", show(name)))
            }
            // What this layer brings itself stays; the folder below must not shine through.
            Ok(there) if FileType::from_raw_mode(there.st_mode) == FileType::Directory => {
                let there = self.open_folder_in(folder, &gone).doing(|| format!("open {}", show(name)))?;
                hide_below(&there).doing(|| format!("mark {}", show(name)))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error).doing(|| format!("look at {}", show(name))),
        }
    }

    /// The folder that holds a name, made where it is missing, and the last part of the name.
    fn place(&mut self, name: &[u8]) -> Result<(Rc<OwnedFd>, CString), TemplateError> {
        let parts = parts(name)?;
        let Some((last, above)) = parts.split_last() else {
            return Err(TemplateError::invalid("the archive has a file without a name"));
        };
        let path = above.join(b"/".as_slice());
        if let Some((known, folder)) = &self.last
            && *known == path
        {
            return Ok((folder.clone(), text(last)?));
        }
        let folder = Rc::new(self.descend(&path)?);
        self.last = Some((path, folder.clone()));
        Ok((folder, text(last)?))
    }

    /// Opens a folder as seen from the root, and makes what is missing on the way. A link on the way is followed as if
    /// the root were `/`, and where it leads nowhere yet, the folder is made there.
    fn descend(&self, path: &[u8]) -> Result<OwnedFd, TemplateError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut path = path.to_vec();
        let mut links = 0;
        'again: loop {
            match open_in(&self.root, &path, flags) {
                Ok(folder) => return Ok(folder),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(blocked(&path, error)),
            }
            let parts: Vec<Vec<u8>> = path
                .split(|byte| *byte == b'/')
                .filter(|part| !matches!(*part, b"" | b"."))
                .map(<[u8]>::to_vec)
                .collect();
            for end in 0..parts.len() {
                let (above, part) = (parts[..end].join(b"/".as_slice()), &parts[end]);
                let folder = open_in(&self.root, &above, flags).map_err(|error| blocked(&above, error))?;
                let name = text(part)?;
                match rustix::fs::mkdirat(&folder, &name, Mode::RWXU) {
                    Ok(()) => {
                        let made = self.open_folder_in(&folder, &name).doing(|| format!("make {}", show(&path)))?;
                        rustix::fs::fchmod(&made, Mode::from_raw_mode(0o755))
                            .doing(|| format!("make {}", show(&path)))?;
                        continue;
                    }
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error).doing(|| format!("make {}", show(&path))),
                }
                let here = [above.as_slice(), part].join(b"/".as_slice());
                match open_in(&self.root, &here, flags) {
                    Ok(_) => {}
                    Err(Errno::NOENT) => {
                        links += 1;
                        if links > LINKS {
                            return Err(blocked(&path, Errno::LOOP));
                        }
                        let target = rustix::fs::readlinkat(&folder, &name, Vec::new())
                            .map_err(|error| blocked(&path, error))?;
                        let target = target.as_bytes();
                        let mut next = if target.starts_with(b"/") { Vec::new() } else { above };
                        next.push(b'/');
                        next.extend_from_slice(target);
                        for rest in &parts[end + 1..] {
                            next.push(b'/');
                            next.extend_from_slice(rest);
                        }
                        if next.len() > 8192 {
                            return Err(blocked(&path, Errno::NAMETOOLONG));
                        }
                        path = next;
                        continue 'again;
                    }
                    Err(error) => return Err(blocked(&here, error)),
                }
            }
        }
    }

    fn make_folder(&mut self, name: &[u8]) -> Result<OwnedFd, TemplateError> {
        let (folder, last) = self.place(name)?;
        let look = || rustix::fs::statat(&*folder, &last, AtFlags::SYMLINK_NOFOLLOW);
        let mut was_removed = false;
        match look() {
            Ok(there) if FileType::from_raw_mode(there.st_mode) == FileType::Directory => {}
            Ok(there) => {
                was_removed =
                    FileType::from_raw_mode(there.st_mode) == FileType::CharacterDevice && there.st_rdev == nothing();
                self.clear(&folder, &last).doing(|| format!("replace {}", show(name)))?;
                rustix::fs::mkdirat(&*folder, &last, Mode::RWXU).doing(|| format!("make {}", show(name)))?;
            }
            Err(Errno::NOENT) => {
                rustix::fs::mkdirat(&*folder, &last, Mode::RWXU).doing(|| format!("make {}", show(name)))?;
            }
            Err(error) => return Err(error).doing(|| format!("look at {}", show(name))),
        }
        let made = self.open_folder_in(&folder, &last).doing(|| format!("open {}", show(name)))?;
        if was_removed {
            hide_below(&made).doing(|| format!("mark {}", show(name)))?;
        }
        Ok(made)
    }

    fn open_folder_in(&self, folder: &OwnedFd, name: &CString) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(
            folder,
            name,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }

    /// Makes room for something else of that name.
    fn clear(&mut self, folder: &OwnedFd, name: &CString) -> io::Result<()> {
        self.last = None;
        erase_entry(folder, name)
    }

    /// Owner, permissions and attributes, in this order: a new owner takes the set-user-id bit away.
    fn dress(&self, file: impl AsFd, meta: &Meta, mode: u32) -> io::Result<()> {
        if self.as_root {
            let (user, group) = owner(meta);
            rustix::fs::fchown(&file, user, group)?;
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        for (name, value) in &meta.attributes {
            match rustix::fs::fsetxattr(&file, name.as_slice(), value, XattrFlags::empty()) {
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The parts of a name in an archive. It may begin with `/`, which is the folder; it never goes up.
fn parts(name: &[u8]) -> Result<Vec<&[u8]>, TemplateError> {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    if parts.contains(&b"..".as_slice()) {
        return Err(TemplateError::invalid(format!(
            "the archive wants to write outside of its folder: {}",
            show(name)
        )));
    }
    if name.len() > 4096 || parts.iter().any(|part| part.len() > 255) {
        return Err(TemplateError::invalid(format!("the archive has a name that is too long: {}", show(name))));
    }
    Ok(parts)
}

fn text(bytes: &[u8]) -> Result<CString, TemplateError> {
    CString::new(bytes)
        .map_err(|_| TemplateError::invalid(format!("the archive has a name with a zero byte: {}", show(bytes))))
}

fn blocked(path: &[u8], error: Errno) -> TemplateError {
    match error {
        Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::XDEV | Errno::INVAL => TemplateError::invalid(
            format!("the archive has files in {}, which is not a folder ({})", show(path), io::Error::from(error)),
        ),
        _ => TemplateError::Io { what: format!("open {}", show(path)), source: error.into() },
    }
}

fn copy(content: &mut impl Read, file: &mut File, buffer: &mut [u8], name: &[u8]) -> Result<u64, TemplateError> {
    let mut written = 0;
    loop {
        match content.read(buffer) {
            Ok(0) => return Ok(written),
            Ok(read) => {
                file.write_all(&buffer[..read]).doing(|| format!("write {}", show(name)))?;
                written += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(TemplateError::invalid(format!("{} cannot be read: {error}", show(name))));
            }
        }
    }
}

fn empty(folder: &OwnedFd, keep_folders: bool) -> io::Result<()> {
    for (name, kind) in names(folder)? {
        if keep_folders && kind == FileType::Directory {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            empty(&rustix::fs::openat(folder, &name, flags, Mode::empty())?, keep_folders)?;
        } else {
            erase_entry(folder, &name)?;
        }
    }
    Ok(())
}

fn hide_below(folder: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(folder, opaque_mark(), b"y", XattrFlags::empty())?)
}

/// The device that overlayfs takes for "removed".
fn nothing() -> Dev {
    makedev(0, 0)
}

fn owner(meta: &Meta) -> (Option<Uid>, Option<Gid>) {
    (Some(Uid::from_raw(meta.user)), Some(Gid::from_raw(meta.group)))
}

fn times(changed: i64) -> Timestamps {
    let time = Timespec { tv_sec: changed, tv_nsec: 0 };
    Timestamps { last_access: time, last_modification: time }
}

/// A name as it can stand in a sentence.
pub(super) fn show(name: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(name).chars().take(200).flat_map(char::escape_debug).collect();
    format!("`{text}`")
}
