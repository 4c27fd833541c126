//! Nodes that sleep, and nodes that cannot be heard: what they find when they are back.

use std::time::Duration;

use carrel_testkit::{Postgres, Server};
use reqwest::Method;
use rustix::process::Signal;
use serde_json::json;

use super::{Fleet, LEASE_S, all_up, clear, commits, lines, signal};
use crate::{binary, pulls::ask};

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_slept_finds_its_desks_ended_and_they_cannot_push() {
    let fleet = Fleet::new().await;
    let (one, two) = (fleet.start(1).await, fleet.start(2).await);
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    ask(&one, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    // At its first desk it pushes without end; at the next it ends.
    let steps = "if [ -e 1 ]; then echo last >last; git add -A; git commit -qm 'feat: last'; git push -q; exit; fi; \
                 n=0; while :; do n=$((n+1)); echo $n >$n; git add -A; git commit -qm \"feat: $n\"; git push -q; done";
    let agent = json!({"name": "restless", "dialect": "shell", "command": steps});
    assert!(ask(&one, Method::POST, "/agents", Some(agent)).await.0.is_success());
    let sleeper = fleet.node(2);
    // The other is given something to do, so that the desk is on the one that will sleep.
    let (_, busy) = ask(&one, Method::POST, "/sandboxes?wait=ready", Some(json!({}))).await;
    assert_eq!(busy["node"], fleet.node(1).as_str(), "{busy}");
    let task = json!({"repo": "own", "agent": "restless", "title": "w", "start": true});
    assert!(ask(&one, Method::POST, "/tasks", Some(task)).await.0.is_success());
    while commits(&fleet.library()).len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let (_, view) = ask(&one, Method::GET, "/tasks/1", None).await;
    let desk = view["sandbox_id"].as_str().unwrap().to_owned();
    let (_, sandbox) = ask(&one, Method::GET, &format!("/sandboxes/{desk}"), None).await;
    assert_eq!(sandbox["node"], sleeper.as_str(), "{sandbox}");

    signal(&two, Signal::STOP);
    let (_, view) = ask(&one, Method::GET, "/tasks/1?wait=in_review&timeout=300", None).await;
    assert_eq!(view["phase"], "in_review", "{view}");
    let reviewed = commits(&fleet.library());
    assert_eq!(reviewed.first().map(String::as_str), Some("feat: last"));
    signal(&two, Signal::CONT);
    // It carries out what was ended, while the agent at the old desk still tries.
    while ask(&one, Method::GET, &format!("/sandboxes/{desk}"), None).await.1["phase"] != "gone" {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(commits(&fleet.library()), reviewed, "an old desk pushed over the work of its task");
    all_up(&one, 2).await;
    ask(&one, Method::POST, "/tasks/1/close?wait=closed&timeout=300", None).await;
    clear(&one).await;
    for server in [one, two] {
        assert!(server.terminate().await.success());
    }
    fleet.database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_could_not_be_heard_while_the_database_was_away_do_not_bury_each_other() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (postgres, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
    let start = async |number: usize| {
        Server::with(binary(), &folder.path().join(format!("node{number}")))
            .args(["--database", &postgres.url(), "--library", folder.path().join("library").to_str().unwrap()])
            .env("CARREL_MASTER_KEY", "7".repeat(64))
            .env("CARREL_KEEPERS_LEASE_S", LEASE_S)
            .env("CARREL_LOG_LEVEL", "error")
            .env("CARREL_SANDBOXES_PROVIDER", "local")
            .env("CARREL_LOCAL_DISK", "folder")
            .env("CARREL_LOCAL_POOL", "1")
            .start()
            .await
    };
    let (one, two) = (start(1).await, start(2).await);
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    ask(&one, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let steps = "n=0; until [ -e .git/may-end ]; do n=$((n+1)); echo \"line $n\"; sleep 0.2; done; \
                 echo a >a; git add a; git commit -qm 'feat: a'; until git push -q; do sleep 0.2; done; echo 'line last'";
    let agent = json!({"name": "counts", "dialect": "shell", "command": steps});
    assert!(ask(&one, Method::POST, "/agents", Some(agent)).await.0.is_success());
    let mut desks: Vec<(String, String)> = Vec::new();
    // Until each node has a desk: where one is late with its heartbeat, the next goes to the other again.
    while desks.iter().all(|(_, node)| *node == desks[0].1) {
        let task = desks.len() + 1;
        let new = json!({"repo": "own", "agent": "counts", "title": format!("t{task}"), "start": true});
        assert!(ask(&one, Method::POST, "/tasks", Some(new)).await.0.is_success());
        while lines(&one, task).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (_, view) = ask(&one, Method::GET, &format!("/tasks/{task}"), None).await;
        let (_, desk) =
            ask(&one, Method::GET, &format!("/sandboxes/{}", view["sandbox_id"].as_str().unwrap()), None).await;
        desks.push((desk["id"].as_str().unwrap().to_owned(), desk["node"].as_str().unwrap().to_owned()));
    }

    postgres.go_away();
    // Longer than anybody may be silent.
    tokio::time::sleep(Duration::from_secs(2 * LEASE_S.parse::<u64>().unwrap())).await;
    postgres.come_back();
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    for (task, (desk, _)) in (1..).zip(&desks) {
        let run = json!({"command": "touch /workspace/.git/may-end"});
        while !ask(&one, Method::POST, &format!("/sandboxes/{desk}/execute"), Some(run.clone())).await.0.is_success() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (_, view) = ask(&one, Method::GET, &format!("/tasks/{task}?wait=in_review&timeout=300"), None).await;
        assert_eq!((&view["phase"], &view["ahead"]), (&json!("in_review"), &json!(1)), "{view}");
        assert_eq!(view["sandbox_id"], desk.as_str(), "it lost its desk, though nobody died");
        let said = lines(&one, task).await;
        let wanted = (1..said.len()).map(|number| format!("line {number}")).chain(["line last".to_owned()]);
        assert_eq!(said, wanted.collect::<Vec<_>>());
        ask(&one, Method::POST, &format!("/tasks/{task}/close?wait=closed&timeout=300"), None).await;
    }
    clear(&one).await;
    for server in [one, two] {
        assert!(server.terminate().await.success());
    }
}
