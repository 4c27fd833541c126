//! Who belongs to a house: one dies, one is emptied and removed, one that has another library is refused.

use std::path::Path;

use carrel_testkit::Server;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Fleet, all_up, carrel, commits};
use crate::{
    binary,
    pulls::{ask, git},
};

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_of_which_one_dies_end_every_task_true() {
    let fleet = Fleet::new().await;
    let (one, two, three) = (fleet.start(1).await, fleet.start(2).await, fleet.start(3).await);
    for server in [&one, &two, &three] {
        all_up(server, 3).await;
    }
    ask(&one, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    // Makes each commit once, however often it is begun anew, and waits with the last one until it may.
    let may_end = "until git fetch -q && git rev-parse -q --verify origin/may-end >/dev/null; do sleep 0.2; done";
    let steps = format!(
        "for step in 1 2 3; do if ! [ -e $CARREL_BRANCH.$step ]; then [ $step = 3 ] && {{ {may_end}; }}; \
         echo $step >$CARREL_BRANCH.$step; git add -A; git commit -qm \"feat: step $step of $CARREL_BRANCH\"; fi; \
         git push -q; done"
    );
    let agent = json!({"name": "steady", "dialect": "shell", "command": steps});
    assert!(ask(&two, Method::POST, "/agents", Some(agent)).await.0.is_success());
    const TASKS: usize = 6;
    for number in 0..TASKS {
        let task = json!({"repo": "own", "agent": "steady", "title": format!("w{number}"), "start": true});
        let (status, answer) = ask([&one, &two, &three][number % 3], Method::POST, "/tasks", Some(task)).await;
        assert!(status.is_success(), "{answer}");
    }
    while commits(&fleet.library()).len() < 2 * TASKS {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // The work is spread over all of them.
    let (_, page) = ask(&one, Method::GET, "/nodes", None).await;
    let counts: Vec<_> = page["items"].as_array().unwrap().iter().map(|node| node["sandboxes"].as_i64()).collect();
    assert!(counts.iter().all(|count| count.is_some_and(|count| count >= 1)), "{page}");

    let dead = fleet.node(3);
    three.kill().await;
    // Whoever waited for the third step may take it now.
    let work = fleet.folder.path().join("work");
    let place = one.url.replace("http://", &format!("http://x:{}@", one.key));
    git(fleet.folder.path(), &["clone", "-q", &format!("{place}/git/own.git"), work.to_str().unwrap()]);
    git(&work, &["push", "-q", "origin", "HEAD:refs/heads/may-end"]);
    for task in 1..=TASKS {
        let (_, view) = ask(&one, Method::GET, &format!("/tasks/{task}?wait=in_review&timeout=300"), None).await;
        assert_eq!(view["phase"], "in_review", "{view}");
        assert_eq!(view["ahead"], 3, "{view}");
    }
    let mut found = commits(&fleet.library());
    found.sort();
    let mut wanted: Vec<_> =
        (1..=TASKS).flat_map(|task| (1..=3).map(move |step| format!("feat: step {step} of task-{task}"))).collect();
    wanted.sort();
    assert_eq!(found, wanted, "every commit once");
    let (_, page) = ask(&one, Method::GET, "/nodes", None).await;
    let state = |page: &Value, id: &str| {
        let nodes = page["items"].as_array().unwrap();
        nodes.iter().find(|node| node["id"] == id).map(|node| node["state"].clone())
    };
    assert_eq!(state(&page, &dead), Some(json!("away")), "{page}");

    // Back again, it carries out what was ended on it meanwhile, and takes new work.
    let three = fleet.start(3).await;
    all_up(&one, 3).await;
    for task in 1..=TASKS {
        let (_, view) = ask(&three, Method::POST, &format!("/tasks/{task}/close?wait=closed&timeout=300"), None).await;
        assert_eq!(view["phase"], "closed", "{view}");
    }
    let left = async |server: &Server| {
        let (_, page) = ask(server, Method::GET, "/sandboxes", None).await;
        page["items"].as_array().unwrap().len()
    };
    while left(&one).await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for server in [one, two, three] {
        assert!(server.terminate().await.success());
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let below = fleet.folder.path().to_str().unwrap();
    assert!(!mounts.contains(below), "something is left of the node that died: {mounts}");
    fleet.database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_drains_is_emptied_and_may_be_removed_when_it_is_stopped() {
    let fleet = Fleet::new().await;
    let (one, two) = (fleet.start(1).await, fleet.start(2).await);
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    ask(&one, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let command = "echo a >a; git add a; git commit -qm 'feat: a'; git push -q; echo unsaved >b; echo QUESTION: Well?";
    let agent = json!({"name": "asks", "dialect": "shell", "command": command});
    assert!(ask(&one, Method::POST, "/agents", Some(agent)).await.0.is_success());
    let drained = fleet.node(2);
    // Until one of them sits on the second node.
    let mut task = 0;
    loop {
        task += 1;
        let new = json!({"repo": "own", "agent": "asks", "title": format!("t{task}"), "start": true});
        assert!(ask(&one, Method::POST, "/tasks", Some(new)).await.0.is_success());
        let (_, view) = ask(&one, Method::GET, &format!("/tasks/{task}?wait=needs_you&timeout=300"), None).await;
        assert_eq!(view["phase"], "needs_you", "{view}");
        let desk = view["sandbox_id"].as_str().unwrap();
        if ask(&one, Method::GET, &format!("/sandboxes/{desk}"), None).await.1["node"] == drained.as_str() {
            break;
        }
    }
    let (status, why) = ask(&one, Method::DELETE, &format!("/nodes/{drained}"), None).await;
    assert_eq!(status, 409, "{why}");
    let (status, view) = ask(&one, Method::POST, &format!("/nodes/{drained}/drain"), Some(json!({}))).await;
    assert!(status.is_success() && view["state"] == "draining", "{view}");
    loop {
        let (_, view) = ask(&one, Method::GET, &format!("/nodes/{drained}"), None).await;
        if view["sandboxes"] == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // The next word is heard on the node that stays, where the file that was never committed is.
    let say = json!({"text": "go on"});
    let (status, said) = ask(&two, Method::POST, &format!("/tasks/{task}/message"), Some(say)).await;
    assert!(status.is_success(), "{said}");
    let view = loop {
        let (_, view) = ask(&one, Method::GET, &format!("/tasks/{task}?wait=needs_you&timeout=300"), None).await;
        let desk = view["sandbox_id"].as_str().unwrap_or_default().to_owned();
        let (status, desk) = ask(&one, Method::GET, &format!("/sandboxes/{desk}"), None).await;
        if status.is_success() && desk["phase"] == "ready" && view["phase"] == "needs_you" {
            assert_eq!(desk["node"], fleet.node(1).as_str(), "{desk}");
            break view;
        }
    };
    let desk = view["sandbox_id"].as_str().unwrap();
    let look = json!({"command": "cat /workspace/a /workspace/b"});
    let (_, ran) = ask(&two, Method::POST, &format!("/sandboxes/{desk}/execute"), Some(look)).await;
    assert_eq!(ran["stdout"], "a\nunsaved\n", "{ran}");
    assert!(two.terminate().await.success());
    loop {
        if ask(&one, Method::DELETE, &format!("/nodes/{drained}"), None).await.0.is_success() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for number in 1..=task {
        ask(&one, Method::POST, &format!("/tasks/{number}/close?wait=closed&timeout=300"), None).await;
    }
    assert!(one.terminate().await.success());
    fleet.database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_another_library_is_refused_by_whatever_name_it_calls_it() {
    let fleet = Fleet::new().await;
    let one = fleet.start(1).await;
    all_up(&one, 1).await;
    let serve = |library: Option<&Path>| {
        let mut command = std::process::Command::new(binary());
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(fleet.data(2));
        command.args(["--database", &fleet.database.url()]);
        if let Some(library) = library {
            command.arg("--library").arg(library);
        }
        command
            .env("CARREL_MASTER_KEY", "7".repeat(64))
            .env("CARREL_DATABASE_SCHEMA", &fleet.database.options().schema)
            .env("CARREL_SANDBOXES_PROVIDER", "fake")
            .env("CARREL_OCI_RUNTIME", "none")
            .output()
            .unwrap()
    };
    // A folder into which nothing was mounted, and none at all.
    let empty = fleet.folder.path().join("not-mounted");
    for library in [Some(empty.as_path()), None] {
        let refused = serve(library);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success(), "{said}");
        assert!(said.contains("another library") && said.contains("--library"), "{said}");
    }
    // The same folder by another name is the same.
    let alias = fleet.folder.path().join("alias");
    std::os::unix::fs::symlink(fleet.library(), &alias).unwrap();
    let two = fleet.start_with(2, &["--library", alias.to_str().unwrap()]).await;
    all_up(&one, 2).await;
    for server in [one, two] {
        assert!(server.terminate().await.success());
    }
    fleet.database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_listed_drained_and_removed_from_the_command_line() {
    let fleet = Fleet::new().await;
    let (one, two) = (fleet.start(1).await, fleet.start(2).await);
    all_up(&one, 2).await;
    let (first, second) = (fleet.node(1), fleet.node(2));
    let row = |said: &str, id: &str| said.lines().find(|line| line.contains(id)).map(str::to_owned);
    let (code, said) = carrel(&one, &["node", "ls"]);
    assert_eq!(code, Some(0), "{said}");
    for id in [&first, &second] {
        assert!(row(&said, id).is_some_and(|row| row.contains("up")), "{said}");
    }
    assert_eq!(carrel(&one, &["node", "drain", &second]).0, Some(0));
    assert!(row(&carrel(&one, &["node", "ls"]).1, &second).is_some_and(|row| row.contains("draining")));
    assert_eq!(carrel(&one, &["node", "drain", &second, "--off"]).0, Some(0));
    assert!(row(&carrel(&one, &["node", "ls"]).1, &second).is_some_and(|row| row.contains("up")));
    // One that works is not removed; one that is not there is said to be so.
    let (code, said) = carrel(&one, &["node", "rm", &second]);
    assert_eq!(code, Some(4), "{said}");
    assert_eq!(carrel(&one, &["node", "drain", "node_0000000000000000"]).0, Some(3));
    assert!(two.terminate().await.success());
    while carrel(&one, &["node", "rm", &second]).0 != Some(0) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(row(&carrel(&one, &["node", "ls"]).1, &second).is_none());
    assert!(one.terminate().await.success());
    fleet.database.drop().await;
}
