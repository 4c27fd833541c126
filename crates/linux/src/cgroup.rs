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

use crate::process::page_out;

/// The controllers we use.
const CONTROLLERS: [&str; 4] = ["cpu", "cpuacct", "memory", "pids"];
/// Where the processes of a cgroup move that is to hand controllers down: the kernel lets only those do so that hold none.
const SERVERS: &str = "carrel-server";
/// How soon a group is looked at again for the first time.
const FIRST_LOOK: Duration = Duration::from_micros(100);
/// How long the kernel rests between two bells of one group.
const BELLS_REST: Duration = Duration::from_millis(10);

/// The folders in which this house keeps its cgroups.
#[derive(Debug, Clone, Default)]
pub struct Hierarchies {
    unified: Option<PathBuf>,
    /// Other folders of this house in the unified hierarchy, whose cgroups are found and in which none is made.
    earlier: Vec<PathBuf>,
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

/// How often a jail met its limits, since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Met {
    /// A process was ended for want of memory.
    pub memory: u64,
    /// A process or thread was not begun, since there were too many.
    pub pids: u64,
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
                // Where it is mounted twice, the first will do.
                "cgroup2" if found.unified.is_some() => {}
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
        for root in roots(mount) {
            let folder = root.join("carrel").join(house);
            if fs::create_dir_all(&folder).is_err() {
                continue;
            }
            self.unified_controllers = hand_down(&root, &folder, &CONTROLLERS);
            if !is_home(&folder) {
                // Somebody above hands down what threads share: no process can be born here.
                close_unified(&folder, &CONTROLLERS);
                self.unified_controllers.clear();
                continue;
            }
            if root != mount {
                // An earlier life of this house may have been given another cgroup, and what it began lives there.
                self.earlier = houses_below(mount, house).into_iter().filter(|earlier| *earlier != folder).collect();
            }
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
        // The sandboxes of a plain user have one user each, whose processes the kernel counts without a cgroup.
        let is_counted = |controller: &str| controller == "pids" && !rustix::process::geteuid().is_root();
        for (controller, what) in [("cpu", "processors are"), ("memory", "memory is"), ("pids", "processes are")] {
            if !self.has(controller) && !is_counted(controller) {
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
        let earlier = self.earlier.iter().map(|folder| folder.join(name)).find(|place| place.exists());
        Cgroup {
            unified: earlier.or_else(|| Some(self.unified.as_ref()?.join(name))),
            new: self.unified_controllers.clone(),
            old: self.old.iter().map(|(controller, folder)| (controller.clone(), folder.join(name))).collect(),
        }
    }

    /// The names of all cgroups that exist in this house.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for folder in self.unified.iter().chain(&self.earlier).chain(self.old.values()) {
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
        self.unified.iter().chain(&self.earlier).for_each(|folder| close_unified(folder, &CONTROLLERS));
        for folder in self.old.values() {
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
            self.allow_swap(false);
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
            if !frozen {
                self.allow_swap(false);
            }
            return Ok(());
        }
        if frozen {
            let _ = fs::write(unified.join("cgroup.freeze"), "0");
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Moves the memory of all processes to swap, as far as the kernel will, and says how many bytes went there. They stand
    /// still: whoever runs again may have no more swap. An error when the kernel refused all of it.
    pub fn page_out(&self) -> io::Result<u64> {
        self.allow_swap(true);
        let (mut moved, mut refused) = (0, None);
        for pid in self.processes() {
            match page_out(pid) {
                Ok(bytes) => moved += bytes,
                Err(error) => refused = Some(error),
            }
        }
        if moved > 0 {
            return Ok(moved);
        }
        self.allow_swap(false);
        refused.map_or(Ok(0), Err)
    }

    /// Lets its memory go to swap, or no more of it. The old hierarchy bounds memory and swap together, and needs no word.
    fn allow_swap(&self, allowed: bool) {
        if let Some(folder) = self.new_with("memory") {
            // Missing where the kernel counts no swap, and then it does not bound it either.
            let _ = fs::write(folder.join("memory.swap.max"), if allowed { "max" } else { "0" });
        }
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
        let field = |folder: Option<&PathBuf>, file: &str, name: &str| field(folder?, file, name);
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

    /// How often it met its limits. Nothing where nobody counts.
    pub fn met(&self) -> Option<Met> {
        let memory = self.new_with("memory").map(|folder| ("memory.events", folder));
        let memory = memory.or_else(|| self.old.get("memory").map(|folder| ("memory.oom_control", folder)));
        let memory = memory.and_then(|(file, folder)| field(folder, file, "oom_kill"));
        let pids = self.new_with("pids").or(self.old.get("pids"));
        let pids = pids.and_then(|folder| field(folder, "pids.events", "max"));
        if memory.is_none() && pids.is_none() {
            return None;
        }
        Some(Met { memory: memory.unwrap_or(0), pids: pids.unwrap_or(0) })
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

/// One number of a file with a name and a number in each line.
fn field(folder: &Path, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(folder.join(file)).ok()?;
    let line = text.lines().find(|line| line.split(' ').next() == Some(name))?;
    line.split(' ').nth(1)?.parse().ok()
}

/// Walks through the doors of cgroups. A thread that moves itself waits for nobody; moving a process by its number waits
/// until all processors took notice, some 10 ms.
pub(crate) fn enter(doors: Vec<File>) -> io::Result<()> {
    doors.into_iter().try_for_each(|mut door| door.write_all(b"0"))
}

/// Has a cgroup, and those on the way to a folder below it, hand controllers down, and says which: all that are wanted and
/// offered, or none.
///
/// All of them in one breath: where a cgroup holds processes the kernel gives those that threads can share and refuses the
/// others, and then no process can be born anywhere below it.
fn hand_down(root: &Path, folder: &Path, wanted: &[&str]) -> Vec<String> {
    let offered = words(&root.join("cgroup.controllers"));
    let wanted: Vec<_> = wanted.iter().filter(|name| offered.contains(**name)).copied().collect();
    let mut levels: Vec<&Path> = folder.ancestors().take_while(|level| level.starts_with(root)).collect();
    levels.reverse();
    if wanted.is_empty() || (!is_top(root) && !vacate(root, &levels, &wanted)) {
        return Vec::new();
    }
    let mut added = Vec::new();
    for level in &levels {
        let given = words(&level.join("cgroup.subtree_control"));
        let missing: Vec<_> = wanted.iter().filter(|name| !given.contains(**name)).copied().collect();
        if change(level, '+', &missing).is_err() {
            // What others had it hand down before us stays.
            added.iter().rev().for_each(|(level, missing): &(&Path, Vec<_>)| take_back(&[*level], missing));
            return Vec::new();
        }
        added.push((*level, missing));
    }
    wanted.into_iter().map(str::to_owned).collect()
}

/// Moves all processes of a cgroup into one below it: ours, and those that we were started among. Says whether none is left.
fn vacate(root: &Path, levels: &[&Path], controllers: &[&str]) -> bool {
    /// Whoever is born in between is moved in the next round.
    const ROUNDS: usize = 16;
    if words(&root.join("cgroup.procs")).is_empty() {
        return true;
    }
    // What is handed down to threads keeps processes out of all cgroups below.
    take_back(levels, controllers);
    let servers = root.join(SERVERS);
    if fs::create_dir_all(&servers).is_ok() && (0..ROUNDS).any(|_| move_all(root, &servers)) {
        return true;
    }
    move_all(&servers, root);
    let _ = fs::remove_dir(&servers);
    false
}

/// Moves the processes of one cgroup into another, once, and says whether none is left.
fn move_all(from: &Path, to: &Path) -> bool {
    for process in words(&from.join("cgroup.procs")) {
        // It may have ended, or not be ours to move.
        let _ = fs::write(to.join("cgroup.procs"), process);
    }
    words(&from.join("cgroup.procs")).is_empty()
}

fn take_back(levels: &[&Path], controllers: &[&str]) {
    for level in levels.iter().rev() {
        let given = words(&level.join("cgroup.subtree_control"));
        let given: Vec<_> = controllers.iter().filter(|name| given.contains(**name)).copied().collect();
        let _ = change(level, '-', &given);
    }
}

fn change(level: &Path, sign: char, controllers: &[&str]) -> io::Result<()> {
    let line: Vec<_> = controllers.iter().map(|name| format!("{sign}{name}")).collect();
    if line.is_empty() {
        return Ok(());
    }
    fs::write(level.join("cgroup.subtree_control"), line.join(" "))
}

/// Removes a house's folder when it is empty. When no house is left, all is as before the first came.
fn close_unified(folder: &Path, controllers: &[&str]) {
    let _ = fs::remove_dir(folder);
    let Some(houses) = folder.parent() else { return };
    let Some(root) = houses.parent().filter(|_| fs::remove_dir(houses).is_ok()) else { return };
    let servers = root.join(SERVERS);
    if servers.is_dir() {
        take_back(&[root], controllers);
        move_all(&servers, root);
        let _ = fs::remove_dir(&servers);
    }
}

/// Whether it is the kernel's first cgroup, which may hold processes whatever it hands down.
fn is_top(cgroup: &Path) -> bool {
    !cgroup.join("cgroup.type").exists()
}

/// Whether processes can be born in it.
fn is_home(cgroup: &Path) -> bool {
    fs::read_to_string(cgroup.join("cgroup.type")).map_or(true, |kind| kind.trim() == "domain")
}

fn words(file: &Path) -> BTreeSet<String> {
    fs::read_to_string(file).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The place, kind and options of a mount of cgroups.
pub(crate) fn cgroup_mount(line: &str) -> Option<(PathBuf, &str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let kind = after.next().filter(|kind| *kind == "cgroup" || *kind == "cgroup2")?;
    let options = after.nth(1)?;
    // A mount of a part of the hierarchy, as containers see it, works the same way.
    let place = before.split(' ').nth(4)?;
    Some((PathBuf::from(place), kind, options))
}

/// Where in the unified hierarchy a house may be: at its top, or in our own cgroup.
pub(crate) fn roots(mount: &Path) -> Vec<PathBuf> {
    std::iter::once(mount.to_owned()).chain(own_cgroup(mount)).collect()
}

/// The folders of a house anywhere below a cgroup.
fn houses_below(top: &Path, house: &str) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![top.to_owned()]);
    while let Some(folder) = left.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
        match folder.file_name().is_some_and(|name| name == "carrel") {
            true => found.extend(below.filter(|place| place.file_name().is_some_and(|name| name == house))),
            false => left.extend(below),
        }
    }
    found
}

/// Our own cgroup in the unified hierarchy, or the one that we moved out of: a plain user may have been given it.
fn own_cgroup(mount: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = mount.join(path);
    Some(if own.ends_with(SERVERS) { own.parent()?.to_owned() } else { own })
}

#[cfg(test)]
mod tests;
