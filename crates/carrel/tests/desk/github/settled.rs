//! A conflict that nobody need be asked about is no reason for a person to come, at GitHub either: what was settled goes
//! into the branch, is checked there again, and is merged.

use carrel_forge::{CheckState, CommitId, PullState};
use serde_json::{Value, json};

use super::rules::World;
use crate::{
    ladder::{LOCK, PACKAGE, PACKAGERS},
    yard::git,
};

/// Where the first task's branch was before it conflicted, and its card once the house has settled that.
struct Settled {
    before: CommitId,
    now: CommitId,
    card: Value,
}

/// A repository with a lock file, and a task that changes it.
async fn begin(agent: &str) -> (World, Value) {
    let world = World::open(json!({})).await;
    for (path, text) in [("package.json", PACKAGE), ("package-lock.json", LOCK)] {
        world.bare.push(&"main".parse().unwrap(), path, text);
    }
    world.yard.sync("hello").await;
    world.yard.agent("packager", agent).await;
    let task = world.yard.task("hello", "packager", "Give it a part", "in_review").await;
    (world, task)
}

/// Somebody else changes the same lines of the lock file at GitHub; then the task is to be merged.
async fn conflict_and_merge(world: &World) -> Settled {
    let before = world.check(CheckState::Passed).await;
    let licence = PACKAGE.replace("  \"description\"", "  \"license\": \"MIT\",\n  \"description\"");
    world.bare.push(&"main".parse().unwrap(), "package.json", &licence);
    let locked =
        LOCK.replace("      \"version\": \"1.0.0\"\n", "      \"version\": \"1.0.0\",\n      \"license\": \"MIT\"\n");
    assert_ne!(locked, LOCK);
    world.bare.push(&"main".parse().unwrap(), "package-lock.json", &locked);
    let mut events = world.yard.house.events("?kind=task").await;
    world.yard.post("/api/v1/tasks/1/merge", json!({})).await;
    let card = loop {
        let card = serde_json::to_value(events.entry().await).unwrap()["task"].clone();
        assert_ne!(card["phase"], "needs_you", "nobody need come: {card:#}");
        if card["doing"].as_str().is_some_and(|doing| doing.contains("waits for the check `ci`")) {
            break card;
        }
    };
    Settled { before, now: world.pull().await.head_commit, card }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_that_the_ladder_settles_goes_into_the_branch_is_checked_at_github_again_and_merged() {
    let (world, task) = begin(PACKAGERS).await;
    let yard = &world.yard;
    world.standin.asked();
    let Settled { before, now, card } = conflict_and_merge(&world).await;
    assert_ne!(before, now);
    assert_eq!((&card["phase"], &card["head"]), (&json!("in_review"), &json!(now)), "{card:#}");
    assert_eq!(world.bare.find("task-1").as_ref(), Some(&now), "it is published");
    let kept = format!("refs/carrel/pulls/github/1-before-{now}");
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", &kept]).await, before.as_str(), "nothing is lost");
    // What ran for the head before runs for this one: until then nobody merges it.
    world.check(CheckState::Pending).await;
    let asked = yard.house.request(reqwest::Method::POST, "/api/v1/pulls/hello/1/merge");
    let (status, problem) = yard.house.ask(asked).await;
    assert_eq!((status.as_u16(), &problem["type"]), (409, &json!("/problems/merge-waits")), "{problem}");
    assert!(matches!(world.pull().await.state, PullState::Open));
    let merges =
        |asked: Vec<String>| asked.into_iter().filter(|line| line.contains("/pulls/1/merge")).collect::<Vec<_>>();
    assert_eq!(merges(world.standin.asked()), Vec::<String>::new(), "and GitHub was not asked");

    assert_eq!(world.check(CheckState::Passed).await, now);
    yard.sync("hello").await;
    yard.wait(&task, "merged").await;
    assert!(matches!(world.pull().await.state, PullState::Merged { .. }));
    assert_eq!(merges(world.standin.asked()).len(), 1, "once, for the head that was checked");
    let lock = world.bare.git(&["show", "main:package-lock.json"]).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let root = &lock["packages"][""];
    assert_eq!((&root["license"], &root["dependencies"]["part"]), (&json!("MIT"), &json!("file:part")), "{lock}");
    let notes = yard.said(&task, "note", "house").await;
    let settled = "Conflicts were settled: package-lock.json (made anew by its program).";
    let said: Vec<_> = notes.iter().filter(|note| note.contains(settled)).collect();
    assert!(said.len() == 1 && said[0].contains(&kept), "{notes:#?}");
    assert_eq!(yard.said(&task, "message", "house").await, [] as [String; 0], "its agent was not asked");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_at_github_after_a_conflict_was_settled_is_mended_at_a_desk_that_has_followed_its_branch() {
    let mends = "echo mended >mended.txt; git add -A; git commit -qm 'fix: mend it'";
    let agent = format!("case \"$CARREL_PROMPT\" in *'check of'*) {mends};; *) {PACKAGERS};; esac");
    let (world, task) = begin(&agent).await;
    let yard = &world.yard;
    let Settled { now, .. } = conflict_and_merge(&world).await;
    let mut events = yard.house.events("?kind=task").await;
    world.check(CheckState::Failed).await;
    yard.sync("hello").await;
    while serde_json::to_value(events.entry().await).unwrap()["task"]["phase"] != "working" {}
    let task = yard.wait(&task, "in_review").await;
    let mended = world.check(CheckState::Passed).await;
    let parent = world.bare.git(&["rev-parse", &format!("{mended}^")]).unwrap();
    assert_eq!(parent, now.as_str(), "the agent went on from what the house had made");
    assert_eq!(task["head"], json!(mended));
    let told = yard.said(&task, "message", "house").await;
    assert!(told.iter().all(|text| !text.contains("push")), "nothing was in its way: {told:#?}");
    yard.act(&task, "merge", "merged").await;
    assert_eq!(world.bare.git(&["show", "main:mended.txt"]).unwrap(), "mended");
    world.close().await;
}
