//! Ports of a sandbox, over HTTP: whatever is asked is passed on to what listens inside, WebSockets too.
//!
//! By path (`/api/v1/sandboxes/{id}/ports/{port}/…`) the answer comes from our own origin, so browsers are told to keep it in
//! a sandbox of their own. By host (`{port}-{id}.…`) it has an origin of its own; that way in is `e2b::plane`.

use axum::{
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
    routing::any,
};
use carrel_model::SandboxId;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    door::{Asker, FromOwnPage, Passage, Problem, pass_on},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .route("/sandboxes/{id}/ports/{port}", any(by_path))
        .route("/sandboxes/{id}/ports/{port}/", any(by_path))
        .route("/sandboxes/{id}/ports/{port}/{*path}", any(by_path))
}

async fn by_path(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    _: FromOwnPage,
    Path(named): Path<Vec<(String, String)>>,
    request: Request,
) -> Result<Response, Problem> {
    let named = |name: &str| named.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
    let missing = |what: &str| Problem::not_found(format!("there is no {what}"));
    let id: SandboxId = named("id").parse().map_err(|_| missing("such sandbox"))?;
    let port = named("port").parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| missing("such port"))?;
    let line = doors.control.ports().open(&grant, &id, port).await?;
    let prefix = format!("/api/v1/sandboxes/{id}/ports/{port}");
    let passage = Passage { host: format!("localhost:{port}"), prefix: Some(&prefix) };
    let passed = pass_on(&doors, line, passage, request).await;
    let mut response = passed.map_err(|_| {
        let why = format!("port {port} of sandbox {id} hung up without an answer");
        Problem::new(502, "inside", "Nobody answers inside", why)
    })?;
    keep_apart(&prefix, response.headers_mut());
    Ok(response)
}

/// What comes by path comes from our origin. It must not act as one of our pages, nor touch what belongs to them.
fn keep_apart(prefix: &str, headers: &mut HeaderMap) {
    let alone = HeaderValue::from_static("sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads");
    headers.append(header::CONTENT_SECURITY_POLICY, alone);
    headers.remove("clear-site-data");
    headers.remove("service-worker-allowed");
    let place = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let place = place.filter(|place| place.starts_with('/') && !place.starts_with("//"));
    if let Some(place) = place.and_then(|place| HeaderValue::from_str(&format!("{prefix}{place}")).ok()) {
        headers.insert(header::LOCATION, place);
    }
}
