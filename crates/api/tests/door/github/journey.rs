//! From a push in a sandbox to a pull request that GitHub merged.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use carrel_forge::{Check, CheckState, CommitId, Forge, NewComment, Place, PullNumber, Side};
use carrel_testkit::{EventStream, House, on_both_databases};
use reqwest::{Method, StatusCode};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{
    app::{app_key, trust_app},
    bare::Bare,
    description::file,
    standin::StandIn,
    upstream::{Upstream, seen_in_processes},
};
use crate::{
    refused,
    repos::{Work, add, address, sync},
};

const HOOK_SECRET: &str = "a secret that both know";

/// A house, a GitHub, and a repository at it.
struct World {
    house: House,
    standin: StandIn,
    bare: Bare,
    upstream: Arc<Upstream>,
}

/// What opens GitHub.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opener {
    Token,
    App,
}

impl World {
    async fn open(database: &carrel_testkit::TestDatabase) -> World {
        World::opened_by(database, Opener::Token).await
    }

    async fn opened_by(database: &carrel_testkit::TestDatabase, opener: Opener) -> World {
        let house = House::open(database).await;
        let bare = Bare::make(house.folder());
        let opens = if opener == Opener::App { LENT.to_owned() + "*" } else { token() };
        let upstream = Arc::new(Upstream {
            slug: "octo-org/hello-world".into(),
            folder: bare.folder.clone(),
            token: Mutex::new(opens),
            seen: Mutex::default(),
            broken: Mutex::default(),
        });
        let doors = upstream.routes();
        let standin = StandIn::over("/api/v3", Arc::new(bare.clone()), Arc::default(), doors).await;
        let world = World { house, standin, bare, upstream };
        match opener {
            Opener::Token => {
                world.standin.house.memory().tokens.insert(token(), ("carrel".into(), None));
                world.set_secret("github-token", &token()).await;
            }
            Opener::App => {
                trust_app(&world.standin);
                let key = app_key();
                world.set_secret("github-app-id", &key.id).await;
                world.set_secret("github-app-key", key.pem.expose_secret()).await;
            }
        }
        world.set_secret("webhook-secret", HOOK_SECRET).await;
        let source = format!("http://{}/octo-org/hello-world.git", world.standin.address);
        add(&world.house, json!({"source": source, "name": "hello", "forge": "github"})).await;
        sync(&world.house, "hello").await;
        world
    }

    async fn set_secret(&self, name: &str, value: &str) {
        let body = json!({"name": name, "value": value, "repo": "hello"});
        let (status, answer) = self.house.ask(self.house.request(Method::POST, "/api/v1/secrets").json(&body)).await;
        assert!(status.is_success(), "{answer}");
    }

    /// A sandbox of a task pushes its branch.
    async fn push(&self, task: u32, file: &str, content: &str) -> String {
        let body = json!({"repo": "hello", "task_id": task});
        let (_, sandbox) =
            self.house.ask(self.house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body)).await;
        let mint = json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]});
        let (_, grant) = self.house.mint(mint).await;
        let desk = Work::new(&self.house, &format!("desk-{task}"));
        desk.git(&["clone", "-q", &address(&self.house, &grant, "hello"), "."]).await;
        let commit = desk.commit(file, content).await;
        desk.git(&["push", "-q", "origin", &format!("HEAD:task-{task}")]).await;
        commit
    }

    async fn open_pull(&self, task: u32) -> Value {
        let body = json!({"repo": "hello", "head": format!("task-{task}"), "title": "feat: greet", "body": "Why.",
            "labels": ["carrel"], "reviewers": ["mona"]});
        let (status, pull) = self.house.ask(self.house.request(Method::POST, "/api/v1/pulls").json(&body)).await;
        assert_eq!(status, StatusCode::CREATED, "{pull}");
        pull
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.house.ask(self.house.request(Method::GET, path)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    /// A letter as GitHub publishes it, about our repository and the pull 1.
    async fn letter(
        &self,
        event: &str,
        delivery: &str,
        secret: &str,
        change: impl Fn(&mut Value),
    ) -> (StatusCode, Value) {
        let Value::Array(kinds) = file("webhooks.json") else { panic!("no list") };
        let kind = kinds.into_iter().find(|kind| kind["name"] == event).unwrap();
        let mut body = kind["examples"][0].clone();
        body["repository"]["full_name"] = json!("octo-org/hello-world");
        change(&mut body);
        let body = serde_json::to_vec(&body).unwrap();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let signature = format!("sha256={}", hex::encode(ring::hmac::sign(&key, &body).as_ref()));
        let request = self.house.bare_request(Method::POST, "/hooks/github/hello");
        let request = request.header("x-github-event", event).header("x-github-delivery", delivery);
        let request = request.header("x-hub-signature-256", signature).header("content-type", "application/json");
        self.house.ask(request.body(body)).await
    }

    async fn remark(&self, body: &str, line: Option<u32>) {
        let place = line.map(|line| Place { path: "greet.txt".into(), line: Some(line), side: Side::New });
        let new = NewComment { body: body.into(), place, stamp: None };
        self.standin.house.forge.acting_as("mona").comment(PullNumber(1), &new).await.unwrap();
    }

    fn set_check(&self, commit: &str, state: CheckState) {
        let at = Some(carrel_model::Timestamp::now());
        let check = Check { name: "ci".into(), state, summary: Some("2 failed".into()), url: None, at };
        let commit: CommitId = commit.parse().unwrap();
        self.standin.house.memory().runs.insert(commit, vec![check]);
    }

    async fn close(self) {
        self.standin.assert_by_the_book();
        drop(self.standin);
        self.house.close().await;
    }
}

/// How the tokens begin that an app is lent here.
const LENT: &str = "ghs_00000000";

/// Put together here, so that it is in no file.
fn token() -> String {
    ["ghp", "correct", "horse", "battery"].join("_")
}

/// The next news of a kind, and how many of its like came on the way.
pub(crate) async fn news(events: &mut EventStream, what: &str) -> Value {
    loop {
        let entry = serde_json::to_value(events.entry().await).unwrap();
        let found = entry["news"].as_array().into_iter().flatten().find(|news| news["what"] == what).cloned();
        if let Some(news) = found {
            return news;
        }
    }
}

/// Keeps everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn below(folder: &std::path::Path, all: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below(&entry.path(), all);
        } else {
            all.push(entry.path());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_the_connection_says_who_we_are_and_what_is_missing() {
    let database = carrel_testkit::TestDatabase::sqlite();
    let world = World::open(&database).await;
    let test = async || world.house.ask(world.house.request(Method::POST, "/api/v1/repos/hello/test")).await;
    let (status, told) = test().await;
    assert_eq!((status, &told["forge"]), (StatusCode::OK, &json!("github")), "{told}");
    assert_eq!((&told["reached"], &told["login"]), (&json!(true), &json!("carrel")), "{told}");
    world.set_secret("github-token", "ghp_of_somebody_else").await;
    let (status, told) = test().await;
    assert_eq!((status, &told["reached"]), (StatusCode::OK, &json!(false)), "{told}");
    assert!(!told["missing"].as_array().unwrap().is_empty(), "{told}");
    assert!(!told.to_string().contains("ghp_of_somebody_else"), "a secret is in {told}");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_published_opened_reviewed_checked_and_merged_at_github() {
    let database = carrel_testkit::TestDatabase::sqlite();
    let world = World::open(&database).await;
    walk_the_whole_way(&world).await;
    world.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_goes_the_same_way_and_its_key_and_what_it_is_lent_are_seen_nowhere() {
    let log = Log::default();
    let kept = log.clone();
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || kept.clone()).init();
    let database = carrel_testkit::TestDatabase::sqlite();
    let world = World::opened_by(&database, Opener::App).await;
    walk_the_whole_way(&world).await;
    assert!(world.standin.house.memory().installations_asked > 0, "it was lent a token");
    let pem = app_key().pem.expose_secret().to_owned();
    // Lines of the key by themselves: whoever writes it down may write it in another form.
    let mut secrets: Vec<&str> = pem.lines().filter(|line| !line.starts_with('-')).step_by(5).collect();
    secrets.push(LENT);
    assert!(secrets.len() > 4);
    let mut files = Vec::new();
    below(world.house.folder(), &mut files);
    let files: Vec<_> = files.iter().map(|path| (path, std::fs::read(path).unwrap_or_default())).collect();
    let logged = log.0.lock().unwrap().clone();
    assert!(!logged.is_empty());
    let audit = serde_json::to_vec(&world.get("/api/v1/audit").await).unwrap();
    let listed = serde_json::to_vec(&world.get("/api/v1/secrets").await).unwrap();
    for secret in secrets {
        let holds = |content: &[u8]| content.windows(secret.len()).any(|part| part == secret.as_bytes());
        let found: Vec<_> = files.iter().filter(|(_, content)| holds(content)).map(|(path, _)| path).collect();
        assert!(found.is_empty(), "a secret is in {found:?}");
        for (place, content) in [("the log", &logged), ("the audit", &audit), ("the list of secrets", &listed)] {
            assert!(!holds(content), "a secret is in {place}");
        }
        assert_eq!(seen_in_processes(secret), [] as [String; 0]);
    }
    assert_eq!(*world.upstream.seen.lock().unwrap(), [] as [String; 0], "in a process list or environment");
    world.close().await;
    database.drop().await;
}

/// From a push in a sandbox to a merged pull.
async fn walk_the_whole_way(world: &World) {
    let head = world.push(7, "greet.txt", "hello\n").await;
    let mut events = world.house.events("?kind=pull").await;
    let pull = world.open_pull(7).await;
    assert_eq!((&pull["number"], &pull["forge"], &pull["task_id"]), (&json!(1), &json!("github"), &json!(7)));
    assert_eq!((&pull["head_commit"], &pull["labels"]), (&json!(head), &json!(["carrel"])), "{pull}");
    assert_eq!(world.bare.find("task-7").unwrap().as_str(), head, "its branch is upstream");
    assert_eq!(world.open_pull(7).await["number"], json!(1), "asked twice, opened once");

    // A remark on a line comes once, however often the letter does.
    world.remark("Greet by name.", Some(1)).await;
    let about = |body: &mut Value| body["pull_request"]["number"] = json!(1);
    let (status, _) = world.letter("pull_request_review_comment", "a", "another secret", about).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "a forged letter is not believed");
    for (delivery, word) in [("a", "taken"), ("a", "again"), ("b", "again")] {
        let (status, answer) = world.letter("pull_request_review_comment", delivery, HOOK_SECRET, about).await;
        assert_eq!((status, &answer["letter"]), (StatusCode::ACCEPTED, &json!(word)));
    }
    let remark = news(&mut events, "comment").await;
    let comment = &remark["comment"];
    assert_eq!(
        (&comment["body"], &comment["path"], &comment["line"]),
        (&json!("Greet by name."), &json!("greet.txt"), &json!(1))
    );
    assert_eq!((&comment["author"], &remark["head"]), (&json!("mona"), &json!(head)));
    let elsewhere = |body: &mut Value| body["repository"]["full_name"] = json!("octo-org/other");
    let (status, _) = world.letter("pull_request_review_comment", "c", HOOK_SECRET, elsewhere).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "a letter about another repository is not ours");

    // What is said and judged here is said and judged there, once; what has a stamp is nothing new to anybody.
    let said = json!({"body": "Wave as well.", "path": "greet.txt", "line": 1, "stamp": "review.7.a"});
    for _ in 0..2 {
        let said = world.house.request(Method::POST, "/api/v1/pulls/hello/1/comments").json(&said);
        let (status, comment) = world.house.ask(said).await;
        assert_eq!((status, &comment["stamp"]), (StatusCode::CREATED, &json!("review.7.a")), "{comment}");
    }
    let judged = json!({"verdict": "commented", "body": "Nearly there."});
    let judged = world.house.request(Method::POST, "/api/v1/pulls/hello/1/reviews").json(&judged);
    assert_eq!(world.house.ask(judged).await.0, StatusCode::CREATED);
    let there = world.standin.house.forge.comments(PullNumber(1), None).await.unwrap();
    let ours: Vec<_> = there.iter().filter(|comment| comment.body.starts_with("Wave as well.")).collect();
    assert_eq!(ours.len(), 1, "{there:?}");
    assert_eq!(ours[0].place.as_ref().and_then(|place| place.line), Some(1));
    let reviews = world.standin.house.forge.reviews(PullNumber(1)).await.unwrap();
    assert!(reviews.iter().any(|review| review.body == "Nearly there."), "{reviews:?}");
    assert_eq!(news(&mut events, "comment").await["comment"]["stamp"], json!("review.7.a"));

    // A check that fails goes back with the commit it speaks of, and stands in the way.
    world.set_check(&head, CheckState::Failed);
    let about = |body: &mut Value| body["check_run"]["head_sha"] = json!(head);
    world.letter("check_run", "d", HOOK_SECRET, about).await;
    let check = news(&mut events, "check").await;
    assert_eq!(
        (&check["check"]["name"], &check["check"]["state"], &check["head"]),
        (&json!("ci"), &json!("failed"), &json!(head))
    );
    let problem = refused(409, world.house.request(Method::POST, "/api/v1/pulls/hello/1/merge")).await;
    assert_eq!(problem["type"], json!("/problems/merge-checks-failed"), "{problem}");
    world.set_check(&head, CheckState::Passed);

    // Where no letter comes, we read on: what was said is told, and what was told is not told again.
    world.remark("And wave.", None).await;
    sync(&world.house, "hello").await;
    let remark = news(&mut events, "comment").await;
    assert_eq!(remark["comment"]["body"], json!("And wave."));
    sync(&world.house, "hello").await;

    let (status, merged) = world.house.ask(world.house.request(Method::POST, "/api/v1/pulls/hello/1/merge")).await;
    assert_eq!((status, &merged["phase"]), (StatusCode::OK, &json!("merged")), "{merged}");
    let main = world.bare.find("main").unwrap();
    assert_eq!(merged["merge_commit"], json!(main.as_str()));
    assert_eq!(world.get("/api/v1/repos/hello").await["head"], json!(main.as_str()), "our mirror followed");
    assert_eq!(world.bare.find("task-7"), None, "its branch is gone there");
    let (again, _) = world.house.ask(world.house.request(Method::POST, "/api/v1/pulls/hello/1/merge")).await;
    assert_eq!(again, StatusCode::OK, "a second time finds it merged");
    let heard = world.house.store.seen_pulls().heard(&"hello".parse().unwrap(), 1).await.unwrap();
    assert_eq!(heard.keys().filter(|word| word.starts_with("comment")).count(), 3, "{heard:?}");
}

/// What a house leaves that dies after it put a branch onto its base, and before it published that: where the branch was,
/// and where it is.
pub(crate) async fn put_on_base(house: &House, bare: &Bare, forge: &str) -> (CommitId, CommitId) {
    bare.push(&"main".parse().unwrap(), "README.md", "hello again\n");
    sync(house, "hello").await;
    let mirror = Bare { folder: house.folder().join("library/mirrors/hello/1.git"), ..bare.clone() };
    let before = mirror.find("task-7").unwrap();
    let tree = mirror.git(&["merge-tree", "--write-tree", "main", "task-7"]).unwrap();
    let made = mirror.git(&["commit-tree", "-p", "main", "-m", "feat: greet", &tree]).unwrap();
    mirror.git(&["update-ref", "refs/heads/task-7", &made]).unwrap();
    let kept = format!("refs/carrel/pulls/{forge}/1-before-{made}");
    mirror.git(&["update-ref", &kept, before.as_str()]).unwrap();
    (before, made.parse().unwrap())
}

/// Merges what somebody looked at before its branch was put onto its base. The forge gets it first, and is asked then.
pub(crate) async fn merge_what_was_put_on_base(house: &House, bare: &Bare, before: &CommitId, made: &CommitId) {
    let merge = |head: &CommitId| {
        house.request(Method::POST, "/api/v1/pulls/hello/1/merge").json(&json!({"head": head, "style": "merge"}))
    };
    let problem = refused(409, merge(before)).await;
    assert_eq!(problem["type"], json!("/problems/merge-waits"), "{problem}");
    assert_eq!(bare.find("task-7").as_ref(), Some(made), "it is published");
    let nobodys: CommitId = "1".repeat(40).parse().unwrap();
    let problem = refused(409, merge(&nobodys)).await;
    assert_eq!(problem["type"], json!("/problems/merge-head-moved"), "that is not what it was made of: {problem}");
    let (status, merged) = house.ask(merge(before)).await;
    assert_eq!((status, &merged["phase"]), (StatusCode::OK, &json!("merged")), "{merged}");
    assert_eq!(merged["head_commit"], json!(made));
    assert_eq!(bare.git(&["rev-parse", "main^2"]).unwrap(), made.as_str(), "the new head, and no other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_was_put_onto_its_base_before_a_crash_is_published_and_merged_at_github() {
    let database = carrel_testkit::TestDatabase::sqlite();
    let world = World::open(&database).await;
    world.push(7, "greet.txt", "hello\n").await;
    world.open_pull(7).await;
    let (before, made) = put_on_base(&world.house, &world.bare, "github").await;
    merge_what_was_put_on_base(&world.house, &world.bare, &before, &made).await;
    world.close().await;
    database.drop().await;
}

on_both_databases! {
    async fn a_token_is_shown_to_its_upstream_and_seen_nowhere_else_and_a_new_one_counts_at_once(database: TestDatabase) {
        let log = Log::default();
        let kept = log.clone();
        let all = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || kept.clone());
        all.init();
        let world = World::open(&database).await;
        world.push(8, "a.txt", "a\n").await;
        world.open_pull(8).await;
        // The token is replaced: what the house holds opens nothing until it gets the new one, and needs no restart.
        let fresh = ["ghp", "staple", "orange", "cloud"].join("_");
        *world.upstream.token.lock().unwrap() = fresh.clone();
        world.standin.house.memory().tokens.remove(&token());
        world.standin.house.memory().tokens.insert(fresh.clone(), ("carrel".into(), None));
        world.push(9, "b.txt", "b\n").await;
        let body = json!({"repo": "hello", "head": "task-9", "title": "feat: b"});
        let problem = refused(409, world.house.request(Method::POST, "/api/v1/pulls").json(&body)).await;
        assert!(problem["detail"].as_str().unwrap().contains("credential"), "{problem}");
        world.set_secret("github-token", &fresh).await;
        let (status, pull) = world.house.ask(world.house.request(Method::POST, "/api/v1/pulls").json(&body)).await;
        assert_eq!(status, StatusCode::CREATED, "{pull}");

        let mut files = Vec::new();
        below(world.house.folder(), &mut files);
        let logged = log.0.lock().unwrap().clone();
        assert!(!logged.is_empty());
        for secret in [token(), fresh] {
            let holds = |content: &[u8]| content.windows(secret.len()).any(|part| part == secret.as_bytes());
            let found: Vec<_> = files.iter().filter(|path| holds(&std::fs::read(path).unwrap_or_default())).collect();
            assert!(found.is_empty(), "{found:?}");
            assert!(!holds(&logged), "in the log");
            assert!(!holds(serde_json::to_string(&world.get("/api/v1/audit").await).unwrap().as_bytes()), "in the audit");
        }
        assert_eq!(*world.upstream.seen.lock().unwrap(), [] as [String; 0], "in a process list or environment");
        world.close().await;
        database.drop().await;
    }

    async fn an_upstream_that_is_away_or_was_pushed_to_by_others_is_said_in_words_and_nothing_is_lost(database: TestDatabase) {
        let world = World::open(&database).await;
        let ours = world.push(7, "greet.txt", "hello\n").await;
        world.open_pull(7).await;
        let theirs = world.bare.push(&"task-7".parse().unwrap(), "theirs.txt", "x\n");
        let desk = Work::new(&world.house, "desk-7");
        desk.git(&["commit", "-q", "--amend", "-m", "feat: other words"]).await;
        desk.git(&["push", "-q", "-f", "origin", "HEAD:task-7"]).await;
        let body = json!({"repo": "hello", "head": "task-7", "title": "feat: greet"});
        let problem = refused(409, world.house.request(Method::POST, "/api/v1/pulls").json(&body)).await;
        assert!(problem["detail"].as_str().unwrap().contains("pushed to `task-7` upstream"), "{problem}");
        assert_eq!(world.bare.find("task-7"), Some(theirs), "what somebody else pushed is still there");
        // What we published ourselves may be replaced.
        world.bare.git(&["update-ref", "refs/heads/task-7", &ours]).unwrap();
        *world.upstream.broken.lock().unwrap() = 1;
        let problem = refused(503, world.house.request(Method::POST, "/api/v1/pulls").json(&body)).await;
        assert!(problem["detail"].as_str().unwrap().contains("upstream cannot be reached"), "{problem}");
        let pull = world.open_pull(7).await;
        assert_eq!(json!(desk.git(&["rev-parse", "HEAD"]).await), pull["head_commit"]);
        world.close().await;
        database.drop().await;
    }
}
