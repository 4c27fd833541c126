//! A desk at which nothing happens falls asleep by itself, and wakes for whatever is asked of its task or session.

use carrel_model::{
    public::{Entry, Happening, SandboxView},
    sandbox::{Lifetime, Phase, Want},
};
use carrel_testkit::Setup;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::yard::{Yard, engine};

/// Adds a line for each thing that it is asked.
const WORKS: &str = "echo \"$CARREL_PROMPT\" >>asked.txt; git add -A; git commit -qm 'feat: one more line'; echo noted";

impl Yard {
    /// A house in which desks fall asleep soon, but not between two steps of a busy machine.
    async fn drowsy() -> Yard {
        let yard = Yard::with_work(|work| work.idle = Lifetime::new(20)).await;
        yard.repo("hello").await;
        yard.agent("worker", WORKS).await;
        yard
    }

    /// Waits until the desk of a task or a session sleeps, without anybody having asked for that.
    async fn asleep(&self, of: &Value) {
        let desk = self.look(&format!("/api/v1/sandboxes/{}", of["sandbox_id"].as_str().unwrap())).await;
        let desk = serde_json::from_value(desk).unwrap();
        let desk = self.house.until(&desk, Phase::Paused).await;
        assert_eq!(desk.want, Want::Ready, "{desk:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_desk_fell_asleep_goes_on_is_merged_and_is_closed() {
    let yard = Yard::drowsy().await;
    let task = yard.task("hello", "worker", "First", "in_review").await;
    yard.asleep(&task).await;
    yard.post(&format!("/api/v1/tasks/{}/message", task["id"]), json!({"text": "Second"})).await;
    while yard.said(&task, "message", "agent").await.len() < 2 {}
    let task = yard.wait(&task, "in_review").await;
    assert_eq!(yard.show("hello", "task-1:asked.txt").await, "First\nSecond");
    yard.asleep(&task).await;
    yard.act(&task, "merge", "merged").await;
    assert_eq!(yard.show("hello", "main:asked.txt").await, "First\nSecond");

    let task = yard.task("hello", "worker", "Third", "in_review").await;
    yard.asleep(&task).await;
    yard.act(&task, "close", "closed").await;
    assert!(yard.show("hello", "refs/carrel/kept/task-2:asked.txt").await.ends_with("Third"));
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_desk_fell_asleep_answers_and_is_closed() {
    let yard = Yard::drowsy().await;
    let session = yard.post("/api/v1/sessions", json!({"agent": "worker", "repo": "hello"})).await;
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
    for text in ["one", "two"] {
        yard.post(&format!("{path}/messages"), json!({"text": text})).await;
        while yard.look(&path).await["busy"] == true {}
        yard.asleep(&session).await;
    }
    let items = yard.look(&format!("{path}/messages?limit=1000")).await["items"].clone();
    let answers = items.as_array().unwrap().iter().filter(|item| item["role"] == "agent" && item["text"] == "noted");
    assert_eq!(answers.count(), 2, "{items:#}");
    let (status, closed) = yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    assert_eq!((status, &closed["phase"]), (StatusCode::OK, &json!("closed")), "{closed}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_session_is_follows_its_desk_on_lists_and_in_the_journal() {
    let yard = Yard::with_work(|work| work.idle = Lifetime::new(3)).await;
    yard.agent("worker", "echo noted").await;
    let mut events = yard.house.events("?after=0&kind=session").await;
    let session = yard.post("/api/v1/sessions", json!({"agent": "worker"})).await;
    let id = session["id"].as_str().unwrap().to_owned();
    let listed = async |phase: &str| {
        let items = yard.look(&format!("/api/v1/sessions?phase={phase}")).await["items"].clone();
        items.as_array().unwrap().iter().any(|item| item["id"] == *id && item["phase"] == phase)
    };
    assert!(listed("open").await && !listed("idle").await);
    yard.asleep(&session).await;
    while !listed("idle").await {}
    assert!(!listed("open").await);
    // Something other than a message wakes it.
    let desk = session["sandbox_id"].as_str().unwrap();
    yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), json!({"command": "true"})).await;
    while !listed("open").await {}
    assert_eq!(yard.look(&format!("/api/v1/sessions/{id}")).await["phase"], "open");
    // A hook hears what the journal tells, each change once.
    let (mut told, mut before) = (Vec::new(), None);
    while told.len() < 3 {
        let Happening::Session { session } = events.entry().await.happening else { continue };
        if before.replace(session.phase) != Some(session.phase) {
            told.push(session.phase.word());
        }
    }
    assert_eq!(told, ["open", "idle", "open"]);
    yard.house.ask(yard.house.request(Method::DELETE, &format!("/api/v1/sessions/{id}"))).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_while_a_desk_falls_asleep_does_not_stand_still_with_it() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({"auto_resume": true})).await;
    let path = format!("/api/v1/sandboxes/{}", sandbox.id);
    for round in 0..30 {
        yard.post(&format!("{path}/pause"), json!({})).await;
        let ran = yard.post(&format!("{path}/execute"), json!({"command": "echo here"})).await;
        assert_eq!(ran["stdout"], "here\n", "{round}: {ran}");
    }
    yard.remove(&sandbox).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_is_ended_while_it_falls_asleep_and_its_work_is_kept() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.agent("worker", "echo \"$CARREL_PROMPT\" >>asked.txt; echo noted").await;
    for (depth, gap) in [("frozen", 0), ("frozen", 40), ("frozen", 80), ("frozen", 160), ("stored", 40)] {
        let session = yard.post("/api/v1/sessions", json!({"agent": "worker", "repo": "hello"})).await;
        let id = session["id"].as_str().unwrap();
        let path = format!("/api/v1/sessions/{id}");
        yard.post(&format!("{path}/messages"), json!({"text": "one"})).await;
        while yard.look(&path).await["busy"] == true {}
        let desk = format!("/api/v1/sandboxes/{}", session["sandbox_id"].as_str().unwrap());
        yard.post(&format!("{desk}/execute"), json!({"command": "echo two >>/workspace/asked.txt"})).await;

        // Nobody waits for the pause to be over.
        match depth {
            "frozen" => yard.post(&format!("{path}/sandbox/pause"), json!({})).await,
            deep => yard.post(&format!("{desk}/pause"), json!({"depth": deep})).await,
        };
        // Each comes at another moment of it: before its save, during that, and while it is frozen.
        tokio::time::sleep(std::time::Duration::from_millis(gap)).await;
        let ended = yard.house.request(Method::DELETE, &format!("{desk}?wait=gone&timeout=300"));
        let (status, ended) = yard.house.ask(ended).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{depth}: {ended}");
        assert_eq!(yard.look(&desk).await["phase"], "gone", "{depth}");
        let saved = yard.show("hello", &format!("refs/carrel/wip/session-{}:asked.txt", &id["ses_".len()..])).await;
        assert_eq!(saved, "one\ntwo", "{depth}");
        yard.house.ask(yard.house.request(Method::DELETE, &path)).await;
    }
    yard.close().await;
}

impl Yard {
    /// Waits until a sandbox that seemed idle was found at work so many times. It never sleeps meanwhile.
    async fn found_at_work(&self, sandbox: &SandboxView, times: usize) {
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() <= times {
            let row = self.house.store.sandboxes().find(&sandbox.id).await.unwrap().unwrap();
            assert_eq!(row.phase, Phase::Ready, "{row:?}");
            // This is not told with every change of it.
            seen.insert(row.idle_at.unwrap());
        }
    }

    async fn begin(&self, path: &str, command: &str) {
        self.post(&format!("{path}/execute"), json!({"command": command, "background": true})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_nobody_waits_for_is_not_put_to_sleep() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({"auto_resume": true, "idle_s": 2})).await;
    let path = format!("/api/v1/sandboxes/{}", sandbox.id);
    // What was left behind by a command that is over uses processors, and nobody follows it.
    let left = "nohup sh -c 'until test -e /tmp/over; do :; done' >/dev/null 2>&1 &";
    yard.post(&format!("{path}/execute"), json!({"command": left})).await;
    yard.found_at_work(&sandbox, 4).await;
    yard.sh(&sandbox, "touch /tmp/over").await;
    yard.asleep(&json!({"sandbox_id": sandbox.id})).await;

    // One that only prints is seen by that.
    yard.begin(&path, "until test -e /tmp/silent; do echo on and on; sleep 1; done; exec sleep 3600").await;
    yard.found_at_work(&sandbox, 4).await;
    yard.sh(&sandbox, "touch /tmp/silent").await;
    yard.asleep(&json!({"sandbox_id": sandbox.id})).await;
    yard.remove(&sandbox).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_shell_keeps_no_desk_and_whoever_waits_does() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({"auto_resume": true, "idle_s": 2})).await;
    let path = format!("/api/v1/sandboxes/{}", sandbox.id);
    let shell = json!({"command": "exec sh", "background": true, "keep_stdin": true});
    let shell = yard.post(&format!("{path}/execute"), shell).await;
    yard.begin(&path, "exec sleep 3600").await;
    yard.asleep(&json!({"sandbox_id": sandbox.id})).await;

    // Somebody who waits for a command is there, however little it does.
    let mut events = yard.house.events(&format!("?kind=sandbox&sandbox_id={}", sandbox.id)).await;
    let ran = yard.post(&format!("{path}/execute"), json!({"command": "sleep 9"})).await;
    assert_eq!(ran["exit_code"], 0, "{ran}");
    // What was forgotten is still there, and wakes nobody by itself.
    let exec = format!("{path}/execs/{}", shell["exec_id"].as_str().unwrap());
    assert_eq!(yard.look(&exec).await["status"], "running");
    yard.asleep(&json!({"sandbox_id": sandbox.id})).await;
    let (mut woke, mut slept) = (false, None);
    while slept.is_none() {
        let Entry { happening, at, .. } = events.entry().await;
        let Happening::Sandbox { sandbox } = happening else { continue };
        woke |= sandbox.phase == Phase::Ready;
        slept = (woke && sandbox.phase == Phase::Paused).then_some(at);
    }
    let ran = yard.look(&format!("{path}/execs/{}", ran["exec_id"].as_str().unwrap())).await;
    let ended = ran["ended_at"].as_str().map(|at| at.parse::<carrel_model::Timestamp>().unwrap());
    assert!(slept > ended && ended.is_some(), "it slept at {slept:?}, while somebody waited until {ended:?}");
    yard.remove(&sandbox).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_waits_in_silence_is_not_put_to_sleep_in_its_turn() {
    let yard = Yard::with_work(|work| work.idle = Lifetime::new(5)).await;
    yard.repo("hello").await;
    yard.agent("thinker", &format!("sleep 18; {WORKS}")).await;
    let task = yard.task("hello", "thinker", "Think first", "in_review").await;
    let notes = yard.said(&task, "note", "house").await;
    assert!(!notes.iter().any(|note| note.starts_with("The desk was paused")), "{notes:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_there_when_the_machine_wakes_after_hours_is_not_put_to_sleep() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({"auto_resume": true, "idle_s": 300, "timeout_s": 86400})).await;
    let path = format!("/api/v1/sandboxes/{}/execute", sandbox.id);
    let waits = json!({"command": "mkfifo /tmp/word; read word </tmp/word; echo \"$word\""});
    let waiting = yard.post(&path, waits);
    let jump = async {
        yard.sh(&sandbox, "until test -p /tmp/word; do sleep 0.05; done").await;
        yard.house.store.move_clock(jiff::SignedDuration::from_hours(5));
        let woke = yard.house.store.now();
        // Until it was looked at, and found to be at work.
        loop {
            let row = yard.house.store.sandboxes().find(&sandbox.id).await.unwrap().unwrap();
            assert_eq!(row.phase, Phase::Ready, "{row:?}");
            if row.idle_at.unwrap() > woke {
                break;
            }
        }
        yard.sh(&sandbox, "echo here >/tmp/word").await;
    };
    let (ran, ()) = tokio::join!(waiting, jump);
    assert_eq!(ran["stdout"], "here\n", "{ran}");
    yard.remove(&sandbox).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_rests_is_not_forgotten_for_hours_when_the_clock_is_set_back() {
    let mut setup = Setup { engine: Some(engine()), ..Setup::default() };
    setup.patience.first_retry = std::time::Duration::from_secs(3600);
    setup.patience.longest_retry = std::time::Duration::from_secs(3600);
    let yard = Yard::built(setup).await;
    yard.hosted("hello", json!({})).await;
    yard.agent("mortal", &format!("test -e /tmp/died || {{ touch /tmp/died; kill -9 $$; }}; {WORKS}")).await;
    let mut events = yard.house.events("?after=0&kind=task").await;
    let asked = json!({"repo": "hello", "agent": "mortal", "title": "Go on", "start": true});
    let task = yard.post("/api/v1/tasks", asked).await;
    // It rests for an hour, and then it is yesterday.
    loop {
        let Happening::Task { task } = events.entry().await.happening else { continue };
        if task.next_attempt_at.is_some() {
            break;
        }
    }
    yard.house.store.move_clock(jiff::SignedDuration::from_hours(-24));
    while yard.look(&format!("/api/v1/tasks/{}", task["id"])).await["phase"] != "in_review" {}
    yard.close().await;
}
