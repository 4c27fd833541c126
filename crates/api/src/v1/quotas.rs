//! Quotas, over HTTP.

use axum::extract::State;
use carrel_model::public::{Page, Problem as ProblemBody, QuotaView};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Problem},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Says what the bearer and every repository may have, and how much of it is used; an admin sees it for every key. What
/// has no quota is left out.
#[utoipa::path(get, path = "/quotas", operation_id = "list_quotas", tag = "usage",
    responses((status = 200, description = "The quotas.", body = Page<QuotaView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<Page<QuotaView>>, Problem> {
    Ok(axum::Json(Page { items: doors.control.quotas().list(&grant).await?, next: None }))
}
