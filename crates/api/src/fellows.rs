//! Any node answers any request: what is for a sandbox on another node is passed on to that node.
//!
//! ```text
//! caller ──► this node ──(a signed pass: whose request, for which node, which door)──► the node that has the sandbox
//! ```
//!
//! Whoever asks is recognised where the request comes in. Their grant travels in the key's place, so that no key leaves the
//! node it was shown to. The pass is signed with the master key that all nodes share, and opens one door of one node for a
//! minute. A request that came by a pass is not passed on again.

use std::{
    net::{IpAddr, SocketAddr},
    sync::OnceLock,
    time::Duration,
};

use axum::{
    body::Body,
    extract::{ConnectInfo, FromRequestParts, OriginalUri, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use carrel_control::Whereabouts;
use carrel_model::{Grant, SandboxId, SessionId, TaskId, node::Node};
use hyper_util::rt::TokioIo;
use reqwest::{Client, redirect::Policy};

use crate::{
    door::{self, Asker, Foreign, Granted, Origin, Problem},
    entrance::Peer,
    house::Doors,
};

/// What a pass travels in.
const PASS: HeaderName = HeaderName::from_static("carrel-node-pass");
/// How long it may take to get through to another node at all.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);

/// The lines to other nodes, opened when they are first needed.
#[derive(Default)]
pub(crate) struct Lines(OnceLock<Client>);

/// Marks a request that another node passed on.
#[derive(Debug, Clone, Copy)]
struct Arrived;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    Sandbox(SandboxId),
    Task(TaskId),
    Session(SessionId),
}

/// Believes what another node says of a request that it passed on.
pub(crate) async fn receive(State(doors): State<Doors>, mut request: Request, next: Next) -> Response {
    let Some(shown) = request.headers_mut().remove(PASS) else { return next.run(request).await };
    let what = what(request.method(), request.uri());
    let pass = shown.to_str().ok().and_then(|shown| doors.control.nodes().read_pass(shown, &what));
    let Some(pass) = pass else {
        let from = request.extensions().get::<ConnectInfo<Peer>>().map(|ConnectInfo(Peer(address))| address.ip());
        if let Err(problem) = doors.limiter.admit_stranger(from) {
            return problem.into_response();
        }
        // Not what was asked for: that is the stranger's own text.
        tracing::warn!(method = %request.method(), from = ?from, "a pass between nodes was not believed");
        let why = "this pass is not from a node of this house, or not for this request";
        return Problem::new(403, "forbidden", "Not allowed", why)
            .with_hint("all nodes have the same master key and a clock that goes right")
            .into_response();
    };
    let origin: Option<IpAddr> = pass.origin.and_then(|origin| origin.parse().ok());
    if let Some(address) = origin {
        request.extensions_mut().insert(ConnectInfo(Peer(SocketAddr::new(address, 0))));
    }
    if let Some(grant) = pass.grant {
        request.extensions_mut().insert(Granted(grant));
    }
    request.extensions_mut().insert(Arrived);
    next.run(request).await
}

/// Passes on what is for something that is on another node.
pub(crate) async fn pass_on(State(doors): State<Doors>, request: Request, next: Next) -> Response {
    if doors.control.nodes().is_alone() || request.extensions().get::<Arrived>().is_some() {
        return next.run(request).await;
    }
    let Some(named) = named(original(&request).path()) else { return next.run(request).await };
    match whereabouts(&doors, named).await {
        Ok(Whereabouts::There(node)) => {
            let (mut parts, body) = request.into_parts();
            let grant = match recognise(&doors, &mut parts).await {
                Ok(grant) => grant,
                Err(problem) => return problem.into_response(),
            };
            // What is only looked at is known here too, should the other be gone in this very moment.
            let is_look = matches!(parts.method, Method::GET | Method::HEAD) && brings_nothing(&parts.headers);
            let spare = is_look.then(|| Request::from_parts(parts.clone(), Body::empty()));
            let body = if is_look { Body::empty() } else { body };
            match (Box::pin(send(&doors, &node, grant, Request::from_parts(parts, body))).await, spare) {
                (Ok(response), _) => response,
                (Err(error), Some(spare)) => {
                    tracing::debug!(node = %node.id, error = &error as &dyn std::error::Error, "answered here in its place");
                    next.run(spare).await
                }
                (Err(error), _) => not_reached(&node, &error),
            }
        }
        // What is on a node that is away is still known here: people see why it does not answer.
        Ok(Whereabouts::Here | Whereabouts::Away(_)) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Passes on what is for something inside a sandbox on another node; gives it back when it is for us. Who asks is found out
/// here, who may go in is decided there.
pub(crate) async fn pass_on_inside(doors: &Doors, id: &SandboxId, request: Request) -> Result<Response, Request> {
    if doors.control.nodes().is_alone() || request.extensions().get::<Arrived>().is_some() {
        return Err(request);
    }
    match doors.control.nodes().of_sandbox(id).await {
        Ok(Whereabouts::There(node)) => {
            let (mut parts, body) = request.into_parts();
            let grant = match recognise_visitor(doors, &mut parts).await {
                Ok(grant) => grant,
                Err(problem) => return Ok(problem.into_response()),
            };
            let sent = Box::pin(send(doors, &node, grant, Request::from_parts(parts, body))).await;
            Ok(sent.unwrap_or_else(|error| not_reached(&node, &error)))
        }
        _ => Err(request),
    }
}

async fn whereabouts(doors: &Doors, named: Named) -> Result<Whereabouts, Problem> {
    let nodes = doors.control.nodes();
    Ok(match named {
        Named::Sandbox(id) => nodes.of_sandbox(&id).await?,
        Named::Task(id) => nodes.of_task(id).await?,
        Named::Session(id) => nodes.of_session(&id).await?,
    })
}

/// What a path of ours or of E2B's names.
fn named(path: &str) -> Option<Named> {
    let mut words = path.split('/').skip(1);
    let mut word = words.next()?;
    if word == "api" {
        words.next().filter(|version| *version == "v1")?;
        word = words.next()?;
        let name = words.next()?;
        return match word {
            "sandboxes" => name.parse().ok().map(Named::Sandbox),
            "tasks" => name.parse::<i64>().ok().and_then(|number| TaskId::try_from(number).ok()).map(Named::Task),
            "sessions" => name.parse().ok().map(Named::Session),
            _ => None,
        };
    }
    if word == "v2" {
        word = words.next()?;
    }
    let name = words.next().filter(|_| word == "sandboxes")?;
    name.split('-').next()?.parse().ok().map(Named::Sandbox)
}

/// The path as it was asked for: a nested router shows only the rest of it.
fn original(request: &Request) -> &Uri {
    request.extensions().get::<OriginalUri>().map_or(request.uri(), |OriginalUri(uri)| uri)
}

fn what(method: &Method, uri: &Uri) -> String {
    format!("{method} {}", uri.path_and_query().map_or("/", |path| path.as_str()))
}

/// Who asks, when they show a key or a cookie of ours.
async fn recognise(doors: &Doors, parts: &mut Parts) -> Result<Option<Grant>, Problem> {
    if parts.extensions.get::<Granted>().is_none() && !door::shows_something(&parts.headers, doors) {
        return Ok(None);
    }
    let Asker(grant) = Asker::from_request_parts(parts, doors).await?;
    Ok(Some(grant))
}

/// Who goes inside, when they show a key or a cookie of ours. What else they show is for what listens there; and whoever is
/// not known goes on as a stranger, for whom a port may be open as well.
async fn recognise_visitor(doors: &Doors, parts: &mut Parts) -> Result<Option<Grant>, Problem> {
    if parts.extensions.get::<Granted>().is_none() && !door::shows_ours(&parts.headers, doors) {
        return Ok(None);
    }
    match Asker::from_request_parts(parts, doors).await {
        Ok(Asker(grant)) => Ok(Some(grant)),
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED.as_u16() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Why a node did not answer.
#[derive(Debug)]
enum Unreached {
    /// The line to it broke, or there was none.
    Broken(reqwest::Error),
    /// It took the request and was not heard of since: it may be frozen, and would be waited for for ever.
    Silent,
}

impl From<reqwest::Error> for Unreached {
    fn from(error: reqwest::Error) -> Self {
        Unreached::Broken(error)
    }
}

impl std::fmt::Display for Unreached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unreached::Broken(_) => "the line to the node broke",
            Unreached::Silent => "the node fell silent",
        })
    }
}

impl std::error::Error for Unreached {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Unreached::Broken(error) => Some(error),
            Unreached::Silent => None,
        }
    }
}

fn not_reached(node: &Node, error: &Unreached) -> Response {
    tracing::warn!(node = %node.id, error = error as &dyn std::error::Error, "a node was not reached");
    let why = format!("the node {} that has this does not answer", node.id);
    Problem::new(503, "unavailable", "Not available", why)
        .with_hint("`carrel node ls` says how the nodes are; try again in a moment")
        .into_response()
}

/// Sends a request to another node, and its answer back.
async fn send(doors: &Doors, node: &Node, grant: Option<Grant>, request: Request) -> Result<Response, Unreached> {
    let uri = original(&request).clone();
    let (mut parts, body) = request.into_parts();
    let origin = Origin::from_request_parts(&mut parts, doors).await.ok().and_then(|origin| origin.text());
    let what = what(&parts.method, &uri);
    let upgrade = door::upgrade_wanted(&parts.headers);
    let client = upgrade.is_some().then(|| parts.extensions.remove::<hyper::upgrade::OnUpgrade>()).flatten();
    door::keep_our_secrets(doors, &mut parts.headers);
    door::drop_hop_by_hop(&mut parts.headers);
    let pass = doors.control.nodes().write_pass(&node.id, what, grant, origin);
    let Ok(pass) = HeaderValue::from_str(&pass) else { return Ok(StatusCode::INTERNAL_SERVER_ERROR.into_response()) };
    parts.headers.insert(PASS, pass);
    if let Some(protocol) = upgrade {
        parts.headers.insert(header::UPGRADE, protocol);
        parts.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let address = format!("{}{path}", node.card.address.trim_end_matches('/'));
    let asked = doors
        .fellows
        .client(doors.options.node_authority.as_deref())?
        .request(parts.method.clone(), address)
        .headers(parts.headers);
    // A body of which nothing is said has none: one that is only said to be there would be waited for.
    let asked = if is_empty(&body) { asked } else { asked.body(reqwest::Body::wrap_stream(body.into_data_stream())) };
    let nodes = doors.control.nodes();
    let response = tokio::select! {
        response = asked.send() => response?,
        () = nodes.until_away(&node.id) => return Err(Unreached::Silent),
    };
    let status = response.status();
    let mut headers = response.headers().clone();
    let kept = (status == StatusCode::SWITCHING_PROTOCOLS).then(|| headers.get(header::UPGRADE).cloned()).flatten();
    door::drop_hop_by_hop(&mut headers);
    let mut answer = match (kept, client) {
        (Some(protocol), Some(client)) => {
            tokio::spawn(async move {
                if let (Ok(client), Ok(mut there)) = tokio::join!(client, response.upgrade()) {
                    let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut there).await;
                }
            });
            headers.insert(header::UPGRADE, protocol);
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            StatusCode::SWITCHING_PROTOCOLS.into_response()
        }
        _ => (status, Body::from_stream(response.bytes_stream())).into_response(),
    };
    *answer.headers_mut() = headers;
    answer.extensions_mut().insert(Foreign);
    Ok(answer)
}

/// Whether a request says nothing of a body. Asked of its headers: who guards a body on its way here knows no end of it
/// before it was read.
fn brings_nothing(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::TRANSFER_ENCODING)
        && headers.get(header::CONTENT_LENGTH).is_none_or(|length| length.as_bytes() == b"0")
}

fn is_empty(body: &Body) -> bool {
    use hyper::body::Body as _;
    body.is_end_stream()
}

impl Lines {
    fn client(&self, authority: Option<&[u8]>) -> Result<&Client, reqwest::Error> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        // A redirect is for whoever asked, and nodes are never behind a proxy.
        let builder = Client::builder().http1_only().connect_timeout(CONNECTS_WITHIN).redirect(Policy::none());
        let builder = match authority {
            Some(pem) => builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(pem)?),
            None => builder,
        };
        let client = builder.no_proxy().build()?;
        Ok(self.0.get_or_init(|| client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_brings_nothing() {
        let said = |name: &str, value: &str| {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            brings_nothing(&HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]))
        };
        assert!(brings_nothing(&HeaderMap::new()) && said("content-length", "0") && said("accept", "*/*"));
        assert!(!said("content-length", "1") && !said("transfer-encoding", "chunked"));
    }

    #[test]
    fn a_path_says_what_it_is_about() {
        let id: SandboxId = "i1234567890123456789".parse().unwrap();
        for path in [
            "/api/v1/sandboxes/i1234567890123456789",
            "/api/v1/sandboxes/i1234567890123456789/files",
            "/sandboxes/i1234567890123456789/connect",
            "/v2/sandboxes/i1234567890123456789-abc/logs",
        ] {
            assert_eq!(named(path), Some(Named::Sandbox(id.clone())), "{path}");
        }
        assert_eq!(named("/api/v1/tasks/7/diff"), Some(Named::Task(TaskId::try_from(7).unwrap())));
        for path in ["/", "/api/v1/sandboxes", "/api/v2/tasks/7", "/sandboxes", "/git/x", "/api/v1/repos/a", "/v2"] {
            assert_eq!(named(path), None, "{path}");
        }
    }
}
