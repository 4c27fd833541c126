//! What is done in a session, and at a desk that somebody pauses or ends, is never lost.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::PATIENCE;
use crate::yard::{Yard, git};

const NOTES: &str = "echo \"$CARREL_PROMPT\" >>notes.txt; echo noted";

impl Yard {
    /// A conversation with a repository on its desk; its address.
    async fn session(&self, agent: &str, repo: &str) -> (Value, String) {
        let session = self.post("/api/v1/sessions", json!({"agent": agent, "repo": repo})).await;
        let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
        (session, path)
    }

    /// Says something, and waits for the end of the answer.
    async fn converse(&self, path: &str, text: &str) {
        self.post(&format!("{path}/messages"), json!({"text": text})).await;
        while self.look(path).await["busy"] == true {}
    }

    async fn notes(&self, path: &str) -> Vec<String> {
        let items = self.look(&format!("{path}/messages?limit=1000")).await["items"].clone();
        let notes = items.as_array().unwrap().iter().filter(|item| item["kind"] == "note");
        notes.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    /// What stands in a file of a ref; nothing when there is no such ref or file.
    async fn stands(&self, repo: &str, reference: &str, path: &str) -> Option<String> {
        let mirror = self.mirror(repo);
        let commit = git(Some(&mirror), &["for-each-ref", "--format=%(objectname)", reference]).await;
        if commit.is_empty() || !git(Some(&mirror), &["ls-tree", "-r", "--name-only", &commit]).await.contains(path) {
            return None;
        }
        Some(self.show(repo, &format!("{commit}:{path}")).await)
    }

    pub(super) async fn inside(&self, desk: &str, command: &str) -> String {
        let ran = self.post(&format!("/api/v1/sandboxes/{desk}/execute"), json!({"command": command})).await;
        assert_eq!(ran["exit_code"], 0, "{ran}");
        ran["stdout"].as_str().unwrap().trim_end().to_owned()
    }
}

fn wip(session: &Value) -> String {
    format!("refs/carrel/wip/session-{}", session["id"].as_str().unwrap().trim_start_matches("ses_"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_did_is_saved_after_each_turn_and_kept_when_it_is_closed() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("writer", NOTES).await;
    let (session, path) = yard.session("writer", "hello").await;
    yard.converse(&path, "one").await;
    let desk = yard.look(&format!("{path}/sandbox/status")).await;
    assert_eq!((&desk["id"], &desk["status"]), (&session["sandbox_id"], &json!("running")), "{desk}");
    assert_eq!(yard.stands("hello", &wip(&session), "notes.txt").await.as_deref(), Some("one"));
    let items = yard.look(&format!("{path}/messages")).await["items"].clone();
    let saved = items.as_array().unwrap().iter().find(|item| item["kind"] == "checkpoint").expect("a checkpoint");
    assert_eq!(saved["files"], json!(["notes.txt"]), "{saved}");

    // What a person does there by hand is kept as well.
    let desk = session["sandbox_id"].as_str().unwrap();
    yard.inside(desk, "echo by hand >/workspace/hand.txt").await;
    let (status, closed) = yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    assert_eq!((status, &closed["phase"]), (StatusCode::OK, &json!("closed")), "{closed}");
    let kept = wip(&session).replace("/wip/", "/kept/");
    assert_eq!(yard.stands("hello", &kept, "hand.txt").await.as_deref(), Some("by hand"));
    assert_eq!(yard.stands("hello", &wip(&session), "notes.txt").await, None, "the save itself is not needed any more");
    let notes = yard.notes(&path).await;
    assert!(notes.iter().any(|note| note.contains(&kept) && note.contains("hand.txt, notes.txt")), "{notes:?}");
    assert_eq!(yard.look(&format!("/api/v1/sandboxes/{desk}")).await["want"], "gone");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_desk_was_paused_and_ended_goes_on_from_its_save() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("writer", NOTES).await;
    let (session, path) = yard.session("writer", "hello").await;
    yard.converse(&path, "one").await;
    let desk = session["sandbox_id"].as_str().unwrap().to_owned();
    yard.inside(&desk, "echo unsaid >/workspace/unsaid.txt").await;
    yard.post(&format!("/api/v1/sandboxes/{desk}/pause?wait=paused&timeout={PATIENCE}"), json!({})).await;
    assert_eq!(yard.stands("hello", &wip(&session), "unsaid.txt").await.as_deref(), Some("unsaid"));
    let (status, _) = yard.house.ask(yard.house.request(Method::DELETE, &format!("/api/v1/sandboxes/{desk}"))).await;
    assert_eq!(status, StatusCode::NO_CONTENT);

    yard.converse(&path, "two").await;
    let now = yard.look(&path).await;
    assert_ne!(now["sandbox_id"], desk, "another desk");
    let notes = yard.notes(&path).await;
    assert!(notes.iter().any(|note| note.contains("a new one goes on from the last save")), "{notes:?}");
    let desk = now["sandbox_id"].as_str().unwrap();
    assert_eq!(yard.inside(desk, "cat /workspace/notes.txt /workspace/unsaid.txt").await, "one\ntwo\nunsaid");
    assert_eq!(yard.stands("hello", &wip(&session), "notes.txt").await.as_deref(), Some("one\ntwo"));
    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    yard.close().await;
}

impl Yard {
    /// Everything below the folder of the house that the desks wrote to files of this name.
    fn written(&self, name: &str) -> Vec<std::path::PathBuf> {
        let (mut found, mut folders) = (Vec::new(), vec![self.house.folder().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(kind) if kind.is_file() && path.ends_with(name) => found.push(path),
                    _ => {}
                }
            }
        }
        found
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_that_comes_back_wrong_is_left_behind_for_one_from_the_last_save() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("writer", &format!("{NOTES}; git add -A; git commit -qm 'docs: noted'; echo loose >>loose.txt")).await;
    let (session, path) = yard.session("writer", "hello").await;
    let branch = format!("session-{}", session["id"].as_str().unwrap().trim_start_matches("ses_"));
    let base = git(Some(&yard.mirror("hello")), &["rev-parse", "main"]).await;
    // The branch is back where it began; another one is checked out; nothing can be read.
    type Deed<'a> = &'a dyn Fn(&std::path::Path);
    let sabotage: [(&str, Deed<'_>); 3] = [
        ("it came back at", &|git| std::fs::write(git.join("refs/heads").join(&branch), format!("{base}\n")).unwrap()),
        ("it came back on `elsewhere`", &|git| {
            std::fs::copy(git.join("refs/heads").join(&branch), git.join("refs/heads/elsewhere")).unwrap();
            std::fs::write(git.join("HEAD"), "ref: refs/heads/elsewhere\n").unwrap();
        }),
        ("it came back without its checkout", &|git| std::fs::write(git.join("HEAD"), "nonsense\n").unwrap()),
    ];
    let mut said = String::new();
    for (round, (words, break_it)) in sabotage.into_iter().enumerate() {
        yard.converse(&path, "one more").await;
        said.push_str("one more\n");
        let desk = yard.look(&path).await["sandbox_id"].as_str().unwrap().to_owned();
        let head = yard.inside(&desk, "cd /workspace && git rev-parse HEAD").await;
        yard.post(&format!("/api/v1/sandboxes/{desk}/pause?wait=paused&timeout={PATIENCE}"), json!({"depth": "files"}))
            .await;
        let refs = yard.written(&format!(".git/refs/heads/{branch}"));
        let mine = refs.iter().find(|file| std::fs::read_to_string(file).is_ok_and(|text| text.trim() == head));
        let mine = mine.unwrap_or_else(|| panic!("where is {branch} of {desk}? {refs:?}"));
        break_it(mine.ancestors().nth(3).unwrap());

        yard.converse(&path, "and another").await;
        said.push_str("and another\n");
        let now = yard.look(&path).await["sandbox_id"].as_str().unwrap().to_owned();
        assert_ne!(now, desk, "{round}: another desk; {:?}", yard.notes(&path).await);
        let notes = yard.notes(&path).await;
        let told = notes.iter().filter(|note| note.contains(words) && note.contains("goes on from the last save"));
        assert_eq!(told.count(), 1, "{round} {words}: {notes:?}");
        assert_eq!(format!("{}\n", yard.inside(&now, "cat /workspace/notes.txt").await), said, "{round}");
        let begun = yard.inside(&now, "cd /workspace && git rev-parse HEAD~1 && git symbolic-ref --short HEAD").await;
        assert_eq!(begun, format!("{head}\n{branch}"), "{round}: it went on from where it was");
        let lines = yard.inside(&now, "wc -l </workspace/loose.txt").await;
        assert_eq!(lines.trim(), (2 * round + 2).to_string(), "{round}: also what was not committed");
    }
    // One that comes back as it was left stays.
    let desk = yard.look(&path).await["sandbox_id"].clone();
    let place = format!("/api/v1/sandboxes/{}/pause?wait=paused&timeout={PATIENCE}", desk.as_str().unwrap());
    yard.post(&place, json!({"depth": "files"})).await;
    yard.converse(&path, "the last").await;
    assert_eq!(yard.look(&path).await["sandbox_id"], desk);
    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_pushes_nothing_but_its_own_saves() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let tries = "git commit -q --allow-empty -m 'docs: nothing'; for to in refs/heads/main refs/heads/session-x refs/carrel/wip/1 refs/carrel/wip/session-0000000000000000; do \
        git push -q origin HEAD:$to 2>&1 | grep -c 'has no branch to push to'; done";
    yard.agent("pusher", tries).await;
    let (_, path) = yard.session("pusher", "hello").await;
    yard.converse(&path, "try").await;
    let items = yard.look(&format!("{path}/messages")).await["items"].clone();
    let said: Vec<&str> = items
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["role"] == "agent")
        .filter_map(|item| item["text"].as_str())
        .collect();
    assert_eq!(said.join("\n").lines().filter(|line| line.trim() != "0").count(), 4, "{said:?}");
    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_that_is_paused_under_its_agent_says_so_and_a_message_wakes_it() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let works = "echo half >half.txt; echo begun; until test -e /tmp/go; do sleep 0.1; done; \
        git add -A; git commit -qm 'feat: whole' || true";
    yard.agent("slow", works).await;
    let task = yard.task("hello", "slow", "Take your time", "working").await;
    while yard.said(&task, "message", "agent").await.is_empty() {}
    let desk = yard.look("/api/v1/tasks/1").await["sandbox_id"].as_str().unwrap().to_owned();
    yard.post(&format!("/api/v1/sandboxes/{desk}/pause?wait=paused&timeout={PATIENCE}"), json!({})).await;
    while yard.look("/api/v1/tasks/1").await["doing"] != "its desk is paused" {}
    assert_eq!(yard.stands("hello", "refs/carrel/wip/1", "half.txt").await.as_deref(), Some("half"));
    let notes = yard.said(&task, "note", "house").await;
    assert!(notes.iter().any(|note| note.starts_with("The desk was paused")), "{notes:?}");

    yard.post("/api/v1/tasks/1/message", json!({"text": "go on"})).await;
    while !yard.said(&task, "note", "house").await.iter().any(|note| note.starts_with("The desk is awake")) {}
    yard.inside(&desk, "touch /tmp/go").await;
    yard.wait(&task, "in_review").await;
    yard.close().await;
}

impl Yard {
    /// The moments of a conversation that are of a kind.
    async fn moments(&self, path: &str, kind: &str) -> Vec<Value> {
        let items = self.look(&format!("{path}/messages?limit=1000")).await["items"].clone();
        items.as_array().unwrap().iter().filter(|item| item["kind"] == kind).cloned().collect()
    }

    /// What the agent said in a conversation.
    async fn answers(&self, path: &str) -> Vec<String> {
        let said = self.moments(path, "message").await.into_iter().filter(|item| item["role"] == "agent");
        said.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    async fn refused(&self, method: Method, path: &str) -> StatusCode {
        self.house.ask(self.house.request(method, path)).await.0
    }

    async fn patch_of(&self, path: &str) -> String {
        let answer = self.house.request(Method::GET, path).send().await.unwrap();
        assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/x-diff"), "{answer:?}");
        answer.text().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_broken_off_and_what_is_said_instead_is_read_next() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let works = "case \"$CARREL_PROMPT\" in *wait*) echo half >>half.txt; echo working; until test -e /tmp/go; do sleep 0.1; done; \
        echo never;; *) echo \"heard $CARREL_PROMPT\";; esac";
    yard.agent("slow", works).await;
    let (_, path) = yard.session("slow", "hello").await;
    let interrupt = format!("{path}/interrupt");
    assert_eq!(yard.refused(Method::POST, &interrupt).await, StatusCode::CONFLICT, "nobody works on an answer");

    yard.post(&format!("{path}/messages"), json!({"text": "wait for me"})).await;
    while yard.answers(&path).await.is_empty() {}
    let stopped = yard.post(&interrupt, json!({})).await;
    assert_eq!(
        (&stopped["busy"], &stopped["turns"]),
        (&json!(false), &json!(1)),
        "it is over when that is answered: {stopped}"
    );
    assert_eq!(yard.answers(&path).await, ["working"], "and is not asked again");
    let notes = yard.notes(&path).await;
    assert_eq!(notes.iter().filter(|note| note.ends_with("stopped it.")).count(), 1, "{notes:?}");
    let saves = yard.moments(&path, "checkpoint").await;
    assert_eq!(saves[0]["files"], json!(["half.txt"]), "what was done so far stays: {saves:?}");

    yard.post(&format!("{path}/messages"), json!({"text": "wait again"})).await;
    while yard.answers(&path).await.len() < 2 {}
    yard.post(&interrupt, json!({"text": "tell me"})).await;
    while yard.look(&path).await["busy"] == true {}
    assert_eq!(yard.answers(&path).await, ["working", "working", "heard tell me"]);

    // What is said in the middle of a turn that is then broken off is read as well.
    yard.post(&format!("{path}/messages"), json!({"text": "wait once more"})).await;
    while yard.answers(&path).await.len() < 4 {}
    yard.post(&format!("{path}/messages"), json!({"text": "said meanwhile"})).await;
    yard.post(&interrupt, json!({})).await;
    while yard.look(&path).await["busy"] == true {}
    assert_eq!(yard.answers(&path).await.last().unwrap(), "heard said meanwhile");
    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    assert_eq!(yard.refused(Method::POST, &interrupt).await, StatusCode::CONFLICT, "it is closed");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_turn_of_a_session_is_a_checkpoint_to_compare_with_to_open_and_to_go_on_from() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("writer", &format!("case \"$CARREL_PROMPT\" in look*) echo looked;; *) {NOTES};; esac")).await;
    let (session, path) = yard.session("writer", "hello").await;
    for text in ["look around", "one", "two"] {
        yard.converse(&path, text).await;
    }
    let saves = yard.moments(&path, "checkpoint").await;
    assert_eq!(saves.len(), 3, "also a turn that changed nothing: {saves:?}");
    assert!(saves[0]["commit"].is_string() && saves[0]["files"].is_null(), "{saves:?}");
    assert_eq!(saves[1]["files"], json!(["notes.txt"]));

    let all = yard.patch_of(&format!("{path}/diff")).await;
    assert!(all.contains("+one\n+two"), "{all}");
    let since = yard.patch_of(&format!("{path}/diff?from={}", saves[1]["seq"])).await;
    assert!(since.contains("\n one\n+two"), "{since}");
    let until = yard.patch_of(&format!("{path}/diff?to={}", saves[1]["seq"])).await;
    assert!(until.contains("+one") && !until.contains("two"), "{until}");
    assert_eq!(yard.refused(Method::GET, &format!("{path}/diff?from=1")).await, StatusCode::NOT_FOUND);
    let files = yard.look(&format!("{path}/diff/files?from={}", saves[1]["seq"])).await;
    assert_eq!(
        (&files["items"][0]["path"], &files["items"][0]["additions"]),
        (&json!("notes.txt"), &json!(1)),
        "{files}"
    );
    let named = yard.patch_of(&format!("{path}/diff?path=notes.txt&renames=false")).await;
    assert!(named.contains("+one\n+two"), "{named}");

    let opened = yard.post(&format!("{path}/open?from={}", saves[1]["seq"]), json!({})).await;
    let desk = opened["id"].as_str().unwrap();
    while yard.look(&format!("/api/v1/sandboxes/{desk}")).await["phase"] != "ready" {}
    assert_eq!(yard.inside(desk, "cat /workspace/notes.txt").await, "one");
    let wrong = format!("{path}/open?from=1");
    assert_eq!(yard.refused(Method::POST, &wrong).await, StatusCode::UNPROCESSABLE_ENTITY);

    let fork = yard.post(&format!("{path}/fork"), json!({"from": saves[1]["seq"], "title": "Another way"})).await;
    assert_eq!(
        (&fork["fork_of"], &fork["repo"], &fork["title"]),
        (&session["id"], &json!("hello"), &json!("Another way"))
    );
    let there = format!("/api/v1/sessions/{}", fork["id"].as_str().unwrap());
    assert_eq!(yard.answers(&there).await, ["looked", "noted"], "what was said until then, and no more");
    let notes = yard.notes(&there).await;
    assert!(notes.iter().any(|note| note.contains(session["id"].as_str().unwrap())), "{notes:?}");
    yard.converse(&there, "three").await;
    let desk = yard.look(&there).await["sandbox_id"].as_str().unwrap().to_owned();
    assert_eq!(yard.inside(&desk, "cat /workspace/notes.txt").await, "one\nthree");
    let forked = yard.moments(&there, "checkpoint").await;
    assert_eq!((forked.len(), &forked[2]["files"]), (3, &json!(["notes.txt"])), "{forked:?}");
    assert!(yard.patch_of(&format!("{there}/diff")).await.contains("+one\n+three"), "against where it all began");
    let desk = session["sandbox_id"].as_str().unwrap();
    assert_eq!(yard.inside(desk, "cat /workspace/notes.txt").await, "one\ntwo", "the other went on undisturbed");

    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    let kept = yard.patch_of(&format!("{path}/diff")).await;
    assert!(kept.contains("+one\n+two"), "it can still be read when it is closed: {kept}");
    yard.house.ask(yard.house.request(Method::DELETE, &there)).await;
    let bare = yard.post("/api/v1/sessions", json!({"agent": "writer"})).await;
    let bare = format!("/api/v1/sessions/{}", bare["id"].as_str().unwrap());
    assert_eq!(
        yard.refused(Method::GET, &format!("{bare}/diff")).await,
        StatusCode::CONFLICT,
        "nothing is saved there"
    );
    yard.house.ask(yard.house.request(Method::DELETE, &bare)).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_changed_becomes_a_merged_pull() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    // It commits one thing, and leaves another lying there.
    yard.agent("writer", "echo one >done.txt; git add -A; git commit -qm 'feat: one'; echo two >left.txt; echo Begun.")
        .await;
    // It is told what was said before, and goes on from there.
    let script = "printf %s \"$1\" >/tmp/told; grep -q 'Make a start' /tmp/told && grep -q Begun /tmp/told && cat done.txt left.txt >both.txt";
    let phrases = json!({"arguments": ["sh", "-c", script, "sh", "{prompt}"], "plain": true});
    yard.post("/api/v1/agents", json!({"name": "finisher", "dialect": "custom", "phrases": phrases})).await;
    let (session, path) = yard.session("writer", "hello").await;
    let ask =
        async |body: Value| yard.house.ask(yard.house.request(Method::POST, &format!("{path}/task")).json(&body)).await;
    let (status, problem) = ask(json!({})).await;
    assert_eq!(
        (status, problem["detail"].as_str().unwrap().contains("no checkpoint yet")),
        (StatusCode::CONFLICT, true)
    );
    yard.converse(&path, "Make a start").await;
    let (status, problem) = ask(json!({"from": 1})).await;
    assert_eq!(
        (status, &problem["errors"][0]["field"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("from")),
        "{problem}"
    );

    let new = json!({"title": "Both in one", "agent": "finisher"});
    let once = || yard.house.request(Method::POST, &format!("{path}/task")).header("Idempotency-Key", "k").json(&new);
    let (status, task) = yard.house.ask(once()).await;
    assert_eq!(
        (status, &task["phase"], &task["from_session"]),
        (StatusCode::CREATED, &json!("backlog"), &session["id"]),
        "{task}"
    );
    assert_eq!(yard.house.ask(once()).await.1["id"], task["id"], "asked twice, written once");
    let notes = yard.notes(&path).await;
    assert_eq!(notes.iter().filter(|note| note.contains("Task 1 goes on")).count(), 1, "{notes:?}");

    // What the card asks can still be changed; what was said before it stays as it was said.
    let patch = yard.house.request(Method::PATCH, "/api/v1/tasks/1").json(&json!({"prompt": "Put both together"}));
    assert_eq!(yard.house.ask(patch).await.0, StatusCode::OK);
    assert_eq!(yard.said(&task, "message", "user").await, ["Make a start", "Put both together"]);
    assert_eq!(yard.said(&task, "message", "agent").await, ["Begun."]);

    let diff = yard.house.request(Method::GET, "/api/v1/tasks/1/diff").send().await.unwrap().text().await.unwrap();
    assert!(diff.contains("+one") && diff.contains("+two"), "{diff}");

    // The session goes on its own way, and may end before the task begins.
    yard.converse(&path, "And more").await;
    let (status, closed) = yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    assert_eq!((status, &closed["phase"]), (StatusCode::OK, &json!("closed")), "{closed}");
    let task = yard.act(&task, "start", "in_review").await;
    assert_eq!(yard.show("hello", "task-1:both.txt").await, "one\ntwo");
    let subjects = git(Some(&yard.mirror("hello")), &["log", "--format=%s", "main..task-1"]).await;
    assert!(subjects.ends_with("feat: one") && !subjects.contains("wip"), "{subjects}");
    yard.act(&task, "merge", "merged").await;
    assert_eq!(yard.show("hello", "main:left.txt").await, "two");
    assert_eq!(yard.show("hello", "main:both.txt").await, "one\ntwo");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_a_repository_becomes_no_task() {
    let yard = Yard::open().await;
    yard.agent("writer", "echo Hello.").await;
    let session = yard.post("/api/v1/sessions", json!({"agent": "writer"})).await;
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
    yard.converse(&path, "Say hello").await;
    let (status, problem) = yard.house.ask(yard.house.request(Method::POST, &format!("{path}/task"))).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(problem["detail"].as_str().unwrap().contains("has no repository"), "{problem}");
    yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    yard.close().await;
}
