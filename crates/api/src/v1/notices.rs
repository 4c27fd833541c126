//! Notices to browsers that nobody looks at, over HTTP.

use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use carrel_model::public::{NewSubscription, NoticesView, Problem as ProblemBody, SubscriptionView};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Created, Json, Problem, Waited},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(show, subscribe)).routes(routes!(unsubscribe))
}

/// How a browser subscribes to notices, and which ones of the asker's did.
#[utoipa::path(get, path = "/notices", operation_id = "get_notices", tag = "notices",
    responses((status = 200, description = "The house's public key, and the browsers.", body = NoticesView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn show(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<NoticesView>, Problem> {
    Ok(axum::Json(doors.control.notices().show(&grant).await?))
}

/// Subscribes a browser: it is told when a card needs somebody, and only then. The same one twice is one.
#[utoipa::path(post, path = "/notices", operation_id = "subscribe_to_notices", tag = "notices", request_body = NewSubscription,
    responses((status = 201, description = "It will be told.", body = SubscriptionView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn subscribe(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Json(new): Json<NewSubscription>,
) -> Result<Created<SubscriptionView>, Problem> {
    let body = doors.control.notices().subscribe(&grant, new).await?;
    Ok(Created { place: format!("/api/v1/notices/{}", body.id), body, repeated: false, waited: Waited::NotAsked })
}

/// Leaves a browser in peace.
#[utoipa::path(delete, path = "/notices/{id}", operation_id = "unsubscribe_from_notices", tag = "notices", params(("id" = String, Path)),
    responses((status = 204, description = "It is not told any more."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn unsubscribe(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    doors.control.notices().unsubscribe(&grant, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
