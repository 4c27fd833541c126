//! Ports of a sandbox, over HTTP: whatever is asked is passed on to what listens inside, WebSockets too.
//!
//! By path (`/api/v1/sandboxes/{id}/ports/{port}/…`) the answer comes from our own origin, so browsers are told to keep it in
//! a sandbox of their own. By host (`{port}-{id}.…`) it has an origin of its own.

use axum::{
    body::Body,
    extract::{FromRequestParts, OriginalUri, Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, Version, header, uri::PathAndQuery},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::any,
};
use carrel_model::{Grant, SandboxId};
use hyper_util::rt::TokioIo;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    door::{Asker, Foreign, FromOwnPage, Problem, is_our_key},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .route("/sandboxes/{id}/ports/{port}", any(by_path))
        .route("/sandboxes/{id}/ports/{port}/", any(by_path))
        .route("/sandboxes/{id}/ports/{port}/{*path}", any(by_path))
}

/// Where a request is passed on to.
struct Destination {
    id: SandboxId,
    port: u16,
    /// What stands before the path that is passed on; nothing when the host says it all.
    prefix: Option<String>,
}

/// What is between two neighbours on the way, and not for who comes after.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

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
    let prefix = Some(format!("/api/v1/sandboxes/{id}/ports/{port}"));
    forward(&doors, &grant, Destination { id, port, prefix }, request).await
}

/// Passes on what is asked of a host `{port}-{id}.…`, before anything else is looked at.
pub(crate) async fn by_host(State(doors): State<Doors>, request: Request, next: Next) -> Response {
    let Some(destination) = destination(request.headers(), request.uri()) else { return next.run(request).await };
    let (mut parts, body) = request.into_parts();
    let asked = Asker::from_request_parts(&mut parts, &doors).await;
    let answer = match asked {
        Ok(Asker(grant)) => forward(&doors, &grant, destination, Request::from_parts(parts, body)).await,
        Err(problem) => Err(problem),
    };
    answer.unwrap_or_else(IntoResponse::into_response)
}

fn destination(headers: &HeaderMap, uri: &Uri) -> Option<Destination> {
    let host = uri.host().or_else(|| headers.get(header::HOST)?.to_str().ok())?;
    let (label, _) = host.split_once('.')?;
    let (port, id) = label.split_once('-')?;
    let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
    Some(Destination { id: id.parse().ok()?, port, prefix: None })
}

async fn forward(doors: &Doors, grant: &Grant, to: Destination, mut request: Request) -> Result<Response, Problem> {
    let line = doors.control.ports().open(grant, &to.id, to.port).await?;
    let silent = |_| {
        let why = format!("port {} of sandbox {} hung up without an answer", to.port, to.id);
        Problem::new(502, "inside", "Nobody answers inside", why)
    };
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(line)).await.map_err(silent)?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a line to a port broke");
        }
    });
    let upgrade = upgrade_wanted(request.headers());
    let client = upgrade.as_ref().map(|_| hyper::upgrade::on(&mut request));
    rewrite(doors, &to, &mut request, upgrade.clone());
    let mut response = sender.send_request(request).await.map_err(silent)?;
    let upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if let Some(client) = client.filter(|_| upgraded) {
        let inside = hyper::upgrade::on(&mut response);
        tokio::spawn(async move {
            if let (Ok(client), Ok(inside)) = tokio::join!(client, inside) {
                let (mut client, mut inside) = (TokioIo::new(client), TokioIo::new(inside));
                let _ = tokio::io::copy_bidirectional(&mut client, &mut inside).await;
            }
        });
    }
    let mut response = response.map(Body::new);
    let kept = upgraded.then(|| response.headers().get(header::UPGRADE).cloned()).flatten();
    drop_hop_by_hop(response.headers_mut());
    if let Some(protocol) = kept {
        response.headers_mut().insert(header::UPGRADE, protocol);
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    if let Some(prefix) = &to.prefix {
        keep_apart(doors, prefix, response.headers_mut());
    }
    response.extensions_mut().insert(Foreign);
    Ok(response)
}

fn upgrade_wanted(headers: &HeaderMap) -> Option<HeaderValue> {
    let connection = headers.get(header::CONNECTION)?.to_str().ok()?;
    let asked = connection.split(',').any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| asked).cloned()
}

/// Makes a request to us a request to what listens inside. Our own secrets stay here.
fn rewrite(doors: &Doors, to: &Destination, request: &mut Request, upgrade: Option<HeaderValue>) {
    // A nested router shows its handlers only the rest of the path.
    let uri = request.extensions().get::<OriginalUri>().map_or(request.uri(), |OriginalUri(uri)| uri);
    let asked = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let path = to.prefix.as_deref().and_then(|prefix| asked.strip_prefix(prefix)).unwrap_or(asked);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    *request.uri_mut() = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    drop_hop_by_hop(headers);
    for name in [header::AUTHORIZATION, HeaderName::from_static("x-api-key")] {
        if headers.get(&name).is_some_and(is_our_key) {
            headers.remove(name);
        }
    }
    let cookies: Vec<_> = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).collect();
    let is_ours = |cookie: &str| cookie.split('=').next().unwrap_or_default().trim() == doors.options.cookie;
    let rest: Vec<_> =
        cookies.iter().flat_map(|line| line.split(';')).map(str::trim).filter(|one| !is_ours(one)).collect();
    let rest = HeaderValue::from_str(&rest.join("; ")).ok().filter(|value| !value.is_empty());
    headers.remove(header::COOKIE);
    if let Some(rest) = rest {
        headers.insert(header::COOKIE, rest);
    }
    if let Some(host) = headers.get(header::HOST).cloned() {
        headers.insert(HeaderName::from_static("x-forwarded-host"), host);
    }
    if let Some(prefix) = to.prefix.as_deref().and_then(|prefix| HeaderValue::from_str(prefix).ok()) {
        headers.insert(HeaderName::from_static("x-forwarded-prefix"), prefix);
    }
    // What is started by hand often answers to this name alone.
    if let Ok(host) = HeaderValue::from_str(&format!("localhost:{}", to.port)) {
        headers.insert(header::HOST, host);
    }
    if let Some(protocol) = upgrade {
        headers.insert(header::UPGRADE, protocol);
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// What comes by path comes from our origin. It must not act as one of our pages, nor touch what belongs to them.
fn keep_apart(doors: &Doors, prefix: &str, headers: &mut HeaderMap) {
    let alone = HeaderValue::from_static("sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads");
    headers.append(header::CONTENT_SECURITY_POLICY, alone);
    headers.remove("clear-site-data");
    headers.remove("service-worker-allowed");
    let ours = format!("{}=", doors.options.cookie);
    let is_ours = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.trim_start().starts_with(&ours));
    let theirs: Vec<_> = headers.get_all(header::SET_COOKIE).iter().filter(|value| !is_ours(value)).cloned().collect();
    headers.remove(header::SET_COOKIE);
    for cookie in theirs {
        headers.append(header::SET_COOKIE, cookie);
    }
    let place = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let place = place.filter(|place| place.starts_with('/') && !place.starts_with("//"));
    if let Some(place) = place.and_then(|place| HeaderValue::from_str(&format!("{prefix}{place}")).ok()) {
        headers.insert(header::LOCATION, place);
    }
}
