//! A provider of models, of our own: it says what the test tells it to, and remembers what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use carrel_control::{ModelProvider, Models};
use carrel_testkit::Setup;
use futures::{StreamExt, channel::mpsc};

/// What somebody asked.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// The provider. It answers from a list, one after the other, and then always the last.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) url: String,
    state: Arc<Mutex<Told>>,
}

#[derive(Default)]
struct Told {
    seen: Vec<Seen>,
    answers: VecDeque<Response>,
}

/// A stream that the test writes.
pub(crate) struct Pen(mpsc::Sender<Result<Bytes, std::io::Error>>);

impl Upstream {
    pub(crate) async fn open() -> Upstream {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let upstream = Upstream { url, state: Arc::default() };
        let app = Router::new().fallback(answer).with_state(upstream.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        upstream
    }

    /// The settings of a house that asks this provider, under the names of both who are well known and a local one.
    pub(crate) fn models(&self) -> Models {
        let mut models = Models::default();
        for (name, url) in
            [("anthropic", self.url.clone()), ("openai", format!("{}/v1", self.url)), ("local", self.url.clone())]
        {
            let provider = ModelProvider::new(name.parse().unwrap(), None, &url).unwrap();
            models.providers.insert(provider.name.clone(), provider);
        }
        models
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup { models: self.models(), ..Setup::default() }
    }

    /// Answers so to the next who asks.
    pub(crate) fn will(&self, answer: impl IntoResponse) {
        self.state.lock().unwrap().answers.push_back(answer.into_response());
    }

    /// Answers the next who asks with JSON.
    pub(crate) fn will_say(&self, status: u16, body: serde_json::Value) {
        self.will((StatusCode::from_u16(status).unwrap(), axum::Json(body)));
    }

    /// Answers the next who asks with a stream that the test writes.
    pub(crate) fn will_stream(&self) -> Pen {
        let (pen, paper) = mpsc::channel(0);
        let answer = ([("content-type", "text/event-stream; charset=utf-8")], Body::from_stream(paper.boxed()));
        self.will(answer);
        Pen(pen)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }
}

impl Pen {
    /// Writes, and says whether anybody still reads.
    pub(crate) async fn write(&mut self, text: &str) -> bool {
        futures::SinkExt::send(&mut self.0, Ok(Bytes::copy_from_slice(text.as_bytes()))).await.is_ok()
    }

    /// Breaks off in the middle.
    pub(crate) async fn break_off(mut self) {
        let _ = futures::SinkExt::send(&mut self.0, Err(std::io::Error::other("cut"))).await;
    }
}

async fn answer(State(upstream): State<Upstream>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let seen = Seen {
        method: parts.method.to_string(),
        uri: parts.uri.to_string(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    let mut state = upstream.state.lock().unwrap();
    state.seen.push(seen);
    state.answers.pop_front().unwrap_or_else(|| (StatusCode::IM_A_TEAPOT, "nobody told me what to say").into_response())
}
