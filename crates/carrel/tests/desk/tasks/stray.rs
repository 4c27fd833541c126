//! Agents that leave their desk in a state that is not theirs to publish: nothing is called merged that was not, and
//! nothing that was published goes away.

use serde_json::{Value, json};

use super::COMMITS;
use crate::yard::{Yard, git};

/// Does what the last word of its prompt says, and nothing when it is told that something is missing.
fn wanderer() -> String {
    format!(
        "case \"$CARREL_PROMPT\" in
        *'go to main'*) git checkout -q main 2>/dev/null || git checkout -q -b main origin/main;;
        *'go nowhere'*) git checkout -q --detach origin/main;;
        *'go to another'*) git checkout -q --detach origin/task-1;;
        *'go back'*) git reset -q --hard origin/main;;
        *'come home'*) git checkout -q $CARREL_BRANCH;;
        *'undo that'*) git reset -q --hard origin/$CARREL_BRANCH;;
        *'push the base'*) git push -q -f origin origin/main:$CARREL_BRANCH; echo more >more.txt; git add -A; git commit -qm 'feat: more';;
        Write*) {COMMITS};;
        *) echo I have finished.;;
        esac"
    )
}

async fn is_not_merged(yard: &Yard, task: &Value, head: &str) {
    let number = &task["pull"]["number"];
    let pull = yard.look(&format!("/api/v1/pulls/hello/{number}")).await;
    assert!(pull["phase"] != "merged" && pull["phase"] != "closed", "{pull:#}");
    let branch = task["branch"].as_str().unwrap();
    let mirror = yard.mirror("hello");
    assert_eq!(git(Some(&mirror), &["rev-parse", branch]).await, head, "its branch is as it was");
    let files = git(Some(&mirror), &["ls-tree", "--name-only", "main"]).await;
    assert!(!files.contains("wishes.txt"), "{files}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_that_is_left_on_another_branch_publishes_nothing_and_merges_nothing() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("wanderer", &wanderer()).await;
    yard.task("hello", "wanderer", "Write something else", "in_review").await;
    let mut task = yard.task("hello", "wanderer", "Write down a wish", "in_review").await;
    let head = task["head"].as_str().unwrap().to_owned();
    for (away, home) in [
        ("go to main", "come home"),
        ("go nowhere", "come home"),
        ("go to another", "come home"),
        ("go back", "undo that"),
    ] {
        task = yard.tell(&task, away, "needs_you").await;
        assert_eq!(task["needs"]["reason"], "nothing_changed", "{away}: {task:#}");
        let detail = task["needs"]["detail"].as_str().unwrap();
        assert!(detail.contains("task-2") && detail.contains("git "), "{away}: {detail}");
        is_not_merged(&yard, &task, &head).await;
        task = yard.tell(&task, home, "in_review").await;
        is_not_merged(&yard, &task, &head).await;
    }
    // In the middle of a turn the branch goes back to its base: that is no merge either.
    task = yard.tell(&task, "push the base", "in_review").await;
    let head = git(Some(&yard.mirror("hello")), &["rev-parse", "task-2"]).await;
    is_not_merged(&yard, &task, &head).await;
    yard.act(&task, "merge", "merged").await;
    assert_eq!(yard.show("hello", "main:wishes.txt").await, "Write down a wish");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_committed_at_a_desk_that_was_lost_counts_at_the_next() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let agent = "if [ -e done.txt ]; then echo It is there already.; else echo done >done.txt; git add -A; \
                 git commit -qm 'feat: done'; sleep 86400; fi";
    yard.agent("once", agent).await;
    let task = yard.task("hello", "once", "Do it once", "working").await;
    let desk = task["sandbox_id"].as_str().unwrap();
    let mirror = yard.mirror("hello");
    // It is saved, with the commit under it.
    while !git(Some(&mirror), &["log", "--format=%s", "--all"]).await.contains("feat: done") {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let gone = yard.house.request(reqwest::Method::DELETE, &format!("/api/v1/sandboxes/{desk}"));
    assert!(gone.send().await.unwrap().status().is_success());
    let task = yard.wait(&task, "in_review").await;
    assert_eq!(task["ahead"], 1, "{task:#}");
    assert_eq!(yard.show("hello", "task-1:done.txt").await, "done");
    yard.close().await;
}
