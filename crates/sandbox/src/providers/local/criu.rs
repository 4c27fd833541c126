//! Memory on disk: what CRIU writes of a sandbox's processes, where it lies, and how they come back.
//!
//! ```text
//! memory/NAME      the processes of a slot, while they are stored or on their way back
//! memory/snap-…    the processes of a snapshot, as long as there is a template of it
//! ```
//!
//! Beside the slots, not in them: what a sandbox may write does not bound what it remembers. Nobody but the owner may
//! enter the folder; within, everything is readable, because CRIU reads it as the users inside.
//!
//! Everything in here blocks, and is called from threads that may.

use std::{
    collections::HashSet,
    env, fs, io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use carrel_linux::{Bounds, Living, Memory};
use serde::{Deserialize, Serialize};

use super::{
    record::Record,
    slot::{Held, KERNEL_PATIENCE, User, Yard, bounds, random},
};
use crate::template::{LayerId, Template};

/// The oldest CRIU that knows the vDSO of newer kernels, and the oldest that knows the sockets of still newer ones.
const OLDEST: [(u32, u32); 2] = [(4, 1), (4, 2)];
/// The first kernel on which sockets of the network have no credentials to be asked for.
const NEWER_KERNEL: (u32, u32) = (6, 16);
/// What CRIU itself needs on top of a sandbox's limits while it brings it back.
const ITS_OWN: Bounds = Bounds { cpus: 1.0, memory: 128 << 20, pids: 64 };
/// Beside the images: what a fork must know of its source.
const KEEPSAKE: &str = "carrel.json";

/// CRIU on this host, or why there is none.
#[derive(Debug)]
pub(crate) struct Criu(Result<PathBuf, String>);

#[derive(Serialize, Deserialize)]
struct Keepsake {
    /// The folder with the daemon that runs in it.
    guest: PathBuf,
}

impl Criu {
    /// Looks for it where `CARREL_CRIU` says, in `PATH`, and where `scripts/install-criu` lays it.
    pub(crate) fn find(user: User) -> Criu {
        if user != User::Root {
            return Criu(Err("memory cannot be stored: CRIU needs root".into()));
        }
        let mut places: Vec<PathBuf> = env::var_os("CARREL_CRIU").map(PathBuf::from).into_iter().collect();
        places.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()).map(|folder| folder.join("criu")));
        let under = |variable: &str, rest: &str| {
            env::var_os(variable).filter(|folder| !folder.is_empty()).map(|folder| Path::new(&folder).join(rest))
        };
        let cache = under("CARREL_CACHE", "").or_else(|| under("XDG_CACHE_HOME", "carrel"));
        places.extend(cache.or_else(|| under("HOME", ".cache/carrel")).map(|cache| cache.join("criu/criu")));
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok().and_then(|text| numbers(&text));
        let [older, newer] = OLDEST;
        let oldest = if kernel >= Some(NEWER_KERNEL) { newer } else { older };
        let found = places.into_iter().find(|place| version(place) >= Some(oldest));
        Criu(found.ok_or_else(|| {
            let (major, minor) = oldest;
            format!("memory cannot be stored: CRIU {major}.{minor} or newer is missing (scripts/install-criu)")
        }))
    }

    /// What is missing, a sentence.
    pub(crate) fn missing(&self) -> Option<String> {
        self.0.as_ref().err().cloned()
    }

    fn program(&self) -> io::Result<&Path> {
        self.0.as_deref().map_err(|why| io::Error::new(io::ErrorKind::Unsupported, why.clone()))
    }
}

fn version(program: &Path) -> Option<(u32, u32)> {
    // Most places of PATH have none; asking the disk is cheaper than asking for a process.
    if !program.is_file() {
        return None;
    }
    let told = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    numbers(told.lines().find_map(|line| line.strip_prefix("Version: "))?)
}

/// The first two numbers of a version.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl Yard {
    /// Makes the folder of memories.
    pub(crate) fn open_memory(place: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(place)
    }

    /// Writes the memory of a running sandbox beside, safe on disk, and leaves the sandbox frozen as it was written.
    /// When it fails the sandbox runs on.
    pub(crate) fn dump(&self, record: &Record) -> io::Result<PathBuf> {
        let criu = self.criu.program()?;
        let first = record.first.ok_or(io::ErrorKind::NotFound)?;
        let draft = self.drafts.join(format!("memory-{}", hex::encode(random::<8>())));
        fs::DirBuilder::new().mode(0o755).create(&draft)?;
        let cgroup = self.cgroup(record);
        let shown = record.config.shown.iter().map(|shown| shown.at.clone());
        let volumes = record.volumes.iter().map(|mount| PathBuf::from(mount.path.as_str()));
        let folders: Vec<PathBuf> = record.config.host_folders.iter().cloned().chain(shown).chain(volumes).collect();
        let dumped = carrel_linux::dump(criu, first, &folders, &draft, || cgroup.begin_freezing());
        let safe = dumped.map_err(io::Error::other).and_then(|()| {
            cgroup.set_frozen(true, KERNEL_PATIENCE)?;
            open_to_all(&draft)?;
            fs::write(draft.join(KEEPSAKE), serde_json::to_vec(&Keepsake { guest: record.guest.clone() })?)?;
            Ok(rustix::fs::syncfs(fs::File::open(&draft)?)?)
        });
        match safe {
            Ok(()) => Ok(draft),
            Err(error) => {
                let _ = cgroup.set_frozen(false, KERNEL_PATIENCE);
                let _ = self.disk().erase(&draft);
                Err(error)
            }
        }
    }

    /// Gives a memory that was written its place.
    pub(crate) fn place_memory(&self, draft: &Path, name: &str) -> io::Result<()> {
        let place = self.memory.join(name);
        self.disk().erase(&place)?;
        fs::rename(draft, place)?;
        fs::File::open(&self.memory)?.sync_all()
    }

    /// Brings a slot back from its memory.
    pub(crate) fn restore(&self, record: &mut Record) -> io::Result<Held> {
        let images = self.memory.join(&record.name);
        let memory = Memory { criu: self.criu.program()?.to_owned(), images };
        self.make_folder(record)?;
        let (limits, cgroup) = (bounds(&record.limits), self.cgroup(record));
        cgroup.make(&Bounds {
            cpus: limits.cpus + ITS_OWN.cpus,
            memory: limits.memory + ITS_OWN.memory,
            pids: limits.pids + ITS_OWN.pids,
        })?;
        let restored = self.launcher.restore(&self.jail(record), &memory).map_err(io::Error::other)?;
        cgroup.bound(&limits)?;
        record.first = Some(restored.first);
        Ok(Held::new(restored.network, restored.gateway))
    }

    /// Makes a slot from the memory of a snapshot: a copy of its processes, with users of its own.
    pub(crate) fn revive(&self, template: &Template, record: &mut Record) -> io::Result<Held> {
        let layer = template.layers.last().ok_or(io::ErrorKind::NotFound)?;
        let source = self.memory.join(layer.as_str());
        let kept: Keepsake = serde_json::from_slice(&fs::read(source.join(KEEPSAKE))?)?;
        let copy = self.memory.join(&record.name);
        link_all(&source, &copy)?;
        carrel_linux::change_users(&copy, record.base)?;
        record.guest = kept.guest;
        record.remembers = true;
        self.keep(record)?;
        self.restore(record)
    }

    /// Lets a layer have the memory of a slot that is stored, too.
    pub(crate) fn share_memory(&self, record: &Record, layer: &LayerId) -> io::Result<bool> {
        link_all(&self.memory.join(&record.name), &self.memory.join(layer.as_str())).map(|()| true)
    }

    /// Lets the memory of a slot go, content to find none.
    pub(crate) fn forget_memory(&self, record: &Record) -> io::Result<()> {
        match fs::rename(self.memory.join(&record.name), self.trash.join(format!("{}-memory", record.name))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets the memory of a snapshot go, content to find none.
    pub(crate) fn forget_snapshot(&self, template: &Template) -> io::Result<()> {
        let Some(layer) = template.layers.last() else { return Ok(()) };
        self.disk().erase(&self.memory.join(layer.as_str()))
    }

    /// Removes what no slot and no template remembers. Only while nobody makes any.
    pub(crate) fn sweep_memory(&self) -> io::Result<()> {
        let mut known: HashSet<String> = self.records()?.into_iter().map(|record| record.name).collect();
        let templates = self.shelves.templates()?.into_iter().filter(|template| template.memory);
        known.extend(templates.filter_map(|template| Some(template.layers.last()?.as_str().to_owned())));
        for entry in fs::read_dir(&self.memory)? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| known.contains(name)) {
                self.disk().erase(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Finds out how far a slot had come that is said to be stored, when the server ended in the middle: its memory is
    /// on disk, and what still runs is what was written and not ended yet, unless it has come back since.
    pub(crate) fn settle_stored(&self, record: &mut Record) -> io::Result<()> {
        let note = fs::read(self.memory.join(&record.name).join(Memory::RESTORED)).unwrap_or_default();
        let restored: Option<Living> = serde_json::from_slice(&note).ok();
        match restored.filter(Living::is_alive) {
            Some(first) => {
                record.first = Some(first);
                record.asleep = None;
                self.cgroup(record).bound(&bounds(&record.limits))?;
                self.keep(record)?;
                self.forget_memory(record)
            }
            None => {
                self.stop(record)?;
                record.first = None;
                self.keep(record)
            }
        }
    }
}

/// A second folder of the same files.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    // Whatever the server's own files are like.
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    for file in fs::read_dir(from)? {
        let file = file?;
        // Every copy writes its own.
        if file.file_name() != carrel_linux::CRIU_LOG {
            fs::hard_link(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}

/// Whoever may enter the folder may read what lies in it.
fn open_to_all(folder: &Path) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        fs::set_permissions(file?.path(), fs::Permissions::from_mode(0o644))?;
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_criu_is_told_from_a_new_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("criu");
        for (told, expected) in
            [("Version: 3.17.1", Some((3, 17))), ("Version: 4.1.1\nGitID: x", Some((4, 1))), ("", None)]
        {
            fs::write(&program, format!("#!/bin/sh\ncat <<E\n{told}\nE\n")).expect("written");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
            assert_eq!(version(&program), expected, "{told}");
        }
        assert_eq!(version(&folder.path().join("none")), None);
        assert_eq!(numbers("6.18-rc1\n"), Some((6, 18)));
    }
}
