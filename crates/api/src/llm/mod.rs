//! `/llm/{provider}/…`: models are asked through the house, which adds the key and counts what it cost.
//!
//! Whoever asks shows a key of the house, or is a sandbox at its own gateway; no key of a provider ever reaches them. What a
//! provider answers is passed on as it comes, byte for byte; tokens are counted on the side.
//!
//! Absent on purpose: translation between dialects. An agent speaks what its provider speaks.

mod allowed;
mod count;
mod line;
mod meter;
mod question;
mod refusal;
mod sieve;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};
use carrel_control::{ModelProvider, ModelVisit};
use secrecy::ExposeSecret;
use tower_http::decompression::RequestDecompressionLayer;

pub(crate) use line::Lines;

use crate::{
    door::{Asker, Foreign, Problem},
    house::Doors,
};
use allowed::Allowed;
use meter::Meter;
use question::Question;
use refusal::Refusal;

pub(crate) fn routes() -> Router<Doors> {
    Router::new()
        .route("/llm/{provider}/{*path}", any(ask))
        // Some clients compress long conversations.
        .layer(RequestDecompressionLayer::new().gzip(true).pass_through_unaccepted(false))
}

/// How much of an error is passed on. Nobody has more to say.
const LONGEST_ERROR: usize = 1024 * 1024;

async fn ask(
    State(doors): State<Doors>,
    Path((name, path)): Path<(String, String)>,
    asker: Result<Asker, Problem>,
    request: Request,
) -> Response {
    let Some(provider) = doors.control.models().provider(&name).cloned() else {
        let names: Vec<_> = doors.control.models().names().map(ToString::to_string).collect();
        let hint = format!("there are: {}; `[models]` in carrel.toml adds others", names.join(", "));
        return Problem::not_found(format!("there is no provider of models `{}`", shortened(&name)))
            .with_hint(hint)
            .into_response();
    };
    let answered = answer(&doors, &provider, &path, asker, request).await;
    answered.unwrap_or_else(|refusal| refusal.in_words_of(provider.dialect))
}

async fn answer(
    doors: &Doors,
    provider: &ModelProvider,
    path: &str,
    asker: Result<Asker, Problem>,
    request: Request,
) -> Result<Response, Refusal> {
    let Asker(grant) = asker?;
    let allowed = Allowed::find(provider.dialect, request.method(), path)
        .ok_or_else(|| Refusal::new(404, format!("{} {} is not passed on", request.method(), shortened(path))))?;
    let visit = doors.control.models().enter(&grant, provider).await?;
    let visit = Arc::new(visit);
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let url = format!("{}/{}{query}", provider.url, allowed.path());
    let headers = outgoing(request.headers(), &visit)?;
    let question = Question::read(allowed, request).await?;
    // Before the first byte goes out: whatever happens from here on is written down.
    let meter = Meter::begin(Arc::clone(&visit), &question);
    let response = match doors.models.ask(&url, &headers, &question).await {
        Ok(response) => response,
        Err(refusal) => {
            meter.refused(refusal.status()).await;
            return Err(refusal);
        }
    };
    let status = response.status();
    if status.is_redirection() {
        meter.refused(StatusCode::BAD_GATEWAY.as_u16()).await;
        let sentence = format!("{} answered with a redirect; correct its address in `[models]`", provider.name);
        return Err(Refusal::new(502, sentence));
    }
    let shown = incoming(response.headers(), &visit);
    let body = if status.is_success() {
        meter.pass_on(response, &question)
    } else {
        meter.refused(status.as_u16()).await;
        Body::from(line::error_body(response, LONGEST_ERROR, visit.key()).await)
    };
    let mut response = (status, shown, body).into_response();
    if !status.is_success() || question.hides_usage() {
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response.extensions_mut().insert(Foreign);
    Ok(response)
}

/// What of a client's headers a provider is told. A list of what passes: nothing that opens our own doors is on it.
fn outgoing(asked: &HeaderMap, visit: &ModelVisit) -> Result<HeaderMap, Refusal> {
    const PASS: [&str; 7] = [
        "accept",
        "content-type",
        "user-agent",
        "anthropic-version",
        "anthropic-beta",
        "openai-beta",
        "idempotency-key",
    ];
    let mut headers = HeaderMap::new();
    for (name, value) in asked {
        if PASS.contains(&name.as_str()) || name.as_str().starts_with("x-stainless-") {
            headers.append(name, value.clone());
        }
    }
    // What is counted must be read.
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let (name, prefix) = match visit.provider().dialect {
        carrel_control::Dialect::Anthropic => {
            let version = HeaderValue::from_static("2023-06-01");
            headers.entry("anthropic-version").or_insert(version);
            (HeaderName::from_static("x-api-key"), "")
        }
        carrel_control::Dialect::Openai => (header::AUTHORIZATION, "Bearer "),
    };
    if let Some(key) = visit.key() {
        let shown = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret().trim()));
        let mut shown = shown.map_err(|_| {
            let secret = &visit.provider().secret;
            Refusal::new(403, format!("the secret {secret} holds characters that no key has; set it again"))
        })?;
        shown.set_sensitive(true);
        headers.insert(name, shown);
    }
    Ok(headers)
}

/// What of a provider's headers a client is told: all but what is between neighbours, and what would act as ours.
fn incoming(told: &HeaderMap, visit: &ModelVisit) -> HeaderMap {
    const STAY: [&str; 8] = [
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "set-cookie",
    ];
    let key = visit.key().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
    let mut headers = HeaderMap::new();
    for (name, value) in told {
        let tells = key.is_some_and(|key| String::from_utf8_lossy(value.as_bytes()).contains(key));
        if !STAY.contains(&name.as_str()) && !tells {
            headers.append(name, value.clone());
        }
    }
    headers
}

fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}
