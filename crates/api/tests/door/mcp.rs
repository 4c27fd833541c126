//! The Model Context Protocol, through the door. The official client drives every tool in `tests/sdk`; here is who may what.

use carrel_testkit::{House, TestDatabase};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

fn message(house: &House, key: &str, session: Option<&str>, message: Value) -> RequestBuilder {
    let request = house.request_as(key, Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let request = match session {
        Some(session) => request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25"),
        None => request,
    };
    request.json(&message)
}

/// The last message of an answer.
async fn read(response: Response) -> Value {
    let text = response.text().await.unwrap();
    let mut data =
        text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).filter(|data| !data.is_empty());
    serde_json::from_str(data.next_back().unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"))
}

async fn begin(house: &House, key: &str) -> String {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let first = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let response = message(house, key, None, first).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    assert_eq!(read(response).await["result"]["serverInfo"]["name"], "carrel");
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = message(house, key, Some(&session), told).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_belongs_to_the_key_that_began_it() {
    let database = TestDatabase::sqlite();
    let (house, _bare) = House::bare(&database).await;
    let (_, member) = house.mint(json!({"name": "member", "role": "member"})).await;
    let session = begin(&house, &house.key).await;
    let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let sandbox = house.ready_sandbox().await;
    let run = call("sandbox_exec", json!({"sandbox_id": sandbox.id, "command": "echo hello"}));
    let ran = read(message(&house, &house.key, Some(&session), run.clone()).send().await.unwrap()).await;
    assert_eq!(ran["result"]["structuredContent"]["stdout"], "hello\n", "{ran}");

    let problem = crate::refused(404, message(&house, &member, Some(&session), run)).await;
    assert!(problem["detail"].as_str().unwrap().contains("conversation"), "{problem}");
    crate::refused(401, message(&house, "crl_0000000000000000000000000000000000000000", None, json!({}))).await;

    let ended = house.request(Method::DELETE, "/mcp").header("mcp-session-id", &session).send().await.unwrap();
    assert!(ended.status().is_success(), "{}", ended.status());
    drop(ended);
    house.close().await;
    database.drop().await;
}
