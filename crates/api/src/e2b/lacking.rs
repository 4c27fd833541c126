//! What E2B has and this house has not: said in a sentence, so that nobody looks for a mistake of their own.

use axum::{Router, routing::any};

use super::{Refusal, ask::Caller};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    let volumes = "Volumes are not supported by this server yet; keep files in snapshots, or outside.";
    let secrets = "Secrets of E2B's kind are not supported by this server; credentials are added by the gateway.";
    let network = "The network of a sandbox is chosen when it is created and cannot be changed afterwards.";
    Router::new()
        .route("/volumes", any(move |caller| refuse(caller, volumes)))
        .route("/volumes/{id}", any(move |caller| refuse(caller, volumes)))
        .route("/volumecontent/{*path}", any(move |caller| refuse(caller, volumes)))
        .route("/secrets", any(move |caller| refuse(caller, secrets)))
        .route("/secrets/{id}", any(move |caller| refuse(caller, secrets)))
        .route("/sandboxes/{id}/network", any(move |caller| refuse(caller, network)))
}

async fn refuse(_: Caller, why: &'static str) -> Refusal {
    Refusal::new(501, format!("{why} What differs is listed in docs/guides/e2b.md.")).with_code("not_supported")
}
