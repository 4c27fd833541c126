//! Several servers on one PostgreSQL and one library: one house.

mod e2b;
mod keys;
mod library;
mod members;
mod merges;
mod sleepers;

use std::path::{Path, PathBuf};

use carrel_testkit::{Redis, Server, Start, TestDatabase};
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{binary, pulls::ask};

/// One of them needs no more than this to be missed.
pub(crate) const LEASE_S: &str = "3";

pub(crate) struct Fleet {
    pub database: TestDatabase,
    pub redis: Option<Redis>,
    pub folder: tempfile::TempDir,
}

impl Fleet {
    pub(crate) async fn new() -> Fleet {
        assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
        let _ = rustls::crypto::ring::default_provider().install_default();
        Fleet { database: TestDatabase::postgres().await, redis: None, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn data(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("node{number}"))
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.folder.path().join("library")
    }

    pub(crate) async fn start(&self, number: usize) -> Server {
        self.start_with(number, &[]).await
    }

    pub(crate) async fn start_with(&self, number: usize, more: &[&str]) -> Server {
        self.prepare(number, more).start().await
    }

    pub(crate) fn prepare(&self, number: usize, more: &[&str]) -> Start<'static> {
        let redis = self.redis.iter().flat_map(|redis| ["--redis".to_owned(), redis.url()]);
        let library = ["--library".to_owned(), self.library().display().to_string()];
        Server::with(binary(), &self.data(number))
            .args(redis)
            .args(["--database", &self.database.url()])
            .args(library.iter().filter(|_| !more.contains(&"--library")))
            .args(more)
            .env("CARREL_MASTER_KEY", "7".repeat(64))
            .env("CARREL_DATABASE_SCHEMA", &self.database.options().schema)
            .env("CARREL_DATABASE_CONNECTIONS", "8")
            .env("CARREL_KEEPERS_LEASE_S", LEASE_S)
            .env("CARREL_LOG_LEVEL", "error")
            .env("CARREL_SANDBOXES_PROVIDER", "local")
            .env("CARREL_LOCAL_DISK", "folder")
            .env("CARREL_LOCAL_POOL", "1")
    }

    pub(crate) fn node(&self, number: usize) -> String {
        std::fs::read_to_string(self.data(number).join("node")).unwrap().trim().to_owned()
    }
}

/// Waits until every node counts as up, as one of them sees it.
pub(crate) async fn all_up(server: &Server, count: usize) {
    loop {
        let (_, page) = ask(server, Method::GET, "/nodes", None).await;
        // A database that is away says nothing.
        let nodes = page["items"].as_array().into_iter().flatten();
        let up = nodes.filter(|node| node["state"] == "up").count();
        if up == count {
            return;
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn sandbox_on(server: &Server, node: &str) -> String {
    // The emptiest node comes first, so each gets its turn.
    loop {
        let (status, made) = ask(server, Method::POST, "/sandboxes?wait=ready", Some(json!({}))).await;
        assert!(status.is_success(), "{made}");
        let id = made["id"].as_str().unwrap().to_owned();
        if made["node"] == node {
            return id;
        }
    }
}

pub(crate) fn commits(library: &Path) -> Vec<String> {
    let mirror = library.join("mirrors/own/1.git");
    let told = std::process::Command::new("git")
        .args(["--git-dir", mirror.to_str().unwrap(), "-c", "safe.directory=*"])
        .args(["log", "--format=%s", "--glob=refs/heads/task-*", "--not", "main"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&told.stdout).lines().map(str::to_owned).collect()
}

/// Ends every sandbox of a house.
pub(crate) async fn clear(server: &Server) {
    let (_, page) = ask(server, Method::GET, "/sandboxes", None).await;
    for sandbox in page["items"].as_array().unwrap() {
        let path = format!("/sandboxes/{}?wait=gone", sandbox["id"].as_str().unwrap());
        ask(server, Method::DELETE, &path, None).await;
    }
}

/// What the agent of a task said in lines that begin with `line `, in order.
pub(crate) async fn lines(server: &Server, task: usize) -> Vec<String> {
    let (_, page) = ask(server, Method::GET, &format!("/tasks/{task}/timeline?limit=1000"), None).await;
    let items = page["items"].as_array().cloned().unwrap_or_default();
    let texts = items.iter().filter(|item| item["role"] == "agent").filter_map(|item| item["text"].as_str());
    texts.flat_map(str::lines).filter(|line| line.starts_with("line ")).map(str::to_owned).collect()
}

/// Stops a process where it stands, or lets it go on.
pub(crate) fn signal(server: &Server, signal: Signal) {
    kill_process(Pid::from_raw(server.pid() as i32).unwrap(), signal).unwrap();
}

pub(crate) fn carrel(server: &Server, args: &[&str]) -> (Option<i32>, String) {
    let output = std::process::Command::new(binary())
        .args(["--url", &server.url])
        .args(args)
        .env("CARREL_KEY", &server.key)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), said)
}
