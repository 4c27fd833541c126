//! Many tasks at once on one repository, a fifth of them written to conflict: all reach a pull, every conflict is found,
//! shown on both cards and walked down the ladder, and nothing of anybody's work is lost.
//!
//! `CARREL_TASKS=100` asks for as many as that.

use std::{collections::BTreeSet, time::Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::PATIENCE;
use crate::yard::{Yard, git};

/// Adds a file of its own; with `clash N` in its prompt, it changes the first line of a file that another changes too.
/// Told of a conflict, it keeps both lines.
const AGENT: &str = r#"case "$CARREL_PROMPT" in
*'has moved on'*)
    git fetch -q origin
    until git rebase -q origin/main || git diff --quiet --diff-filter=U; do
        for file in $(git diff --name-only --diff-filter=U); do
            grep -v '^[<=>]\{7\}' "$file" >/tmp/both; cp /tmp/both "$file"
        done
        git add -A
        GIT_EDITOR=true git rebase --continue && break
    done;;
*clash*)
    number=${CARREL_PROMPT##*clash }
    sed -i "1s/.*/task $CARREL_TASK was here/" "shared-$number.txt"
    git commit -qam "feat: change the first line of $number";;
*)
    echo "$CARREL_TASK" >"own-$CARREL_TASK.txt"
    git add -A
    git commit -qm "feat: a file of $CARREL_TASK";;
esac"#;

struct Card {
    id: i64,
    /// The number of the file that it shares with another.
    clash: Option<usize>,
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_reach_their_pulls_and_every_conflict_is_found_and_settled() {
    let count: usize = std::env::var("CARREL_TASKS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let clashing = count / 5 / 2 * 2;
    let yard = Yard::with_work(|work| (work.at_once, work.per_repo) = (16, 16)).await;
    let upstream = yard.repo("hello").await;
    for number in 0..clashing / 2 {
        let text = format!("first line of {number}\nsecond\nthird\n");
        std::fs::write(upstream.join(format!("shared-{number}.txt")), text).unwrap();
    }
    crate::yard::commit(&upstream, "feat: files to share").await;
    yard.sync("hello").await;
    yard.agent("worker", AGENT).await;

    let began = Instant::now();
    let mut cards = Vec::new();
    for number in 0..count {
        // The two of a pair stand far from each other in the queue.
        let clash = (number % 5 == 0).then_some(number / 5).filter(|at| *at < clashing).map(|at| at % (clashing / 2));
        let title = clash.map_or_else(|| "Add a file".to_owned(), |shared| format!("Change a line: clash {shared}"));
        let body = json!({"repo": "hello", "agent": "worker", "title": title, "start": true});
        let card = yard.post("/api/v1/tasks", body).await;
        cards.push(Card { id: card["id"].as_i64().unwrap(), clash });
    }
    for card in &cards {
        let task = yard.wait(&json!({"id": card.id}), "in_review").await;
        assert!(task["pull"]["number"].is_number(), "{task:#}");
    }
    println!(
        "{count} tasks, {clashing} of them to conflict: all in review after {:.1} s",
        began.elapsed().as_secs_f64()
    );

    // Each conflict is on both cards, and on no other.
    let partners = |card: &Card| -> BTreeSet<i64> {
        let same = |other: &&Card| card.clash.is_some() && other.clash == card.clash && other.id != card.id;
        cards.iter().filter(same).map(|other| other.id).collect()
    };
    for card in &cards {
        let wanted = partners(card);
        loop {
            let task = yard.look(&format!("/api/v1/tasks/{}", card.id)).await;
            let found = task["conflicts"].as_array().unwrap();
            let with: BTreeSet<i64> = found.iter().filter_map(|one| one["task_id"].as_i64()).collect();
            assert!(with.is_subset(&wanted), "task {} is said to conflict with {with:?}: {task:#}", card.id);
            let file = card.clash.map(|shared| format!("shared-{shared}.txt"));
            assert!(found.iter().all(|one| one["paths"] == json!([file])), "{task:#}");
            if with == wanted {
                break;
            }
        }
    }
    println!("every conflict is on both cards after {:.1} s", began.elapsed().as_secs_f64());

    let mut settled = 0;
    for card in &cards {
        settled += merge(&yard, card.id).await;
    }
    assert_eq!(settled, clashing / 2, "the second of each pair was told, and nobody else");
    println!("all merged, {settled} by their agents, after {:.1} s", began.elapsed().as_secs_f64());

    for card in &cards {
        let file = card.clash.map_or_else(|| format!("own-{}.txt", card.id), |shared| format!("shared-{shared}.txt"));
        let text = yard.show("hello", &format!("main:{file}")).await;
        let mine = card.clash.map_or_else(|| card.id.to_string(), |_| format!("task {} was here", card.id));
        assert!(text.lines().any(|line| line == mine), "the work of task {} is lost: {text}", card.id);
    }
    let subjects = git(Some(&yard.mirror("hello")), &["log", "--format=%s", "main"]).await;
    assert_eq!(subjects.lines().filter(|subject| subject.contains("(#")).count(), count, "{subjects}");
    yard.close().await;
}

/// Merges a task, again after its agent has settled a conflict. How often that was needed.
async fn merge(yard: &Yard, id: i64) -> usize {
    let mut asked = 0;
    loop {
        asked += 1;
        assert!(asked <= 3, "task {id} conflicts again and again: {:#}", yard.timeline(&json!({"id": id})).await);
        let path = format!("/api/v1/tasks/{id}/merge?wait=merged&timeout={PATIENCE}");
        let (status, mut task) = yard.house.ask(yard.house.request(Method::POST, &path).json(&json!({}))).await;
        assert!(status.is_success(), "{task}");
        // It went back to its agent: the wish is said again when it is back in review.
        while !matches!(task["phase"].as_str(), Some("merged" | "needs_you")) && !is_back(&task) {
            task = yard.look(&format!("/api/v1/tasks/{id}")).await;
        }
        if task["phase"] == "merged" {
            return asked - 1;
        }
        assert_ne!(task["phase"], "needs_you", "{task:#} {:#}", yard.timeline(&task).await);
        let told = yard.said(&task, "message", "house").await;
        assert!(told.iter().any(|told| told.contains("conflicts with it in: shared-")), "{told:?}");
    }
}

fn is_back(task: &Value) -> bool {
    task["phase"] == "in_review" && task["want"] == "review"
}
