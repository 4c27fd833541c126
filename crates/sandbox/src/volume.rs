//! What is in a volume, read and written from outside of sandboxes.
//!
//! Whoever works inside a sandbox decides what lies there: links, pipes, names of any kind. Every path is resolved by
//! the kernel with the volume as its root, and nothing but files and folders is opened. Everything in here blocks.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use rustix::{
    fs::{Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid, openat2},
    io::Errno,
};

use crate::template::beneath;

/// How many entries one list holds.
const MOST_LISTED: usize = 10_000;
/// The users that there are inside a sandbox.
const LAST_USER: u32 = 65_535;

/// What is in one volume.
#[derive(Debug, Clone)]
pub struct VolumeContent {
    folder: PathBuf,
}

/// One file, folder or link of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeEntry {
    /// Its last name.
    pub name: String,
    /// Where it is, from the root of the volume on.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
    /// Its permissions.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// When it was last read.
    pub read_at: Timestamp,
    /// When its content last changed.
    pub written_at: Timestamp,
    /// When anything of it last changed.
    pub changed_at: Timestamp,
    /// Where it leads, when it is a link.
    pub target: Option<String>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link.
    Link,
    /// Something else, such as a pipe.
    Other,
}

/// Whose something is to be, and what may be done with it. What is absent is left as it is, or as is usual.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ownership {
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// The permissions.
    pub mode: Option<u32>,
}

/// Why it could not be done, by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// There is nothing at this path.
    #[error("there is nothing at `{0}`")]
    Missing(String),
    /// The path, or what is there, does not fit the request.
    #[error("{0}")]
    Unfit(String),
    /// Something is there already.
    #[error("there is something at `{0}` already")]
    Taken(String),
    /// The disk is full.
    #[error("there is no room left in the volume")]
    Full,
    /// It may work later.
    #[error("the volume could not be read or written: {0}")]
    Trouble(#[source] io::Error),
}

impl VolumeContent {
    /// The content of a folder.
    pub(crate) fn new(folder: PathBuf) -> VolumeContent {
        VolumeContent { folder }
    }

    /// Looks at one entry; a link is not followed at the end.
    pub fn look(&self, path: &str) -> Result<VolumeEntry, VolumeError> {
        let found = self.find(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        entry(&clean(path)?, &found).map_err(|error| told(path, error))
    }

    /// What is in a folder, and so many levels deeper.
    pub fn list(&self, path: &str, depth: u32) -> Result<Vec<VolumeEntry>, VolumeError> {
        let top = self.find(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        let mut folders = vec![(clean(path)?, top, depth.max(1))];
        while let Some((place, folder, levels)) = folders.pop() {
            for found in Dir::read_from(&folder).map_err(|error| told(path, error))? {
                let found = found.map_err(|error| told(path, error))?;
                let name = found.file_name();
                if name == c"." || name == c".." {
                    continue;
                }
                if entries.len() >= MOST_LISTED {
                    return Err(VolumeError::Unfit(format!("more than {MOST_LISTED} entries; list a folder of it")));
                }
                // What was removed in between is not there.
                let Ok(opened) = beneath::open_entry(&folder, name, OFlags::PATH) else { continue };
                let shown = format!("{}/{}", place.trim_end_matches('/'), name.to_string_lossy());
                let Ok(seen) = entry(&shown, &opened) else { continue };
                if seen.kind == EntryKind::Folder && levels > 1 {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                    if let Ok(deeper) = beneath::open_entry(&folder, name, flags) {
                        folders.push((shown, deeper, levels - 1));
                    }
                }
                entries.push(seen);
            }
        }
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(entries)
    }

    /// Opens a file to read it.
    pub fn read(&self, path: &str) -> Result<(File, u64), VolumeError> {
        let file = self.find(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = rustix::fs::fstat(&file).map_err(|error| told(path, error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((File::from(file), stat.st_size.unsigned_abs())),
            _ => Err(VolumeError::Unfit(format!("`{path}` is not a file"))),
        }
    }

    /// Opens a file to write it from its beginning on; makes it when it is missing, and the folders above when that is
    /// asked for.
    pub fn write(&self, path: &str, owner: Ownership, parents: bool) -> Result<File, VolumeError> {
        let owner = owner.checked()?;
        let (folder, name) = self.parent(path, owner, parents)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let open = |flags: OFlags| {
            let how = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
            openat2(&folder, OsStr::from_bytes(&name), flags, Mode::from_raw_mode(0o644), how)
        };
        let (file, is_new) = match open(flags | OFlags::EXCL) {
            Ok(file) => (file, true),
            Err(Errno::EXIST) => (open(flags - OFlags::CREATE).map_err(|error| told(path, error))?, false),
            Err(error) => return Err(told(path, error)),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| told(path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(VolumeError::Unfit(format!("`{path}` is not a file")));
        }
        rustix::fs::ftruncate(&file, 0).map_err(|error| told(path, error))?;
        let owner = if is_new { owner.or_of(&folder).map_err(|error| told(path, error))? } else { owner };
        owner.apply(&file, is_new).map_err(|error| told(path, error))?;
        Ok(File::from(file))
    }

    /// Makes a folder, and those above when that is asked for.
    pub fn make_folder(&self, path: &str, owner: Ownership, parents: bool) -> Result<VolumeEntry, VolumeError> {
        let owner = owner.checked()?;
        let (folder, name) = self.parent(path, owner, parents)?;
        match rustix::fs::mkdirat(&folder, OsStr::from_bytes(&name), Mode::from_raw_mode(0o755)) {
            Ok(()) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                let made = self.find(path, flags | OFlags::NOFOLLOW)?;
                let owner = owner.or_of(&folder).map_err(|error| told(path, error))?;
                owner.apply(&made, true).map_err(|error| told(path, error))?;
            }
            Err(Errno::EXIST) if parents && self.look(path).is_ok_and(|found| found.kind == EntryKind::Folder) => {}
            Err(error) => return Err(told(path, error)),
        }
        self.look(path)
    }

    /// Changes whose something is, and what may be done with it.
    pub fn change(&self, path: &str, owner: Ownership) -> Result<VolumeEntry, VolumeError> {
        let owner = owner.checked()?;
        let found = self.find(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        owner.apply(&found, false).map_err(|error| told(path, error))?;
        self.look(path)
    }

    /// Removes a file, a link, or a folder with all that is in it.
    pub fn remove(&self, path: &str) -> Result<(), VolumeError> {
        self.look(path)?;
        let (folder, name) = self.parent(path, Ownership::default(), false)?;
        let name = std::ffi::CString::new(name).map_err(|_| VolumeError::Unfit("a path holds no NUL".into()))?;
        beneath::erase_entry(&folder, &name).map_err(VolumeError::from)
    }

    fn root(&self) -> Result<OwnedFd, VolumeError> {
        beneath::open_root(&self.folder).map_err(VolumeError::from)
    }

    fn find(&self, path: &str, flags: OFlags) -> Result<OwnedFd, VolumeError> {
        let place = clean(path)?;
        beneath::open_in(self.root()?, place.trim_start_matches('/').as_bytes(), flags)
            .map_err(|error| told(path, error))
    }

    /// The folder that a path lies in, and its last name.
    fn parent(&self, path: &str, owner: Ownership, parents: bool) -> Result<(OwnedFd, Vec<u8>), VolumeError> {
        let place = clean(path)?;
        let place = Path::new(&place);
        let (Some(above), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(VolumeError::Unfit("the root of a volume cannot be written or removed".into()));
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut folder = self.root()?;
        if !parents {
            let above = above.to_string_lossy();
            let found = beneath::open_in(&folder, above.trim_start_matches('/').as_bytes(), flags);
            return Ok((found.map_err(|error| told(&above, error))?, name.as_bytes().to_vec()));
        }
        for part in above.iter().filter(|part| *part != "/") {
            let made = rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755));
            let next = beneath::open_in(&folder, part.as_bytes(), flags).map_err(|error| told(path, error))?;
            if made.is_ok() {
                let owner = Ownership { mode: None, ..owner }.or_of(&folder).map_err(|error| told(path, error))?;
                owner.apply(&next, true).map_err(|error| told(path, error))?;
            }
            folder = next;
        }
        Ok((folder, name.as_bytes().to_vec()))
    }
}

impl Ownership {
    fn checked(self) -> Result<Ownership, VolumeError> {
        if [self.uid, self.gid].into_iter().flatten().any(|id| id > LAST_USER) {
            return Err(VolumeError::Unfit(format!("users and groups inside are 0 to {LAST_USER}")));
        }
        // Nothing in a volume runs as somebody else.
        Ok(Ownership { mode: self.mode.map(|mode| mode & 0o1777), ..self })
    }

    /// The same, with the owner of a folder where none is named.
    fn or_of(self, folder: impl AsFd) -> Result<Ownership, Errno> {
        let stat = rustix::fs::fstat(folder)?;
        Ok(Ownership { uid: self.uid.or(Some(stat.st_uid)), gid: self.gid.or(Some(stat.st_gid)), ..self })
    }

    /// A plain user's server cannot give anything away: then what is new stays its own, which inside is root's.
    fn apply(self, to: impl AsFd, is_new: bool) -> Result<(), Errno> {
        if self.uid.is_some() || self.gid.is_some() {
            match rustix::fs::fchown(&to, self.uid.map(Uid::from_raw), self.gid.map(Gid::from_raw)) {
                Err(Errno::PERM) if is_new => {}
                changed => changed?,
            }
        }
        match self.mode {
            Some(mode) => rustix::fs::fchmod(to, Mode::from_raw_mode(mode)),
            None => Ok(()),
        }
    }
}

/// A path from the root of the volume on, in its plain form.
fn clean(path: &str) -> Result<String, VolumeError> {
    if path.contains('\0') || path.len() > 4096 {
        return Err(VolumeError::Unfit("a path is at most 4096 bytes and holds no NUL".into()));
    }
    if path.split('/').any(|part| part == "..") {
        return Err(VolumeError::Unfit("a path holds no `..`".into()));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    Ok(format!("/{}", parts.join("/")))
}

fn entry(path: &str, opened: &OwnedFd) -> Result<VolumeEntry, Errno> {
    let stat = rustix::fs::fstat(opened)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    };
    let target = match kind {
        EntryKind::Link => {
            let target = rustix::fs::readlinkat(opened, "", Vec::new())?;
            Some(String::from_utf8_lossy(target.as_bytes()).into_owned())
        }
        _ => None,
    };
    Ok(VolumeEntry {
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        path: path.to_owned(),
        kind,
        size: stat.st_size.unsigned_abs(),
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        read_at: time(stat.st_atime, stat.st_atime_nsec as i64),
        written_at: time(stat.st_mtime, stat.st_mtime_nsec as i64),
        changed_at: changed(&stat),
        target,
    })
}

fn changed(stat: &Stat) -> Timestamp {
    time(stat.st_ctime, stat.st_ctime_nsec as i64)
}

fn time(seconds: i64, nanoseconds: i64) -> Timestamp {
    Timestamp::new(seconds, nanoseconds as i32).unwrap_or_default()
}

fn told(path: &str, error: Errno) -> VolumeError {
    match error {
        Errno::NOENT => VolumeError::Missing(path.to_owned()),
        Errno::EXIST => VolumeError::Taken(path.to_owned()),
        Errno::NOTDIR => VolumeError::Unfit(format!("`{path}` leads through something that is not a folder")),
        Errno::ISDIR => VolumeError::Unfit(format!("`{path}` is a folder")),
        Errno::LOOP | Errno::XDEV => VolumeError::Unfit(format!("`{path}` leads through links that lead nowhere")),
        Errno::NAMETOOLONG => VolumeError::Unfit(format!("a name in `{path}` is too long")),
        Errno::NXIO => VolumeError::Unfit(format!("`{path}` is not a file")),
        other => io::Error::from(other).into(),
    }
}

impl From<io::Error> for VolumeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => VolumeError::Full,
            _ => VolumeError::Trouble(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        io::{Read, Write},
        os::unix::fs::symlink,
    };

    use super::*;

    fn volume() -> (tempfile::TempDir, VolumeContent) {
        let house = tempfile::tempdir().unwrap();
        std::fs::create_dir(house.path().join("volume")).unwrap();
        std::fs::write(house.path().join("secret"), "the host's").unwrap();
        let content = VolumeContent::new(house.path().join("volume"));
        (house, content)
    }

    #[test]
    fn files_and_folders_are_written_read_listed_and_removed() {
        let (_house, volume) = volume();
        assert!(matches!(volume.write("a/b.txt", Ownership::default(), false), Err(VolumeError::Missing(_))));
        volume.write("a/b.txt", Ownership::default(), true).unwrap().write_all(b"content").unwrap();
        let (mut file, size) = volume.read("/a/b.txt").unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size), ("content", 7));
        let seen = volume.look("a//./b.txt").unwrap();
        assert_eq!((seen.path.as_str(), seen.name.as_str(), seen.kind), ("/a/b.txt", "b.txt", EntryKind::File));
        let changed = Ownership { mode: Some(0o4600), ..Ownership::default() };
        assert_eq!(volume.change("a/b.txt", changed).unwrap().mode, 0o600, "nothing runs as somebody else");
        volume.write("a/b.txt", Ownership::default(), false).unwrap().write_all(b"x").unwrap();
        assert_eq!(volume.look("a/b.txt").unwrap().size, 1, "written from its beginning on");

        let made = volume.make_folder("a/c", Ownership::default(), false).unwrap();
        assert_eq!(made.kind, EntryKind::Folder);
        assert!(matches!(volume.make_folder("a/c", Ownership::default(), false), Err(VolumeError::Taken(_))));
        assert!(volume.make_folder("a/c", Ownership::default(), true).is_ok());
        let names = |depth| volume.list("/", depth).unwrap().into_iter().map(|it| it.path).collect::<Vec<_>>();
        assert_eq!(names(1), ["/a"]);
        assert_eq!(names(2), ["/a", "/a/b.txt", "/a/c"]);
        volume.remove("a").unwrap();
        assert!(names(9).is_empty());
        assert!(matches!(volume.remove("a"), Err(VolumeError::Missing(_))));
        assert!(volume.remove("/").is_err());
    }

    #[test]
    fn no_link_and_no_path_leads_out_of_a_volume() {
        let (house, volume) = volume();
        let root = house.path().join("volume");
        let secret = house.path().join("secret");
        symlink(&secret, root.join("absolute")).unwrap();
        symlink("../secret", root.join("relative")).unwrap();
        symlink(house.path(), root.join("folder")).unwrap();
        for path in ["absolute", "relative", "folder/secret", "../secret", "a/../../secret", "/../secret"] {
            assert!(volume.read(path).is_err(), "{path}");
            if let Ok(mut file) = volume.write(path, Ownership::default(), true) {
                file.write_all(b"overwritten").unwrap();
            }
        }
        assert!(volume.list("folder/..", 1).is_err());
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "the host's");
        let link = volume.look("relative").unwrap();
        assert_eq!((link.kind, link.target.as_deref()), (EntryKind::Link, Some("../secret")));
        volume.remove("relative").unwrap();
        volume.remove("folder").unwrap();
        assert!(secret.exists());
    }

    #[test]
    fn a_pipe_holds_up_nobody() {
        let (house, volume) = volume();
        let pipe = house.path().join("volume/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RWXU).unwrap();
        assert!(matches!(volume.read("pipe"), Err(VolumeError::Unfit(_))));
        assert!(matches!(volume.write("pipe", Ownership::default(), false), Err(VolumeError::Unfit(_))));
        assert_eq!(volume.look("pipe").unwrap().kind, EntryKind::Other);
    }
}
