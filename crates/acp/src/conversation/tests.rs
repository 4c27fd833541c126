//! The conversation, held to the protocol's own types: what we say has to be what they read.

use agent_client_protocol_schema::v1;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn order() -> Order {
    Order {
        folder: "/workspace".into(),
        prompt: "and now?".into(),
        whole_prompt: "rules and wish".into(),
        mcp: Some("http://127.0.0.1:49980/mcp".into()),
        ..Order::default()
    }
}

/// The parameters of a request, as the official types read them.
fn said<T: DeserializeOwned>(line: &Value, method: &str) -> T {
    assert_eq!(line["method"], method, "{line}");
    assert_eq!(line["jsonrpc"], "2.0");
    serde_json::from_value(line["params"].clone()).expect("the protocol's own types read it")
}

fn one(lines: Vec<Value>) -> Value {
    let [line] = lines.try_into().expect("one line");
    line
}

fn answer_to(id: u64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn greeted(order: Order, capabilities: Value) -> (Conversation, Value) {
    let (mut talk, greeting) = Conversation::begin(order);
    let initialize: v1::InitializeRequest = said(&greeting, "initialize");
    assert_eq!(initialize.protocol_version, 1.into());
    let next = one(talk.hear(&answer_to(1, json!({"protocolVersion": 1, "agentCapabilities": capabilities}))));
    (talk, next)
}

#[test]
fn a_first_turn_begins_a_conversation_and_asks_everything() {
    let (mut talk, next) = greeted(order(), json!({"mcpCapabilities": {"http": true}}));
    let new: v1::NewSessionRequest = said(&next, "session/new");
    assert_eq!((new.cwd.to_str(), new.mcp_servers.len()), (Some("/workspace"), 1));

    let next = one(talk.hear(&answer_to(2, json!({"sessionId": "s-1"}))));
    let prompt: v1::PromptRequest = said(&next, "session/prompt");
    assert_eq!(
        serde_json::to_value(&prompt.prompt).expect("json"),
        json!([{"type": "text", "text": "rules and wish"}])
    );
    assert!(talk.hear(&json!({"jsonrpc": "2.0", "method": "session/update", "params": {}})).is_empty());
    assert!(!talk.is_over());
    assert!(talk.hear(&answer_to(4, json!({"stopReason": "end_turn"}))).is_empty());
    assert!(talk.is_over());
}

#[test]
fn a_later_turn_goes_on_where_it_can() {
    let later = || Order { session: Some("s-1".into()), ..order() };
    let (mut talk, next) = greeted(later(), json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}));
    let resume: v1::ResumeSessionRequest = said(&next, "session/resume");
    assert_eq!((&*resume.session_id.0, resume.mcp_servers.len()), ("s-1", 0));
    let prompt: v1::PromptRequest = said(&one(talk.hear(&answer_to(2, json!({})))), "session/prompt");
    assert_eq!(serde_json::to_value(&prompt.prompt[0]).expect("json")["text"], "and now?");

    let (_, next) = greeted(later(), json!({"loadSession": true}));
    let _: v1::LoadSessionRequest = said(&next, "session/load");

    let (_, next) = greeted(later(), json!({}));
    let _: v1::NewSessionRequest = said(&next, "session/new");
}

#[test]
fn an_agent_that_forgot_is_told_everything() {
    let (mut talk, _) = greeted(Order { session: Some("gone".into()), ..order() }, json!({"loadSession": true}));
    let forgot = json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32002, "message": "Resource not found"}});
    let _: v1::NewSessionRequest = said(&one(talk.hear(&forgot)), "session/new");
    let prompt: v1::PromptRequest = said(&one(talk.hear(&answer_to(2, json!({"sessionId": "s-2"})))), "session/prompt");
    assert_eq!(serde_json::to_value(&prompt.prompt[0]).expect("json")["text"], "rules and wish");
}

#[test]
fn permission_is_given_and_nothing_else_is_offered() {
    let (mut talk, _) = greeted(order(), json!({}));
    let ask = json!({"jsonrpc": "2.0", "id": "p-7", "method": "session/request_permission", "params": {
        "sessionId": "s", "toolCall": {"toolCallId": "t"},
        "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}, {"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
    }});
    let answer = one(talk.hear(&ask));
    assert_eq!(answer["id"], "p-7");
    let answer: v1::RequestPermissionResponse = serde_json::from_value(answer["result"].clone()).expect("an outcome");
    let v1::RequestPermissionOutcome::Selected(chosen) = answer.outcome else { panic!("{answer:?}") };
    assert_eq!(&*chosen.option_id.0, "yes");

    let file = one(talk.hear(&json!({"jsonrpc": "2.0", "id": 0, "method": "fs/read_text_file", "params": {}})));
    assert_eq!((file["id"].as_u64(), file["error"]["code"].as_i64()), (Some(0), Some(-32601)));
    assert!(!talk.is_over());
}

#[test]
fn a_model_is_chosen_where_there_is_a_choice() {
    let with_model = Order { model: Some("big".into()), ..order() };
    let (mut talk, _) = greeted(with_model.clone(), json!({}));
    let options = json!([{"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "x/small",
        "options": [{"value": "x/small", "name": "Small"}, {"value": "x/big", "name": "Big"}]}]);
    let next = one(talk.hear(&answer_to(2, json!({"sessionId": "s", "configOptions": options}))));
    let choice: v1::SetSessionConfigOptionRequest = said(&next, "session/set_config_option");
    assert_eq!(serde_json::to_value(&choice).expect("json")["value"], "x/big");
    let refused = json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": "no"}});
    let _: v1::PromptRequest = said(&one(talk.hear(&refused)), "session/prompt");

    let (mut talk, _) = greeted(with_model, json!({}));
    let _: v1::PromptRequest = said(&one(talk.hear(&answer_to(2, json!({"sessionId": "s"})))), "session/prompt");
}

#[test]
fn a_turn_that_is_cancelled_waits_for_the_agents_last_word() {
    let (mut talk, _) = greeted(order(), json!({}));
    talk.hear(&answer_to(2, json!({"sessionId": "s-1"})));
    let cancel = talk.cancel().expect("there is a turn to end");
    let _: v1::CancelNotification = said(&cancel, "session/cancel");
    assert!(!talk.is_over());
    talk.hear(&answer_to(4, json!({"stopReason": "cancelled"})));
    assert!(talk.is_over());

    let (mut talk, _) = greeted(order(), json!({}));
    assert!(talk.cancel().is_none() && talk.is_over(), "before a conversation there is nothing to end");
}

#[test]
fn an_agent_that_refuses_ends_the_turn() {
    let (mut talk, _) = greeted(order(), json!({}));
    assert!(
        talk.hear(&json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32000, "message": "Log in first"}})).is_empty()
    );
    assert!(talk.is_over());
}
