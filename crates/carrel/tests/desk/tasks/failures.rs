//! An agent that breaks off is asked again, ever more patiently, and not for ever.

use std::time::Duration;

use carrel_model::public::Happening;
use carrel_testkit::Setup;
use jiff::SignedDuration;
use serde_json::json;

use super::COMMITS;
use crate::yard::{Yard, engine};

/// Breaks off as long as its desk's marks say so: one line of `turns` for each turn.
const DIES: &str = "echo turn >>/tmp/turns; kill -9 $$";

async fn thrice() -> Yard {
    let mut setup = Setup { engine: Some(engine()), ..Setup::default() };
    setup.work.tries = 3;
    setup.patience.longest_retry = Duration::from_secs(60);
    Yard::built(setup).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_in_every_turn_is_asked_as_often_as_agreed_and_then_a_person_is() {
    let yard = thrice().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("mortal", DIES).await;
    let mut events = yard.house.events("?after=0&kind=task").await;
    let task = yard.task("hello", "mortal", "Stay alive", "needs_you").await;
    assert_eq!((&task["needs"]["reason"], &task["attempts"]), (&json!("agent_failed"), &json!(3)), "{task:#}");
    let desk = task["sandbox_id"].as_str().unwrap();
    let ran = yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), json!({"command": "wc -l </tmp/turns"})).await;
    assert_eq!(ran["stdout"].as_str().unwrap().trim(), "3", "it was asked three times: {ran}");

    // Each pause is twice as long as the one before.
    let mut pauses: Vec<SignedDuration> = Vec::new();
    loop {
        let Happening::Task { task } = events.entry().await.happening else { continue };
        if let Some(next) = task.next_attempt_at.filter(|_| task.attempts as usize == pauses.len() + 1) {
            pauses.push(next.duration_since(task.updated_at));
        }
        if task.needs.is_some() {
            break;
        }
    }
    assert!(pauses.len() == 2 && pauses[1] == pauses[0] * 2 && pauses[0].is_positive(), "{pauses:?}");
    // It is said once, however often it happens: what got no answer is asked again.
    let told = yard.said(&task, "message", "house").await;
    assert_eq!(told.iter().filter(|told| told.starts_with("Your last turn broke off")).count(), 1, "{told:?}");

    // A person who says something begins the count anew.
    let task = yard.act(&task, "retry", "needs_you").await;
    assert_eq!(task["attempts"], 3, "{task:#}");
    let ran = yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), json!({"command": "wc -l </tmp/turns"})).await;
    assert_eq!(ran["stdout"].as_str().unwrap().trim(), "6", "{ran}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_of_a_git_that_died_with_its_agent_are_not_in_the_way_of_the_next_turn() {
    let yard = thrice().await;
    yard.hosted("hello", json!({})).await;
    let dies = "if ! [ -e /tmp/died ]; then touch /tmp/died .git/index.lock .git/HEAD.lock; kill -9 $$; fi";
    // The last one is in the way of the house alone, which remembers where it has pushed.
    let leaves = "mkdir -p .git/refs/remotes/origin; touch \".git/refs/remotes/origin/$CARREL_BRANCH.lock\"";
    yard.agent("mortal", &format!("{dies}\nset -e\n{COMMITS}\n{leaves}")).await;
    let task = yard.task("hello", "mortal", "Go on", "in_review").await;
    let told = yard.said(&task, "message", "house").await;
    assert_eq!(told.iter().filter(|told| told.starts_with("Your last turn broke off")).count(), 1, "{told:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_the_kernel_ends_for_want_of_memory_is_said_to_have_met_its_limit() {
    let yard = thrice().await;
    yard.hosted("hello", json!({})).await;
    // All of it in one line, which the kernel has to keep.
    yard.agent("eater", "head -c 1000000000 /dev/zero | tail -n 1 >/dev/null; kill -9 $$").await;
    let task = yard.task("hello", "eater", "Eat", "needs_you").await;
    let detail = task["needs"]["detail"].as_str().unwrap();
    assert!(detail.contains("memory limit of 256 MiB") && detail.contains("memory_mb"), "{task:#}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_comes_to_its_end_forgives_those_that_broke_off() {
    let yard = thrice().await;
    yard.hosted("hello", json!({})).await;
    // Two of three turns die, again and again: never three in a row.
    let limps = format!(
        "echo turn >>/tmp/turns; test $(( $(wc -l </tmp/turns) % 3 )) = 0 || kill -9 $$; {COMMITS}; echo Done."
    );
    yard.agent("limper", &limps).await;
    let task = yard.task("hello", "limper", "Limp home", "in_review").await;
    for word in ["again", "and again"] {
        yard.post(&format!("/api/v1/tasks/{}/message", task["id"]), json!({"text": word})).await;
        while !yard.said(&task, "message", "user").await.iter().any(|said| said == word) {}
        yard.wait(&task, "in_review").await;
    }
    yard.close().await;
}
