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

#[tokio::test(flavor = "multi_thread")]
async fn a_server_for_one_desk_reaches_no_other_one() {
    let database = TestDatabase::sqlite();
    let (house, _bare) = House::bare(&database).await;
    let sandbox = house.ready_sandbox().await;
    for (path, body) in [
        ("/api/v1/repos", json!({"name": "hello", "new": true})),
        ("/api/v1/tasks", json!({"repo": "hello", "agent": "demo", "title": "Wait"})),
    ] {
        let (status, made) = house.ask(house.request(Method::POST, path).json(&body)).await;
        assert!(status.is_success(), "{made}");
    }
    let session = begin(&house, &house.key).await;
    let ask = async |query: &str, method: &str, params: Value| {
        let request = house.request(Method::POST, &format!("/mcp{query}"));
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-session-id", &session).header("mcp-protocol-version", "2025-11-25");
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        read(request.json(&body).send().await.unwrap()).await
    };
    let seen = async |query: &str| -> Vec<String> {
        let listed = ask(query, "tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let has = |names: &[String], name: &str| names.iter().any(|seen| seen == name);
    // Each has the other's kind of desk in reach for its key, and not by this server.
    let of_sandbox = format!("?sandbox_id={}", sandbox.id);
    let names = seen(&of_sandbox).await;
    assert!(has(&names, "sandbox_exec") && !has(&names, "task_close") && !has(&names, "task_message"), "{names:?}");
    let refused = ask(&of_sandbox, "tools/call", json!({"name": "task_close", "arguments": {"task_id": 1}})).await;
    assert!(!refused["error"].is_null(), "{refused}");
    let names = seen("?task_id=1").await;
    assert!(has(&names, "task_close") && !has(&names, "sandbox_exec") && !has(&names, "sandbox_remove"), "{names:?}");
    let remove = json!({"name": "sandbox_remove", "arguments": {"sandbox_id": sandbox.id}});
    let refused = ask("?task_id=1", "tools/call", remove).await;
    assert!(!refused["error"].is_null(), "{refused}");
    for (query, uri) in
        [("?task_id=1", format!("carrel://sandboxes/{}", sandbox.id)), (&*of_sandbox, "carrel://tasks/1".into())]
    {
        let refused = ask(query, "resources/read", json!({"uri": uri})).await;
        assert!(refused["error"]["message"].as_str().is_some_and(|why| why.contains("not on this desk")), "{refused}");
    }
    let (_, task) = house.ask(house.request(Method::GET, "/api/v1/tasks/1")).await;
    assert_eq!((&task["phase"], &task["want"]), (&json!("backlog"), &json!("rest")), "{task}");
    house.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_called_off_ends_everything_that_its_command_started() {
    let database = TestDatabase::sqlite();
    let (house, bare) = House::bare(&database).await;
    let session = begin(&house, &house.key).await;
    let sandbox = house.ready_sandbox().await;
    let params =
        json!({"name": "sandbox_exec", "arguments": {"sandbox_id": sandbox.id, "command": "sleep 4711; echo over"}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let called = tokio::spawn(message(&house, &house.key, Some(&session), call).send());
    // The shell, and what it started.
    while bare.processes(&sandbox.id).len() < 2 {
        tokio::task::yield_now().await;
    }
    let off =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": "enough"}});
    assert!(message(&house, &house.key, Some(&session), off).send().await.unwrap().status().is_success());
    while !bare.processes(&sandbox.id).is_empty() {
        tokio::task::yield_now().await;
    }
    called.abort();
    house.close().await;
    database.drop().await;
}
