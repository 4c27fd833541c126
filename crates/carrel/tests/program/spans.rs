//! Spans reach a collector of OpenTelemetry (feature `otel`).

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, http::HeaderMap, routing::post};
use carrel_testkit::Server;
use reqwest::Client;

use crate::binary;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_and_a_sandbox_are_spans_at_the_collector_and_hold_no_secret() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let got: Arc<Mutex<Vec<(String, Bytes)>>> = Arc::default();
    let keep = Arc::clone(&got);
    let take = move |headers: HeaderMap, body: Bytes| async move {
        let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        keep.lock().unwrap().push((kind, body));
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let collector = tokio::spawn(async move {
        axum::serve(listener, Router::new().route("/v1/traces", post(take))).await.unwrap();
    });

    let data = tempfile::tempdir().unwrap();
    let start = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error");
    let server = start.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}")).start().await;
    let http = Client::builder().no_proxy().build().unwrap();
    let create = http.post(format!("{}/api/v1/sandboxes?wait=ready", server.url)).bearer_auth(&server.key);
    assert!(create.send().await.unwrap().status().is_success());
    let key = server.key.clone();
    assert!(server.terminate().await.success());

    let got = got.lock().unwrap();
    assert!(!got.is_empty() && got.iter().all(|(kind, _)| kind == "application/x-protobuf"), "{}", got.len());
    let all: Vec<u8> = got.iter().flat_map(|(_, body)| body.to_vec()).collect();
    let holds = |text: &str| all.windows(text.len()).any(|part| part == text.as_bytes());
    for text in ["carrel", "POST /api/v1/sandboxes", "http.response.status_code", "sandbox create"] {
        assert!(holds(text), "{text}: {}", String::from_utf8_lossy(&all));
    }
    assert!(!holds(&key), "a key is in a span");
    collector.abort();
}
