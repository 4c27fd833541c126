//! What an agent sees of its own task by the protocol, from inside: its pull request, who is in its way, and nothing else.

use carrel_model::public::SandboxView;
use serde_json::{Value, json};

use super::{COMMITS, PATIENCE};
use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_looks_at_its_own_pull_and_at_who_is_in_its_way() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let first = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let second = yard.task("hello", "scribe", "Write down another", "in_review").await;
    let desk = async |task: &Value| -> SandboxView {
        let path = format!("/api/v1/sandboxes/{}", task["sandbox_id"].as_str().unwrap());
        serde_json::from_value(yard.look(&path).await).unwrap()
    };
    let (mine, other) = (desk(&first).await, desk(&second).await);
    let listed = yard.tool_inside(&mine, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let find = |name: &str| tools.iter().filter(|tool| tool["name"] == name).collect::<Vec<_>>();
    for name in ["pull_show", "pull_comments", "pull_checks", "task_overlap", "area_list", "task_done"] {
        let found = find(name);
        assert_eq!(found.len(), 1, "{name}: {listed}");
        // What the desk knows by itself is not asked for.
        assert_eq!(found[0]["inputSchema"]["required"], json!([]), "{name}: {}", found[0]);
    }
    for name in ["pull_open", "pull_list", "pull_comment", "task_create", "task_message", "sandbox_exec"] {
        assert!(find(name).is_empty(), "{name} is not for a desk: {listed}");
    }

    yard.post("/api/v1/pulls/hello/1/comments", json!({"body": "For the second one."})).await;
    yard.post("/api/v1/pulls/hello/2/comments", json!({"body": "Say it in verse."})).await;
    let call = async |desk: &SandboxView, name: &str, arguments: Value| {
        let answer = yard.tool_inside(desk, "tools/call", json!({"name": name, "arguments": arguments})).await;
        answer["result"].clone()
    };
    let shown = call(&other, "pull_show", json!({})).await;
    assert_eq!(shown["structuredContent"]["number"], second["pull"]["number"], "{shown}");
    let said = call(&other, "pull_comments", json!({})).await.to_string();
    assert!(said.contains("Say it in verse.") && !said.contains("For the second one."), "{said}");
    let checks = call(&other, "pull_checks", json!({})).await;
    assert!(checks["structuredContent"]["items"].is_array(), "{checks}");
    // Nobody else's can be named.
    let refused = call(&mine, "pull_show", json!({"task_id": second["id"]})).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let refused = call(&mine, "pull_show", json!({"repo": "hello", "number": 2})).await;
    assert_eq!(refused["isError"], true, "{refused}");

    let claim = json!({"paths": ["wishes.txt"], "for_s": 600});
    yard.post(&format!("/api/v1/tasks/{}/claims", second["id"]), claim).await;
    let overlap = loop {
        let seen = call(&mine, "task_overlap", json!({})).await["structuredContent"].clone();
        // It is foreseen beside: nobody waits for it.
        if seen["conflicts"].as_array().is_some_and(|found| !found.is_empty()) {
            break seen;
        }
    };
    assert_eq!(overlap["conflicts"][0]["task_id"], second["id"], "{overlap}");
    assert_eq!(overlap["conflicts"][0]["title"], "Write down another", "{overlap}");
    assert_eq!(overlap["conflicts"][0]["paths"], json!(["wishes.txt"]), "{overlap}");
    assert_eq!((&overlap["claims"][0]["task_id"], overlap["claims"].as_array().unwrap().len()), (&second["id"], 1));
    let areas = call(&mine, "area_list", json!({})).await;
    assert_eq!(areas["structuredContent"]["items"][0]["task_id"], second["id"], "{areas}");

    // One without a pull is told how it gets one.
    yard.agent("slow", "until test -e /tmp/go; do sleep 0.1; done; echo x >x && git add x && git commit -qm 'feat: x'")
        .await;
    let third = yard.task("hello", "slow", "Take your time", "working").await;
    let third_desk = desk(&third).await;
    let refused = call(&third_desk, "pull_show", json!({})).await;
    let why = refused["content"][0]["text"].as_str().unwrap();
    assert!(refused["isError"] == true && why.contains("the house opens it when a turn ends"), "{refused}");
    yard.sh(&third_desk, "touch /tmp/go").await;
    yard.look(&format!("/api/v1/tasks/{}?wait=in_review&timeout={PATIENCE}", third["id"])).await;
    assert_eq!(call(&third_desk, "pull_show", json!({})).await["structuredContent"]["number"], 3);
    yard.close().await;
}
