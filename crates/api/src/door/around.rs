//! What surrounds every request: its id, its numbers, and the answers when nobody is behind the door.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use tracing::Instrument;

use super::Problem;
use crate::house::Doors;

tokio::task_local! {
    static REQUEST_ID: String;
}

/// Marks an answer that somebody inside a sandbox gave: it is passed on as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign;

/// The id of the request at hand, when there is one.
pub(super) fn request_id() -> Option<String> {
    REQUEST_ID.try_with(Clone::clone).ok()
}

/// Gives each request an id and counts it.
pub(crate) async fn around(State(doors): State<Doors>, request: Request, next: Next) -> Response {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let id = format!("req_{:012x}", COUNT.fetch_add(1, Ordering::Relaxed) + (u64::from(std::process::id()) << 24));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("other".to_owned(), |path| path.as_str().to_owned());
    let began = Instant::now();
    let uri = request.uri().clone();
    let answer = async {
        let response = next.run(request).await;
        // The pages of libraries know nothing of problems: their bare refusal is told as ours.
        let bare = response.status() == StatusCode::NOT_FOUND
            && !response.headers().contains_key(header::CONTENT_TYPE)
            && response.extensions().get::<Foreign>().is_none();
        if bare { unknown_route(uri).await.into_response() } else { response }
    };
    let span = tracing::debug_span!(
        target: "carrel_span",
        "request",
        otel.name = %format_args!("{method} {route}"),
        http.request.method = known(&method),
        http.route = route,
        http.response.status_code = tracing::field::Empty,
    );
    let mut response = REQUEST_ID.scope(id.clone(), answer).instrument(span.clone()).await;
    let took = began.elapsed();
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    metrics::counter!("carrel_http_requests_total", "route" => route.clone(), "method" => known(&method), "status" => status.as_str().to_owned())
        .increment(1);
    metrics::histogram!("carrel_http_request_seconds", "route" => route.clone()).record(took.as_secs_f64());
    tracing::debug!(%id, %method, route, status = status.as_u16(), ?took, "request");
    if *doors.control.draining().borrow() {
        // Whoever has more to ask finds another server, or this one after its restart.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    response
}

/// A made-up method must not make a new number each time.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Nobody is behind this door.
pub(crate) async fn unknown_route(uri: Uri) -> Problem {
    Problem::not_found(format!("there is nothing at {}", uri.path())).with_hint("the routes are listed at /docs")
}

/// Somebody is, but does not answer to this.
pub(crate) async fn wrong_method(method: Method, uri: Uri) -> Problem {
    Problem::new(
        405,
        "method-not-allowed",
        "Method not allowed",
        format!("{method} is not understood at {}", uri.path()),
    )
    .with_hint("the methods of each route are listed at /docs")
}
