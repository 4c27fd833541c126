//! A server that ends while a template is being made, however it ends: nothing of the making is left behind.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use carrel_testkit::{Server, Start};
use futures::StreamExt;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use crate::{binary, engine::cgroups};

/// What sandboxes may write to.
const DISKS: [&str; 2] = ["folder", "image"];

fn start<'a>(data: &Path, disk: &str) -> Start<'a> {
    assert!(rustix::process::geteuid().is_root(), "these tests make namespaces and need root");
    Server::with(binary(), data)
        .env("CARREL_LOG_LEVEL", "error")
        .env("CARREL_SANDBOXES_PROVIDER", "local")
        .env("CARREL_LOCAL_DISK", disk)
        .env("CARREL_LOCAL_DISK_GB", "1")
        .env("CARREL_LOCAL_POOL", "1")
}

/// Asks for a template whose making does not end by itself, and returns when it is in the middle of it.
async fn begin(server: &Server, mark: &str) {
    let http = client();
    let recipe = format!("FROM host\nRUN echo first > /home/user/first\nRUN echo begun {mark}; sleep {mark}");
    let asked = http
        .post(format!("{}/api/v1/templates", server.url))
        .bearer_auth(&server.key)
        .json(&json!({"name": "slow", "from": "recipe", "recipe": recipe}))
        .send();
    let asked = asked.await.unwrap();
    assert_eq!(asked.status(), StatusCode::CREATED, "{}", asked.text().await.unwrap());
    let log = http.get(format!("{}/api/v1/templates/slow/log?follow=true", server.url)).bearer_auth(&server.key);
    let mut log = log.send().await.unwrap().bytes_stream();
    let mut heard = String::new();
    // Said twice: once as the title of the step, once by its command.
    while heard.matches(&format!("begun {mark}")).count() < 2 {
        let Some(piece) = log.next().await else { panic!("the making ended: {heard}") };
        let piece = piece.unwrap();
        heard.push_str(&String::from_utf8_lossy(&piece));
    }
    while processes(mark).is_empty() {
        tokio::task::yield_now().await;
    }
}

async fn slow(server: &Server) -> Value {
    let asked = client().get(format!("{}/api/v1/templates/slow", server.url)).bearer_auth(&server.key).send();
    asked.await.unwrap().json().await.unwrap()
}

fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// A length of sleep that nobody else has, so that its sleeper can be told from all others.
fn mark() -> String {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    format!("9{}", nanos % 1_000_000_000_000)
}

/// The sleepers of a mark.
fn processes(mark: &str) -> Vec<String> {
    let wanted = format!("sleep\0{mark}\0");
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| *line == wanted).collect()
}

/// Nothing of a data directory is mounted, and no file of it is behind a device.
fn assert_unmounted(data: &Path) {
    let name = data.to_str().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let left: Vec<_> = mounts.lines().filter(|line| line.contains(name)).collect();
    assert!(left.is_empty(), "mounts are left behind: {left:?}");
    // The kernel lets go of a device when it has put away the last mount on it, a moment after it says so.
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while let Some(device) = device_of(name) {
        assert!(patience > std::time::Instant::now(), "{} is left behind", device.display());
        std::thread::yield_now();
    }
}

/// The device that has a file beneath a folder behind it.
fn device_of(folder: &str) -> Option<PathBuf> {
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten().map(|device| device.path());
    let file = |device: &Path| std::fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
    devices.into_iter().find(|device| file(device).contains(folder))
}

/// No process, cgroup, mount or unfinished file of a house that is closed.
fn assert_nothing_is_left(data: &Path, mark: &str) {
    assert_eq!(processes(mark), Vec::<String>::new(), "processes are left behind");
    let node = std::fs::read_to_string(data.join("node")).unwrap();
    assert_eq!(cgroups(node.trim()), Vec::<PathBuf>::new(), "cgroups are left behind");
    assert_unmounted(data);
    let places = ["local/slots", "local/trash", "local/drafts", "local/templates/drafts", "scratch"];
    let left = places.iter().flat_map(|place| std::fs::read_dir(data.join(place)).into_iter().flatten());
    let left: Vec<_> = left.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "files are left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_to_end_takes_its_makings_along() {
    for disk in DISKS {
        let (data, mark) = (tempfile::tempdir().unwrap(), mark());
        let server = start(data.path(), disk).start().await;
        begin(&server, &mark).await;
        assert!(server.terminate().await.success());
        assert_nothing_is_left(data.path(), &mark);

        // The next one says what became of it, and what was done before the end need not be done again.
        let server = start(data.path(), disk).start().await;
        let told = slow(&server).await;
        assert_eq!(told["phase"], "failed", "{told}");
        assert!(told["note"].as_str().unwrap().contains("The server ended while it was being made"), "{told}");
        begin(&server, &mark).await;
        assert!(server.terminate().await.success());
        assert_nothing_is_left(data.path(), &mark);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_server_was_making_is_gone_when_the_next_one_is_there() {
    for disk in DISKS {
        let (data, mark) = (tempfile::tempdir().unwrap(), mark());
        let server = start(data.path(), disk).start().await;
        begin(&server, &mark).await;
        server.kill().await;
        let server = start(data.path(), disk).start().await;
        assert_eq!(processes(&mark), Vec::<String>::new(), "{disk}: the making went on");
        assert_eq!(slow(&server).await["phase"], "failed");
        // Killed once more in the middle, and asked to end the next time.
        begin(&server, &mark).await;
        server.kill().await;
        let server = start(data.path(), disk).start().await;
        begin(&server, &mark).await;
        assert!(server.terminate().await.success());
        assert_nothing_is_left(data.path(), &mark);
    }
}

/// A server on an image, of which nobody has heard yet whether it opens.
fn unheard(data: &Path) -> tokio::process::Command {
    let mut server = tokio::process::Command::new(binary());
    server
        .args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()])
        .envs([("CARREL_LOG_LEVEL", "error"), ("CARREL_LOCAL_DISK", "image"), ("CARREL_LOCAL_DISK_GB", "1")])
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_to_end_while_it_opens_leaves_nothing_mounted() {
    let data = tempfile::tempdir().unwrap();
    let mut server = unheard(data.path()).stdout(Stdio::null()).spawn().unwrap();
    let is_mounted = || {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts.contains(data.path().to_str().unwrap())
    };
    while !is_mounted() {
        assert!(server.try_wait().unwrap().is_none(), "it ended by itself");
        tokio::task::yield_now().await;
    }
    let pid = server.id().unwrap().to_string();
    let sent = tokio::process::Command::new("kill").args(["-TERM", &pid]).status().await.unwrap();
    assert!(sent.success());
    assert!(server.wait().await.unwrap().success());
    assert_unmounted(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_open_leaves_nothing_mounted() {
    let data = tempfile::tempdir().unwrap();
    // Found to be wrong when the disk is open already.
    let ended = unheard(data.path()).env("E2B_DOMAIN", "no domain").output().await.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("no domain"), "{said}");
    assert!(data.path().join("local/disk.img").exists(), "it came far enough: {said}");
    assert_unmounted(data.path());
}
