//! Tasks from a sentence to a merged pull request: real sandboxes, real git, agents that are shell commands.

use std::time::Duration;

use carrel_testkit::Setup;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::yard::{Yard, engine, git};

mod dialects;
mod ends;
mod failures;
mod hearing;
mod many;
mod own;
mod programs;
mod queue;
mod radar;
mod reports;
mod rules;
mod sessions;
mod sleep;
mod stray;

/// Far beyond what a slow machine needs: a test that waits longer hangs.
pub(crate) const PATIENCE: &str = "300";

impl Yard {
    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.house.ask(self.house.request(Method::POST, path).json(&body)).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    pub(crate) async fn look(&self, path: &str) -> Value {
        let (status, answer) = self.house.ask(self.house.request(Method::GET, path)).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer
    }

    /// An empty repository that lives here.
    pub(crate) async fn hosted(&self, name: &str, rules: Value) {
        let mut body = json!({"name": name, "new": true});
        body.as_object_mut().unwrap().extend(rules.as_object().cloned().unwrap());
        self.post("/api/v1/repos", body).await;
    }

    pub(crate) async fn agent(&self, name: &str, command: &str) {
        self.post("/api/v1/agents", json!({"name": name, "dialect": "shell", "command": command})).await;
    }

    /// Writes a card, starts it, and waits until it is where it should be.
    pub(crate) async fn task(&self, repo: &str, agent: &str, title: &str, phase: &str) -> Value {
        let body = json!({"repo": repo, "agent": agent, "title": title, "start": true});
        let task = self.post(&format!("/api/v1/tasks?wait={phase}&timeout={PATIENCE}"), body).await;
        self.expect(&task, phase).await;
        task
    }

    pub(crate) async fn act(&self, task: &Value, verb: &str, phase: &str) -> Value {
        let path = format!("/api/v1/tasks/{}/{verb}?wait={phase}&timeout={PATIENCE}", task["id"]);
        let task = self.post(&path, json!({})).await;
        self.expect(&task, phase).await;
        task
    }

    pub(crate) async fn tell(&self, task: &Value, text: &str, phase: &str) -> Value {
        let path = format!("/api/v1/tasks/{}/message?wait={phase}&timeout={PATIENCE}", task["id"]);
        let task = self.post(&path, json!({"text": text})).await;
        self.expect(&task, phase).await;
        task
    }

    pub(crate) async fn wait(&self, task: &Value, phase: &str) -> Value {
        let path = format!("/api/v1/tasks/{}?wait={phase}&timeout={PATIENCE}", task["id"]);
        let task = self.look(&path).await;
        self.expect(&task, phase).await;
        task
    }

    pub(crate) async fn expect(&self, task: &Value, phase: &str) {
        assert_eq!(task["phase"], phase, "{task:#}\n{:#}", self.timeline(task).await);
    }

    pub(crate) async fn timeline(&self, task: &Value) -> Value {
        self.look(&format!("/api/v1/tasks/{}/timeline?limit=1000", task["id"])).await["items"].clone()
    }

    /// What was said by somebody, one after the other.
    pub(crate) async fn said(&self, task: &Value, kind: &str, role: &str) -> Vec<String> {
        let items = self.timeline(task).await;
        let fits = |item: &&Value| item["kind"] == kind && item["role"] == role;
        items.as_array().unwrap().iter().filter(fits).map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn show(&self, repo: &str, what: &str) -> String {
        git(Some(&self.mirror(repo)), &["show", what]).await
    }
}

pub(crate) const COMMITS: &str = "echo \"$CARREL_PROMPT\" >>wishes.txt && git add -A && git commit -qm 'feat: a wish'";

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_becomes_a_merged_pull() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    assert_eq!((&task["branch"], &task["base"], &task["ahead"]), (&json!("task-1"), &json!("main"), &json!(1)));
    assert_eq!((&task["pull"]["number"], &task["pull"]["phase"]), (&json!(1), &json!("mergeable")), "{task}");
    let head = git(Some(&yard.mirror("hello")), &["rev-parse", "task-1"]).await;
    assert_eq!(task["head"], head, "the remote's head is the card's");
    let diff = yard.house.request(Method::GET, "/api/v1/tasks/1/diff").send().await.unwrap();
    assert!(diff.headers()["content-type"].to_str().unwrap().starts_with("text/x-diff"));
    assert!(diff.text().await.unwrap().contains("+Write down a wish"));
    let saves = yard.said(&task, "checkpoint", "house").await;
    assert_eq!(saves, ["The work was saved: wishes.txt changed."]);

    let merged = yard.act(&task, "merge", "merged").await;
    assert_eq!(merged["pull"]["phase"], "merged");
    assert_eq!(yard.show("hello", "main:wishes.txt").await, "Write down a wish");
    let subject = git(Some(&yard.mirror("hello")), &["log", "-1", "--format=%s", "main"]).await;
    assert_eq!(subject, "feat: write down a wish (#1)");
    // The desk ends with its task, and the branch and the saves went with the merge. The commits that were squashed have a
    // name of the house's own.
    while !yard.look("/api/v1/tasks/1").await["sandbox_id"].is_null() {}
    let refs = git(Some(&yard.mirror("hello")), &["for-each-ref", "--format=%(refname)"]).await;
    assert_eq!(refs, "refs/carrel/pulls/embedded/1\nrefs/heads/main");
    assert_eq!(yard.show("hello", "refs/carrel/pulls/embedded/1:wishes.txt").await, "Write down a wish");
    let desk = task["sandbox_id"].as_str().unwrap();
    let gone = yard.look(&format!("/api/v1/sandboxes/{desk}")).await;
    assert_eq!(gone["want"], "gone", "{gone}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_leaves_uncommitted_is_committed_for_it() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("sloppy", "echo new >new.txt; echo ignored >x.log; echo Done.").await;
    let task = yard.task("hello", "sloppy", "Add a file", "in_review").await;
    let shape = "--format=%an|%s|%(trailers:key=Carrel-Task)";
    let told = git(Some(&yard.mirror("hello")), &["log", "-1", shape, "task-1"]).await;
    assert!(told.starts_with("sloppy|") && told.contains("add a file"), "{told}");
    assert!(told.to_lowercase().contains("carrel-task: 1"), "{told}");
    assert_eq!(yard.show("hello", "task-1:new.txt").await, "new");
    let files = git(Some(&yard.mirror("hello")), &["ls-tree", "-r", "--name-only", "task-1"]).await;
    assert!(!files.contains("x.log"), "{files}");
    assert_eq!(yard.said(&task, "message", "agent").await, ["Done."]);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_done_and_did_nothing_is_told_so_and_then_a_person_is_asked() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    // Works only when somebody insists by name.
    yard.agent("lazy", &format!("case \"$CARREL_PROMPT\" in *please*) {COMMITS};; *) echo I have finished.;; esac"))
        .await;
    let task = yard.task("hello", "lazy", "Do something", "needs_you").await;
    assert_eq!(task["needs"]["reason"], "nothing_changed", "{task}");
    let told = yard.said(&task, "message", "house").await;
    assert_eq!(told.len(), 2, "it was told twice: {told:?}");
    assert!(told[0].contains("there is no commit on `task-1`"), "{told:?}");
    assert!(task["pull"].is_null());
    let task = yard.tell(&task, "please write it down", "in_review").await;
    assert_eq!(task["needs"], Value::Null);
    assert!(yard.show("hello", "task-1:wishes.txt").await.contains("please"));
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_a_person_and_the_answer_goes_on() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let asks = format!("case \"$CARREL_PROMPT\" in *blue*) {COMMITS};; *) echo 'QUESTION: which colour?';; esac");
    yard.agent("curious", &asks).await;
    let task = yard.task("hello", "curious", "Paint the shed", "needs_you").await;
    assert_eq!(task["needs"], json!({"reason": "question", "detail": "which colour?"}), "{task}");
    yard.tell(&task, "blue", "in_review").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_change_the_same_line_are_told_and_the_second_rebases() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    // Settles what it is told about; else changes the first line.
    let edits = "case \"$CARREL_PROMPT\" in \
        *'has moved on'*) git fetch -q origin && { git rebase -q origin/main || { git checkout -q --theirs README.md; git add -A; GIT_EDITOR=true git rebase --continue; }; };; \
        *) echo \"# $CARREL_PROMPT\" >README.md && git commit -qam 'docs: a title';; esac";
    yard.agent("painter", edits).await;
    let one = yard.task("hello", "painter", "Red", "in_review").await;
    let two = yard.task("hello", "painter", "Blue", "in_review").await;
    let clash = |task: &Value, other: &Value| {
        let listed = task["conflicts"].as_array().unwrap();
        listed.iter().any(|one| one["task_id"] == other["id"] && one["paths"] == json!(["README.md"]))
    };
    // The forecast runs beside: it is there once both cards tell of it.
    let (mut first, mut second) = (one.clone(), two.clone());
    while !clash(&first, &second) || !clash(&second, &first) {
        first = yard.look(&format!("/api/v1/tasks/{}", one["id"])).await;
        second = yard.look(&format!("/api/v1/tasks/{}", two["id"])).await;
    }
    yard.act(&one, "merge", "merged").await;
    // The lane refuses; its agent settles it; then it goes in.
    let refused = yard.post(&format!("/api/v1/tasks/{}/merge", two["id"]), json!({})).await;
    assert_eq!(refused["want"], "merged");
    let path = format!("/api/v1/tasks/{}", two["id"]);
    loop {
        let now = yard.look(&path).await;
        let told = yard.said(&two, "message", "house").await;
        if now["phase"] == "in_review" && now["want"] == "review" && !told.is_empty() {
            assert!(told[0].contains("conflicts with it in: README.md"), "{told:?}");
            break;
        }
        assert_ne!(now["phase"], "needs_you", "{now:#} {:#}", yard.timeline(&two).await);
    }
    yard.act(&two, "merge", "merged").await;
    assert_eq!(yard.show("hello", "main:README.md").await, "# Blue");
    let log = git(Some(&yard.mirror("hello")), &["log", "--format=%s", "main"]).await;
    assert!(log.contains("red") && log.contains("blue"), "{log}");
    // How it was settled is known from now on.
    let known = std::fs::read_dir(yard.mirror("hello").join("rr-cache")).unwrap().flatten();
    let mut answers = known.flat_map(|entry| std::fs::read_dir(entry.path()).unwrap().flatten());
    assert!(answers.any(|file| file.file_name().to_string_lossy().starts_with("postimage")), "nothing was learnt");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_that_is_lost_goes_on_from_its_last_save() {
    let yard = Yard::with_work(|work| work.save_every = Duration::from_millis(300)).await;
    yard.hosted("hello", json!({})).await;
    // The first time it waits forever after a while of work; at the second desk it finds what it did.
    let works = "if test -e half.txt; then echo whole >>half.txt; git add -A; git commit -qm 'feat: whole'; \
        else echo half >half.txt; sleep 100000; fi";
    yard.agent("slow", works).await;
    let task = yard.task("hello", "slow", "Take your time", "working").await;
    let mirror = yard.mirror("hello");
    let saved = || async {
        let refs = git(Some(&mirror), &["for-each-ref", "--format=%(objectname)", "refs/carrel/wip/1"]).await;
        !refs.is_empty() && git(Some(&mirror), &["ls-tree", "--name-only", &refs]).await.contains("half.txt")
    };
    while !saved().await {}
    let desk = yard.look("/api/v1/tasks/1").await["sandbox_id"].as_str().unwrap().to_owned();
    let (status, _) = yard.house.ask(yard.house.request(Method::DELETE, &format!("/api/v1/sandboxes/{desk}"))).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let task = yard.wait(&task, "in_review").await;
    assert_ne!(task["sandbox_id"], desk, "another desk");
    assert_eq!(yard.show("hello", "task-1:half.txt").await, "half\nwhole");
    let notes = yard.said(&task, "note", "house").await;
    assert!(notes.iter().any(|note| note.contains("goes on from the last save")), "{notes:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_for_a_closed_task_is_kept() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("curious", "echo draft >draft.txt; echo 'QUESTION: go on?'").await;
    let task = yard.task("hello", "curious", "Begin", "needs_you").await;
    let closed = yard.act(&task, "close", "closed").await;
    assert_eq!(yard.show("hello", "refs/carrel/kept/task-1:draft.txt").await, "draft");
    let notes = yard.said(&closed, "note", "house").await;
    assert!(notes.iter().any(|note| note.contains("refs/carrel/kept/task-1")), "{notes:?}");
    // Nothing more can be wanted of it.
    let (status, problem) =
        yard.house.ask(yard.house.request(Method::POST, "/api/v1/tasks/1/start").json(&json!({}))).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_stopped_rests_in_the_backlog_and_goes_on_when_started() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let works = "if test -e half.txt; then git add -A; git commit -qm 'feat: whole'; else echo half >half.txt; echo begun; sleep 100000; fi";
    yard.agent("slow", works).await;
    let task = yard.task("hello", "slow", "Take your time", "working").await;
    while yard.said(&task, "message", "agent").await.is_empty() {}
    let stopped = yard.act(&task, "stop", "backlog").await;
    assert_eq!(stopped["want"], "rest");
    yard.tell(&task, "go on", "backlog").await;
    let task = yard.act(&task, "start", "in_review").await;
    // Whoever was stopped is gone, with everything that it ran.
    let desk = task["sandbox_id"].as_str().unwrap();
    let body = json!({"command": "pgrep -fc 'sleep 10000[0]' || true"});
    let left = yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), body).await;
    assert_eq!(left["stdout"].as_str().unwrap().trim(), "0", "{left}");
    assert_eq!(yard.show("hello", "task-1:half.txt").await, "half");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_go_when_it_is_stopped_is_ended() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("polite", "trap 'echo goodbye; exit 0' TERM; sleep 100000 & echo begun; wait").await;
    yard.agent("deaf", "trap '' TERM; echo begun; exec >/dev/null 2>&1; while :; do sleep 100000; done").await;
    for agent in ["polite", "deaf"] {
        let task = yard.task("hello", agent, "Take your time", "working").await;
        while yard.said(&task, "message", "agent").await.is_empty() {}
        let stopped = yard.act(&task, "stop", "backlog").await;
        let said = yard.said(&task, "message", "agent").await;
        // Whether last words come in time is a matter of the machine.
        assert!(["begun", "goodbye"].contains(&said.last().unwrap().as_str()), "{agent}: {said:?}");
        let desk = stopped["sandbox_id"].as_str().unwrap();
        let body = json!({"command": "pgrep -fc 'sleep 10000[0]' || true"});
        let left = yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), body).await;
        assert_eq!(left["stdout"].as_str().unwrap().trim(), "0", "{agent}: {left}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_fails_sends_the_task_back_with_what_it_printed() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({"check_command": "echo looking; grep -q good state.txt"})).await;
    let works = "case \"$CARREL_PROMPT\" in *'check of the merged result fails'*) echo good >state.txt;; *) echo bad >state.txt;; esac; git add -A; git commit -qm 'feat: a state'";
    yard.agent("fixer", works).await;
    let task = yard.task("hello", "fixer", "Set the state", "in_review").await;
    yard.post("/api/v1/tasks/1/merge", json!({})).await;
    loop {
        let now = yard.look("/api/v1/tasks/1").await;
        if now["phase"] == "in_review" && now["want"] == "review" {
            break;
        }
        assert_ne!(now["phase"], "needs_you", "{now:#} {:#}", yard.timeline(&task).await);
    }
    let told = yard.said(&task, "message", "house").await;
    assert!(told[0].contains("looking"), "{told:?}");
    yard.act(&task, "merge", "merged").await;
    assert_eq!(yard.show("hello", "main:state.txt").await, "good");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_wait_for_each_other_and_for_room() {
    let yard = Yard::with_work(|work| work.at_once = 1).await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let one = yard.post("/api/v1/tasks", json!({"repo": "hello", "agent": "scribe", "title": "One"})).await;
    let two =
        json!({"repo": "hello", "agent": "scribe", "title": "Two", "start": true, "depends_on": [{"task_id": 1}]});
    let two = yard.post("/api/v1/tasks", two).await;
    let three = json!({"repo": "hello", "agent": "scribe", "title": "Three", "start": true, "depends_on": [{"task_id": 1, "until": "in_review"}]});
    let three = yard.post("/api/v1/tasks", three).await;
    let circle = json!({"depends_on": [{"task_id": 2}]});
    let request = yard.house.request(Method::PATCH, "/api/v1/tasks/1").json(&circle);
    let (status, problem) = yard.house.ask(request).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    assert!(problem["errors"][0]["detail"].as_str().unwrap().contains("circle"), "{problem}");

    yard.act(&one, "start", "in_review").await;
    yard.wait(&three, "in_review").await;
    assert_eq!(yard.look("/api/v1/tasks/2").await["phase"], "queued", "it waits until the first is merged");
    yard.act(&one, "merge", "merged").await;
    yard.wait(&two, "in_review").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_behind_hundreds_who_cannot_go() {
    let yard = Yard::with_work(|work| work.at_once = 1).await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    // It is never started, and more wait for it than are read at a time.
    yard.post("/api/v1/tasks", json!({"repo": "hello", "agent": "scribe", "title": "One"})).await;
    for number in 0..501 {
        let waits = json!({"repo": "hello", "agent": "scribe", "title": format!("Waits {number}"), "start": true,
                           "depends_on": [{"task_id": 1}]});
        yard.post("/api/v1/tasks", waits).await;
    }
    let free = json!({"repo": "hello", "agent": "scribe", "title": "Free", "start": true});
    let free = yard.post("/api/v1/tasks", free).await;
    yard.wait(&free, "in_review").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_writes_one_card() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let ask = || {
        let request = yard.house.request(Method::POST, "/api/v1/tasks").header("Idempotency-Key", "once");
        request.json(&json!({"repo": "hello", "agent": "scribe", "title": "One"}))
    };
    let (first, second) = (yard.house.ask(ask()).await, yard.house.ask(ask()).await);
    assert_eq!(first.1["id"], second.1["id"]);
    let other = yard.post("/api/v1/tasks", json!({"repo": "hello", "agent": "scribe", "title": "Two"})).await;
    assert_eq!(other["id"], 2, "no number is lost");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_has_a_desk_and_answers() {
    let yard = Yard::open().await;
    yard.agent("echo", "echo \"You said: $CARREL_PROMPT\"").await;
    let session = yard.post("/api/v1/sessions", json!({"agent": "echo", "title": "A talk"})).await;
    assert!(session["sandbox_id"].is_string(), "{session}");
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
    yard.post(&format!("{path}/messages"), json!({"text": "hello"})).await;
    let answered = |items: &Value| items.as_array().unwrap().iter().any(|item| item["role"] == "agent");
    let mut items = json!([]);
    while !answered(&items) {
        items = yard.look(&format!("{path}/messages")).await["items"].clone();
    }
    let answer = items.as_array().unwrap().iter().find(|item| item["role"] == "agent").unwrap();
    assert!(answer["text"].as_str().unwrap().contains("hello"), "{answer}");
    let found = yard.look(&format!("{path}/messages?q=hello")).await;
    assert!(!found["items"].as_array().unwrap().is_empty());
    while yard.look(&path).await["busy"] == true {}
    let paused = yard.post(&format!("{path}/sandbox/pause"), json!({})).await;
    assert_eq!(paused["want"], "paused");
    assert_eq!(yard.look(&path).await["phase"], "idle");
    // The next word wakes it.
    yard.post(&format!("{path}/messages"), json!({"text": "again"})).await;
    let second = |items: &Value| items.as_array().unwrap().iter().filter(|item| item["role"] == "agent").count() > 1;
    while !second(&items) {
        items = yard.look(&format!("{path}/messages")).await["items"].clone();
    }
    let (status, closed) = yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    assert_eq!((status, &closed["phase"]), (StatusCode::OK, &json!("closed")));
    yard.close().await;
}

impl Yard {
    /// A house that gives out work in its own way.
    pub(crate) async fn with_work(edit: impl FnOnce(&mut carrel_control::Workload)) -> Yard {
        let mut setup = Setup { engine: Some(engine()), ..Setup::default() };
        edit(&mut setup.work);
        Yard::built(setup).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_leaves_running_holds_up_nobody() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("server", &format!("(while :; do echo still; sleep 1; done) & {COMMITS}; echo Done.")).await;
    let task = yard.task("hello", "server", "Start a server", "in_review").await;
    assert!(yard.said(&task, "message", "agent").await.iter().any(|said| said.contains("Done.")));
    yard.close().await;
}
