//! Anthropic's language: `POST /v1/messages`.

use serde_json::{Value, json};

use crate::{
    stage::{Answer, Question, TOKENS},
    tools::Offered,
};

/// Understands a request.
pub(crate) fn question(body: &Value) -> Question {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let words = messages.iter().filter(|message| message["role"] == "user").map(|message| match &message["content"] {
        Value::String(text) => text.clone(),
        parts => texts(parts),
    });
    Question {
        answers: messages.iter().filter(|message| message["role"] == "assistant").count(),
        words: words.collect::<Vec<_>>().join("\n"),
        tools: body["tools"].as_array().into_iter().flatten().filter_map(tool).collect(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"] == true,
    }
}

fn texts(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    parts.collect::<Vec<_>>().join("\n")
}

fn tool(tool: &Value) -> Option<Offered> {
    let properties = tool["input_schema"]["properties"].as_object().cloned().unwrap_or_default();
    Some(Offered { name: tool["name"].as_str()?.to_owned(), properties })
}

/// The whole answer.
pub(crate) fn whole(answer: &Answer) -> Value {
    let mut content = Vec::new();
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text}));
    }
    if let Some(used) = &answer.tool {
        content.push(
            json!({"type": "tool_use", "id": format!("toolu_{}", answer.id), "name": used.name, "input": used.input}),
        );
    }
    let mut message = message(answer, content);
    message["stop_reason"] = json!(reason(answer));
    message["usage"]["output_tokens"] = json!(TOKENS.1);
    message
}

/// The answer as events: name and data.
pub(crate) fn events(answer: &Answer) -> Vec<(Option<&'static str>, Value)> {
    let mut events = vec![("message_start", json!({"message": message(answer, Vec::new())}))];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(("content_block_start", json!({"index": index, "content_block": start})));
        for delta in deltas {
            events.push(("content_block_delta", json!({"index": index, "delta": delta})));
        }
        events.push(("content_block_stop", json!({"index": index})));
        index += 1;
    };
    if !answer.text.is_empty() {
        let pieces = crate::server::pieces(&answer.text);
        let deltas = pieces.into_iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
        block(json!({"type": "text", "text": ""}), deltas);
    }
    if let Some(used) = &answer.tool {
        let start = json!({"type": "tool_use", "id": format!("toolu_{}", answer.id), "name": used.name, "input": {}});
        block(start, vec![json!({"type": "input_json_delta", "partial_json": used.input.to_string()})]);
    }
    let delta =
        json!({"delta": {"stop_reason": reason(answer), "stop_sequence": null}, "usage": {"output_tokens": TOKENS.1}});
    events.push(("message_delta", delta));
    events.push(("message_stop", json!({})));
    let named = |(name, mut data): (&'static str, Value)| {
        data["type"] = json!(name);
        (Some(name), data)
    };
    events.into_iter().map(named).collect()
}

/// A refusal.
pub(crate) fn refusal(status: u16) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": format!("the script has {status} here")}})
}

fn message(answer: &Answer, content: Vec<Value>) -> Value {
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": TOKENS.0, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    })
}

fn reason(answer: &Answer) -> &'static str {
    if answer.tool.is_some() { "tool_use" } else { "end_turn" }
}
