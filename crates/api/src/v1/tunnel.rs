//! A raw line to a port of a sandbox: bytes both ways, for what does not speak HTTP, such as ssh or a database.
//!
//! It is asked for as an upgrade to `carrel-tunnel`. What comes after the 101 belongs to the two ends alone: nothing is
//! read, counted or kept, and one side may close while the other goes on.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use carrel_model::{SandboxId, number::Whole, public::Problem as ProblemBody};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, FromOwnPage, Name, Problem, Query, from_text},
    house::Doors,
};

/// What is asked for, so that nothing between us takes it for a WebSocket.
const PROTOCOL: &str = "carrel-tunnel";

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(open))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// The port that something inside listens on.
    #[serde(default, deserialize_with = "from_text")]
    #[param(value_type = u64, required = true, minimum = 1, maximum = 65535)]
    port: Option<Whole<1, 65535>>,
}

/// Opens a raw line to a port: after the answer, bytes both ways. Ask with `Connection: Upgrade` and
/// `Upgrade: carrel-tunnel`.
#[utoipa::path(get, path = "/sandboxes/{id}/tunnel", operation_id = "open_tunnel", tag = "sandboxes", params(("id" = SandboxId, Path), Ask),
    responses((status = 101, description = "The line."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn open(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    _: FromOwnPage,
    Name(id): Name<SandboxId>,
    Query(ask): Query<Ask>,
    mut request: Request,
) -> Result<Response, Problem> {
    let Some(port) = ask.port.and_then(|port| u16::try_from(port.get()).ok()) else {
        return Err(carrel_control::Error::field("port", "say which port").into());
    };
    let mut inside = doors.control.ports().open(&grant, &id, port).await?;
    let asked = request.headers().get(header::UPGRADE).and_then(|value| value.to_str().ok());
    if !asked.is_some_and(|protocol| protocol.eq_ignore_ascii_case(PROTOCOL)) {
        let why = format!("a tunnel is opened by an upgrade to `{PROTOCOL}`");
        return Err(
            Problem::new(426, "upgrade-required", "Not a tunnel", why).with_hint("`carrel sandbox forward` opens one")
        );
    }
    let client = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(client) = client.await {
            // Either end may break it off, and that is how it usually ends.
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut inside).await;
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    Ok(response)
}
