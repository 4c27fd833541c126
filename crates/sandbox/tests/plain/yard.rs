//! A plain user of this host with a provider in a folder of their own, which must leave nothing behind.
//!
//! The tests are started by root or by a plain user. Root has each of them started again by a user that nobody else is,
//! and looks afterwards for what that user left.

use std::{
    fs,
    future::Future,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use carrel_envd::{Envd, EnvdError, Event, Start};
use carrel_model::{SandboxId, sandbox::Spec};
use carrel_sandbox::{
    Provider,
    contract::usual_spec,
    providers::local::{Config, DiskChoice, Local, PoolSize},
};
use futures::StreamExt;

/// Tells a test that it was started again, and where it lives.
const PLACE: &str = "CARREL_TEST_PLAIN";

/// A provider that belongs to a plain user.
pub struct Yard {
    pub folder: PathBuf,
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

/// Runs a test as a user who is not root: this one, or one that root makes up for it.
pub fn as_plain_user<F: Future<Output = ()>>(test: &str, body: impl FnOnce(Arc<Yard>) -> F) {
    if rustix::process::geteuid().is_root() {
        return start_again(test);
    }
    let own = tempfile::tempdir().unwrap();
    let (folder, launcher) = match std::env::var_os(PLACE) {
        Some(place) => (PathBuf::from(&place).join("yard"), PathBuf::from(place).join("launcher")),
        None => (own.path().join("yard"), env!("CARGO_BIN_EXE_carrel-launcher").into()),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config = Config {
            folder: folder.clone(),
            house: format!("test-{}", hex::encode(random_bytes::<6>())),
            launcher: (launcher, vec![]),
            pool: PoolSize { target: 0, cap: 0, shells: 0 },
            disk: DiskChoice::Folder,
            hatch: Default::default(),
        };
        let local = config.clone().build().await.unwrap();
        let yard = Arc::new(Yard { folder, local, config });
        body(Arc::clone(&yard)).await;
        yard.close().await;
    });
}

/// Starts a test once more as somebody who has nothing, in a folder that is theirs.
fn start_again(test: &str) {
    // Nobody of the host has such a number, and no sandbox either.
    let user = 900_000_000 + std::process::id();
    let home = tempfile::tempdir().unwrap();
    let _broom = Broom { user };
    // Where this was built may be closed to others.
    for (from, name) in
        [(std::env::current_exe().unwrap(), "test"), (PathBuf::from(env!("CARGO_BIN_EXE_carrel-launcher")), "launcher")]
    {
        fs::copy(from, home.path().join(name)).unwrap();
        fs::set_permissions(home.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    chown(home.path(), Some(user), Some(user)).unwrap();
    let mut command = Command::new(home.path().join("test"));
    command.args(["--exact", test, "--nocapture"]).env(PLACE, home.path()).env("HOME", home.path());
    // Into a file: what a test that failed leaves running may hold a pipe for ever.
    let said = fs::File::create(home.path().join("said")).unwrap();
    command.stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said);
    let ended = command.current_dir(home.path()).uid(user).gid(user).status().unwrap();
    let said = fs::read_to_string(home.path().join("said")).unwrap();
    assert!(ended.success() && said.contains("1 passed"), "as {user}: {said}");
    // The launcher goes when it hears that its server is gone.
    let is_launcher = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.starts_with(home.path().join("launcher").as_os_str().as_encoded_bytes()))
    };
    while processes_of(user).iter().any(is_launcher) {
        std::thread::yield_now();
    }
    let about = |pid: i32| {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        (pid, read("stat"), read("cmdline"))
    };
    let left: Vec<_> = processes_of(user).into_iter().map(about).collect();
    assert_eq!(left, [], "processes are left behind");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(home.path().to_str().unwrap()), "mounts are left behind");
}

/// Ends what a test that failed would leave running.
struct Broom {
    user: u32,
}

impl Drop for Broom {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for pid in processes_of(self.user).into_iter().filter_map(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// The processes of a user, without those that have ended and wait to be collected.
fn processes_of(user: u32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let theirs = entries.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user));
    let pids = theirs.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let ended = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
    };
    pids.filter(|pid| !ended(pid)).collect()
}

impl Yard {
    /// How to open the same provider again.
    pub fn config(&self) -> Config {
        self.config.clone()
    }

    pub async fn spec(&self) -> Spec {
        usual_spec(&self.local).await
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

    pub async fn create(&self, spec: &Spec) -> SandboxId {
        let id = new_id();
        self.local.create(&id, spec).await.unwrap();
        id
    }

    pub async fn envd(&self, id: &SandboxId) -> Envd {
        let endpoint = self.local.endpoint(id).await.unwrap();
        Envd::new(endpoint.dial, endpoint.token)
    }

    /// Runs a command in a shell as the only user that there is inside.
    pub async fn run(&self, id: &SandboxId, command: &str) -> Ran {
        self.start(id, command).await.unwrap()
    }

    /// The same; an error when it could not be started.
    pub async fn start(&self, id: &SandboxId, command: &str) -> Result<Ran, EnvdError> {
        self.run_by(&self.envd(id).await, command).await
    }

    /// The same, by a line that is there already.
    pub async fn run_by(&self, envd: &Envd, command: &str) -> Result<Ran, EnvdError> {
        let start = Start {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), command.into()],
            user: Some("root".into()),
            cwd: Some("/".into()),
            ..Start::default()
        };
        let mut events = envd.start(&start).await?;
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

    /// What the provider remembers of a sandbox.
    pub fn record(&self, id: &SandboxId) -> serde_json::Value {
        let files = fs::read_dir(self.folder.join("slots")).unwrap().map(|file| file.unwrap().path());
        let texts = files.filter_map(|path| fs::read_to_string(path).ok());
        let mut records = texts.filter_map(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        records.find(|record| record["id"] == id.as_str()).unwrap()
    }

    /// Ends everything and asserts that nothing is left.
    async fn close(&self) {
        for (id, _) in self.local.list().await.unwrap() {
            self.local.destroy(&id).await.unwrap();
        }
        self.local.close().await;
        assert_nothing_is_left(&self.folder);
    }
}

fn assert_nothing_is_left(folder: &Path) {
    for name in ["slots", "trash", "drafts", "memory"] {
        let entries = fs::read_dir(folder.join(name)).into_iter().flatten();
        let left: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "files are left behind");
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
