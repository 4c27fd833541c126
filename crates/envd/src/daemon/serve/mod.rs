//! The door: one HTTP/1.1 line, and which request goes where.

mod access;
mod rpc;
mod streams;

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;

use super::{
    body::{Answer, Refusal, json, status},
    extension, files,
    guest::Guest,
    lines::{Caller, Stream},
    metrics,
};
use crate::wire;

/// A request, with who asks.
pub(super) struct Asked {
    pub(super) request: Request<Incoming>,
    pub(super) guest: Arc<Guest>,
    pub(super) caller: Caller,
}

/// Serves one line until it ends.
pub(super) async fn line(line: Box<dyn Stream>, guest: Arc<Guest>, caller: Caller) {
    let service = service_fn(move |request| {
        let asked = Asked { request, guest: guest.clone(), caller: caller.clone() };
        async move { Ok::<_, Infallible>(answer(asked).await) }
    });
    let connection = http1::Builder::new().half_close(false).serve_connection(TokioIo::new(line), service);
    // A line that breaks is its caller's business.
    let _ = connection.with_upgrades().await;
}

async fn answer(asked: Asked) -> Answer {
    if asked.request.method() == Method::OPTIONS {
        return open_to_all(status(StatusCode::NO_CONTENT));
    }
    open_to_all(match access::check(&asked) {
        Ok(()) => route(asked).await,
        Err(refusal) => refusal.answer(),
    })
}

async fn route(asked: Asked) -> Answer {
    let method = asked.request.method().clone();
    let path = asked.request.uri().path().to_owned();
    // Left out, a path that cannot be read would be another one.
    if !asked.request.uri().query().is_none_or(wire::is_readable_query) {
        let why = "the parameters after the question mark are not encoded UTF-8";
        return Refusal::new(StatusCode::BAD_REQUEST, why).answer();
    }
    let answer = match (method.as_str(), path.as_str()) {
        ("GET", "/health") => Ok(status(StatusCode::NO_CONTENT)),
        ("GET", "/files") | ("HEAD", "/files") => files::download(asked).await,
        ("POST", "/files") => files::upload(asked).await,
        ("POST", "/files/compose") => files::compose(asked).await,
        ("GET", "/metrics") => Ok(json(StatusCode::OK, &metrics::measure(&asked.guest))),
        ("GET", "/envs") => Ok(json(StatusCode::OK, &asked.guest.settings().env)),
        ("POST", "/init") => extension::init(asked).await,
        ("POST", "/hibernate") => extension::hibernate(asked).await,
        ("GET", "/tar") => extension::pack(asked).await,
        ("PUT", "/tar") => extension::unpack(asked).await,
        ("POST", "/port") => extension::port(asked).await,
        ("POST", path) if rpc::is_method(path) => return rpc::answer(asked).await,
        (
            _,
            "/health" | "/files" | "/files/compose" | "/metrics" | "/envs" | "/init" | "/hibernate" | "/tar" | "/port",
        ) => Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not understood at {path}"))),
        _ => Err(Refusal::new(StatusCode::NOT_FOUND, format!("there is nothing at {path}"))),
    };
    answer.unwrap_or_else(|refusal| refusal.answer())
}

fn open_to_all(mut answer: Answer) -> Answer {
    const HEADERS: [(&str, &str); 5] = [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
        ("access-control-allow-headers", "*, authorization"),
        ("access-control-expose-headers", "*"),
        (wire::OURS, wire::VERSION),
    ];
    for (name, value) in HEADERS {
        answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

impl Asked {
    /// A header as text.
    pub(super) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.request.headers().get(name)?.to_str().ok()
    }

    /// A parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.request.uri().query()?;
        wire::query_pairs(query).find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The user of the plain HTTP plane.
    pub(super) fn named_user(&self) -> Result<super::users::User, Refusal> {
        let name = self.parameter("username").filter(|name| !name.is_empty()).or_else(|| self.basic_user());
        Ok(self.guest.user(name.as_deref())?)
    }

    /// The user of the Basic authorization, which names one and proves nothing.
    pub(super) fn basic_user(&self) -> Option<String> {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let basic = self.header(header::AUTHORIZATION)?.strip_prefix("Basic ")?;
        let pair = String::from_utf8(STANDARD.decode(basic.trim()).ok()?).ok()?;
        let user = pair.split_once(':').map_or(pair.as_str(), |(user, _)| user);
        Some(user.to_owned()).filter(|user| !user.is_empty())
    }

    /// The number in a header.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.header(name)?.trim().parse().ok()
    }

    /// How long the caller gives it.
    pub(super) fn time_limit(&self) -> Option<Duration> {
        self.number("connect-timeout-ms").filter(|limit| *limit > 0).map(Duration::from_millis)
    }
}
