//! Carrying out what nobody needs, over HTTP.

use axum::extract::State;
use carrel_model::public::{NewPrune, Problem as ProblemBody, PrunedView};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, OptionalJson, Problem},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(prune))
}

/// Forgets sandboxes that are long gone, and removes checkouts that nobody stands on. For admins.
#[utoipa::path(post, path = "/prune", operation_id = "prune", tag = "health", request_body(content = Option<NewPrune>),
    responses((status = 200, description = "What went.", body = PrunedView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn prune(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    OptionalJson(asked): OptionalJson<NewPrune>,
) -> Result<axum::Json<PrunedView>, Problem> {
    Ok(axum::Json(doors.control.prune().prune(&grant, asked).await?))
}
