//! Webhooks out, over HTTP.

use axum::{extract::State, http::StatusCode};
use carrel_model::{
    HookId,
    hook::Delivery,
    public::{HookAdded, HookView, NewHook, NewReplay, Page, Problem as ProblemBody},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Created, Json, Name, Problem, Waited},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(add, list))
        .routes(routes!(get, remove))
        .routes(routes!(test))
        .routes(routes!(replay))
}

/// Adds a hook. The answer shows its secret, this once.
#[utoipa::path(post, path = "/hooks", operation_id = "add_hook", tag = "hooks", request_body = NewHook,
    responses((status = 201, description = "The hook and its secret.", body = HookAdded),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn add(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Json(new): Json<NewHook>,
) -> Result<Created<HookAdded>, Problem> {
    let added = doors.control.hooks().add(&grant, new).await?;
    let place = format!("/api/v1/hooks/{}", added.hook.id);
    Ok(Created { place, body: added, repeated: false, waited: Waited::NotAsked })
}

/// Lists the hooks, and how each stands.
#[utoipa::path(get, path = "/hooks", operation_id = "list_hooks", tag = "hooks",
    responses((status = 200, description = "All hooks.", body = Page<HookView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<Page<HookView>>, Problem> {
    Ok(axum::Json(doors.control.hooks().list(&grant).await?))
}

/// Shows a hook.
#[utoipa::path(get, path = "/hooks/{id}", operation_id = "get_hook", tag = "hooks", params(("id" = HookId, Path)),
    responses((status = 200, description = "The hook.", body = HookView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<HookId>,
) -> Result<axum::Json<HookView>, Problem> {
    Ok(axum::Json(doors.control.hooks().get(&grant, &id).await?))
}

/// Removes a hook and its secret.
#[utoipa::path(delete, path = "/hooks/{id}", operation_id = "remove_hook", tag = "hooks", params(("id" = HookId, Path)),
    responses((status = 204, description = "It is gone."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn remove(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<HookId>,
) -> Result<StatusCode, Problem> {
    doors.control.hooks().remove(&grant, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Delivers a letter of the type `test`, once and now.
#[utoipa::path(post, path = "/hooks/{id}/test", operation_id = "test_hook", tag = "hooks", params(("id" = HookId, Path)),
    responses((status = 200, description = "How that went.", body = Delivery),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn test(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<HookId>,
) -> Result<axum::Json<Delivery>, Problem> {
    Ok(axum::Json(doors.control.hooks().test(&grant, &id).await?))
}

/// Delivers everything after a place of the journal once more; without a place, what is stuck is tried now.
#[utoipa::path(post, path = "/hooks/{id}/replay", operation_id = "replay_hook", tag = "hooks",
    params(("id" = HookId, Path)), request_body = NewReplay,
    responses((status = 200, description = "The hook, as it goes on.", body = HookView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn replay(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<HookId>,
    Json(replay): Json<NewReplay>,
) -> Result<axum::Json<HookView>, Problem> {
    Ok(axum::Json(doors.control.hooks().replay(&grant, &id, replay).await?))
}
