//! OpenAI's newer language: `POST /v1/responses`.

use serde_json::{Value, json};

use crate::{
    chat::offered,
    stage::{Answer, Question, TOKENS},
};

/// Understands a request.
pub(crate) fn question(body: &Value) -> Question {
    let items = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (mut answers, mut in_answer) = (0, false);
    let mut words = Vec::new();
    for item in items {
        // What one answer brought stands together: thoughts, words, a call.
        let ours = item["role"] == "assistant"
            || matches!(
                item["type"].as_str(),
                Some("function_call" | "custom_tool_call" | "local_shell_call" | "reasoning")
            );
        if ours && !in_answer {
            answers += 1;
        }
        in_answer = ours;
        if item["role"] == "user" {
            match &item["content"] {
                Value::String(text) => words.push(text.clone()),
                parts => words.extend(
                    parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).map(str::to_owned),
                ),
            }
        }
    }
    if let Some(text) = body["input"].as_str() {
        words.push(text.to_owned());
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    Question {
        answers,
        words: words.join("\n"),
        tools: tools.filter(|tool| tool["type"] == "function").filter_map(offered).collect(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"] == true,
    }
}

/// The whole answer.
pub(crate) fn whole(answer: &Answer) -> Value {
    response(answer, "completed", items(answer))
}

/// The answer as events: name and data.
pub(crate) fn events(answer: &Answer) -> Vec<(Option<&'static str>, Value)> {
    let mut events = vec![
        ("response.created", json!({"response": response(answer, "in_progress", Vec::new())})),
        ("response.in_progress", json!({"response": response(answer, "in_progress", Vec::new())})),
    ];
    for (index, item) in items(answer).into_iter().enumerate() {
        let id = item["id"].clone();
        let at = |mut data: Value| {
            data["item_id"] = id.clone();
            data["output_index"] = json!(index);
            data
        };
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        if item["type"] == "message" {
            begun["content"] = json!([]);
            events.push(("response.output_item.added", json!({"output_index": index, "item": begun})));
            let blank = json!({"type": "output_text", "text": "", "annotations": []});
            events.push(("response.content_part.added", at(json!({"content_index": 0, "part": blank}))));
            for piece in crate::server::pieces(&answer.text) {
                events.push((
                    "response.output_text.delta",
                    at(json!({"content_index": 0, "delta": piece, "logprobs": []})),
                ));
            }
            events.push((
                "response.output_text.done",
                at(json!({"content_index": 0, "text": answer.text, "logprobs": []})),
            ));
            events.push(("response.content_part.done", at(json!({"content_index": 0, "part": item["content"][0]}))));
        } else {
            begun["arguments"] = json!("");
            events.push(("response.output_item.added", json!({"output_index": index, "item": begun})));
            events.push(("response.function_call_arguments.delta", at(json!({"delta": item["arguments"]}))));
            events.push(("response.function_call_arguments.done", at(json!({"arguments": item["arguments"]}))));
        }
        events.push(("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    events.push(("response.completed", json!({"response": whole(answer)})));
    let numbered = |(number, (name, mut data)): (usize, (&'static str, Value))| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        (Some(name), data)
    };
    events.into_iter().enumerate().map(numbered).collect()
}

fn items(answer: &Answer) -> Vec<Value> {
    let mut items = Vec::new();
    if !answer.text.is_empty() {
        let part = json!({"type": "output_text", "text": answer.text, "annotations": []});
        items.push(json!({
            "type": "message", "id": format!("msg_{}", answer.id), "status": "completed", "role": "assistant", "content": [part],
        }));
    }
    if let Some(used) = &answer.tool {
        items.push(json!({
            "type": "function_call", "id": format!("fc_{}", answer.id), "call_id": format!("call_{}", answer.id),
            "status": "completed", "name": used.name, "arguments": used.input.to_string(),
        }));
    }
    items
}

fn response(answer: &Answer, status: &str, output: Vec<Value>) -> Value {
    let mut response = json!({
        "id": format!("resp_{}", answer.id), "object": "response", "created_at": 1, "status": status, "error": null,
        "incomplete_details": null, "model": answer.model, "output": output, "parallel_tool_calls": false, "tools": [],
        "tool_choice": "auto", "metadata": {},
    });
    if status == "completed" {
        response["usage"] = json!({
            "input_tokens": TOKENS.0, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": TOKENS.1, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": TOKENS.0 + TOKENS.1,
        });
    }
    response
}
