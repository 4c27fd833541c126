//! The library on a disk that loses its power: what was answered is there.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use carrel_testkit::Server;
use reqwest::Method;
use serde_json::json;

use crate::{
    binary,
    pulls::{ask, git},
};

/// A disk in a file. It writes nothing by itself for five minutes: what is to be on it somebody has to bring there.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn new() -> Disk {
        assert!(rustix::process::geteuid().is_root(), "this test mounts a disk and needs root");
        let disk = Disk { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(disk.place()).unwrap();
        std::fs::File::create(disk.image()).unwrap().set_len(256 << 20).unwrap();
        run("mkfs.ext4", &["-q", "-F", disk.image().to_str().unwrap()]);
        disk.mount(&disk.image());
        disk
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn mount(&self, image: &Path) {
        run("mount", &["-o", "loop,commit=300", image.to_str().unwrap(), self.place().to_str().unwrap()]);
    }

    /// What is not on the disk by now never will be: ext4 is told to stop where it stands, its journal too.
    fn cut_power(&self) {
        let shutdown = "import fcntl, os, struct, sys; \
                        fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";
        run("python3", &["-c", shutdown, self.place().to_str().unwrap()]);
    }

    /// Mounts again what is left: a copy of it. A namespace of somebody else's test may have a copy of the mount, and then
    /// the same image is still the disk without power.
    async fn come_back(&self) {
        // Whoever still has a file open there is about to end.
        while !Command::new("umount").arg(self.place()).output().unwrap().status.success() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let left = self.folder.path().join("left");
        run("cp", &["--sparse=always", self.image().to_str().unwrap(), left.to_str().unwrap()]);
        self.mount(&left);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.place()).output();
    }
}

fn run(program: &str, args: &[&str]) {
    let done = Command::new(program).args(args).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(done.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

async fn start(data: &Path, disk: &Disk) -> Server {
    let library = disk.place().join("library").display().to_string();
    Server::with(binary(), data)
        .args(["--library", &library])
        .env("CARREL_LOG_LEVEL", "error")
        .env("CARREL_SANDBOXES_PROVIDER", "local")
        .env("CARREL_LOCAL_DISK", "folder")
        .env("CARREL_LOCAL_POOL", "1")
        .start()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pushed_and_what_was_kept_is_on_the_librarys_disk_before_it_is_answered() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (disk, folder) = (Disk::new(), tempfile::tempdir().unwrap());
    let data = folder.path().join("data");
    let server = start(&data, &disk).await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    // A task whose work is pushed in part, and in part only saved; closed, all of it is kept.
    let command = "echo a >a; git add a; git commit -qm 'feat: a'; git push -q; echo unsaved >b";
    let agent = json!({"name": "writes", "dialect": "shell", "command": command});
    assert!(ask(&server, Method::POST, "/agents", Some(agent)).await.0.is_success());
    let task = json!({"repo": "own", "agent": "writes", "title": "w", "start": true});
    let (_, view) = ask(&server, Method::POST, "/tasks?wait=in_review&timeout=300", Some(task)).await;
    assert_eq!(view["phase"], "in_review", "{view}");
    let (_, view) = ask(&server, Method::POST, "/tasks/1/close?wait=closed&timeout=300", None).await;
    assert_eq!(view["phase"], "closed", "{view}");
    while ask(&server, Method::GET, "/sandboxes", None).await.1["items"].as_array().is_some_and(|all| !all.is_empty()) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let mirror = disk.place().join("library/mirrors/own/1.git");
    let told = |name: &str| git(&mirror, &["-c", "safe.directory=*", "--git-dir", ".", "rev-parse", name]);
    let kept = told("refs/carrel/kept/task-1");

    // A person pushes, again and again; the power goes as soon as the last push was answered.
    let work = folder.path().join("work");
    let origin = format!("{}/git/own.git", server.url.replace("http://", &format!("http://x:{}@", server.key)));
    git(folder.path(), &["clone", "-q", &origin, work.to_str().unwrap()]);
    for number in 0..5 {
        std::fs::write(work.join("file"), format!("{number}\n")).unwrap();
        git(&work, &["add", "file"]);
        git(&work, &["commit", "-q", "-m", &format!("feat: {number}")]);
        git(&work, &["push", "-q", "origin", "HEAD:refs/heads/topic"]);
    }
    disk.cut_power();
    let pushed = git(&work, &["rev-parse", "HEAD"]);
    server.terminate().await;
    disk.come_back().await;

    assert_eq!((told("refs/heads/topic"), told("refs/carrel/kept/task-1")), (pushed, kept));
    let show = |what: &str| git(&mirror, &["-c", "safe.directory=*", "--git-dir", ".", "show", what]);
    let files = ["a", "b"].map(|file| show(&format!("refs/carrel/kept/task-1:{file}")));
    assert_eq!((show("topic:file").as_str(), files), ("4", ["a".to_owned(), "unsaved".to_owned()]));
}
