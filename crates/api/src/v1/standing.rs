//! How a task stands with others, over HTTP: its own pull request, and who else is at the same place.

use axum::extract::State;
use carrel_model::{
    TaskId,
    public::{CheckView, CommentView, OverlapView, Page, Problem as ProblemBody, PullView},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Name, Problem},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(pull))
        .routes(routes!(comments))
        .routes(routes!(checks))
        .routes(routes!(overlap))
}

/// Shows the pull request of a task.
#[utoipa::path(get, path = "/tasks/{id}/pull", operation_id = "task_pull", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, description = "The pull request.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn pull(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.tasks().pull(&grant, id).await?))
}

/// Lists what was said at the pull request of a task, the oldest first.
#[utoipa::path(get, path = "/tasks/{id}/pull/comments", operation_id = "task_pull_comments", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, description = "The comments.", body = Page<CommentView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn comments(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
) -> Result<axum::Json<Page<CommentView>>, Problem> {
    let items = doors.control.tasks().pull_comments(&grant, id).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Lists the checks of the pull request of a task.
#[utoipa::path(get, path = "/tasks/{id}/pull/checks", operation_id = "task_pull_checks", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, description = "The checks.", body = Page<CheckView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn checks(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
) -> Result<axum::Json<Page<CheckView>>, Problem> {
    let items = doors.control.tasks().pull_checks(&grant, id).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Shows with whom a task will conflict, and what others have claimed in its repository.
#[utoipa::path(get, path = "/tasks/{id}/overlap", operation_id = "task_overlap", tag = "tasks", params(("id" = TaskId, Path)),
    responses((status = 200, description = "Who else is at the same place.", body = OverlapView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn overlap(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
) -> Result<axum::Json<OverlapView>, Problem> {
    Ok(axum::Json(doors.control.tasks().overlap(&grant, id).await?))
}
