//! Files larger than anybody's memory, through a real server.
//!
//! `CARREL_TEST_UPLOAD_MB` says how large: 10240 is a run by hand.

use std::{fs, path::Path};

use bytes::Bytes;
use carrel_testkit::Server;
use futures::stream;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const PIECE: usize = 1 << 20;

/// The most memory that a process has had since it was last asked to forget.
fn most_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// A piece that differs from all others.
fn piece(number: u64) -> Bytes {
    let mut piece = vec![0; PIECE];
    for (place, chunk) in piece.chunks_exact_mut(8).enumerate() {
        chunk.copy_from_slice(&(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place as u64).to_le_bytes());
    }
    piece.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_larger_than_the_servers_memory_arrives_and_comes_back_whole() {
    /// Whatever its size.
    const MOST: u64 = 96 << 20;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let told = std::env::var("CARREL_TEST_UPLOAD_MB").ok();
    let pieces: u64 = told.map_or(512, |told| told.parse().expect("CARREL_TEST_UPLOAD_MB is a number"));
    let data = tempfile::tempdir().unwrap();
    let start = Server::with(Path::new(env!("CARGO_BIN_EXE_carrel")), data.path()).env("CARREL_LOG_LEVEL", "warn");
    let server = start.env("CARREL_SANDBOXES_PROVIDER", "local").env("CARREL_LOCAL_DISK", "folder").start().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = |method: Method, path: &str| {
        http.request(method, format!("{}/api/v1/sandboxes{path}", server.url)).bearer_auth(&server.key)
    };
    let limits = json!({"cpus": 2, "memory_mb": 256, "disk_mb": pieces + 256, "pids": 64});
    let made = request(Method::POST, "?wait=ready").json(&json!({"template": "host", "limits": limits}));
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    assert_eq!(made["phase"], "ready", "{made}");
    let id = made["id"].as_str().unwrap();

    fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
    let before = most_memory(server.pid());
    let content = stream::iter((0..pieces).map(|number| std::io::Result::Ok(piece(number))));
    let put = request(Method::PUT, &format!("/{id}/files")).query(&[("path", "/home/user/large")]);
    let put = put.body(reqwest::Body::wrap_stream(content)).send().await.unwrap();
    assert_eq!(put.status(), 204, "{}", put.text().await.unwrap());
    let after = most_memory(server.pid());
    assert!(after < before + MOST, "{before} bytes before, {after} at the most while it came");

    let mut digest = Sha256::new();
    (0..pieces).for_each(|number| digest.update(piece(number)));
    let expected = hex::encode(digest.finalize());
    let mut got =
        request(Method::GET, &format!("/{id}/files")).query(&[("path", "/home/user/large")]).send().await.unwrap();
    let (mut digest, mut length) = (Sha256::new(), 0);
    while let Some(chunk) = got.chunk().await.unwrap() {
        length += chunk.len() as u64;
        digest.update(&chunk);
    }
    assert_eq!((length, hex::encode(digest.finalize())), (pieces * PIECE as u64, expected));
    let after = most_memory(server.pid());
    assert!(after < before + MOST, "{before} bytes before, {after} at the most while it left");

    let gone = request(Method::DELETE, &format!("/{id}?wait=gone&timeout=600")).send().await.unwrap();
    assert!(gone.status().is_success(), "{}", gone.text().await.unwrap());
    assert!(server.terminate().await.success());
}
