//! The sandbox plane: requests that are for something inside a sandbox, and how it is found.
//!
//! ```text
//! Host: {port}-{id}.…                     the name says it all
//! E2b-Sandbox-Id, E2b-Sandbox-Port        one address for all sandboxes
//! X-Access-Token, ?signature=             the oldest clients: whose token fits
//! ```
//!
//! envd asks for its own token; what it keeps for the host alone is not reachable from here.

use std::pin::pin;

use axum::{
    body::Body,
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, Method, Uri, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use carrel_control::{Codec, Destination, PortVisit, TurnedAway};
use carrel_model::{Grant, SandboxId};
use tower_http::timeout::TimeoutBody;

use super::{
    Refusal,
    ask::sandbox_id,
    asleep::UntilAsleep,
    nobody::{self, Nobody, turned_away},
    rest::ReadToTheEnd,
};
use crate::{
    door::{Asker, Origin, Passage, is_our_key, pass_on},
    fellows,
    house::{BODY_RESTS, Doors},
    passes::{self, Shown},
};

/// Where envd answers.
const ENVD: u16 = 49_983;
/// What envd does for its host alone.
const FOR_THE_HOST: [&str; 4] = ["/init", "/hibernate", "/port", "/tar"];

/// Larger questions are not asked.
const LARGEST_QUESTION: usize = 16 << 20;

/// A sandbox and one of its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: SandboxId,
    pub(super) port: u16,
}

/// What a request says where a place should be named.
#[derive(Debug, PartialEq, Eq)]
enum Odd {
    /// No sandbox ever had this id.
    Sandbox(String),
    /// This is no port.
    Port(String),
}

impl Odd {
    fn sandbox(text: &str) -> Odd {
        Odd::Sandbox(text.chars().take(64).collect())
    }

    fn port(text: &str) -> Odd {
        Odd::Port(text.chars().take(64).collect())
    }

    fn told(&self) -> Response {
        match self {
            Odd::Sandbox(id) => Nobody::known_as(id).into_response(),
            Odd::Port(port) => {
                let message = format!("`{port}` is no port of a sandbox: expected a whole number from 1 to 65535");
                Refusal::malformed(message).into_response()
            }
        }
    }
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
    let wants_page = nobody::wants_page(&parts.headers);
    let place = match named(&parts.headers, &parts.uri, doors.options.public_authority.as_deref()) {
        Some(Ok(place)) => Ok(Some(place)),
        Some(Err(odd)) => Err(odd.told()),
        None if asks_envd(&parts) => match by_token(&doors, &parts).await {
            Some(place) => Ok(Some(place)),
            // Whose token it was is not known any more: it has ended.
            None if parts.uri.path() == "/health" => Err(Nobody::known_as("").into_response()),
            None => {
                let message = "unauthorized access: no sandbox is named, and none has this token or signature";
                Err(Refusal::new(401, message).into_response())
            }
        },
        None => Ok(None),
    };
    let request = Request::from_parts(parts, body);
    let answer = match place {
        Ok(Some(place)) => match fellows::pass_on_inside(&doors, &place.id, request).await {
            Ok(passed) => passed,
            Err(request) => visit(&doors, place, request).await.unwrap_or_else(|refused| refused),
        },
        Ok(None) => return next.run(request).await,
        Err(refused) => refused,
    };
    if wants_page { nobody::as_page(answer) } else { answer }
}

/// The place that a request names, when it names one; what it says instead, when that cannot be one. `own` is the name
/// of the house, whatever that looks like.
fn named(headers: &HeaderMap, uri: &Uri, own: Option<&str>) -> Option<Result<Place, Odd>> {
    let shown = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = uri.host().or(shown).unwrap_or_default();
    let is_own = own.is_some_and(|own| Some(own) == shown || own == host);
    if !is_own && let Some(named) = host.split_once('.').and_then(|(label, _)| by_label(label)) {
        return Some(named);
    }
    let id = headers.get("e2b-sandbox-id")?.to_str().unwrap_or_default();
    // Older SDKs name their last sandbox also when they ask the house itself, and show their key there.
    if super::is_theirs(uri.path()) && headers.get("x-api-key").is_some_and(is_our_key) {
        return None;
    }
    let Some(id) = sandbox_id(id) else { return Some(Err(Odd::sandbox(id))) };
    let Some(port) = headers.get("e2b-sandbox-port") else { return Some(Ok(Place { id, port: ENVD })) };
    let text = String::from_utf8_lossy(port.as_bytes());
    let port = port_in(text.trim()).ok_or_else(|| Odd::port(&text));
    Some(port.map(|port| Place { id, port }))
}

/// A label that reads like a sandbox's. Numbers with dashes between them are the names of machines.
fn by_label(label: &str) -> Option<Result<Place, Odd>> {
    let (port, name) = label.split_once('-')?;
    let is_number = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number || !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let Some(port) = port_in(port) else { return Some(Err(Odd::port(port))) };
    // Names of machines are the same in capitals.
    Some(sandbox_id(&name.to_ascii_lowercase()).map(|id| Place { id, port }).ok_or_else(|| Odd::sandbox(name)))
}

fn port_in(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0)
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
    let secure = doors.options.secure;
    if let Some(welcome) = doors.passes.welcome(&parts.method, &parts.uri, &parts.headers, id, *port, secure) {
        return Ok(welcome);
    }
    let mut visited = doors.control.ports().visit(id, visit(None)).await;
    let pass = doors.passes.grant(&parts.method, &parts.headers, id, *port);
    if let (Err(TurnedAway::KeyWanted), Some((grant, _))) = (&visited, &pass)
        && doors.control.keys().stands(&grant.key).await.unwrap_or(false)
    {
        visited = doors.control.ports().visit(id, visit(Some(grant))).await;
    }
    let page = match &pass {
        Some((_, Shown::Within(page))) if passes::is_for_a_frame(&parts.headers) => Some(page.clone()),
        _ => None,
    };
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
    let mut asleep = line.asleep();
    let passage = Passage { host, prefix: None };
    let mut passing = pin!(pass_on(doors, line, passage, Request::from_parts(parts, body)));
    let passed = loop {
        tokio::select! {
            biased;
            passed = &mut passing => break passed,
            // It asked before the sandbox was put to sleep: that is traffic like any other.
            () = asleep.cancelled() => {
                let woken = doors.control.ports().wake_again(id, origin.as_deref()).await;
                asleep = woken.map_err(|turned| turned_away(&place, turned))?;
            }
        }
    };
    let mut response = passed.map_err(|error| {
        tracing::debug!(?error, sandbox = %id, port, "a visit broke off");
        Nobody::at_port(&place, "The sandbox is running but port is not open: it hung up without an answer")
            .into_response()
    })?;
    if let Some(page) = page {
        passes::let_be_framed(&page, response.headers_mut());
    }
    if to == Destination::Envd {
        // A signed address may stand at our own origin, and a file is whatever somebody wrote: a browser must not run it there.
        response.headers_mut().append(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    }
    if to.is_told() {
        response = response.map(|body| Body::new(UntilAsleep::new(body, asleep)));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &str)]) -> Option<Result<Place, Odd>> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        named(&headers, &Uri::from_static("/"), Some("3000-house.example.org"))
    }

    #[test]
    fn a_host_or_two_headers_name_a_place() {
        let id: SandboxId = "i1234567890123456789".parse().unwrap();
        let place = |port| Some(Ok(Place { id: id.clone(), port }));
        assert_eq!(asked(&[("host", "3000-i1234567890123456789.localhost:7070")]), place(3000));
        assert_eq!(asked(&[("host", "3000-i1234567890123456789-abc.x.org")]), place(3000));
        // Names of machines are the same in capitals.
        assert_eq!(asked(&[("host", "3000-I1234567890123456789.LocalHost:7070")]), place(3000));
        assert_eq!(asked(&[("host", "localhost"), ("e2b-sandbox-id", id.as_str())]), place(49_983));
        let both = [("host", "localhost"), ("e2b-sandbox-id", id.as_str()), ("e2b-sandbox-port", "8080")];
        assert_eq!(asked(&both), place(8080));
        assert_eq!(asked(&[("host", "localhost"), ("e2b-sandbox-id", "../x")]), Some(Err(Odd::sandbox("../x"))));
        assert_eq!(asked(&[("host", "api.example.org")]), None);
        let mut headers = HeaderMap::new();
        headers.insert("e2b-sandbox-id", id.as_str().parse().unwrap());
        headers.insert("x-api-key", format!("e2b_{}", "0".repeat(40)).parse().unwrap());
        assert_eq!(named(&headers, &Uri::from_static("/sandboxes/x/connect"), None), None, "asked of the house");
        assert!(named(&headers, &Uri::from_static("/files"), None).is_some());
    }

    #[test]
    fn what_reads_like_a_place_and_is_none_is_not_taken_for_the_house() {
        let nobody = |name: &str| Some(Err(Odd::sandbox(name)));
        let no_port = |text: &str| Some(Err(Odd::port(text)));
        assert_eq!(asked(&[("host", "3000-nosuch.localhost:7070")]), nobody("nosuch"));
        assert_eq!(asked(&[("host", "3000-i123_4.sandboxes.example.org")]), nobody("i123_4"));
        assert_eq!(asked(&[("host", "0-i1234567890123456789.localhost")]), no_port("0"));
        assert_eq!(asked(&[("host", "70000-i1234567890123456789.localhost")]), no_port("70000"));
        for port in ["0", "", "x", "-1", "+80", "65536", "80 81"] {
            let both = [("e2b-sandbox-id", "i1234567890123456789"), ("e2b-sandbox-port", port)];
            assert_eq!(asked(&both), no_port(port), "{port}");
        }
        // The names of machines, and of a house that has such a name.
        for host in
            ["10-0-0-5.example.org", "127.0.0.1:7070", "localhost", "2024.example.org", "3000-house.example.org"]
        {
            assert_eq!(asked(&[("host", host)]), None, "{host}");
        }
    }
}
