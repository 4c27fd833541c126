//! For whoever watches over the server: alive, able to work, and its numbers.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use carrel_model::public::{Readiness, ReadinessView};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::house::Doors;

pub(crate) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(alive)).routes(routes!(ready)).routes(routes!(numbers))
}

/// Whether the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()), responses((status = 200, description = "Alive.", body = String)))]
async fn alive() -> &'static str {
    "ok\n"
}

/// Whether the server can work.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()),
    responses((status = 200, description = "It can.", body = ReadinessView), (status = 503, description = "It cannot.", body = ReadinessView)))]
pub(crate) async fn ready(State(doors): State<Doors>) -> Response {
    let view = doors.control.readiness().await;
    match view.status {
        Readiness::Ready | Readiness::Degraded => (StatusCode::OK, axum::Json(view)).into_response(),
        Readiness::Draining | Readiness::Unavailable => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], axum::Json(view)).into_response()
        }
    }
}

/// The numbers, for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", security(()), responses((status = 200, description = "Prometheus text.", body = String)))]
async fn numbers(State(doors): State<Doors>) -> Response {
    let text = doors.options.metrics.as_ref().map(|handle| handle.render()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
