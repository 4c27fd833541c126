//! Checkouts under a real server: killed and started again, run by nobody special, and in another kernel.

use std::{
    os::unix::fs::chown,
    path::{Path, PathBuf},
};

use carrel_testkit::Server;
use reqwest::Method;
use serde_json::{Value, json};

use crate::yard::{commit, git};

/// A real server on a folder of its own, with a repository.
struct Bureau {
    program: PathBuf,
    data: tempfile::TempDir,
    env: Vec<(&'static str, &'static str)>,
    user: Option<u32>,
    server: Option<Server>,
    http: reqwest::Client,
}

impl Bureau {
    async fn open(env: &[(&'static str, &'static str)], user: Option<u32>) -> Bureau {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let data = tempfile::tempdir().unwrap();
        let upstream = data.path().join("upstream");
        git(None, &["init", "-q", "-b", "main", upstream.to_str().unwrap()]).await;
        std::fs::write(upstream.join("README.md"), "# Hello\n").unwrap();
        commit(&upstream, "feat: begin").await;
        let mut program = PathBuf::from(env!("CARGO_BIN_EXE_carrel"));
        if let Some(user) = user {
            // Where the binary was built may be closed to others.
            let copy = data.path().join("carrel");
            std::fs::copy(&program, &copy).unwrap();
            program = copy;
            give(data.path(), user);
        }
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut bureau = Bureau { program, data, env: env.to_vec(), user, server: None, http };
        bureau.start().await;
        let source = bureau.data.path().join("upstream");
        bureau.ask(Method::POST, "/repos", json!({"name": "hello", "source": source})).await;
        bureau.ask(Method::POST, "/repos/hello/sync", json!({})).await;
        bureau
    }

    async fn start(&mut self) {
        let mut start = Server::with(&self.program, self.data.path()).env("CARREL_LOG_LEVEL", "warn");
        for (name, value) in &self.env {
            start = start.env(name, *value);
        }
        if let Some(user) = self.user {
            start = start.as_user(user);
        }
        self.server = Some(start.start().await);
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> Value {
        let server = self.server.as_ref().unwrap();
        let request = self.http.request(method, format!("{}/api/v1{path}", server.url)).bearer_auth(&server.key);
        let response = request.json(&body).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    async fn sandbox(&self, task: u32) -> String {
        let body = json!({"repo": "hello", "task_id": task, "agent_id": "scout", "checkout": {}});
        let made = self.ask(Method::POST, "/sandboxes?wait=ready&timeout=120", body).await;
        assert_eq!(made["phase"], "ready", "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    async fn sh(&self, id: &str, script: &str) -> String {
        let body = json!({"command": format!("set -e; cd /workspace\n{script}")});
        let ran = self.ask(Method::POST, &format!("/sandboxes/{id}/execute"), body).await;
        assert_eq!(ran["exit_code"], 0, "{script}\n{ran}");
        ran["stdout"].as_str().unwrap().trim_end().to_owned()
    }

    /// What the mirror has.
    async fn mirrored(&self, args: &[&str]) -> String {
        let folder = self.data.path().join("library/mirrors/hello/1.git");
        git(Some(&folder), &[&["-c", "safe.directory=*"], args].concat()).await
    }

    async fn close(mut self, ids: &[&str]) {
        for id in ids {
            self.ask(Method::DELETE, &format!("/sandboxes/{id}?wait=gone&timeout=60"), json!({})).await;
        }
        assert!(self.server.take().unwrap().terminate().await.success());
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.data.path().to_str().unwrap()), "mounts are left behind");
    }
}

fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

const LOCAL: [(&str, &str); 2] = [("CARREL_SANDBOXES_PROVIDER", "local"), ("CARREL_LOCAL_DISK", "folder")];
const WORK: &str = "echo two >two.txt; git add -A; git commit -qm 'feat: two'; git push -q 2>&1; git rev-parse HEAD";

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_goes_on_when_the_server_is_killed() {
    let mut bureau = Bureau::open(&LOCAL, None).await;
    let id = bureau.sandbox(7).await;
    bureau.sh(&id, "echo mine >mine.txt; git add -A; git commit -qm 'feat: mine'; echo more >>mine.txt").await;
    let before = bureau.sh(&id, "git status --porcelain -b; git log --format=%H").await;
    bureau.server.take().unwrap().kill().await;
    bureau.start().await;
    assert_eq!(bureau.sh(&id, "git status --porcelain -b; git log --format=%H").await, before);
    let head = bureau.sh(&id, WORK).await;
    assert_eq!(bureau.mirrored(&["rev-parse", "task-7"]).await, head);
    let other = bureau.sandbox(8).await;
    assert_eq!(bureau.sh(&other, "git status --porcelain -b; cat README.md").await, "## task-8\n# Hello");
    bureau.close(&[&id, &other]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_user_has_checkouts_too() {
    let bureau = Bureau::open(&LOCAL, Some(54_321)).await;
    let id = bureau.sandbox(7).await;
    assert_eq!(bureau.sh(&id, "git status --porcelain -b; cat README.md").await, "## task-7\n# Hello");
    let head = bureau.sh(&id, WORK).await;
    assert_eq!(bureau.mirrored(&["rev-parse", "task-7"]).await, head);
    bureau.close(&[&id]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_layer_can_be_laid_the_same_checkout_is_cloned_through_the_gateway() {
    let env = [("CARREL_SANDBOXES_PROVIDER", "oci"), ("CARREL_LOCAL_DISK", "folder"), ("CARREL_OCI_RUNTIME", "auto")];
    let bureau = Bureau::open(&env, None).await;
    let id = bureau.sandbox(7).await;
    assert_eq!(bureau.sh(&id, "pwd; git status --porcelain -b; cat README.md").await, "/workspace\n## task-7\n# Hello");
    let head = bureau.sh(&id, WORK).await;
    assert_eq!(bureau.mirrored(&["rev-parse", "task-7"]).await, head);
    let told = bureau.sh(&id, "git log -1 --format='%an %(trailers:key=Carrel-Task)'; git remote get-url origin").await;
    assert!(told.starts_with("scout Carrel-Task: 7"), "{told}");
    assert!(told.ends_with("http://127.0.0.1:49980/git/hello.git"), "{told}");
    bureau.close(&[&id]).await;
}
