//! Nodes, over HTTP.

use axum::{extract::State, http::StatusCode};
use carrel_model::{
    NodeId,
    public::{NewDrain, NodeView, Page, Problem as ProblemBody},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Json, Name, Problem},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get, remove)).routes(routes!(drain))
}

/// Lists the servers that are this house.
#[utoipa::path(get, path = "/nodes", operation_id = "list_nodes", tag = "nodes",
    responses((status = 200, description = "All nodes, the oldest first.", body = Page<NodeView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<Page<NodeView>>, Problem> {
    Ok(axum::Json(doors.control.nodes().list(&grant).await?))
}

/// Shows a node.
#[utoipa::path(get, path = "/nodes/{id}", operation_id = "get_node", tag = "nodes", params(("id" = NodeId, Path)),
    responses((status = 200, description = "The node.", body = NodeView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<NodeId>,
) -> Result<axum::Json<NodeView>, Problem> {
    Ok(axum::Json(doors.control.nodes().get(&grant, &id).await?))
}

/// Empties a node: nothing new is put on it, and tasks that are on it go on elsewhere.
#[utoipa::path(post, path = "/nodes/{id}/drain", operation_id = "drain_node", tag = "nodes",
    params(("id" = NodeId, Path)), request_body = NewDrain,
    responses((status = 200, description = "The node, as it goes on.", body = NodeView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn drain(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<NodeId>,
    Json(wish): Json<NewDrain>,
) -> Result<axum::Json<NodeView>, Problem> {
    Ok(axum::Json(doors.control.nodes().drain(&grant, &id, wish.on).await?))
}

/// Forgets a node that does not come back.
#[utoipa::path(delete, path = "/nodes/{id}", operation_id = "remove_node", tag = "nodes", params(("id" = NodeId, Path)),
    responses((status = 204, description = "It is gone, and what lived on it."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn remove(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<NodeId>,
) -> Result<StatusCode, Problem> {
    doors.control.nodes().remove(&grant, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
