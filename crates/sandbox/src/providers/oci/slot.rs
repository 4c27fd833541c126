//! Slots: a container with its folder, its cgroups and its record, made, found again and ended.
//!
//! Everything in here blocks, and is called from threads that may.

use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use carrel_linux::{Bounds, Cgroup, Hierarchies, Living, Mapping};
use carrel_model::{
    SandboxId,
    sandbox::{Limits, Network},
};

use super::{
    bundle::Bundle,
    record::Record,
    root::{self, Props, Stage},
    runtime::{Runtime, Task},
};
use crate::{
    ProviderError,
    providers::local::{DiskChoice, disk::Disk, guest},
    template::{LayerId, Shelves, Template},
};

/// How long the kernel may take to end, freeze or thaw a sandbox.
pub(crate) const KERNEL_PATIENCE: Duration = Duration::from_secs(20);
/// The first user of the host that sandboxes may be: above those of the local provider.
const FIRST_BASE: u32 = 0xe000_0000;
/// How many ranges there are.
const RANGES: u32 = 0x1000;

/// Makes slots, and knows where they lie.
pub(crate) struct Yard {
    pub(crate) shelves: Shelves,
    pub(crate) hierarchies: Hierarchies,
    house: String,
    disk: Disk,
    slots: PathBuf,
    trash: PathBuf,
    guest: PathBuf,
    bases: Mutex<HashSet<u32>>,
}

impl Yard {
    pub(crate) fn open(folder: &Path, house: String, disk: DiskChoice, shelves: Shelves) -> io::Result<Yard> {
        let disk = Disk::open(folder, disk)?;
        let (slots, trash) = (disk.root().join("slots"), disk.root().join("trash"));
        for place in [&slots, &trash] {
            fs::create_dir_all(place)?;
            // What lies in there belongs to users of the host that sandboxes have made up.
            fs::set_permissions(place, fs::Permissions::from_mode(0o711))?;
        }
        Ok(Yard {
            hierarchies: Hierarchies::open(&house)?,
            guest: guest::lay_down(&folder.join("guest"))?,
            shelves,
            disk,
            house,
            slots,
            trash,
            bases: Mutex::default(),
        })
    }

    pub(crate) fn records(&self) -> io::Result<Vec<Record>> {
        let records = Record::all(&self.slots)?;
        self.bases().extend(records.iter().map(|record| record.base));
        Ok(records)
    }

    /// Removes records that an earlier life did not finish writing.
    pub(crate) fn forget_drafts(&self) -> io::Result<()> {
        Record::forget_drafts(&self.slots)
    }

    pub(crate) fn keep(&self, record: &Record) -> io::Result<()> {
        record.keep(&self.slots)
    }

    pub(crate) fn cgroup(&self, record: &Record) -> Cgroup {
        self.hierarchies.cgroup(&record.name)
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(crate) fn upper(&self, record: &Record) -> PathBuf {
        self.folder(record).join("upper")
    }

    /// The folder of sockets.
    pub(crate) fn run(&self, record: &Record) -> PathBuf {
        self.folder(record).join("run")
    }

    /// Where its memory lies when it is stored.
    pub(crate) fn memory(&self, record: &Record) -> PathBuf {
        self.folder(record).join("memory")
    }

    fn folder(&self, record: &Record) -> PathBuf {
        self.slots.join(&record.name)
    }

    /// A slot that is yet to be made: its record comes first.
    pub(crate) fn plan(
        &self,
        id: Option<SandboxId>,
        template: &Template,
        limits: Limits,
        network: Network,
        env: BTreeMap<String, String>,
    ) -> io::Result<Record> {
        let record = Record {
            name: hex::encode(random::<8>()),
            id,
            first: None,
            asleep: None,
            falls: None,
            ready: false,
            base: self.take_base(),
            template: template.name.clone(),
            layers: template.layers.clone(),
            config: template.config.clone(),
            limits,
            network,
            token: hex::encode(random::<20>()),
            env,
            guest: self.guest.clone(),
        };
        self.keep(&record)?;
        Ok(record)
    }

    /// Launches a slot that was planned, or one whose processes have ended. What is left of a former life goes first.
    pub(crate) fn launch(&self, record: &mut Record, runtime: &Runtime) -> io::Result<()> {
        record.guest.clone_from(&self.guest);
        self.begin(record, runtime, |task, bundle, cgroup| runtime.run(task, bundle, cgroup))
    }

    /// Launches a slot from its memory.
    pub(crate) fn restore(&self, record: &mut Record, runtime: &Runtime) -> io::Result<()> {
        let memory = self.memory(record);
        self.begin(record, runtime, |task, bundle, cgroup| runtime.restore(task, bundle, &memory, cgroup))
    }

    fn begin(
        &self,
        record: &mut Record,
        runtime: &Runtime,
        start: impl FnOnce(&Task<'_>, &Path, &Cgroup) -> io::Result<i32>,
    ) -> io::Result<()> {
        self.stop(record)?;
        let begun = self.begin_in(record, runtime, start);
        if begun.is_err() {
            // Nothing that came halfway may go on.
            let _ = self.stop(record);
        }
        begun
    }

    fn begin_in(
        &self,
        record: &mut Record,
        runtime: &Runtime,
        start: impl FnOnce(&Task<'_>, &Path, &Cgroup) -> io::Result<i32>,
    ) -> io::Result<()> {
        let folder = self.folder(record);
        let most = record.limits.disk_mb.get() << 20;
        self.disk.make(&folder, most)?;
        for name in ["upper", "work", "bundle", "state", "run"] {
            fs::create_dir_all(folder.join(name))?;
        }
        fs::set_permissions(folder.join("run"), fs::Permissions::from_mode(0o700))?;
        // The root that everybody inside walks through, whatever the server's own files are closed to.
        fs::set_permissions(folder.join("upper"), fs::Permissions::from_mode(0o755))?;
        std::os::unix::fs::chown(folder.join("run"), Some(record.base), Some(record.base))?;
        let cgroup = self.cgroup(record);
        let limits = &record.limits;
        let asked = Bounds { cpus: limits.cpus.get(), memory: limits.memory_mb.get() << 20, pids: limits.pids.get() };
        cgroup.make(&runtime.kind.bounds(asked))?;
        let layers: Vec<PathBuf> = record.layers.iter().map(|layer| self.layer(layer)).collect();
        let props = Props {
            layers: &layers,
            upper: &folder.join("upper"),
            work: &folder.join("work"),
            guest: &record.guest,
            run: &folder.join("run"),
            base: record.base,
        };
        // Taken down again when the runtime has its own.
        let stage = Stage::put_up(&self.house, &record.name, &props)?;
        let bundle = Bundle {
            kind: runtime.kind,
            root: &stage.root(),
            host_folders: &record.config.host_folders,
            shown: &record.config.shown,
            guest: &stage.guest(),
            run: &stage.run(),
            cgroup: format!("/carrel/{}/{}", self.house, record.name),
            base: record.base,
            largest_file: most,
        };
        fs::write(folder.join("bundle/config.json"), serde_json::to_vec(&bundle.config())?)?;
        let (state, log) = (folder.join("state"), folder.join("bundle/log"));
        let task = Task { name: &record.name, state: &state, log: &log };
        let pid = start(&task, &folder.join("bundle"), &cgroup)?;
        record.first = Some(Living::of(pid)?);
        self.keep(record)
    }

    /// Stores the memory of a slot beside its files; its processes end with it. What is there afterwards is whole and
    /// safe on disk.
    pub(crate) fn store(&self, record: &Record, runtime: &Runtime) -> io::Result<()> {
        let folder = self.folder(record);
        let draft = folder.join("memory.draft");
        remove(&draft)?;
        remove(&self.memory(record))?;
        let (state, log) = (folder.join("state"), folder.join("bundle/log"));
        let _ = fs::remove_file(&log);
        runtime.store(&Task { name: &record.name, state: &state, log: &log }, &draft)?;
        self.stop(record)?;
        rustix::fs::syncfs(fs::File::open(&folder)?)?;
        fs::rename(&draft, self.memory(record))?;
        fs::File::open(&folder)?.sync_all()
    }

    /// Removes memory that has come back to life, or never will.
    pub(crate) fn forget_memory(&self, record: &Record) -> io::Result<()> {
        remove(&self.memory(record))
    }

    /// Ends the processes of a slot, removes its cgroups, its mounts and what its runtime remembers; its files stay.
    pub(crate) fn stop(&self, record: &Record) -> io::Result<()> {
        let cgroup = self.cgroup(record);
        if let Some(first) = record.first {
            first.kill()?;
        }
        cgroup.kill(KERNEL_PATIENCE)?;
        cgroup.remove(KERNEL_PATIENCE)?;
        self.remove_foreign_cgroups(Some(&record.name));
        let folder = self.folder(record);
        root::take_down(&self.house, &record.name)?;
        for name in ["state", "run"] {
            remove(&folder.join(name))?;
        }
        Ok(())
    }

    /// Ends a slot and leaves nothing of it. What its files hold is deleted by and by, out of the way.
    pub(crate) fn end(&self, record: &Record) -> io::Result<()> {
        self.stop(record)?;
        match fs::rename(self.folder(record), self.trash.join(&record.name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        record.forget(&self.slots)?;
        self.bases().remove(&record.base);
        Ok(())
    }

    /// Makes everything that was written inside safe on disk.
    pub(crate) fn sync(&self, record: &Record) -> io::Result<()> {
        Ok(rustix::fs::syncfs(fs::File::open(self.folder(record))?)?)
    }

    /// Makes a layer of what a sandbox wrote, and leaves the sandbox as it is. Nobody may write meanwhile.
    pub(crate) fn copy_upper(&self, record: &Record, layer: &LayerId) -> io::Result<()> {
        let draft = self.shelves.draft()?;
        let copy = draft.scratch("snapshot");
        fs::create_dir(&copy)?;
        let mut command = Command::new("cp");
        command.args(["--archive", "--reflink=auto", "--"]).arg(self.upper(record)).arg(&copy).stdin(Stdio::null());
        let done = command.output()?;
        if !done.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned()));
        }
        self.shelves.adopt_unread(copy, layer.clone()).map(drop)
    }

    /// Every layer that a slot stands on.
    pub(crate) fn layers_in_use(&self) -> io::Result<HashSet<LayerId>> {
        Ok(self.records()?.into_iter().flat_map(|record| record.layers).collect())
    }

    /// Where a layer lies. A former upper lies in a folder of its own, as it was when it was written.
    fn layer(&self, id: &LayerId) -> PathBuf {
        let place = self.shelves.layer(id);
        match () {
            () if id.is_snapshot() => place.join("upper"),
            () if id.is_checkout() => fs::read_link(&place).unwrap_or(place),
            () => place,
        }
    }

    /// Deletes what is on its way out.
    pub(crate) fn empty_trash(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.trash)? {
            self.disk.erase(&entry?.path())?;
        }
        Ok(())
    }

    /// Kills cgroups that no record knows: a record is written first and removed last, so nobody's.
    pub(crate) fn sweep_cgroups(&self, records: &[Record]) {
        for name in self.hierarchies.names() {
            if records.iter().all(|record| record.name != name) {
                let cgroup = self.hierarchies.cgroup(&name);
                let _ = cgroup.kill(KERNEL_PATIENCE).and_then(|()| cgroup.remove(KERNEL_PATIENCE));
            }
        }
    }

    /// Lets go of what nobody needs when the server ends; sandboxes live on.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.empty_trash()?;
        if self.records()?.is_empty() {
            self.remove_foreign_cgroups(None);
            self.hierarchies.close();
            root::close(&self.house);
            self.disk.close()?;
        }
        Ok(())
    }

    /// Removes the cgroups that a runtime made beside ours, in hierarchies that we do not use: those of one slot, or the
    /// folders of the house.
    fn remove_foreign_cgroups(&self, name: Option<&str>) {
        for hierarchy in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
            let ours = hierarchy.path().join("carrel");
            match name {
                Some(name) => drop(fs::remove_dir(ours.join(&self.house).join(name))),
                None => drop((fs::remove_dir(ours.join(&self.house)), fs::remove_dir(ours))),
            }
        }
    }

    fn take_base(&self) -> u32 {
        let mut bases = self.bases();
        loop {
            let base = FIRST_BASE + (u32::from_le_bytes(random()) % RANGES) * Mapping::WIDTH;
            if bases.insert(base) {
                return base;
            }
        }
    }

    fn bases(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.bases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn unavailable(what: &str, error: &io::Error) -> ProviderError {
    ProviderError::Unavailable { why: format!("could not {what}: {error}") }
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the kernel has randomness");
    bytes
}
