//! Paths that cannot leave their folder: the kernel resolves them (`openat2`), not string checks.

use std::{
    ffi::{CStr, CString, OsStr},
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

/// How deep a folder may lie for us to walk into it with one descriptor each.
const DEEP: usize = 64;

/// Opens a folder as the root of what lies beneath.
pub(crate) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens a path as if `root` were `/`: links are followed, and lead nowhere else.
pub(crate) fn open_in(root: impl AsFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    resolve(root, path, flags, ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
}

/// Opens a path beneath `root`; one that would leave is an error (`EXDEV`).
pub(crate) fn open_beneath(root: impl AsFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    resolve(root, path, flags, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

/// Opens one entry of a folder, which must not be a link or another filesystem.
pub(crate) fn open_entry(folder: impl AsFd, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let only_here = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    resolve(folder, name.to_bytes(), flags | OFlags::NOFOLLOW, only_here)
}

fn resolve(root: impl AsFd, path: &[u8], flags: OFlags, how: ResolveFlags) -> Result<OwnedFd, Errno> {
    let path = if path.is_empty() { b".".as_slice() } else { path };
    loop {
        match openat2(root.as_fd(), OsStr::from_bytes(path), flags | OFlags::CLOEXEC, Mode::empty(), how) {
            // Somebody renamed something on the way; the kernel asks to be asked again.
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
}

/// The names in a folder, sorted by their bytes.
pub(crate) fn names(folder: impl AsFd) -> io::Result<Vec<(CString, FileType)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder.as_fd())? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    names.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(names)
}

/// Removes a path and all that lies under it, and is content to find nothing. Links are removed, not followed, and what
/// is mounted there stops it: better a folder left behind than a neighbour's files gone.
pub(crate) fn erase(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path without a name cannot be erased"));
    };
    let parent = match open_root(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        parent => parent?,
    };
    erase_entry(&parent, &CString::new(name.as_bytes())?)
}

/// Removes one entry of a folder, and all that lies under it.
pub(crate) fn erase_entry(parent: impl AsFd, name: &CStr) -> io::Result<()> {
    match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let top = open_to_empty(parent.as_fd(), name)?;
    let mut aside = 0;
    delete_subvolumes(top.as_fd());
    empty(top.as_fd(), top.as_fd(), 0, &mut aside)?;
    Ok(rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
}

/// Lets whole subvolumes in a folder go at once, however many files they hold: the kernel frees them by and by. What is none,
/// or is not ours to delete so, is left for who goes file by file.
fn delete_subvolumes(folder: BorrowedFd<'_>) {
    let place = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    if !carrel_linux::btrfs::is_here(&place) {
        return;
    }
    for (name, kind) in names(folder).into_iter().flatten() {
        if kind == FileType::Directory {
            let _ = carrel_linux::btrfs::delete(&place.join(OsStr::from_bytes(name.to_bytes())));
        }
    }
}

/// Empties a folder. What lies too deep is first moved up to the top, so no depth can exhaust us.
fn empty(folder: BorrowedFd<'_>, top: BorrowedFd<'_>, depth: usize, aside: &mut u64) -> io::Result<()> {
    loop {
        let mut moved_here = false;
        for (name, _) in names(folder)? {
            match rustix::fs::unlinkat(folder, &name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
            if depth >= DEEP {
                *aside += 1;
                let place = CString::new(format!(".erase-{}-{aside}", std::process::id()))?;
                rustix::fs::renameat(folder, &name, top, &place)?;
                continue;
            }
            let child = open_to_empty(folder, &name)?;
            let before = *aside;
            empty(child.as_fd(), top, depth + 1, aside)?;
            moved_here |= depth == 0 && *aside > before;
            rustix::fs::unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
        }
        if !moved_here {
            return Ok(());
        }
    }
}

fn open_to_empty(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    match open_entry(parent, name, flags) {
        Ok(folder) => {
            // A folder without write permission holds on to its entries when its owner is not root.
            if !rustix::process::geteuid().is_root() {
                rustix::fs::fchmod(&folder, Mode::RWXU)?;
            }
            Ok(folder)
        }
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            Ok(open_entry(parent, name, flags)?)
        }
        Err(Errno::XDEV) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("something is mounted at `{}`", name.to_string_lossy()),
        )),
        Err(error) => Err(error.into()),
    }
}

/// Writes a folder's names to disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_tree_of_any_depth_is_erased_and_links_are_not_followed() {
        let house = tempfile::tempdir().unwrap();
        let neighbour = house.path().join("neighbour");
        std::fs::create_dir(&neighbour).unwrap();
        std::fs::write(neighbour.join("dear"), "kept").unwrap();
        let doomed = house.path().join("doomed");
        std::fs::create_dir(&doomed).unwrap();
        symlink(&neighbour, doomed.join("link")).unwrap();

        // Deeper than a path can be long, as only a program that walks by descriptors makes it.
        let mut folder = open_root(&doomed).unwrap();
        for _ in 0..1000 {
            rustix::fs::mkdirat(&folder, c"deep", Mode::RWXU).unwrap();
            rustix::fs::symlinkat("/", &folder, c"root").unwrap();
            folder = open_entry(&folder, c"deep", OFlags::RDONLY | OFlags::DIRECTORY).unwrap();
        }
        drop(folder);

        erase(&doomed).unwrap();
        assert!(!doomed.exists());
        assert_eq!(std::fs::read_to_string(neighbour.join("dear")).unwrap(), "kept");
        erase(&doomed).unwrap();
        erase(&doomed.join("not/there")).unwrap();
    }
}
