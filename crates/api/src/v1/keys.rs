//! Keys, over HTTP.

use axum::{extract::State, http::StatusCode};
use carrel_control::Paging;
use carrel_model::{
    KeyId,
    public::{KeyChange, KeyView, Minted, NewKey, Page, Problem as ProblemBody},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::sign_in::SignInLink;
use crate::{
    door::{AskedOnce, Asker, Created, Json, Limit, Name, Problem, Query, Waited, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change, revoke))
        .routes(routes!(rotate))
        .routes(routes!(link))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// At most so many keys: 1 to 1000, 100 when left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(deserialize_with = "from_text")]
    limit: Option<Limit>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Mints a key. Its secret is in the answer and nowhere else.
#[utoipa::path(post, path = "/keys", operation_id = "create_key", tag = "keys", request_body = NewKey,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")),
    responses((status = 201, description = "The key and its secret.", body = Minted),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn create(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    once: AskedOnce,
    Json(new): Json<NewKey>,
) -> Result<Created<Minted>, Problem> {
    let once = once.of("key.create", &new);
    let minted = doors.control.keys().create(&grant, new, once).await?;
    let place = format!("/api/v1/keys/{}", minted.key.id);
    Ok(Created { place, repeated: minted.secret.is_none(), body: minted, waited: Waited::NotAsked })
}

/// Lists the keys, newest first. Revoked ones stay on the list.
#[utoipa::path(get, path = "/keys", operation_id = "list_keys", tag = "keys", params(Ask),
    responses((status = 200, description = "A page of keys.", body = Page<KeyView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Page<KeyView>>, Problem> {
    let paging = Paging { limit: ask.limit, cursor: ask.cursor };
    Ok(axum::Json(doors.control.keys().list(&grant, paging).await?))
}

/// Shows a key.
#[utoipa::path(get, path = "/keys/{id}", operation_id = "get_key", tag = "keys", params(("id" = KeyId, Path)),
    responses((status = 200, description = "The key.", body = KeyView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<KeyId>,
) -> Result<axum::Json<KeyView>, Problem> {
    Ok(axum::Json(doors.control.keys().get(&grant, &id).await?))
}

/// Changes the name or the role of a key; what is left out stays. The last good admin key stays one.
#[utoipa::path(patch, path = "/keys/{id}", operation_id = "change_key", tag = "keys", params(("id" = KeyId, Path)), request_body = KeyChange,
    responses((status = 200, description = "The key.", body = KeyView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn change(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<KeyId>,
    Json(change): Json<KeyChange>,
) -> Result<axum::Json<KeyView>, Problem> {
    Ok(axum::Json(doors.control.keys().change(&grant, &id, change).await?))
}

/// Makes a link that signs one browser in, once, as the holder of this key: how a new member comes in without seeing a key.
#[utoipa::path(post, path = "/keys/{id}/link", operation_id = "create_key_link", tag = "keys", params(("id" = KeyId, Path)),
    responses((status = 201, description = "The link.", body = SignInLink),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn link(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<KeyId>,
) -> Result<Created<SignInLink>, Problem> {
    let link = doors.control.keys().link_for(&grant, &id).await?;
    Ok(Created { place: "/app/sign-in".into(), body: link.into(), repeated: false, waited: Waited::NotAsked })
}

/// Gives a key a new secret. The old one is void at once.
#[utoipa::path(post, path = "/keys/{id}/rotate", operation_id = "rotate_key", tag = "keys", params(("id" = KeyId, Path)),
    responses((status = 200, description = "The key and its new secret.", body = Minted),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn rotate(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<KeyId>,
) -> Result<axum::Json<Minted>, Problem> {
    Ok(axum::Json(doors.control.keys().rotate(&grant, &id).await?))
}

/// Ends a key at once.
#[utoipa::path(delete, path = "/keys/{id}", operation_id = "revoke_key", tag = "keys", params(("id" = KeyId, Path)),
    responses((status = 204, description = "It is void."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn revoke(State(doors): State<Doors>, Asker(grant): Asker, Name(id): Name<KeyId>) -> Result<StatusCode, Problem> {
    doors.control.keys().revoke(&grant, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
