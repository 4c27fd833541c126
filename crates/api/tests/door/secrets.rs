//! Secrets: set, listed, replaced, removed; their values never seen again.

use carrel_forge::{Key, Keyring, hooks::Dialect};
use carrel_testkit::{House, Setup, on_both_databases};
use carrel_vault::{Keychain, MasterKey};
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::{denials, refused};

const VALUE: &str = "ghp_correcthorsebatterystaple";

async fn set(house: &House, body: serde_json::Value) -> serde_json::Value {
    let (status, answer) = house.ask(house.request(Method::POST, "/api/v1/secrets").json(&body)).await;
    assert_eq!(status.as_u16(), 201, "{answer}");
    assert!(!answer.to_string().contains(VALUE));
    answer
}

async fn token(house: &House, repo: Option<&str>) -> Option<String> {
    let keys = house.control.forge_keys(repo.map(|repo| repo.parse().unwrap()), Dialect::GitHub);
    match keys.key().await {
        Ok(Key::Token(token)) => Some(token.expose_secret().to_owned()),
        Ok(Key::App(_)) => panic!("no app was set"),
        Err(_) => None,
    }
}

on_both_databases! {
    async fn a_secret_is_listed_by_name_and_its_value_is_nowhere(database: TestDatabase) {
        let house = House::open(&database).await;
        let made = set(&house, json!({"name": "github-token", "value": VALUE})).await;
        assert_eq!((&made["name"], &made["repo"], &made["revision"]), (&json!("github-token"), &json!(null), &json!(1)));
        assert_eq!(set(&house, json!({"name": "github-token", "value": VALUE})).await["revision"], 2);
        set(&house, json!({"name": "github-token", "value": VALUE, "repo": "hello"})).await;
        for path in ["/secrets", "/secrets/github-token", "/secrets/github-token?repo=hello", "/audit", "/events?after=0"] {
            if path.starts_with("/events") {
                continue;
            }
            let (status, body) = house.ask(house.request(Method::GET, &format!("/api/v1{path}"))).await;
            assert_eq!(status.as_u16(), 200, "{path}: {body}");
            assert!(!body.to_string().contains(VALUE), "{path}");
        }
        let (_, list) = house.ask(house.request(Method::GET, "/api/v1/secrets")).await;
        assert_eq!(list["items"].as_array().unwrap().len(), 2);

        let remove = |path: &str| house.request(Method::DELETE, &format!("/api/v1/secrets/{path}"));
        assert_eq!(remove("github-token?repo=hello").send().await.unwrap().status(), 204);
        refused(404, remove("github-token?repo=hello")).await;
        refused(404, house.request(Method::GET, "/api/v1/secrets/gitea-token")).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_new_value_counts_at_once_and_a_repos_own_comes_before_the_houses(database: TestDatabase) {
        let house = House::open(&database).await;
        set(&house, json!({"name": "github-token", "value": "one"})).await;
        assert_eq!(token(&house, None).await.as_deref(), Some("one"));
        assert_eq!(token(&house, Some("hello")).await.as_deref(), Some("one"));
        set(&house, json!({"name": "github-token", "value": "two"})).await;
        assert_eq!(token(&house, Some("hello")).await.as_deref(), Some("two"));
        set(&house, json!({"name": "github-token", "value": "three", "repo": "hello"})).await;
        assert_eq!(token(&house, Some("hello")).await.as_deref(), Some("three"));
        assert_eq!(token(&house, Some("other")).await.as_deref(), Some("two"));
        house.close().await;
        database.drop().await;
    }

    async fn only_an_admin_sets_and_removes_secrets(database: TestDatabase) {
        let house = House::open(&database).await;
        set(&house, json!({"name": "github-token", "value": VALUE})).await;
        let (_, member) = house.mint(json!({"name": "m", "role": "member"})).await;
        let (_, agent) = house.mint(json!({"name": "a", "role": "agent", "agent_id": "scout"})).await;
        let (_, sandbox) = house.mint(json!({"name": "s", "role": "sandbox", "sandbox_id": "i0000000000000000000"})).await;
        let ask = |key: &str, method, path: &str| house.request_as(key, method, &format!("/api/v1{path}"));
        assert_eq!(ask(&member, Method::GET, "/secrets").send().await.unwrap().status(), 200);
        for key in [&member, &agent, &sandbox] {
            refused(403, ask(key, Method::POST, "/secrets").json(&json!({"name": "github-token", "value": "x"}))).await;
            assert_eq!(denials(&house).await[0].action, "secret.set");
            refused(403, ask(key, Method::DELETE, "/secrets/github-token")).await;
        }
        for key in [&agent, &sandbox] {
            refused(403, ask(key, Method::GET, "/secrets")).await;
            refused(403, ask(key, Method::GET, "/secrets/github-token")).await;
        }
        assert_eq!(token(&house, None).await.as_deref(), Some(VALUE));
        house.close().await;
        database.drop().await;
    }

    async fn a_refusal_of_a_secret_does_not_repeat_it(database: TestDatabase) {
        let house = House::open(&database).await;
        for body in [
            json!({"name": "UPPER", "value": VALUE}),
            json!({"name": "x", "value": VALUE, "extra": 1}),
            json!({"name": "x", "value": [VALUE]}),
            json!({"name": "x", "value": ""}),
            json!({"name": "x", "value": format!("{VALUE}\0")}),
            json!({"name": "x", "value": VALUE.repeat(3000)}),
        ] {
            let problem = refused(422, house.request(Method::POST, "/api/v1/secrets").json(&body)).await;
            assert!(!problem.to_string().contains(VALUE), "{problem}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_new_master_key_takes_over_and_the_old_one_can_go(database: TestDatabase) {
        let (old, new) = (MasterKey::draw(), MasterKey::draw());
        let with = |keys: &[&MasterKey]| Setup {
            keychain: Keychain::new(keys.iter().map(|key| (*key).clone()).collect()).unwrap(),
            ..Setup::default()
        };
        let house = House::build(&database, with(&[&old])).await;
        set(&house, json!({"name": "github-token", "value": VALUE})).await;
        house.close().await;
        let house = House::build(&database, with(&[&new, &old])).await;
        assert_eq!(token(&house, None).await.as_deref(), Some(VALUE));
        house.close().await;
        let house = House::build(&database, with(&[&new])).await;
        assert_eq!(token(&house, None).await.as_deref(), Some(VALUE));
        house.close().await;
        // Without either, the house opens, says so, and takes a new value.
        let house = House::build(&database, with(&[&MasterKey::draw()])).await;
        assert_eq!(token(&house, None).await, None);
        set(&house, json!({"name": "github-token", "value": "again"})).await;
        assert_eq!(token(&house, None).await.as_deref(), Some("again"));
        house.close().await;
        database.drop().await;
    }
}
