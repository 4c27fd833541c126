//! The E2B door: what E2B's SDKs and command line ask of their cloud, asked of this house.
//!
//! | file | what |
//! |---|---|
//! | `sandboxes`, `pauses`, `copies`, `watching` | the control plane of sandboxes, both generations of paths |
//! | `templates`, `builds`, `tags` | templates, as the SDKs' builder makes them |
//! | `interpreter` | the template that the code interpreter's SDKs start from |
//! | `volumes`, `secrets` | what outlives sandboxes, and what is put into their requests on the way out |
//! | `plane`, `nobody`, `asleep` | the way into sandboxes: by host name, by header, by token; what is said where there is nobody, or nobody any more |
//! | `ask`, `refusal`, `words`, `names`, `network` | how questions are read and answers written |
//!
//! Fields that nobody knows are passed over, since every release of the SDKs brings new ones. Those that are known, change
//! the meaning and cannot be honoured are refused with a sentence.

mod ask;
mod asleep;
mod builds;
mod copies;
pub(crate) mod interpreter;
mod names;
mod network;
mod nobody;
mod pauses;
pub(crate) mod plane;
mod refusal;
mod rest;
mod sandboxes;
mod secrets;
mod tags;
mod templates;
mod volumes;
mod watching;
mod words;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::HeaderValue,
    middleware::Next,
    response::{IntoResponse, Response},
    routing::get,
};

use crate::{door::Problem, house::Doors};
pub(crate) use refusal::Refusal;
pub(crate) use sandboxes::domain;

/// The first segments of the paths that are E2B's. None of them is ours.
const THEIRS: [&str; 10] = [
    "sandboxes",
    "snapshots",
    "templates",
    "default-templates",
    "volumes",
    "volumecontent",
    "secrets",
    "teams",
    "v2",
    "v3",
];

pub(crate) fn routes() -> Router<Doors> {
    Router::new()
        // E2B's name for it. With a token it is asked of an envd, and does not come here.
        .route("/health", get(crate::health::ready))
        .merge(sandboxes::routes())
        .merge(pauses::routes())
        .merge(copies::routes())
        .merge(watching::routes())
        .merge(templates::routes())
        .merge(builds::routes())
        .merge(tags::routes())
        .merge(volumes::routes())
        .merge(secrets::routes())
}

/// Whether a path of the house is one of E2B's.
fn is_theirs(path: &str) -> bool {
    THEIRS.contains(&path.trim_start_matches('/').split('/').next().unwrap_or_default())
}

/// Says no in E2B's words wherever E2B's clients ask: also when no route answers, and when a handler breaks.
pub(crate) async fn in_their_words(State(doors): State<Doors>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    // The SDKs say whose they are, also where they lost their way.
    let is_sdk = request.headers().get("publisher").is_some_and(|publisher| publisher == "e2b");
    let is_theirs = is_sdk || is_theirs(path);
    // The SDKs send a body, if only its end, with every request: whoever does not read it must not hang up on them.
    let request = if is_theirs { request.map(|body| Body::new(rest::ReadToTheEnd::new(body))) } else { request };
    let mut response = next.run(request).await;
    let mut response = match response.extensions_mut().remove::<Told>() {
        Some(told) if is_theirs => Refusal::from(told).into_response(),
        _ => response,
    };
    if is_theirs && response.headers().contains_key("ratelimit-remaining") {
        response.headers_mut().insert("ratelimit-limit", HeaderValue::from(doors.options.burst.get()));
    }
    response
}

/// What this door remembers from one request to the next. None of it is missed after a restart.
#[derive(Default)]
pub(crate) struct Memory {
    builds: builds::Builds,
}

/// What a refusal of ours said, for whoever says it in other words.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) retry_after: Option<u64>,
}

impl From<&Problem> for Told {
    fn from(problem: &Problem) -> Self {
        let (status, message, retry_after) = problem.told();
        Told { status, message, retry_after }
    }
}
