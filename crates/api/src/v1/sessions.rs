//! Sessions, over HTTP.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use carrel_control::{Paging, SessionQuery};
use carrel_model::{
    AgentId, RepoName, SessionId,
    public::{
        DiffFileView, NewInterruption, NewMessage, NewSession, NewSessionFork, NewSessionTask, Page,
        Problem as ProblemBody, SandboxView, SessionView, TaskView, Timeline,
    },
    session::{Moment, SessionPhase},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    diffs::{Asked, Between, Files, packed, patch},
    reports::At,
    tasks::Wait,
};
use crate::{
    door::{AskedOnce, Asker, Created, Json, Limit, Name, OptionalJson, Problem, Query, Waited, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, close))
        .routes(routes!(say, messages))
        .routes(routes!(interrupt))
        .merge(packed(OpenApiRouter::new().routes(routes!(diff)).routes(routes!(diff_files))))
        .routes(routes!(open))
        .routes(routes!(fork))
        .routes(routes!(task))
        .routes(routes!(sandbox))
        .routes(routes!(status))
        .routes(routes!(provision))
        .routes(routes!(pause))
        .routes(routes!(resume))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// At most so many: 1 to 1000, 100 when left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(deserialize_with = "from_text")]
    limit: Option<Limit>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// In this phase; all but `closed` when left out.
    phase: Option<SessionPhase>,
    /// Of this agent.
    agent: Option<AgentId>,
    /// With this repository.
    repo: Option<RepoName>,
    /// In which something holds this text.
    q: Option<String>,
}

/// How much of a timeline.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// At most so many: 1 to 1000, 100 when left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(deserialize_with = "from_text")]
    limit: Option<Limit>,
    /// After this place, or the `next` of the page before.
    #[param(value_type = Option<i64>)]
    #[serde(deserialize_with = "from_text", alias = "after")]
    cursor: Option<i64>,
    /// What holds this text, newest first.
    q: Option<String>,
}

impl Part {
    pub(super) fn after(&self) -> i64 {
        self.cursor.unwrap_or(0)
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit.map_or(100, |limit| limit.get() as u32)
    }
}

/// Begins a session and asks for its desk at once: its `sandbox_id` is in the answer.
#[utoipa::path(post, path = "/sessions", operation_id = "create_session", tag = "sessions", request_body(content = Option<NewSession>),
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")),
    responses((status = 201, description = "It is open.", body = SessionView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn create(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    once: AskedOnce,
    OptionalJson(new): OptionalJson<NewSession>,
) -> Result<Created<SessionView>, Problem> {
    let once = once.of("session.create", &new);
    let (body, repeated) = Box::pin(doors.control.sessions().create(&grant, new, once)).await?;
    let place = format!("/api/v1/sessions/{}", body.id);
    Ok(Created { place, body, repeated, waited: Waited::NotAsked })
}

/// Lists sessions, newest first: those that the key may see. Those of tasks are shown with their tasks.
#[utoipa::path(get, path = "/sessions", operation_id = "list_sessions", tag = "sessions", params(Ask),
    responses((status = 200, description = "A page of sessions.", body = Page<SessionView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Page<SessionView>>, Problem> {
    let query = SessionQuery {
        phase: ask.phase,
        agent: ask.agent,
        repo: ask.repo,
        text: ask.q,
        paging: Paging { limit: ask.limit, cursor: ask.cursor },
    };
    Ok(axum::Json(doors.control.sessions().list(&grant, query).await?))
}

/// Shows a session.
#[utoipa::path(get, path = "/sessions/{id}", operation_id = "get_session", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The session.", body = SessionView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
) -> Result<axum::Json<SessionView>, Problem> {
    Ok(axum::Json(doors.control.sessions().get(&grant, &id).await?))
}

/// Ends a session, and its desk with it.
#[utoipa::path(delete, path = "/sessions/{id}", operation_id = "close_session", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "It is closed.", body = SessionView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn close(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
) -> Result<axum::Json<SessionView>, Problem> {
    Ok(axum::Json(doors.control.sessions().close(&grant, &id).await?))
}

/// Says something. The answer comes as moments.
#[utoipa::path(post, path = "/sessions/{id}/messages", operation_id = "say", tag = "sessions", params(("id" = SessionId, Path)), request_body = NewMessage,
    responses((status = 201, description = "It was said.", body = Moment),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn say(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
    Json(message): Json<NewMessage>,
) -> Result<Created<Moment>, Problem> {
    let body = doors.control.sessions().say(&grant, &id, message).await?;
    let place = format!("/api/v1/sessions/{id}/messages?after={}", body.seq - 1);
    Ok(Created { place, body, repeated: false, waited: Waited::NotAsked })
}

/// What was said and done, oldest first; with `q` what holds a text, newest first.
#[utoipa::path(get, path = "/sessions/{id}/messages", operation_id = "list_messages", tag = "sessions", params(("id" = SessionId, Path), Part),
    responses((status = 200, description = "A part of the timeline.", body = Timeline),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn messages(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
    Query(part): Query<Part>,
) -> Result<axum::Json<Timeline>, Problem> {
    let desk = doors.control.sessions();
    Ok(axum::Json(match &part.q {
        Some(text) => desk.search(&grant, &id, text, part.limit()).await?,
        None => desk.timeline(&grant, &id, part.after(), part.limit()).await?,
    }))
}

/// Breaks off the answer in flight and answers when it is over; what the agent did so far stays. With a text, that is what
/// it reads next.
#[utoipa::path(post, path = "/sessions/{id}/interrupt", operation_id = "interrupt_session", tag = "sessions", params(("id" = SessionId, Path)), request_body(content = Option<NewInterruption>),
    responses((status = 200, description = "The session.", body = SessionView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn interrupt(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
    OptionalJson(asked): OptionalJson<NewInterruption>,
) -> Result<axum::Json<SessionView>, Problem> {
    Ok(axum::Json(doors.control.sessions().interrupt(&grant, &id, asked).await?))
}

/// What a session changed since it began, as a patch: all of it, or the files that are named.
#[utoipa::path(get, path = "/sessions/{id}/diff", operation_id = "session_diff", tag = "sessions", params(("id" = SessionId, Path), Between, Files),
    responses((status = 200, description = "The difference.", body = String, content_type = "text/x-diff"),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn diff(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
    Asked(extract): Asked,
) -> Result<Response, Problem> {
    Ok(patch(doors.control.sessions().diff(&grant, &id, &extract).await?))
}

/// Lists the files that a session changed since it began, without their lines, in the order of the patch.
#[utoipa::path(get, path = "/sessions/{id}/diff/files", operation_id = "session_diff_files", tag = "sessions", params(("id" = SessionId, Path), Between),
    responses((status = 200, description = "The files.", body = Page<DiffFileView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn diff_files(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
    Query(between): Query<Between>,
) -> Result<axum::Json<Page<DiffFileView>>, Problem> {
    let items = doors.control.sessions().diff_files(&grant, &id, between.from, between.to).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Opens a sandbox with the files of a checkpoint, to look around in.
#[utoipa::path(post, path = "/sessions/{id}/open", operation_id = "open_session_checkpoint", tag = "sessions", params(("id" = SessionId, Path), At),
    responses((status = 201, description = "The sandbox.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn open(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
    Query(at): Query<At>,
) -> Result<Created<SandboxView>, Problem> {
    let opened = doors.control.sessions().open_at(&grant, &id, at.from.unwrap_or_default()).await?;
    at.show(&doors, &grant, opened).await
}

/// Begins another session that goes on from a checkpoint: with its files, and with what was said until then.
#[utoipa::path(post, path = "/sessions/{id}/fork", operation_id = "fork_session", tag = "sessions", request_body(content = Option<NewSessionFork>),
    params(("id" = SessionId, Path), ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")),
    responses((status = 201, description = "The other session.", body = SessionView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn fork(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    once: AskedOnce,
    Name(id): Name<SessionId>,
    OptionalJson(asked): OptionalJson<NewSessionFork>,
) -> Result<Created<SessionView>, Problem> {
    let once = once.of("session.fork", &(&id, &asked));
    let (body, repeated) = Box::pin(doors.control.sessions().fork(&grant, &id, asked, once)).await?;
    let place = format!("/api/v1/sessions/{}", body.id);
    Ok(Created { place, body, repeated, waited: Waited::NotAsked })
}

/// Writes a card that goes on from a checkpoint, with its files and with what was said until then: so the work of a session
/// becomes a pull request.
#[utoipa::path(post, path = "/sessions/{id}/task", operation_id = "session_task", tag = "sessions", request_body(content = Option<NewSessionTask>),
    params(("id" = SessionId, Path), Wait, ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")),
    responses((status = 201, description = "It was written.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn task(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(wait): Query<Wait>,
    once: AskedOnce,
    Name(id): Name<SessionId>,
    OptionalJson(asked): OptionalJson<NewSessionTask>,
) -> Result<Created<TaskView>, Problem> {
    let once = once.of("session.task", &(&id, &asked));
    let (task, repeated) = Box::pin(doors.control.sessions().write_card(&grant, &id, asked, once)).await?;
    let place = format!("/api/v1/tasks/{}", task.id);
    let (body, waited) = wait.on(&doors, &grant, task).await?;
    Ok(Created { place, body, repeated, waited })
}

/// Shows the desk of a session.
#[utoipa::path(get, path = "/sessions/{id}/sandbox", operation_id = "session_sandbox", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The desk.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn sandbox(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
) -> Result<axum::Json<Arc<SandboxView>>, Problem> {
    Ok(axum::Json(doors.control.sessions().sandbox(&grant, &id).await?))
}

/// Shows how the desk of a session is: the same as `…/sandbox`, beside the verbs.
#[utoipa::path(get, path = "/sessions/{id}/sandbox/status", operation_id = "session_sandbox_status", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The desk.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn status(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
) -> Result<axum::Json<Arc<SandboxView>>, Problem> {
    Ok(axum::Json(doors.control.sessions().sandbox(&grant, &id).await?))
}

/// Makes sure that a session has a desk.
#[utoipa::path(post, path = "/sessions/{id}/sandbox/provision", operation_id = "provision_session", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The desk.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn provision(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
) -> Result<axum::Json<Arc<SandboxView>>, Problem> {
    Ok(axum::Json(doors.control.sessions().provision(&grant, &id).await?))
}

/// Lets the desk of a session sleep.
#[utoipa::path(post, path = "/sessions/{id}/sandbox/pause", operation_id = "pause_session", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The desk.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn pause(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
) -> Result<axum::Json<Arc<SandboxView>>, Problem> {
    Ok(axum::Json(doors.control.sessions().pause(&grant, &id).await?))
}

/// Wakes the desk of a session.
#[utoipa::path(post, path = "/sessions/{id}/sandbox/resume", operation_id = "resume_session", tag = "sessions", params(("id" = SessionId, Path)),
    responses((status = 200, description = "The desk.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn resume(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SessionId>,
) -> Result<axum::Json<Arc<SandboxView>>, Problem> {
    Ok(axum::Json(doors.control.sessions().resume(&grant, &id).await?))
}
