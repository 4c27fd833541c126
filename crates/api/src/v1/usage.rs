//! What models were used for and what it cost, over HTTP.

use axum::extract::State;
use carrel_control::UsageFilter;
use carrel_model::{
    AgentId, SandboxId, TaskId, Timestamp,
    public::{Problem as ProblemBody, UsageBy, UsageView},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Problem, Query, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(add_up))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// Of this task.
    #[param(value_type = Option<i64>, minimum = 1)]
    #[serde(deserialize_with = "from_text")]
    task_id: Option<TaskId>,
    /// Of this session.
    session_id: Option<String>,
    /// Of this sandbox.
    sandbox_id: Option<SandboxId>,
    /// Of this agent.
    agent: Option<AgentId>,
    /// From this moment on.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(deserialize_with = "from_text")]
    since: Option<Timestamp>,
    /// Before this moment.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(deserialize_with = "from_text")]
    until: Option<Timestamp>,
    /// What it is added up by; days when left out.
    by: Option<UsageBy>,
}

/// Adds up what models were used for and what it cost.
#[utoipa::path(get, path = "/usage", operation_id = "get_usage", tag = "usage", params(Ask),
    responses((status = 200, description = "The sums.", body = UsageView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn add_up(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<UsageView>, Problem> {
    let filter = UsageFilter {
        task: ask.task_id,
        session: ask.session_id,
        sandbox: ask.sandbox_id,
        agent: ask.agent,
        since: ask.since,
        until: ask.until,
    };
    Ok(axum::Json(doors.control.models().usage(&grant, filter, ask.by.unwrap_or_default()).await?))
}
