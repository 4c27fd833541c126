//! A merge with a real server and a real sandbox: killed in the middle, asked for again.

use std::{path::Path, time::Duration};

use carrel_testkit::Server;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use crate::binary;

pub(crate) async fn start(data: &Path) -> Server {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::with(binary(), data)
        .env("CARREL_LOG_LEVEL", "error")
        .env("CARREL_SANDBOXES_PROVIDER", "local")
        .env("CARREL_LOCAL_DISK", "folder")
        .env("CARREL_LOCAL_POOL", "1");
    server.start().await
}

pub(crate) async fn ask(server: &Server, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let http = Client::builder().no_proxy().build().unwrap();
    let mut request = http.request(method, format!("{}/api/v1{path}", server.url)).bearer_auth(&server.key);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let response = request.send().await.unwrap();
    (response.status(), response.json().await.unwrap_or(Value::Null))
}

pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
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
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// The sandboxes that are not on their way out.
async fn living(server: &Server) -> Vec<Value> {
    let (_, page) = ask(server, Method::GET, "/sandboxes", None).await;
    page["items"].as_array().unwrap().iter().filter(|sandbox| sandbox["want"] != "gone").cloned().collect()
}

/// Waits until the check runs in its sandbox.
async fn until_checked(server: &Server) {
    loop {
        for sandbox in living(server).await {
            let place = format!("/sandboxes/{}/execs", sandbox["id"].as_str().unwrap());
            let (_, execs) = ask(server, Method::GET, &place, None).await;
            let runs = |exec: &Value| exec["status"] == "running" && exec["command"].to_string().contains("sleep");
            if execs["items"].as_array().into_iter().flatten().any(runs) {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_was_killed_in_its_check_is_done_by_the_next_one_and_nothing_is_left_of_it() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let new = json!({"new": true, "name": "own", "check_command": "while :; do sleep 1; done"});
    assert_eq!(ask(&server, Method::POST, "/repos", Some(new)).await.0, StatusCode::CREATED);
    let work = tempfile::tempdir().unwrap();
    let origin = format!("{}/git/own.git", server.url.replace("http://", &format!("http://x:{}@", server.key)));
    git(work.path(), &["init", "-q", "-b", "main"]);
    std::fs::write(work.path().join("one"), "1\n").unwrap();
    git(work.path(), &["add", "."]);
    git(work.path(), &["commit", "-q", "-m", "feat: one"]);
    git(work.path(), &["push", "-q", &origin, "main"]);
    git(work.path(), &["checkout", "-q", "-b", "task-1"]);
    std::fs::write(work.path().join("two"), "2\n").unwrap();
    git(work.path(), &["add", "."]);
    git(work.path(), &["commit", "-q", "-m", "feat: two"]);
    git(work.path(), &["push", "-q", &origin, "task-1"]);
    let pull = json!({"repo": "own", "head": "task-1", "title": "feat: two"});
    assert_eq!(ask(&server, Method::POST, "/pulls", Some(pull)).await.0, StatusCode::CREATED);

    let http = Client::builder().no_proxy().build().unwrap();
    let merge = http.post(format!("{}/api/v1/pulls/own/1/merge", server.url)).bearer_auth(&server.key);
    let waiting = tokio::spawn(async move { merge.send().await.map(|_| ()) });
    until_checked(&server).await;
    server.kill().await;
    assert!(waiting.await.unwrap().is_err(), "nobody answered");

    let server = start(data.path()).await;
    // What is checked is the merged result, as a working tree that git finds clean.
    let check = "cat one two && test -z \"$(git status --porcelain)\" && git log -1 --format=%s";
    let change = json!({"check_command": check});
    assert_eq!(ask(&server, Method::PATCH, "/repos/own", Some(change)).await.0, StatusCode::OK);
    let (status, merged) = ask(&server, Method::POST, "/pulls/own/1/merge", None).await;
    assert_eq!((status, &merged["phase"]), (StatusCode::OK, &json!("merged")), "{merged}");
    let (_, repo) = ask(&server, Method::GET, "/repos/own", None).await;
    assert_eq!(repo["head"], merged["merge_commit"]);
    assert_eq!(living(&server).await, Vec::<Value>::new(), "also the sandbox of the first try is on its way out");
    assert!(server.terminate().await.success());
}
