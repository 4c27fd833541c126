//! What is said of tasks besides their verbs: judges, claims, questions by tools, and looks at the past.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{COMMITS, PATIENCE};
use crate::yard::{Yard, commit, git};

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_scores_the_attempts_and_the_best_one_is_kept() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", "echo \"points $CARREL_TASK\" >points.txt && git add -A && git commit -qm 'feat: points'")
        .await;
    let first = yard.task("hello", "scribe", "Earn points", "in_review").await;
    let forks = yard.post("/api/v1/tasks/1/fork", json!({"count": 2})).await;
    for fork in forks["items"].as_array().unwrap() {
        assert_eq!(fork["fork_of"], 1);
        yard.wait(fork, "in_review").await;
    }
    let judged = yard.post("/api/v1/tasks/1/judge", json!({"command": "echo judging; cat points.txt"})).await;
    let scores: Vec<&Value> = judged["items"].as_array().unwrap().iter().map(|item| &item["score"]).collect();
    assert_eq!(scores, [&json!(1.0), &json!(2.0), &json!(3.0)], "{judged}");
    assert_eq!(yard.look("/api/v1/tasks/1").await["phase"], "in_review", "a judge alone closes nothing");

    // One that is not there, and one that fails on all of them, promote nobody, whatever they print.
    for command in ["nosuchjudge", "echo 12 tests failed: 12; exit 2"] {
        let body = json!({"command": command, "promote": true});
        let (status, problem) =
            yard.house.ask(yard.house.request(Method::POST, "/api/v1/tasks/1/judge").json(&body)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("none was promoted"), "{problem}");
        for task in 1..=3 {
            assert_eq!(yard.look(&format!("/api/v1/tasks/{task}")).await["want"], "review", "{command}");
        }
    }

    // Another judge turns it round: the fewest points count. Exit codes count where no number is printed.
    let command = "test \"$(cat points.txt)\" = 'points 2'";
    let judged = yard.post("/api/v1/tasks/3/judge", json!({"command": command, "promote": true})).await;
    let chosen: Vec<&Value> = judged["items"].as_array().unwrap().iter().map(|item| &item["promoted"]).collect();
    assert_eq!(chosen, [false, true, false], "{judged}");
    for other in [1, 3] {
        let closed = yard.wait(&json!({"id": other}), "closed").await;
        assert_eq!((&closed["score"], &closed["pull"]["phase"]), (&json!(0.0), &json!("closed")), "{closed}");
        let notes = yard.said(&closed, "note", "house").await;
        assert!(notes.iter().any(|note| note.contains("Task 2 was chosen (1 against 0)")), "{notes:?}");
        let kept = yard.show("hello", &format!("refs/carrel/kept/task-{other}:points.txt")).await;
        assert_eq!(kept, format!("points {other}"));
    }
    let best = yard.act(&json!({"id": 2}), "merge", "merged").await;
    assert_eq!(best["score"], 1.0);
    assert_eq!(yard.show("hello", "main:points.txt").await, "points 2");
    let diff = yard.house.request(Method::GET, "/api/v1/tasks/2/diff").send().await.unwrap().text().await.unwrap();
    assert!(diff.contains("+points 2"), "a task that is merged still shows what it changed: {diff}");
    drop(first);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_promoted_while_an_attempt_is_at_work_or_waits_for_room() {
    let yard = Yard::with_work(|work| work.at_once = 1).await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    yard.agent("slow", "echo begun; sleep 100000").await;
    yard.task("hello", "scribe", "Earn points", "in_review").await;
    let forks = yard.post("/api/v1/tasks/1/fork", json!({"count": 2, "agent": "slow"})).await;
    yard.wait(&forks["items"][0], "working").await;
    let judge = async |promote: bool| {
        let request = yard.house.request(Method::POST, "/api/v1/tasks/1/judge");
        yard.house.ask(request.json(&json!({"command": "true", "promote": promote}))).await
    };
    let (status, problem) = judge(true).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    let said = problem["detail"].as_str().unwrap();
    assert!(said.contains("task 2 is working, 3 is queued") && said.contains("none was promoted"), "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("carrel task stop 2"), "{problem}");
    for task in 1..=3 {
        assert_eq!(yard.look(&format!("/api/v1/tasks/{task}")).await["want"], "review");
    }
    assert_eq!(judge(false).await.0, StatusCode::OK, "a judge alone may look at any time");

    // One that was stopped has had its say.
    yard.act(&json!({"id": 3}), "stop", "backlog").await;
    yard.act(&json!({"id": 2}), "stop", "backlog").await;
    let (status, judged) = judge(true).await;
    assert_eq!((status, &judged["items"][0]["promoted"]), (StatusCode::OK, &json!(true)), "{judged}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_at_a_card_that_nobody_began_all_begin_at_the_same_commit() {
    let yard = Yard::with_work(|work| work.at_once = 1).await;
    let upstream = yard.repo("hello").await;
    yard.agent("scribe", COMMITS).await;
    yard.post("/api/v1/tasks", json!({"repo": "hello", "agent": "scribe", "title": "One"})).await;
    // What is new upstream is part of it, as it is when a card is begun.
    std::fs::write(upstream.join("first.txt"), "before\n").unwrap();
    let head = commit(&upstream, "feat: before").await;
    let forks = yard.post("/api/v1/tasks/1/fork", json!({"count": 2})).await;
    std::fs::write(upstream.join("second.txt"), "in between\n").unwrap();
    commit(&upstream, "feat: in between").await;
    yard.sync("hello").await;
    for fork in forks["items"].as_array().unwrap() {
        let fork = yard.wait(fork, "in_review").await;
        assert_eq!(fork["base_commit"], head, "{fork}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_of_a_fork_is_an_attempt_at_the_same_card() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    yard.task("hello", "scribe", "Earn points", "in_review").await;
    yard.task("hello", "scribe", "Something else", "in_review").await;
    for of in [1, 3, 4] {
        let fork = yard.post(&format!("/api/v1/tasks/{of}/fork"), json!({})).await["items"][0].clone();
        assert_eq!(fork["fork_of"], of);
        yard.wait(&fork, "in_review").await;
    }
    for asked in [1, 3, 4, 5] {
        let judged = yard.post(&format!("/api/v1/tasks/{asked}/judge"), json!({"command": "true"})).await;
        let ids: Vec<&Value> = judged["items"].as_array().unwrap().iter().map(|item| &item["task_id"]).collect();
        assert_eq!(ids, [1, 3, 4, 5], "asked by {asked}: {judged}");
    }
    let archived = yard.post("/api/v1/tasks/5/promote", json!({})).await;
    assert_eq!(archived["items"], json!([1, 3, 4]));
    assert_eq!(yard.look("/api/v1/tasks/2").await["want"], "review", "it is another card");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_task_has_claimed_another_is_refused_until_it_is_given_up_or_over() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    for title in ["One", "Two"] {
        yard.post("/api/v1/tasks", json!({"repo": "hello", "agent": "scribe", "title": title})).await;
    }
    let claim = async |task: u32, body: Value| {
        let request = yard.house.request(Method::POST, &format!("/api/v1/tasks/{task}/claims")).json(&body);
        yard.house.ask(request).await
    };
    let (status, held) = claim(1, json!({"paths": ["src"]})).await;
    assert_eq!(status, StatusCode::CREATED, "{held}");
    let (status, problem) = claim(2, json!({"paths": ["docs", "src/lib.rs"]})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(problem["detail"].as_str().unwrap().contains("Task 1 (One) has claimed `src`"), "{problem}");
    assert_eq!(claim(2, json!({"paths": ["docs"]})).await.0, StatusCode::CREATED);
    assert_eq!(yard.look("/api/v1/tasks/1").await["claims"][0]["paths"], json!(["src"]), "it stands on the card");
    let areas = yard.look("/api/v1/areas?repo=hello").await;
    assert_eq!(areas["items"].as_array().unwrap().len(), 2, "{areas}");

    // Renewed by its token; a token that is not there renews nothing and gives up nothing of anybody.
    let token = &held["token"];
    let (status, renewed) = claim(1, json!({"paths": ["src", "tests"], "renews": token})).await;
    assert_eq!(status, StatusCode::CREATED, "{renewed}");
    assert!(renewed["token"].as_i64() > token.as_i64());
    assert_eq!(claim(1, json!({"paths": ["src"], "renews": token})).await.0, StatusCode::CONFLICT);
    let late = yard.house.request(Method::DELETE, &format!("/api/v1/tasks/1/claims/{token}"));
    assert_eq!(yard.house.ask(late).await.0, StatusCode::NO_CONTENT);
    assert_eq!(claim(2, json!({"paths": ["tests/a"]})).await.0, StatusCode::CONFLICT, "the newer claim still holds");
    let release = yard.house.request(Method::DELETE, &format!("/api/v1/tasks/1/claims/{}", renewed["token"]));
    assert_eq!(yard.house.ask(release).await.0, StatusCode::NO_CONTENT);
    assert_eq!(claim(2, json!({"paths": ["src/lib.rs"], "for_s": 1})).await.0, StatusCode::CREATED);
    // It ends by itself.
    while claim(1, json!({"paths": ["src"]})).await.0 != StatusCode::CREATED {}
    for bad in [json!({"paths": []}), json!({"paths": ["../x"]}), json!({"paths": ["/etc"]})] {
        assert_eq!(claim(1, bad).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    }
    yard.close().await;
}

/// A call of a tool from inside, in one line of shell.
fn tool(name: &str, arguments: &Value) -> String {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": name, "arguments": arguments, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    format!(
        "curl -s http://127.0.0.1:49980/mcp -H 'content-type: application/json' \
         -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: 2026-07-28' \
         -H 'mcp-method: tools/call' -H 'mcp-name: {name}' -d '{message}'"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_asks_a_person_claims_files_and_learns_what_is_missing_by_its_tools() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let works = format!(
        "case \"$CARREL_PROMPT\" in *blue*) echo blue >colour.txt; {done} >before.txt 2>&1; mv before.txt /tmp/; git add -A; \
         git commit -qm 'feat: blue'; {done} >/tmp/after.txt;; *) {claim} >/tmp/claim.txt; {ask} >/tmp/ask.txt; {more} >>/tmp/ask.txt;; esac",
        done = tool("task_done", &json!({})),
        claim = tool("area_claim", &json!({"paths": ["colour.txt"]})),
        ask = tool("task_ask", &json!({"question": "Which colour?"})),
        more = tool("task_ask", &json!({"question": "And the roof?"})),
    );
    yard.agent("curious", &works).await;
    let task = yard.task("hello", "curious", "Paint the shed", "needs_you").await;
    let both = json!({"reason": "question", "detail": "Which colour?\n\nAnd the roof?"});
    assert_eq!(task["needs"], both, "who asks twice wants both to be answered: {task}");
    assert_eq!(task["claims"][0]["paths"], json!(["colour.txt"]), "{task}");
    let task = yard.tell(&task, "blue", "in_review").await;
    let desk = task["sandbox_id"].as_str().unwrap();
    let read = async |path: &str| {
        yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), json!({"argv": ["cat", path]})).await["stdout"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (before, after) = (read("/tmp/before.txt").await, read("/tmp/after.txt").await);
    assert!(before.contains("There are changes that are not committed."), "{before}");
    assert!(after.contains("\"done\":true"), "{after}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_is_opened_at_a_checkpoint_and_is_nobodys_desk() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("writer", "echo \"$CARREL_PROMPT\" >>draft.txt; echo 'QUESTION: go on?'").await;
    let task = yard.task("hello", "writer", "one", "needs_you").await;
    yard.tell(&task, "two", "needs_you").await;
    let timeline = yard.timeline(&task).await;
    let saves: Vec<&Value> = timeline.as_array().unwrap().iter().filter(|item| item["kind"] == "checkpoint").collect();
    assert_eq!(saves.len(), 2, "{timeline:#}");
    let place = format!("/api/v1/tasks/1/open?from={}&wait=ready&timeout={PATIENCE}", saves[0]["seq"]);
    let opened = yard.post(&place, json!({})).await;
    assert_eq!(opened["phase"], "ready", "who waits for it finds it ready: {opened}");
    let id = opened["id"].as_str().unwrap();
    let ran =
        yard.post(&format!("/api/v1/sandboxes/{id}/execute"), json!({"command": "cat /workspace/draft.txt"})).await;
    assert_eq!(ran["stdout"], "one\n", "{ran}");
    yard.post(&format!("/api/v1/sandboxes/{id}/execute"), json!({"command": "echo gone >/workspace/draft.txt"})).await;
    yard.post(&format!("/api/v1/sandboxes/{id}/pause?wait=paused&timeout={PATIENCE}"), json!({})).await;
    let saved = git(Some(&yard.mirror("hello")), &["show", "refs/carrel/wip/1:draft.txt"]).await;
    assert_eq!(saved, "one\ntwo", "what is done there is nobody's work");
    let wrong = yard.house.request(Method::POST, "/api/v1/tasks/1/open?from=1");
    assert_eq!(yard.house.ask(wrong).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_base_got_another_name_follows_it_and_shows_what_it_changed_when_it_is_merged() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    yard.agent("scribe", "echo wish >wish.txt && git add -A && git commit -qm 'feat: a wish'").await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    git(Some(&upstream), &["branch", "-m", "main", "trunk"]).await;
    yard.sync("hello").await;
    let change = async |base: &str| {
        let request = yard.house.request(Method::PATCH, "/api/v1/tasks/1").json(&json!({"base": base}));
        yard.house.ask(request).await
    };
    let (status, problem) = change("nosuch").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    assert_eq!(yard.look("/api/v1/tasks/1").await["base"], "trunk");
    let beside = json!({"repo": "hello", "agent": "scribe", "title": "Beside", "base": "nosuch"});
    let (status, problem) = yard.house.ask(yard.house.request(Method::POST, "/api/v1/tasks").json(&beside)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    git(Some(&upstream), &["branch", "release"]).await;
    yard.sync("hello").await;
    for base in ["release", "trunk"] {
        let (status, changed) = change(base).await;
        assert_eq!((status, &changed["base"]), (StatusCode::OK, &json!(base)), "{changed}");
    }
    yard.act(&task, "merge", "merged").await;
    assert_eq!(yard.show("hello", "trunk:wish.txt").await, "wish");
    // Its branch and its saves are gone; what it changed is still known.
    let diff = yard.house.request(Method::GET, "/api/v1/tasks/1/diff").send().await.unwrap().text().await.unwrap();
    assert!(diff.contains("+wish"), "{diff}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_upstream_does_not_come_back_with_a_task_that_began_at_it() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    std::fs::write(upstream.join("leaked.txt"), "secret\n").unwrap();
    crate::yard::commit(&upstream, "feat: what should not be there").await;
    yard.sync("hello").await;
    yard.agent("scribe", "echo wish >wish.txt && git add -A && git commit -qm 'feat: a wish'").await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    git(Some(&upstream), &["reset", "-q", "--hard", "HEAD~1"]).await;
    std::fs::write(upstream.join("other.txt"), "other\n").unwrap();
    crate::yard::commit(&upstream, "feat: something else instead").await;
    yard.sync("hello").await;
    yard.act(&task, "merge", "merged").await;
    let mirror = yard.mirror("hello");
    let files = git(Some(&mirror), &["ls-tree", "-r", "--name-only", "main"]).await;
    assert!(files.contains("wish.txt") && files.contains("other.txt") && !files.contains("leaked.txt"), "{files}");
    let ever = git(Some(&mirror), &["log", "--format=", "--name-only", "main"]).await;
    assert!(!ever.contains("leaked.txt"), "{ever}");
    yard.close().await;
}
