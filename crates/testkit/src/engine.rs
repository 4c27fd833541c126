//! Real sandboxes under a house: the local provider in the house's own folder. It leaves nothing behind, also when a
//! test fails.

use std::path::{Path, PathBuf};

use carrel_sandbox::{
    Provider,
    egress::Hatch,
    providers::local::{Config, DiskChoice, Local, PoolSize},
};

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
            pool: PoolSize { target: setup.pool, cap: setup.pool * 2 },
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
        for slots in [self.folder.join("slots"), self.folder.join("disk/slots")] {
            let files = std::fs::read_dir(slots).into_iter().flatten().flatten().map(|file| file.path());
            for file in files.filter(|path| path.extension().is_some_and(|end| end == "json")) {
                let text = std::fs::read_to_string(file).unwrap_or_default();
                let record: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
                let pid = record["first"]["pid"].as_i64().and_then(|pid| rustix::process::Pid::from_raw(pid as i32));
                if let Some(pid) = pid {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
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
