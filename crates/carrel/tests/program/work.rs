//! Tasks with a real server that is killed again and again: every card ends true, every commit is there once.

use std::path::Path;

use carrel_testkit::Server;
use reqwest::Method;
use serde_json::{Value, json};

use crate::pulls::{ask, start};

/// How many work at the same time.
const TASKS: usize = 3;
/// How many commits each makes.
const COMMITS: usize = 4;
/// How often the server dies.
const DEATHS: usize = 4;

async fn phases(server: &Server) -> Vec<(i64, String)> {
    let (_, page) = ask(server, Method::GET, "/tasks", None).await;
    let read = |task: &Value| (task["id"].as_i64().unwrap(), task["phase"].as_str().unwrap().to_owned());
    page["items"].as_array().unwrap().iter().map(read).collect()
}

/// How many commits the branches of all tasks have, as the mirror knows them.
fn commits(data: &Path) -> usize {
    let mirror = data.join("library/mirrors/own/1.git");
    let told = std::process::Command::new("git")
        .args(["--git-dir", mirror.to_str().unwrap(), "-c", "safe.directory=*"])
        .args(["log", "--format=%s", "--glob=refs/heads/task-*", "--not", "main"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&told.stdout).lines().filter(|subject| subject.starts_with("feat: step")).count()
}

/// What the agent of a task said, line by line.
async fn said(server: &Server, task: i64) -> Vec<String> {
    let (_, page) = ask(server, Method::GET, &format!("/tasks/{task}/timeline?limit=500"), None).await;
    let moments = page["items"].as_array().unwrap().iter();
    let by_agent = moments.filter(|moment| moment["role"] == "agent" && moment["kind"] == "message");
    by_agent
        .flat_map(|moment| moment["text"].as_str().unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Speaks the Agent Client Protocol, and waits in the middle of a sentence.
const SPEAKS: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
piece() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
read -r line; answer 1 '{"protocolVersion":1,"agentCapabilities":{}}'
read -r line; answer 2 '{"sessionId":"s"}'
read -r line
piece 'Half a '
until [ -e /tmp/go ]; do sleep 0.1; done
piece 'sentence.'
echo x >x; git add -A; git commit -qm 'feat: x'
answer 4 '{"stopReason":"end_turn"}'
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_in_the_middle_of_which_the_server_dies_goes_on_at_its_place() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    ask(&server, Method::POST, "/agents", Some(json!({"name": "speaker", "dialect": "acp", "command": SPEAKS}))).await;
    let task = json!({"repo": "own", "agent": "speaker", "title": "Say it", "start": true});
    assert!(ask(&server, Method::POST, "/tasks", Some(task)).await.0.is_success());
    while said(&server, 1).await != ["Half a"] {}
    server.kill().await;

    let server = start(data.path()).await;
    let (_, task) = ask(&server, Method::GET, "/tasks/1", None).await;
    let place = format!("/sandboxes/{}/execute", task["sandbox_id"].as_str().unwrap());
    let (status, answer) = ask(&server, Method::POST, &place, Some(json!({"command": "touch /tmp/go"}))).await;
    assert!(status.is_success(), "{answer}");
    let (_, task) = ask(&server, Method::GET, "/tasks/1?wait=in_review&timeout=300", None).await;
    assert_eq!(task["phase"], "in_review", "{task}");
    assert_eq!(said(&server, 1).await, ["Half a sentence."]);
    let (_, closed) = ask(&server, Method::POST, "/tasks/1/close?wait=closed&timeout=300", None).await;
    assert_eq!(closed["phase"], "closed", "{closed}");
    let is_left = |page: &Value| page["items"].as_array().unwrap().iter().any(|sandbox| sandbox["want"] != "gone");
    while is_left(&ask(&server, Method::GET, "/sandboxes", None).await.1) {}
    assert!(server.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_while_no_server_runs_is_heard_by_the_next_one() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    // One goes on when the house is back, the other came to its end while it was away.
    let waits = "echo one; while [ ! -e /tmp/away ]; do sleep 0.1; done; echo two; while [ ! -e /tmp/back ]; do sleep 0.1; \
                 done; echo three; echo x >x; git add -A; git commit -qm 'feat: x'; echo QUESTION: Shall I go on?";
    let ends = "echo one; echo y >y; git add -A; git commit -qm 'feat: y'; while [ ! -e /tmp/away ]; do sleep 0.1; done; \
                echo two; echo QUESTION: And now?";
    for (name, command) in [("waits", waits), ("ends", ends)] {
        let agent = json!({"name": name, "dialect": "shell", "command": command});
        ask(&server, Method::POST, "/agents", Some(agent)).await;
        let task = json!({"repo": "own", "agent": name, "title": name, "start": true});
        assert!(ask(&server, Method::POST, "/tasks", Some(task)).await.0.is_success());
    }
    for task in [1, 2] {
        while said(&server, task).await != ["one"] {}
    }
    let mut inside = Vec::new();
    for task in [1, 2] {
        let (_, view) = ask(&server, Method::GET, &format!("/tasks/{task}"), None).await;
        inside.push(view["sandbox_id"].as_str().unwrap().to_owned());
    }
    // Left at the desks by somebody who acts on their own, while nobody listens.
    for desk in &inside {
        let line = json!({"command": "(while [ ! -e /tmp/go ]; do sleep 0.1; done; sleep 1; touch /tmp/away) >/dev/null 2>&1 & touch /tmp/go"});
        let (status, answer) = ask(&server, Method::POST, &format!("/sandboxes/{desk}/execute"), Some(line)).await;
        assert!(status.is_success(), "{answer}");
    }
    server.kill().await;
    let tapes = || {
        let below = data.path().join("local");
        let found = std::process::Command::new("find").arg(below).args(["-path", "*/carrel-turn-*/stdout"]).output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        found.lines().filter(|tape| std::fs::read_to_string(tape).is_ok_and(|text| text.contains("two"))).count()
    };
    while tapes() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let server = start(data.path()).await;
    let line = json!({"command": "touch /tmp/back"});
    let (status, answer) = ask(&server, Method::POST, &format!("/sandboxes/{}/execute", inside[0]), Some(line)).await;
    assert!(status.is_success(), "{answer}");
    for (task, whole) in
        [(1, &["one", "two", "three", "QUESTION: Shall I go on?"][..]), (2, &["one", "two", "QUESTION: And now?"])]
    {
        let (_, view) = ask(&server, Method::GET, &format!("/tasks/{task}?wait=needs_you&timeout=120"), None).await;
        assert_eq!((&view["phase"], &view["needs"]["reason"]), (&json!("needs_you"), &json!("question")), "{view}");
        assert_eq!(said(&server, task).await, whole);
        let (_, closed) =
            ask(&server, Method::POST, &format!("/tasks/{task}/close?wait=closed&timeout=300"), None).await;
        assert_eq!(closed["phase"], "closed", "{closed}");
    }
    let is_left = |page: &Value| page["items"].as_array().unwrap().iter().any(|sandbox| sandbox["want"] != "gone");
    while is_left(&ask(&server, Method::GET, "/sandboxes", None).await.1) {}
    assert!(server.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_again_and_again_loses_nothing_and_doubles_nothing() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path()).await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let steps = format!(
        "for step in $(seq {COMMITS}); do echo said $step; echo $step >\"$CARREL_PROMPT.$step\"; git add -A; \
         git commit -qm \"feat: step $step\"; git push -q; sleep 0.5; done"
    );
    let agent = json!({"name": "steady", "dialect": "shell", "command": steps});
    ask(&server, Method::POST, "/agents", Some(agent)).await;
    for number in 0..TASKS {
        let task = json!({"repo": "own", "agent": "steady", "title": format!("w{number}"), "start": true});
        let (status, answer) = ask(&server, Method::POST, "/tasks", Some(task)).await;
        assert!(status.is_success(), "{answer}");
    }
    for death in 1..=DEATHS {
        // Dies when a part of the work is done: at other moments in every run.
        while commits(data.path()) < death * TASKS * COMMITS / (DEATHS + 1) {
            assert!(phases(&server).await.iter().all(|(_, phase)| phase != "needs_you" && phase != "failed"));
        }
        server.kill().await;
        server = start(data.path()).await;
    }
    while !phases(&server).await.iter().all(|(_, phase)| phase == "in_review") {
        let now = phases(&server).await;
        assert!(now.iter().all(|(_, phase)| phase != "needs_you" && phase != "failed"), "{now:?}");
    }
    assert_eq!(commits(data.path()), TASKS * COMMITS, "every commit once");
    let (_, pulls) = ask(&server, Method::GET, "/pulls?repo=own", None).await;
    assert_eq!(pulls["items"].as_array().unwrap().len(), TASKS, "{pulls}");
    for (id, _) in phases(&server).await {
        let (_, task) = ask(&server, Method::GET, &format!("/tasks/{id}"), None).await;
        assert_eq!(task["ahead"], COMMITS, "{task}");
        // Of its first turn: a push that met the house in mid-death may have been a reason for a second.
        let said = said(&server, id).await.into_iter().take(COMMITS).collect::<Vec<_>>();
        assert_eq!(said, (1..=COMMITS).map(|step| format!("said {step}")).collect::<Vec<_>>());
        let (_, closed) = ask(&server, Method::POST, &format!("/tasks/{id}/close?wait=closed&timeout=300"), None).await;
        assert_eq!(closed["phase"], "closed", "{closed}");
    }
    let is_left = |page: &Value| page["items"].as_array().unwrap().iter().any(|sandbox| sandbox["want"] != "gone");
    while is_left(&ask(&server, Method::GET, "/sandboxes", None).await.1) {}
    assert!(server.terminate().await.success());
}
