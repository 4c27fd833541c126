//! Templates, for real: real layers on a real disk, a registry on loopback, real tarballs, real overlay mounts, real
//! Debian packages. They are made as root here; what needs root says so when it is missing.
#![allow(clippy::unwrap_used, missing_docs)]

mod archives;
mod bench;
mod debian;
mod host;
mod recipes;
mod registry;
mod shelves;
mod strangers;
mod tarball;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use carrel_sandbox::template::{LayerId, Progress, Shelves};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Shelves in a folder that goes when the test ends.
struct House {
    folder: TempDir,
    shelves: Shelves,
}

impl House {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shelves = Shelves::open(folder.path().join("shelves")).unwrap();
        House { folder, shelves }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn drafts(&self) -> usize {
        std::fs::read_dir(self.path("shelves/drafts")).unwrap().count()
    }

    fn layers(&self) -> usize {
        std::fs::read_dir(self.path("shelves/layers")).unwrap().count()
    }

    fn at(&self, layer: &LayerId, name: &str) -> PathBuf {
        self.shelves.layer(layer).join(name)
    }

    /// Mounts layers as the engine does, in a mount namespace of its own, and runs a script in there.
    fn seen_through_overlay(&self, layers: &[LayerId], script: &str) -> String {
        needs_root();
        let lower: Vec<String> =
            layers.iter().rev().map(|layer| self.shelves.layer(layer).display().to_string()).collect();
        let place = self.path("merged");
        std::fs::create_dir_all(&place).unwrap();
        let empty = self.path("empty");
        std::fs::create_dir_all(&empty).unwrap();
        let mount = format!(
            "mount -t overlay overlay -o lowerdir={}:{} {} && cd {} && {script}",
            lower.join(":"),
            empty.display(),
            place.display(),
            place.display()
        );
        let output = Command::new("unshare").args(["--mount", "sh", "-ec", &mount]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Remembers what was said.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn progress(&self) -> Progress {
        let heard = self.0.clone();
        Progress::new(move |line| heard.lock().unwrap().push(line.to_owned()))
    }

    /// The same, and the making is called off when these words are said.
    fn progress_until(&self, words: &'static str) -> Progress {
        let (heard, end) = (self.0.clone(), CancellationToken::new());
        let call_off = end.clone();
        let listen = move |line: &str| {
            heard.lock().unwrap().push(line.to_owned());
            if line.contains(words) {
                call_off.cancel();
            }
        };
        Progress::new(listen).until(end)
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn has(&self, part: &str) -> bool {
        self.all().iter().any(|line| line.contains(part))
    }
}

fn needs_root() {
    assert!(rustix::process::geteuid().is_root(), "this test mounts and owns files of others: run it as root");
}

fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}
