//! How cards end, and what stays of them: upstream, in the mirror, and on the cards of others.

use reqwest::Method;
use serde_json::json;

use super::COMMITS;
use crate::yard::{Yard, git};

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_task_takes_its_branch_away_and_keeps_its_work() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    yard.agent("scribe", COMMITS).await;
    let branches = async || git(Some(&upstream), &["for-each-ref", "--format=%(refname:short)", "refs/heads"]).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    assert_eq!(branches().await, "main\ntask-1");
    let head = task["head"].as_str().unwrap().to_owned();
    yard.act(&task, "close", "closed").await;
    assert_eq!(branches().await, "main", "what is kept here is not left there");
    let kept = git(Some(&yard.mirror("hello")), &["rev-parse", "refs/carrel/kept/task-1"]).await;
    git(Some(&yard.mirror("hello")), &["merge-base", "--is-ancestor", &head, &kept]).await;
    let diff = yard.house.request(Method::GET, "/api/v1/tasks/1/diff").send().await.unwrap().text().await.unwrap();
    assert!(diff.contains("wishes.txt"), "it can still be read: {diff}");
    let pull =
        yard.house.request(Method::GET, "/api/v1/pulls/hello/1/diff").send().await.unwrap().text().await.unwrap();
    assert!(pull.contains("wishes.txt"), "so can its pull request: {pull}");
    let left = git(Some(&yard.mirror("hello")), &["for-each-ref", "--format=%(refname)"]).await;
    let of_task: Vec<_> = left.lines().filter(|name| name.ends_with("task-1") || name.ends_with("/1")).collect();
    assert!(of_task.iter().all(|name| name.contains("/kept/") || name.contains("/pulls/")), "{left}");

    // What somebody else pushed to it is theirs.
    let task = yard.task("hello", "scribe", "Another wish", "in_review").await;
    git(Some(&upstream), &["branch", "--force", "task-2", "main"]).await;
    yard.act(&task, "close", "closed").await;
    assert_eq!(branches().await, "main\ntask-2");

    let rules = yard.house.request(Method::PATCH, "/api/v1/repos/hello").json(&json!({"keep_branches": true}));
    assert!(yard.house.ask(rules).await.0.is_success());
    let task = yard.task("hello", "scribe", "A third wish", "in_review").await;
    yard.act(&task, "close", "closed").await;
    assert_eq!(branches().await, "main\ntask-2\ntask-3");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_is_over_is_in_nobodys_way() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("scribe", COMMITS).await;
    let first = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let second = yard.task("hello", "scribe", "Write down another", "in_review").await;
    let third = yard.task("hello", "scribe", "Write down a third", "in_review").await;
    let with = async |task: &serde_json::Value| -> Vec<serde_json::Value> {
        let seen = yard.look(&format!("/api/v1/tasks/{}", task["id"])).await;
        let mut with: Vec<_> =
            seen["conflicts"].as_array().unwrap().iter().map(|conflict| conflict["task_id"].clone()).collect();
        with.sort_by_key(serde_json::Value::as_i64);
        with
    };
    // Foreseen beside: nobody waits for it.
    while with(&third).await != [first["id"].clone(), second["id"].clone()] {}
    yard.act(&first, "merge", "merged").await;
    // The base has it now: that is whom the third conflicts with, and the second still.
    while with(&third).await.contains(&first["id"]) {}
    while !with(&third).await.contains(&json!(null)) {}
    assert!(with(&third).await.contains(&second["id"]));
    yard.act(&second, "close", "closed").await;
    while with(&third).await != [json!(null)] {}
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_turn_is_a_checkpoint_also_one_that_changed_nothing() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", &format!("case \"$CARREL_PROMPT\" in *nothing*) echo I looked.;; *) {COMMITS};; esac")).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    yard.tell(&task, "Look, and do nothing", "in_review").await;
    yard.tell(&task, "Once more nothing", "in_review").await;
    let timeline = yard.timeline(&task).await;
    let saves: Vec<_> = timeline.as_array().unwrap().iter().filter(|it| it["kind"] == "checkpoint").collect();
    for save in &saves {
        let desk = &save["desk"];
        assert_eq!((&desk["sandbox_id"], &desk["phase"]), (&task["sandbox_id"], &json!("ready")), "{save}");
        assert_eq!((&desk["provider"], &desk["template"]), (&json!("local"), &json!("host")), "{save}");
    }
    let turns: Vec<_> = saves.iter().map(|it| it["turn"].as_i64().unwrap()).collect();
    assert_eq!(turns, [1, 2, 3], "{timeline:#}");
    assert!(saves.iter().all(|it| it["commit"].is_string()), "each can be opened and forked from: {timeline:#}");
    assert_eq!(saves[0]["files"], json!(["wishes.txt"]), "{timeline:#}");
    assert!(saves[1..].iter().all(|it| it.get("files").is_none()), "nothing was changed: {timeline:#}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_compared_between_any_two_checkpoints_and_another_attempt_begins_at_one() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("writer", "echo \"$CARREL_PROMPT\" >>draft.txt; echo 'QUESTION: go on?'").await;
    yard.agent("reader", "git status --porcelain >/tmp/seen; git add -A; git commit -qm 'feat: a draft'").await;
    let task = yard.task("hello", "writer", "one", "needs_you").await;
    for word in ["two", "three"] {
        yard.tell(&task, word, "needs_you").await;
    }
    let timeline = yard.timeline(&task).await;
    let saves: Vec<_> = timeline.as_array().unwrap().iter().filter(|it| it["kind"] == "checkpoint").collect();
    let diff = async |query: String| {
        let asked = yard.house.request(Method::GET, &format!("/api/v1/tasks/1/diff?{query}"));
        asked.send().await.unwrap().text().await.unwrap()
    };
    let between = diff(format!("from={}&to={}", saves[0]["seq"], saves[1]["seq"])).await;
    assert!(between.contains("\n one\n+two\n") && !between.contains("three"), "{between}");
    let back = diff(format!("from={}&to={}", saves[2]["seq"], saves[0]["seq"])).await;
    assert!(back.contains("-two\n-three"), "{back}");
    let files = async |query: String| yard.look(&format!("/api/v1/tasks/1/diff/files?{query}")).await["items"].clone();
    let all = files(String::new()).await;
    assert_eq!(
        (&all[0]["path"], &all[0]["status"], &all[0]["additions"]),
        (&json!("draft.txt"), &json!("added"), &json!(3))
    );
    let part = files(format!("from={}&to={}", saves[0]["seq"], saves[1]["seq"])).await;
    assert_eq!(
        (&part[0]["status"], &part[0]["additions"], part.as_array().unwrap().len()),
        (&json!("modified"), &json!(1), 1)
    );
    let named = diff(format!("from={}&to={}&path=draft.txt", saves[0]["seq"], saves[1]["seq"])).await;
    assert!(named.contains("\n one\n+two\n"), "{named}");
    assert_eq!(diff("path=other.txt".into()).await, "");

    let asked = json!({"from": saves[1]["seq"], "agent": "reader"});
    let fork = yard.post("/api/v1/tasks/1/fork", asked).await["items"][0].clone();
    let fork = yard.wait(&fork, "in_review").await;
    assert_eq!(yard.show("hello", "task-2:draft.txt").await, "one\ntwo");
    // What was not committed at that moment is not committed in the other attempt either: no save is in its history.
    let seen = json!({"command": "cat /tmp/seen"});
    let seen = yard.post(&format!("/api/v1/sandboxes/{}/execute", fork["sandbox_id"].as_str().unwrap()), seen).await;
    assert_eq!(seen["stdout"], "?? draft.txt\n", "{seen}");
    let log = git(Some(&yard.mirror("hello")), &["log", "--format=%s", "main..task-2"]).await;
    assert_eq!((log.as_str(), &fork["ahead"]), ("feat: a draft", &json!(1)));
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_waited_for_a_closed_one_goes_on_when_it_need_not_wait() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    yard.post("/api/v1/tasks", json!({"repo": "hello", "agent": "scribe", "title": "First"})).await;
    let waits = json!({"repo": "hello", "agent": "scribe", "title": "Second", "start": true,
        "depends_on": [{"task_id": 1, "until": "merged"}]});
    let second = yard.post("/api/v1/tasks", waits).await;
    yard.act(&json!({"id": 1}), "close", "closed").await;
    let stuck = yard.wait(&second, "needs_you").await;
    assert_eq!(stuck["needs"]["reason"], "dependency", "{stuck}");
    let freed = yard.house.request(Method::PATCH, "/api/v1/tasks/2").json(&json!({"depends_on": []}));
    let (status, freed) = yard.house.ask(freed).await;
    assert!(status.is_success() && freed.get("needs").is_none_or(serde_json::Value::is_null), "{freed}");
    yard.wait(&second, "in_review").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_begins_in_a_repository_that_is_empty() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let session = yard.post("/api/v1/sessions", json!({"repo": "hello", "agent": "scribe"})).await;
    assert!(session["sandbox_id"].is_string(), "{session}");
    assert_eq!(yard.show("hello", "main:README.md").await, "# hello");
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
    assert!(yard.house.ask(yard.house.request(Method::DELETE, &path)).await.0.is_success());
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_too_large_to_be_saved_is_said_once_and_the_rest_is_saved() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({"largest_file_mb": 2})).await;
    let agent = "echo \"$CARREL_PROMPT\" >>small.txt; for file in model.bin noise.log; do truncate -s 3M $file; done; \
                 echo '*.log' >.gitignore; echo QUESTION: Where does the model go?";
    yard.agent("collector", agent).await;
    let task = yard.task("hello", "collector", "Collect", "needs_you").await;
    let task = yard.tell(&task, "Try again", "needs_you").await;
    let notes = yard.said(&task, "note", "house").await;
    let told: Vec<_> = notes.iter().filter(|note| note.contains("Too large to be saved")).collect();
    assert_eq!(told.len(), 1, "once, however often it is saved: {notes:#?}");
    assert!(told[0].contains("(over 2 MiB): `model.bin`."), "{notes:#?}");
    let saved = git(Some(&yard.mirror("hello")), &["ls-tree", "--name-only", "refs/carrel/wip/1"]).await;
    assert_eq!(saved, ".gitignore\nREADME.md\nsmall.txt");
    yard.act(&task, "close", "closed").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_saved_goes_only_when_a_person_says_so_twice() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    // Its owner shuts the working tree: nobody can save what is in it.
    yard.agent("locker", "echo draft >draft.txt; echo 'QUESTION: go on?'; chmod 000 /workspace").await;
    let refused = async |task: &serde_json::Value| {
        let path = format!("/api/v1/tasks/{}/close?wait=closed&timeout={}", task["id"], super::PATIENCE);
        let asks = yard.post(&path, json!({})).await;
        assert_eq!(
            (&asks["phase"], &asks["needs"]["reason"]),
            (&json!("needs_you"), &json!("desk_failed")),
            "{asks:#}"
        );
        let detail = asks["needs"]["detail"].as_str().unwrap();
        assert!(
            detail.contains("so that nothing at its desk is lost") && detail.contains("close it once more"),
            "{detail}"
        );
        let desk = asks["sandbox_id"].as_str().unwrap().to_owned();
        assert_eq!(yard.look(&format!("/api/v1/sandboxes/{desk}")).await["want"], "ready", "its desk stays");
        desk
    };
    // Somebody opens it again: then everything is kept.
    let task = yard.task("hello", "locker", "Begin", "needs_you").await;
    let desk = refused(&task).await;
    let opens = json!({"command": "chmod 755 /workspace", "cwd": "/"});
    yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), opens).await;
    yard.act(&task, "close", "closed").await;
    assert_eq!(yard.show("hello", "refs/carrel/kept/task-1:draft.txt").await, "draft");
    // Or says it once more: then it is closed without.
    let task = yard.task("hello", "locker", "Begin again", "needs_you").await;
    refused(&task).await;
    let closed = yard.act(&task, "close", "closed").await;
    let notes = yard.said(&closed, "note", "house").await;
    assert!(notes.iter().any(|note| note.starts_with("The last of it could not be saved:")), "{notes:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_closed_and_kept_also_when_its_desk_falls_asleep_meanwhile() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    // A folder that is shut keeps nothing else from being saved.
    yard.agent("curious", "echo draft >draft.txt; mkdir shut; chmod 000 shut; echo 'QUESTION: go on?'").await;
    for round in 1..=5 {
        let task = yard.task("hello", "curious", "Begin", "needs_you").await;
        let desk = task["sandbox_id"].as_str().unwrap();
        yard.post(&format!("/api/v1/sandboxes/{desk}/pause"), json!({"depth": "files"})).await;
        yard.act(&task, "close", "closed").await;
        assert_eq!(yard.show("hello", &format!("refs/carrel/kept/task-{round}:draft.txt")).await, "draft");
    }
    yard.close().await;
}
