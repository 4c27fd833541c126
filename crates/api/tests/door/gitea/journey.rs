//! From a push in a sandbox to a pull request that Gitea merged.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carrel_forge::{
    Check, CheckState, CommitId, Forge, Key, NewComment, Place, PullNumber, Side,
    forges::gitea::{Config, Gitea},
};
use carrel_testkit::{House, TestDatabase, on_both_databases};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::standin::{SLUG, StandIn};
use crate::{
    github::{
        bare::Bare,
        journey::{merge_what_was_put_on_base, news, put_on_base},
        upstream::Upstream,
    },
    refused,
    repos::{Work, add, address, sync},
};

const HOOK_SECRET: &str = "a secret that both know";

/// Put together here, so that it is in no file.
fn token() -> String {
    ["gitea", "correct", "horse", "battery"].join("-")
}

/// A house, a Gitea, and a repository at it.
struct World {
    house: House,
    standin: StandIn,
    bare: Bare,
    upstream: Arc<Upstream>,
}

impl World {
    async fn open(database: &TestDatabase) -> World {
        let house = House::open(database).await;
        let bare = Bare::make(house.folder());
        let upstream = Arc::new(Upstream {
            slug: SLUG.into(),
            folder: bare.folder.clone(),
            token: Mutex::new(token()),
            seen: Mutex::default(),
            broken: Mutex::default(),
        });
        let standin = StandIn::over(Arc::new(bare.clone()), upstream.routes()).await;
        standin.house.tokens.lock().unwrap().insert(token(), "carrel".into());
        let world = World { house, standin, bare, upstream };
        for (name, value) in [("gitea-token", token()), ("webhook-secret", HOOK_SECRET.to_owned())] {
            let body = json!({"name": name, "value": value, "repo": "hello"});
            let asked = world.house.request(Method::POST, "/api/v1/secrets").json(&body);
            let (status, answer) = world.house.ask(asked).await;
            assert!(status.is_success(), "{answer}");
        }
        let source = format!("http://{}/{SLUG}.git", world.standin.address);
        add(&world.house, json!({"source": source, "name": "hello", "forge": "gitea"})).await;
        sync(&world.house, "hello").await;
        world
    }

    /// Somebody else at the same Gitea.
    fn mona(&self) -> Gitea {
        let url = format!("http://{}/", self.standin.address);
        let config = Config { url, keyring: Arc::new(Key::Token("mona".into())), patience: Duration::from_secs(60) };
        config.build().unwrap().repository(SLUG.parse().unwrap())
    }

    /// A sandbox of a task pushes its branch.
    async fn push(&self, task: u32, file: &str, content: &str) -> String {
        let body = json!({"repo": "hello", "task_id": task});
        let made = self.house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body);
        let (_, sandbox) = self.house.ask(made).await;
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

    /// A letter as Gitea sends it.
    async fn letter(&self, event: &str, delivery: &str, secret: &str, body: &Value) -> (StatusCode, Value) {
        let body = serde_json::to_vec(body).unwrap();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let signature = hex::encode(ring::hmac::sign(&key, &body).as_ref());
        let request = self.house.bare_request(Method::POST, "/hooks/gitea/hello");
        let request = request.header("x-gitea-event", event).header("x-gitea-delivery", delivery);
        let request = request.header("x-gitea-signature", signature).header("content-type", "application/json");
        self.house.ask(request.body(body)).await
    }

    async fn set_check(&self, commit: &str, state: CheckState) {
        let at = Some(carrel_model::Timestamp::now());
        let check = Check { name: "ci".into(), state, summary: Some("2 failed".into()), url: None, at };
        let commit: CommitId = commit.parse().unwrap();
        self.standin.house.forge.report(&commit, &check).await.unwrap();
    }

    async fn close(self) {
        assert_eq!(*self.standin.house.violations.lock().unwrap(), Vec::<String>::new());
        assert_eq!(*self.upstream.seen.lock().unwrap(), [] as [String; 0], "in a process list or environment");
        drop(self.standin);
        self.house.close().await;
    }
}

/// What Gitea writes when somebody says something at a pull.
fn about_a_comment(repository: &str) -> Value {
    json!({
        "action": "created", "is_pull": true, "issue": {"number": 1}, "repository": {"full_name": repository},
        "comment": {
            "id": 9, "html_url": "https://git.invalid/c", "user": {"login": "mona"}, "body": "And wave.",
            "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
        },
    })
}

fn about_a_check(commit: &str) -> Value {
    json!({
        "sha": commit, "context": "ci", "state": "failure", "description": "2 failed", "target_url": "",
        "created_at": "2026-01-02T03:04:05Z", "updated_at": null, "repository": {"full_name": SLUG},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_was_put_onto_its_base_before_a_crash_is_published_and_merged_at_gitea() {
    let database = TestDatabase::sqlite();
    let world = World::open(&database).await;
    world.push(7, "greet.txt", "hello\n").await;
    world.open_pull(7).await;
    let (before, made) = put_on_base(&world.house, &world.bare, "gitea").await;
    merge_what_was_put_on_base(&world.house, &world.bare, &before, &made).await;
    world.close().await;
    database.drop().await;
}

on_both_databases! {
    async fn work_is_published_opened_reviewed_checked_and_merged_at_gitea(database: TestDatabase) {
        let world = World::open(&database).await;
        let (_, told) = world.house.ask(world.house.request(Method::POST, "/api/v1/repos/hello/test")).await;
        assert_eq!((&told["forge"], &told["reached"], &told["login"]), (&json!("gitea"), &json!(true), &json!("carrel")));
        let head = world.push(7, "greet.txt", "hello\n").await;
        let mut events = world.house.events("?kind=pull").await;
        let pull = world.open_pull(7).await;
        assert_eq!((&pull["number"], &pull["forge"], &pull["task_id"]), (&json!(1), &json!("gitea"), &json!(7)));
        assert_eq!((&pull["head_commit"], &pull["labels"]), (&json!(head), &json!(["carrel"])), "{pull}");
        assert_eq!(world.bare.find("task-7").unwrap().as_str(), head, "its branch is upstream");
        assert_eq!(world.open_pull(7).await["number"], json!(1), "asked twice, opened once");

        // A remark comes once, however often the letter does; a forged one and one about something else not at all.
        let remark = NewComment { body: "And wave.".into(), place: None, stamp: None };
        world.mona().comment(PullNumber(1), &remark).await.unwrap();
        let (status, _) = world.letter("issue_comment", "a", "another secret", &about_a_comment(SLUG)).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "a forged letter is not believed");
        for (delivery, word) in [("a", "taken"), ("a", "again"), ("b", "again")] {
            let (status, answer) = world.letter("issue_comment", delivery, HOOK_SECRET, &about_a_comment(SLUG)).await;
            assert_eq!((status, &answer["letter"]), (StatusCode::ACCEPTED, &json!(word)));
        }
        let said = news(&mut events, "comment").await;
        assert_eq!((&said["comment"]["body"], &said["comment"]["author"]), (&json!("And wave."), &json!("mona")));
        let (status, _) = world.letter("issue_comment", "c", HOOK_SECRET, &about_a_comment("octo/other")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "a letter about another repository is not ours");

        // A remark on a line is part of a review there. No letter comes, so we read on.
        let place = Place { path: "greet.txt".into(), line: Some(1), side: Side::New };
        let remark = NewComment { body: "Greet by name.".into(), place: Some(place), stamp: None };
        world.mona().comment(PullNumber(1), &remark).await.unwrap();
        sync(&world.house, "hello").await;
        let said = news(&mut events, "comment").await;
        let comment = &said["comment"];
        assert_eq!((&comment["body"], &comment["path"], &comment["line"]),
            (&json!("Greet by name."), &json!("greet.txt"), &json!(1)), "{said}");
        assert_eq!(said["head"], json!(head));

        // What is said here is said there, once.
        let words = json!({"body": "Wave as well.", "path": "greet.txt", "line": 1, "stamp": "review.7.a"});
        for _ in 0..2 {
            let words = world.house.request(Method::POST, "/api/v1/pulls/hello/1/comments").json(&words);
            let (status, comment) = world.house.ask(words).await;
            assert_eq!((status, &comment["stamp"]), (StatusCode::CREATED, &json!("review.7.a")), "{comment}");
        }
        let there = world.mona().comments(PullNumber(1), None).await.unwrap();
        assert_eq!(there.iter().filter(|one| one.body.starts_with("Wave as well.")).count(), 1, "{there:?}");

        // A check that fails goes back with the commit it speaks of, and stands in the way.
        world.set_check(&head, CheckState::Failed).await;
        let (status, _) = world.letter("status", "d", HOOK_SECRET, &about_a_check(&head)).await;
        assert_eq!(status, StatusCode::ACCEPTED);
        let check = news(&mut events, "check").await;
        assert_eq!((&check["check"]["name"], &check["check"]["state"], &check["head"]),
            (&json!("ci"), &json!("failed"), &json!(head)));
        let problem = refused(409, world.house.request(Method::POST, "/api/v1/pulls/hello/1/merge")).await;
        assert_eq!(problem["type"], json!("/problems/merge-checks-failed"), "{problem}");
        world.set_check(&head, CheckState::Passed).await;

        let (status, merged) = world.house.ask(world.house.request(Method::POST, "/api/v1/pulls/hello/1/merge")).await;
        assert_eq!((status, &merged["phase"]), (StatusCode::OK, &json!("merged")), "{merged}");
        let main = world.bare.find("main").unwrap();
        assert_eq!(merged["merge_commit"], json!(main.as_str()));
        let (_, repo) = world.house.ask(world.house.request(Method::GET, "/api/v1/repos/hello")).await;
        assert_eq!(repo["head"], json!(main.as_str()), "our mirror followed");
        assert_eq!(world.bare.find("task-7"), None, "its branch is gone there");
        let (again, _) = world.house.ask(world.house.request(Method::POST, "/api/v1/pulls/hello/1/merge")).await;
        assert_eq!(again, StatusCode::OK, "a second time finds it merged");
        world.close().await;
        database.drop().await;
    }
}
