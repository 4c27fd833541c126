//! Limits that are met say so: what the kernel did, at which limit, and how a sandbox with a larger one is made.

use carrel_model::public::SandboxView;
use carrel_testkit::EventStream;
use reqwest::Method;
use serde_json::{Value, json};

use crate::yard::Yard;

/// Runs a script that waits for a line before it does anything; how it ended. When the caller knows of it, the house has
/// counted what was met before.
async fn end_of(yard: &Yard, sandbox: &SandboxView, script: &str) -> Value {
    let command = format!("read go; {script}");
    let exec = yard.house.execute(sandbox, json!({"command": command, "background": true, "keep_stdin": true})).await;
    let path =
        |rest: &str| format!("/api/v1/sandboxes/{}/execs/{}{rest}", sandbox.id, exec["exec_id"].as_str().unwrap());
    let output = yard.house.request(Method::GET, &path("/output")).header("accept", "text/event-stream");
    let mut output = EventStream::open(output).await;
    let told = yard.house.request(Method::POST, &path("/input")).body("go\n").send().await.unwrap();
    assert_eq!(told.status(), 204);
    loop {
        let event = output.next().await.unwrap();
        if event.name == "end" {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_met_a_limit_is_told_which_and_how_to_raise_it() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({"limits": {"memory_mb": 128, "pids": 40}})).await;

    // The kernel ends whoever is the best to end; this one says that it is.
    let eats = "echo 1000 > /proc/self/oom_score_adj; exec python3 -c 'x = bytearray(1 << 30)'";
    let end = end_of(&yard, &sandbox, eats).await;
    assert_eq!(end["exit_code"], 137, "{end}");
    let note = end["note"].as_str().unwrap();
    assert!(note.contains("memory limit of 128 MiB") && note.contains("`--memory-mb`"), "{note}");
    assert!(!note.contains("processes and threads"), "{note}");

    let multiplies = "i=0; while [ $i -lt 100 ]; do sleep 100 >/dev/null 2>&1 </dev/null & i=$((i+1)); done; exit 1";
    let end = end_of(&yard, &sandbox, multiplies).await;
    let note = end["note"].as_str().unwrap();
    assert!(note.contains("limit of 40 processes") && note.contains("`--pids`"), "{end}");
    assert!(!note.contains("memory limit"), "what was met before is no matter of this one: {note}");
    yard.remove(&sandbox).await;

    // What ends badly by itself is told nothing of limits.
    let other = yard.sandbox(json!({})).await;
    let end = end_of(&yard, &other, "exit 137").await;
    assert!(!end["note"].as_str().unwrap().contains("limit"), "{end}");
    yard.close().await;
}
