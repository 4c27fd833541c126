//! A file on its way in: what was there before stays as it was until all of the new one has come.
//!
//! What is small is held in memory until its end and then written in place. What is larger goes to a file without a name
//! in the same folder, which takes the name at the end. An upload that breaks off, or a daemon that is killed in the
//! middle, leaves the old file and nothing beside it.

use std::{
    fs::{self, File, Permissions},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Read, Seek, Write},
    os::unix::fs::{FileExt, PermissionsExt},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags},
    io::Errno,
    process::{Gid, Uid},
};

use super::super::{body::Refusal, users::User};

/// What files are called that have all of their content and not yet their name, for the blink of an eye.
pub(in crate::daemon) const UNNAMED: &str = ".carrel-upload-";

/// Where a file is to be, and what is there now.
#[derive(Clone)]
pub(super) struct Target {
    /// The path that was asked for, to speak of it.
    pub(super) path: PathBuf,
    /// Where it leads when it is a link.
    place: PathBuf,
    /// The permissions of the file that is there.
    old: Option<Permissions>,
    user: User,
}

impl Target {
    /// Makes the folders above and looks at what is there. Only plain files can be written.
    pub(super) fn find(path: &Path, user: &User) -> Result<Target, Refusal> {
        let refuse = |error: io::Error| Refusal::of_io(&error, path);
        super::super::filesystem::make_parents(path, user).map_err(refuse)?;
        let place = destination(path).map_err(refuse)?;
        let old = match fs::symlink_metadata(&place) {
            Ok(found) => {
                super::only_plain(&found, path)?;
                Some(found.permissions())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refuse(error)),
        };
        Ok(Target { path: path.to_owned(), place, old, user: user.clone() })
    }

    /// Writes all of a small file at once.
    pub(super) fn write(
        &self,
        content: &[Bytes],
        note: impl FnOnce(&File) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut file = self.open_in_place().map_err(|error| self.refuse(&error))?;
        let given = self.give(&file).map_err(|error| self.refuse(&error)).and_then(|()| note(&file));
        let written = given.and_then(|()| fill(&mut file, content).map_err(|error| self.refuse(&error)));
        if written.is_err() && self.old.is_none() {
            let _ = fs::remove_file(&self.place);
        }
        written
    }

    pub(super) fn refuse(&self, error: &io::Error) -> Refusal {
        Refusal::of_io(error, &self.path)
    }

    fn open_in_place(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(rustix::fs::open(&self.place, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Makes it the user's.
    fn give(&self, file: &File) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.user.uid), Gid::from_raw(self.user.gid));
        match rustix::fs::fchown(file, Some(uid), Some(gid)) {
            // Someone who is not root writes only what is theirs anyway.
            Ok(()) | Err(Errno::PERM) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn folder(&self) -> &Path {
        self.place.parent().unwrap_or(Path::new("/"))
    }

    fn unnamed(&self) -> PathBuf {
        self.folder().join(format!("{UNNAMED}{:016x}", RandomState::new().build_hasher().finish()))
    }
}

/// A large file that is being written.
pub(super) struct Draft {
    target: Target,
    file: File,
    /// Its name for now, where a filesystem knows no files without one. It goes with this, unless it was renamed.
    name: Option<PathBuf>,
    /// The file that is there is written itself, where nothing can be laid beside it.
    direct: bool,
    last: Option<u8>,
}

impl Draft {
    /// Begins one.
    pub(super) fn begin(target: Target) -> io::Result<Draft> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let new = |target, file: rustix::fd::OwnedFd, name, direct| Draft {
            target,
            file: file.into(),
            name,
            direct,
            last: None,
        };
        match rustix::fs::open(target.folder(), flags, mode) {
            Ok(file) => return Ok(new(target, file, None, false)),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) if target.old.is_some() => {
                let file = target.open_in_place()?;
                file.set_len(0)?;
                return Ok(new(target, file.into(), None, true));
            }
            Err(error) => return Err(error.into()),
        }
        let name = target.unnamed();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(&name, flags, mode)?;
        Ok(new(target, file, Some(name), false))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.last = bytes.last().copied().or(self.last);
        self.file.write_all(bytes)
    }

    /// Takes all that another file still has.
    pub(super) fn append(&mut self, from: &mut impl Read) -> io::Result<()> {
        io::copy(from, &mut self.file).map(drop)
    }

    /// Puts it where it belongs.
    pub(super) fn keep(mut self, note: impl FnOnce(&File) -> Result<(), Refusal>) -> Result<(), Refusal> {
        note(&self.file)?;
        self.settle().map_err(|error| self.target.refuse(&error))
    }

    fn settle(&mut self) -> io::Result<()> {
        if let Some(old) = self.target.old.clone().filter(|_| !self.direct) {
            self.file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
        }
        self.target.give(&self.file)?;
        if self.direct {
            return Ok(());
        }
        self.take_name()?;
        // Whoever watches the folder hears of a new file, of an owner and of a change, as when it is written in place. Not
        // by the descriptor that is open: the kernel goes on calling that by a number.
        let named = self.target.open_in_place()?;
        self.target.give(&named)?;
        if let (Some(last), Some(at)) = (self.last, named.metadata()?.len().checked_sub(1)) {
            named.write_all_at(&[last], at)?;
        }
        Ok(())
    }

    fn take_name(&mut self) -> io::Result<()> {
        let name = match self.name.take() {
            Some(name) => name,
            None => match link(&self.file, &self.target.place) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => {
                    let name = self.target.unnamed();
                    link(&self.file, &name)?;
                    name
                }
                Err(error) => return Err(error.into()),
            },
        };
        match rustix::fs::rename(&name, &self.target.place) {
            Ok(()) => Ok(()),
            // Something is mounted there: it cannot be replaced, only written.
            Err(Errno::BUSY | Errno::XDEV) => {
                let _ = fs::remove_file(&name);
                let mut file = self.target.open_in_place()?;
                file.set_len(0)?;
                self.file.rewind()?;
                io::copy(&mut self.file, &mut file)?;
                self.file = file;
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&name);
                Err(error.into())
            }
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

/// Writes over what a file has, and cuts it where the new content ends.
fn fill(file: &mut File, content: &[Bytes]) -> io::Result<()> {
    let mut length = 0;
    for bytes in content {
        file.write_all(bytes)?;
        length += bytes.len() as u64;
    }
    // Only now: where there is no room for the new content, the old one is not gone for it.
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

/// Gives a file without a name one that nobody has.
fn link(file: &File, name: &Path) -> Result<(), Errno> {
    let by_number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
    match rustix::fs::linkat(CWD, by_number, CWD, name, AtFlags::SYMLINK_FOLLOW) {
        // Without `/proc`.
        Err(Errno::NOENT) => rustix::fs::linkat(file, "", CWD, name, AtFlags::EMPTY_PATH),
        linked => linked,
    }
}

/// Where a path leads in the end: what is written to a link is written to what it names.
fn destination(path: &Path) -> io::Result<PathBuf> {
    /// As many as the kernel follows.
    const MOST_LINKS: usize = 40;
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&place) {
            Ok(next) => place = place.parent().unwrap_or(Path::new("/")).join(next),
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(place);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::LOOP.into())
}
