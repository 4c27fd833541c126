//! A provider in a folder of its own, which must leave nothing behind.

use std::path::{Path, PathBuf};

use carrel_envd::{Envd, EnvdError, Event, Start};
use carrel_model::{SandboxId, sandbox::Spec};
use carrel_sandbox::{
    Provider, Sighting,
    contract::usual_spec,
    providers::{
        local::DiskChoice,
        oci::{Config, Oci},
    },
    template::Shelves,
};
use futures::StreamExt;

pub(crate) struct Yard {
    // Goes before the folder, when a test fails.
    _leash: Leash,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) oci: Oci,
    pub(crate) config: Config,
}

/// Ends what a test that failed leaves running, with everything that goes with it.
pub(crate) struct Leash(Config);

impl Leash {
    pub(crate) fn on(config: Config) -> Leash {
        Leash(config)
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let house = carrel_linux::Hierarchies::open(&format!("{}-oci", self.0.house)).unwrap();
        for name in house.names() {
            let _ = house.cgroup(&name).kill(std::time::Duration::from_secs(20));
        }
        let config = self.0.clone();
        let closed = async {
            let oci = config.build().await.unwrap();
            for (id, _) in oci.list().await.unwrap() {
                let _ = oci.destroy(&id).await;
            }
            oci.close().await;
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(closed));
    }
}

/// The processes that name a folder on their command line: both of a gVisor sandbox do.
fn processes_of(folder: &Path) -> Vec<rustix::process::Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let named = processes.filter(|process| {
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(folder.to_str().unwrap())
    });
    named
        .filter_map(|process| process.file_name().to_str()?.parse().ok().and_then(rustix::process::Pid::from_raw))
        .collect()
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Yard {
    /// With gVisor, which `apt-get install runsc` gives.
    pub(crate) async fn open() -> Yard {
        Yard::with("runsc").await
    }

    pub(crate) async fn with(runtime: &str) -> Yard {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), find(runtime));
        let oci = config.clone().build().await.unwrap();
        Yard { _leash: Leash(config.clone()), folder, oci, config }
    }

    /// As after a restart of the server.
    pub(crate) async fn reopen(&mut self) {
        self.oci = self.config.clone().build().await.unwrap();
    }

    pub(crate) async fn spec(&self) -> Spec {
        usual_spec(&self.oci).await
    }

    /// A small sandbox with other limits.
    pub(crate) async fn spec_with(&self, limits: serde_json::Value) -> Spec {
        let mut spec = self.spec().await;
        let mut all = serde_json::to_value(spec.limits).unwrap();
        for (name, value) in limits.as_object().unwrap() {
            all[name] = value.clone();
        }
        spec.limits = serde_json::from_value(all).unwrap();
        spec
    }

    pub(crate) async fn create(&self, spec: &Spec) -> SandboxId {
        let id = new_id();
        self.oci.create(&id, spec).await.unwrap();
        id
    }

    pub(crate) async fn envd(&self, id: &SandboxId) -> Envd {
        let endpoint = self.oci.endpoint(id).await.unwrap();
        Envd::new(endpoint.dial, endpoint.token)
    }

    /// Runs a command in a shell as root.
    pub(crate) async fn run(&self, id: &SandboxId, command: &str) -> Ran {
        self.run_as(id, "root", command).await
    }

    pub(crate) async fn run_as(&self, id: &SandboxId, user: &str, command: &str) -> Ran {
        self.start(id, user, command).await.unwrap()
    }

    /// The same, for a command that may not come to its end.
    pub(crate) async fn try_run(&self, id: &SandboxId, command: &str) -> Result<Ran, EnvdError> {
        self.start(id, "root", command).await
    }

    async fn start(&self, id: &SandboxId, user: &str, command: &str) -> Result<Ran, EnvdError> {
        let start = Start {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), command.into()],
            user: Some(user.into()),
            cwd: Some("/".into()),
            ..Start::default()
        };
        let lost = |error: carrel_sandbox::ProviderError| EnvdError::Unreachable(std::io::Error::other(error));
        let endpoint = self.oci.endpoint(id).await.map_err(lost)?;
        let mut events = Envd::new(endpoint.dial, endpoint.token).start(&start).await?;
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
        let code = code.ok_or_else(|| EnvdError::Unreachable(std::io::ErrorKind::UnexpectedEof.into()))?;
        Ok(Ran { code, out: text(out), err: text(err) })
    }

    /// The record of a sandbox, as it lies on disk.
    pub(crate) fn record(&self, id: &SandboxId) -> serde_json::Value {
        let files = std::fs::read_dir(self.folder.path().join("slots")).unwrap();
        let texts = files.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok());
        let mut records = texts.map(|text| serde_json::from_str::<serde_json::Value>(&text).unwrap());
        records.find(|record| record["id"] == id.as_str()).unwrap()
    }

    /// The processes of a sandbox, as the host sees them, each with its users.
    pub(crate) fn owners(&self, id: &SandboxId) -> Vec<(i32, u32)> {
        let name = self.record(id)["name"].as_str().unwrap().to_owned();
        let house = format!("{}-oci", self.config.house);
        let cgroup = carrel_linux::Hierarchies::open(&house).unwrap().cgroup(&name);
        let owner =
            |pid: &i32| std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(format!("/proc/{pid}")).unwrap());
        cgroup.processes().iter().map(|pid| (*pid, owner(pid))).collect()
    }

    /// Kills the second kernel of a sandbox from outside, as a reboot would.
    pub(crate) async fn kill_runtime(&self, id: &SandboxId) {
        let pid = self.record(id)["first"]["pid"].as_i64().unwrap() as i32;
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        while self.oci.inspect(id).await != Ok(Sighting::Paused) {
            tokio::task::yield_now().await;
        }
    }

    /// Ends everything and asserts that nothing is left: no process, cgroup, mount or file.
    pub(crate) async fn close(self) {
        for (id, _) in self.oci.list().await.unwrap() {
            self.oci.destroy(&id).await.unwrap();
        }
        self.oci.close().await;
        drop(self.oci);
        assert_nothing_is_left(self.folder.path(), &self.config.house);
    }
}

pub(crate) fn assert_nothing_is_left(folder: &Path, house: &str) {
    assert_eq!(cgroups(house), Vec::<PathBuf>::new(), "cgroups are left behind");
    let here = folder.to_str().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(here) && !mounts.contains(house), "mounts are left behind");
    assert!(!Path::new("/run/carrel").join(format!("{house}-oci")).exists(), "a stage is left behind");
    assert_eq!(processes_of(folder), [], "processes are left behind");
    for name in ["slots", "trash", "templates/drafts"] {
        let entries = std::fs::read_dir(folder.join(name)).into_iter().flatten();
        let left: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "files are left behind");
    }
}

/// A runtime of the host. The tests are about it, so they fail without it.
pub(crate) fn find(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    let found = folders.map(|folder| folder.join(program)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("these tests need {program}: apt-get install {program}"))
}

pub(crate) fn config(folder: &Path, runtime: PathBuf) -> Config {
    assert!(rustix::process::geteuid().is_root(), "these tests mount and need root");
    Config {
        folder: folder.to_owned(),
        house: format!("test-{}", hex::encode(random_bytes::<6>())),
        runtime: Some(runtime),
        shelves: Shelves::open(folder.join("templates")).unwrap(),
        disk: DiskChoice::Folder,
        hatch: Default::default(),
    }
}

pub(crate) fn new_id() -> SandboxId {
    SandboxId::from_random(random_bytes())
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}

/// Every folder of cgroups that belongs to a house.
fn cgroups(house: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(house)) {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    found
}
