//! The sandbox plane: requests that are for something inside a sandbox, and how it is found.
//!
//! ```text
//! Host: {port}-{id}.…                     the name says it all
//! E2b-Sandbox-Id, E2b-Sandbox-Port        one address for all sandboxes
//! X-Access-Token, ?signature=             the oldest clients: whose token fits
//! ```
//!
//! envd asks for its own token; what it keeps for the host alone is not reachable from here.

use axum::{
    body::Body,
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, Method, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use carrel_control::{Codec, Destination, PortVisit, TurnedAway};
use carrel_model::{Grant, SandboxId, public::SandboxView};
use serde_json::json;
use tower_http::timeout::TimeoutBody;

use super::{Refusal, ask::sandbox_id, refusal::tombstone, rest::ReadToTheEnd};
use crate::{
    door::{Asker, Origin, Passage, is_our_key, pass_on},
    house::{BODY_RESTS, Doors},
    passes,
};

/// Where envd answers.
const ENVD: u16 = 49_983;
/// What envd does for its host alone.
const FOR_THE_HOST: [&str; 4] = ["/init", "/hibernate", "/port", "/tar"];

/// Larger questions are not asked.
const LARGEST_QUESTION: usize = 16 << 20;

/// A sandbox and one of its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    id: SandboxId,
    port: u16,
}

/// Passes on what is for a sandbox, before anything else is looked at.
pub(crate) async fn by_name(State(doors): State<Doors>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    // HTTP/2 has no such header, and everybody behind us looks for it.
    if !parts.headers.contains_key(header::HOST)
        && let Some(host) = parts.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok())
    {
        parts.headers.insert(header::HOST, host);
    }
    let place = match named(&parts.headers, &parts.uri) {
        Some(Ok(place)) => Some(place),
        Some(Err(shown)) => return unknown(&shown),
        None if asks_envd(&parts) => match by_token(&doors, &parts).await {
            Some(place) => Some(place),
            // Whose token it was is not known any more: it has ended.
            None if parts.uri.path() == "/health" => return unknown(""),
            None => {
                let message = "unauthorized access: no sandbox is named, and none has this token or signature";
                return Refusal::new(401, message).into_response();
            }
        },
        None => None,
    };
    let request = Request::from_parts(parts, body);
    match place {
        Some(place) => visit(&doors, place, request).await.unwrap_or_else(|refused| refused),
        None => next.run(request).await,
    }
}

/// The place that a request names, when it names one; what it says instead, when that cannot be one.
fn named(headers: &HeaderMap, uri: &Uri) -> Option<Result<Place, String>> {
    let host = uri.host().or_else(|| headers.get(header::HOST)?.to_str().ok()).unwrap_or_default();
    if let Some(place) = host.split_once('.').and_then(|(label, _)| by_label(label)) {
        return Some(Ok(place));
    }
    let id = headers.get("e2b-sandbox-id")?.to_str().unwrap_or_default();
    // Older SDKs name their last sandbox also when they ask the house itself, and show their key there.
    if super::is_theirs(uri.path()) && headers.get("x-api-key").is_some_and(is_our_key) {
        return None;
    }
    let port = match headers.get("e2b-sandbox-port") {
        Some(port) => port.to_str().ok().and_then(|port| port.trim().parse().ok()).filter(|port| *port > 0),
        None => Some(ENVD),
    };
    Some(match (sandbox_id(id), port) {
        (Some(id), Some(port)) => Ok(Place { id, port }),
        _ => Err(id.chars().take(64).collect()),
    })
}

fn by_label(label: &str) -> Option<Place> {
    let (port, id) = label.split_once('-')?;
    let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
    Some(Place { id: sandbox_id(id)?, port })
}

/// Paths that only envd answers. The others that it has in common with us are asked of it by name.
fn is_envds(path: &str) -> bool {
    path == "/files" || path.starts_with("/process.Process/") || path.starts_with("/filesystem.Filesystem/")
}

/// Whether a request is for an envd that it does not name. Paths that we have too are meant so when a token is shown.
fn asks_envd(parts: &Parts) -> bool {
    let path = parts.uri.path();
    is_envds(path) || (parts.headers.contains_key("x-access-token") && matches!(path, "/health" | "/metrics" | "/envs"))
}

/// Clients that name no sandbox show its token, or a signature made with it.
async fn by_token(doors: &Doors, parts: &Parts) -> Option<Place> {
    let shown = parts.headers.get("x-access-token").and_then(|token| token.to_str().ok());
    let path = parts.uri.path();
    let id = match shown {
        Some(shown) => doors.control.ports().whose_token(shown).await.ok()??,
        None if path == "/files" => {
            let signed = Signed::of(parts)?;
            doors
                .control
                .ports()
                .whose_signature(&signed.path, signed.operation, &signed.user, signed.until, &signed.signature)
                .await
                .ok()??
        }
        None => return None,
    };
    Some(Place { id, port: ENVD })
}

struct Signed {
    path: String,
    operation: carrel_control::Operation,
    user: String,
    until: Option<i64>,
    signature: String,
}

impl Signed {
    fn of(parts: &Parts) -> Option<Signed> {
        let pairs: Vec<_> = form_urlencoded::parse(parts.uri.query()?.as_bytes()).into_owned().collect();
        let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let operation = match parts.method {
            Method::GET | Method::HEAD => carrel_control::Operation::Read,
            Method::POST => carrel_control::Operation::Write,
            _ => return None,
        };
        Some(Signed {
            path: value("path").unwrap_or_default(),
            operation,
            user: value("username").unwrap_or_default(),
            until: value("signature_expiration").and_then(|until| until.parse().ok()),
            signature: value("signature")?,
        })
    }
}

async fn visit(doors: &Doors, place: Place, request: Request) -> Result<Response, Response> {
    let Place { id, port } = &place;
    let (mut parts, body) = request.into_parts();
    let to = if *port == ENVD { Destination::Envd } else { Destination::Port(*port) };
    if to == Destination::Envd && FOR_THE_HOST.contains(&parts.uri.path()) {
        return Err(Refusal::new(404, format!("there is nothing at {}", parts.uri.path())).into_response());
    }
    let origin = Origin::from_request_parts(&mut parts, doors).await.ok().and_then(|origin| origin.text());
    let token = parts.headers.get("e2b-traffic-access-token").and_then(|token| token.to_str().ok()).map(str::to_owned);
    let visit = |grant| PortVisit { to, grant, token: token.as_deref(), origin: origin.as_deref() };
    let mut visited = doors.control.ports().visit(id, visit(None)).await;
    if let Err(TurnedAway::KeyWanted) = visited
        && let Some((code, rest)) = passes::code_in(&parts.uri)
        && let Some(pass) = doors.passes.redeem(&code, id, *port)
    {
        let cookie = passes::set_cookie(&pass, doors.options.secure);
        let about =
            [(header::LOCATION, rest), (header::SET_COOKIE, cookie), (header::CACHE_CONTROL, "no-store".into())];
        return Ok((axum::http::StatusCode::SEE_OTHER, about).into_response());
    }
    let passed = match visited {
        Err(TurnedAway::KeyWanted) => doors.passes.grant(&parts.headers, id, *port),
        _ => None,
    };
    if let Some(grant) = &passed
        && doors.control.keys().stands(&grant.key).await.unwrap_or(false)
    {
        visited = doors.control.ports().visit(id, visit(Some(grant))).await;
    }
    passes::keep_to_ourselves(&mut parts.headers);
    if let Err(TurnedAway::KeyWanted) = visited {
        let Asker(grant): Asker =
            Asker::from_request_parts(&mut parts, doors).await.map_err(IntoResponse::into_response)?;
        let grant: &Grant = &grant;
        visited = doors.control.ports().visit(id, visit(Some(grant))).await;
    }
    let line = visited.map_err(|turned| turned_away(&place, turned))?;
    let body = match to {
        Destination::Envd => for_envd(doors, id, &mut parts, body).await?,
        Destination::Port(_) => body,
    };
    let host = match to {
        Destination::Envd => format!("localhost:{port}"),
        Destination::Port(port) => line.host(port),
    };
    let passage = Passage { host, prefix: None };
    let passed = pass_on(doors, line, passage, Request::from_parts(parts, body)).await;
    let mut response = passed.map_err(|error| {
        tracing::debug!(?error, sandbox = %id, port, "a visit broke off");
        answer(502, &place, "The sandbox is running but port is not open: it hung up without an answer", true)
    })?;
    if to == Destination::Envd {
        // A signed address may stand at our own origin, and a file is whatever somebody wrote: a browser must not run it there.
        response.headers_mut().append(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    }
    Ok(response)
}

/// The body of a request to envd.
///
/// A question that is over once it is asked is taken whole first: envd may answer and hang up before the last piece of it
/// has gone its way, and then the answer would be lost. A file that comes no further is given up. What people type into a
/// command is passed on as it comes, and may rest for hours.
async fn for_envd(doors: &Doors, id: &SandboxId, parts: &mut Parts, body: Body) -> Result<Body, Response> {
    let path = parts.uri.path();
    let is_upload = path == "/files";
    let is_question = is_envds(path) && !is_upload && path != "/process.Process/StreamInput";
    if !is_upload && !is_question {
        return Ok(body);
    }
    let body = Body::new(ReadToTheEnd::new(Body::new(TimeoutBody::new(BODY_RESTS, body))));
    if is_upload {
        return Ok(body);
    }
    match axum::body::to_bytes(body, LARGEST_QUESTION).await {
        Ok(whole) => {
            if parts.uri.path() == "/process.Process/Start" {
                let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                let codec = match kind.map(|kind| kind.split(';').next().unwrap_or(kind).trim()) {
                    Some("application/connect+json") => Some(Codec::Json),
                    Some("application/connect+proto") => Some(Codec::Proto),
                    _ => None,
                };
                let permitted = doors.control.ports().permit_start(id, codec, &whole).await;
                permitted.map_err(|error| Refusal::of_sandbox(id, error).into_response())?;
            }
            parts.headers.remove(header::TRANSFER_ENCODING);
            parts.headers.insert(header::CONTENT_LENGTH, whole.len().into());
            Ok(Body::from(whole))
        }
        Err(_) => Err(Refusal::new(413, "the request broke off, or is larger than 16 MiB").into_response()),
    }
}

/// How E2B's proxy says that there is nobody.
fn turned_away(place: &Place, turned: TurnedAway) -> Response {
    let gone = |view: &SandboxView| format!("The sandbox was not found: {}", tombstone(view));
    match turned {
        TurnedAway::Unknown => unknown(place.id.as_str()),
        TurnedAway::Ended(view) => answer(502, place, &gone(&view), false),
        TurnedAway::Asleep(_) => {
            answer(502, place, "The sandbox was not found: it is paused; connect to it to wake it", false)
        }
        TurnedAway::NotReady(_) => answer(409, place, "The sandbox is not ready yet", false),
        TurnedAway::Closed => answer(502, place, "The sandbox is running but port is not open", true),
        TurnedAway::KeyWanted | TurnedAway::TokenWanted => answer(
            403,
            place,
            "This sandbox's ports are not public: send its traffic access token in `E2B-Traffic-Access-Token`",
            true,
        ),
        TurnedAway::Failed(error) => Refusal::of_sandbox(&place.id, error).into_response(),
    }
}

fn unknown(id: &str) -> Response {
    let body = json!({ "sandboxId": id, "message": "The sandbox was not found", "code": 502 });
    (axum::http::StatusCode::BAD_GATEWAY, axum::Json(body)).into_response()
}

fn answer(status: u16, place: &Place, message: &str, with_port: bool) -> Response {
    let mut body = json!({ "sandboxId": place.id, "message": message, "code": status });
    if with_port {
        body["port"] = place.port.into();
    }
    let status = axum::http::StatusCode::from_u16(status).unwrap_or(axum::http::StatusCode::BAD_GATEWAY);
    (status, axum::Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &str)]) -> Option<Result<Place, String>> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        named(&headers, &Uri::from_static("/"))
    }

    #[test]
    fn a_host_or_two_headers_name_a_place() {
        let id: SandboxId = "i1234567890123456789".parse().unwrap();
        let place = |port| Some(Ok(Place { id: id.clone(), port }));
        assert_eq!(asked(&[("host", "3000-i1234567890123456789.localhost:7070")]), place(3000));
        assert_eq!(asked(&[("host", "3000-i1234567890123456789-abc.x.org")]), place(3000));
        assert_eq!(asked(&[("host", "localhost"), ("e2b-sandbox-id", id.as_str())]), place(49_983));
        let both = [("host", "localhost"), ("e2b-sandbox-id", id.as_str()), ("e2b-sandbox-port", "8080")];
        assert_eq!(asked(&both), place(8080));
        assert_eq!(asked(&[("host", "localhost"), ("e2b-sandbox-id", "../x")]), Some(Err("../x".into())));
        assert_eq!(asked(&[("host", "api.example.org")]), None);
        let mut headers = HeaderMap::new();
        headers.insert("e2b-sandbox-id", id.as_str().parse().unwrap());
        headers.insert("x-api-key", format!("e2b_{}", "0".repeat(40)).parse().unwrap());
        assert_eq!(named(&headers, &Uri::from_static("/sandboxes/x/connect")), None, "asked of the house");
        assert!(named(&headers, &Uri::from_static("/files")).is_some());
        assert_eq!(asked(&[("host", "0-i1234567890123456789.localhost")]), None);
    }
}
