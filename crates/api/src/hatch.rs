//! The doors behind the hatch: what a sandbox asks of the house from inside, by its own gateway.
//!
//! Exactly these doors and no others. Each request carries the grant of the sandbox that asks, and what it may do is
//! decided where it is decided for everybody.

use std::sync::Arc;

use axum::{Router, body::Body, middleware, response::Response};
use carrel_control::{Behind, Control, Passed};
use carrel_model::SandboxId;
use http_body_util::BodyExt;
use hyper::{Request, service::Service};
use hyper_util::service::TowerToHyperService;
use secrecy::SecretString;
use tower_http::{catch_panic::CatchPanicLayer, timeout::RequestBodyTimeoutLayer};

use crate::{
    door::{self, Granted, Problem},
    git,
    house::{BODY_RESTS, Doors, Options, desks},
    llm, mcp,
};

/// What stands behind the hatch of a house.
pub fn hatch(control: Control, options: Options) -> Arc<dyn Behind> {
    let doors = Doors::new(control.clone(), options);
    let router = routes(&doors)
        .fallback(door::unknown_route)
        .method_not_allowed_fallback(door::wrong_method)
        .layer(CatchPanicLayer::custom(Problem::from_panic))
        .layer(RequestBodyTimeoutLayer::new(BODY_RESTS))
        .layer(middleware::from_fn_with_state(doors.clone(), door::around))
        .with_state(doors);
    Arc::new(BackDoors { control, router: TowerToHyperService::new(router) })
}

/// Every door that is open to a sandbox.
fn routes(doors: &Doors) -> Router<Doors> {
    Router::new().merge(git::routes()).merge(llm::routes()).merge(mcp::routes(desks(doors), doors.control.clone()))
}

struct BackDoors {
    control: Control,
    router: TowerToHyperService<Router>,
}

#[async_trait::async_trait]
impl Behind for BackDoors {
    async fn reveal(&self, name: &str) -> Option<SecretString> {
        match self.control.outbound().reveal(name).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!("a secret for a request on its way out cannot be had: {error}");
                None
            }
        }
    }

    async fn turned_back(&self, sandbox: &SandboxId, host: &str, port: Option<u16>, why: &str) {
        if let Err(error) = self.control.outbound().turned_back(sandbox, host, port, why).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "a refusal was not told");
        }
    }

    async fn answer(&self, sandbox: &SandboxId, request: Request<Passed>) -> Response<Passed> {
        let response = match self.control.gateway().grant_of(sandbox).await {
            Ok(Some(grant)) => {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(Granted(grant));
                match self.router.call(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
            Ok(None) => {
                let why = "this sandbox has ended, and what it was granted with it";
                Problem::new(403, "forbidden", "Not allowed", why).spoken()
            }
            Err(error) => Problem::from(error).spoken(),
        };
        response.map(|body| body.map_err(Into::into).boxed_unsync())
    }
}
