//! Sleep on disk as the API gives it: what runs and is being followed goes on where it was, and its reader hears it further.

use carrel_model::public::SandboxView;
use carrel_testkit::EventStream;
use reqwest::Method;
use serde_json::{Value, json};

use crate::yard::Yard;

async fn post(yard: &Yard, sandbox: &SandboxView, verb: &str, body: Value) -> Value {
    let path = format!("/api/v1/sandboxes/{}/{verb}", sandbox.id);
    let (status, body) = yard.house.ask(yard.house.request(Method::POST, &path).json(&body)).await;
    assert!(status.is_success(), "{verb}: {status} {body}");
    body
}

/// A command that counts the lines it is sent, in its memory alone, and somebody who reads what it prints.
struct Counter {
    path: String,
    output: EventStream,
    heard: String,
}

impl Counter {
    async fn begin(yard: &Yard, sandbox: &SandboxView) -> Counter {
        let command = "i=0; while read line; do i=$((i+1)); echo $i; done";
        let body = json!({"command": command, "background": true, "keep_stdin": true});
        let exec = yard.house.execute(sandbox, body).await;
        let path = format!("/api/v1/sandboxes/{}/execs/{}", sandbox.id, exec["exec_id"].as_str().unwrap());
        let output = yard.house.request(Method::GET, &format!("{path}/output")).header("accept", "text/event-stream");
        Counter { output: EventStream::open(output).await, path, heard: String::new() }
    }

    /// Sends a line, and gives all that was heard once something new was.
    async fn count(&mut self, yard: &Yard) -> String {
        let path = format!("{}/input", self.path);
        let told = yard.house.request(Method::POST, &path).body("more\n").send().await.unwrap();
        assert_eq!(told.status(), 204);
        let before = self.heard.len();
        while self.heard.len() == before || !self.heard.ends_with('\n') {
            let event = self.output.next().await.expect("the reader is not sent away");
            assert_ne!(event.name, "end", "{event:?} after {:?}", self.heard);
            if event.name == "stdout" {
                let data: Value = serde_json::from_str(&event.data).unwrap();
                self.heard.push_str(data["text"].as_str().unwrap());
            }
        }
        self.heard.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_are_followed_while_they_are_stored_go_on_where_they_were() {
    const NAPS: usize = 8;
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({})).await;
    let (mut one, mut other) = (Counter::begin(&yard, &sandbox).await, Counter::begin(&yard, &sandbox).await);
    let mut expected = String::new();
    for nap in 1..=NAPS {
        expected.push_str(&format!("{nap}\n"));
        assert_eq!(one.count(&yard).await, expected);
        assert_eq!(other.count(&yard).await, expected);
        let paused = post(&yard, &sandbox, "pause?wait=paused", json!({"depth": "stored"})).await;
        assert_eq!(
            (&paused["phase"], &paused["paused"]["depth"]),
            (&json!("paused"), &json!("stored")),
            "nap {nap}: {paused}"
        );
        let woken = post(&yard, &sandbox, "resume?wait=ready", json!({})).await;
        assert_eq!(woken["phase"], "ready", "nap {nap}: {woken}");
    }
    yard.remove(&sandbox).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_with_memory_goes_on_in_the_middle_of_what_its_source_does() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({})).await;
    let mut counter = Counter::begin(&yard, &sandbox).await;
    counter.count(&yard).await;
    yard.sh(&sandbox, "nohup sleep 987654 >/dev/null 2>&1 &").await;
    let forked = post(&yard, &sandbox, "fork?wait=ready", json!({"count": 2, "memory": true})).await;
    for copy in forked["items"].as_array().unwrap() {
        let copy: SandboxView = serde_json::from_value(copy.clone()).unwrap();
        assert_eq!(yard.sh(&copy, "pgrep -fc '[s]leep 987654'").await, "1", "it came with its processes");
        yard.remove(&copy).await;
    }
    assert_eq!(counter.count(&yard).await, "1\n2\n", "the source goes on, and so does its reader");
    yard.remove(&sandbox).await;
    yard.close().await;
}
