//! What one node asks of another on somebody's behalf: everything that lives there, and never with their key.

use std::sync::{Arc, Mutex, OnceLock};

use carrel_testkit::Server;
use futures::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Fleet, all_up, clear, sandbox_on};
use crate::pulls::ask;

#[tokio::test(flavor = "multi_thread")]
async fn any_node_answers_for_what_lives_on_another() {
    let fleet = Fleet::new().await;
    let (one, two) = (fleet.start(1).await, fleet.start(2).await);
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    let id = sandbox_on(&one, &fleet.node(2)).await;

    // Asked of the node that does not have it, with a key of that node's own: commands, files, and how it is.
    let run = json!({"command": "echo from $(hostname); cat"});
    let (status, ran) = ask(&one, Method::POST, &format!("/sandboxes/{id}/execute"), Some(run)).await;
    assert!(status.is_success(), "{ran}");
    assert!(ran["stdout"].as_str().unwrap().starts_with("from "), "{ran}");
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let file = |server: &Server| format!("{}/api/v1/sandboxes/{id}/files?path=/tmp/large", server.url);
    let large = vec![7_u8; 5 << 20];
    let put = http.put(file(&one)).bearer_auth(&one.key).body(large.clone()).send().await.unwrap();
    assert!(put.status().is_success(), "{put:?}");
    for server in [&one, &two] {
        let got = http.get(file(server)).bearer_auth(&server.key).send().await.unwrap();
        assert_eq!(got.bytes().await.unwrap(), large);
    }
    let (status, stats) = ask(&one, Method::GET, &format!("/sandboxes/{id}/stats"), None).await;
    assert!(status.is_success(), "{stats}");

    // A terminal goes both ways.
    let address = one.url.replace("http://", "ws://");
    let mut asked = tokio_tungstenite::tungstenite::client::IntoClientRequest::into_client_request(format!(
        "{address}/api/v1/sandboxes/{id}/terminal?cols=80&rows=24"
    ))
    .unwrap();
    asked.headers_mut().insert("authorization", format!("Bearer {}", one.key).parse().unwrap());
    let (mut terminal, _) = tokio_tungstenite::connect_async(asked).await.unwrap();
    terminal.send(tokio_tungstenite::tungstenite::Message::binary("echo $((6*7))-seen\n")).await.unwrap();
    let mut shown = String::new();
    while !shown.contains("42-seen") {
        let frame = terminal.next().await.unwrap().unwrap();
        shown.push_str(&String::from_utf8_lossy(&frame.into_data()));
    }
    drop(terminal);

    // So does a port by its name.
    let listen = json!({"command": "cd /tmp && (python3 -m http.server 3000 >/dev/null 2>&1 &) && \
                                    until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3000))'; do :; done"});
    let (status, ran) = ask(&one, Method::POST, &format!("/sandboxes/{id}/execute"), Some(listen)).await;
    assert!(status.is_success() && ran["exit_code"] == 0, "{ran}");
    let place = format!("3000-{id}.localhost");
    let got = http.get(format!("{}/large", one.url)).header("host", place).bearer_auth(&one.key).send().await.unwrap();
    assert_eq!((got.status().as_u16(), got.bytes().await.unwrap().len()), (200, large.len()));

    // Who shows no key, or a wrong one, gets as far as anywhere else; and a made-up pass opens nothing.
    let bare = http.get(file(&one)).send().await.unwrap();
    assert_eq!(bare.status(), 401);
    let wrong = http.get(file(&one)).bearer_auth(format!("crl_{}", "0".repeat(40))).send().await.unwrap();
    assert_eq!(wrong.status(), 401);
    let forged = http.get(file(&two)).header("carrel-node-pass", "7b7d.00").bearer_auth(&two.key).send().await.unwrap();
    assert_eq!(forged.status(), 403);
    // Who tries it again and again is soon not heard any more.
    let mut refused = 403;
    for _ in 0..400 {
        let again =
            http.get(file(&two)).header("carrel-node-pass", "7b7d.00").bearer_auth(&two.key).send().await.unwrap();
        refused = again.status().as_u16();
        if refused != 403 {
            break;
        }
    }
    assert_eq!(refused, 429);

    // Ended from the other node, it is gone on its own.
    let (status, gone) = ask(&one, Method::DELETE, &format!("/sandboxes/{id}?wait=gone"), None).await;
    assert!(status.is_success(), "{gone}");
    for server in [one, two] {
        let (_, page) = ask(&server, Method::GET, "/sandboxes", None).await;
        for sandbox in page["items"].as_array().unwrap() {
            let path = format!("/sandboxes/{}?wait=gone", sandbox["id"].as_str().unwrap());
            ask(&server, Method::DELETE, &path, None).await;
        }
        assert!(server.terminate().await.success());
    }
    fleet.database.drop().await;
}

/// Stands between two nodes and writes down what one says to the other.
struct Eavesdropper {
    address: std::net::SocketAddr,
    to: Arc<OnceLock<String>>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Eavesdropper {
    async fn start() -> Eavesdropper {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (to, heard) = (Arc::new(OnceLock::<String>::new()), Arc::<Mutex<Vec<u8>>>::default());
        let (place, ear) = (Arc::clone(&to), Arc::clone(&heard));
        tokio::spawn(async move {
            while let Ok((mut asker, _)) = listener.accept().await {
                let (place, ear) = (place.get().cloned(), Arc::clone(&ear));
                tokio::spawn(async move {
                    let Some(place) = place else { return };
                    let Ok(mut node) = TcpStream::connect(place).await else { return };
                    let (mut said, mut say) = asker.split();
                    let (mut answers, mut ask) = node.split();
                    let there = async {
                        let mut piece = vec![0; 64 << 10];
                        loop {
                            let count = said.read(&mut piece).await.unwrap_or(0);
                            if count == 0 {
                                let _ = ask.shutdown().await;
                                break;
                            }
                            ear.lock().unwrap().extend_from_slice(&piece[..count]);
                            if ask.write_all(&piece[..count]).await.is_err() {
                                break;
                            }
                        }
                    };
                    let back = async {
                        let _ = tokio::io::copy(&mut answers, &mut say).await;
                        let _ = say.shutdown().await;
                    };
                    tokio::join!(there, back);
                });
            }
        });
        Eavesdropper { address, to, heard }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn leads_to(&self, server: &Server) {
        self.to.set(server.url.strip_prefix("http://").unwrap().to_owned()).unwrap();
    }

    /// What was said since the last time.
    fn heard(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.heard.lock().unwrap())).to_lowercase()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_leaves_the_node_it_was_shown_to_and_envd_answers_through_another() {
    let fleet = Fleet::new().await;
    let ear = Eavesdropper::start().await;
    let one = fleet.start(1).await;
    let two = fleet.start_with(2, &["--node-url", &ear.url()]).await;
    ear.leads_to(&two);
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let id = sandbox_on(&one, &fleet.node(2)).await;
    let listen = json!({"command": "cd /tmp && echo here >page && (python3 -m http.server 3000 >/dev/null 2>&1 &) && \
                                    until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3000))'; do :; done"});
    let (status, ran) = ask(&one, Method::POST, &format!("/sandboxes/{id}/execute"), Some(listen)).await;
    assert!(status.is_success() && ran["exit_code"] == 0, "{ran}");
    ear.heard();

    // A port by its name, a port by E2B's headers, and envd, with the key in each of the ways it can be shown.
    let place = format!("3000-{id}.localhost");
    let pair = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, format!("x:{}", one.key));
    let by_headers = |port: &str| {
        let asked = http.get(format!("{}/page", one.url)).header("e2b-sandbox-id", &id);
        asked.header("e2b-sandbox-port", port)
    };
    let connect = http.post(format!("{}/sandboxes/{id}/connect", one.url)).header("x-api-key", &one.key);
    let entry: Value = connect.json(&json!({"timeout": 600})).send().await.unwrap().json().await.unwrap();
    let token = entry["envdAccessToken"].as_str().unwrap_or_else(|| panic!("{entry}")).to_owned();
    let heard = ear.heard();
    assert!(heard.contains("/connect") && !heard.contains(&one.key.to_lowercase()), "{heard}");
    let envd = |path: &str| {
        let asked = http.get(format!("{}{path}", one.url)).header("e2b-sandbox-id", &id);
        asked.header("x-access-token", &token)
    };
    let asks = [
        http.get(format!("{}/page", one.url)).header("host", &place).bearer_auth(&one.key),
        by_headers("3000").header("x-api-key", &one.key),
        by_headers("3000").header("authorization", format!("Basic {pair}")),
        envd("/files?path=/tmp/page").header("x-api-key", &one.key),
        envd("/files?path=/tmp/page").header("authorization", "Basic dXNlcjo=").header("x-api-key", &one.key),
    ];
    for request in asks {
        let answer = request.send().await.unwrap();
        let status = answer.status();
        assert_eq!((status.as_u16(), answer.text().await.unwrap().trim()), (200, "here"));
        let heard = ear.heard();
        assert!(heard.contains("carrel-node-pass:"), "it was not asked of the other node: {heard}");
        assert!(!heard.contains(&one.key.to_lowercase()) && !heard.contains(&pair.to_lowercase()), "{heard}");
    }
    // A key that nobody knows does not travel either, and opens nothing there.
    let unknown = format!("crl_{}", "0".repeat(40));
    let refused = by_headers("3000").header("x-api-key", &unknown).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert!(!ear.heard().contains(&unknown));
    // What is not ours is for what listens inside.
    let theirs = by_headers("3000").bearer_auth("theirs-alone").header("x-api-key", &one.key);
    theirs.send().await.unwrap();
    let heard = ear.heard();
    assert!(heard.contains("theirs-alone") && !heard.contains(&one.key.to_lowercase()), "{heard}");
    for server in [one, two] {
        clear(&server).await;
        assert!(server.terminate().await.success());
    }
    fleet.database.drop().await;
}
