//! Models, asked through the house: keys are added outside, answers pass as they come, and what they cost is written down.

mod budgets;
mod passing;
mod upstream;

use carrel_testkit::House;
use reqwest::Method;
use serde_json::{Value, json};

pub(crate) use upstream::{Pen, Upstream};

/// A key that must never be seen where agents can look.
pub(crate) const SECRET: &str = "sk-ant-very-secret-4711";

/// Gives the house a key for a provider.
pub(crate) async fn set_key(house: &House, name: &str, value: &str) {
    let body = json!({"name": name, "value": value});
    let (status, answer) = house.ask(house.request(Method::POST, "/api/v1/secrets").json(&body)).await;
    assert!(status.is_success(), "{answer}");
}

/// What was used, all in all.
pub(crate) async fn usage(house: &House, query: &str) -> Value {
    let (status, answer) = house.ask(house.request(Method::GET, &format!("/api/v1/usage{query}"))).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// A short answer of Anthropic's, with what it took.
pub(crate) fn message(input: u64, output: u64) -> Value {
    json!({"type": "message", "model": "claude-sonnet-4-5-20250929", "content": [{"type": "text", "text": "hi"}],
        "usage": {"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}})
}
