//! The auditor: walks through cards, refs, desks and files, and believes nobody.
//!
//! Every commit that was saved or pushed is reachable, or its work is in the base; every card says what is; nothing is
//! there that belongs to nobody; the base only ever moved forward.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::{
    End, text,
    world::{COMMITS, World, git},
};

/// Looks at everything; at the cards of these newest tasks.
pub(super) async fn walk(world: &mut World<'_>, newest: usize) {
    let tasks = world.tasks.clone();
    for (id, end) in tasks.into_iter().rev().take(newest) {
        match end {
            End::Merged => merged(world, id).await,
            End::Closed => closed(world, id).await,
            End::InReview => in_review(world, id).await,
        }
    }
    base(world);
    refs(world);
    settled(world).await;
}

/// What was done is in the base, once each.
async fn merged(world: &World<'_>, id: i64) {
    let task = world.task(id).await;
    assert_eq!((text(&task, "phase"), text(&task["pull"], "phase")), ("merged", "merged"), "{task:#}");
    whole(world, "main", id);
    let twice = git(&world.mirror(), &["log", "--format=%s", "main", "--", &format!("task-{id}.1")]);
    assert_eq!(twice.lines().count(), 1, "task {id} was merged more than once: {twice}");
}

/// What was done is kept.
async fn closed(world: &World<'_>, id: i64) {
    let task = world.task(id).await;
    assert_eq!(text(&task, "phase"), "closed", "{task:#}");
    if let Some(number) = task["pull"]["number"].as_i64() {
        let pull = world.look(&format!("/pulls/town/{number}")).await;
        let said = (text(&pull, "phase"), text(&task["pull"], "phase"));
        assert_eq!(said, ("closed", "closed"), "a pull of a card that is closed can still be merged: {pull:#}");
    }
    let kept = format!("refs/carrel/kept/task-{id}");
    whole(world, &kept, id);
    for commit in world.pushed(id).await {
        reaches(world, &commit, &kept);
    }
}

/// The card, the branch and the pull say the same, and everything that was saved is behind it.
async fn in_review(world: &World<'_>, id: i64) {
    let task = world.task(id).await;
    assert_eq!(text(&task, "phase"), "in_review", "{task:#}");
    let branch = format!("refs/heads/task-{id}");
    let head = git(&world.mirror(), &["rev-parse", &branch]);
    assert_eq!(text(&task, "head"), head, "the card lies about its head: {task:#}");
    let pull = world.look(&format!("/pulls/town/{}", task["pull"]["number"])).await;
    assert_eq!(text(&pull, "head_commit"), head, "the pull lies about its head: {pull:#}");
    assert!(["open", "checking", "mergeable"].contains(&text(&pull, "phase")), "{pull:#}");
    whole(world, &branch, id);
    for commit in world.pushed(id).await {
        reaches(world, &commit, &branch);
    }
    for item in world.timeline(id).await.as_array().unwrap() {
        if let Some(saved) = item["commit"].as_str() {
            let kind = git(&world.mirror(), &["cat-file", "-t", saved]);
            assert_eq!(kind, "commit", "a checkpoint of task {id} is not in the mirror");
        }
    }
}

/// All files of a task are there, as the agent wrote them.
fn whole(world: &World<'_>, at: &str, id: i64) {
    for step in 1..=COMMITS {
        let file = git(&world.mirror(), &["show", &format!("{at}:task-{id}.{step}")]);
        assert_eq!(file, format!("task-{id} {step}"), "work of task {id} is lost at {at}");
    }
}

fn reaches(world: &World<'_>, commit: &str, from: &str) {
    let found = git(&world.mirror(), &["rev-list", "--count", &format!("{from}..{commit}")]);
    assert_eq!(found, "0", "{commit} was pushed and cannot be reached from {from}");
}

/// The base moved forward or not at all, here and upstream.
fn base(world: &mut World<'_>) {
    for repository in [world.mirror(), world.upstream()] {
        let back = git(&repository, &["rev-list", "--count", &format!("main..{}", world.base)]);
        assert_eq!(back, "0", "the base went back in {}", repository.display());
    }
    world.base = git(&world.mirror(), &["rev-parse", "main"]);
    let strict = git(&world.mirror(), &["fsck", "--connectivity-only", "--no-dangling"]);
    assert!(!strict.contains("missing") && !strict.contains("broken"), "{strict}");
}

/// No ref belongs to nobody.
fn refs(world: &World<'_>) {
    let told = git(&world.mirror(), &["for-each-ref", "--format=%(refname)"]);
    for name in told.lines() {
        let task = name.rsplit(['/', '-']).next().and_then(|number| number.parse::<i64>().ok());
        let end = task.and_then(|task| world.tasks.iter().find(|(id, _)| *id == task)).map(|(_, end)| *end);
        let is_right = match end {
            _ if name == "refs/heads/main" => true,
            Some(End::InReview) => name.starts_with("refs/heads/task-") || name.starts_with("refs/carrel/"),
            // The branch and the saves go with the task, a moment later.
            Some(End::Closed | End::Merged) => true,
            None => name.starts_with("refs/carrel/"),
        };
        assert!(is_right, "{name} belongs to nobody");
    }
}

/// Every living sandbox is somebody's desk, every slot on the disk somebody's sandbox, and nothing is saved any more for
/// what is over. What is on its way out is waited for.
async fn settled(world: &World<'_>) {
    loop {
        let cards = world.look("/tasks?limit=1000").await;
        let desks = cards["items"].as_array().unwrap().iter().filter_map(|task| task["sandbox_id"].as_str());
        let wanted: BTreeSet<_> = desks.map(str::to_owned).collect();
        let is_over = |(id, end): &&(i64, End)| {
            *end != End::InReview
                && cards["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|task| task["id"] == *id && !task["sandbox_id"].is_null())
        };
        let page = world.look("/sandboxes?limit=1000").await;
        let is_there = |sandbox: &&Value| !["gone", "failed"].contains(&text(sandbox, "phase"));
        let there = page["items"].as_array().unwrap().iter().filter(is_there);
        let living: BTreeSet<_> = there.map(|sandbox| text(sandbox, "id").to_owned()).collect();
        let saves = git(&world.mirror(), &["for-each-ref", "--format=%(refname)", "refs/carrel/wip"]);
        let in_review = |name: &str| {
            let number = name.rsplit('/').next().and_then(|number| number.parse::<i64>().ok());
            world.tasks.iter().any(|(id, end)| Some(*id) == number && *end == End::InReview)
        };
        let branches = git(&world.mirror(), &["for-each-ref", "--format=%(refname)", "refs/heads/task-*"]);
        let is_wanted = |name: &str| {
            let number = name.rsplit('-').next().and_then(|number| number.parse::<i64>().ok());
            world.tasks.iter().any(|(id, end)| Some(*id) == number && *end != End::Merged)
        };
        let is_tidy = world.tasks.iter().find(is_over).is_none()
            && saves.lines().all(in_review)
            && branches.lines().all(is_wanted);
        if is_tidy && living == wanted && slots(world) == wanted {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// The sandboxes that the provider has on its disk; slots that wait for somebody are nobody's yet.
fn slots(world: &World<'_>) -> BTreeSet<String> {
    let records = std::fs::read_dir(world.data().join("local/slots")).into_iter().flatten().flatten();
    let records = records.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let records = records.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
    records.filter_map(|record| record["id"].as_str().map(str::to_owned)).collect()
}

/// When every task is over, the upstream has its base and nothing of ours.
pub(super) fn upstream(world: &World<'_>) {
    let told = git(&world.upstream(), &["for-each-ref", "--format=%(refname)"]);
    let left: Vec<_> = told.lines().filter(|name| *name != "refs/heads/main").collect();
    assert!(left.is_empty(), "branches are left behind upstream: {left:?}");
}

/// Nobody who has ended holds anything: no row, no lane.
pub(super) async fn free(world: &World<'_>) {
    let held = world.held().await;
    assert!(held.is_empty(), "something is held by somebody who has ended: {held:?}");
}

/// Nothing is left of a house that has ended: no mount below its folder, no program that was started there or has something
/// open there, no group of processes of its node. So no namespace is left either: one lives by a process in it, by a file
/// that is open, or by a mount.
pub(super) fn empty(folder: &Path, node: &str) {
    let me = std::process::id().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| *entry.file_name() != *me) {
        let process = entry.path();
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        assert!(!line.contains(folder.to_str().unwrap()), "a program is left behind: {line}");
        let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|file| file.path());
        let places = ["root", "cwd", "exe"].map(|name| process.join(name));
        let here = open.chain(places).find(|place| std::fs::read_link(place).is_ok_and(|to| to.starts_with(folder)));
        assert!(here.is_none(), "a program has something open there: {line} {here:?}");
    }
    for hierarchy in std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten() {
        let groups = std::fs::read_dir(hierarchy.path().join("carrel").join(node)).into_iter().flatten().flatten();
        let left: Vec<_> = groups.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        assert!(left.is_empty(), "groups of processes are left behind: {left:?}");
    }
}
