//! The server: three languages at the places where programs look for them.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, OriginalUri, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    Scripts, anthropic, chat, responses,
    stage::{Answer, Question, Stage},
};

/// A model that plays from a script, listening on this machine. It goes when it is dropped.
pub struct Understudy {
    address: SocketAddr,
    house: Arc<House>,
    task: JoinHandle<()>,
}

/// A question that came in.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Where it was asked.
    pub path: String,
    /// What was shown as a key, in any of the usual headers.
    pub key: Option<String>,
    /// The question itself.
    pub body: Value,
}

struct House {
    stage: Stage,
    seen: Mutex<Vec<Seen>>,
}

impl Understudy {
    /// Begins to listen on a free port. Paths in scripts are taken from this working tree.
    pub async fn start(scripts: impl Into<Scripts>, workspace: &str) -> std::io::Result<Understudy> {
        Understudy::listen("127.0.0.1:0", scripts, workspace).await
    }

    /// Begins to listen at an address.
    pub async fn listen(address: &str, scripts: impl Into<Scripts>, workspace: &str) -> std::io::Result<Understudy> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let stage = Stage::new(scripts.into(), workspace.to_owned());
        let house = Arc::new(House { stage, seen: Mutex::default() });
        let app = router().with_state(house.clone());
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(Understudy { address, house, task })
    }

    /// Its address, as the gateway's: the languages are at `/llm/anthropic` and `/llm/openai/v1` below it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has been asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.house.seen.lock().expect("nobody panics with it").clone()
    }

    /// Plays something else from now on.
    pub fn play(&self, scripts: impl Into<Scripts>) {
        *self.house.stage.scripts.lock().expect("nobody panics with it") = scripts.into();
    }
}

impl Drop for Understudy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn router() -> Router<Arc<House>> {
    let languages = Router::new()
        .route("/messages", post(messages))
        .route("/messages/count_tokens", post(async || Json(json!({"input_tokens": 100}))))
        .route("/chat/completions", post(completions))
        .route("/responses", post(respond))
        .route(
            "/models",
            get(async || Json(json!({"object": "list", "data": [{"id": "understudy", "object": "model"}]}))),
        );
    Router::new()
        .nest("/v1", languages.clone())
        .nest("/llm/anthropic/v1", languages.clone())
        .nest("/llm/openai/v1", languages)
        .layer(DefaultBodyLimit::max(64 * 1024 * 1024))
}

async fn messages(house: State<Arc<House>>, uri: OriginalUri, headers: HeaderMap, body: Bytes) -> Response {
    let language =
        Language { question: anthropic::question, whole: anthropic::whole, events: anthropic::events, last: "" };
    answer(&house, &uri, &headers, &body, &language, anthropic::refusal)
}

async fn completions(house: State<Arc<House>>, uri: OriginalUri, headers: HeaderMap, body: Bytes) -> Response {
    let last = "data: [DONE]\n\n";
    let language = Language { question: chat::question, whole: chat::whole, events: chat::events, last };
    answer(&house, &uri, &headers, &body, &language, chat::refusal)
}

async fn respond(house: State<Arc<House>>, uri: OriginalUri, headers: HeaderMap, body: Bytes) -> Response {
    let language =
        Language { question: responses::question, whole: responses::whole, events: responses::events, last: "" };
    answer(&house, &uri, &headers, &body, &language, chat::refusal)
}

/// An event of a stream: its name, where it has one, and what it carries.
type Event = (Option<&'static str>, Value);

struct Language {
    question: fn(&Value) -> Question,
    whole: fn(&Answer) -> Value,
    events: fn(&Answer) -> Vec<Event>,
    /// What ends a stream.
    last: &'static str,
}

fn answer(
    house: &House,
    uri: &OriginalUri,
    headers: &HeaderMap,
    body: &[u8],
    language: &Language,
    refusal: fn(u16) -> Value,
) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return StatusCode::BAD_REQUEST.into_response() };
    let shown = headers.get(header::AUTHORIZATION).or_else(|| headers.get("x-api-key"));
    let key = shown.and_then(|key| key.to_str().ok()).map(|key| key.trim_start_matches("Bearer ").to_owned());
    let question = (language.question)(&body);
    house.seen.lock().expect("nobody panics with it").push(Seen { path: uri.path().to_owned(), key, body });
    match house.stage.play(&question) {
        Err(trouble) => {
            let status = StatusCode::from_u16(trouble.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut refused = (status, Json(refusal(trouble.status))).into_response();
            if let Some(after) = trouble.retry_after_s {
                refused.headers_mut().insert(header::RETRY_AFTER, after.into());
            }
            refused
        }
        Ok(answer) if question.stream => stream(&answer, language),
        Ok(answer) => Json((language.whole)(&answer)).into_response(),
    }
}

/// The answer as a stream of events, one chunk each; one that breaks off ends without its end.
fn stream(answer: &Answer, language: &Language) -> Response {
    let mut frames: Vec<String> = (language.events)(answer)
        .into_iter()
        .map(|(name, data)| {
            let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
            format!("{name}data: {data}\n\n")
        })
        .collect();
    frames.push(language.last.to_owned());
    let body = if answer.cut {
        frames.truncate(frames.len() / 2);
        let broken = futures::stream::once(async { Err(std::io::Error::other("the script cuts it here")) });
        let frames = futures::stream::iter(frames.into_iter().map(Ok));
        Body::from_stream(futures::StreamExt::chain(frames, broken))
    } else {
        Body::from_stream(futures::stream::iter(frames.into_iter().map(Ok::<_, Infallible>)))
    };
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// A text in the pieces that a model would send.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(' ').collect()
}
