//! Providers, over HTTP.

use axum::extract::State;
use carrel_model::public::{Page, Problem as ProblemBody, ProviderView};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Problem},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Lists the providers and their circuit breakers.
#[utoipa::path(get, path = "/providers", operation_id = "list_providers", tag = "providers",
    responses((status = 200, description = "The providers.", body = Page<ProviderView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<Page<ProviderView>>, Problem> {
    let items = doors.control.providers().list(&grant).await?;
    Ok(axum::Json(Page { items, next: None }))
}
