//! What a new process does in its namespaces before it becomes the guest's first program.
//!
//! It runs as a copy of the launcher, which has one thread, and still reaches the host's files: everything here happens
//! before the first foreign instruction. Whatever fails is told to the launcher by name, and the process ends.

use std::{
    ffi::CString,
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    mount::{
        MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_change, move_mount,
        open_tree, unmount,
    },
    process::{fchdir, pivot_root},
};
use serde::{Deserialize, Serialize};

use crate::{
    cgroup::enter,
    jail::{Jail, Mapping, Mishap},
    plain,
    rootfs::fresh,
    seccomp, sys, wire,
};

/// What the launcher says to the process inside first: it has its users. `/dev` comes along, where root makes the jail.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mapped;

/// What it says then, when somebody wants the jail: what it is to be. The mounts come along, in the order of
/// `rootfs::assemble`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Begin(pub(crate) Jail);

/// What the process inside says to the launcher. After `Listening` only silence follows: the wire closes when the first
/// program has taken over.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// It can be called; the host's own listener comes along when one was asked for.
    Listening { unfit: Vec<String> },
    /// It came no further.
    Failed(Mishap),
}

/// What a build needs, as the bits of the kernel's numbers: owning files, changing users, signalling, low ports.
pub(crate) const CAPABILITIES: u64 = {
    const CHOWN: u64 = 1 << 0;
    const DAC_OVERRIDE: u64 = 1 << 1;
    const FOWNER: u64 = 1 << 3;
    const FSETID: u64 = 1 << 4;
    const KILL: u64 = 1 << 5;
    const SETGID: u64 = 1 << 6;
    const SETUID: u64 = 1 << 7;
    const SETPCAP: u64 = 1 << 8;
    const NET_BIND_SERVICE: u64 = 1 << 10;
    const SYS_CHROOT: u64 = 1 << 18;
    const SETFCAP: u64 = 1 << 31;
    CHOWN | DAC_OVERRIDE | FOWNER | FSETID | KILL | SETGID | SETUID | SETPCAP | NET_BIND_SERVICE | SYS_CHROOT | SETFCAP
};

/// One more for the first program alone, which gives it away for everybody after it. It allows nothing in a jail
/// (waking the machine is the host's); whoever has it cannot be looked into by those who do not.
pub(crate) const BADGE: u64 = 1 << 35;

/// What of `/proc` tells too much of the host.
const MASKED_FILES: [&str; 9] = [
    "proc/kcore",
    "proc/keys",
    "proc/latency_stats",
    "proc/timer_list",
    "proc/sched_debug",
    "proc/kpagecount",
    "proc/kpageflags",
    "proc/kallsyms",
    "proc/interrupts",
];
const MASKED_FOLDERS: [&str; 3] = ["proc/acpi", "proc/scsi", "proc/asound"];
/// What of `/proc` would change the host.
const READ_ONLY: [&str; 5] = ["proc/bus", "proc/fs", "proc/irq", "proc/sys", "proc/sysrq-trigger"];

/// How much sooner than others its processes end when the host has no memory left. What envd starts goes before itself.
pub(crate) const FIRST_TO_GO: &str = "500";

/// What is set in the namespaces of a jail. Nobody inside makes namespaces of users, and with them none of the others;
/// low ports are for everybody.
pub(crate) const SETTINGS: [(&str, &str); 2] =
    [("proc/sys/user/max_user_namespaces", "0"), ("proc/sys/net/ipv4/ip_unprivileged_port_start", "0")];

/// Becomes the first program. Never returns.
pub(crate) fn become_guest(jail: &Jail, cgroups: Vec<File>, wire: &OwnedFd) -> ! {
    let Err(mishap) = settle(jail, cgroups, wire);
    let _ = wire::send(wire, &Report::Failed(mishap), &[]);
    std::process::exit(1);
}

fn settle(jail: &Jail, cgroups: Vec<File>, wire: &OwnedFd) -> Result<std::convert::Infallible, Mishap> {
    let_go_of_the_launchers(&cgroups, wire).map_err(Mishap::at("let go of descriptors"))?;
    // Its limits hold from here on, and where it is now is the root of the cgroups that it sees.
    enter(cgroups).map_err(Mishap::at("enter the cgroups"))?;
    sys::new_cgroup_namespace().map_err(Mishap::at("hide the cgroups"))?;
    let (Mapped, dev) = hear_launcher(wire)?;
    become_root_inside().map_err(Mishap::at("become root inside"))?;
    // A plain user on the host cannot go into our network to call us: the socket lies among its files.
    let listener = match &jail.socket_path {
        Some(path) => Some(listen_at(path).map_err(Mishap::at("listen for the host"))?),
        None => None,
    };
    let mut unfit = Vec::new();
    if let Err(error) = rustix::system::sethostname(jail.hostname.as_bytes()) {
        unfit.push(format!("the host name was not set: {error}"));
    }
    // When the host itself has no memory left, sandboxes end before anything else does. The launcher has said so already,
    // where it may.
    let marked = std::fs::read_to_string("/proc/self/oom_score_adj").is_ok_and(|text| text.trim() == FIRST_TO_GO);
    if !marked && let Err(error) = std::fs::write("/proc/self/oom_score_adj", FIRST_TO_GO) {
        unfit.push(format!("it is not marked as the first to end when the host has no memory left: {error}"));
    }
    sys::raise_loopback().map_err(Mishap::at("raise the loopback"))?;
    let listener = match listener {
        Some(listener) => listener,
        None => {
            let name = SocketAddr::from_abstract_name(jail.socket.as_bytes());
            let bound = name.and_then(|name| UnixListener::bind_addr(&name));
            bound.map_err(Mishap::at("listen for the host"))?
        }
    };
    let gateway = match jail.gateway {
        Some(port) => {
            Some(std::net::TcpListener::bind(("127.0.0.1", port)).map_err(Mishap::at("listen for the gateway"))?)
        }
        None => None,
    };
    if let Some(dev) = dev.first() {
        wait_in_a_hall(dev)?;
    }
    // Until here all jails are alike. From here on it is this one.
    let (Begin(jail), mounts) = hear_launcher(wire)?;
    let jail = &jail;
    furnish(jail, mounts)?;
    confine(jail).map_err(Mishap::at("limit the process"))?;
    let (program, args, env) = command(jail).map_err(Mishap::at("name the first program"))?;
    let handed: Vec<_> = gateway.iter().map(|listener| listener.as_fd()).collect();
    wire::send(wire, &Report::Listening { unfit }, &handed).map_err(Mishap::at("answer the launcher"))?;

    let null = openat2(CWD, "/dev/null", OFlags::RDWR, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let null = null.map_err(|error| Mishap::at("open /dev/null")(error.into()))?;
    // Moved out of the way first: any of them may have one of the numbers that are about to be taken.
    let away = |fd: &dyn AsRawFd| -> io::Result<OwnedFd> { sys::duplicate_above(fd.as_raw_fd(), 64) };
    let listener = away(&listener).map_err(Mishap::at("keep the socket"))?;
    let null = away(&null).map_err(Mishap::at("keep /dev/null"))?;
    let report = away(wire).map_err(Mishap::at("keep the wire"))?;
    for number in 1..3 {
        let copy = null.try_clone().map_err(Mishap::at("set standard descriptors"))?;
        sys::place_at(copy, number).map_err(Mishap::at("set standard descriptors"))?;
    }
    sys::place_at(listener, 0).map_err(Mishap::at("hand over the socket"))?;
    // Whatever else is open ends with this program, the wire too: that is how the launcher hears that all went well.
    sys::close_at_exec_from(3).map_err(Mishap::at("close descriptors"))?;
    seccomp::apply().map_err(Mishap::at("filter system calls"))?;
    let args: Vec<_> = args.iter().map(CString::as_c_str).collect();
    let env: Vec<_> = env.iter().map(CString::as_c_str).collect();
    let error = sys::become_program(&program, &args, &env);
    let mishap = Mishap::at("start the first program")(error);
    let _ = wire::send(&report, &Report::Failed(mishap.clone()), &[]);
    Err(mishap)
}

/// Lets go of what the launcher has open: its line to the server, and those to other jails, would seem to live for as long
/// as this one waits.
fn let_go_of_the_launchers(cgroups: &[File], wire: &OwnedFd) -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    sys::place_at(null, 0)?;
    let mut kept: Vec<_> = cgroups.iter().map(AsRawFd::as_raw_fd).chain([wire.as_raw_fd()]).collect();
    sys::close_all_but(&mut kept)
}

/// Listens at a path of the host. The kernel shows everybody inside by which name that was done, so it is a short one.
fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    rustix::process::chdir(folder)?;
    let listener = UnixListener::bind(name);
    rustix::process::chdir("/")?;
    listener
}

/// Waits for the launcher's next word, and takes what comes with it.
fn hear_launcher<T: serde::de::DeserializeOwned>(wire: &OwnedFd) -> Result<(T, Vec<OwnedFd>), Mishap> {
    let heard = wire::receive(wire).map_err(Mishap::at("hear the launcher"))?;
    heard.ok_or_else(|| Mishap { step: "hear the launcher".into(), why: "it is gone".into() })
}

fn become_root_inside() -> io::Result<()> {
    use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
    use rustix::{fs::Gid, fs::Uid};
    let _ = set_thread_groups(&[]);
    set_thread_gid(Gid::ROOT)?;
    set_thread_uid(Uid::ROOT)?;
    rustix::process::setsid()?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    Ok(())
}

/// How the filesystems of the kernel are shown.
fn quiet() -> MountAttrFlags {
    MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC
}

/// Moves into an empty root with a `/dev` and a `/proc`, which are taken along from there. Whatever the host has mounted is
/// let go of: it must not be held by somebody who waits.
fn wait_in_a_hall(dev: &OwnedFd) -> Result<(), Mishap> {
    keep_mounts_apart()?;
    let hall = || -> io::Result<()> {
        let nothing = quiet() | MountAttrFlags::MOUNT_ATTR_NODEV;
        attach_root(&fresh("tmpfs", &[("mode", "0755"), ("size", "64k")], nothing)?)?;
        // The last is where the root comes.
        for name in ["dev", "proc", "tmp"] {
            rustix::fs::mkdirat(CWD, name, Mode::from_raw_mode(0o755))?;
        }
        attach(dev, "dev")
    };
    hall().map_err(Mishap::at("make a place to wait"))?;
    show_terminals()?;
    show_processes()?;
    move_in()
}

/// Mounts `/dev/pts` beneath the folder that this process is in.
fn show_terminals() -> Result<(), Mishap> {
    let pts = fresh("devpts", &[("newinstance", ""), ("ptmxmode", "0666"), ("mode", "0620")], quiet());
    pts.and_then(|pts| attach(&pts, "dev/pts")).map_err(Mishap::at("mount /dev/pts"))
}

/// Mounts `/proc` beneath the folder that this process is in, sets what is set there, and covers what is not for guests.
fn show_processes() -> Result<(), Mishap> {
    let proc = fresh("proc", &[], quiet() | MountAttrFlags::MOUNT_ATTR_NODEV);
    proc.and_then(|proc| attach(&proc, "proc")).map_err(Mishap::at("mount /proc"))?;
    for (path, value) in SETTINGS {
        std::fs::write(path, value).map_err(Mishap::at("set up the namespaces"))?;
    }
    mask().map_err(Mishap::at("mask /proc"))
}

/// Nothing that is mounted here from now on is seen elsewhere, nor the other way round.
fn keep_mounts_apart() -> Result<(), Mishap> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(|error| Mishap::at("keep mounts apart")(error.into()))
}

/// Makes the folder that this process is in its root, and lets go of the former one.
fn move_in() -> Result<(), Mishap> {
    let here = |error: rustix::io::Errno| Mishap::at("move into the root")(error.into());
    pivot_root(".", ".").map_err(here)?;
    unmount(".", UnmountFlags::DETACH).map_err(here)?;
    rustix::process::chdir("/").map_err(here)
}

/// Puts the root together and moves into it.
fn furnish(jail: &Jail, mounts: Vec<OwnedFd>) -> Result<(), Mishap> {
    keep_mounts_apart()?;
    let alone = matches!(jail.mapping, Mapping::Alone(..));
    let mounts = if alone { plain::assemble(jail)? } else { mounts };
    let mut mounts = mounts.into_iter();
    let mut next = |what: &str| mounts.next().ok_or_else(|| Mishap { step: what.into(), why: "no mount came".into() });
    let root = next("mount the root")?;
    attach_root(&root).map_err(Mishap::at("attach the root"))?;
    let guest = next("show the first program")?;
    attach(&guest, "run/carrel").map_err(Mishap::at("show the first program"))?;
    for folder in &jail.host_folders {
        let mount = next("show a folder of the host")?;
        let place = folder.strip_prefix("/").unwrap_or(folder);
        attach(&mount, place).map_err(Mishap::at("show a folder of the host"))?;
    }
    for (_, place) in &jail.shown {
        let mount = next("show a folder of the host elsewhere")?;
        let place = place.strip_prefix("/").unwrap_or(place);
        attach(&mount, place).map_err(Mishap::at("show a folder of the host elsewhere"))?;
    }
    for (_, place) in &jail.volumes {
        let mount = next("mount a volume")?;
        let place = place.strip_prefix("/").unwrap_or(place);
        attach(&mount, place).map_err(Mishap::at("mount a volume"))?;
    }
    if alone {
        let dev = next("mount /dev")?;
        attach(&dev, "dev").map_err(Mishap::at("mount /dev"))?;
        plain::show_devices(&dev).map_err(Mishap::at("show the devices"))?;
        show_terminals()?;
    } else {
        take_along("/dev", "dev").map_err(Mishap::at("mount /dev"))?;
    }
    // Half of its own memory, not of the host's: what lies there is not freed by ending whoever wrote it.
    let half = (jail.bounds.memory / 2).to_string();
    let shm = fresh("tmpfs", &[("mode", "1777"), ("size", &half)], quiet() | MountAttrFlags::MOUNT_ATTR_NODEV);
    shm.and_then(|shm| attach(&shm, "dev/shm")).map_err(Mishap::at("mount /dev/shm"))?;
    if alone {
        show_processes()?;
    } else {
        take_along("/proc", "proc").map_err(Mishap::at("mount /proc"))?;
    }
    move_in()
}

/// Attaches the root where something can be attached, and goes there.
fn attach_root(root: &OwnedFd) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in ["/tmp", "/mnt", "/run", "/var"] {
        match move_mount(root, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH) {
            Ok(()) => return Ok(fchdir(root)?),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// Attaches a mount at a folder of the new root, which is made when it is missing and never reached through a link.
fn attach(mount: &OwnedFd, place: impl AsRef<Path>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(mount, "", target(place.as_ref())?, "", flags)?)
}

/// Moves what was mounted in the old root, with everything beneath it, to a folder of the new one.
fn take_along(from: &str, place: &str) -> io::Result<()> {
    Ok(move_mount(CWD, from, target(Path::new(place))?, "", MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH)?)
}

/// A folder of the new root to mount something at.
fn target(place: &Path) -> io::Result<OwnedFd> {
    let open = || {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(CWD, place, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
    };
    match open() {
        Err(rustix::io::Errno::NOENT) => {
            make_folders(place)?;
            Ok(open()?)
        }
        opened => Ok(opened?),
    }
}

fn make_folders(place: &Path) -> io::Result<()> {
    let mut folder = rustix::fs::open(".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for name in place {
        match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
    }
    Ok(())
}

/// Covers what tells of the host and takes away the writing of what would change it. What this kernel does not have
/// needs no cover; a cover that fails ends the jail.
fn mask() -> io::Result<()> {
    let find = |path: &str| -> io::Result<Option<OwnedFd>> {
        match openat2(
            CWD,
            path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
        ) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    let onto = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    let copy = |path: &str| open_tree(CWD, path, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC);
    for path in MASKED_FILES {
        if let Some(target) = find(path)? {
            move_mount(copy("dev/null")?, "", target, "", onto)?;
        }
    }
    for path in MASKED_FOLDERS {
        if let Some(target) = find(path)? {
            let nothing = MountAttrFlags::MOUNT_ATTR_RDONLY
                | MountAttrFlags::MOUNT_ATTR_NOSUID
                | MountAttrFlags::MOUNT_ATTR_NODEV
                | MountAttrFlags::MOUNT_ATTR_NOEXEC;
            let empty = fresh("tmpfs", &[("size", "0"), ("nr_inodes", "1")], nothing)?;
            move_mount(empty, "", target, "", onto)?;
        }
    }
    for path in READ_ONLY {
        if let Some(target) = find(path)? {
            let same = copy(path)?;
            sys::mount_setattr(&same, sys::RDONLY | sys::NOSUID | sys::NODEV | sys::NOEXEC, None)?;
            move_mount(same, "", target, "", onto)?;
        }
    }
    Ok(())
}

fn confine(jail: &Jail) -> io::Result<()> {
    sys::limit(libc::RLIMIT_CORE, 0);
    sys::limit(libc::RLIMIT_NOFILE, 1 << 20);
    sys::limit(libc::RLIMIT_MEMLOCK, 8 << 20);
    if let Some(largest) = jail.largest_file {
        sys::limit(libc::RLIMIT_FSIZE, largest);
    }
    if let Mapping::Alone(..) = jail.mapping {
        // Where there may be no cgroup the kernel counts the one user that there is, for each namespace of users apart.
        sys::limit(libc::RLIMIT_NPROC, jail.bounds.pids);
    }
    sys::reset_signals();
    sys::bound_capabilities(CAPABILITIES | BADGE)?;
    sys::Capabilities::only(CAPABILITIES | BADGE).set()?;
    Ok(rustix::thread::set_no_new_privs(true)?)
}

fn command(jail: &Jail) -> io::Result<(CString, Vec<CString>, Vec<CString>)> {
    let text = |text: &str| CString::new(text).map_err(io::Error::from);
    let program = jail.program.first().ok_or(io::ErrorKind::InvalidInput)?;
    let args = jail.program.iter().map(|arg| text(arg)).collect::<io::Result<_>>()?;
    let env = jail.env.iter().map(|(name, value)| text(&format!("{name}={value}"))).collect::<io::Result<_>>()?;
    Ok((text(program)?, args, env))
}
