//! Brings a jail back to life from what CRIU wrote: the same root, the same limits, the same rights, checked before the
//! first instruction of the guest runs.
//!
//! A launcher of its own does this and ends with it, so that nobody else's jail waits.

use std::{
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use rustix::{
    fs::CWD,
    mount::{MountFlags, MoveMountFlags, mount, move_mount},
};
use serde::{Deserialize, Serialize};

use crate::{
    Cgroup, Jail, Living, Mishap,
    criu::{self, Errand, External},
    inside::{BADGE, CAPABILITIES, SETTINGS},
    launcher::map_users,
    rootfs,
    sys::{self, Side},
};

/// What a jail comes back from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Memory {
    /// The program that brings it back.
    pub criu: PathBuf,
    /// The folder that it wrote.
    pub images: PathBuf,
}

impl Memory {
    /// Where it is written down, in a folder of images, which process came back: whoever asked may not be there to hear.
    pub const RESTORED: &str = "restored.json";
}

/// Restores a jail. Its cgroups exist already and are empty.
pub(crate) fn restore(
    jail: &Jail,
    memory: &Memory,
    cgroup: &Cgroup,
    devices: &Path,
) -> Result<(Living, Vec<OwnedFd>), Mishap> {
    sys::reset_signals();
    let stage = Stage::set(jail, memory, devices)?;
    let mut criu = Command::new(&memory.criu);
    let joins = cgroup.clone();
    let enter = move || {
        joins.enter()?;
        sys::new_cgroup_namespace()
    };
    // SAFETY: this process has one thread, so its copy holds no lock and may allocate and write files.
    unsafe {
        criu.pre_exec(enter);
    }
    let errand = Errand::Restore { root: &stage.root };
    let mut first = 0;
    let done = criu::run(criu, &errand, &memory.images, &stage.shown, |step, pid| match step {
        "setup-namespaces" => {
            first = pid;
            Ok(())
        }
        "post-setup-namespaces" => settle(first),
        "pre-resume" => check(jail, cgroup, first).inspect_err(|_| {
            // Nothing of it has run yet, and nothing will; CRIU is among them.
            let _ = cgroup.kill(std::time::Duration::from_secs(20));
        }),
        _ => Ok(()),
    });
    let pid = done.map_err(|refused| Mishap { step: "restore its memory".into(), why: refused.0 })?;
    let first = Living::of(pid).map_err(Mishap::at("look at the process"))?;
    let note = serde_json::to_vec(&first).map_err(|error| Mishap::at("note the process")(error.into()))?;
    fs::write(memory.images.join(Memory::RESTORED), note).map_err(Mishap::at("note the process"))?;
    let network = fs::File::open(format!("/proc/{pid}/ns/net")).map_err(Mishap::at("open the network"))?;
    let pidfd = first.open().map_err(Mishap::at("keep the process"))?;
    Ok((first, vec![pidfd, network.into()]))
}

/// The mounts of a jail where CRIU finds them.
struct Stage {
    root: PathBuf,
    shown: Vec<External>,
}

impl Stage {
    /// Sets it up in the mounts of this process alone, where the users inside find it too: our own folders may be closed
    /// to them.
    fn set(jail: &Jail, memory: &Memory, devices: &Path) -> Result<Stage, Mishap> {
        let users = user_namespace(jail).map_err(Mishap::at("map users"))?;
        let mut mounts = rootfs::assemble(jail, &users)?.mounts.into_iter();
        let devices = rootfs::clone_tree(devices).map_err(Mishap::at("clone /dev"))?;
        // What is covered for a while must not be needed meanwhile.
        let needed = [&memory.criu, &memory.images];
        let places = ["/mnt", "/media", "/srv", "/opt", "/home"].map(Path::new);
        let is_free = |place: &&Path| place.is_dir() && needed.iter().all(|path| !path.starts_with(place));
        let stage = places.into_iter().find(is_free).ok_or(io::ErrorKind::NotFound.into());
        let stage = stage.map_err(Mishap::at("find a place for the root"))?;
        mount("stage", stage, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=0755,size=64k"))
            .map_err(|error| Mishap::at("make a place for the root")(error.into()))?;
        let attach = |mount: Option<OwnedFd>, name: &str| -> io::Result<PathBuf> {
            let place = stage.join(name);
            fs::create_dir(&place)?;
            let mount = mount.ok_or(io::ErrorKind::NotFound)?;
            move_mount(mount.as_fd(), "", CWD, &place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            Ok(place)
        };
        let root = attach(mounts.next(), "root").map_err(Mishap::at("attach the root"))?;
        let folders = [Path::new("/run/carrel")].into_iter().chain(jail.host_folders.iter().map(PathBuf::as_path));
        let folders = folders.chain(jail.shown.iter().map(|(_, place)| place.as_path()));
        let folders = folders.chain(jail.volumes.iter().map(|(_, place)| place.as_path()));
        let folders = folders.chain([Path::new("/dev")]);
        let mut mounts = mounts.chain([devices]);
        let mut shown = Vec::new();
        for (number, folder) in folders.enumerate() {
            let place = attach(mounts.next(), &number.to_string()).map_err(Mishap::at("attach a folder"))?;
            shown.push((folder.to_string_lossy().into_owned(), place.to_string_lossy().into_owned()));
        }
        Ok(Stage { root, shown })
    }
}

/// A user namespace with the jail's users, for as long as somebody holds it.
fn user_namespace(jail: &Jail) -> io::Result<OwnedFd> {
    let (ours, theirs) = crate::wire::pair()?;
    let Side::Parent { pid, .. } = sys::clone_into(libc::CLONE_NEWUSER, None)? else {
        drop(ours);
        // Lives until the other end is gone.
        let _ = crate::wire::receive::<()>(&theirs);
        std::process::exit(0);
    };
    drop(theirs);
    map_users(jail, pid)?;
    Ok(fs::File::open(format!("/proc/{pid}/ns/user"))?.into())
}

/// Does again in new namespaces what was set in the former ones, and what CRIU does not keep.
fn settle(pid: i32) -> io::Result<()> {
    let open = |name: &str| fs::File::open(format!("/proc/{pid}/ns/{name}"));
    let (users, network) = (open("user")?, open("net")?);
    let Side::Parent { pidfd, .. } = sys::clone_into(0, None)? else {
        let set = || -> io::Result<()> {
            sys::enter_namespace(&users, libc::CLONE_NEWUSER)?;
            sys::enter_namespace(&network, libc::CLONE_NEWNET)?;
            sys::raise_loopback()?;
            for (path, value) in SETTINGS {
                fs::write(Path::new("/").join(path), value)?;
            }
            Ok(())
        };
        std::process::exit(if set().is_ok() { 0 } else { 1 });
    };
    if sys::exited_well(&pidfd)? {
        Ok(())
    } else {
        Err(io::Error::other("the settings of its namespaces were refused"))
    }
}

/// Everything that came back must be as confined as it was when it was made.
fn check(jail: &Jail, cgroup: &Cgroup, first: i32) -> io::Result<()> {
    let loose = |what: &str| io::Error::other(format!("it came back with {what}"));
    let outside = std::process::id() as i32;
    let namespace = |pid: i32, name: &str| fs::read_link(format!("/proc/{pid}/ns/{name}"));
    let names = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"];
    for name in names {
        if namespace(first, name)? == namespace(outside, name)? {
            return Err(loose("a namespace of the host"));
        }
    }
    let mut map = String::new();
    if let crate::Mapping::Range(base) = jail.mapping {
        map = format!("0 {base} {}", crate::Mapping::WIDTH);
    }
    for file in ["uid_map", "gid_map"] {
        let found = fs::read_to_string(format!("/proc/{first}/{file}"))?;
        if found.split_whitespace().collect::<Vec<_>>().join(" ") != map {
            return Err(loose("other users"));
        }
    }
    let mut seen = false;
    for pid in cgroup.processes() {
        // CRIU itself is still there, and is the host's.
        if namespace(pid, "user")? == namespace(outside, "user")? && pid != first {
            continue;
        }
        seen |= pid == first;
        for name in names {
            if namespace(pid, name)? != namespace(first, name)? {
                return Err(loose("namespaces that are not its own"));
            }
        }
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        // What has ended and waits to be collected has no rights left to check.
        if field("State:").is_some_and(|state| state.starts_with('Z')) {
            continue;
        }
        if field("Seccomp:") != Some("2") || field("NoNewPrivs:") != Some("1") {
            return Err(loose("fewer limits"));
        }
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            let allowed = CAPABILITIES | if pid == first { BADGE } else { 0 };
            let rights = field(set).and_then(|bits| u64::from_str_radix(bits, 16).ok());
            if rights.is_none_or(|rights| rights & !allowed != 0) {
                return Err(loose("more rights"));
            }
        }
    }
    if seen { Ok(()) } else { Err(loose("no first process in its cgroup")) }
}
