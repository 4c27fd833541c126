//! A provider in a folder of its own, which must leave nothing behind.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use carrel_envd::{Envd, EnvdError, Event, Start};
use carrel_model::{SandboxId, sandbox::Spec};
use carrel_sandbox::{
    Provider,
    contract::usual_spec,
    providers::local::{Config, DiskChoice, Local, PoolSize},
};
use futures::StreamExt;

pub struct Yard {
    /// First, so that it sweeps while the folder is still there.
    _broom: Broom,
    pub folder: tempfile::TempDir,
    pub local: Local,
    config: Config,
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Yard {
    pub async fn open() -> Yard {
        Yard::with(DiskChoice::Folder, 0).await
    }

    pub async fn with(disk: DiskChoice, pool: usize) -> Yard {
        assert!(rustix::process::geteuid().is_root(), "these tests make namespaces and need root");
        Yard::of(|folder| config(folder, disk, pool)).await
    }

    /// One with shells, so many, and no pool.
    pub async fn with_shells(disk: DiskChoice, shells: usize) -> Yard {
        let pool = PoolSize { target: 0, cap: 0, shells };
        Yard::of(|folder| Config { pool, ..config(folder, disk, 0) }).await
    }

    async fn of(config: impl FnOnce(&Path) -> Config) -> Yard {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        let local = config.clone().build().await.unwrap();
        let broom = Broom { folder: folder.path().to_owned(), house: config.house.clone() };
        Yard { _broom: broom, folder, local, config }
    }

    /// The name of the one shell that there is, once it waits.
    pub async fn shell(&self) -> String {
        while self.local.shells_waiting() == 0 {
            tokio::task::yield_now().await;
        }
        let hollow = |record: &serde_json::Value| record["layers"].as_array().is_some_and(Vec::is_empty);
        let shell = records(self.folder.path()).into_iter().find(hollow).expect("a shell has a record");
        shell["name"].as_str().unwrap().to_owned()
    }

    /// The name of its house.
    pub fn house(&self) -> String {
        self.config.house.clone()
    }

    /// As after a restart of the server.
    pub async fn reopen(&mut self) {
        self.local = self.config.clone().build().await.unwrap();
    }

    pub async fn spec(&self) -> Spec {
        usual_spec(&self.local).await
    }

    pub async fn create(&self, spec: &Spec) -> SandboxId {
        let id = new_id();
        self.local.create(&id, spec).await.unwrap();
        id
    }

    pub async fn envd(&self, id: &SandboxId) -> Envd {
        let endpoint = self.local.endpoint(id).await.unwrap();
        Envd::new(endpoint.dial, endpoint.token)
    }

    /// Runs a command in a shell as root.
    pub async fn run(&self, id: &SandboxId, command: &str) -> Ran {
        self.run_as(id, "root", command).await
    }

    pub async fn run_as(&self, id: &SandboxId, user: &str, command: &str) -> Ran {
        let start = Start {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), command.into()],
            user: Some(user.into()),
            cwd: Some("/".into()),
            env: BTreeMap::new(),
            ..Start::default()
        };
        self.start(id, &start).await.unwrap()
    }

    /// Runs whatever is asked for to its end; an error when it could not be started.
    pub async fn start(&self, id: &SandboxId, start: &Start) -> Result<Ran, EnvdError> {
        to_its_end(&self.envd(id).await, start).await
    }

    /// What the provider remembers of a sandbox.
    pub fn record(&self, id: &SandboxId) -> serde_json::Value {
        let mut records = records(self.folder.path()).into_iter();
        records.rfind(|record| record["id"] == id.as_str()).expect("there is a record of it")
    }

    /// A small sandbox with other limits.
    pub async fn spec_with(&self, limits: serde_json::Value) -> Spec {
        let mut spec = self.spec().await;
        let mut all = serde_json::to_value(spec.limits).unwrap();
        for (name, value) in limits.as_object().unwrap() {
            all[name] = value.clone();
        }
        spec.limits = serde_json::from_value(all).unwrap();
        spec
    }

    /// How often the kernel has held a sandbox back from the processor.
    pub fn throttled(&self, id: &SandboxId) -> u64 {
        let name = self.record(id)["name"].as_str().unwrap().to_owned();
        let stats = cgroups(&self.config.house).into_iter().map(|folder| folder.join(&name).join("cpu.stat"));
        let stats: Vec<String> = stats.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        let lines = stats.iter().flat_map(|text| text.lines());
        lines.filter_map(|line| line.strip_prefix("nr_throttled ")?.parse::<u64>().ok()).sum()
    }

    /// The processes of a sandbox, as the host numbers them.
    pub fn processes(&self, id: &SandboxId) -> Vec<i32> {
        let name = self.record(id)["name"].as_str().unwrap().to_owned();
        let lists = cgroups(&self.config.house).into_iter().map(|folder| folder.join(&name).join("cgroup.procs"));
        let text = lists.filter_map(|path| std::fs::read_to_string(path).ok()).next().unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Kills the first process of a sandbox from outside, as a reboot would.
    pub async fn kill_first(&self, id: &SandboxId) {
        for file in std::fs::read_dir(self.folder.path().join("slots")).unwrap() {
            let path = file.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let record: serde_json::Value = serde_json::from_str(&text).unwrap();
            if record["id"] == id.as_str() {
                let pid = record["first"]["pid"].as_i64().unwrap() as i32;
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                while self.local.inspect(id).await != Ok(carrel_sandbox::Sighting::Paused) {
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Ends everything and asserts that nothing is left: no process, cgroup, mount or file.
    pub async fn close(self) {
        for (id, _) in self.local.list().await.unwrap() {
            self.local.destroy(&id).await.unwrap();
        }
        self.local.close().await;
        let house = self.config.house.clone();
        drop(self.local);
        let left: Vec<PathBuf> = cgroups(&house);
        assert_eq!(left, Vec::<PathBuf>::new(), "cgroups are left behind");
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let here = self.folder.path().to_str().unwrap();
        assert!(!mounts.contains(here), "mounts are left behind");
        for name in ["slots", "trash", "drafts", "memory"] {
            let root = self.folder.path().join(name);
            let left: Vec<_> = std::fs::read_dir(root).into_iter().flatten().map(|e| e.unwrap().path()).collect();
            assert_eq!(left, Vec::<PathBuf>::new(), "files are left behind");
        }
    }
}

/// Runs a command and hears it to its end.
pub async fn to_its_end(envd: &Envd, start: &Start) -> Result<Ran, EnvdError> {
    let mut events = envd.start(start).await?;
    let (mut out, mut err, mut code) = (Vec::new(), Vec::new(), None);
    while let Some(event) = events.next().await {
        match event? {
            Event::Stdout(bytes) | Event::Terminal(bytes) => out.extend(bytes),
            Event::Stderr(bytes) => err.extend(bytes),
            Event::Ended(ended) => code = Some(ended.exit_code),
            Event::Started { .. } => {}
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ran { code: code.unwrap(), out: text(out), err: text(err) })
}

/// Ends what a test that failed would leave running.
pub struct Broom {
    pub folder: PathBuf,
    pub house: String,
}

impl Drop for Broom {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for record in records(&self.folder) {
            let pid = record["first"]["pid"].as_i64().and_then(|pid| rustix::process::Pid::from_raw(pid as i32));
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        for folder in cgroups(&self.house) {
            let inner = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            for folder in inner.filter(|path| path.is_dir()).chain([folder.clone()]) {
                let _ = std::fs::write(folder.join("cgroup.kill"), "1");
                while std::fs::remove_dir(&folder).is_err_and(|error| error.raw_os_error() == Some(16)) {
                    std::thread::yield_now();
                }
            }
        }
        let _ = std::process::Command::new("umount").arg(self.folder.join("disk")).output();
    }
}

/// Everything that a provider in this folder remembers.
pub fn records(folder: &Path) -> Vec<serde_json::Value> {
    let slots = [folder.join("slots"), folder.join("disk/slots")];
    let files = slots.iter().flat_map(|slots| std::fs::read_dir(slots).into_iter().flatten());
    let paths = files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    paths.filter_map(|path| serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()).collect()
}

pub fn config(folder: &Path, disk: DiskChoice, pool: usize) -> Config {
    Config {
        folder: folder.to_owned(),
        house: format!("test-{}", hex::encode(random_bytes::<6>())),
        launcher: (env!("CARGO_BIN_EXE_carrel-launcher").into(), vec![]),
        pool: PoolSize { target: pool, cap: pool * 2, shells: 0 },
        disk,
        hatch: Default::default(),
    }
}

pub fn new_id() -> SandboxId {
    SandboxId::from_random(random_bytes())
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}

/// Every folder of cgroups that belongs to a house.
pub fn cgroups(house: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_ours = entry.file_name().to_str() == Some(house);
            if is_ours {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    found
}
