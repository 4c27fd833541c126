//! How questions at this door are read: the key, the id in the path, bodies and parameters.

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{header, request::Parts},
};
use carrel_model::{Grant, SandboxId, Timestamp};
use serde::de::DeserializeOwned;

use super::Refusal;
use crate::{
    door::{Asker, Raw, read_json, read_query},
    house::Doors,
};

/// Somebody whose key was believed.
pub(super) struct Caller(pub(super) Grant);

/// A sandbox that is named in the path. The old form with a client's name behind it is understood.
pub(super) struct Named(pub(super) SandboxId);

/// A JSON body. One that is left out is an empty one; what nobody knows in it is passed over.
pub(super) struct Body<T>(pub(super) T);

/// The parameters after the question mark.
pub(super) struct Query<T>(pub(super) T);

impl FromRequestParts<Doors> for Caller {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Refusal> {
        // Some clients send both, and mean this one.
        if parts.headers.contains_key("x-api-key") {
            parts.headers.remove(header::AUTHORIZATION);
        }
        match Asker::from_request_parts(parts, doors).await {
            Ok(Asker(grant)) => Ok(Caller(grant)),
            Err(problem) => Err(Refusal::of_key(problem)),
        }
    }
}

impl FromRequestParts<Doors> for Named {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Refusal> {
        let Path(text) = Path::<String>::from_request_parts(parts, doors)
            .await
            .map_err(|_| Refusal::malformed("The path is not UTF-8."))?;
        sandbox_id(&text).map(Named).ok_or_else(|| Refusal::no_sandbox(&text))
    }
}

/// An id, also with a client's name behind it.
pub(super) fn sandbox_id(text: &str) -> Option<SandboxId> {
    text.split('-').next()?.parse().ok()
}

/// The place after which a page begins, as the page before it said: when something was made, in microseconds, and its name.
/// It need not be there any more.
pub(super) fn place(token: &str) -> Result<(i64, &str), Refusal> {
    let read = || {
        let (at, name) = token.split_once('.')?;
        let at = Timestamp::from_microsecond(at.parse().ok()?).ok()?;
        Some((at.as_microsecond(), name)).filter(|(_, name)| !name.is_empty())
    };
    read().ok_or_else(|| Refusal::malformed("`nextToken`: expected the `x-next-token` of an earlier page, unchanged."))
}

impl<T: DeserializeOwned> FromRequest<Doors> for Body<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, doors: &Doors) -> Result<Self, Refusal> {
        let Raw(bytes) = Raw::from_request(request, doors).await?;
        let bytes: &[u8] = if bytes.trim_ascii().is_empty() { b"{}" } else { &bytes };
        Ok(Body(read_json(bytes)?))
    }
}

impl<T: DeserializeOwned> FromRequestParts<Doors> for Query<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &Doors) -> Result<Self, Refusal> {
        Ok(Query(read_query(parts.uri.query().unwrap_or_default())?))
    }
}
