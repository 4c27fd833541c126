//! Who works at the same place is seen from saves, before anybody commits or pushes; both agents hear of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::COMMITS;
use crate::yard::{Yard, commit};

/// Writes down what it hears, edits one line of a long file and its own, and commits when it may.
const EDITS: &str = "printf '%s\\n' \"$CARREL_PROMPT\" >>/tmp/heard; \
    case \"$CARREL_PROMPT\" in \
        Red*) sed -i '1s/.*/red/' long.txt;; Crimson*) sed -i '1s/.*/crimson/' long.txt;; \
        Blue*) sed -i '40s/.*/blue/' long.txt;; *) echo more >>own-$CARREL_TASK.txt;; esac; \
    echo begun; until test -e /tmp/go; do sleep 0.1; done; git add -A; git commit -qm 'docs: a colour'";

fn with<'v>(list: &'v Value, other: &Value) -> Option<&'v Value> {
    list.as_array().into_iter().flatten().find(|one| one["task_id"] == other["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn who_will_conflict_is_seen_from_saves_and_both_agents_hear_of_it_once() {
    let yard = Yard::with_work(|work| work.save_every = Duration::from_millis(300)).await;
    let upstream = yard.repo("hello").await;
    std::fs::write(upstream.join("long.txt"), "line\n".repeat(40)).unwrap();
    commit(&upstream, "docs: a long one").await;
    yard.sync("hello").await;
    yard.agent("painter", EDITS).await;
    let red = yard.task("hello", "painter", "Red", "working").await;
    let crimson = yard.task("hello", "painter", "Crimson", "working").await;
    let blue = yard.task("hello", "painter", "Blue", "working").await;
    let at = async |task: &Value| yard.look(&format!("/api/v1/tasks/{}", task["id"])).await;
    // Nobody has committed or pushed anything.
    loop {
        let (one, two, three) = (at(&red).await, at(&crimson).await, at(&blue).await);
        for task in [&one, &two, &three] {
            assert_eq!((&task["phase"], &task["head"]), (&json!("working"), &Value::Null), "{task:#}");
        }
        let clash = with(&one["conflicts"], &crimson).and(with(&two["conflicts"], &red));
        // The third changes the same file, and merges by itself.
        let beside =
            with(&one["shares"], &blue).and(with(&three["shares"], &red)).and(with(&three["shares"], &crimson));
        if let (Some(clash), Some(beside)) = (clash, beside) {
            assert_eq!((&clash["paths"], &beside["paths"]), (&json!(["long.txt"]), &json!(["long.txt"])));
            assert_eq!((with(&one["shares"], &crimson), with(&one["conflicts"], &blue)), (None, None), "{one:#}");
            break;
        }
    }
    let desks = [at(&red).await, at(&crimson).await, at(&blue).await].map(|task| task["sandbox_id"].clone());
    let inside = async |desk: &Value, command: &str| {
        let path = format!("/api/v1/sandboxes/{}/execute", desk.as_str().unwrap());
        yard.post(&path, json!({"command": command})).await["stdout"].as_str().unwrap().to_owned()
    };
    for (task, desk) in [&red, &crimson, &blue].into_iter().zip(&desks) {
        inside(desk, "touch /tmp/go").await;
        yard.wait(task, "in_review").await;
        // Nobody was woken by it: each had one turn.
        assert_eq!(yard.said(task, "message", "agent").await, ["begun"]);
    }
    // The next turn of each brings it, once.
    for text in ["One more.", "And one more."] {
        for task in [&red, &crimson, &blue] {
            let before = yard.said(task, "message", "agent").await.len();
            yard.post(&format!("/api/v1/tasks/{}/message", task["id"]), json!({"text": text})).await;
            while yard.said(task, "message", "agent").await.len() == before {}
            yard.wait(task, "in_review").await;
        }
    }
    for (desk, other, words) in [
        (&desks[0], &crimson, "changes the same lines: long.txt"),
        (&desks[1], &red, "changes the same lines: long.txt"),
        (&desks[2], &red, "(long.txt)"),
    ] {
        let heard = inside(desk, "cat /tmp/heard").await;
        let lines = heard.lines().filter(|line| line.contains(&format!("ask {}", other["id"])) && line.contains(words));
        assert_eq!(lines.count(), 1, "{heard}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_works_alone_hears_of_nobody() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("scribe", &format!("printf '%s' \"$CARREL_PROMPT\" >>/tmp/heard; {COMMITS}; echo Done.")).await;
    let task = yard.task("hello", "scribe", "A wish", "in_review").await;
    yard.post(&format!("/api/v1/tasks/{}/message", task["id"]), json!({"text": ", and another"})).await;
    while yard.said(&task, "message", "agent").await.len() < 2 {}
    yard.wait(&task, "in_review").await;
    let path = format!("/api/v1/sandboxes/{}/execute", task["sandbox_id"].as_str().unwrap());
    assert_eq!(yard.post(&path, json!({"command": "cat /tmp/heard"})).await["stdout"], "A wish, and another");
    yard.close().await;
}
