//! `/api/v1`: one file per noun, one function per verb.

mod audit;
mod events;
mod keys;
mod providers;
mod sandboxes;
mod sign_in;

use utoipa_axum::router::OpenApiRouter;

use crate::house::Doors;

pub(crate) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .merge(sandboxes::routes())
        .merge(events::routes())
        .merge(providers::routes())
        .merge(keys::routes())
        .merge(audit::routes())
        .merge(sign_in::routes())
}
