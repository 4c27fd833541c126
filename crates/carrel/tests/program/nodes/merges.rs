//! Merges at several nodes: one after the other, and checked where they are made.

use carrel_testkit::Redis;
use reqwest::Method;
use serde_json::json;

use super::{Fleet, all_up, clear};
use crate::pulls::{ask, git};

#[tokio::test(flavor = "multi_thread")]
async fn merges_at_two_nodes_go_one_by_one_while_redis_dies_and_forgets() {
    let mut fleet = Fleet::new().await;
    fleet.redis = Some(Redis::start().await);
    let (one, two) = (fleet.start(1).await, fleet.start(2).await);
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    ask(&one, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let command = "echo $CARREL_TASK >$CARREL_TASK; git add -A; git commit -qm \"feat: do $CARREL_TASK\"; git push -q";
    let agent = json!({"name": "writes", "dialect": "shell", "command": command});
    assert!(ask(&one, Method::POST, "/agents", Some(agent)).await.0.is_success());
    const TASKS: usize = 6;
    for number in 0..TASKS {
        let task = json!({"repo": "own", "agent": "writes", "title": format!("t{number}"), "start": true});
        let (status, answer) = ask([&one, &two][number % 2], Method::POST, "/tasks", Some(task)).await;
        assert!(status.is_success(), "{answer}");
    }
    for task in 1..=TASKS {
        let (_, view) = ask(&one, Method::GET, &format!("/tasks/{task}?wait=in_review&timeout=300"), None).await;
        assert_eq!(view["phase"], "in_review", "{view}");
    }
    for task in 1..=TASKS {
        let (status, view) = ask([&one, &two][task % 2], Method::POST, &format!("/tasks/{task}/merge"), None).await;
        assert!(status.is_success(), "{view}");
        if task == TASKS / 2 {
            fleet.redis.as_mut().unwrap().restart(std::time::Duration::ZERO).await;
        }
    }
    for task in 1..=TASKS {
        let (_, view) = ask(&two, Method::GET, &format!("/tasks/{task}?wait=merged&timeout=300"), None).await;
        assert_eq!(view["phase"], "merged", "{view}");
    }
    // One after the other: no merge commit, and each of them once.
    let mirror = fleet.library().join("mirrors/own/1.git");
    let log = std::process::Command::new("git")
        .args(["--git-dir", mirror.to_str().unwrap(), "-c", "safe.directory=*"])
        .args(["log", "--format=%p|%s", "main"])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    for number in 0..TASKS {
        let of_it = log.lines().filter(|line| line.contains(&format!("feat: t{number} (#"))).count();
        assert_eq!(of_it, 1, "{log}");
    }
    assert!(log.lines().all(|line| !line.split('|').next().unwrap().contains(' ')), "{log}");
    for server in [one, two] {
        assert!(server.terminate().await.success());
    }
    fleet.database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_is_checked_on_the_node_that_merges_also_where_others_have_more_room() {
    let fleet = Fleet::new().await;
    let (one, two) = (fleet.start(1).await, fleet.start(2).await);
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    // The other node is the emptier one: whatever may go anywhere goes there.
    let body = json!({"new": true, "name": "own", "check_command": "test -e two && hostname"});
    assert!(ask(&one, Method::POST, "/repos", Some(body)).await.0.is_success());
    let (status, made) = ask(&one, Method::POST, "/sandboxes?wait=ready", Some(json!({}))).await;
    assert!(status.is_success() && made["node"] == fleet.node(1).as_str(), "{made}");
    let work = fleet.folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let origin = format!("{}/git/own.git", one.url.replace("http://", &format!("http://x:{}@", one.key)));
    git(&work, &["init", "-q", "-b", "main"]);
    for (name, branch) in [("one", "main"), ("two", "topic")] {
        git(&work, &["checkout", "-q", "-B", branch]);
        std::fs::write(work.join(name), "1\n").unwrap();
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", &format!("feat: {name}")]);
        git(&work, &["push", "-q", &origin, branch]);
    }
    let pull = json!({"repo": "own", "head": "topic", "title": "feat: two"});
    assert!(ask(&one, Method::POST, "/pulls", Some(pull)).await.0.is_success());
    let (status, merged) = ask(&one, Method::POST, "/pulls/own/1/merge", None).await;
    assert!(status.is_success() && merged["phase"] == "merged", "{merged}");
    clear(&one).await;
    for server in [one, two] {
        assert!(server.terminate().await.success());
    }
    fleet.database.drop().await;
}
