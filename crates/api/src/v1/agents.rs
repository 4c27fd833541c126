//! Agents, over HTTP.

use axum::{extract::State, http::StatusCode};
use carrel_model::{
    AgentId,
    public::{AgentChange, AgentView, NewAgent, Page, Problem as ProblemBody},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Created, Json, Name, Problem, Waited},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(list, add)).routes(routes!(get, change, remove))
}

/// Lists the agents: those that came with the house, and those that were added.
#[utoipa::path(get, path = "/agents", operation_id = "list_agents", tag = "agents",
    responses((status = 200, description = "The agents.", body = Page<AgentView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<Page<AgentView>>, Problem> {
    Ok(axum::Json(Page { items: doors.control.agents().list(&grant).await?, next: None }))
}

/// Adds an agent, or changes the one of that name.
#[utoipa::path(post, path = "/agents", operation_id = "add_agent", tag = "agents", request_body = NewAgent,
    responses((status = 201, description = "It is there.", body = AgentView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn add(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Json(new): Json<NewAgent>,
) -> Result<Created<AgentView>, Problem> {
    let (agent, _) = doors.control.agents().add(&grant, new).await?;
    let place = format!("/api/v1/agents/{}", agent.name);
    Ok(Created { place, body: agent, repeated: false, waited: Waited::NotAsked })
}

/// Shows an agent.
#[utoipa::path(get, path = "/agents/{name}", operation_id = "get_agent", tag = "agents", params(("name" = AgentId, Path)),
    responses((status = 200, description = "The agent.", body = AgentView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<AgentId>,
) -> Result<axum::Json<AgentView>, Problem> {
    Ok(axum::Json(doors.control.agents().get(&grant, &name).await?))
}

/// Changes a part of an agent.
#[utoipa::path(patch, path = "/agents/{name}", operation_id = "change_agent", tag = "agents", params(("name" = AgentId, Path)), request_body = AgentChange,
    responses((status = 200, description = "The agent as it now is.", body = AgentView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn change(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<AgentId>,
    Json(change): Json<AgentChange>,
) -> Result<axum::Json<AgentView>, Problem> {
    Ok(axum::Json(doors.control.agents().change(&grant, &name, change).await?))
}

/// Forgets an agent that was added.
#[utoipa::path(delete, path = "/agents/{name}", operation_id = "remove_agent", tag = "agents", params(("name" = AgentId, Path)),
    responses((status = 204, description = "It is gone."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn remove(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<AgentId>,
) -> Result<StatusCode, Problem> {
    doors.control.agents().remove(&grant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
