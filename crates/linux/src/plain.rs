//! The root of a jail that a plain user makes: put together inside, with the rights that a namespace of users gives.
//!
//! Nothing can be handed in from outside, where a plain user has no rights over mounts. So the new process, which still
//! sees the host's files as that user, binds what it needs itself. Layers belong to the user on disk; there is one user
//! inside, root, who is that user outside.

use std::{io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{CWD, Mode, OFlags},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_flag,
        fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
    },
};

use crate::{
    jail::{Jail, Mishap},
    rootfs::{DESCRIPTORS, fresh, is_unheard_of, name_lowers, open_layers},
    sys::{self, NODEV, NOEXEC, NOSUID, RDONLY},
};

/// The devices of the host that are shown inside.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The same mounts, in the same order, as root is given them: the root, the guest folder, the host folders, `/dev`.
pub(crate) fn assemble(jail: &Jail) -> Result<Vec<OwnedFd>, Mishap> {
    let mut mounts = vec![overlay(jail).map_err(Mishap::at("mount the root"))?];
    for path in
        std::iter::once(&jail.guest).chain(&jail.host_folders).chain(jail.shown.iter().map(|(folder, _)| folder))
    {
        mounts.push(shown(path).map_err(Mishap::at("show a folder of the host"))?);
    }
    for (folder, _) in &jail.volumes {
        let volume = |path: &Path| -> io::Result<OwnedFd> {
            let mount = clone_all(path)?;
            sys::mount_setattr_all(&mount, NOSUID | NODEV)?;
            Ok(mount)
        };
        mounts.push(volume(folder).map_err(Mishap::at("mount a volume"))?);
    }
    mounts.push(devices().map_err(Mishap::at("make /dev"))?);
    Ok(mounts)
}

fn overlay(jail: &Jail) -> io::Result<OwnedFd> {
    let one_by_one = |overlay: &OwnedFd| {
        jail.layers.iter().rev().try_for_each(|layer| fsconfig_set_string(overlay, "lowerdir+", layer))
    };
    match lay_over(jail, |overlay| Ok(one_by_one(overlay)?)) {
        // Before 6.5 the kernel wants all of them in one word.
        Err(error) if is_unheard_of(&error) => {
            let (here, layers) =
                (rustix::fs::open(".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?, open_layers(&jail.layers)?);
            rustix::process::chdir(DESCRIPTORS)?;
            let made = lay_over(jail, |overlay| name_lowers(overlay, &layers));
            rustix::process::fchdir(here)?;
            made
        }
        made => made,
    }
}

fn lay_over(jail: &Jail, give_lowers: impl Fn(&OwnedFd) -> io::Result<()>) -> io::Result<OwnedFd> {
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&overlay, "source", "carrel")?;
    fsconfig_set_flag(&overlay, "userxattr")?;
    give_lowers(&overlay)?;
    fsconfig_set_string(&overlay, "upperdir", &*jail.upper)?;
    fsconfig_set_string(&overlay, "workdir", &*jail.work)?;
    fsconfig_create(&overlay)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// A folder of the host with everything mounted beneath it: a plain user may not uncover what is hidden there.
fn shown(path: &Path) -> io::Result<OwnedFd> {
    let mount = clone_all(path)?;
    sys::mount_setattr_all(&mount, RDONLY | NOSUID | NODEV)?;
    Ok(mount)
}

/// The folder of devices, each still an empty file.
fn devices() -> io::Result<OwnedFd> {
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let dev = fresh("tmpfs", &[("mode", "0755"), ("size", "64k")], quiet)?;
    for name in DEVICES {
        rustix::fs::openat(&dev, name, OFlags::CREATE | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))?;
    }
    for (target, name) in crate::launcher::LINKS {
        rustix::fs::symlinkat(target, &dev, name)?;
    }
    for name in crate::launcher::FOLDERS {
        rustix::fs::mkdirat(&dev, name, Mode::from_raw_mode(0o755))?;
    }
    Ok(dev)
}

/// Puts the host's devices over the empty files, once the folder is attached in the new root, and closes the folder.
pub(crate) fn show_devices(folder: &OwnedFd) -> io::Result<()> {
    for name in DEVICES {
        let host = clone_all(&Path::new("/dev").join(name))?;
        // A device is written all the same; who may use it is the host's to say.
        sys::mount_setattr(&host, RDONLY | NOSUID | NOEXEC, None)?;
        move_mount(&host, "", CWD, Path::new("dev").join(name), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    sys::mount_setattr(folder, RDONLY | NOSUID | NOEXEC, None)
}

fn clone_all(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}
