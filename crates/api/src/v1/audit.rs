//! The audit, over HTTP.

use axum::extract::State;
use carrel_control::{AuditQuery, Paging};
use carrel_model::{
    KeyId,
    audit::Outcome,
    public::{AuditView, Page, Problem as ProblemBody},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Limit, Problem, Query, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(list))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// At most so many lines: 1 to 1000, 100 when left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(deserialize_with = "from_text")]
    limit: Option<Limit>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// By this key.
    actor: Option<KeyId>,
    /// Doing this, such as `sandbox.create`.
    action: Option<String>,
    /// To this.
    subject: Option<String>,
    /// With this end.
    outcome: Option<Outcome>,
}

/// Lists the audit, newest first.
#[utoipa::path(get, path = "/audit", operation_id = "list_audit", tag = "audit", params(Ask),
    responses((status = 200, description = "A page of the audit.", body = Page<AuditView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Page<AuditView>>, Problem> {
    let query = AuditQuery {
        actor: ask.actor,
        action: ask.action,
        subject: ask.subject,
        outcome: ask.outcome,
        paging: Paging { limit: ask.limit, cursor: ask.cursor },
    };
    Ok(axum::Json(doors.control.audit().list(&grant, query).await?))
}
