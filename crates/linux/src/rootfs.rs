//! The root of a jail, put together outside from detached mounts and handed in by descriptor.
//!
//! Layers stay owned by root on disk; each is cloned and its owners are mapped into the jail's users. The overlay is
//! mounted by root for those users, so that nothing inside ever owns a file of the host.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{CWD, Mode, OFlags},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
        fsconfig_create, fsconfig_set_fd, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change,
        move_mount, open_tree,
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
    let folder = upper.parent().filter(|parent| Some(*parent) == work.parent());
    let folder = folder.ok_or_else(|| io::Error::other("upper and work do not lie side by side"))?;
    as_this_kernel_has_it(|way| {
        // The topmost layer first, as the overlay wants them.
        let mut lowers = layers.iter().rev().map(|layer| mapped(layer, RDONLY)).collect::<io::Result<Vec<_>>>()?;
        // Upper and work must be on one mount.
        let writable = mapped(folder, 0)?;
        lowers.iter().chain([&writable]).try_for_each(|mount| way.ready(mount))?;
        let beneath = |path: &Path| -> io::Result<OwnedFd> {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(&writable, name, flags, Mode::empty())?)
        };
        let (upper, work) = (beneath(upper)?, beneath(work)?);
        let root = sys::as_owner(base, || {
            let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_set_string(&overlay, "source", "carrel")?;
            way.give_lowers(&overlay, &lowers)?;
            way.give(&overlay, "upperdir", &upper)?;
            way.give(&overlay, "workdir", &work)?;
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
    })
}

/// An overlay of layers alone, lowest first, detached: what is in all of them together. Needs root.
pub fn read_only_root(layers: &[PathBuf]) -> io::Result<OwnedFd> {
    as_this_kernel_has_it(|way| read_only(layers, way))
}

fn read_only(layers: &[PathBuf], way: Way) -> io::Result<OwnedFd> {
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let mut lowers = open_layers(layers)?;
    // With one layer there is nothing to lay over: an empty one below makes it two.
    let nothing = fresh("tmpfs", &[("size", "4k")], MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    way.ready(&nothing)?;
    lowers.push(nothing);
    way.give_lowers(&overlay, &lowers)?;
    let _ = fsconfig_set_string(&overlay, "redirect_dir", "follow");
    fsconfig_create(&overlay)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID;
    Ok(fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Layers, lowest first, as descriptors, topmost first.
pub(crate) fn open_layers(layers: &[PathBuf]) -> io::Result<Vec<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    layers.iter().rev().map(|layer| Ok(rustix::fs::open(layer, flags, Mode::empty())?)).collect()
}

/// How a kernel takes what an overlay is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By descriptor, and mounted nowhere: Linux 6.15 and newer.
    Detached,
    /// By name, and mounted where the caller is.
    Named,
}

impl Way {
    /// Mounts what is to be laid over, where it must be. Over the root, one above the other: whoever has a descriptor of it
    /// finds it, and nobody else is here to miss what it covers.
    fn ready(self, mount: &OwnedFd) -> io::Result<()> {
        if self == Way::Named {
            move_mount(mount, "", CWD, "/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
        Ok(())
    }

    fn give(self, overlay: &OwnedFd, key: &str, folder: &OwnedFd) -> io::Result<()> {
        match self {
            Way::Detached => Ok(fsconfig_set_fd(overlay, key, folder)?),
            Way::Named => Ok(fsconfig_set_string(overlay, key, folder.as_raw_fd().to_string())?),
        }
    }

    fn give_lowers(self, overlay: &OwnedFd, lowers: &[OwnedFd]) -> io::Result<()> {
        match self {
            Way::Detached => lowers.iter().try_for_each(|lower| self.give(overlay, "lowerdir+", lower)),
            Way::Named => name_lowers(overlay, lowers),
        }
    }
}

/// Tells an overlay its lower layers, topmost first, by their names in `/proc/self/fd`, where the caller must be: kernels
/// before 6.5 want all of them in one word, which has at most 255 letters.
pub(crate) fn name_lowers(overlay: &OwnedFd, lowers: &[OwnedFd]) -> io::Result<()> {
    let names: Vec<_> = lowers.iter().map(|lower| lower.as_raw_fd().to_string()).collect();
    Ok(fsconfig_set_string(overlay, "lowerdir", names.join(":"))?)
}

/// Whether a kernel says by this error that it does not know how something was asked for.
pub(crate) fn is_unheard_of(error: &io::Error) -> bool {
    // In turn: a word or a mount that it does not take, a descriptor where it takes none, and one that it cannot read from.
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP | libc::EBADF))
}

/// Makes an overlay in the way that this kernel has.
fn as_this_kernel_has_it<T: Send>(make: impl Fn(Way) -> io::Result<T> + Sync) -> io::Result<T> {
    static IS_OLD: AtomicBool = AtomicBool::new(false);
    if !IS_OLD.load(Ordering::Relaxed) {
        match make(Way::Detached) {
            Err(error) if is_unheard_of(&error) => {}
            made => return made,
        }
    }
    let made = apart(|| make(Way::Named))?;
    IS_OLD.store(true, Ordering::Relaxed);
    Ok(made)
}

/// Does something in a mount namespace of its own, which ends with it: nobody sees what is mounted there, and nothing has to
/// be unmounted. It is where its descriptors are.
fn apart<T: Send>(act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let act = || {
        sys::new_mount_namespace()?;
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
        rustix::process::chdir(DESCRIPTORS)?;
        act()
    };
    let done = std::thread::scope(|scope| scope.spawn(act).join());
    done.unwrap_or_else(|_| Err(io::Error::other("the thread that mounts ended")))
}

/// Where a process finds what it has opened.
pub(crate) const DESCRIPTORS: &str = "/proc/self/fd";

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

#[cfg(test)]
mod tests {
    use std::{fs, io::Read};

    use super::*;

    #[test]
    fn kernels_of_both_kinds_lay_layers_over_each_other_and_leave_nothing_over_the_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let layers: Vec<_> = (0..40).map(|number| folder.path().join(number.to_string())).collect();
        for (number, layer) in layers.iter().enumerate() {
            fs::create_dir(layer).expect("made");
            fs::write(layer.join("top"), number.to_string()).expect("written");
            fs::write(layer.join(format!("of-{number}")), "").expect("written");
        }
        let mounts = || {
            let mounts = fs::read_to_string("/proc/self/mountinfo").expect("there is /proc");
            mounts.lines().filter(|line| line.split(' ').nth(4) == Some("/")).count()
        };
        let here = std::env::current_dir().expect("we are somewhere");
        let before = mounts();
        let named = apart(|| read_only(&layers, Way::Named)).expect("this test needs root");
        for root in [named, read_only_root(&layers).expect("made")] {
            let mut top = String::new();
            let open = |name: &str| rustix::fs::openat(&root, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
            fs::File::from(open("top").expect("opened")).read_to_string(&mut top).expect("read");
            assert_eq!(top, "39");
            (0..40).for_each(|number| drop(open(&format!("of-{number}")).expect("every layer is there")));
        }
        assert_eq!((mounts(), std::env::current_dir().expect("still there")), (before, here));
    }
}
