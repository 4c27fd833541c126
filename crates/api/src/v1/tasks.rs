//! Tasks, over HTTP.

use std::time::Duration;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use carrel_control::{Paging, TaskQuery, TaskWaited, Verb};
use carrel_model::{
    AgentId, Grant, RepoName, TaskId,
    number::Whole,
    public::{
        DiffFileView, NewAttempts, NewMessage, NewTask, Page, Problem as ProblemBody, TaskChange, TaskPage, TaskView,
        Timeline,
    },
    task::TaskPhase,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    diffs::{Asked, Between, Files, packed, patch},
    sessions::Part,
};
use crate::{
    door::{AskedOnce, Asker, Created, Json, Limit, Name, OptionalJson, Problem, Query, Waited, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change))
        .routes(routes!(start))
        .routes(routes!(stop))
        .routes(routes!(retry))
        .routes(routes!(rebase))
        .routes(routes!(merge))
        .routes(routes!(close))
        .routes(routes!(message))
        .routes(routes!(fork))
        .routes(routes!(timeline))
        .merge(packed(OpenApiRouter::new().routes(routes!(diff)).routes(routes!(diff_files))))
}

/// Whether to wait, for what, and how long.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended.
    wait: Option<TaskPhase>,
    /// Seconds to wait at most: 1 to 600, 60 when left out.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 600)]
    #[serde(deserialize_with = "from_text")]
    timeout: Option<Whole<1, 600>>,
}

impl Wait {
    pub(super) async fn on(&self, doors: &Doors, grant: &Grant, view: TaskView) -> Result<(TaskView, Waited), Problem> {
        let Some(phase) = self.wait else { return Ok((view, Waited::NotAsked)) };
        let most = Duration::from_secs(self.timeout.map_or(60, Whole::get));
        let ended = doors.control.tasks().wait(grant, view.id, phase, most).await?;
        let waited = Waited::from(&ended);
        let (TaskWaited::Reached(view) | TaskWaited::Never(view) | TaskWaited::NotYet(view)) = ended;
        Ok((*view, waited))
    }

    async fn show(&self, doors: &Doors, grant: &Grant, view: TaskView) -> Result<Response, Problem> {
        let (view, waited) = self.on(doors, grant, view).await?;
        Ok((waited.headers(), axum::Json(view)).into_response())
    }
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
    /// In one of these phases, with commas between them; in any when left out.
    phase: Option<String>,
    /// In this repository.
    repo: Option<RepoName>,
    /// Of this agent.
    agent: Option<AgentId>,
    /// With this label.
    label: Option<String>,
    /// With these words in its title or its prompt, whatever their case.
    text: Option<String>,
}

/// Writes a card. With `start` it is queued at once.
#[utoipa::path(post, path = "/tasks", operation_id = "create_task", tag = "tasks", request_body = NewTask,
    params(Wait, ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")),
    responses((status = 201, description = "It was written.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn create(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(wait): Query<Wait>,
    once: AskedOnce,
    Json(new): Json<NewTask>,
) -> Result<Created<TaskView>, Problem> {
    let once = once.of("task.create", &new);
    let (task, repeated) = doors.control.tasks().create(&grant, new, once).await?;
    let place = format!("/api/v1/tasks/{}", task.id);
    let (body, waited) = wait.on(&doors, &grant, task).await?;
    Ok(Created { place, body, repeated, waited })
}

/// Lists tasks, newest first: those that the key may see.
#[utoipa::path(get, path = "/tasks", operation_id = "list_tasks", tag = "tasks", params(Ask),
    responses((status = 200, description = "A page of tasks.", body = TaskPage),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<TaskPage>, Problem> {
    let mut phases = Vec::new();
    for word in ask.phase.iter().flat_map(|words| words.split(',')).map(str::trim).filter(|word| !word.is_empty()) {
        let known = TaskPhase::ALL.map(TaskPhase::word).join(", ");
        phases.push(TaskPhase::from_word(word).ok_or_else(|| Problem::field("phase", format!("one of: {known}")))?);
    }
    let query = TaskQuery {
        phases,
        repo: ask.repo,
        agent: ask.agent,
        label: ask.label,
        text: ask.text.filter(|text| !text.trim().is_empty()),
        paging: Paging { limit: ask.limit, cursor: ask.cursor },
    };
    Ok(axum::Json(doors.control.tasks().list(&grant, query).await?))
}

/// Shows a task.
#[utoipa::path(get, path = "/tasks/{id}", operation_id = "get_task", tag = "tasks", params(("id" = TaskId, Path), Wait),
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().get(&grant, id).await?;
    wait.show(&doors, &grant, view).await
}

/// Changes what is written on a card; what is left out stays.
#[utoipa::path(patch, path = "/tasks/{id}", operation_id = "change_task", tag = "tasks", params(("id" = TaskId, Path)), request_body = TaskChange,
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn change(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Json(change): Json<TaskChange>,
) -> Result<axum::Json<TaskView>, Problem> {
    Ok(axum::Json(doors.control.tasks().change(&grant, id, change).await?))
}

/// Lets somebody work on a task: it is queued.
#[utoipa::path(post, path = "/tasks/{id}/start", operation_id = "start_task", tag = "tasks", params(("id" = TaskId, Path), Wait),
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn start(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().act(&grant, id, Verb::Start).await?;
    wait.show(&doors, &grant, view).await
}

/// Stops whoever works on a task. What was done stays, and `start` goes on with it.
#[utoipa::path(post, path = "/tasks/{id}/stop", operation_id = "stop_task", tag = "tasks", params(("id" = TaskId, Path), Wait),
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn stop(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().act(&grant, id, Verb::Stop).await?;
    wait.show(&doors, &grant, view).await
}

/// Tries again what did not work.
#[utoipa::path(post, path = "/tasks/{id}/retry", operation_id = "retry_task", tag = "tasks", params(("id" = TaskId, Path), Wait),
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn retry(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().act(&grant, id, Verb::Retry).await?;
    wait.show(&doors, &grant, view).await
}

/// Puts the branch of a task onto its newest base.
#[utoipa::path(post, path = "/tasks/{id}/rebase", operation_id = "rebase_task", tag = "tasks", params(("id" = TaskId, Path), Wait),
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn rebase(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().act(&grant, id, Verb::Rebase).await?;
    wait.show(&doors, &grant, view).await
}

/// Puts a task into its base, through the merge lane.
#[utoipa::path(post, path = "/tasks/{id}/merge", operation_id = "merge_task", tag = "tasks", params(("id" = TaskId, Path), Wait),
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn merge(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().act(&grant, id, Verb::Merge).await?;
    wait.show(&doors, &grant, view).await
}

/// Ends a task without merging it. What was done is kept for a while.
#[utoipa::path(post, path = "/tasks/{id}/close", operation_id = "close_task", tag = "tasks", params(("id" = TaskId, Path), Wait),
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn close(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().act(&grant, id, Verb::Close).await?;
    wait.show(&doors, &grant, view).await
}

/// Says something to the agent of a task. One that rests goes on with it.
#[utoipa::path(post, path = "/tasks/{id}/message", operation_id = "message_task", tag = "tasks", params(("id" = TaskId, Path), Wait), request_body = NewMessage,
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn message(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wait): Query<Wait>,
    Json(message): Json<NewMessage>,
) -> Result<Response, Problem> {
    let view = doors.control.tasks().message(&grant, id, message).await?;
    wait.show(&doors, &grant, view).await
}

/// Asks for other attempts at a task. They begin at once.
#[utoipa::path(post, path = "/tasks/{id}/fork", operation_id = "fork_task", tag = "tasks", params(("id" = TaskId, Path)), request_body(content = Option<NewAttempts>),
    responses((status = 200, description = "The attempts.", body = Page<TaskView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn fork(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    OptionalJson(asked): OptionalJson<NewAttempts>,
) -> Result<axum::Json<Page<TaskView>>, Problem> {
    Ok(axum::Json(Page { items: doors.control.tasks().fork(&grant, id, asked).await?, next: None }))
}

/// What was said and done for a task, oldest first.
#[utoipa::path(get, path = "/tasks/{id}/timeline", operation_id = "task_timeline", tag = "tasks", params(("id" = TaskId, Path), Part),
    responses((status = 200, description = "A part of the timeline.", body = Timeline),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn timeline(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(part): Query<Part>,
) -> Result<axum::Json<Timeline>, Problem> {
    Ok(axum::Json(doors.control.tasks().timeline(&grant, id, part.after(), part.limit()).await?))
}

/// What a task changes against its base, as a patch: all of it, or the files that are named.
#[utoipa::path(get, path = "/tasks/{id}/diff", operation_id = "task_diff", tag = "tasks", params(("id" = TaskId, Path), Between, Files),
    responses((status = 200, description = "The difference.", body = String, content_type = "text/x-diff"),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn diff(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Asked(extract): Asked,
) -> Result<Response, Problem> {
    Ok(patch(doors.control.tasks().diff(&grant, id, &extract).await?))
}

/// Lists the files that a task changes against its base, without their lines, in the order of the patch.
#[utoipa::path(get, path = "/tasks/{id}/diff/files", operation_id = "task_diff_files", tag = "tasks", params(("id" = TaskId, Path), Between),
    responses((status = 200, description = "The files.", body = Page<DiffFileView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn diff_files(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(between): Query<Between>,
) -> Result<axum::Json<Page<DiffFileView>>, Problem> {
    let items = doors.control.tasks().diff_files(&grant, id, between.from, between.to).await?;
    Ok(axum::Json(Page { items, next: None }))
}
