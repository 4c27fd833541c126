//! The doors as strangers find them: pages of other sites, plain words at a door for TLS, names that would forge a line.

use std::process::{Command, Stdio};

use carrel_testkit::Server;
use reqwest::{Client, Method, StatusCode};
use serde_json::json;

use crate::{binary, pulls::ask};

fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_another_site_is_told_that_it_may_ask_or_read() {
    let (data, http) = (tempfile::tempdir().unwrap(), client());
    let server = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error").start().await;
    for path in ["/api/v1/tasks", "/api/v1/keys", "/sandboxes", "/git/own.git/info/refs", "/mcp", "/app/", "/metrics"] {
        let before = http
            .request(Method::OPTIONS, format!("{}{path}", server.url))
            .header("origin", "https://elsewhere.example")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization, content-type");
        let reads = http.get(format!("{}{path}", server.url)).header("origin", "https://elsewhere.example");
        for request in [before, reads.bearer_auth(&server.key)] {
            let answer = request.send().await.unwrap();
            let allowed = answer.headers().keys().find(|name| name.as_str().starts_with("access-control-"));
            assert_eq!(allowed, None, "{path}: {answer:?}");
        }
    }
    assert!(server.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_for_tls_takes_no_plain_words_and_no_old_tls() {
    let (data, http) = (tempfile::tempdir().unwrap(), client());
    let made = Command::new(binary()).arg("--data").arg(data.path()).args(["tls", "init"]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let file = |name: &str| data.path().join("tls").join(name).display().to_string();
    let server = Server::with(binary(), data.path())
        .args(["--tls-cert", &file("cert.pem"), "--tls-key", &file("key.pem")])
        .env("CARREL_LOG_LEVEL", "error")
        .start()
        .await;
    let place = server.url.strip_prefix("https://").expect("it is called by https").to_owned();
    // A request in plain words gets no answer that a proxy could keep, and no key is read from it.
    let plain = http.get(format!("http://{place}/api/v1/tasks")).bearer_auth(&server.key).send().await;
    assert!(plain.is_err(), "{plain:?}");
    let speaks = |version: &str| {
        let mut command = Command::new("openssl");
        // The lowest level: it is the server that is to refuse, not the program that asks.
        command.args(["s_client", "-connect", &place, version, "-cipher", "ALL:@SECLEVEL=0"]);
        let told = command.stdin(Stdio::null()).output().expect("openssl is installed");
        told.status.success() && !String::from_utf8_lossy(&told.stdout).contains("Cipher is (NONE)")
    };
    assert!(!speaks("-tls1") && !speaks("-tls1_1"), "TLS older than 1.2 is spoken");
    assert!(speaks("-tls1_2") && speaks("-tls1_3"));
    let authority = std::fs::read(data.path().join("tls/ca.pem")).unwrap();
    let authority = reqwest::Certificate::from_pem_bundle(&authority).unwrap();
    let trusting = Client::builder().no_proxy().tls_certs_merge(authority).build().unwrap();
    let answer = trusting.get(format!("https://{place}/api/v1/tasks")).bearer_auth(&server.key).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(server.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_writes_a_line_of_the_log_or_of_the_audit_but_the_house() {
    let (data, http) = (tempfile::tempdir().unwrap(), client());
    let log = data.path().with_extension("log");
    let server = Server::with(binary(), data.path())
        .env("CARREL_LOG_LEVEL", "debug")
        .log_to(std::fs::File::create(&log).unwrap())
        .start()
        .await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let forged = "x\r\n2026-01-01T00:00:00Z ERROR carrel: forged\u{1b}[31m\u{7}";
    // As a name it is refused.
    for (path, body) in [
        ("/keys", json!({"name": forged, "role": "member"})),
        ("/repos", json!({"new": true, "name": forged})),
        ("/agents", json!({"name": forged, "dialect": "shell", "command": "true"})),
        ("/tasks", json!({"repo": "own", "agent": "demo", "title": forged})),
    ] {
        let (status, answer) = ask(&server, Method::POST, path, Some(body)).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path}: {answer}");
    }
    // As a path, a query, a header or somebody's agent it changes nothing that is written down.
    let path = "/api/v1/tasks/x%0d%0a2026-01-01T00:00:00Z%20ERROR%20carrel:%20forged%1b%5b31m?q=%0aforged";
    for request in [http.get(format!("{}{path}", server.url)), http.post(format!("{}{path}", server.url))] {
        let request = request.header("user-agent", "a\tforged").header("x-request-id", "b\tforged");
        request.bearer_auth(format!("crl_{}", "0".repeat(40))).send().await.unwrap();
    }
    let (_, audit) = ask(&server, Method::GET, "/audit?limit=100", None).await;
    assert!(audit["items"].as_array().is_some_and(|lines| !lines.is_empty()), "{audit}");
    assert!(!audit.to_string().contains("forged"), "{audit}");
    assert!(server.terminate().await.success());
    let told = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert!(!told.is_empty());
    for line in told.lines() {
        assert!(!line.starts_with("2026-01-01T00:00:00Z"), "a line was forged: {line}");
        let wild = line.chars().find(|letter| letter.is_control() && *letter != '\t');
        assert_eq!(wild, None, "{line:?}");
    }
}
