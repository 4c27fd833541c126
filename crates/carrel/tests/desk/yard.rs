//! A house with repositories, and sandboxes to work on them in.

use std::path::{Path, PathBuf};

use carrel_model::public::SandboxView;
use carrel_testkit::{EngineSetup, House, Setup, TestDatabase};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// A house, and what runs in its sandboxes.
pub(crate) struct Yard {
    pub(crate) house: House,
    /// Goes with the house, unless somebody else looks after it.
    _database: Option<TestDatabase>,
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i64,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn engine() -> EngineSetup {
    EngineSetup::with(env!("CARGO_BIN_EXE_carrel"), &["launcher"])
}

impl Yard {
    pub(crate) async fn open() -> Yard {
        Yard::with(engine()).await
    }

    pub(crate) async fn with(engine: EngineSetup) -> Yard {
        Yard::built(Setup { engine: Some(engine), ..Setup::default() }).await
    }

    /// A house that is set up in its own way.
    pub(crate) async fn built(setup: Setup) -> Yard {
        let database = TestDatabase::sqlite();
        Yard { house: House::build(&database, setup).await, _database: Some(database) }
    }

    /// A house that asks models elsewhere, with desks for programs that need as much as real ones do.
    pub(crate) async fn asking(database: &TestDatabase, models: carrel_control::Models) -> Yard {
        let mut setup = Setup { engine: Some(engine()), models, ..Setup::default() };
        setup.limits =
            serde_json::from_value(json!({"cpus": 2, "memory_mb": 2048, "disk_mb": 2048, "pids": 512})).unwrap();
        Yard { house: House::build(database, setup).await, _database: None }
    }

    pub(crate) async fn close(self) {
        self.house.close().await;
    }

    /// A repository that lives here, with some files and two commits; where its bare mirror is.
    pub(crate) async fn repo(&self, name: &str) -> PathBuf {
        let upstream = self.house.folder().join(format!("upstream-{name}"));
        git(None, &["init", "-q", "-b", "main", upstream.to_str().unwrap()]).await;
        std::fs::create_dir_all(upstream.join("src")).unwrap();
        for (path, text) in [("README.md", "# Hello\n"), ("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n")] {
            std::fs::write(upstream.join(path), text).unwrap();
        }
        std::fs::write(upstream.join(".gitignore"), "target/\n*.log\n").unwrap();
        let run = upstream.join("run.sh");
        std::fs::write(&run, "#!/bin/sh\necho runs\n").unwrap();
        std::fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("README.md", upstream.join("link")).unwrap();
        commit(&upstream, "feat: begin").await;
        std::fs::write(upstream.join("NOTES.md"), "notes\n").unwrap();
        commit(&upstream, "docs: notes").await;
        self.add(name, &upstream).await;
        upstream
    }

    pub(crate) async fn add(&self, name: &str, source: &Path) {
        let body = json!({"name": name, "source": source});
        let (status, repo) = self.house.ask(self.house.request(Method::POST, "/api/v1/repos").json(&body)).await;
        assert_eq!(status, StatusCode::CREATED, "{repo}");
        self.sync(name).await;
    }

    /// Brings a repository up to date with its upstream.
    pub(crate) async fn sync(&self, name: &str) {
        let path = format!("/api/v1/repos/{name}/sync");
        let (status, repo) = self.house.ask(self.house.request(Method::POST, &path)).await;
        assert_eq!((status, &repo["phase"]), (StatusCode::OK, &json!("ready")), "{repo}");
    }

    /// The mirror of a repository.
    pub(crate) fn mirror(&self, name: &str) -> PathBuf {
        self.house.folder().join("library/mirrors").join(name).join("1.git")
    }

    /// A sandbox that is ready, with what is asked for.
    pub(crate) async fn sandbox(&self, body: Value) -> SandboxView {
        let request = self.house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body);
        let (status, body) = self.house.ask(request).await;
        assert_eq!((status, &body["phase"]), (StatusCode::CREATED, &json!("ready")), "{body}");
        serde_json::from_value(body).unwrap()
    }

    /// Runs a script inside, as the sandbox's own user.
    pub(crate) async fn run(&self, sandbox: &SandboxView, script: &str) -> Ran {
        let ran = self.house.execute(sandbox, json!({"command": script})).await;
        let text = |name: &str| ran[name].as_str().unwrap_or_default().to_owned();
        Ran { code: ran["exit_code"].as_i64().unwrap_or(-1), out: text("stdout"), err: text("stderr") }
    }

    /// Runs a script inside that must succeed; what it printed.
    pub(crate) async fn sh(&self, sandbox: &SandboxView, script: &str) -> String {
        let ran = self.run(sandbox, &format!("set -e\n{script}")).await;
        assert_eq!(ran.code, 0, "{script}\n{}{}", ran.out, ran.err);
        ran.out.trim_end().to_owned()
    }

    /// Runs a script inside that must fail; what it said.
    pub(crate) async fn fails(&self, sandbox: &SandboxView, script: &str) -> String {
        let ran = self.run(sandbox, script).await;
        assert_ne!(ran.code, 0, "{script}\n{}{}", ran.out, ran.err);
        ran.err
    }

    pub(crate) async fn remove(&self, sandbox: &SandboxView) {
        let path = format!("/api/v1/sandboxes/{}?wait=gone", sandbox.id);
        let (status, body) = self.house.ask(self.house.request(Method::DELETE, &path)).await;
        assert!(status.is_success(), "{body}");
    }
}

/// Git on the host, far from anybody's settings.
pub(crate) async fn git(folder: Option<&Path>, args: &[&str]) -> String {
    let mut command = tokio::process::Command::new("git");
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    for (name, value) in [
        ("HOME", "/nonexistent"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.org"),
        ("GIT_COMMITTER_NAME", "Ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.org"),
    ] {
        command.env(name, value);
    }
    let output = command.args(args).output().await.unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(crate) async fn commit(folder: &Path, message: &str) -> String {
    git(Some(folder), &["add", "--all"]).await;
    git(Some(folder), &["commit", "-q", "-m", message]).await;
    git(Some(folder), &["rev-parse", "HEAD"]).await
}
