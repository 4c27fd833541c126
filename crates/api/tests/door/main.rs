//! Through the HTTP door: a real server, real HTTP, the fake provider, on both databases.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests: the names say it, and a panic is the verdict")]

mod access;
mod bad_input;
mod breakdowns;
mod cards;
mod closing;
mod described;
mod drain;
mod e2b;
mod events;
mod execs;
mod fetching;
mod files;
mod first;
mod gitea;
mod github;
mod idempotency;
mod keys;
mod limits;
mod mcp;
mod members;
mod models;
mod notices;
mod ports;
mod pulls;
mod quotas;
mod repos;
mod roles;
mod sandboxes;
mod secrets;
mod sign_in;
mod templates;
mod terminal;
mod webhooks;

use carrel_model::{audit::Outcome, public::AuditView, public::Cursor};
use carrel_store::{AuditFilter, Filter};
use carrel_testkit::House;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends a request that must be refused as every refusal is: a problem with all its parts. Shows the problem.
async fn refused(status: u16, request: RequestBuilder) -> Value {
    let response = request.send().await.unwrap();
    assert_problem(status, response).await
}

async fn assert_problem(status: u16, response: Response) -> Value {
    let (found, headers) = (response.status(), response.headers().clone());
    let body = response.text().await.unwrap();
    assert_eq!(found, status, "{body}");
    assert_eq!(headers["content-type"], "application/problem+json", "{body}");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["status"], status);
    assert!(problem["type"].as_str().unwrap().starts_with("/problems/"), "{body}");
    assert!(!problem["title"].as_str().unwrap().is_empty(), "{body}");
    assert!(problem["detail"].as_str().unwrap().ends_with(['.', '!', '?']), "{body}");
    assert_eq!(problem["request_id"], headers["x-request-id"].to_str().unwrap(), "{body}");
    assert_eq!(headers.contains_key("retry-after"), matches!(status, 429 | 503), "{body}");
    assert_eq!(headers.contains_key("www-authenticate"), status == 401, "{body}");
    problem
}

/// Everything that a refused request must leave as it was.
#[derive(Debug, PartialEq)]
struct Traces {
    head: Cursor,
    sandboxes: usize,
    keys: usize,
    audit: usize,
}

async fn traces(house: &House) -> Traces {
    let store = &house.store;
    Traces {
        head: store.journal().span().await.unwrap().head,
        sandboxes: store.sandboxes().list(&Filter::default(), 5000).await.unwrap().0.len(),
        keys: store.keys().list(None, 5000).await.unwrap().len(),
        audit: store.list_audit(&AuditFilter::default(), 5000).await.unwrap().len(),
    }
}

/// The denials in the audit, newest first.
async fn denials(house: &House) -> Vec<AuditView> {
    let filter = AuditFilter { outcome: Some(Outcome::Denied), ..AuditFilter::default() };
    house.store.list_audit(&filter, 5000).await.unwrap()
}

/// Sends bytes as they are and reads until the server hangs up; the status, and everything after the first line.
async fn send_raw(house: &House, request: &[u8]) -> (u16, String) {
    let address = house.url.strip_prefix("http://").unwrap();
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    connection.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (first, rest) = answer.split_once("\r\n").unwrap();
    (first.split(' ').nth(1).unwrap().parse().unwrap(), rest.to_owned())
}

/// The status of `GET /api/v1/me` with this key.
async fn me(house: &House, secret: &str) -> StatusCode {
    house.request_as(secret, Method::GET, "/api/v1/me").send().await.unwrap().status()
}
