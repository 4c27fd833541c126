//! Secrets that are put into requests on their way out of sandboxes. Values come in, and never out.

use std::collections::BTreeMap;

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use carrel_model::{public::SecretText, volume::OutboundSecret};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Body, Caller, Query},
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/secrets", post(create).get(list))
        .route("/secrets/{key}", get(show).post(update).delete(remove))
}

#[derive(Debug, Deserialize)]
struct New {
    name: String,
    value: SecretText,
    metadata: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
struct NewValue {
    value: SecretText,
    metadata: Option<BTreeMap<String, String>>,
}

fn shown(secret: &OutboundSecret) -> Value {
    json!({
        "secretID": secret.id,
        "name": secret.name,
        "currentVersion": secret.version,
        "metadata": secret.metadata,
        "createdAt": secret.created_at.to_string(),
        "updatedAt": secret.updated_at.to_string(),
    })
}

async fn create(State(doors): State<Doors>, Caller(grant): Caller, Body(new): Body<New>) -> Result<Response, Refusal> {
    let made = doors.control.outbound().create(&grant, new.name, new.value, new.metadata.unwrap_or_default()).await?;
    Ok((StatusCode::CREATED, axum::Json(shown(&made))).into_response())
}

async fn update(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Path(key): Path<String>,
    Body(new): Body<NewValue>,
) -> Result<axum::Json<Value>, Refusal> {
    Ok(axum::Json(shown(&doors.control.outbound().update(&grant, &key, new.value, new.metadata).await?)))
}

async fn show(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Path(key): Path<String>,
) -> Result<axum::Json<Value>, Refusal> {
    Ok(axum::Json(shown(&doors.control.outbound().get(&grant, &key).await?)))
}

async fn remove(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Path(key): Path<String>,
) -> Result<StatusCode, Refusal> {
    doors.control.outbound().remove(&grant, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Paged {
    limit: Option<u32>,
    next_token: Option<String>,
}

async fn list(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Query(asked): Query<Paged>,
) -> Result<Response, Refusal> {
    let most = asked.limit.unwrap_or(100).clamp(1, 100);
    let after = match asked.next_token.as_deref().map(hex::decode) {
        None => String::new(),
        Some(Ok(bytes)) => String::from_utf8(bytes).unwrap_or_default(),
        Some(Err(_)) => return Err(Refusal::malformed("`nextToken` is none of ours.")),
    };
    let mut found = doors.control.outbound().list(&grant, &after, most + 1).await?;
    let more = found.len() > most as usize;
    found.truncate(most as usize);
    let items: Vec<Value> = found.iter().map(shown).collect();
    let mut response = axum::Json(items).into_response();
    if let Some(last) = found.last().filter(|_| more)
        && let Ok(next) = HeaderValue::from_str(&hex::encode(&last.name))
    {
        response.headers_mut().insert(HeaderName::from_static("x-next-token"), next);
    }
    Ok(response)
}
