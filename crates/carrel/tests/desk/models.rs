//! Models through the gateway of a sandbox: whoever works there asks them with nothing to show.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use axum::{Router, extract::Request, response::IntoResponse};
use carrel_control::{ModelProvider, Models};
use carrel_testkit::TestDatabase;
use reqwest::Method;
use serde_json::json;

use crate::yard::Yard;

const KEY: &str = "sk-ant-api03-do-not-show-this-to-anybody";
const OPENAI_KEY: &str = "sk-proj-nor-this-one";

/// A provider of models that remembers the keys it was shown, and answers in both dialects.
async fn provider() -> (String, Arc<Mutex<Vec<String>>>) {
    let shown: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&shown);
    let answer = move |request: Request| async move {
        for name in ["x-api-key", "authorization"] {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            seen.lock().unwrap().extend(value.map(str::to_owned));
        }
        let path = request.uri().path().to_owned();
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
        let asked: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        if asked["stream"] == true {
            let usage = r#"{"input_tokens":9,"output_tokens":1}"#;
            let text = format!(
                "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"model\":\"claude-haiku-4-5\",\"usage\":{usage}}}}}\n\n\
                 event: message_delta\ndata: {{\"type\":\"message_delta\",\"usage\":{{\"output_tokens\":21}}}}\n\n"
            );
            return ([("content-type", "text/event-stream")], text).into_response();
        }
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "input_tokens": 10, "output_tokens": 2});
        axum::Json(json!({"model": asked["model"], "path": path, "usage": usage})).into_response()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await.unwrap() });
    (url, shown)
}

fn models(url: &str) -> Models {
    let mut models = Models::default();
    for name in ["anthropic", "openai"] {
        let provider = ModelProvider::new(name.parse().unwrap(), None, url).unwrap();
        models.providers.insert(provider.name.clone(), provider);
    }
    models
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_asks_models_and_no_key_is_found_anywhere_inside() {
    let (url, shown) = provider().await;
    let database = TestDatabase::sqlite();
    let yard = Yard::asking(&database, models(&url)).await;
    for (name, value) in [("anthropic-api-key", KEY), ("openai-api-key", OPENAI_KEY)] {
        let body = json!({"name": name, "value": value});
        let (status, answer) = yard.house.ask(yard.house.request(Method::POST, "/api/v1/secrets").json(&body)).await;
        assert!(status.is_success(), "{answer}");
    }
    let sandbox = yard.sandbox(json!({"task_id": 7, "agent_id": "scout"})).await;
    let house = "http://127.0.0.1:49980/llm";

    // With nothing to show, and with what a program shows because it must show something.
    let stream = yard
        .sh(&sandbox, &format!("curl -sN {house}/anthropic/v1/messages -H 'x-api-key: none' -d '{{\"model\":\"claude-haiku-4-5\",\"stream\":true}}'"))
        .await;
    assert!(stream.starts_with("event: message_start") && stream.contains("\"output_tokens\":21"), "{stream}");
    let answer = yard
        .sh(&sandbox, &format!("curl -s {house}/openai/v1/chat/completions -H 'authorization: Bearer none' -d '{{\"model\":\"gpt-5\"}}'"))
        .await;
    assert!(answer.contains("/v1/chat/completions"), "{answer}");
    assert_eq!(*shown.lock().unwrap(), [KEY.to_owned(), format!("Bearer {OPENAI_KEY}")]);

    // It is counted for the task and the agent whose sandbox it is.
    let (_, usage) =
        yard.house.ask(yard.house.request(Method::GET, "/api/v1/usage?task_id=7&agent=scout&by=model")).await;
    assert_eq!((&usage["total"]["requests"], &usage["total"]["tokens"]["output"]), (&json!(2), &json!(23)), "{usage}");

    // A way out is not a way to anywhere.
    for path in ["/anthropic/v1/files", "/openai/v1/../../api/v1/keys", "/nobody/v1/messages"] {
        let script = format!("curl -s -o /dev/null -w '%{{http_code}}' --path-as-is {house}{path} -d '{{}}'");
        assert_eq!(yard.sh(&sandbox, &script).await, "404", "{path}");
    }

    // Everything that can be seen inside: environment, processes, files; and outside, what is kept about it.
    let look = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; env
        grep -rIl --exclude-dir=proc --exclude-dir=sys -e do-not-show -e nor-this-one /home /root /tmp /etc /run /var 2>/dev/null || true";
    let inside = yard.sh(&sandbox, look).await;
    for secret in [KEY, OPENAI_KEY, "do-not-show", "nor-this-one"] {
        assert!(
            !inside.replace(look, "").lines().any(|line| line.contains(secret) && !line.contains("grep")),
            "{inside}"
        );
    }
    let (_, audit) = yard.house.ask(yard.house.request(Method::GET, "/api/v1/audit?limit=1000")).await;
    assert!(!audit.to_string().contains(KEY));
    // What lies on the disk: files of the house, the database with its journal, audit and transcripts.
    let kept = database.url().trim_start_matches("sqlite:").to_owned();
    // (What sandboxes themselves hold was searched from inside; their layers are this machine's own programs.)
    for part in ["library", "scratch"] {
        assert_eq!(holding(&yard.house.folder().join(part), KEY), Vec::<PathBuf>::new());
    }
    yard.close().await;
    assert_eq!(holding(Path::new(&kept).parent().unwrap(), KEY), Vec::<PathBuf>::new());
    database.drop().await;
}

/// The files below a folder that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(holding(&path, text)),
            Ok(kind) if kind.is_file() => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                    found.push(path);
                }
            }
            _ => {}
        }
    }
    found
}
