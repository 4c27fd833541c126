//! OpenAI's older language: `POST /v1/chat/completions`.

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
        parts => {
            let parts = parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
            parts.collect::<Vec<_>>().join("\n")
        }
    });
    Question {
        answers: messages.iter().filter(|message| message["role"] == "assistant").count(),
        words: words.collect::<Vec<_>>().join("\n"),
        tools: body["tools"].as_array().into_iter().flatten().filter_map(|tool| offered(&tool["function"])).collect(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"] == true,
    }
}

/// A function, as both languages of OpenAI describe it.
pub(crate) fn offered(function: &Value) -> Option<Offered> {
    let properties = function["parameters"]["properties"].as_object().cloned().unwrap_or_default();
    Some(Offered { name: function["name"].as_str()?.to_owned(), properties })
}

/// The whole answer.
pub(crate) fn whole(answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text});
    if let Some(call) = call(answer) {
        message["tool_calls"] = json!([call]);
    }
    let mut whole = envelope(answer, "chat.completion");
    whole["choices"] = json!([{"index": 0, "message": message, "finish_reason": reason(answer)}]);
    whole["usage"] = usage();
    whole
}

/// The answer as events.
pub(crate) fn events(answer: &Answer) -> Vec<(Option<&'static str>, Value)> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(crate::server::pieces(&answer.text).into_iter().map(|piece| json!({"content": piece})));
    if let Some(mut call) = call(answer) {
        call["index"] = json!(0);
        deltas.push(json!({"tool_calls": [call]}));
    }
    let chunk = |choices: Value| {
        let mut chunk = envelope(answer, "chat.completion.chunk");
        chunk["choices"] = choices;
        chunk
    };
    let mut events: Vec<Value> =
        deltas.into_iter().map(|delta| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]))).collect();
    events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason(answer)}])));
    let mut last = chunk(json!([]));
    last["usage"] = usage();
    events.push(last);
    events.into_iter().map(|event| (None, event)).collect()
}

/// A refusal, in both languages of OpenAI.
pub(crate) fn refusal(status: u16) -> Value {
    let kind = match status {
        401 | 403 => "invalid_api_key",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    };
    json!({"error": {"message": format!("the script has {status} here"), "type": kind, "code": kind}})
}

fn call(answer: &Answer) -> Option<Value> {
    let used = answer.tool.as_ref()?;
    let function = json!({"name": used.name, "arguments": used.input.to_string()});
    Some(json!({"id": format!("call_{}", answer.id), "type": "function", "function": function}))
}

fn envelope(answer: &Answer, object: &str) -> Value {
    json!({"id": format!("chatcmpl-{}", answer.id), "object": object, "created": 1, "model": answer.model})
}

fn usage() -> Value {
    json!({"prompt_tokens": TOKENS.0, "completion_tokens": TOKENS.1, "total_tokens": TOKENS.0 + TOKENS.1})
}

fn reason(answer: &Answer) -> &'static str {
    if answer.tool.is_some() { "tool_calls" } else { "stop" }
}
