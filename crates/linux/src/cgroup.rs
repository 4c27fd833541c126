//! Cgroups: how much a jail may use, what it uses, and how it is stopped, thawed and ended as one.
//!
//! One `Cgroup` hides which hierarchy does what. Freezing and killing are the unified hierarchy's (it needs no controller
//! for them); memory, processes and processor time come from it where it has the controllers, else from the old ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
};
use serde::{Deserialize, Serialize};

/// The controllers we use.
const CONTROLLERS: [&str; 4] = ["cpu", "cpuacct", "memory", "pids"];
/// How soon a group is looked at again for the first time.
const FIRST_LOOK: Duration = Duration::from_micros(100);
/// How long the kernel rests between two bells of one group.
const BELLS_REST: Duration = Duration::from_millis(10);

/// The folders in which this house keeps its cgroups.
#[derive(Debug, Clone, Default)]
pub struct Hierarchies {
    unified: Option<PathBuf>,
    /// The controllers that the unified hierarchy gives to our cgroups.
    unified_controllers: Vec<String>,
    old: BTreeMap<String, PathBuf>,
}

/// How much a jail may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Processors, such as 0.5 or 2.
    pub cpus: f64,
    /// Bytes of memory.
    pub memory: u64,
    /// Processes and threads.
    pub pids: u64,
}

/// What a jail uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Processor time in microseconds.
    pub cpu_us: Option<u64>,
    /// Bytes of memory, caches included.
    pub memory: Option<u64>,
    /// Bytes of caches in it.
    pub cache: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// How often a process was ended for want of memory.
    pub out_of_memory: Option<u64>,
}

/// The cgroups of one jail.
#[derive(Debug, Clone)]
pub struct Cgroup {
    unified: Option<PathBuf>,
    new: Vec<String>,
    old: BTreeMap<String, PathBuf>,
}

impl Hierarchies {
    /// Finds the hierarchies of this host and makes a folder for this house in each, where it may.
    pub fn open(house: &str) -> io::Result<Hierarchies> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let mut found = Hierarchies::default();
        for line in mounts.lines() {
            let Some((place, kind, options)) = cgroup_mount(line) else { continue };
            match kind {
                "cgroup2" => found.open_unified(&place, house),
                _ => {
                    for controller in CONTROLLERS.iter().filter(|name| options.split(',').any(|o| o == **name)) {
                        let folder = place.join("carrel").join(house);
                        if fs::create_dir_all(&folder).is_ok() {
                            found.old.insert((*controller).to_owned(), folder);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    fn open_unified(&mut self, mount: &Path, house: &str) {
        let roots = [mount.to_owned(), own_cgroup(mount).unwrap_or_else(|| mount.to_owned())];
        for root in roots {
            let folder = root.join("carrel").join(house);
            if fs::create_dir_all(&folder).is_err() {
                continue;
            }
            // Each level hands its controllers down by name; what cannot be handed down is missing below.
            for level in [&root, &root.join("carrel"), &folder] {
                for controller in CONTROLLERS {
                    let _ = fs::write(level.join("cgroup.subtree_control"), format!("+{controller}"));
                }
            }
            let given = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
            self.unified_controllers = given.split_whitespace().map(str::to_owned).collect();
            self.unified = Some(folder);
            return;
        }
    }

    /// What cannot be had here, each a sentence.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.unified.is_none() {
            missing.push("no unified cgroup hierarchy can be written: sandboxes cannot be frozen".to_owned());
        }
        for (controller, what) in [("cpu", "processors are"), ("memory", "memory is"), ("pids", "processes are")] {
            if !self.has(controller) {
                missing.push(format!("no cgroup controller `{controller}` can be used: {what} not limited"));
            }
        }
        missing
    }

    /// Whether processes can be frozen.
    pub fn can_freeze(&self) -> bool {
        self.unified.is_some()
    }

    fn has(&self, controller: &str) -> bool {
        self.old.contains_key(controller) || self.unified_controllers.iter().any(|name| name == controller)
    }

    /// The cgroups of a jail, made or not.
    pub fn cgroup(&self, name: &str) -> Cgroup {
        Cgroup {
            unified: self.unified.as_ref().map(|folder| folder.join(name)),
            new: self.unified_controllers.clone(),
            old: self.old.iter().map(|(controller, folder)| (controller.clone(), folder.join(name))).collect(),
        }
    }

    /// The names of all cgroups that exist in this house.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for folder in self.unified.iter().chain(self.old.values()) {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            names.extend(folders.filter_map(|entry| entry.file_name().into_string().ok()));
        }
        names.sort();
        names.dedup();
        names
    }

    /// Removes the house's own folders, when they are empty.
    pub fn close(&self) {
        for folder in self.unified.iter().chain(self.old.values()) {
            let _ = fs::remove_dir(folder);
            if let Some(parent) = folder.parent() {
                let _ = fs::remove_dir(parent);
            }
        }
    }
}

impl Cgroup {
    /// Makes the folders and sets the bounds. May be repeated.
    pub fn make(&self, bounds: &Bounds) -> io::Result<()> {
        for folder in self.folders() {
            fs::create_dir_all(folder)?;
        }
        self.bound(bounds)
    }

    /// Sets the bounds. A controller that is there and refuses is an error: no jail runs without its limits.
    pub fn bound(&self, bounds: &Bounds) -> io::Result<()> {
        const PERIOD_US: f64 = 100_000.0;
        let quota = (bounds.cpus * PERIOD_US).max(1000.0) as u64;
        if let Some(folder) = self.new_with("memory") {
            fs::write(folder.join("memory.max"), bounds.memory.to_string())?;
            let _ = fs::write(folder.join("memory.swap.max"), "0");
            let _ = fs::write(folder.join("memory.oom.group"), "0");
        } else if let Some(folder) = self.old.get("memory") {
            fs::write(folder.join("memory.limit_in_bytes"), bounds.memory.to_string())?;
            let _ = fs::write(folder.join("memory.memsw.limit_in_bytes"), bounds.memory.to_string());
        }
        if let Some(folder) = self.new_with("pids").or(self.old.get("pids")) {
            fs::write(folder.join("pids.max"), bounds.pids.to_string())?;
        }
        if let Some(folder) = self.new_with("cpu") {
            fs::write(folder.join("cpu.max"), format!("{quota} {}", PERIOD_US as u64))?;
        } else if let Some(folder) = self.old.get("cpu") {
            fs::write(folder.join("cpu.cfs_period_us"), (PERIOD_US as u64).to_string())?;
            fs::write(folder.join("cpu.cfs_quota_us"), quota.to_string())?;
        }
        Ok(())
    }

    /// The unified cgroup, for a process to be born into.
    pub(crate) fn birthplace(&self) -> io::Result<Option<OwnedFd>> {
        let Some(folder) = &self.unified else { return Ok(None) };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Some(rustix::fs::open(folder, flags, Mode::empty())?))
    }

    /// The doors of the old hierarchies, which have no birthplace: whoever holds them can walk in.
    pub(crate) fn doors(&self) -> io::Result<Vec<File>> {
        let elsewhere = |controller: &String| self.new.contains(controller);
        // The one that limits it elsewhere already need not be entered, and some share a folder.
        let old: BTreeSet<_> = self.old.iter().filter(|(name, _)| !elsewhere(name)).map(|(_, folder)| folder).collect();
        old.into_iter().map(|folder| fs::OpenOptions::new().write(true).open(folder.join("tasks"))).collect()
    }

    /// Moves a process into all of them.
    pub fn join(&self, pid: i32) -> io::Result<()> {
        let folders: BTreeSet<_> = self.folders().collect();
        folders.into_iter().try_for_each(|folder| fs::write(folder.join("cgroup.procs"), pid.to_string()))
    }

    /// Moves the process that calls this into all of them. It has one thread.
    pub(crate) fn enter(&self) -> io::Result<()> {
        if let Some(folder) = &self.unified {
            fs::write(folder.join("cgroup.procs"), "0")?;
        }
        enter(self.doors()?)
    }

    /// Freezes or thaws all processes and waits until it is so. Says no when it is not so in time.
    pub fn set_frozen(&self, frozen: bool, patience: Duration) -> io::Result<()> {
        let unified = self.unified.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        fs::write(unified.join("cgroup.freeze"), if frozen { "1" } else { "0" })?;
        let wanted = if frozen { "frozen 1" } else { "frozen 0" };
        if self.await_event(wanted, patience)? {
            return Ok(());
        }
        if frozen {
            let _ = fs::write(unified.join("cgroup.freeze"), "0");
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Tells all processes to freeze and does not wait for it.
    pub fn begin_freezing(&self) -> io::Result<()> {
        let unified = self.unified.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        fs::write(unified.join("cgroup.freeze"), "1")
    }

    /// Whether it is frozen, or on the way there.
    pub fn is_frozen(&self) -> bool {
        let Some(unified) = &self.unified else { return false };
        fs::read_to_string(unified.join("cgroup.freeze")).is_ok_and(|text| text.trim() == "1")
    }

    /// Whether any process is in it.
    pub fn is_populated(&self) -> bool {
        match &self.unified {
            Some(unified) => {
                fs::read_to_string(unified.join("cgroup.events")).is_ok_and(|text| text.contains("populated 1"))
            }
            None => !self.processes().is_empty(),
        }
    }

    /// The processes in it.
    pub fn processes(&self) -> Vec<i32> {
        let folder = self.unified.iter().chain(self.old.values()).next();
        let text = folder.and_then(|folder| fs::read_to_string(folder.join("cgroup.procs")).ok()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Ends every process in it and waits until none is left. Says no when some are left after a while.
    pub fn kill(&self, patience: Duration) -> io::Result<()> {
        let Some(unified) = self.unified.as_ref().filter(|folder| folder.exists()) else {
            return Ok(());
        };
        match fs::write(unified.join("cgroup.kill"), "1") {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        if self.await_event("populated 0", patience)? { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
    }

    /// Removes the folders, content to find none. Whoever still dies inside is waited for.
    pub fn remove(&self, patience: Duration) -> io::Result<()> {
        let end = Instant::now() + patience;
        for folder in self.folders() {
            loop {
                match fs::remove_dir(folder) {
                    Ok(()) => break,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    // The old hierarchies tell nobody when their last process has left.
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < end => {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// What it uses now.
    pub fn read(&self) -> Reading {
        let number = |folder: Option<&PathBuf>, file: &str| {
            folder.and_then(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok())
        };
        let field = |folder: Option<&PathBuf>, file: &str, name: &str| {
            let text = fs::read_to_string(folder?.join(file)).ok()?;
            let line = text.lines().find(|line| line.split(' ').next() == Some(name))?;
            line.split(' ').nth(1)?.parse::<u64>().ok()
        };
        let new_memory = self.new_with("memory");
        let old_memory = self.old.get("memory").filter(|_| new_memory.is_none());
        Reading {
            cpu_us: self.old.get("cpuacct").map_or_else(
                || field(self.unified.as_ref(), "cpu.stat", "usage_usec"),
                |folder| number(Some(folder), "cpuacct.usage").map(|ns: u64| ns / 1000),
            ),
            memory: number(new_memory, "memory.current").or_else(|| number(old_memory, "memory.usage_in_bytes")),
            cache: field(new_memory, "memory.stat", "file").or_else(|| field(old_memory, "memory.stat", "cache")),
            pids: number(self.new_with("pids").or(self.old.get("pids")), "pids.current"),
            out_of_memory: field(new_memory, "memory.events", "oom_kill")
                .or_else(|| field(old_memory, "memory.oom_control", "oom_kill")),
        }
    }

    fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.unified.iter().chain(self.old.values())
    }

    fn new_with(&self, controller: &str) -> Option<&PathBuf> {
        self.unified.as_ref().filter(|_| self.new.iter().any(|name| name == controller))
    }

    /// Waits until the kernel's list of events has a line; the kernel rings when the list changes.
    fn await_event(&self, line: &str, patience: Duration) -> io::Result<bool> {
        let Some(unified) = &self.unified else { return Ok(true) };
        let path = unified.join("cgroup.events");
        let end = Instant::now() + patience;
        // The kernel rings for a group once in 10 ms at most, and freezing takes a tenth of one: the first looks do not wait
        // for the bell.
        let mut look = FIRST_LOOK;
        loop {
            // Opened before it is read, so that a change in between rings.
            let events = match rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
                Ok(events) => events,
                Err(rustix::io::Errno::NOENT) => return Ok(true),
                Err(error) => return Err(error.into()),
            };
            let mut text = [0; 256];
            let length = rustix::io::read(&events, &mut text)?;
            if String::from_utf8_lossy(&text[..length]).lines().any(|found| found == line) {
                return Ok(true);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let left = if look < BELLS_REST { left.min(look) } else { left };
            look = (look * 2).min(BELLS_REST);
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [PollFd::from_borrowed_fd(events.as_fd(), PollFlags::PRI)];
            match poll(&mut fds, Some(&left)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Walks through the doors of cgroups. A thread that moves itself waits for nobody; moving a process by its number waits
/// until all processors took notice, some 10 ms.
pub(crate) fn enter(doors: Vec<File>) -> io::Result<()> {
    doors.into_iter().try_for_each(|mut door| door.write_all(b"0"))
}

/// The place, kind and options of a mount of cgroups.
fn cgroup_mount(line: &str) -> Option<(PathBuf, &str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let kind = after.next().filter(|kind| *kind == "cgroup" || *kind == "cgroup2")?;
    let options = after.nth(1)?;
    // A mount of a part of the hierarchy, as containers see it, works the same way.
    let place = before.split(' ').nth(4)?;
    Some((PathBuf::from(place), kind, options))
}

/// Our own cgroup in the unified hierarchy: a plain user may have been given it.
fn own_cgroup(mount: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(mount.join(path))
}
