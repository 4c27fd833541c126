//! What is said of tasks besides their verbs: claims, questions, what is missing, judgements, and looks at the past.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use carrel_model::{
    Grant, Malformed, RepoName, TaskId,
    area::Claim,
    number::Whole,
    public::{
        AreaView, DoneView, NewClaim, NewJudgement, NewMove, NewQuestion, Page, Problem as ProblemBody, SandboxView,
        ScoreView, TaskView,
    },
    sandbox::Phase,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::sandboxes::Wait;
use crate::{
    door::{Asker, Created, Json, Name, Names, Problem, Query, Waited, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(claim))
        .routes(routes!(release))
        .routes(routes!(areas))
        .routes(routes!(ask))
        .routes(routes!(done))
        .routes(routes!(judge))
        .routes(routes!(promote))
        .routes(routes!(open))
        .routes(routes!(move_to))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Where {
    /// The repository.
    repo: RepoName,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct At {
    /// The place of a checkpoint on the timeline.
    #[param(value_type = i64, minimum = 1)]
    #[serde(deserialize_with = "from_text")]
    pub(super) from: Option<i64>,
    /// Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended.
    wait: Option<Phase>,
    /// Seconds to wait at most: 1 to 600, 60 when left out.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 600)]
    #[serde(deserialize_with = "from_text")]
    timeout: Option<Whole<1, 600>>,
}

impl At {
    /// The sandbox that was opened, as it is when the wait is over.
    pub(super) async fn show(
        &self,
        doors: &Doors,
        grant: &Grant,
        opened: Arc<SandboxView>,
    ) -> Result<Created<SandboxView>, Problem> {
        let wait = Wait { wait: self.wait, timeout: self.timeout };
        let (sandbox, waited) = wait.on(doors, grant, opened).await?;
        let place = format!("/api/v1/sandboxes/{}", sandbox.id);
        Ok(Created { place, body: (*sandbox).clone(), repeated: false, waited })
    }
}

/// The token of a claim, in a path.
struct Token(i64);

impl TryFrom<String> for Token {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Token, Malformed> {
        text.parse().map(Token).map_err(|_| Malformed { rule: "the token of a claim is a whole number" })
    }
}

/// Claims files or directories of a repository for a task, for a time. What another task has claimed is refused.
#[utoipa::path(post, path = "/tasks/{id}/claims", operation_id = "claim_area", tag = "tasks", params(("id" = TaskId, Path)), request_body = NewClaim,
    responses((status = 201, description = "The claim.", body = Claim),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn claim(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Json(new): Json<NewClaim>,
) -> Result<Created<Claim>, Problem> {
    let claim = doors.control.tasks().claim(&grant, id, new).await?;
    let place = format!("/api/v1/tasks/{id}/claims/{}", claim.token);
    Ok(Created { place, body: claim, repeated: false, waited: Waited::NotAsked })
}

/// Gives up a claim.
#[utoipa::path(delete, path = "/tasks/{id}/claims/{token}", operation_id = "release_area", tag = "tasks", params(("id" = TaskId, Path), ("token" = i64, Path)),
    responses((status = 204, description = "It is given up."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn release(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Names(id, Token(token)): Names<TaskId, Token>,
) -> Result<StatusCode, Problem> {
    doors.control.tasks().release(&grant, id, token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists who has claimed what in a repository.
#[utoipa::path(get, path = "/areas", operation_id = "list_areas", tag = "tasks", params(Where),
    responses((status = 200, description = "The claims.", body = Page<AreaView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn areas(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(asked): Query<Where>,
) -> Result<axum::Json<Page<AreaView>>, Problem> {
    let items = doors.control.tasks().areas(&grant, &asked.repo).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Asks a person something on behalf of a task that is worked on. The card needs somebody when the turn ends.
#[utoipa::path(post, path = "/tasks/{id}/ask", operation_id = "ask_person", tag = "tasks", params(("id" = TaskId, Path)), request_body = NewQuestion,
    responses((status = 200, description = "The task.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn ask(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Json(new): Json<NewQuestion>,
) -> Result<axum::Json<TaskView>, Problem> {
    Ok(axum::Json(doors.control.tasks().ask(&grant, id, new).await?))
}

/// Looks whether anything is missing before a task can become a pull request.
#[utoipa::path(get, path = "/tasks/{id}/done", operation_id = "task_done", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, description = "What is missing.", body = DoneView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn done(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
) -> Result<axum::Json<DoneView>, Problem> {
    Ok(axum::Json(doors.control.tasks().done(&grant, id).await?))
}

/// Lets a command score the attempts at a task: the task and its forks. It answers when all are judged.
#[utoipa::path(post, path = "/tasks/{id}/judge", operation_id = "judge_task", tag = "tasks", params(("id" = TaskId, Path)), request_body = NewJudgement,
    responses((status = 200, description = "The scores, the first attempt first.", body = Page<ScoreView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn judge(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Json(new): Json<NewJudgement>,
) -> Result<axum::Json<Page<ScoreView>>, Problem> {
    let items = doors.control.tasks().judge(&grant, id, new).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Chooses one of several attempts: the others are closed, and what they did is kept.
#[utoipa::path(post, path = "/tasks/{id}/promote", operation_id = "promote_task", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, description = "The attempts that are archived.", body = Page<TaskId>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn promote(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
) -> Result<axum::Json<Page<TaskId>>, Problem> {
    let items = doors.control.tasks().promote(&grant, id).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Opens a sandbox with the files of a checkpoint, to look around in.
#[utoipa::path(post, path = "/tasks/{id}/open", operation_id = "open_checkpoint", tag = "tasks", params(("id" = TaskId, Path), At),
    responses((status = 201, description = "The sandbox.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn open(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(at): Query<At>,
) -> Result<Created<SandboxView>, Problem> {
    let opened = doors.control.tasks().open_at(&grant, id, at.from.unwrap_or_default()).await?;
    at.show(&doors, &grant, opened).await
}

/// Moves a task to another provider: its saved work, its branch and its timeline go with it.
#[utoipa::path(post, path = "/tasks/{id}/move", operation_id = "move_task", tag = "tasks", params(("id" = TaskId, Path)), request_body = NewMove,
    responses((status = 200, description = "The task, as it goes on.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn move_to(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Json(wish): Json<NewMove>,
) -> Result<axum::Json<TaskView>, Problem> {
    Ok(axum::Json(Box::pin(doors.control.tasks().move_to(&grant, id, wish.provider)).await?))
}
