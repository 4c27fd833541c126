//! All doors together: routes, limits, and what surrounds every request.

use std::{
    num::NonZeroU32,
    sync::{Arc, atomic::AtomicU32},
};

use axum::{Router, extract::DefaultBodyLimit, http::HeaderValue, middleware, response::Redirect, routing::get};
use carrel_control::Control;
use metrics_exporter_prometheus::PrometheusHandle;
use tower_http::{
    catch_panic::CatchPanicLayer, compression::CompressionLayer, set_header::SetResponseHeaderLayer,
    timeout::RequestBodyTimeoutLayer,
};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_swagger_ui::SwaggerUi;

use crate::{
    board,
    door::{self, Limiter, Problem},
    e2b, fellows, git, health, hooks, llm, mcp, v1,
};

/// How the doors behave.
#[derive(Clone)]
pub struct Options {
    /// Requests that one key may make in a second; no limit when absent.
    pub requests_per_second: Option<NonZeroU32>,
    /// Requests that one key may make at once, before the rate counts.
    pub burst: NonZeroU32,
    /// The name of the cookie of a signed-in browser. Cookies know no ports: two houses on one host need two names.
    pub cookie: String,
    /// Whether browsers come by https, so that the cookie may insist on it.
    pub secure: bool,
    /// The host and port that browsers see, when a proxy shows another to us.
    pub public_authority: Option<String>,
    /// The domain below which sandboxes have names, when it is not the name that clients call us by.
    pub sandbox_domain: Option<String>,
    /// What the template of the code interpreter is made of, where there is one.
    pub interpreter: Option<e2b::interpreter::Interpreter>,
    /// Who vouches for the certificates of other nodes (PEM), beside those whom everybody knows.
    pub node_authority: Option<Vec<u8>>,
    /// Shows the numbers, when they are recorded.
    pub metrics: Option<PrometheusHandle>,
}

/// What every handler can reach.
#[derive(Clone)]
pub(crate) struct Doors {
    pub(crate) control: Control,
    pub(crate) options: Arc<Options>,
    pub(crate) limiter: Arc<Limiter>,
    /// What the E2B door remembers.
    pub(crate) e2b: Arc<e2b::Memory>,
    /// How many follow the events.
    pub(crate) readers: Arc<AtomicU32>,
    /// The lines to providers of models.
    pub(crate) models: Arc<llm::Lines>,
    /// The browsers that may come to ports.
    pub(crate) passes: Arc<crate::passes::Passes>,
    /// The lines to other nodes.
    pub(crate) fellows: Arc<fellows::Lines>,
}

impl Doors {
    pub(crate) fn new(control: Control, options: Options) -> Doors {
        let limiter = Arc::new(Limiter::new(&options));
        let (e2b, readers, models, passes) = (Arc::default(), Arc::default(), Arc::default(), Arc::default());
        let fellows = Arc::default();
        Doors { control, options: Arc::new(options), limiter, e2b, readers, models, passes, fellows }
    }
}

/// A body that comes no further for so long is given up.
pub(crate) const BODY_RESTS: std::time::Duration = std::time::Duration::from_secs(30);
/// Bodies larger than this are refused.
pub(crate) const LARGEST_BODY: usize = 1024 * 1024;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Carrel",
        description = "A private desk for every coding agent. Errors are `application/problem+json`; lists are `{items, next}`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&Keys),
    security(("key" = []))
)]
struct Spec;

struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let scheme =
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A key: `crl_` and 40 digits."));
        components.add_security_scheme("key", SecurityScheme::Http(scheme.build()));
    }
}

fn described() -> OpenApiRouter<Doors> {
    OpenApiRouter::with_openapi(Spec::openapi()).nest("/api/v1", v1::routes()).merge(health::routes())
}

/// Our own doors by themselves, for what asks them from inside this process.
pub(crate) fn desks(doors: &Doors) -> Router {
    let passing = middleware::from_fn_with_state(doors.clone(), fellows::pass_on);
    described().split_for_parts().0.layer(passing).with_state(doors.clone())
}

/// The description of the API.
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
}

/// What our own pages may load, and from where.
pub(crate) const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; \
    connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// All routes, ready to be served.
pub fn router(control: Control, options: Options) -> Router {
    // Whoever came by https once does not come by anything less.
    let by_https_alone = options.secure.then(|| {
        SetResponseHeaderLayer::if_not_present(
            axum::http::header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000"),
        )
    });
    let doors = Doors::new(control, options);
    let passing = || middleware::from_fn_with_state(doors.clone(), fellows::pass_on);
    let (api, openapi) = described().split_for_parts();
    let pages = Router::new()
        .merge(SwaggerUi::new("/docs").url("/api/v1/openapi.json", openapi))
        .merge(board::routes())
        .layer(CompressionLayer::new().gzip(true));
    let router = Router::new()
        .route("/", get(|| async { Redirect::temporary("/app/") }))
        // What was true of a card a moment ago is kept by nobody on the way.
        .merge(api.layer(passing()).layer(SetResponseHeaderLayer::if_not_present(
            axum::http::header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        )))
        .merge(e2b::routes().layer(passing()))
        .merge(git::routes())
        .merge(llm::routes())
        .merge(mcp::routes(desks(&doors), doors.control.clone()))
        .merge(hooks::routes())
        .merge(pages)
        .fallback(door::unknown_route)
        .method_not_allowed_fallback(door::wrong_method)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(CatchPanicLayer::custom(Problem::from_panic))
        .layer(SetResponseHeaderLayer::if_not_present(
            axum::http::header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static(POLICY),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            axum::http::header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            axum::http::header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ))
        .layer(RequestBodyTimeoutLayer::new(BODY_RESTS))
        .layer(middleware::from_fn_with_state(doors.clone(), e2b::in_their_words))
        // Outside of our own headers and limits: they are for our own pages.
        .layer(middleware::from_fn_with_state(doors.clone(), e2b::plane::by_name))
        .layer(middleware::from_fn_with_state(doors.clone(), fellows::receive))
        .layer(middleware::from_fn_with_state(doors.clone(), door::around))
        .layer(middleware::map_request(door::hear_out))
        .with_state(doors);
    match by_https_alone {
        Some(layer) => router.layer(layer),
        None => router,
    }
}
