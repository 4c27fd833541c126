//! `/mcp`: the house for agents, by the Model Context Protocol.
//!
//! A tool is another way to ask what can be asked at `/api/v1`: each becomes a request to our own doors, made in this process
//! with the grant of whoever called it. So what may be done, what is checked and how it is refused is the same at both.
//! A sandbox that comes by its hatch sees its own desk and nothing else; `?sandbox_id=` and `?task_id=` narrow anybody's view.
//!
//! Absent on purpose: decisions, and tools that are not verbs of the API.

mod desk;
mod prompts;
mod resources;
mod server;
mod tools;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
    routing::any,
};
use carrel_control::Control;
use carrel_model::{Grant, KeyId, RepoName, SandboxId, TaskId};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use serde::Deserialize;

use crate::{
    door::{Asker, Granted, Problem, Query},
    house::Doors,
};
use server::Server;

/// So many conversations are remembered; the oldest is forgotten for another.
const MOST_SESSIONS: usize = 10_000;

/// What a conversation is narrowed to.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) sandbox: Option<SandboxId>,
    pub(super) task: Option<TaskId>,
    /// What the desk works on.
    pub(super) repo: Option<RepoName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Narrowed {
    sandbox_id: Option<SandboxId>,
    #[serde(deserialize_with = "crate::door::from_text")]
    task_id: Option<TaskId>,
}

/// Whose conversation is whose: nobody goes on with somebody else's.
#[derive(Default)]
struct Sessions(Mutex<HashMap<String, (KeyId, u64)>>);

/// The door. `desks` are our own doors, which the tools ask.
pub(crate) fn routes(desks: Router, control: Control) -> Router<Doors> {
    let config = StreamableHttpServerConfig::default()
        // Whoever comes has shown a key, which a page of another site has not.
        .disable_allowed_hosts();
    let server = Server::new(desks, control);
    let manager = Arc::new(LocalSessionManager::default());
    let service = Arc::new(StreamableHttpService::new(move || Ok(server.clone()), manager, config));
    let sessions = Arc::new(Sessions::default());
    let handle = move |State(doors): State<Doors>,
                       asker: Result<Asker, Problem>,
                       narrowed: Result<Query<Narrowed>, Problem>,
                       request: Request| {
        let (service, sessions) = (Arc::clone(&service), Arc::clone(&sessions));
        async move {
            let (Asker(grant), Query(narrowed)) = match (asker, narrowed) {
                (Ok(asker), Ok(narrowed)) => (asker, narrowed),
                (Err(problem), _) | (_, Err(problem)) => return problem.into_response(),
            };
            if let Some(stranger) = sessions.of_somebody_else(&request, &grant) {
                return stranger.into_response();
            }
            let is_end = request.method() == Method::DELETE;
            let mut request = request;
            request.extensions_mut().insert(scope_of(&doors, &grant, narrowed).await);
            request.extensions_mut().insert(Granted(grant.clone()));
            let response = service.handle(request).await;
            sessions.remember(&response, &grant, is_end);
            let (mut parts, body) = response.into_parts();
            if is_end && parts.status == StatusCode::ACCEPTED {
                // It is over when this is said; some clients take "accepted" for a failure.
                parts.status = StatusCode::NO_CONTENT;
            }
            Response::from_parts(parts, Body::new(body))
        }
    };
    Router::new().route("/mcp", any(handle))
}

/// A sandbox is narrowed to itself and its task, whatever it asks for. Whoever narrows to one of the two gets the other
/// with it: the desk of a task, the task of a desk. Where there is none, nobody else's is meant.
async fn scope_of(doors: &Doors, grant: &Grant, narrowed: Narrowed) -> Scope {
    let (sandboxes, tasks) = (doors.control.sandboxes(), doors.control.tasks());
    let sandbox = grant.authority.sandbox().cloned().or(narrowed.sandbox_id);
    match (sandbox, narrowed.task_id.filter(|_| grant.authority.sandbox().is_none())) {
        (Some(sandbox), None) => {
            let desk = sandboxes.get(grant, &sandbox).await.ok();
            let (task, repo) = desk.map(|desk| (desk.task_id, desk.repo.clone())).unwrap_or_default();
            Scope { sandbox: Some(sandbox), task, repo }
        }
        (sandbox, Some(task)) => {
            let card = tasks.get(grant, task).await.ok();
            let (desk, repo) = card.map(|card| (card.sandbox_id, Some(card.repo))).unwrap_or_default();
            Scope { sandbox: sandbox.or(desk), task: Some(task), repo }
        }
        (None, None) => Scope::default(),
    }
}

const SESSION: &str = "mcp-session-id";

impl Sessions {
    /// A refusal, when the conversation is another key's. It is told as one that does not exist.
    fn of_somebody_else(&self, request: &Request, grant: &Grant) -> Option<Problem> {
        let id = request.headers().get(SESSION)?.to_str().unwrap_or_default();
        let sessions = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_ours = sessions.get(id).is_some_and(|(key, _)| *key == grant.key);
        (!is_ours)
            .then(|| Problem::not_found("there is no such conversation").with_hint("begin another with `initialize`"))
    }

    fn remember<B>(&self, response: &Response<B>, grant: &Grant, is_end: bool) {
        let Some(id) = response.headers().get(SESSION).and_then(|id| id.to_str().ok()) else { return };
        let mut sessions = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if is_end || response.status() == StatusCode::NOT_FOUND {
            sessions.remove(id);
            return;
        }
        let newest = sessions.values().map(|(_, count)| *count).max().unwrap_or(0);
        sessions.entry(id.to_owned()).or_insert_with(|| (grant.key.clone(), newest + 1));
        if sessions.len() > MOST_SESSIONS
            && let Some(oldest) = sessions.iter().min_by_key(|(_, (_, count))| *count).map(|(id, _)| id.clone())
        {
            sessions.remove(&oldest);
        }
    }
}
