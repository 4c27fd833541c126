//! Webhooks out: what happens is delivered in order, signed, again when it was not taken, and once more when asked for.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{Router, extract::Request, http::StatusCode as Status};
use base64::{Engine, prelude::BASE64_STANDARD};
use carrel_testkit::{House, Setup, on_both_databases};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Somebody who takes letters, or does not.
struct Receiver {
    url: String,
    taken: Arc<Mutex<Vec<Letter>>>,
    /// What is answered next; 204 when nothing is left.
    answers: Arc<Mutex<VecDeque<u16>>>,
    bell: Arc<Notify>,
}

#[derive(Clone)]
struct Letter {
    id: String,
    at: String,
    signature: String,
    text: String,
    answered: u16,
}

impl Letter {
    fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// Believes it, as the standard says.
    fn believe(&self, secret: &str) {
        let key = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
        let shown = BASE64_STANDARD.decode(self.signature.strip_prefix("v1,").unwrap()).unwrap();
        let signed = format!("{}.{}.{}", self.id, self.at, self.text);
        ring::hmac::verify(&key, signed.as_bytes(), &shown).expect("a good signature");
    }
}

impl Receiver {
    async fn open() -> Receiver {
        let (taken, answers) = (Arc::<Mutex<Vec<Letter>>>::default(), Arc::<Mutex<VecDeque<u16>>>::default());
        let bell = Arc::new(Notify::new());
        let (into, from, rings) = (Arc::clone(&taken), Arc::clone(&answers), Arc::clone(&bell));
        let take = move |request: Request| async move {
            let (parts, body) = request.into_parts();
            let header = |name: &str| parts.headers[name].to_str().unwrap().to_owned();
            let (id, at, signature) = (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let answered = from.lock().unwrap().pop_front().unwrap_or(204);
            let text = String::from_utf8(body.to_vec()).unwrap();
            into.lock().unwrap().push(Letter { id, at, signature, text, answered });
            rings.notify_one();
            Status::from_u16(answered).unwrap()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(take)).await.unwrap() });
        Receiver { url, taken, answers, bell }
    }

    fn letters(&self) -> Vec<Letter> {
        self.taken.lock().unwrap().clone()
    }

    /// Waits until so many letters came.
    async fn until(&self, count: usize) -> Vec<Letter> {
        loop {
            let letters = self.letters();
            if letters.len() >= count {
                return letters;
            }
            self.bell.notified().await;
        }
    }
}

fn setup() -> Setup {
    Setup { private_hooks: true, ..Setup::default() }
}

async fn add(house: &House, url: &str, events: Value) -> (String, String) {
    let body = json!({"url": url, "events": events});
    let (status, added) = house.ask(house.request(Method::POST, "/api/v1/hooks").json(&body)).await;
    assert_eq!(status, StatusCode::CREATED, "{added}");
    (added["hook"]["id"].as_str().unwrap().to_owned(), added["secret"].as_str().unwrap().to_owned())
}

async fn card(house: &House, title: &str) {
    let body = json!({"repo": "hello", "title": title});
    let (status, task) = house.ask(house.request(Method::POST, "/api/v1/tasks").json(&body)).await;
    assert_eq!(status, StatusCode::CREATED, "{task}");
}

async fn repo(house: &House) {
    let body = json!({"name": "hello", "new": true});
    let (status, repo) = house.ask(house.request(Method::POST, "/api/v1/repos").json(&body)).await;
    assert_eq!(status, StatusCode::CREATED, "{repo}");
}

fn titles(letters: &[Letter]) -> Vec<String> {
    letters.iter().map(|letter| letter.body()["data"]["task"]["title"].as_str().unwrap().to_owned()).collect()
}

on_both_databases! {
    async fn what_happens_is_delivered_in_order_and_signed(database: TestDatabase) {
        let house = House::build(&database, setup()).await;
        let receiver = Receiver::open().await;
        repo(&house).await;
        let (id, secret) = add(&house, &receiver.url, json!(["task.backlog"])).await;
        for title in ["One", "Two", "Three"] {
            card(&house, title).await;
        }
        let letters = receiver.until(3).await;
        assert_eq!(titles(&letters), ["One", "Two", "Three"]);
        for letter in &letters {
            letter.believe(&secret);
            let body = letter.body();
            assert_eq!((&body["type"], &body["data"]["kind"]), (&json!("task.backlog"), &json!("task")), "{body}");
            assert!(letter.id.ends_with(&format!("_{}", body["data"]["cursor"])), "{}", letter.id);
        }
        // The secret is shown once and is nowhere to be read.
        let (_, hook) = house.ask(house.request(Method::GET, &format!("/api/v1/hooks/{id}"))).await;
        let (_, audit) = house.ask(house.request(Method::GET, "/api/v1/audit?limit=1000")).await;
        assert!(!format!("{hook}{audit}").contains(&secret));

        let (status, went) = house.ask(house.request(Method::POST, &format!("/api/v1/hooks/{id}/test"))).await;
        assert_eq!((status, &went["status"]), (StatusCode::OK, &json!(204)), "{went}");
        assert_eq!(receiver.until(4).await[3].body()["type"], "test");

        // Once more, from before the second.
        let before = letters[0].body()["data"]["cursor"].clone();
        let replay = house.request(Method::POST, &format!("/api/v1/hooks/{id}/replay")).json(&json!({"after": before}));
        assert_eq!(house.ask(replay).await.0, StatusCode::OK);
        let letters = receiver.until(6).await;
        assert_eq!(titles(&letters[4..]), ["Two", "Three"]);
        assert_eq!(letters[4].id, letters[1].id, "whoever takes it twice can tell");

        let beyond = house.request(Method::POST, &format!("/api/v1/hooks/{id}/replay")).json(&json!({"after": i64::MAX}));
        crate::refused(422, beyond).await;

        let gone = house.request(Method::DELETE, &format!("/api/v1/hooks/{id}"));
        assert_eq!(house.ask(gone).await.0, StatusCode::NO_CONTENT);
        let (_, secrets) = house.ask(house.request(Method::GET, "/api/v1/secrets")).await;
        assert_eq!(secrets["items"], json!([]));
        house.close().await;
        database.drop().await;
    }

    async fn what_was_not_taken_is_delivered_again_and_nothing_overtakes_it(database: TestDatabase) {
        let house = House::build(&database, setup()).await;
        let receiver = Receiver::open().await;
        receiver.answers.lock().unwrap().extend([500; 3]);
        repo(&house).await;
        let (id, _) = add(&house, &receiver.url, json!(["task.backlog"])).await;
        card(&house, "One").await;
        card(&house, "Two").await;
        receiver.until(1).await;
        let hook = loop {
            let hook = house.ask(house.request(Method::GET, &format!("/api/v1/hooks/{id}"))).await.1;
            if hook["failures"] != 0 {
                break hook;
            }
        };
        assert_eq!((&hook["status"], &hook["last"]["error"]), (&json!("failing"), &json!("it answered 500")), "{hook}");
        // Not waiting for the pauses: tried now.
        for count in 2..=4 {
            let replay = house.request(Method::POST, &format!("/api/v1/hooks/{id}/replay")).json(&json!({}));
            assert_eq!(house.ask(replay).await.0, StatusCode::OK);
            receiver.until(count).await;
        }
        let letters = receiver.until(5).await;
        assert_eq!(titles(&letters), ["One", "One", "One", "One", "Two"]);
        assert_eq!(letters.iter().map(|letter| letter.answered).collect::<Vec<_>>(), [500, 500, 500, 204, 204]);
        house.close().await;
        database.drop().await;
    }

    async fn what_happened_while_nobody_delivered_is_delivered_after_a_restart(database: TestDatabase) {
        let receiver = Receiver::open().await;
        // The first house never gets a letter through, and ends.
        receiver.answers.lock().unwrap().extend([500; 8]);
        let node = carrel_control::new_node_id();
        let chain = setup().keychain;
        let build = || Setup { node: Some(node.clone()), keychain: chain.clone(), ..setup() };
        let house = House::build(&database, build()).await;
        repo(&house).await;
        add(&house, &receiver.url, json!(["task.backlog"])).await;
        card(&house, "One").await;
        card(&house, "Two").await;
        receiver.until(1).await;
        house.close().await;
        receiver.answers.lock().unwrap().clear();
        let before = receiver.letters().len();
        let house = House::build(&database, build()).await;
        let letters = receiver.until(before + 2).await;
        assert_eq!(titles(&letters[before..]), ["One", "Two"]);
        house.close().await;
        database.drop().await;
    }

    async fn hooks_are_the_admins_and_never_lead_into_the_house(database: TestDatabase) {
        let house = House::open(&database).await;
        for url in ["http://127.0.0.1:7070/x", "http://[::1]/", "http://169.254.169.254/", "http://10.0.0.1/"] {
            let body = json!({"url": url});
            let (status, problem) = house.ask(house.request(Method::POST, "/api/v1/hooks").json(&body)).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{url}: {problem}");
            assert!(problem.to_string().contains("hooks.private"), "{problem}");
        }
        for body in [json!({"url": "ftp://x/"}), json!({"url": "https://me:pw@h/"}), json!({"url": "https://h/", "events": ["nothing"]})] {
            let (status, problem) = house.ask(house.request(Method::POST, "/api/v1/hooks").json(&body)).await;
            assert!(status.is_client_error(), "{body}: {problem}");
        }
        // A name that leads here is refused when it is called.
        let (id, _) = add(&house, "http://localhost:9/", json!([])).await;
        let (_, went) = house.ask(house.request(Method::POST, &format!("/api/v1/hooks/{id}/test"))).await;
        assert!(went["error"].as_str().unwrap().contains("this host itself"), "{went}");
        let body = json!({"name": "m", "role": "member"});
        let (_, member) = house.ask(house.request(Method::POST, "/api/v1/keys").json(&body)).await;
        let member = member["secret"].as_str().unwrap();
        let (status, _) = house.ask(house.request_as(member, Method::GET, "/api/v1/hooks")).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        house.close().await;
        database.drop().await;
    }
}
