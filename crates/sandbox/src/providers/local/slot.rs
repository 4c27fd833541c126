//! Slots: a jail with its folder, its cgroups and its record, made, found again and ended.
//!
//! Everything in here blocks, and is called from threads that may.

use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use carrel_envd::Envd;
use carrel_linux::{Bounds, Cgroup, Hierarchies, Jail, Launcher, Living, Mapping};
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Limits, Network, VolumeMount},
};

use super::{criu::Criu, disk::Disk, guest, interface::Interfaces, line, record::Record, volumes::Volumes};
use crate::{
    ProviderError,
    providers::common::GATEWAY_PORT,
    template::{LayerId, Shelves, Template},
};

/// How long the kernel may take to end, freeze or thaw a sandbox.
pub(crate) const KERNEL_PATIENCE: Duration = Duration::from_secs(20);
/// The first user of the host that sandboxes may be; far above everything that is usually given out.
pub(crate) const FIRST_BASE: u32 = 0x7000_0000;
/// How many ranges there are.
const RANGES: u32 = 0x7000;

/// Makes slots, and knows where they lie.
pub(crate) struct Yard {
    pub(crate) house: String,
    pub(crate) shelves: Shelves,
    pub(crate) hierarchies: Hierarchies,
    pub(crate) user: User,
    pub(crate) criu: Criu,
    pub(crate) launcher: Launcher,
    pub(crate) interfaces: Interfaces,
    pub(crate) volumes: Volumes,
    disk: Disk,
    slots: PathBuf,
    pub(crate) memory: PathBuf,
    pub(crate) trash: PathBuf,
    pub(crate) drafts: PathBuf,
    guest: PathBuf,
    bases: Mutex<HashSet<u32>>,
}

/// Who the server is on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Plain(u32, u32),
}

impl User {
    fn now() -> User {
        match (rustix::process::geteuid(), rustix::process::getegid()) {
            (user, _) if user.is_root() => User::Root,
            (user, group) => User::Plain(user.as_raw(), group.as_raw()),
        }
    }
}

/// What a running slot is held by.
pub(crate) struct Held {
    /// Its network namespace.
    pub(crate) network: Arc<OwnedFd>,
    /// The host's listener inside.
    pub(crate) gateway: Option<OwnedFd>,
    /// Lines to its envd that are open already.
    pub(crate) kept: line::Kept,
    /// Keeps callers waiting while its memory is written.
    pub(crate) gate: line::Gate,
    /// Speaks with its envd, once somebody does.
    pub(crate) envd: Option<Envd>,
    /// Its envd was told who it is.
    pub(crate) greeted: bool,
    /// What it goes by while it waits: its envd was told so. Whoever comes to live there may keep the name.
    pub(crate) name: Option<SandboxId>,
}

impl Held {
    pub(crate) fn new(network: OwnedFd, gateway: Option<OwnedFd>) -> Held {
        let (kept, gate) = (line::Kept::default(), line::Gate::new());
        Held { network: Arc::new(network), gateway, kept, gate, envd: None, greeted: false, name: None }
    }
}

impl Yard {
    pub(crate) fn open(config: super::Config) -> io::Result<Yard> {
        let (folder, house, (program, args)) = (&config.folder, config.house, config.launcher);
        let disk = Disk::open(folder, config.disk)?;
        let root = disk.root().to_owned();
        let (slots, trash, scratch) = (root.join("slots"), root.join("trash"), folder.join("scratch"));
        let (drafts, memory) = (root.join("drafts"), root.join("memory"));
        Yard::open_memory(&memory)?;
        disk.erase(&drafts)?;
        let interfaces = Interfaces::new(folder);
        if Interfaces::missing().is_none() {
            interfaces.tidy()?;
        }
        let (templates, volumes) = (root.join("templates"), root.join("volumes"));
        // Root inside owns its files as root on disk, setuid ones too: nobody of the host may walk to them.
        for place in [&slots, &trash, &scratch, &drafts, &templates, &volumes] {
            fs::create_dir_all(place)?;
            fs::set_permissions(place, fs::Permissions::from_mode(0o700))?;
        }
        Ok(Yard {
            hierarchies: Hierarchies::open(&house)?,
            shelves: Shelves::open(templates)?,
            user: User::now(),
            criu: Criu::find(User::now()),
            launcher: Launcher::new(program, args, scratch),
            guest: guest::lay_down(&folder.join("guest"))?,
            interfaces,
            volumes: Volumes::new(volumes),
            disk,
            house,
            slots,
            memory,
            trash,
            drafts,
            bases: Mutex::default(),
        })
    }

    /// The records of an earlier life.
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

    pub(crate) fn folder(&self, record: &Record) -> PathBuf {
        self.slots.join(&record.name)
    }

    pub(crate) fn upper(&self, record: &Record) -> PathBuf {
        self.folder(record).join("upper")
    }

    /// Where the records lie.
    pub(crate) fn slots(&self) -> &std::path::Path {
        &self.slots
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// A slot that is yet to be made: its record comes first.
    pub(crate) fn plan(
        &self,
        template: &Template,
        limits: Limits,
        volumes: Vec<VolumeMount>,
        bench: bool,
    ) -> io::Result<Record> {
        let record = Record {
            name: hex::encode(random::<8>()),
            id: None,
            claimed: false,
            bench,
            remembers: false,
            first: None,
            asleep: None,
            ready: false,
            base: self.take_base(),
            template: template.name.clone(),
            layers: template.layers.clone(),
            config: template.config.clone(),
            limits,
            network: Network::default(),
            token: hex::encode(random::<20>()),
            env: BTreeMap::new(),
            guest: self.guest.clone(),
            unfit: Vec::new(),
            volumes,
            authority: None,
            furnished: None,
        };
        self.keep(&record)?;
        Ok(record)
    }

    /// Launches a slot that was planned, or one whose processes have ended.
    pub(crate) fn launch(&self, record: &mut Record) -> Result<Held, ProviderError> {
        self.make_folder(record).map_err(|error| unavailable("prepare its folder", &error))?;
        let bounds = bounds(&record.limits);
        self.cgroup(record).make(&bounds).map_err(|error| unavailable("set its limits", &error))?;
        self.launch_there(record)
    }

    /// The same for one whose folder and cgroups are as they should be.
    pub(crate) fn launch_there(&self, record: &mut Record) -> Result<Held, ProviderError> {
        if self.user != User::Root {
            // There is nobody but root inside.
            record.config.user = Some("root".into());
            record.config.workdir = Some("/root".into());
        }
        record.guest.clone_from(&self.guest);
        record.remembers = false;
        if let Some(socket) = self.socket_path(record) {
            // The one of a former life.
            let _ = fs::remove_file(socket);
        }
        let launched = self.launcher.launch(&self.jail(record)).map_err(|mishap| ProviderError::Unavailable {
            why: format!("the sandbox could not be launched: {mishap}"),
        })?;
        record.first = Some(launched.first);
        record.unfit = launched.unfit;
        record.unfit.extend(self.hierarchies.missing());
        record.unfit.extend(self.disk.unfit());
        self.keep(record).map_err(|error| unavailable("remember it", &error))?;
        Ok(Held::new(launched.network, launched.gateway))
    }

    /// Makes the folder that a slot writes to, or finds it made.
    pub(crate) fn make_folder(&self, record: &Record) -> io::Result<()> {
        let place = self.folder(record);
        // What is adopted by its content is moved to another place, which no subvolume lets it.
        let made = if record.bench {
            fs::create_dir_all(&place)
        } else {
            self.disk.make(&place, record.limits.disk_mb.get() << 20)
        };
        made?;
        for name in ["upper", "work"] {
            match fs::create_dir(place.join(name)) {
                // Everybody inside walks through the root, whatever the server's own files are like.
                Ok(()) => fs::set_permissions(place.join(name), fs::Permissions::from_mode(0o755))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The jail of a slot, as it is to be made.
    pub(crate) fn jail(&self, record: &Record) -> Jail {
        let place = self.folder(record);
        Jail {
            house: self.house.clone(),
            name: record.name.clone(),
            bounds: bounds(&record.limits),
            layers: record.layers.iter().map(|layer| self.layer(layer)).collect(),
            upper: place.join("upper"),
            work: place.join("work"),
            host_folders: record.config.host_folders.clone(),
            shown: record.config.shown.iter().map(|shown| (shown.from.clone(), shown.at.clone())).collect(),
            volumes: record
                .volumes
                .iter()
                .map(|mount| (self.volumes.folder(&mount.volume), mount.path.as_str().into()))
                .collect(),
            guest: record.guest.clone(),
            mapping: self.mapping(record),
            hostname: "carrel".into(),
            program: [guest::PROGRAM, "--listen", "fd:0", "--host-only"].map(str::to_owned).to_vec(),
            env: vec![("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into())],
            socket: line::SOCKET.into(),
            socket_path: self.socket_path(record),
            gateway: Some(GATEWAY_PORT),
            largest_file: Some(record.limits.disk_mb.get() << 20),
        }
    }

    /// Ends a slot and leaves nothing of it. What its files hold is deleted by and by, out of the way.
    pub(crate) fn end(&self, record: &Record) -> io::Result<()> {
        self.stop(record)?;
        let gone = self.trash.join(&record.name);
        match fs::rename(self.folder(record), &gone) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.forget_memory(record)?;
        record.forget(&self.slots)?;
        self.bases().remove(&record.base);
        Ok(())
    }

    /// Ends the processes of a slot and removes its cgroups; its files stay.
    pub(crate) fn stop(&self, record: &Record) -> io::Result<()> {
        let cgroup = self.cgroup(record);
        if let Some(first) = record.first {
            first.kill()?;
        }
        cgroup.kill(KERNEL_PATIENCE)?;
        if let Some(socket) = self.socket_path(record) {
            // Where no cgroup says that all of them have ended, the first does: it ends last. It may be one that the server
            // died too early to write down.
            for first in record.first.into_iter().chain(Living::noted_beside(&socket)) {
                first.end(KERNEL_PATIENCE)?;
            }
        }
        cgroup.remove(KERNEL_PATIENCE)?;
        if record.network.interface {
            self.interfaces.detach(&record.name)?;
            self.interfaces.tidy()?;
        }
        Ok(())
    }

    /// Where a layer lies. A former upper lies beside its work folder, as it was when it was written.
    pub(crate) fn layer(&self, id: &LayerId) -> PathBuf {
        let place = self.shelves.layer(id);
        match () {
            () if id.is_snapshot() => place.join("upper"),
            () if id.is_checkout() => fs::read_link(&place).unwrap_or(place),
            () => place,
        }
    }

    /// Every layer that a slot stands on.
    pub(crate) fn layers_in_use(&self) -> io::Result<HashSet<LayerId>> {
        Ok(Record::all(&self.slots)?.into_iter().flat_map(|record| record.layers).collect())
    }

    /// Makes everything that was written inside safe on disk.
    pub(crate) fn sync(&self, record: &Record) -> io::Result<()> {
        Ok(rustix::fs::syncfs(fs::File::open(self.folder(record))?)?)
    }

    /// Makes a layer of what a sandbox wrote, and leaves the sandbox as it is. Nobody may write meanwhile.
    pub(crate) fn copy_upper(&self, record: &Record, layer: &LayerId, lasting: bool) -> io::Result<()> {
        let draft = self.drafts.join(layer.as_str());
        self.disk.copy(&self.folder(record), &draft)?;
        let adopted = match lasting {
            true => self.shelves.adopt_unread(draft, layer.clone()),
            false => self.shelves.adopt_for_now(draft, layer.clone()),
        };
        adopted.map(drop)
    }

    /// Makes one layer of many when they are too many: each costs a mount, and an overlay takes 500. A plain user has no
    /// mounts out here, and keeps them.
    pub(crate) fn flatten(&self, layers: &mut Vec<LayerId>) -> io::Result<()> {
        /// Images rarely have as many; generations of snapshots grow by one each.
        const DEEPEST: usize = 32;
        if layers.len() <= DEEPEST || self.user != User::Root {
            return Ok(());
        }
        let whole: Vec<PathBuf> = layers.iter().map(|layer| self.layer(layer)).collect();
        let whole = carrel_linux::read_only_root(&whole)?;
        let flat = LayerId::snapshot(random());
        let draft = self.drafts.join(flat.as_str());
        self.disk.copy_tree(&whole, &draft)?;
        *layers = vec![self.shelves.adopt_unread(draft, flat)?];
        Ok(())
    }

    /// Makes a layer of what a sandbox without processes wrote: the sandbox stands on it from now on. One rename, at any
    /// size; the record comes first, and `mend` takes it back when the rename did not happen.
    pub(crate) fn give_upper(&self, record: &mut Record, layer: &LayerId) -> io::Result<()> {
        // Given already, and not woken since: there is nothing to give but an empty layer.
        self.make_folder(record)?;
        record.layers.push(layer.clone());
        self.keep(record)?;
        self.shelves.adopt_unread(self.folder(record), layer.clone())?;
        Ok(())
    }

    /// Ends a bench and gives what was written on it.
    pub(crate) fn finish_bench(&self, record: &Record) -> io::Result<PathBuf> {
        self.stop(record)?;
        let written = self.drafts.join(&record.name);
        fs::rename(self.upper(record), &written)?;
        self.end(record)?;
        self.empty_trash()?;
        Ok(written)
    }

    /// Takes back a layer that a record was promised and did not get.
    pub(crate) fn mend(&self, record: &mut Record) -> io::Result<()> {
        if record.layers.last().is_some_and(|layer| layer.is_snapshot() && !self.shelves.has(layer)) {
            record.layers.pop();
            self.keep(record)?;
        }
        Ok(())
    }

    /// Brings a slot to where its record says it is, when the server ended in the middle: what nobody acknowledged did
    /// not happen.
    pub(crate) fn settle(&self, record: &mut Record) -> io::Result<()> {
        let alive = record.first.is_some_and(|first| first.is_alive());
        let cgroup = self.cgroup(record);
        let frozen = cgroup.is_frozen();
        match record.asleep {
            // Broken off in a pause, or while a snapshot was taken.
            None if alive && frozen => cgroup.set_frozen(false, KERNEL_PATIENCE),
            // Broken off in a resume.
            Some(Depth::Frozen | Depth::PagedOut) if alive && !frozen && self.hierarchies.can_freeze() => {
                cgroup.set_frozen(true, KERNEL_PATIENCE)
            }
            Some(Depth::Files) if alive || cgroup.is_populated() => {
                self.stop(record)?;
                record.first = None;
                record.ready = false;
                self.keep(record)
            }
            _ => Ok(()),
        }
    }

    /// Deletes what is on its way out.
    pub(crate) fn empty_trash(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.trash)? {
            self.disk.erase(&entry?.path())?;
        }
        Ok(())
    }

    /// Lets go of what nobody needs when the server ends; sandboxes live on.
    pub(crate) fn close(&self) -> io::Result<()> {
        let emptied = self.empty_trash();
        if Record::all(&self.slots)?.is_empty() {
            self.hierarchies.close();
            self.disk.close()?;
        }
        emptied
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

    /// Which users of the host its users are.
    fn mapping(&self, record: &Record) -> Mapping {
        match self.user {
            User::Root => Mapping::Range(record.base),
            User::Plain(user, group) => Mapping::Alone(user, group),
        }
    }

    /// Where its envd listens among the host's files, when nobody may go into its network.
    pub(crate) fn socket_path(&self, record: &Record) -> Option<PathBuf> {
        (self.user != User::Root).then(|| self.folder(record).join("envd.sock"))
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

    fn bases(&self) -> std::sync::MutexGuard<'_, HashSet<u32>> {
        self.bases.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The limits as the kernel takes them.
pub(crate) fn bounds(limits: &Limits) -> Bounds {
    Bounds { cpus: limits.cpus.get(), memory: limits.memory_mb.get() << 20, pids: limits.pids.get() }
}

pub(crate) fn unavailable(what: &str, error: &io::Error) -> ProviderError {
    ProviderError::Unavailable { why: format!("could not {what}: {error}") }
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the kernel has randomness");
    bytes
}
