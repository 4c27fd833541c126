//! `carrel mcp`: the Model Context Protocol on standard input and output, passed on to the server's own `/mcp`.
//!
//! One message per line. What is asked at the same time is answered at the same time; when the input ends, what is under
//! way is finished and the conversation with it.

use std::{
    collections::HashMap,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use futures::StreamExt;
use reqwest::{Method, RequestBuilder, Response, header};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::Client;
use crate::failure::Failure;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
/// Where a message itself says which version it speaks.
const VERSION_INSIDE: &str = "io.modelcontextprotocol/protocolVersion";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this task's desk alone
    #[arg(long, value_name = "ID", conflicts_with = "sandbox")]
    task: Option<String>,
    /// Show this sandbox alone
    #[arg(long, value_name = "ID")]
    sandbox: Option<String>,
}

/// A conversation with the server.
struct Conversation {
    client: Client,
    scope: Vec<(&'static str, String)>,
    /// What `initialize` settled: the session and the version.
    settled: Mutex<(Option<String>, Option<String>)>,
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let task = self.task.map(|task| ("task_id", task.trim_start_matches("task-").to_owned()));
        let scope = task.into_iter().chain(self.sandbox.map(|id| ("sandbox_id", id))).collect();
        let conversation = Arc::new(Conversation { client: client.clone(), scope, settled: Mutex::default() });
        let mut lines = lines_of_stdin();
        let (mut under_way, mut calls) = (JoinSet::new(), HashMap::<String, AbortHandle>::new());
        while let Some(line) = lines.recv().await {
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                conversation.refuse(&Value::Null, -32700, "that line is not JSON".into()).await;
                continue;
            };
            let talk = Arc::clone(&conversation);
            let id = message["id"].to_string();
            // Where there is no session a call is called off by hanging up; where there is one the server hears of it too.
            if message["method"] == "notifications/cancelled"
                && let Some(call) = calls.remove(&message["params"]["requestId"].to_string())
            {
                call.abort();
            }
            // Everything else hangs on what is settled first.
            if message["method"] == "initialize" {
                talk.pass(message).await;
            } else {
                calls.insert(id, under_way.spawn(async move { talk.pass(message).await }));
            }
            while under_way.try_join_next().is_some() {}
            calls.retain(|_, call| !call.is_finished());
        }
        while under_way.join_next().await.is_some() {}
        conversation.end().await;
        Ok(())
    }
}

impl Conversation {
    /// Passes one message on, and everything that is answered to it back.
    async fn pass(&self, message: Value) {
        let answered = match self.request(Method::POST, &message) {
            Ok(request) => request.json(&message).send().await.map_err(|error| self.client.unreachable(&error)),
            Err(failure) => Err(failure),
        };
        match answered {
            Ok(response) if response.status().is_success() => self.read(response, &message).await,
            Ok(response) => {
                let status = response.status();
                let problem: Value = response.json().await.unwrap_or_default();
                let said = problem["detail"].as_str().or(problem["error"]["message"].as_str());
                let said = said.map_or_else(|| format!("the server answered {status}"), str::to_owned);
                self.refuse(&message["id"], -32000, said).await;
            }
            Err(failure) => self.refuse(&message["id"], -32000, failure.to_string()).await,
        }
    }

    fn request(&self, method: Method, message: &Value) -> Result<RequestBuilder, Failure> {
        let (session, version) = self.settled.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let request = self.client.at(method, "/mcp")?.query(&self.scope);
        let mut request = request.header(header::ACCEPT, "application/json, text/event-stream");
        let inside = message["params"]["_meta"][VERSION_INSIDE].as_str().map(str::to_owned);
        let said = |value: &Value| value.as_str().map(str::to_owned);
        let params = &message["params"];
        let headers = [
            (SESSION, session),
            (VERSION, inside.or(version)),
            ("mcp-method", said(&message["method"])),
            ("mcp-name", said(&params["name"]).or_else(|| said(&params["uri"]))),
        ];
        for (name, value) in headers {
            if let Some(value) = value.and_then(|value| header::HeaderValue::from_str(&value).ok()) {
                request = request.header(name, value);
            }
        }
        Ok(request)
    }

    async fn read(&self, response: Response, message: &Value) {
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let is_first = message["method"] == "initialize";
        if is_first {
            self.settled.lock().unwrap_or_else(PoisonError::into_inner).0 = header(SESSION);
        }
        let is_stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        if !is_stream {
            if let Ok(answer) = response.json::<Value>().await {
                self.say(answer, is_first).await;
            }
            return;
        }
        let (mut held, mut pieces) = (Vec::new(), response.bytes_stream());
        while let Some(Ok(piece)) = pieces.next().await {
            held.extend_from_slice(&piece);
            while let Some(end) = held.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = held.drain(..=end).collect();
                let Some(data) = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii) else { continue };
                if let Ok(answer) = serde_json::from_slice(data) {
                    self.say(answer, is_first).await;
                }
            }
        }
    }

    async fn say(&self, answer: Value, is_first: bool) {
        if let Some(version) = answer["result"]["protocolVersion"].as_str().filter(|_| is_first) {
            self.settled.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(version.to_owned());
        }
        let mut out = std::io::stdout().lock();
        // Whoever does not read any more is gone, and so is the input soon.
        let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
    }

    /// A refusal of ours. What was not asked is not answered.
    async fn refuse(&self, id: &Value, code: i32, sentence: String) {
        if id.is_null() && code != -32700 {
            return;
        }
        self.say(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": sentence}}), false).await;
    }

    async fn end(&self) {
        let has_session = self.settled.lock().unwrap_or_else(PoisonError::into_inner).0.is_some();
        if has_session && let Ok(request) = self.request(Method::DELETE, &Value::Null) {
            let _ = request.send().await;
        }
    }
}

/// What is typed, line by line. Reading blocks, so it has a thread of its own.
fn lines_of_stdin() -> mpsc::Receiver<String> {
    let (told, lines) = mpsc::channel(64);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { break };
            if told.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}
