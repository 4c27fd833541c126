//! What is done in a session, and at a desk that somebody pauses or ends, is never lost.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::PATIENCE;
use crate::yard::{Yard, git};

const NOTES: &str = "echo \"$CARREL_PROMPT\" >>notes.txt; echo noted";

impl Yard {
    /// A conversation with a repository on its desk; its address.
    async fn session(&self, agent: &str, repo: &str) -> (Value, String) {
        let session = self.post("/api/v1/sessions", json!({"agent": agent, "repo": repo})).await;
        let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
        (session, path)
    }

    /// Says something, and waits for the end of the answer.
    async fn converse(&self, path: &str, text: &str) {
        self.post(&format!("{path}/messages"), json!({"text": text})).await;
        while self.look(path).await["busy"] == true {}
    }

    async fn notes(&self, path: &str) -> Vec<String> {
        let items = self.look(&format!("{path}/messages?limit=1000")).await["items"].clone();
        let notes = items.as_array().unwrap().iter().filter(|item| item["kind"] == "note");
        notes.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    /// What stands in a file of a ref; nothing when there is no such ref or file.
    async fn stands(&self, repo: &str, reference: &str, path: &str) -> Option<String> {
        let mirror = self.mirror(repo);
        let commit = git(Some(&mirror), &["for-each-ref", "--format=%(objectname)", reference]).await;
        if commit.is_empty() || !git(Some(&mirror), &["ls-tree", "-r", "--name-only", &commit]).await.contains(path) {
            return None;
        }
        Some(self.show(repo, &format!("{commit}:{path}")).await)
    }

    async fn inside(&self, desk: &str, command: &str) -> String {
        let ran = self.post(&format!("/api/v1/sandboxes/{desk}/execute"), json!({"command": command})).await;
        assert_eq!(ran["exit_code"], 0, "{ran}");
        ran["stdout"].as_str().unwrap().trim_end().to_owned()
    }
}

fn wip(session: &Value) -> String {
    format!("refs/carrel/wip/session-{}", session["id"].as_str().unwrap().trim_start_matches("ses_"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_did_is_saved_after_each_turn_and_kept_when_it_is_closed() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("writer", NOTES).await;
    let (session, path) = yard.session("writer", "hello").await;
    yard.converse(&path, "one").await;
    assert_eq!(yard.stands("hello", &wip(&session), "notes.txt").await.as_deref(), Some("one"));
    let items = yard.look(&format!("{path}/messages")).await["items"].clone();
    let saved = items.as_array().unwrap().iter().find(|item| item["kind"] == "checkpoint").expect("a checkpoint");
    assert_eq!(saved["files"], json!(["notes.txt"]), "{saved}");

    // What a person does there by hand is kept as well.
    let desk = session["sandbox_id"].as_str().unwrap();
    yard.inside(desk, "echo by hand >/workspace/hand.txt").await;
    let (status, closed) = yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    assert_eq!((status, &closed["phase"]), (StatusCode::OK, &json!("closed")), "{closed}");
    let kept = wip(&session).replace("/wip/", "/kept/");
    assert_eq!(yard.stands("hello", &kept, "hand.txt").await.as_deref(), Some("by hand"));
    assert_eq!(yard.stands("hello", &wip(&session), "notes.txt").await, None, "the save itself is not needed any more");
    let notes = yard.notes(&path).await;
    assert!(notes.iter().any(|note| note.contains(&kept) && note.contains("hand.txt, notes.txt")), "{notes:?}");
    assert_eq!(yard.look(&format!("/api/v1/sandboxes/{desk}")).await["want"], "gone");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_desk_was_paused_and_ended_goes_on_from_its_save() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("writer", NOTES).await;
    let (session, path) = yard.session("writer", "hello").await;
    yard.converse(&path, "one").await;
    let desk = session["sandbox_id"].as_str().unwrap().to_owned();
    yard.inside(&desk, "echo unsaid >/workspace/unsaid.txt").await;
    yard.post(&format!("/api/v1/sandboxes/{desk}/pause?wait=paused&timeout={PATIENCE}"), json!({})).await;
    assert_eq!(yard.stands("hello", &wip(&session), "unsaid.txt").await.as_deref(), Some("unsaid"));
    let (status, _) = yard.house.ask(yard.house.request(Method::DELETE, &format!("/api/v1/sandboxes/{desk}"))).await;
    assert_eq!(status, StatusCode::NO_CONTENT);

    yard.converse(&path, "two").await;
    let now = yard.look(&path).await;
    assert_ne!(now["sandbox_id"], desk, "another desk");
    let notes = yard.notes(&path).await;
    assert!(notes.iter().any(|note| note.contains("a new one goes on from the last save")), "{notes:?}");
    let desk = now["sandbox_id"].as_str().unwrap();
    assert_eq!(yard.inside(desk, "cat /workspace/notes.txt /workspace/unsaid.txt").await, "one\ntwo\nunsaid");
    assert_eq!(yard.stands("hello", &wip(&session), "notes.txt").await.as_deref(), Some("one\ntwo"));
    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_pushes_nothing_but_its_own_saves() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let tries = "git commit -q --allow-empty -m 'docs: nothing'; for to in refs/heads/main refs/heads/session-x refs/carrel/wip/1 refs/carrel/wip/session-0000000000000000; do \
        git push -q origin HEAD:$to 2>&1 | grep -c 'has no branch to push to'; done";
    yard.agent("pusher", tries).await;
    let (_, path) = yard.session("pusher", "hello").await;
    yard.converse(&path, "try").await;
    let items = yard.look(&format!("{path}/messages")).await["items"].clone();
    let said: Vec<&str> = items
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["role"] == "agent")
        .filter_map(|item| item["text"].as_str())
        .collect();
    assert_eq!(said.join("\n").lines().filter(|line| line.trim() != "0").count(), 4, "{said:?}");
    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_that_is_paused_under_its_agent_says_so_and_a_message_wakes_it() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let works = "echo half >half.txt; echo begun; until test -e /tmp/go; do sleep 0.1; done; \
        git add -A; git commit -qm 'feat: whole' || true";
    yard.agent("slow", works).await;
    let task = yard.task("hello", "slow", "Take your time", "working").await;
    while yard.said(&task, "message", "agent").await.is_empty() {}
    let desk = yard.look("/api/v1/tasks/1").await["sandbox_id"].as_str().unwrap().to_owned();
    yard.post(&format!("/api/v1/sandboxes/{desk}/pause?wait=paused&timeout={PATIENCE}"), json!({})).await;
    while yard.look("/api/v1/tasks/1").await["doing"] != "its desk is paused" {}
    assert_eq!(yard.stands("hello", "refs/carrel/wip/1", "half.txt").await.as_deref(), Some("half"));
    let notes = yard.said(&task, "note", "house").await;
    assert!(notes.iter().any(|note| note.starts_with("The desk was paused")), "{notes:?}");

    yard.post("/api/v1/tasks/1/message", json!({"text": "go on"})).await;
    while !yard.said(&task, "note", "house").await.iter().any(|note| note.starts_with("The desk is awake")) {}
    yard.inside(&desk, "touch /tmp/go").await;
    yard.wait(&task, "in_review").await;
    yard.close().await;
}
