//! Pulls of tasks: who waits in the lane says so, and what is to be merged by itself is.

use carrel_testkit::EventStream;
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    tasks::{COMMITS, PATIENCE},
    yard::{Yard, git},
};

/// The next entry of a task that fits.
async fn until(events: &mut EventStream, fits: impl Fn(&Value) -> bool) -> Value {
    loop {
        let entry = serde_json::to_value(events.entry().await).unwrap();
        if fits(&entry["task"]) {
            return entry["task"].clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_in_the_merge_lane_says_so_on_its_card_until_it_is_its_turn() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    assert_eq!(task["doing"], Value::Null, "{task}");
    // Another node merges into the same base.
    let long = Timestamp::now() + SignedDuration::from_hours(1);
    let lanes = yard.house.store.lanes();
    let lane = lanes.take("hello/main", "another node:1", long).await.unwrap().expect("nobody has it");
    let mut events = yard.house.events("?kind=task").await;
    yard.post("/api/v1/tasks/1/merge", json!({})).await;
    let waiting = until(&mut events, |task| task["doing"] == "waits in the merge lane of `main`").await;
    assert_eq!((&waiting["phase"], &waiting["want"]), (&json!("in_review"), &json!("merged")), "{waiting}");
    assert_eq!(yard.look("/api/v1/tasks/1").await["doing"], "waits in the merge lane of `main`");
    lanes.leave(&lane).await.unwrap();
    let merged = yard.wait(&task, "merged").await;
    assert_eq!(merged["doing"], Value::Null, "{merged}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_pull_is_to_be_merged_by_itself_is_once_its_check_passes_and_people_agree() {
    let yard = Yard::open().await;
    let rules = json!({"check_command": "test -e good.txt", "pulls": {"auto_merge": true, "approvals": 1}});
    yard.hosted("hello", rules).await;
    let agent = "case \"$CARREL_PROMPT\" in *'The check of the merged result fails'*) f=good.txt;; *) f=bad.txt;; esac
        echo x >$f; git add -A; git commit -qm \"feat: $f\"";
    yard.agent("learner", agent).await;
    let task = yard.task("hello", "learner", "Write a file", "in_review").await;
    let pull = yard.look("/api/v1/pulls/hello/1").await;
    assert_eq!(
        (&pull["auto_merge"], &pull["phase"]),
        (&json!("squash"), &json!("open")),
        "nobody approves yet: {pull}"
    );
    let (_, mona) = yard.house.mint(json!({"name": "mona", "role": "member"})).await;
    let approve = async || {
        let review = yard.house.request_as(&mona, Method::POST, "/api/v1/pulls/hello/1/reviews");
        let (status, review) = yard.house.ask(review.json(&json!({"verdict": "approved"}))).await;
        assert!(status.is_success(), "{review}");
    };
    let mut events = yard.house.events("?kind=task").await;
    approve().await;
    // What the check printed goes to the agent, as if a person had asked for the merge.
    until(&mut events, |task| task["phase"] == "working").await;
    let task = yard.wait(&task, "in_review").await;
    let told = yard.said(&task, "message", "house").await;
    assert!(told.iter().any(|text| text.contains("The check of the merged result fails")), "{told:?}");
    // The new commit was approved by nobody.
    let pull = yard.look("/api/v1/pulls/hello/1").await;
    assert_eq!((&pull["approvals"], &pull["phase"]), (&Value::Null, &json!("open")), "{pull}");
    approve().await;
    yard.wait(&task, "merged").await;
    assert_eq!(git(Some(&yard.mirror("hello")), &["show", "main:good.txt"]).await, "x");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_merge_from_the_first_moment_on_is_told_when_it_is_merged_and_not_before() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({"pulls": {"auto_merge": true}})).await;
    yard.agent("scribe", COMMITS).await;
    // Nobody says a word between the card and the merge.
    let task = yard.task("hello", "scribe", "Write down a wish", "merged").await;
    assert_eq!(task["pull"]["phase"], "merged");
    // Where nothing happens without a person, nobody is kept waiting.
    yard.hosted("calm", json!({})).await;
    let body = json!({"repo": "calm", "agent": "scribe", "title": "Write down a wish", "start": true});
    let path = format!("/api/v1/tasks?wait=merged&timeout={PATIENCE}");
    let answer = yard.house.request(Method::POST, &path).json(&body).send().await.unwrap();
    assert_eq!(answer.headers()["carrel-waited"], "never");
    assert_eq!(answer.json::<Value>().await.unwrap()["phase"], "in_review");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_to_be_merged_by_itself_that_was_taken_back_stays_so_when_the_agent_goes_on() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({"pulls": {"auto_merge": true, "draft": true}})).await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    assert_eq!(yard.look("/api/v1/pulls/hello/1").await["auto_merge"], "squash");
    let (status, pull) = yard.house.ask(yard.house.request(Method::DELETE, "/api/v1/pulls/hello/1/auto_merge")).await;
    assert!(status.is_success() && pull["auto_merge"].is_null(), "{pull}");
    let task = yard.tell(&task, "once more", "in_review").await;
    let pull = yard.post("/api/v1/pulls/hello/1/ready", json!({})).await;
    assert_eq!((&pull["auto_merge"], &pull["phase"]), (&Value::Null, &json!("mergeable")), "{pull}");
    // Asked for again, it is merged at once: nothing stands in the way.
    yard.post("/api/v1/pulls/hello/1/auto_merge", json!({})).await;
    yard.wait(&task, "merged").await;
    yard.close().await;
}
