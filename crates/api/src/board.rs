//! The built board, carried in the binary.

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::{
    door::Problem,
    e2b,
    house::{Doors, POLICY},
    passes,
};

#[derive(RustEmbed)]
#[folder = "$CARREL_BOARD"]
struct Board;

pub(crate) fn routes() -> Router<Doors> {
    Router::new()
        .route("/app", get(|| async { Redirect::temporary("/app/") }))
        .route("/app/", get(index))
        .route("/app/{*path}", get(named))
}

async fn index(State(doors): State<Doors>, headers: HeaderMap) -> Response {
    with_policy(&doors, &headers, show("index.html", &headers))
}

async fn named(State(doors): State<Doors>, Path(path): Path<String>, headers: HeaderMap) -> Response {
    with_policy(&doors, &headers, show(&path, &headers))
}

/// The board shows ports of sandboxes in frames, under the names that they have for this browser. Nothing else is let in by it.
fn with_policy(doors: &Doors, headers: &HeaderMap, mut page: Response) -> Response {
    if let Some(domain) = e2b::domain(doors, headers).filter(|domain| passes::is_plain(domain)) {
        let scheme = if doors.options.secure { "https" } else { "http" };
        let policy = format!("{POLICY}; frame-src 'self' {scheme}://*.{domain}");
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        }
    }
    page
}

/// A file of the board; any other path is a page that the board itself knows how to draw.
fn show(path: &str, headers: &HeaderMap) -> Response {
    match Board::get(path) {
        Some(file) => answer(path, file, headers),
        None if path.starts_with("assets/") => missing(path),
        None => match Board::get("index.html") {
            Some(file) => answer("index.html", file, headers),
            None => missing(path),
        },
    }
}

fn missing(path: &str) -> Response {
    Problem::not_found(format!("the board has no file {path}")).into_response()
}

fn answer(path: &str, file: EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag =
        format!("\"{}\"", file.metadata.sha256_hash()[..8].iter().map(|b| format!("{b:02x}")).collect::<String>());
    // Names under assets/ carry a hash of their content: they never change.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let about = [(header::ETAG, tag), (header::CACHE_CONTROL, cache.to_owned())];
    if known {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    let kind = [(header::CONTENT_TYPE, file.metadata.mimetype().to_owned())];
    (about, kind, file.data.into_owned()).into_response()
}
