//! The root of a jail, put together outside from detached mounts and handed in by descriptor.
//!
//! Layers stay owned by root on disk; each is cloned and its owners are mapped into the jail's users. The overlay is
//! mounted by root for those users, so that nothing inside ever owns a file of the host.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_fd, fsconfig_set_flag,
        fsconfig_set_string, fsmount, fsopen, open_tree,
    },
};

use crate::{
    jail::{Jail, Mapping, Mishap},
    sys::{self, NODEV, NOSUID, RDONLY},
};

/// The mounts of a jail.
pub(crate) struct Assembled {
    /// In the order in which they are handed over: the root, the guest folder, the host folders, the others, then volumes.
    pub(crate) mounts: Vec<OwnedFd>,
    /// What the root was made of. Letting go of it makes the kernel wait for all processors, so whoever is in a hurry
    /// does that later.
    pub(crate) parts: Vec<OwnedFd>,
}

/// Puts the mounts of a jail together.
pub(crate) fn assemble(jail: &Jail, users: &OwnedFd) -> Result<Assembled, Mishap> {
    let Mapping::Range(base) = jail.mapping else {
        return Err(Mishap { step: "map users".into(), why: "this root is for a range of users".into() });
    };
    let root = lay_over(&jail.layers, &jail.upper, &jail.work, users, base);
    let (root, parts) = root.map_err(Mishap::at("mount the root"))?;
    let mut mounts = vec![root];
    let shown = |path: &Path| -> io::Result<OwnedFd> {
        let mount = clone_tree(path)?;
        // Their owners are not mapped: what they show is nobody's inside, so that root inside reads there what
        // everybody may read and not what root of the host keeps to itself.
        sys::mount_setattr(&mount, RDONLY | NOSUID | NODEV, None)?;
        Ok(mount)
    };
    mounts.push(shown(&jail.guest).map_err(Mishap::at("show the first program"))?);
    for folder in &jail.host_folders {
        mounts.push(shown(folder).map_err(Mishap::at("show a folder of the host"))?);
    }
    for (folder, _) in &jail.shown {
        mounts.push(shown(folder).map_err(Mishap::at("show a folder of the host elsewhere"))?);
    }
    for (folder, _) in &jail.volumes {
        let volume = |path: &Path| -> io::Result<OwnedFd> {
            let mount = clone_tree(path)?;
            sys::mount_setattr(&mount, NOSUID | NODEV, Some(users))?;
            Ok(mount)
        };
        mounts.push(volume(folder).map_err(Mishap::at("mount a volume"))?);
    }
    Ok(Assembled { mounts, parts })
}

/// An overlay of layers, lowest first, and an upper, detached. Their owners on disk are mapped into the users of a
/// namespace, the first of which is `base` on the host.
pub fn mapped_root(layers: &[PathBuf], upper: &Path, work: &Path, users: &OwnedFd, base: u32) -> io::Result<OwnedFd> {
    lay_over(layers, upper, work, users, base).map(|(root, _)| root)
}

fn lay_over(
    layers: &[PathBuf],
    upper: &Path,
    work: &Path,
    users: &OwnedFd,
    base: u32,
) -> io::Result<(OwnedFd, Vec<OwnedFd>)> {
    let mapped = |path: &Path, attributes| -> io::Result<OwnedFd> {
        let mount = clone_tree(path)?;
        sys::mount_setattr(&mount, attributes, Some(users))?;
        Ok(mount)
    };
    // The topmost layer first, as the overlay wants them.
    let mut lowers = layers.iter().rev().map(|layer| mapped(layer, RDONLY)).collect::<io::Result<Vec<_>>>()?;
    let folder = upper.parent().filter(|parent| Some(*parent) == work.parent());
    let folder = folder.ok_or_else(|| io::Error::other("upper and work do not lie side by side"))?;
    // Upper and work must be on one mount.
    let writable = mapped(folder, 0)?;
    let beneath = |path: &Path| -> io::Result<OwnedFd> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&writable, name, flags, Mode::empty())?)
    };
    let (upper, work) = (beneath(upper)?, beneath(work)?);
    let root = sys::as_owner(base, || {
        let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&overlay, "source", "carrel")?;
        for lower in &lowers {
            give(&overlay, "lowerdir+", lower.as_fd())?;
        }
        give(&overlay, "upperdir", upper.as_fd())?;
        give(&overlay, "workdir", work.as_fd())?;
        // Renaming a folder of a lower layer is what git, npm and others do all day.
        let _ = fsconfig_set_string(&overlay, "redirect_dir", "on");
        let _ = fsconfig_set_string(&overlay, "xino", "auto");
        fsconfig_create(&overlay)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let mount = fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        // An upper whose map does not know the mounter is mounted read-only without a word.
        if rustix::fs::fstatvfs(&mount)?.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
            return Err(io::Error::other("the root came out read-only"));
        }
        Ok(mount)
    })?;
    lowers.extend([writable, upper, work]);
    Ok((root, lowers))
}

/// An overlay of layers alone, lowest first, detached: what is in all of them together. Needs root.
pub fn read_only_root(layers: &[PathBuf]) -> io::Result<OwnedFd> {
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for layer in layers.iter().rev() {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        give(&overlay, "lowerdir+", rustix::fs::open(layer, flags, Mode::empty())?.as_fd())?;
    }
    // With one layer there is nothing to lay over: an empty one below makes it two.
    let nothing = fresh("tmpfs", &[("size", "4k")], MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    give(&overlay, "lowerdir+", nothing.as_fd())?;
    let _ = fsconfig_set_string(&overlay, "redirect_dir", "follow");
    fsconfig_create(&overlay)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID;
    Ok(fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Gives a folder to an overlay: by descriptor, or by its name in `/proc` on kernels that take only names.
fn give(overlay: &OwnedFd, key: &str, folder: BorrowedFd<'_>) -> io::Result<()> {
    match fsconfig_set_fd(overlay, key, folder) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::INVAL) => {
            use std::os::fd::AsRawFd;
            let name = format!("/proc/self/fd/{}", folder.as_raw_fd());
            Ok(fsconfig_set_string(overlay, key, name)?)
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(CWD, path, flags)?)
}

/// A fresh filesystem, detached.
pub(crate) fn fresh(kind: &str, options: &[(&str, &str)], attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        match *value {
            "" => fsconfig_set_flag(&context, *key)?,
            value => fsconfig_set_string(&context, *key, value)?,
        }
    }
    fsconfig_create(&context)?;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}
