//! Real sandboxes under a house: the local provider in the house's own folder. It leaves nothing behind, also when a
//! test fails.

use std::path::{Path, PathBuf};

use carrel_sandbox::{
    Provider,
    egress::Hatch,
    providers::local::{Config, DiskChoice, Local, PoolSize},
};

/// How often a test that failed looks for what is left of its sandboxes.
const ROUNDS: usize = 1000;

/// How the sandboxes of a house are made.
#[derive(Debug, Clone)]
pub struct EngineSetup {
    /// The program that is the launcher, and what makes it so.
    pub launcher: (PathBuf, Vec<String>),
    /// How many slots wait.
    pub pool: usize,
    /// What sandboxes write to.
    pub disk: DiskChoice,
}

impl EngineSetup {
    /// Plain folders and no pool, with this launcher.
    pub fn with(program: impl Into<PathBuf>, args: &[&str]) -> EngineSetup {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        EngineSetup { launcher: (program.into(), args), pool: 0, disk: DiskChoice::Folder }
    }
}

/// The local provider of a house.
pub struct Engine {
    /// The provider.
    pub local: Local,
    /// Leads from inside to the doors of the house.
    pub hatch: Hatch,
    folder: PathBuf,
    house: String,
}

impl Engine {
    pub(crate) async fn open(folder: &Path, setup: EngineSetup) -> Engine {
        assert!(rustix::process::geteuid().is_root(), "these tests make namespaces and need root");
        let house = format!("test-{}", folder.file_name().unwrap().to_str().unwrap().trim_start_matches('.'));
        let folder = folder.join("local");
        std::fs::create_dir_all(&folder).unwrap();
        let hatch = Hatch::default();
        let config = Config {
            folder: folder.clone(),
            house: house.clone(),
            launcher: setup.launcher,
            pool: PoolSize { target: setup.pool, cap: setup.pool * 2, shells: 1 },
            disk: setup.disk,
            hatch: hatch.clone(),
        };
        Engine { local: config.build().await.unwrap(), hatch, folder, house }
    }

    /// Ends every sandbox and asserts that nothing is left: no process, cgroup, mount or file.
    pub(crate) async fn close(self) {
        self.hatch.close();
        for (id, _) in self.local.list().await.unwrap() {
            self.local.destroy(&id).await.unwrap();
        }
        self.local.close().await;
        assert_eq!(cgroups(&self.house), Vec::<PathBuf>::new(), "cgroups are left behind");
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.folder.to_str().unwrap()), "mounts are left behind");
        for name in ["slots", "trash", "drafts", "memory"] {
            let left: Vec<_> = std::fs::read_dir(self.folder.join(name)).into_iter().flatten().collect();
            assert!(left.is_empty(), "files are left behind: {left:?}");
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        // The provider lives on until it is dropped, and may still put something there.
        for _ in 0..ROUNDS {
            let folders = cgroups(&self.house);
            if folders.is_empty() {
                break;
            }
            folders.iter().for_each(|folder| sweep(folder));
            std::thread::yield_now();
        }
        let _ = std::process::Command::new("umount").arg(self.folder.join("disk")).output();
    }
}

/// Ends what is in a group of processes, and removes it with what is below it. Content to fail: the next round may not.
fn sweep(folder: &Path) {
    for inner in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if inner.is_dir() {
            sweep(&inner);
        }
    }
    let inside = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for pid in inside.lines().filter_map(|line| line.parse().ok().and_then(rustix::process::Pid::from_raw)) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    let _ = std::fs::remove_dir(folder);
}

/// Every folder of cgroups that belongs to a house.
fn cgroups(house: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str() == Some(house) {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    found
}
