//! The built board, carried in the binary.

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::{door::Problem, house::Doors};

#[derive(RustEmbed)]
#[folder = "$CARREL_BOARD"]
struct Board;

pub(crate) fn routes() -> Router<Doors> {
    Router::new()
        .route("/app", get(|| async { Redirect::temporary("/app/") }))
        .route("/app/", get(|headers: HeaderMap| async move { show("index.html", &headers) }))
        .route("/app/{*path}", get(|Path(path): Path<String>, headers: HeaderMap| async move { show(&path, &headers) }))
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
