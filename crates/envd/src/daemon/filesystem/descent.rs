//! A walk down a tree and up again that follows no link, needs no stack of its own per level and works below the
//! longest path the kernel takes.

use std::{
    collections::VecDeque,
    ffi::{CStr, CString},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags};

/// So many levels are held open; above them the way up is `..`.
const HELD: usize = 32;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Where the walk is.
pub(in crate::daemon) struct Descent {
    held: VecDeque<OwnedFd>,
    /// What every level is, so that a tree moved meanwhile does not lead us elsewhere.
    levels: Vec<(u64, u64)>,
}

/// Something in the folder where the walk is.
pub(in crate::daemon) struct Found {
    pub(in crate::daemon) name: CString,
    pub(in crate::daemon) is_folder: bool,
}

impl Descent {
    /// Begins at a folder (a link to one counts).
    pub(in crate::daemon) fn begin(path: &Path) -> io::Result<Descent> {
        let fd = rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?;
        Descent::at(fd)
    }

    /// Begins at an open folder.
    pub(in crate::daemon) fn at(fd: OwnedFd) -> io::Result<Descent> {
        let level = identity(&fd)?;
        Ok(Descent { held: VecDeque::from([fd]), levels: vec![level] })
    }

    /// The folder where the walk is.
    pub(in crate::daemon) fn here(&self) -> BorrowedFd<'_> {
        self.held.back().expect("the last level is always held").as_fd()
    }

    /// What is here, by name.
    pub(in crate::daemon) fn look(&self) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(self.here())? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let is_folder = match entry.file_type() {
                FileType::Directory => true,
                FileType::Unknown => {
                    let stat = rustix::fs::statat(self.here(), name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
                    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
                }
                _ => false,
            };
            found.push(Found { name: name.to_owned(), is_folder });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Goes down into a folder that is here.
    pub(in crate::daemon) fn enter(&mut self, name: &CStr) -> io::Result<()> {
        let fd = rustix::fs::openat(self.here(), name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        self.levels.push(identity(&fd)?);
        self.held.push_back(fd);
        if self.held.len() > HELD {
            self.held.pop_front();
        }
        Ok(())
    }

    /// Goes up to where it came from.
    pub(in crate::daemon) fn leave(&mut self) -> io::Result<()> {
        self.levels.pop();
        if self.held.len() == 1 {
            let up = rustix::fs::openat(self.here(), c"..", FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
            if Some(&identity(&up)?) != self.levels.last() {
                return Err(io::Error::other("the folder was moved meanwhile"));
            }
            self.held.push_front(up);
        }
        self.held.pop_back();
        Ok(())
    }
}

fn identity(fd: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(fd)?;
    Ok((stat.st_dev, stat.st_ino))
}
