//! Tasks in parcels, over HTTP: out of this house, and into it.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use carrel_control::Delivery;
use carrel_model::{
    AgentId, RepoName, TaskId,
    public::{Problem as ProblemBody, TaskView},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::files::content;
use crate::{
    door::{Asker, Created, Name, Problem, Query, Waited},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(export)).routes(routes!(import))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Wrapping {
    /// All of its history goes along, for a house whose repository does not have the commit that it began at.
    whole: bool,
}

/// Downloads a task with its timeline and all its work, as a tar archive. It stays where it is.
#[utoipa::path(get, path = "/tasks/{id}/export", operation_id = "export_task", tag = "tasks", params(("id" = TaskId, Path), Wrapping),
    responses((status = 200, description = "The parcel.", content((Vec<u8> = "application/x-tar"))),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn export(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<TaskId>,
    Query(wrapping): Query<Wrapping>,
) -> Result<Response, Problem> {
    let parcel = doors.control.tasks().export(&grant, id, wrapping.whole).await?;
    let name = HeaderValue::from_str(&format!("attachment; filename=\"task-{id}.tar\""));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar")),
        (header::CONTENT_LENGTH, HeaderValue::from(parcel.size)),
        (header::CONTENT_DISPOSITION, name.unwrap_or(HeaderValue::from_static("attachment"))),
    ];
    Ok((headers, Body::from_stream(parcel.content)).into_response())
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Arriving {
    /// The repository that it goes to; the one of the same name when left out.
    repo: Option<RepoName>,
    /// Who goes on with it; whoever did it in the other house when left out.
    agent: Option<AgentId>,
    /// Somebody works on it at once.
    start: bool,
}

/// Takes in a task from another house: a new card with its past, at rest. What is over there is closed here, and kept.
#[utoipa::path(post, path = "/tasks/import", operation_id = "import_task", tag = "tasks", params(Arriving),
    request_body(content = Vec<u8>, content_type = "application/x-tar"),
    responses((status = 201, description = "It is here.", body = TaskView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn import(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(arriving): Query<Arriving>,
    request: Request,
) -> Result<Created<TaskView>, Problem> {
    let delivery = Delivery { repo: arriving.repo, agent: arriving.agent, start: arriving.start };
    let body = doors.control.tasks().import(&grant, delivery, content(request)).await?;
    Ok(Created { place: format!("/api/v1/tasks/{}", body.id), body, repeated: false, waited: Waited::NotAsked })
}
