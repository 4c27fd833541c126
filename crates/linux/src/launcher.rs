//! The launcher: a small process with one thread that makes jails on request.
//!
//! Forking the server would copy its page tables, 20 ms for each GB; forking this costs a fraction of a millisecond. It
//! remembers nothing: a new one goes on where the old one died.

use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
};

use rustix::{
    fs::{FileType, Mode, makedev, mknodat, symlinkat},
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use serde::{Deserialize, Serialize};

use crate::{
    Hierarchies, Jail, Launched, Living, Memory, Mishap,
    inside::{Begin, FIRST_TO_GO, Report, become_guest},
    restore::restore,
    rootfs,
    sys::{self, Side},
    wire,
};

/// What the server asks.
#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Make a jail.
    Launch(Box<Jail>),
    /// Bring one back from its memory.
    Restore(Box<Jail>, Memory),
    /// Listen on a port of the loopback of a jail that runs. Whoever does it cannot come back: it is its last errand.
    Listen { first: Living, port: u16 },
}

/// What the launcher answers. With `Launched` come the process, its network and, when asked for, the listener in it.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Launched { first: Living, unfit: Vec<String> },
    Listening,
    Failed(Mishap),
}

/// The server's handle on its launcher.
pub struct Launcher {
    program: PathBuf,
    args: Vec<String>,
    scratch: PathBuf,
    running: Mutex<Option<Running>>,
}

struct Running {
    wire: OwnedFd,
    child: Child,
}

impl Launcher {
    /// A launcher that is started with this program, which must call `run` at once. The scratch folder must exist.
    pub fn new(program: impl Into<PathBuf>, args: Vec<String>, scratch: impl Into<PathBuf>) -> Launcher {
        Launcher { program: program.into(), args, scratch: scratch.into(), running: Mutex::new(None) }
    }

    /// Makes a jail. Its cgroups exist already. Blocks for some milliseconds.
    pub fn launch(&self, jail: &Jail) -> Result<Launched, Mishap> {
        let mut running = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let ask = Ask::Launch(Box::new(jail.clone()));
        // A launcher that died since the last time is replaced. One that dies over this jail may have made half of it:
        // the caller clears that away before it asks again.
        let mut sent = self.running(&mut running).and_then(|running| wire::send(&running.wire, &ask, &[]));
        if sent.is_err() {
            stop(&mut running);
            sent = self.running(&mut running).and_then(|running| wire::send(&running.wire, &ask, &[]));
        }
        let answered = sent.and_then(|()| self.running(&mut running).and_then(|running| hear(&running.wire)));
        match answered {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                stop(&mut running);
                Err(Mishap { step: "reach the launcher".into(), why: "it ended".into() })
            }
            Err(error) => {
                stop(&mut running);
                Err(Mishap::at("reach the launcher")(error))
            }
        }
    }

    /// Brings a jail back from its memory. Its cgroups exist already and are empty; the gateway is opened by the caller.
    /// Blocks for some tenths of a second, and nobody else meanwhile: a launcher of its own does it.
    pub fn restore(&self, jail: &Jail, memory: &Memory) -> Result<Launched, Mishap> {
        let mut running = None;
        let ask = Ask::Restore(Box::new(jail.clone()), memory.clone());
        let answered = self.running(&mut running).and_then(|running| {
            wire::send(&running.wire, &ask, &[])?;
            hear(&running.wire)
        });
        stop(&mut running);
        match answered {
            Ok(Some(answer)) => answer,
            Ok(None) => Err(Mishap { step: "restore its memory".into(), why: "the launcher ended".into() }),
            Err(error) => Err(Mishap::at("reach the launcher")(error)),
        }
    }

    /// Listens on a port of the loopback of a jail that a plain user made in an earlier life. A thread of the server
    /// cannot go there; a process of the same user can, by its namespace of users first.
    pub fn listen(&self, first: Living, port: u16) -> io::Result<std::net::TcpListener> {
        let mut running = None;
        let answered = self.running(&mut running).and_then(|running| {
            wire::send(&running.wire, &Ask::Listen { first, port }, &[])?;
            wire::receive::<Answer>(&running.wire)
        });
        stop(&mut running);
        match answered? {
            Some((Answer::Listening, fds)) => {
                let listener = fds.into_iter().next().ok_or_else(|| io::Error::other("no listener was handed over"))?;
                Ok(listener.into())
            }
            Some((Answer::Failed(mishap), _)) => Err(io::Error::other(mishap)),
            Some((Answer::Launched { .. }, _)) | None => Err(io::Error::other("the launcher ended")),
        }
    }

    fn running<'r>(&self, running: &'r mut Option<Running>) -> io::Result<&'r Running> {
        if running.is_none() {
            let (ours, theirs) = wire::pair()?;
            let mut command = Command::new(&self.program);
            command.args(&self.args).arg(&self.scratch).stdin(Stdio::from(theirs)).stdout(Stdio::null()).env_clear();
            *running = Some(Running { wire: ours, child: command.spawn()? });
        }
        running.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        stop(&mut self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

/// Hangs up, which ends the launcher, and collects it.
fn stop(running: &mut Option<Running>) {
    if let Some(Running { wire, mut child }) = running.take() {
        drop(wire);
        let _ = child.wait();
    }
}

fn hear(wire: &OwnedFd) -> io::Result<Option<Result<Launched, Mishap>>> {
    let Some((answer, fds)) = wire::receive::<Answer>(wire)? else { return Ok(None) };
    let (first, unfit) = match answer {
        Answer::Failed(mishap) => return Ok(Some(Err(mishap))),
        Answer::Launched { first, unfit } => (first, unfit),
        Answer::Listening => return Err(io::Error::other("the launcher answered something else")),
    };
    let mut fds = fds.into_iter();
    match (fds.next(), fds.next()) {
        (Some(pidfd), Some(network)) => Ok(Some(Ok(Launched { first, pidfd, network, gateway: fds.next(), unfit }))),
        _ => Err(io::Error::other("the launcher did not hand the process over")),
    }
}

/// Is the launcher, until the server hangs up. The wire is the standard input; the argument is the scratch folder.
pub fn run(scratch: &Path) -> io::Result<()> {
    let wire = io::stdin().as_fd().try_clone_to_owned()?;
    crate::seccomp::prepare()?;
    sys::collect_no_children();
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let devices = scratch.join("dev");
    // A plain user has no rights over mounts out here; jails then furnish themselves.
    if rustix::process::geteuid().is_root() {
        sys::new_mount_namespace()?;
        // What the host mounts later is seen here; what is mounted here is seen nowhere else and ends with this process.
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
        let_go_of_others(scratch);
        fs::create_dir_all(&devices)?;
        furnish_devices(&devices)?;
    }
    let mut hierarchies: Option<(String, Hierarchies)> = None;
    while let Some((ask, _)) = wire::receive::<Ask>(&wire)? {
        let jail = match &ask {
            Ask::Launch(jail) | Ask::Restore(jail, _) => jail,
            Ask::Listen { first, port } => {
                return match listen_inside(*first, *port) {
                    Ok(listener) => wire::send(&wire, &Answer::Listening, &[listener.as_fd()]),
                    Err(error) => wire::send(&wire, &Answer::Failed(Mishap::at("listen in the jail")(error)), &[]),
                };
            }
        };
        if hierarchies.as_ref().is_none_or(|(house, _)| *house != jail.house) {
            hierarchies = Some((jail.house.clone(), Hierarchies::open(&jail.house)?));
        }
        let Some((_, hierarchies)) = &hierarchies else { continue };
        let made = match &ask {
            Ask::Launch(_) | Ask::Listen { .. } => launch(jail, hierarchies, &devices),
            Ask::Restore(jail, memory) => {
                let restored = restore(jail, memory, &hierarchies.cgroup(&jail.name), &devices);
                restored.map(|(first, fds)| Made { first, unfit: Vec::new(), fds, parts: Vec::new() })
            }
        };
        match made {
            // Whoever waits hears first; then what the mounts were made of is let go.
            Ok(Made { first, unfit, fds, parts: _parts }) => {
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                wire::send(&wire, &Answer::Launched { first, unfit }, &fds)?;
            }
            Err(mishap) => wire::send(&wire, &Answer::Failed(mishap), &[])?,
        }
    }
    Ok(())
}

/// Goes into the namespaces of a jail's first process, for good, and listens there.
fn listen_inside(first: Living, port: u16) -> io::Result<std::net::TcpListener> {
    let place = |kind: &str| fs::File::open(format!("/proc/{}/ns/{kind}", first.pid));
    let (users, network) = (place("user")?, place("net")?);
    // The number may have been given to another between the look and the opening.
    if Living::of(first.pid)? != first {
        return Err(io::ErrorKind::NotFound.into());
    }
    // Whoever made a namespace of users has every right in it, and in what was made from there.
    move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    std::net::TcpListener::bind(("127.0.0.1", port))
}

/// Lets go of what other houses have mounted from images: whoever ends there should not find it held here.
fn let_go_of_others(scratch: &Path) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    let images = places.filter(|place| place.with_extension("img").is_file());
    for place in images.filter(|place| !place.parent().is_some_and(|house| scratch.starts_with(house))) {
        let _ = rustix::mount::unmount(place, rustix::mount::UnmountFlags::DETACH);
    }
}

/// The links in `/dev`, each with where it leads.
pub(crate) const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
    ("pts/ptmx", "ptmx"),
];
/// The folders in `/dev`.
pub(crate) const FOLDERS: [&str; 3] = ["pts", "shm", "mqueue"];

/// One set of devices for all jails: nothing of it can be written, and every jail sees the same mount.
fn furnish_devices(place: &Path) -> io::Result<()> {
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, Some(c"mode=0755,size=64k"))?;
    let folder = fs::File::open(place)?;
    let all = Mode::from_raw_mode(0o666);
    for (name, major, minor) in
        [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)]
    {
        mknodat(&folder, name, FileType::CharacterDevice, all, makedev(major, minor))?;
        rustix::fs::chmodat(&folder, name, all, rustix::fs::AtFlags::empty())?;
    }
    for (target, name) in LINKS {
        symlinkat(target, &folder, name)?;
    }
    for name in FOLDERS {
        fs::create_dir(place.join(name))?;
    }
    rustix::mount::mount_remount(
        place,
        MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::RDONLY,
        c"mode=0755,size=64k",
    )?;
    Ok(())
}

/// A jail that was made, as the launcher sees it.
struct Made {
    first: Living,
    unfit: Vec<String>,
    /// What is handed over with it.
    fds: Vec<OwnedFd>,
    /// What nobody needs any more.
    parts: Vec<OwnedFd>,
}

fn launch(jail: &Jail, hierarchies: &Hierarchies, devices: &Path) -> Result<Made, Mishap> {
    let cgroup = hierarchies.cgroup(&jail.name);
    let birthplace = cgroup.birthplace().map_err(Mishap::at("open the cgroup"))?;
    let doors = cgroup.doors().map_err(Mishap::at("open the cgroups"))?;
    let (ours, theirs) = wire::pair().map_err(Mishap::at("make a wire"))?;
    let namespaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    let side = sys::clone_into(namespaces, birthplace.as_ref()).map_err(Mishap::at("make namespaces"))?;
    let Side::Parent { pid, pidfd } = side else {
        drop(ours);
        become_guest(jail, doors, &theirs);
    };
    drop((theirs, doors));
    let made = equip(jail, devices, pid, &ours);
    let made = made.and_then(|mut made| {
        let network = fs::File::open(format!("/proc/{pid}/ns/net")).map_err(Mishap::at("open the network"))?;
        let pidfd = pidfd.try_clone().map_err(Mishap::at("keep the process"))?;
        made.fds.splice(0..0, [pidfd, network.into()]);
        Ok(made)
    });
    made.inspect_err(|_| {
        // The whole namespace ends with its first process.
        let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
    })
}

/// Does for the new process what it cannot do itself, and waits until its program runs.
fn equip(jail: &Jail, devices: &Path, pid: i32, wire: &OwnedFd) -> Result<Made, Mishap> {
    map_users(jail, pid).map_err(Mishap::at("map users"))?;
    let (mounts, parts) = match jail.mapping {
        crate::Mapping::Alone(..) => (Vec::new(), Vec::new()),
        crate::Mapping::Range(_) => {
            let users = fs::File::open(format!("/proc/{pid}/ns/user")).map_err(Mishap::at("open the users"))?;
            let rootfs::Assembled { mut mounts, parts } = rootfs::assemble(jail, &users.into())?;
            mounts.push(rootfs::clone_tree(devices).map_err(Mishap::at("clone /dev"))?);
            (mounts, parts)
        }
    };
    if let Some(note) = jail.first_note() {
        // Before it begins: where there is no cgroup, nothing else says who it is if the server dies now.
        let told = Living::of(pid).and_then(|first| fs::write(note, serde_json::to_vec(&first)?));
        told.map_err(Mishap::at("note who it is"))?;
    }
    let fds: Vec<_> = mounts.iter().map(AsFd::as_fd).collect();
    wire::send(wire, &Begin, &fds).map_err(Mishap::at("hand the mounts over"))?;
    drop(mounts);
    let ended = || Mishap { step: "prepare the jail".into(), why: "its process ended".into() };
    let hear = || wire::receive::<Report>(wire).map_err(Mishap::at("hear the jail"));
    let (unfit, fds) = match hear()?.ok_or_else(ended)? {
        (Report::Listening { unfit }, fds) => (unfit, fds),
        (Report::Failed(mishap), _) => return Err(mishap),
    };
    match hear()? {
        None => {
            let first = Living::of(pid).map_err(Mishap::at("look at the process"))?;
            Ok(Made { first, unfit, fds, parts })
        }
        Some((Report::Failed(mishap), _)) => Err(mishap),
        Some((Report::Listening { .. }, _)) => Err(ended()),
    }
}

pub(crate) fn map_users(jail: &Jail, pid: i32) -> io::Result<()> {
    let (users, groups) = match jail.mapping {
        crate::Mapping::Range(base) => {
            let line = format!("0 {base} {}", crate::Mapping::WIDTH);
            (line.clone(), line)
        }
        crate::Mapping::Alone(user, group) => {
            fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
            (format!("0 {user} 1"), format!("0 {group} 1"))
        }
    };
    fs::write(format!("/proc/{pid}/uid_map"), users)?;
    // From out here: what becomes somebody else may not write this of itself. The child tries again where this fails.
    let _ = fs::write(format!("/proc/{pid}/oom_score_adj"), FIRST_TO_GO);
    fs::write(format!("/proc/{pid}/gid_map"), groups)
}
