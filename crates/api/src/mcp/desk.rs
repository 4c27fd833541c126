//! The desk that a tool sits at: our own doors, with a grant in hand.

use axum::{
    Router,
    body::{Body, BodyDataStream, to_bytes},
    http::{Method, Request, StatusCode, header},
};
use carrel_model::{Grant, Role};
use futures::StreamExt;
use serde_json::Value;
use tower_service::Service;

use super::Scope;
use crate::door::Granted;

/// The largest answer that a model is shown.
const LARGEST: usize = 1024 * 1024;

/// Our own doors, opened with somebody's grant.
#[derive(Clone)]
pub(super) struct Desk {
    doors: Router,
    granted: Granted,
    pub(super) scope: Scope,
}

/// What a door answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) kind: String,
    pub(super) body: Vec<u8>,
}

/// A sentence about what went wrong, and what to do next.
#[derive(Debug)]
pub(super) struct Trouble(pub(super) String);

impl Desk {
    pub(super) fn new(doors: Router, granted: Granted, scope: Scope) -> Desk {
        Desk { doors, granted, scope }
    }

    pub(super) fn grant(&self) -> &Grant {
        &self.granted.0
    }

    pub(super) fn role(&self) -> Role {
        self.granted.0.authority.role()
    }

    /// Asks one of our doors. The path begins behind `/api/v1`.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, Trouble> {
        let body = body.map(|body| ("application/json", body.to_string().into_bytes()));
        let response = self.send(method, path, body, "application/json").await?;
        read(response).await
    }

    /// The same, for an answer that is JSON; `null` when it is empty.
    pub(super) async fn json(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Trouble> {
        let answer = self.ask(method, path, body).await?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|_| Trouble("The answer is larger than can be shown.".into()))
    }

    /// Sends bytes as they are.
    pub(super) async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<Answer, Trouble> {
        let body = Some(("application/octet-stream", bytes));
        read(self.send(Method::PUT, path, body, "application/json").await?).await
    }

    /// Asks for events, to be read one by one.
    pub(super) async fn events(&self, path: &str, body: &Value) -> Result<Events, Trouble> {
        let body = Some(("application/json", body.to_string().into_bytes()));
        let response = refuse(self.send(Method::POST, path, body, "text/event-stream").await?).await?;
        Ok(Events { pieces: response.into_body().into_data_stream(), held: Vec::new() })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
        accept: &str,
    ) -> Result<axum::response::Response, Trouble> {
        let mut request =
            Request::builder().method(method).uri(format!("/api/v1{path}")).header(header::ACCEPT, accept);
        let body = match body {
            Some((kind, bytes)) => {
                request = request.header(header::CONTENT_TYPE, kind);
                Body::from(bytes)
            }
            None => Body::empty(),
        };
        let mut request =
            request.body(body).map_err(|_| Trouble("A name holds characters that no name has.".into()))?;
        request.extensions_mut().insert(self.granted.clone());
        let answered = self.doors.clone().call(request).await;
        Ok(match answered {
            Ok(response) => response,
            Err(never) => match never {},
        })
    }
}

/// Events of a door.
pub(super) struct Events {
    pieces: BodyDataStream,
    held: Vec<u8>,
}

impl Events {
    /// The next event and its data; nothing when there are no more. May be called off and called again.
    pub(super) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            while let Some(end) = self.held.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.held.drain(..end + 2).collect();
                let event = String::from_utf8_lossy(&event);
                let part = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                if let (Some(name), Some(data)) = (part("event:"), part("data:")) {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap_or_default()));
                }
            }
            self.held.extend_from_slice(&self.pieces.next().await?.ok()?);
        }
    }
}

/// Passes a good answer; a refusal becomes its own sentences.
async fn refuse(response: axum::response::Response) -> Result<axum::response::Response, Trouble> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = to_bytes(response.into_body(), LARGEST).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    let part = |name: &str| problem[name].as_str().filter(|text| !text.is_empty());
    let said = part("detail").map_or_else(|| format!("The house answered {}.", status.as_u16()), str::to_owned);
    let hint = part("hint").map(|hint| format!(" {hint}")).unwrap_or_default();
    let next = match status {
        StatusCode::NOT_FOUND if said.contains("path") => " Look at what there is with files_list.",
        StatusCode::NOT_FOUND if said.contains("pull request of task") => "",
        StatusCode::NOT_FOUND => " Look at what there is with sandbox_list or task_list.",
        StatusCode::CONFLICT => " Look at its phase first, with sandbox_show or task_show.",
        _ => "",
    };
    Err(Trouble(format!("{said}{hint}{next}")))
}

async fn read(response: axum::response::Response) -> Result<Answer, Trouble> {
    let response = refuse(response).await?;
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.to_owned();
    let body = to_bytes(response.into_body(), LARGEST).await;
    let body = body.map_err(|_| {
        Trouble(format!(
            "The answer is larger than {LARGEST} bytes. Ask for a part of it, for example with sandbox_exec and `head`."
        ))
    })?;
    Ok(Answer { kind, body: body.to_vec() })
}
