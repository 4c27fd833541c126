//! The Model Context Protocol through the gateway of a sandbox: whoever works there sees its own desk.

use serde_json::{Value, json};

use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_sees_its_own_desk_by_the_protocol_and_nobody_elses() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({})).await;
    let other = yard.sandbox(json!({})).await;
    let version = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let ask = async |method: &str, name: &str, mut params: Value| {
        params["_meta"] = version.clone();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let name = if name.is_empty() { String::new() } else { format!("-H 'mcp-name: {name}'") };
        let script = format!(
            "curl -s http://127.0.0.1:49980/mcp -H 'content-type: application/json' \
             -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: 2026-07-28' \
             -H 'mcp-method: {method}' {name} -H 'authorization: Bearer none' -d '{message}'"
        );
        let said = yard.sh(&sandbox, &script).await;
        let mut data =
            said.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).filter(|data| !data.is_empty());
        let data = data.next_back().unwrap_or(&said).to_owned();
        serde_json::from_str::<Value>(&data).unwrap_or_else(|_| panic!("{said}"))
    };
    let listed = ask("tools/list", "", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"sandbox_show") && names.contains(&"files_read"), "{names:?}");
    assert!(
        !names.iter().any(|name| ["sandbox_exec", "sandbox_create", "sandbox_remove", "task_create"].contains(name))
    );

    let shown = ask("tools/call", "sandbox_show", json!({"name": "sandbox_show", "arguments": {}})).await;
    assert_eq!(shown["result"]["structuredContent"]["id"], sandbox.id.as_str(), "{shown}");
    let arguments = json!({"sandbox_id": other.id});
    let refused = ask("tools/call", "sandbox_show", json!({"name": "sandbox_show", "arguments": arguments})).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let uri = format!("carrel://sandboxes/{}", other.id);
    let refused = ask("resources/read", &uri, json!({"uri": uri})).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("not on this desk"), "{refused}");
    yard.close().await;
}
