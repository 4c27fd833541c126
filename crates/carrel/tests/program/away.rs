//! A database that is away for a while is an incident in the log, not an outage of the agents that work.

use std::time::Duration;

use carrel_testkit::{Postgres, Server};
use reqwest::Method;
use serde_json::json;

use crate::{binary, pulls::ask};

/// How long it is away. `CARREL_AWAY_S=60` is the minute that the guide speaks of.
fn away() -> Duration {
    let seconds = std::env::var("CARREL_AWAY_S").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(6))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_works_on_while_the_database_is_away_and_nothing_of_it_is_lost() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let data = folder.path().join("data");
    let log = folder.path().join("log");
    let server = Server::with(binary(), &data)
        .args(["--database", &postgres.url()])
        .env("CARREL_SANDBOXES_PROVIDER", "local")
        .env("CARREL_LOCAL_DISK", "folder")
        .env("CARREL_LOCAL_POOL", "1")
        .env("CARREL_KEEPERS_LEASE_S", "3")
        .env("CARREL_LOG_LEVEL", "warn")
        .log_to(std::fs::File::create(&log).unwrap())
        .start()
        .await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    // Counts aloud until it may stop, and keeps what it counted; it notices nothing.
    let steps = "n=0; until [ -e stop ]; do n=$((n+1)); echo \"line $n\"; echo $n >count; sleep 0.1; done; \
                 rm stop; git add -A; git commit -qm 'feat: counted'; until git push -q; do sleep 0.2; done; echo 'line last'";
    let agent = json!({"name": "counts", "dialect": "shell", "command": steps});
    assert!(ask(&server, Method::POST, "/agents", Some(agent)).await.0.is_success());
    let task = json!({"repo": "own", "agent": "counts", "title": "Count", "start": true});
    assert!(ask(&server, Method::POST, "/tasks", Some(task)).await.0.is_success());
    let said = async || {
        let (_, page) = ask(&server, Method::GET, "/tasks/1/timeline?limit=1000", None).await;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        let texts = items.iter().filter(|item| item["role"] == "agent").filter_map(|item| item["text"].as_str());
        texts.flat_map(str::lines).filter(|line| line.starts_with("line ")).map(str::to_owned).collect::<Vec<_>>()
    };
    while said().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (_, view) = ask(&server, Method::GET, "/tasks/1", None).await;
    let desk = view["sandbox_id"].as_str().unwrap().to_owned();
    let count = || {
        let slots = std::fs::read_dir(data.join("local/slots")).into_iter().flatten().flatten();
        let mut found = slots.filter_map(|slot| find(&slot.path()));
        found.find_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok())
    };

    postgres.go_away();
    let before = count();
    tokio::time::sleep(away()).await;
    // Nobody can ask for anything, and the agent counted on.
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ready = http.get(format!("{}/readyz", server.url)).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    assert!(http.get(format!("{}/healthz", server.url)).send().await.unwrap().status().is_success());
    assert!(count() > before, "the agent stood still: {before:?}");
    postgres.come_back();
    while !http.get(format!("{}/readyz", server.url)).send().await.unwrap().status().is_success() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let stop = json!({"command": "touch /workspace/stop"});
    loop {
        let (status, ran) = ask(&server, Method::POST, &format!("/sandboxes/{desk}/execute"), Some(stop.clone())).await;
        if status.is_success() {
            assert_eq!(ran["exit_code"], 0, "{ran}");
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (_, view) = ask(&server, Method::GET, "/tasks/1?wait=in_review&timeout=300", None).await;
    assert_eq!(
        (&view["phase"], &view["attempts"], &view["ahead"]),
        (&json!("in_review"), &json!(0), &json!(1)),
        "{view}"
    );
    assert_eq!(view["sandbox_id"], desk.as_str(), "it was begun anew at another desk");
    // Every line that it said is there, once and in order, also those of the time in between.
    let lines = said().await;
    let wanted: Vec<_> =
        (1..lines.len()).map(|number| format!("line {number}")).chain(["line last".to_owned()]).collect();
    assert_eq!(lines, wanted);
    let told = std::fs::read_to_string(&log).unwrap();
    assert!(told.contains("WARN") || told.contains("ERROR"), "nobody wrote down that the database was away: {told}");
    ask(&server, Method::POST, "/tasks/1/close?wait=closed&timeout=300", None).await;
    assert!(server.terminate().await.success());
}

/// The file in which the agent keeps its count, as the host sees it.
fn find(slot: &std::path::Path) -> Option<std::path::PathBuf> {
    let mut waiting = vec![(slot.to_owned(), 0)];
    while let Some((place, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if entry.file_name() == "count" && !is_folder {
                return Some(entry.path());
            }
            if is_folder && depth < 4 {
                waiting.push((entry.path(), depth + 1));
            }
        }
    }
    None
}
