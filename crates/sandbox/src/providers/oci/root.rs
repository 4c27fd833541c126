//! The stage: what a sandbox is made of, put up where its runtime can reach it while it starts.
//!
//! Root inside is nobody that the host knows, and the runtime looks for the root as that nobody: so the stage lies where
//! everybody may pass, unlike the folder with everybody's files. The runtime takes copies of the mounts into namespaces
//! of its own, and the stage goes as soon as it has started: between two launches nothing is mounted, and what a killed
//! server leaves is found at one known place.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use carrel_linux::{Mapping, mapped_root};
use rustix::{
    fs::CWD,
    mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree, unmount},
};

/// The folder of all stages.
const STAGES: &str = "/run/carrel";
/// What stands on a stage.
const MOUNTS: [&str; 3] = ["root", "guest", "run"];

/// What is put up.
pub(crate) struct Props<'a> {
    /// Lowest first.
    pub(crate) layers: &'a [PathBuf],
    pub(crate) upper: &'a Path,
    pub(crate) work: &'a Path,
    /// The folder with the daemon.
    pub(crate) guest: &'a Path,
    /// The folder of sockets.
    pub(crate) run: &'a Path,
    /// The first of its users on the host.
    pub(crate) base: u32,
}

/// A stage that is put up. It goes when this is dropped; whoever took copies keeps them.
pub(crate) struct Stage(PathBuf);

impl Stage {
    pub(crate) fn put_up(house: &str, name: &str, props: &Props<'_>) -> io::Result<Stage> {
        take_down(house, name)?;
        let stage = Stage(place(house, name));
        for mount in MOUNTS {
            fs::create_dir_all(stage.0.join(mount))?;
        }
        // Everybody may pass, whatever the server's own files are like.
        for place in stage.0.ancestors().take_while(|place| place.starts_with(STAGES)) {
            fs::set_permissions(place, fs::Permissions::from_mode(0o711))?;
        }
        let users = users(props.base)?;
        let root = mapped_root(props.layers, props.upper, props.work, &users, props.base)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let (guest, run) = (open_tree(CWD, props.guest, flags)?, open_tree(CWD, props.run, flags)?);
        for (mount, name) in [root, guest, run].iter().zip(MOUNTS) {
            move_mount(mount, "", CWD, stage.0.join(name), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
        Ok(stage)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    pub(crate) fn guest(&self) -> PathBuf {
        self.0.join("guest")
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.0.join("run")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = clear(&self.0);
    }
}

/// Takes away whatever stands on a stage, content to find nothing.
pub(crate) fn take_down(house: &str, name: &str) -> io::Result<()> {
    clear(&place(house, name))
}

/// Removes the folder of a house's stages, when there are none.
pub(crate) fn close(house: &str) {
    let _ = fs::remove_dir(Path::new(STAGES).join(house));
    let _ = fs::remove_dir(STAGES);
}

fn place(house: &str, name: &str) -> PathBuf {
    Path::new(STAGES).join(house).join(name)
}

fn clear(stage: &Path) -> io::Result<()> {
    for mount in MOUNTS {
        let place = stage.join(mount);
        loop {
            match unmount(&place, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
                Ok(()) => {}
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => break,
                Err(error) => return Err(error.into()),
            }
        }
        // Never with what is in it: that would be somebody's files.
        gone(fs::remove_dir(place))?;
    }
    gone(fs::remove_dir(stage))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// A namespace with a range of users, to map owners by. Somebody has to be in it while it is made.
fn users(base: u32) -> io::Result<OwnedFd> {
    let mut child = Command::new("unshare")
        .args(["--user", "--", "/bin/sh", "-c", "echo here && read end"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let map = || -> io::Result<OwnedFd> {
        let mut said = String::new();
        let stdout = child.stdout.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        if BufReader::new(stdout).read_line(&mut said)? == 0 {
            return Err(io::Error::other("no namespace of users could be made"));
        }
        let (pid, range) = (child.id(), format!("0 {base} {}", Mapping::WIDTH));
        fs::write(format!("/proc/{pid}/uid_map"), &range)?;
        fs::write(format!("/proc/{pid}/gid_map"), &range)?;
        Ok(fs::File::open(format!("/proc/{pid}/ns/user"))?.into())
    };
    let made = { map }();
    // Hearing nothing more, it ends.
    drop(child.stdin.take());
    child.wait()?;
    made
}
