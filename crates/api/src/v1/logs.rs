//! What happened to a sandbox, over HTTP.

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use carrel_control::LogReader;
use carrel_model::{
    SandboxId,
    public::{LogLine, Page, Problem as ProblemBody},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, EventFrames, Name, Problem, Query, frame, from_text, wants_events},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(read))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// Go on with what happens, as events named `line`.
    #[serde(deserialize_with = "from_text")]
    follow: Option<bool>,
}

/// Tells what happened to a sandbox, oldest first: what was asked of it, how it went, what ran in it.
#[utoipa::path(get, path = "/sandboxes/{id}/logs", operation_id = "get_sandbox_logs", tag = "sandboxes", params(("id" = SandboxId, Path), Ask),
    responses((status = 200, description = "What happened.", content((Page<LogLine> = "application/json"), (LogLine = "text/event-stream"))),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn read(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    headers: HeaderMap,
    Query(ask): Query<Ask>,
) -> Result<Response, Problem> {
    let (lines, reader) = doors.control.logs().read(&grant, &id).await?;
    if ask.follow == Some(true) || wants_events(&headers) {
        return Ok(Telling { before: Some(lines), reader }.answer());
    }
    Ok(axum::Json(Page { items: lines, next: None }).into_response())
}

struct Telling {
    before: Option<Vec<LogLine>>,
    reader: LogReader,
}

impl EventFrames for Telling {
    async fn next(&mut self) -> Option<Bytes> {
        let lines = match self.before.take() {
            Some(lines) => lines,
            None => self.reader.next().await.ok()??,
        };
        let mut frames = BytesMut::new();
        for line in lines {
            frames.extend_from_slice(&frame("line", None, &line));
        }
        Some(frames.freeze())
    }
}
