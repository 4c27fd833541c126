//! How much one member and one repository may have, and what is carried out on demand.

use carrel_control::{Quotas, Workload};
use carrel_testkit::{House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    models::{Upstream, message},
    refused,
    repos::{Work, add, address},
};

fn setup(quotas: Quotas) -> Setup {
    Setup { work: Workload { quotas, ..Workload::default() }, ..Setup::default() }
}

on_both_databases! {
    async fn a_member_has_so_many_sandboxes_and_an_admin_as_many_as_it_takes(database: TestDatabase) {
        let house = House::build(&database, setup(Quotas { member_sandboxes: Some(2), ..Quotas::default() })).await;
        let (_, ada) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let (_, bob) = house.mint(json!({"name": "Bob", "role": "member"})).await;
        let make = |key: &str| house.request_as(key, Method::POST, "/api/v1/sandboxes").header("idempotency-key", "once").json(&json!({}));
        let more = |key: &str| house.request_as(key, Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({}));
        let (status, first) = house.ask(make(&ada)).await;
        assert_eq!(status.as_u16(), 201, "{first}");
        assert_eq!(house.ask(more(&ada)).await.0, 201);
        let problem = refused(429, more(&ada)).await;
        let why = problem["detail"].as_str().unwrap();
        assert!(why.contains("has 2 sandboxes, and 2 are allowed") && why.contains("quotas.member_sandboxes"), "{why}");
        let (status, again) = house.ask(make(&ada)).await;
        assert_eq!((status.as_u16(), &again["id"]), (201, &first["id"]), "what was made before is shown, not refused");
        assert_eq!(house.ask(more(&bob)).await.0, 201, "another has his own");
        for _ in 0..3 {
            assert_eq!(house.ask(more(&house.key)).await.0, 201);
        }
        let (_, page) = house.ask(house.request_as(&ada, Method::GET, "/api/v1/quotas")).await;
        let own = json!([{"of": "member", "name": "Ada", "what": "sandboxes", "used": 2.0, "most": 2.0}]);
        assert_eq!(page["items"], own);
        let (_, page) = house.ask(house.request(Method::GET, "/api/v1/quotas")).await;
        let names: Vec<&Value> = page["items"].as_array().unwrap().iter().map(|quota| &quota["name"]).collect();
        assert!(names.contains(&&json!("Ada")) && names.contains(&&json!("Bob")), "{page}");

        let place = format!("/api/v1/sandboxes/{}?wait=gone", first["id"].as_str().unwrap());
        assert_eq!(house.request_as(&ada, Method::DELETE, &place).send().await.unwrap().status(), 204);
        assert_eq!(house.ask(more(&ada)).await.0, 201, "who made room may have another");
        house.close().await;
        database.drop().await;
    }

    async fn cards_are_counted_by_member_and_by_repository(database: TestDatabase) {
        let quotas = Quotas { member_tasks: Some(2), repo_tasks: Some(3), repo_disk_mb: Some(1000), ..Quotas::default() };
        let house = House::build(&database, setup(quotas)).await;
        for name in ["one", "two"] {
            let repo = json!({"new": true, "name": name});
            assert_eq!(house.ask(house.request(Method::POST, "/api/v1/repos").json(&repo)).await.0, 201);
        }
        let (_, ada) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let (_, bob) = house.mint(json!({"name": "Bob", "role": "member"})).await;
        let write = |key: &str, repo: &str| house.request_as(key, Method::POST, "/api/v1/tasks").json(&json!({"repo": repo, "title": "Something"}));
        for _ in 0..2 {
            let (status, task) = house.ask(write(&ada, "one")).await;
            assert_eq!(status.as_u16(), 201, "{task}");
        }
        let problem = refused(429, write(&ada, "two")).await;
        assert!(problem["detail"].as_str().unwrap().contains("quotas.member_tasks"), "{problem}");
        assert_eq!(house.ask(write(&bob, "one")).await.0, 201);
        let problem = refused(429, write(&bob, "one")).await;
        assert!(problem["detail"].as_str().unwrap().contains("quotas.repo_tasks"), "{problem}");
        assert_eq!(house.ask(write(&bob, "two")).await.0, 201);
        let (_, page) = house.ask(house.request(Method::GET, "/api/v1/tasks")).await;
        assert_eq!(page["items"].as_array().unwrap().len(), 4, "what was refused left no card");
        let (_, page) = house.ask(house.request_as(&bob, Method::GET, "/api/v1/quotas")).await;
        let has = |of: &str, name: &str, what: &str, used: f64| {
            let mut items = page["items"].as_array().unwrap().iter();
            items.any(|quota| quota["of"] == of && quota["name"] == name && quota["what"] == what && quota["used"] == used)
        };
        assert!(has("member", "Bob", "tasks", 2.0) && has("repo", "one", "tasks", 3.0) && has("repo", "two", "disk_mb", 0.0), "{page}");

        let (status, closed) = house.ask(house.request_as(&ada, Method::POST, "/api/v1/tasks/1/close?wait=closed")).await;
        assert_eq!((status.as_u16(), &closed["phase"]), (200, &json!("closed")), "{closed}");
        assert_eq!(house.ask(write(&ada, "two")).await.0, 201);
        house.close().await;
        database.drop().await;
    }

    async fn money_is_counted_for_who_wrote_the_card_and_for_its_repository(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let quotas = Quotas { member_day: Some("0.005".parse().unwrap()), repo_day: Some("0.008".parse().unwrap()), ..Quotas::default() };
        let work = Workload { quotas, ..Workload::default() };
        let house = House::build(&database, Setup { work, ..upstream.setup() }).await;
        add(&house, json!({"new": true, "name": "one"})).await;
        let (_, ada) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let (_, bob) = house.mint(json!({"name": "Bob", "role": "member"})).await;
        let work = Work::new(&house, "work");
        work.git(&["init", "-q", "-b", "main"]).await;
        work.commit("README.md", "hello\n").await;
        work.git(&["push", "-q", &address(&house, &house.key, "one"), "main"]).await;
        let mut inside = Vec::new();
        for key in [&ada, &bob] {
            let talk = house.request_as(key, Method::POST, "/api/v1/sessions").json(&json!({"repo": "one", "agent": "demo"}));
            let (status, talk) = house.ask(talk).await;
            assert!(status.is_success(), "{talk}");
            inside.push(house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": talk["sandbox_id"]})).await.1);
        }
        // $0.003 each.
        let ask = |desk: usize| house.request_as(&inside[desk], Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5"}"#);
        let why = |answer: Value| answer["error"]["message"].as_str().unwrap_or_default().to_owned();
        for _ in 0..2 {
            upstream.will_say(200, message(1000, 0));
            assert_eq!(house.ask(ask(0)).await.0, 200);
        }
        let (status, answer) = house.ask(ask(0)).await;
        assert_eq!(status, 402, "{answer}");
        assert!(why(answer).contains("quotas.member_day_usd"));
        // Bob has his own, but both work in one repository.
        upstream.will_say(200, message(1000, 0));
        assert_eq!(house.ask(ask(1)).await.0, 200);
        let (status, answer) = house.ask(ask(1)).await;
        assert_eq!(status, 402, "{answer}");
        assert!(why(answer).contains("repo `one`"));
        let (_, page) = house.ask(house.request(Method::GET, "/api/v1/quotas")).await;
        let used = |name: &str| page["items"].as_array().unwrap().iter().find(|quota| quota["name"] == name && quota["what"] == "usd_today").map(|quota| quota["used"].clone());
        assert_eq!((used("Ada"), used("Bob"), used("one")), (Some(json!(0.006)), Some(json!(0.003)), Some(json!(0.009))), "{page}");
        house.close().await;
        database.drop().await;
    }

    async fn a_repository_that_is_too_large_takes_nothing_new_from_people(database: TestDatabase) {
        let house = House::build(&database, setup(Quotas { repo_disk_mb: Some(1), ..Quotas::default() })).await;
        add(&house, json!({"new": true, "name": "one"})).await;
        let (_, ada) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let work = Work::new(&house, "work");
        work.git(&["init", "-q", "-b", "main"]).await;
        // What does not shrink: noise, drawn from a small generator.
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(33 + (state >> 24) as u8 % 90)
        });
        work.commit("noise", &noise.take(3 << 20).collect::<String>()).await;
        let to = address(&house, &ada, "one");
        work.git(&["push", "-q", &to, "main"]).await;
        work.commit("more", "a little more").await;
        let told = work.refused(&["push", &to, "main"]).await;
        assert!(told.contains("quotas.repo_disk_mb"), "{told}");
        let card = |key: &str| house.request_as(key, Method::POST, "/api/v1/tasks").json(&json!({"repo": "one", "title": "Something"}));
        let problem = refused(429, card(&ada)).await;
        assert!(problem["detail"].as_str().unwrap().contains("quotas.repo_disk_mb"), "{problem}");
        assert_eq!(house.ask(card(&house.key)).await.0, 201, "an admin may");
        house.close().await;
        database.drop().await;
    }

    async fn what_nobody_needs_is_carried_out_by_an_admin_alone(database: TestDatabase) {
        let house = House::open(&database).await;
        let (_, ada) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        refused(403, house.request_as(&ada, Method::POST, "/api/v1/prune").json(&json!({}))).await;
        refused(422, house.request(Method::POST, "/api/v1/prune").json(&json!({"older_than_days": 0}))).await;
        let sandbox = house.ready_sandbox().await;
        let place = format!("/api/v1/sandboxes/{}?wait=gone", sandbox.id);
        assert_eq!(house.request(Method::DELETE, &place).send().await.unwrap().status(), 204);
        let (status, went) = house.ask(house.request(Method::POST, "/api/v1/prune").json(&json!({"dry_run": true}))).await;
        assert_eq!((status.as_u16(), &went["sandboxes"], &went["dry_run"]), (200, &json!(0), &json!(true)), "{went}");
        let (status, went) = house.ask(house.request(Method::POST, "/api/v1/prune")).await;
        assert_eq!((status.as_u16(), &went["sandboxes"]), (200, &json!(0)), "what is young stays: {went}");
        let place = format!("/api/v1/sandboxes/{}", sandbox.id);
        assert_eq!(house.ask(house.request(Method::GET, &place)).await.0, 200);
        house.close().await;
        database.drop().await;
    }
}
