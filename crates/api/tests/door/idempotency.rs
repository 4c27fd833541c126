//! Requests that may be repeated.

use std::collections::HashSet;

use carrel_testkit::{House, on_both_databases};
use futures::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::{refused, traces};

fn create(house: &House, secret: &str, key: &str, body: &Value) -> RequestBuilder {
    house.request_as(secret, Method::POST, "/api/v1/sandboxes").header("idempotency-key", key).json(body)
}

/// The id of what was made, and whether the answer says that it was made before.
async fn made(request: RequestBuilder) -> (String, bool) {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 201);
    let replayed = response.headers().get("idempotency-replayed").is_some_and(|value| value == "true");
    let body: Value = response.json().await.unwrap();
    (body["id"].as_str().unwrap().to_owned(), replayed)
}

on_both_databases! {
    async fn the_same_request_with_the_same_key_makes_one_sandbox(database: TestDatabase) {
        let house = House::open(&database).await;
        let body = json!({"metadata": {"for": "once"}});
        let (id, replayed) = made(create(&house, &house.key, "one", &body)).await;
        assert!(!replayed);
        assert_eq!(made(create(&house, &house.key, "one", &body)).await, (id.clone(), true));
        // The same request in other words.
        let spaced = create(&house, &house.key, "one", &json!({})).body("{ \"metadata\": {\"for\": \"once\"} }\n");
        assert_eq!(made(spaced).await, (id.clone(), true));
        // Even when it has ended since.
        let gone = house.request(Method::DELETE, &format!("/api/v1/sandboxes/{id}?wait=gone")).send().await.unwrap();
        assert_eq!(gone.status(), 204);
        assert_eq!(made(create(&house, &house.key, "one", &body)).await, (id.clone(), true));
        let (other, replayed) = made(create(&house, &house.key, "two", &body)).await;
        assert!(other != id && !replayed);
        house.close().await;
        database.drop().await;
    }

    async fn twenty_at_once_with_the_same_key_make_one_sandbox(database: TestDatabase) {
        let house = House::open(&database).await;
        for round in 0..5 {
            let before = traces(&house).await.sandboxes;
            let key = format!("round {round}");
            let answers = join_all((0..20).map(|_| made(create(&house, &house.key, &key, &json!({}))))).await;
            let ids: HashSet<_> = answers.iter().map(|(id, _)| id).collect();
            assert_eq!((ids.len(), answers.iter().filter(|(_, replayed)| !replayed).count()), (1, 1), "{answers:?}");
            assert_eq!(traces(&house).await.sandboxes, before + 1);
        }
        house.close().await;
        database.drop().await;
    }

    async fn the_same_key_for_another_request_is_a_conflict(database: TestDatabase) {
        let house = House::open(&database).await;
        let (id, _) = made(create(&house, &house.key, "one", &json!({}))).await;
        house.request(Method::DELETE, &format!("/api/v1/sandboxes/{id}?wait=gone")).send().await.unwrap();
        let before = traces(&house).await;
        let problem = refused(409, create(&house, &house.key, "one", &json!({"timeout_s": 60}))).await;
        assert!(problem["detail"].as_str().unwrap().contains("`one`"));
        let other_verb = house.request(Method::POST, "/api/v1/keys").header("idempotency-key", "one");
        refused(409, other_verb.json(&json!({"name": "x", "role": "member"}))).await;
        assert_eq!(traces(&house).await, before);
        house.close().await;
        database.drop().await;
    }

    async fn another_bearers_keys_are_its_own(database: TestDatabase) {
        let house = House::open(&database).await;
        let (_, member) = house.mint(json!({"name": "member", "role": "member"})).await;
        let (mine, _) = made(create(&house, &house.key, "one", &json!({}))).await;
        let (theirs, replayed) = made(create(&house, &member, "one", &json!({"timeout_s": 60}))).await;
        assert!(mine != theirs && !replayed);
        house.close().await;
        database.drop().await;
    }

    async fn a_request_that_was_refused_may_be_made_again_with_the_same_key(database: TestDatabase) {
        let house = House::open(&database).await;
        refused(422, create(&house, &house.key, "one", &json!({"template": "nope"}))).await;
        let (_, replayed) = made(create(&house, &house.key, "one", &json!({"template": "base"}))).await;
        assert!(!replayed);
        house.close().await;
        database.drop().await;
    }

    async fn a_key_that_is_asked_for_twice_is_minted_once_and_its_secret_shown_once(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await.keys;
        let mint = || house.request(Method::POST, "/api/v1/keys").header("idempotency-key", "one").json(&json!({"name": "x", "role": "member"}));
        let answers: Vec<Value> = join_all((0..10).map(|_| async { house.ask(mint()).await.1 })).await;
        let ids: HashSet<_> = answers.iter().map(|minted| minted["key"]["id"].as_str().unwrap()).collect();
        assert_eq!((ids.len(), answers.iter().filter(|minted| minted["secret"].is_string()).count()), (1, 1));
        let again = mint().send().await.unwrap();
        assert_eq!((again.status().as_u16(), &again.headers()["idempotency-replayed"]), (201, &"true".parse().unwrap()));
        assert_eq!(again.json::<Value>().await.unwrap()["secret"], json!(null));
        assert_eq!(traces(&house).await.keys, before + 1);
        house.close().await;
        database.drop().await;
    }

    async fn a_template_that_is_asked_for_twice_is_made_once(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let new = json!({"name": "mine", "from": "recipe", "recipe": "FROM host\nRUN true\n"});
        let make = |new: &Value| house.request(Method::POST, "/api/v1/templates").header("idempotency-key", "one").json(new);
        let first = make(&new).send().await.unwrap();
        assert!(first.status() == 201 && !first.headers().contains_key("idempotency-replayed"));
        let log = first.json::<Value>().await.unwrap()["created_at"].clone();
        for _ in 0..3 {
            let again = make(&new).send().await.unwrap();
            assert_eq!((again.status().as_u16(), &again.headers()["idempotency-replayed"]), (201, &"true".parse().unwrap()));
            assert_eq!(again.json::<Value>().await.unwrap()["created_at"], log, "it is the one that was begun first");
        }
        refused(409, make(&json!({"name": "mine", "from": "host"}))).await;
        house.close().await;
        database.drop().await;
    }

    async fn copies_that_are_asked_for_twice_are_made_once(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let (_, made) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({}))).await;
        let path = format!("/api/v1/sandboxes/{}/fork?wait=ready", made["id"].as_str().unwrap());
        let fork = |count: u64| house.request(Method::POST, &path).header("idempotency-key", "fork").json(&json!({"count": count}));
        let ids = |body: &Value| -> Vec<String> {
            body["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
        };
        let (status, first) = house.ask(fork(2)).await;
        assert_eq!((status.as_u16(), ids(&first).len()), (201, 2));
        let again = fork(2).send().await.unwrap();
        assert_eq!((again.status().as_u16(), &again.headers()["idempotency-replayed"]), (201, &"true".parse().unwrap()));
        assert_eq!(ids(&again.json().await.unwrap()), ids(&first));
        refused(409, fork(3)).await;
        let path = format!("/api/v1/sandboxes/{}/snapshot", made["id"].as_str().unwrap());
        let keep = || house.request(Method::POST, &path).header("idempotency-key", "keep").json(&json!({}));
        let (_, kept) = house.ask(keep()).await;
        let again = keep().send().await.unwrap();
        assert_eq!((again.status().as_u16(), &again.headers()["idempotency-replayed"]), (201, &"true".parse().unwrap()));
        assert_eq!(again.json::<Value>().await.unwrap()["name"], kept["name"], "a name that was drawn for it");
        house.close().await;
        database.drop().await;
    }
}
