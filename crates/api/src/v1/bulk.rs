//! One word for many tasks, over HTTP: each is answered for itself.

use axum::extract::State;
use carrel_control::{Control, Verb};
use carrel_model::{
    Grant, TaskId,
    public::{BulkAnswer, BulkVerb, NewBulk, NewMessage, Page, Problem as ProblemBody, TaskView},
};
use futures::StreamExt;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Json, Problem},
    house::Doors,
};

/// So many are asked side by side.
const SIDE_BY_SIDE: usize = 8;

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(bulk))
}

/// Asks the same of up to 200 tasks. The answer has one line for each, in the order of `ids`: the task, or the problem.
#[utoipa::path(post, path = "/tasks/bulk", operation_id = "bulk_tasks", tag = "tasks", request_body = NewBulk,
    responses((status = 200, description = "How it went with each of them.", body = Page<BulkAnswer>),
        (status = "default", description = "Nobody was asked.", body = ProblemBody, content_type = "application/problem+json")))]
async fn bulk(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Json(asked): Json<NewBulk>,
) -> Result<axum::Json<Page<BulkAnswer>>, Problem> {
    asked.check().map_err(Problem::invalid)?;
    let mut ids: Vec<TaskId> = Vec::with_capacity(asked.ids.len());
    for id in &asked.ids {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    let answers = futures::stream::iter(ids).map(|id| {
        let (control, grant, asked) = (&doors.control, &grant, &asked);
        async move {
            match Box::pin(one(control, grant, id, asked)).await {
                Ok(task) => BulkAnswer { id, task: Some(Box::new(task)), problem: None },
                Err(problem) => BulkAnswer { id, task: None, problem: Some(problem.body()) },
            }
        }
    });
    let items = answers.buffered(SIDE_BY_SIDE).collect().await;
    Ok(axum::Json(Page { items, next: None }))
}

async fn one(control: &Control, grant: &Grant, id: TaskId, asked: &NewBulk) -> Result<TaskView, Problem> {
    let verb = match asked.verb {
        BulkVerb::Start => Verb::Start,
        BulkVerb::Stop => Verb::Stop,
        BulkVerb::Retry => Verb::Retry,
        BulkVerb::Rebase => Verb::Rebase,
        BulkVerb::Merge => Verb::Merge,
        BulkVerb::Close => Verb::Close,
        BulkVerb::Message => {
            let message = NewMessage { role: None, text: asked.text.clone().unwrap_or_default() };
            return Ok(control.tasks().message(grant, id, message).await?);
        }
        BulkVerb::Set => {
            return Ok(control.tasks().change(grant, id, asked.change.clone().unwrap_or_default()).await?);
        }
    };
    Ok(control.tasks().act(grant, id, verb).await?)
}
