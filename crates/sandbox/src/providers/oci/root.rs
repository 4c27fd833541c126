//! The root of a sandbox: an overlay, mounted where the runtime looks for it while it starts.
//!
//! The runtime takes a copy of the mount into namespaces of its own, so ours goes as soon as it has started: between
//! two launches nothing is mounted, and what a killed server leaves is found at one known place.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create, fsconfig_set_fd,
        fsconfig_set_string, fsmount, fsopen, move_mount, unmount,
    },
};

/// A root that is mounted. It goes when this is dropped; whoever took a copy keeps it.
pub(crate) struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = take_down(&self.0);
    }
}

/// Mounts layers, lowest first, and an upper at a place. Its owners are those on disk.
pub(crate) fn put_up(layers: &[PathBuf], upper: &Path, work: &Path, place: &Path) -> io::Result<Mounted> {
    take_down(place)?;
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&overlay, "source", "carrel")?;
    let folders = layers.iter().rev().map(|layer| open(layer)).collect::<io::Result<Vec<_>>>()?;
    let (upper, work) = (open(upper)?, open(work)?);
    let given = folders.iter().map(|layer| ("lowerdir+", layer)).chain([("upperdir", &upper), ("workdir", &work)]);
    for (key, folder) in given {
        give(&overlay, key, folder)?;
    }
    // Renaming a folder of a lower layer is what git, npm and others do all day.
    let _ = fsconfig_set_string(&overlay, "redirect_dir", "on");
    fsconfig_create(&overlay)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mount = fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    move_mount(&mount, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(Mounted(place.to_owned()))
}

/// Takes away whatever is mounted at a place, content to find nothing.
pub(crate) fn take_down(place: &Path) -> io::Result<()> {
    loop {
        match unmount(place, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn open(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?)
}

/// Gives a folder to an overlay: by descriptor, or by its name in `/proc` on kernels that take only names.
fn give(overlay: &OwnedFd, key: &str, folder: &OwnedFd) -> io::Result<()> {
    match fsconfig_set_fd(overlay, key, folder.as_fd()) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::INVAL) => {
            use std::os::fd::AsRawFd;
            let name = format!("/proc/self/fd/{}", folder.as_raw_fd());
            Ok(fsconfig_set_string(overlay, key, name)?)
        }
        Err(error) => Err(error.into()),
    }
}
