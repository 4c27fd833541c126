//! Secrets, over HTTP. Values come in and never go out.

use axum::{extract::State, http::StatusCode};
use carrel_model::{
    RepoName, SecretName,
    public::{NewSecret, Page, Problem as ProblemBody, SecretView},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Created, Json, Name, Problem, Query, Waited, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(set, list)).routes(routes!(get, remove))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// The repository it is for; the whole house when left out.
    #[param(value_type = Option<String>)]
    #[serde(deserialize_with = "from_text")]
    repo: Option<RepoName>,
}

/// Sets a secret, or gives it a new value, which counts at once.
#[utoipa::path(post, path = "/secrets", operation_id = "set_secret", tag = "secrets", request_body = NewSecret,
    responses((status = 201, description = "The secret, without its value.", body = SecretView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn set(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Json(new): Json<NewSecret>,
) -> Result<Created<SecretView>, Problem> {
    let secret = doors.control.secrets().set(&grant, new).await?;
    let place = match &secret.repo {
        Some(repo) => format!("/api/v1/secrets/{}?repo={repo}", secret.name),
        None => format!("/api/v1/secrets/{}", secret.name),
    };
    Ok(Created { place, repeated: false, body: secret, waited: Waited::NotAsked })
}

/// Lists the secrets by name, without their values.
#[utoipa::path(get, path = "/secrets", operation_id = "list_secrets", tag = "secrets",
    responses((status = 200, description = "All secrets.", body = Page<SecretView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<Page<SecretView>>, Problem> {
    Ok(axum::Json(doors.control.secrets().list(&grant).await?))
}

/// Shows that there is a secret, without its value.
#[utoipa::path(get, path = "/secrets/{name}", operation_id = "get_secret", tag = "secrets",
    params(("name" = SecretName, Path), Ask),
    responses((status = 200, description = "The secret.", body = SecretView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<SecretName>,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<SecretView>, Problem> {
    Ok(axum::Json(doors.control.secrets().get(&grant, ask.repo.as_ref(), &name).await?))
}

/// Removes a secret.
#[utoipa::path(delete, path = "/secrets/{name}", operation_id = "remove_secret", tag = "secrets",
    params(("name" = SecretName, Path), Ask),
    responses((status = 204, description = "It is gone."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn remove(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<SecretName>,
    Query(ask): Query<Ask>,
) -> Result<StatusCode, Problem> {
    doors.control.secrets().remove(&grant, ask.repo.as_ref(), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
