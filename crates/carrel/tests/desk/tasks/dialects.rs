//! Agents that are described as data, that have a screen of their own, and that are asked a lot at once.

use reqwest::Method;
use serde_json::{Value, json};

use super::PATIENCE;
use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_can_be_described_as_data() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let script = r#"printf '{"t":"say","text":"I was asked: %s"}\n{"t":"noise"}\n' "$1"; echo x >x; git add -A; git commit -qm 'feat: x'"#;
    let phrases = json!({"arguments": ["sh", "-c", script, "sh", "{asked}"],
        "lines": [{"when": {"/t": "say"}, "said": "/text"}]});
    let agent = json!({"name": "mine", "dialect": "custom", "phrases": phrases, "mcp": true});
    let added = yard.post("/api/v1/agents", agent).await;
    assert_eq!((&added["phrases"], &added["mcp"]), (&phrases, &json!(true)));
    let task = yard.task("hello", "mine", "Make an x", "in_review").await;
    assert_eq!(yard.said(&task, "message", "agent").await, ["I was asked: Make an x"]);
    for odd in [json!({"arguments": "sh"}), json!({"words": []}), json!({"arguments": ["x", "{nonsense}"]}), json!(7)] {
        let body = json!({"name": "odd", "dialect": "custom", "phrases": odd});
        let (status, problem) = yard.house.ask(yard.house.request(Method::POST, "/api/v1/agents").json(&body)).await;
        assert_eq!((status.as_u16(), &problem["errors"][0]["field"]), (422, &json!("phrases")), "{problem}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_a_screen_of_its_own_waits_for_whoever_sits_down_at_it() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let command = "test -t 0 && read line && echo \"$CARREL_PROMPT: $line\" >typed.txt && git add -A && git commit -qm 'feat: typed'";
    yard.post("/api/v1/agents", json!({"name": "hands", "dialect": "terminal", "command": command})).await;
    let task = yard.task("hello", "hands", "Type something", "working").await;
    let told = async || {
        let notes = yard.said(&task, "note", "house").await;
        let exec = notes.iter().find_map(|note| note.split("--attach ").nth(1)?.split('`').next().map(str::to_owned));
        exec.map(|exec| (exec, yard.house.request(Method::GET, "/api/v1/tasks/1")))
    };
    let (exec, desk) = loop {
        if let Some((exec, look)) = told().await {
            break (exec, yard.house.ask(look).await.1["sandbox_id"].as_str().unwrap().to_owned());
        }
    };
    let path = format!("/api/v1/sandboxes/{desk}/execs/{exec}");
    while yard.house.ask(yard.house.request(Method::GET, &path)).await.1["status"] != "running" {}
    let typed = yard.house.request(Method::POST, &format!("{path}/input")).body("by hand\n");
    let (status, answer) = yard.house.ask(typed).await;
    assert!(status.is_success(), "{answer}");
    yard.wait(&task, "in_review").await;
    assert_eq!(yard.show("hello", "task-1:typed.txt").await, "Type something: by hand");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_of_a_quarter_of_a_megabyte_arrives_whole() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("reader", "wc -c >size.txt; git add -A; git commit -qm 'docs: a size'").await;
    let prompt = "x".repeat(250_000);
    let body = json!({"repo": "hello", "agent": "reader", "title": "Count", "prompt": prompt, "start": true});
    let task: Value = yard.post(&format!("/api/v1/tasks?wait=in_review&timeout={PATIENCE}"), body).await;
    yard.expect(&task, "in_review").await;
    assert_eq!(yard.show("hello", "task-1:size.txt").await, "250000");
    yard.close().await;
}
