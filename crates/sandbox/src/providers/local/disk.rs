//! Where sandboxes write: a plain folder, or subvolumes of btrfs where that can be had.
//!
//! With subvolumes a limit is the filesystem's own, a copy of a running sandbox takes milliseconds at any size, and so
//! does deleting one. A folder that lies on something else gets them through an image: one file, mounted beside it.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use carrel_linux::btrfs;

/// What sandboxes write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskChoice {
    /// An image when this host can have one, else a plain folder.
    Auto,
    /// A plain folder, wherever it lies.
    Folder,
    /// An image that grows to so many bytes at most, to half of what is free when it is not said.
    Image(Option<u64>),
}

/// An image never takes more, unless somebody says so.
const LARGEST_IMAGE: u64 = 256 << 30;

/// How the names of images begin that are not whole yet.
const DRAFT: &str = "disk.draft-";

/// Where sandboxes write.
#[derive(Debug)]
pub(crate) struct Disk {
    root: PathBuf,
    /// Folders of slots are subvolumes.
    subvolumes: bool,
    /// Subvolumes have limits.
    limits: bool,
    /// Why there is no image, when there could be one.
    without: Option<String>,
    image: bool,
}

impl Disk {
    pub(crate) fn open(folder: &Path, choice: DiskChoice) -> io::Result<Disk> {
        fs::create_dir_all(folder)?;
        let plain = |without| Disk {
            root: folder.to_owned(),
            subvolumes: btrfs::is_here(folder),
            limits: false,
            without,
            image: false,
        };
        let used = folder.join("slots").exists();
        let image = folder.join("disk.img");
        match choice {
            DiskChoice::Folder => Ok(plain(None)),
            // Whoever began without an image has sandboxes in the folder.
            DiskChoice::Auto if (used && !image.exists()) || btrfs::is_here(folder) => Ok(plain(None)),
            // Mounting is root's.
            DiskChoice::Auto if !rustix::process::geteuid().is_root() => Ok(plain(None)),
            DiskChoice::Auto => Ok(open_image(folder, None).unwrap_or_else(|error| plain(Some(error.to_string())))),
            DiskChoice::Image(size) => open_image(folder, size),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What it cannot do, each a sentence.
    pub(crate) fn unfit(&self) -> Vec<String> {
        let mut unfit = Vec::new();
        if !self.limits {
            unfit.push("the disk limit is watched, not enforced by the filesystem".to_owned());
        }
        if let Some(why) = &self.without {
            unfit.push(format!("no image with subvolumes could be made: {why}"));
        }
        unfit
    }

    /// Whether the filesystem itself keeps sandboxes within their limits.
    pub(crate) fn enforces(&self) -> bool {
        self.limits
    }

    /// Makes the folder of a slot that may hold so many bytes, or finds it made.
    pub(crate) fn make(&self, place: &Path, most: u64) -> io::Result<()> {
        if !self.subvolumes {
            return fs::create_dir_all(place);
        }
        match btrfs::create(place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if self.limits { btrfs::limit(place, most) } else { Ok(()) }
    }

    /// Copies the folder of a slot: its upper, with everything an overlay keeps in it. The copy must not exist yet.
    pub(crate) fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.subvolumes {
            return btrfs::snapshot(from, to);
        }
        fs::create_dir_all(to)?;
        let mut copy = Command::new("cp");
        copy.args(["--archive", "--reflink=auto", "--"]).arg(from.join("upper")).arg(to);
        run(&mut copy)
    }

    /// Copies a mounted tree to the upper of a new folder. Where the filesystem can, no content is copied.
    pub(crate) fn copy_tree(&self, tree: &OwnedFd, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        let tree = format!("/proc/{}/fd/{}/.", std::process::id(), tree.as_raw_fd());
        run(Command::new("cp").args(["--archive", "--reflink=auto", "--", &tree]).arg(to.join("upper")))
    }

    /// Removes a folder and everything in it, content to find nothing.
    pub(crate) fn erase(&self, place: &Path) -> io::Result<()> {
        if self.subvolumes && btrfs::delete(place).is_ok() {
            return Ok(());
        }
        // The overlay's own folder is closed even to its owner, which stops a plain user.
        for entry in fs::read_dir(place.join("work")).into_iter().flatten().flatten() {
            let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700));
        }
        match fs::remove_dir_all(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets the image go when nobody lives on it; it stays as a file.
    pub(crate) fn close(&self) -> io::Result<()> {
        // Whoever was just told to end may hold a file of it for a moment longer.
        const TRIES: u32 = 40;
        let mut tries = 0;
        while self.image && is_mounted(&self.root)? {
            let gone = run(Command::new("umount").arg("--").arg(&self.root));
            tries += 1;
            match gone {
                Err(error) if tries == TRIES => return Err(error),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(50)),
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

fn open_image(folder: &Path, size: Option<u64>) -> io::Result<Disk> {
    let (image, root) = (folder.join("disk.img"), folder.join("disk"));
    fs::create_dir_all(&root)?;
    if !btrfs::is_here(&root) {
        if !image.exists() {
            let free = rustix::fs::statvfs(folder)?;
            let half = free.f_bavail * free.f_frsize / 2;
            make_image(&image, size.unwrap_or(half.min(LARGEST_IMAGE)))?;
        }
        mount_image(&image, &root)?;
    }
    let limits = btrfs::count(&root).is_ok();
    Ok(Disk { root, subvolumes: true, limits, without: None, image: true })
}

/// Whether a folder holds another filesystem than the one it lies in.
fn is_mounted(folder: &Path) -> io::Result<bool> {
    Ok(fs::metadata(folder)?.dev() != fs::metadata(folder.join(".."))?.dev())
}

/// Mounts an image. The launcher of a server that was killed may hold the former mount for a moment longer, and the
/// kernel takes no filesystem twice: then it is tried again.
fn mount_image(image: &Path, root: &Path) -> io::Result<()> {
    const TRIES: u32 = 100;
    let options = "loop,noatime,nodev,nosuid,discard=async";
    let mut tries = 0;
    loop {
        let mounted = run(Command::new("mount").args(["-t", "btrfs", "-o", options, "--"]).arg(image).arg(root));
        tries += 1;
        if btrfs::is_here(root) {
            return Ok(());
        }
        if tries == TRIES {
            return mounted;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Makes it beside and renames it: an image is whole or not there. Each draft has a name of its own, since the mkfs of a
/// server that was killed may still be writing to the draft it was given.
fn make_image(image: &Path, size: u64) -> io::Result<()> {
    const SMALLEST: u64 = 256 << 20;
    if size < SMALLEST {
        return Err(io::Error::other("there is too little room on the disk"));
    }
    let folder = image.parent().expect("an image lies in a folder");
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(DRAFT) {
            fs::remove_file(entry.path())?;
        }
    }
    let draft = tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder)?;
    draft.as_file().set_len(size)?;
    run(Command::new("mkfs.btrfs").args(["--quiet", "--metadata", "single", "--"]).arg(draft.path())).map_err(
        |error| {
            let missing = error.kind() == io::ErrorKind::NotFound;
            if missing { io::Error::other("mkfs.btrfs is missing (apt-get install btrfs-progs)") } else { error }
        },
    )?;
    draft.persist(image)?;
    Ok(())
}

fn run(command: &mut Command) -> io::Result<()> {
    let done = command.stdin(Stdio::null()).output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
}

/// Bytes that a folder occupies. What vanishes while it is counted does not count.
pub(crate) fn occupied(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}
