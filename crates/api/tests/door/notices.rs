//! Notices: a browser is told that a card needs somebody, once, sealed for it alone, and by nobody but this house.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as B64};
use carrel_control::{NoticeReach, Notices};
use carrel_model::task::{Needs, NeedsReason, TaskPhase};
use carrel_testkit::{House, Setup, on_both_databases};
use reqwest::Method;
use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral},
    hkdf::{HKDF_SHA256, KeyType, Salt},
    rand::SystemRandom,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{refused, repos::add};

/// What carries notices: takes them, or says that the browser is gone.
#[derive(Clone)]
struct Carrier {
    inbox: mpsc::UnboundedSender<(HeaderMap, Bytes)>,
    answer: Arc<Mutex<StatusCode>>,
}

struct Length(usize);
impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Opens a notice as a browser does.
fn unseal(private: EphemeralPrivateKey, public: &[u8], auth: &[u8], sealed: &[u8]) -> Value {
    let (salt, rest) = sealed.split_at(16);
    assert_eq!(rest[4], 65);
    let (house, record) = rest[5..].split_at(65);
    let expand = |salt: &[u8], secret: &[u8], info: &[&[u8]], length: usize| {
        let mut out = vec![0; length];
        Salt::new(HKDF_SHA256, salt).extract(secret).expand(info, Length(length)).unwrap().fill(&mut out).unwrap();
        out
    };
    let key = agree_ephemeral(private, &UnparsedPublicKey::new(&ECDH_P256, house), |shared| {
        expand(auth, shared, &[b"WebPush: info\0", public, house], 32)
    });
    let key = key.unwrap();
    let content = expand(salt, &key, &[b"Content-Encoding: aes128gcm\0"], 16);
    let nonce = expand(salt, &key, &[b"Content-Encoding: nonce\0"], 12);
    let mut record = record.to_vec();
    let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &content).unwrap());
    let nonce = Nonce::assume_unique_for_key(nonce.try_into().unwrap());
    let plain = cipher.open_in_place(nonce, Aad::empty(), &mut record).unwrap();
    assert_eq!(plain.last(), Some(&2));
    serde_json::from_slice(&plain[..plain.len() - 1]).unwrap()
}

async fn carrier() -> (String, Carrier, mpsc::UnboundedReceiver<(HeaderMap, Bytes)>) {
    let (inbox, read) = mpsc::unbounded_channel();
    let carrier = Carrier { inbox, answer: Arc::new(Mutex::new(StatusCode::CREATED)) };
    let take = |State(carrier): State<Carrier>, headers: HeaderMap, body: Bytes| async move {
        carrier.inbox.send((headers, body)).unwrap();
        *carrier.answer.lock().unwrap()
    };
    let app = Router::new().route("/send/{browser}", post(take)).with_state(carrier.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, carrier, read)
}

async fn set_phase(house: &House, id: i64, phase: TaskPhase) {
    let change = house.store.change(move |tx| {
        Box::pin(async move {
            let (mut task, _) = tx.lock_task(id.try_into().unwrap()).await?.unwrap();
            task.phase = phase;
            let detail = "Should I keep the old numbers?".into();
            task.needs = (phase == TaskPhase::NeedsYou).then_some(Needs { reason: NeedsReason::Question, detail });
            tx.put_task(&mut task).await
        })
    });
    change.await.unwrap();
}

fn browser() -> (EphemeralPrivateKey, Vec<u8>) {
    let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
    let public = private.compute_public_key().unwrap().as_ref().to_vec();
    (private, public)
}

on_both_databases! {
    async fn a_raised_hand_is_told_once_and_a_browser_that_is_gone_is_forgotten(database: TestDatabase) {
        let notices = Notices { reach: NoticeReach::Anywhere, contact: "mailto:ada@example.org".into() };
        let house = House::build(&database, Setup { notices, ..Setup::default() }).await;
        let (address, carrier, mut inbox) = carrier().await;
        let (private, public) = browser();
        let auth = [9_u8; 16];
        let body = json!({"endpoint": format!("{address}/send/one"), "keys": {"p256dh": B64.encode(&public), "auth": B64.encode(auth)}});
        let (status, first) = house.ask(house.request(Method::POST, "/api/v1/notices").json(&body)).await;
        assert_eq!(status.as_u16(), 201, "{first}");
        house.ask(house.request(Method::POST, "/api/v1/notices").json(&body)).await;
        let (_, shown) = house.ask(house.request(Method::GET, "/api/v1/notices")).await;
        assert_eq!(shown["items"].as_array().unwrap().len(), 1, "the same one twice is one");
        assert!(!shown.to_string().contains("/send/one"), "the address of a browser is its secret");
        let known = shown["public_key"].as_str().unwrap().to_owned();

        add(&house, json!({"name": "sample", "new": true})).await;
        let (status, task) = house.ask(house.request(Method::POST, "/api/v1/tasks").json(&json!({"repo": "sample", "title": "Split billing", "agent": "demo"}))).await;
        assert_eq!(status.as_u16(), 201, "{task}");
        let id = task["id"].as_i64().unwrap();
        set_phase(&house, id, TaskPhase::NeedsYou).await;
        let (headers, sealed) = inbox.recv().await.unwrap();
        assert_eq!((&headers["content-encoding"], &headers["topic"]), (&"aes128gcm".parse().unwrap(), &format!("task-{id}").parse().unwrap()));
        assert!(headers["authorization"].to_str().unwrap().ends_with(&format!("k={known}")));
        let told = unseal(private, &public, &auth, &sealed);
        assert_eq!((&told["body"], &told["path"]), (&json!("Should I keep the old numbers?"), &json!(format!("/app/tasks/{id}"))));

        // The same hand is no news; one that goes up again is. The carrier now says that the browser is gone.
        set_phase(&house, id, TaskPhase::NeedsYou).await;
        *carrier.answer.lock().unwrap() = StatusCode::GONE;
        set_phase(&house, id, TaskPhase::Backlog).await;
        set_phase(&house, id, TaskPhase::Failed).await;
        inbox.recv().await.unwrap();
        loop {
            let (_, shown) = house.ask(house.request(Method::GET, "/api/v1/notices")).await;
            if shown["items"] == json!([]) {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert!(inbox.try_recv().is_err(), "told once for each time");
        house.close().await;
        database.drop().await;
    }

    async fn an_address_inside_our_network_is_refused_and_everybody_has_their_own(database: TestDatabase) {
        let house = House::open(&database).await;
        let (_, public) = browser();
        let keys = json!({"p256dh": B64.encode(&public), "auth": B64.encode([1_u8; 16])});
        for endpoint in ["http://push.example.net/x", "https://127.0.0.1/x", "https://localhost/x", "https://10.0.0.1/", "nonsense"] {
            let body = json!({"endpoint": endpoint, "keys": keys});
            refused(422, house.request(Method::POST, "/api/v1/notices").json(&body)).await;
        }
        let body = json!({"endpoint": "https://push.example.net/x", "keys": {"p256dh": "AAAA", "auth": "AAAA"}});
        refused(422, house.request(Method::POST, "/api/v1/notices").json(&body)).await;
        let body = json!({"endpoint": "https://push.example.net/x", "keys": keys});
        let (_, mine) = house.ask(house.request(Method::POST, "/api/v1/notices").json(&body)).await;
        let place = format!("/api/v1/notices/{}", mine["id"].as_str().unwrap());
        let (_, ada) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let (_, hers) = house.ask(house.request_as(&ada, Method::GET, "/api/v1/notices")).await;
        assert_eq!(hers["items"], json!([]));
        assert_eq!(house.request_as(&ada, Method::DELETE, &place).send().await.unwrap().status(), 204);
        let (_, shown) = house.ask(house.request(Method::GET, "/api/v1/notices")).await;
        assert_eq!(shown["items"].as_array().unwrap().len(), 1, "nobody removes another's");
        assert_eq!(house.request(Method::DELETE, &place).send().await.unwrap().status(), 204);
        let (_, shown) = house.ask(house.request(Method::GET, "/api/v1/notices")).await;
        assert_eq!(shown["items"], json!([]));
        let (_, agent) = house.mint(json!({"name": "scout", "role": "agent", "agent_id": "scout"})).await;
        refused(409, house.request_as(&agent, Method::GET, "/api/v1/notices")).await;
        house.close().await;
        database.drop().await;
    }
}
