//! Execs, over HTTP: run, watch, talk to.

use std::io;

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::Engine;
use bytes::{Bytes, BytesMut};
use carrel_control::{Chunk, Paging, Reader, Running, Stream};
use carrel_model::{
    ExecId, SandboxId,
    number::Whole,
    public::{ExecSignal, ExecSize, ExecView, Executed, NewExec, Page, Problem as ProblemBody},
};
use futures::stream;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, EventFrames, Json, Limit, Name, Names, Problem, Query, Raw, frame, from_text, wants_events},
    house::Doors,
};

/// So many bytes of each stream are in a JSON answer.
const MOST_OUTPUT: usize = 10 * 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(execute))
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(output))
        .routes(routes!(input))
        .routes(routes!(close_stdin))
        .routes(routes!(signal))
        .routes(routes!(resize))
}

/// A piece of output, as an event tells it.
#[derive(Serialize, ToSchema)]
struct Piece {
    /// Where it begins in the transcript.
    offset: i64,
    /// The piece, when it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The piece in base64, when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Runs a command and answers when it has ended; with `background`, as soon as it runs. With `Accept: text/event-stream` it
/// tells of `start`, `stdout`, `stderr` and `end` as they happen. A client that goes away does not end the command.
#[utoipa::path(post, path = "/sandboxes/{id}/execute", operation_id = "execute", tag = "execs", params(("id" = SandboxId, Path)), request_body = NewExec,
    responses((status = 200, description = "How it went.", content((Executed = "application/json"), (Piece = "text/event-stream"))),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn execute(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    headers: HeaderMap,
    Json(new): Json<NewExec>,
) -> Result<Response, Problem> {
    let background = new.background == Some(true);
    let running = doors.control.execs().start(&grant, &id, new).await?;
    if wants_events(&headers) {
        return Ok(Telling::new(running).answer());
    }
    Ok(axum::Json(to_its_end(running, background).await?).into_response())
}

/// Waits for the end of a command that nobody runs in the background, and says how it went.
pub(super) async fn to_its_end(mut running: Running, background: bool) -> Result<Executed, Problem> {
    let (mut stdout, mut stderr, mut truncated) = (BytesMut::new(), BytesMut::new(), false);
    if !background {
        while let Some(chunks) = running.output.next().await? {
            for Chunk { stream, bytes, .. } in chunks {
                let kept = match stream {
                    Stream::Stdout => &mut stdout,
                    Stream::Stderr => &mut stderr,
                    // The marker of the cut: there was more.
                    Stream::Carrel => {
                        truncated = true;
                        continue;
                    }
                };
                let room = MOST_OUTPUT - kept.len();
                truncated |= bytes.len() > room;
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }
    let exec = running.exec();
    let text = |bytes: BytesMut| String::from_utf8(bytes.into()).unwrap_or_else(|odd| lossy(odd.as_bytes()));
    Ok(Executed {
        duration_ms: duration_ms(&exec),
        exit_code: exec.exit_code,
        stdout: text(stdout),
        stderr: text(stderr),
        timed_out: exec.timed_out,
        truncated,
        status: exec.status,
        note: exec.note,
        exec_id: exec.exec_id,
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn duration_ms(exec: &ExecView) -> u64 {
    let end = exec.ended_at.unwrap_or_else(jiff::Timestamp::now);
    u64::try_from(end.duration_since(exec.started_at).as_millis()).unwrap_or(0)
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// At most so many execs: 1 to 1000, 100 when left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(deserialize_with = "from_text")]
    limit: Option<Limit>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists the execs of a sandbox, newest first.
#[utoipa::path(get, path = "/sandboxes/{id}/execs", operation_id = "list_execs", tag = "execs", params(("id" = SandboxId, Path), Ask),
    responses((status = 200, description = "A page of execs.", body = Page<ExecView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Page<ExecView>>, Problem> {
    let paging = Paging { limit: ask.limit, cursor: ask.cursor };
    Ok(axum::Json(doors.control.execs().list(&grant, &id, paging).await?))
}

/// Shows an exec.
#[utoipa::path(get, path = "/sandboxes/{id}/execs/{exec_id}", operation_id = "get_exec", tag = "execs", params(("id" = SandboxId, Path), ("exec_id" = ExecId, Path)),
    responses((status = 200, description = "The exec.", body = ExecView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Names(id, exec): Names<SandboxId, ExecId>,
) -> Result<axum::Json<ExecView>, Problem> {
    Ok(axum::Json(doors.control.execs().get(&grant, &id, &exec).await?))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct From {
    /// Begin at this byte; at the first when left out.
    #[param(value_type = Option<i64>, minimum = 0)]
    #[serde(deserialize_with = "from_text")]
    offset: Option<Whole<0, { i64::MAX as u64 }>>,
    /// Go on until nothing more will come. Events always do.
    #[serde(deserialize_with = "from_text")]
    follow: Option<bool>,
}

impl From {
    pub(super) fn follows(&self) -> bool {
        self.follow == Some(true)
    }

    /// Where to begin. `Last-Event-ID` goes before the parameter: that is how browsers come back.
    pub(super) fn offset(&self, headers: &HeaderMap) -> i64 {
        let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
        seen.filter(|offset: &i64| *offset >= 0).unwrap_or(self.offset.map_or(0, |offset| offset.get() as i64))
    }
}

/// Reads what an exec printed, both streams in the order in which they came: bytes, or events with
/// `Accept: text/event-stream`.
#[utoipa::path(get, path = "/sandboxes/{id}/execs/{exec_id}/output", operation_id = "get_exec_output", tag = "execs",
    params(("id" = SandboxId, Path), ("exec_id" = ExecId, Path), From),
    responses((status = 200, description = "What it printed.", content((Vec<u8> = "application/octet-stream"), (Piece = "text/event-stream"))),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn output(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Names(id, exec): Names<SandboxId, ExecId>,
    headers: HeaderMap,
    Query(from): Query<From>,
) -> Result<Response, Problem> {
    let reader = doors.control.execs().output(&grant, &id, &exec, from.offset(&headers)).await?;
    if wants_events(&headers) {
        let ended = move |doors: Doors| async move { doors.control.execs().get(&grant, &id, &exec).await.ok() };
        return Ok(Watching { reader, over: false, ended: Some(Box::pin(ended(doors))) }.answer());
    }
    Ok(bytes_of(reader, from.follows()))
}

/// The bytes of a transcript, to its end or as far as it has come.
pub(super) fn bytes_of(reader: Reader, follow: bool) -> Response {
    let pieces = stream::unfold(reader, move |mut reader| async move {
        let chunks = if follow { reader.next().await } else { reader.rest().await };
        let bytes: Bytes = match chunks {
            Ok(None) => return None,
            Ok(Some(mut chunks)) if chunks.len() == 1 => chunks.remove(0).bytes,
            Ok(Some(chunks)) => chunks
                .iter()
                .fold(BytesMut::new(), |mut all, chunk| {
                    all.extend_from_slice(&chunk.bytes);
                    all
                })
                .freeze(),
            Err(error) => return Some((Err(io::Error::other(error.to_string())), reader)),
        };
        Some((Ok(bytes), reader))
    });
    let about = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")];
    (about, Body::from_stream(pieces)).into_response()
}

/// Writes to the standard input of an exec, or to its terminal: the body, as it is.
#[utoipa::path(post, path = "/sandboxes/{id}/execs/{exec_id}/input", operation_id = "write_exec_input", tag = "execs",
    params(("id" = SandboxId, Path), ("exec_id" = ExecId, Path)), request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 204, description = "It was written."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn input(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Names(id, exec): Names<SandboxId, ExecId>,
    Raw(bytes): Raw,
) -> Result<StatusCode, Problem> {
    doors.control.execs().input(&grant, &id, &exec, bytes).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says that no more input comes.
#[utoipa::path(post, path = "/sandboxes/{id}/execs/{exec_id}/close_stdin", operation_id = "close_exec_input", tag = "execs",
    params(("id" = SandboxId, Path), ("exec_id" = ExecId, Path)),
    responses((status = 204, description = "It is closed."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn close_stdin(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Names(id, exec): Names<SandboxId, ExecId>,
) -> Result<StatusCode, Problem> {
    doors.control.execs().close_stdin(&grant, &id, &exec).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a signal to an exec.
#[utoipa::path(post, path = "/sandboxes/{id}/execs/{exec_id}/signal", operation_id = "signal_exec", tag = "execs",
    params(("id" = SandboxId, Path), ("exec_id" = ExecId, Path)), request_body = ExecSignal,
    responses((status = 204, description = "It was sent."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn signal(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Names(id, exec): Names<SandboxId, ExecId>,
    Json(new): Json<ExecSignal>,
) -> Result<StatusCode, Problem> {
    doors.control.execs().signal(&grant, &id, &exec, &new).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives the terminal of an exec another size.
#[utoipa::path(post, path = "/sandboxes/{id}/execs/{exec_id}/resize", operation_id = "resize_exec", tag = "execs",
    params(("id" = SandboxId, Path), ("exec_id" = ExecId, Path)), request_body = ExecSize,
    responses((status = 204, description = "It has that size."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn resize(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Names(id, exec): Names<SandboxId, ExecId>,
    Json(size): Json<ExecSize>,
) -> Result<StatusCode, Problem> {
    doors.control.execs().resize(&grant, &id, &exec, size).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pieces as events. The id is where the next piece begins, so that a client comes back by it.
pub(super) fn frames_of(chunks: Vec<Chunk>) -> Bytes {
    let mut frames = BytesMut::new();
    for Chunk { offset, stream, bytes } in chunks {
        let next = offset + bytes.len() as i64;
        let (text, base64) = match std::str::from_utf8(&bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(base64::engine::general_purpose::STANDARD.encode(&bytes))),
        };
        frames.extend_from_slice(&frame(stream.word(), Some(next), &Piece { offset, text, base64 }));
    }
    frames.freeze()
}

/// A command being told of by who started it.
pub(super) struct Telling {
    running: Running,
    /// What is told before it.
    before: Option<Bytes>,
    begun: bool,
    over: bool,
}

impl Telling {
    fn new(running: Running) -> Self {
        Telling { running, before: None, begun: false, over: false }
    }

    /// The same, after something else.
    pub(super) fn after(before: Bytes, running: Running) -> Self {
        Telling { before: Some(before), ..Telling::new(running) }
    }
}

impl EventFrames for Telling {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if !self.begun {
            self.begun = true;
            let start = frame("start", None, &self.running.exec());
            return Some(match self.before.take() {
                Some(before) => [before, start].concat().into(),
                None => start,
            });
        }
        match self.running.output.next().await {
            Ok(Some(chunks)) => Some(frames_of(chunks)),
            Ok(None) => {
                self.over = true;
                Some(frame("end", None, &self.running.exec()))
            }
            Err(_) => None,
        }
    }
}

/// A transcript being watched.
struct Watching {
    reader: Reader,
    over: bool,
    ended: Option<futures::future::BoxFuture<'static, Option<ExecView>>>,
}

impl EventFrames for Watching {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        match self.reader.next().await {
            Ok(Some(chunks)) => Some(frames_of(chunks)),
            Ok(None) => {
                self.over = true;
                let exec = match self.ended.take() {
                    Some(ended) => ended.await,
                    None => None,
                };
                exec.map(|exec| frame("end", None, &exec))
            }
            Err(_) => None,
        }
    }
}
