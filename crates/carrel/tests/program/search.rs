//! After a whole run, from a card to a merged pull: no key, token or secret is in a sandbox, a process list, a transcript,
//! the journal, a log or a git object, although the agent has looked for them and committed what it found.

use std::path::{Path, PathBuf};

use axum::{Router, routing::post};
use carrel_testkit::Server;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    binary,
    pulls::ask,
    secrets::{files_with, has, processes_with},
};

const MODEL_KEY: &str = "sk-ant-api03-CorrectHorseBatteryStaple";
const FORGE_TOKEN: &str = "ghp_CorrectHorseBatteryStapleForForge012345";
const HOOK_SECRET: &str = "whsec_Q29ycmVjdEhvcnNlQmF0dGVyeVN0YXBsZQ==";
const HEADER_SECRET: &str = "correct-horse-battery-staple-for-headers";

/// Shows everything it can see, asks a model, and commits all of it.
const NOSY: &str = r#"look() { env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n'; git config --list;
    cat ~/.netrc ~/.git-credentials ~/.config/*/* /run/carrel/* 2>/dev/null; mount; ps aux; }
look; look >seen.txt
curl -sS -m 60 "$ANTHROPIC_BASE_URL/v1/messages" -H 'content-type: application/json' \
    -d '{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}' | tee answer.txt
git add -A && git commit -qm 'feat: everything that can be seen' && git push -q origin HEAD && echo pushed"#;

/// A model that says which key it was shown to us alone.
async fn model() -> (String, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    let shown: std::sync::Arc<std::sync::Mutex<Vec<String>>> = Default::default();
    let seen = std::sync::Arc::clone(&shown);
    let answer = move |headers: axum::http::HeaderMap| async move {
        seen.lock().unwrap().push(headers["x-api-key"].to_str().unwrap().to_owned());
        axum::Json(
            json!({"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "hello"}], "usage": {"input_tokens": 3, "output_tokens": 1}}),
        )
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/v1/messages", post(answer))).await.unwrap() },
    );
    (url, shown)
}

/// Every folder below that git keeps objects in.
fn repositories(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            if path.join("objects").is_dir() && path.join("HEAD").is_file() {
                found.push(path.clone());
            }
            found.extend(repositories(&path));
        }
    }
    found
}

/// What all objects of a repository hold, unpacked.
fn objects(repository: &Path) -> Vec<u8> {
    let told = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(["-c", "safe.directory=*", "cat-file", "--batch", "--batch-all-objects", "--buffer"])
        .output()
        .unwrap();
    assert!(told.status.success(), "{}: {}", repository.display(), String::from_utf8_lossy(&told.stderr));
    told.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_full_run_no_secret_is_found_anywhere() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (url, shown) = model().await;
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("carrel.toml"), format!("[models]\nanthropic = \"{url}\"\n")).unwrap();
    let log = data.path().join("log.txt");
    let server = Server::with(binary(), data.path())
        .env("CARREL_LOG_LEVEL", "trace")
        .env("CARREL_SANDBOXES_PROVIDER", "local")
        .env("CARREL_LOCAL_DISK", "folder")
        .env("CARREL_LOCAL_POOL", "1")
        .log_to(std::fs::File::create(&log).unwrap())
        .start()
        .await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    for (name, value, repo) in [
        ("anthropic-api-key", MODEL_KEY, None),
        ("github-token", FORGE_TOKEN, Some("own")),
        ("webhook-secret", HOOK_SECRET, Some("own")),
    ] {
        let body = json!({"name": name, "value": value, "repo": repo});
        assert!(ask(&server, Method::POST, "/secrets", Some(body)).await.0.is_success(), "{name}");
    }
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let made = http.post(format!("{}/secrets", server.url)).header("x-api-key", format!("e2b_{}", &server.key[4..]));
    let made = made.json(&json!({"name": "header-secret", "value": HEADER_SECRET})).send().await.unwrap();
    assert!(made.status().is_success(), "{:?}", made.text().await);
    ask(&server, Method::POST, "/agents", Some(json!({"name": "nosy", "dialect": "shell", "command": NOSY}))).await;

    let headers = json!({"example.org": {"authorization": "Bearer ${e2b.secrets.header-secret}"}});
    let network = json!({"mode": "allow", "allow": ["example.org"], "headers": headers});
    let task = json!({"repo": "own", "agent": "nosy", "title": "Look around", "start": true, "network": network});
    let (_, task) = ask(&server, Method::POST, "/tasks?wait=in_review&timeout=300", Some(task)).await;
    assert_eq!(task["phase"], "in_review", "{task}");
    assert_eq!(*shown.lock().unwrap(), [MODEL_KEY], "the model was asked once, with the key");
    let (_, timeline) = ask(&server, Method::GET, "/tasks/1/timeline?limit=1000", None).await;
    assert!(timeline.to_string().contains("CARREL_TASK=1"), "the agent did not look: {timeline}");
    let desk = task["sandbox_id"].as_str().unwrap();
    let look = json!({"command": "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; ps aux", "user": "root"});
    let (_, inside) = ask(&server, Method::POST, &format!("/sandboxes/{desk}/execute"), Some(look)).await;

    let master = std::fs::read_to_string(data.path().join("master.key")).unwrap().trim().to_owned();
    let (admin, own) = (server.key.clone(), data.path().join("admin.key"));
    let secrets = [MODEL_KEY, FORGE_TOKEN, HOOK_SECRET, HEADER_SECRET, &master, &admin];
    let answers = [timeline.to_string(), inside.to_string(), events(&server).await];
    for secret in secrets {
        assert!(answers.iter().all(|answer| !answer.contains(secret)), "{secret} is in an answer");
        assert_eq!(processes_with(secret), Vec::<String>::new(), "{secret}");
    }
    search(data.path(), &secrets, &own);

    let (_, merged) = ask(&server, Method::POST, "/tasks/1/merge?wait=merged&timeout=300", None).await;
    assert_eq!(merged["phase"], "merged", "{merged}");
    let is_left = |page: &Value| page["items"].as_array().unwrap().iter().any(|sandbox| sandbox["phase"] != "gone");
    while is_left(&ask(&server, Method::GET, "/sandboxes", None).await.1) {}
    // Killed, so that whatever it would have tidied up at its end is still there.
    server.kill().await;
    search(data.path(), &secrets, &own);
    assert!(std::fs::metadata(&log).unwrap().len() > 0, "nothing was logged, so nothing was searched");
}

/// Every file of the house (sandboxes, transcripts, journal, log) and every git object, unpacked.
fn search(data: &Path, secrets: &[&str], admin: &Path) {
    for secret in secrets {
        let found = files_with(data, secret);
        let may = |path: &PathBuf| path == admin || path.ends_with("master.key");
        assert_eq!(found.into_iter().filter(|path| !may(path)).collect::<Vec<_>>(), Vec::<PathBuf>::new(), "{secret}");
    }
    let repositories = repositories(data);
    assert!(!repositories.is_empty(), "no repository was searched");
    for repository in repositories {
        let held = objects(&repository);
        for secret in secrets {
            assert!(!has(&held, secret), "{secret} is in an object of {}", repository.display());
        }
    }
}

/// The whole journal, as whoever follows it hears it.
async fn events(server: &Server) -> String {
    use futures::StreamExt;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let (_, page) = ask(server, Method::GET, "/sandboxes", None).await;
    let head = page["as_of"].as_i64().unwrap();
    let answer =
        http.get(format!("{}/api/v1/events?after=0", server.url)).bearer_auth(&server.key).send().await.unwrap();
    let (mut stream, mut heard) = (answer.bytes_stream(), Vec::new());
    while !String::from_utf8_lossy(&heard).contains(&format!("id: {head}")) {
        heard.extend_from_slice(&stream.next().await.unwrap().unwrap());
    }
    String::from_utf8_lossy(&heard).into_owned()
}
