//! The launcher: a small process with one thread that makes jails on request.
//!
//! Forking the server would copy its page tables, 20 ms for each GB; forking this costs a fraction of a millisecond. It
//! remembers nothing that must not be lost: a new one goes on where the old one died. The shells of jails that it has
//! prepared end with it.

use std::{
    collections::HashMap,
    fs, io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{FileType, Mode, makedev, mknodat, symlinkat},
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use serde::{Deserialize, Serialize};

use crate::{
    Hierarchies, Jail, Launched, Living, Memory, Mishap,
    inside::{Begin, FIRST_TO_GO, Mapped, Report, become_guest},
    restore::restore,
    rootfs,
    sys::{self, Side},
    wire,
};

/// What the server asks.
#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Make a jail, in its shell when one was prepared.
    Launch(Box<Jail>),
    /// Make its shell: everything that does not depend on its root. Nobody waits for an answer.
    Prepare(Box<Jail>),
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

    /// Has the shell of a jail made, which is launched by and by. Its cgroups exist already. Whatever fails is told when it
    /// is launched.
    pub fn prepare(&self, jail: &Jail) -> io::Result<()> {
        let mut running = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let ask = Ask::Prepare(Box::new(jail.clone()));
        let sent = self.running(&mut running).and_then(|running| wire::send(&running.wire, &ask, &[]));
        if sent.is_err() {
            stop(&mut running);
        }
        sent
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
    let mut shells: HashMap<String, Shell> = HashMap::new();
    // What mounts were made of. Letting go of it keeps all processors busy for a while, and whoever was just given a jail has
    // better use for them.
    let mut parts = Vec::new();
    loop {
        if !parts.is_empty() && (parts.len() > MOST_PARTS || !is_asked_within(&wire, A_WHILE)) {
            parts.clear();
        }
        let Some((ask, _)) = wire::receive::<Ask>(&wire)? else { return Ok(()) };
        let jail = match &ask {
            Ask::Launch(jail) | Ask::Prepare(jail) | Ask::Restore(jail, _) => jail,
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
            Ask::Prepare(_) => {
                shells.retain(|_, shell| shell.waits());
                if let Ok(shell) = Shell::make(jail, hierarchies, &devices) {
                    shells.insert(jail.name.clone(), shell);
                }
                continue;
            }
            Ask::Launch(_) | Ask::Listen { .. } => {
                let shell = shells.remove(&jail.name).filter(Shell::waits);
                let shell = shell.map_or_else(|| Shell::make(jail, hierarchies, &devices), Ok);
                shell.and_then(|shell| shell.launch(jail))
            }
            Ask::Restore(jail, memory) => {
                let restored = restore(jail, memory, &hierarchies.cgroup(&jail.name), &devices);
                restored.map(|(first, fds)| Made { first, unfit: Vec::new(), fds, parts: Vec::new() })
            }
        };
        match made {
            Ok(Made { first, unfit, fds, parts: made_of }) => {
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                wire::send(&wire, &Answer::Launched { first, unfit }, &fds)?;
                parts.extend(made_of);
            }
            Err(mishap) => wire::send(&wire, &Answer::Failed(mishap), &[])?,
        }
    }
}

/// What mounts were made of is let go of when nobody has asked for anything for so long,
const A_WHILE: std::time::Duration = std::time::Duration::from_millis(30);
/// or when there is more of it.
const MOST_PARTS: usize = 256;

/// Whether somebody asks for something before so much time has passed, or has hung up.
fn is_asked_within(wire: &OwnedFd, patience: std::time::Duration) -> bool {
    let patience = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
    let mut fds = [PollFd::from_borrowed_fd(wire.as_fd(), PollFlags::IN)];
    poll(&mut fds, Some(&patience)).is_ok_and(|ready| ready > 0)
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

/// A jail without a root: a process in its namespaces and its cgroups, which waits to be told what to become.
struct Shell {
    pid: i32,
    pidfd: OwnedFd,
    wire: OwnedFd,
}

impl Shell {
    fn make(jail: &Jail, hierarchies: &Hierarchies, devices: &Path) -> Result<Shell, Mishap> {
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
        let shell = Shell { pid, pidfd, wire: ours };
        shell.equip(jail, devices).inspect_err(|_| shell.end())?;
        Ok(shell)
    }

    /// Does for the new process what it cannot do itself.
    fn equip(&self, jail: &Jail, devices: &Path) -> Result<(), Mishap> {
        map_users(jail, self.pid).map_err(Mishap::at("map users"))?;
        let dev = match jail.mapping {
            crate::Mapping::Alone(..) => None,
            crate::Mapping::Range(_) => Some(rootfs::clone_tree(devices).map_err(Mishap::at("clone /dev"))?),
        };
        if let Some(note) = jail.first_note() {
            // Before it begins: where there is no cgroup, nothing else says who it is if the server dies now.
            let told = Living::of(self.pid).and_then(|first| fs::write(note, serde_json::to_vec(&first)?));
            told.map_err(Mishap::at("note who it is"))?;
        }
        let fds: Vec<_> = dev.iter().map(AsFd::as_fd).collect();
        wire::send(&self.wire, &Mapped, &fds).map_err(Mishap::at("hand the devices over"))
    }

    /// Whether it is still there.
    fn waits(&self) -> bool {
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut fds = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready == 0)
    }

    /// Gives it its root, and waits until its program runs.
    fn launch(self, jail: &Jail) -> Result<Made, Mishap> {
        let made = self.fill(jail).and_then(|mut made| {
            let network =
                fs::File::open(format!("/proc/{}/ns/net", self.pid)).map_err(Mishap::at("open the network"))?;
            let pidfd = self.pidfd.try_clone().map_err(Mishap::at("keep the process"))?;
            made.fds.splice(0..0, [pidfd, network.into()]);
            Ok(made)
        });
        made.inspect_err(|_| self.end())
    }

    fn fill(&self, jail: &Jail) -> Result<Made, Mishap> {
        let (mounts, parts) = match jail.mapping {
            crate::Mapping::Alone(..) => (Vec::new(), Vec::new()),
            crate::Mapping::Range(_) => {
                let users = fs::File::open(format!("/proc/{}/ns/user", self.pid));
                let users = users.map_err(Mishap::at("open the users"))?;
                let rootfs::Assembled { mounts, parts } = rootfs::assemble(jail, &users.into())?;
                (mounts, parts)
            }
        };
        let fds: Vec<_> = mounts.iter().map(AsFd::as_fd).collect();
        wire::send(&self.wire, &Begin(jail.clone()), &fds).map_err(Mishap::at("hand the mounts over"))?;
        drop(mounts);
        let ended = || Mishap { step: "prepare the jail".into(), why: "its process ended".into() };
        let hear = || wire::receive::<Report>(&self.wire).map_err(Mishap::at("hear the jail"));
        let (unfit, fds) = match hear()?.ok_or_else(ended)? {
            (Report::Listening { unfit }, fds) => (unfit, fds),
            (Report::Failed(mishap), _) => return Err(mishap),
        };
        match hear()? {
            None => {
                let first = Living::of(self.pid).map_err(Mishap::at("look at the process"))?;
                Ok(Made { first, unfit, fds, parts })
            }
            Some((Report::Failed(mishap), _)) => Err(mishap),
            Some((Report::Listening { .. }, _)) => Err(ended()),
        }
    }

    /// The whole namespace ends with its first process.
    fn end(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, rustix::process::Signal::KILL);
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
