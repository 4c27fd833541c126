//! The manners of talking to a forge over HTTPS, which GitHub's and Gitea's interfaces share.
//!
//! One `Rest` stands for one server and one credential, and so for one budget. It asks conditionally (`shelf`), holds
//! back while the forge wants patience (`pacing`), writes one thing at a time, and turns refusals into `ForgeError`.
//! It never repeats a request: whoever asked decides.

mod pacing;
mod pages;
mod refusal;
mod shelf;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, Semaphore};

use crate::ForgeError;

pub(crate) use pages::next_page;

/// The largest answer that is read.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// Questions that are under way at the same moment, so that a forge does not see an attack in a busy house.
const AT_ONCE: usize = 16;

/// One server, met with one credential.
pub(crate) struct Rest {
    http: reqwest::Client,
    base: Url,
    /// The host, as metrics call it.
    host: String,
    pacing: pacing::Pacing,
    shelf: shelf::Shelf,
    room: Semaphore,
    writing: Mutex<()>,
}

/// A question.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: Method,
    url: Url,
    body: Option<serde_json::Value>,
    accept: &'static str,
    /// Which budget it is taken from.
    resource: &'static str,
}

/// A question that was not answered, and the status when there was one.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) status: Option<StatusCode>,
    pub(crate) error: ForgeError,
}

impl From<ForgeError> for Unanswered {
    fn from(error: ForgeError) -> Unanswered {
        Unanswered { status: None, error }
    }
}

/// An answer that is not a refusal.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// An item of a list that we may not understand. One odd item does not hide the others.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum Sane<T> {
    Item(T),
    Odd(serde::de::IgnoredAny),
}

impl<T> Sane<T> {
    /// The item, if it was understood.
    pub(crate) fn found(self) -> Option<T> {
        match self {
            Sane::Item(item) => Some(item),
            Sane::Odd(_) => None,
        }
    }
}

impl Rest {
    /// `base` is the root of the interface, such as `https://api.github.com`.
    pub(crate) fn new(base: Url, patience: Duration) -> Result<Rest, ForgeError> {
        let secure = base.scheme() == "https" || base.host_str().is_some_and(is_loopback);
        if !secure || base.cannot_be_a_base() {
            return Err(ForgeError::invalid(format!("a forge is met by https, not by {}:", base.scheme())));
        }
        // A credential given in the address would end up in logs.
        if !base.username().is_empty() || base.password().is_some() {
            return Err(ForgeError::invalid("a forge's address carries no credentials"));
        }
        let host = base.host_str().unwrap_or_default().to_owned();
        let stays = reqwest::redirect::Policy::custom(|attempt| {
            let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
            if same && attempt.previous().len() <= 5 { attempt.follow() } else { attempt.stop() }
        });
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("carrel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .timeout(patience)
            .redirect(stays);
        if is_loopback(&host) {
            http = http.no_proxy();
        }
        let http = http
            .build()
            .map_err(|error| ForgeError::unavailable(format!("no client for {host} can be made: {error}")))?;
        Ok(Rest {
            http,
            base,
            pacing: pacing::Pacing::new(&host),
            host,
            shelf: shelf::Shelf::default(),
            room: Semaphore::new(AT_ONCE),
            writing: Mutex::new(()),
        })
    }

    /// A question about the resource of this path. Each segment is quoted.
    pub(crate) fn ask<'s>(&self, method: Method, path: impl IntoIterator<Item = &'s str>) -> Ask {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        Ask { method, url, body: None, accept: "application/json", resource: "core" }
    }

    /// A question about another address of the same server, such as the next page.
    pub(crate) fn ask_at(&self, method: Method, url: Url) -> Result<Ask, ForgeError> {
        // The credential goes nowhere else.
        if url.origin() != self.base.origin() {
            return Err(ForgeError::unavailable(format!("{} points to another server", self.host)));
        }
        Ok(Ask { method, url, body: None, accept: "application/json", resource: "core" })
    }

    /// The server's own root, for what does not stand under the interface's.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Asks. `authorization` is the header's value.
    pub(crate) async fn send(&self, ask: Ask, authorization: &SecretString) -> Result<Answer, ForgeError> {
        self.try_send(ask, authorization).await.map_err(|unanswered| unanswered.error)
    }

    /// Asks, and tells a refusal's status beside what it means.
    pub(crate) async fn try_send(&self, ask: Ask, authorization: &SecretString) -> Result<Answer, Unanswered> {
        self.pacing.admit(ask.resource)?;
        let _place = self.room.acquire().await.map_err(|_| ForgeError::unavailable("the house closes"))?;
        // Forges ask for it: those who write in parallel are slowed down.
        let _pen = if ask.method == Method::GET { None } else { Some(self.writing.lock().await) };
        // Somebody may have met a limit while we waited.
        self.pacing.admit(ask.resource)?;
        let known = if ask.method == Method::GET { self.shelf.find(&ask.url, ask.accept) } else { None };
        let mut request = self.http.request(ask.method.clone(), ask.url.clone()).header(header::ACCEPT, ask.accept);
        let mut shown = HeaderValue::from_str(authorization.expose_secret())
            .map_err(|_| ForgeError::invalid("the credential has characters that no header takes"))?;
        shown.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, shown);
        if ask.accept.contains("github") {
            request = request.header("x-github-api-version", "2022-11-28");
        }
        if let Some(known) = &known {
            request = request.header(header::IF_NONE_MATCH, known.tag.clone());
        }
        if let Some(body) = &ask.body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.away(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        self.pacing.heed(ask.resource, &headers);
        metrics::counter!("carrel_forge_requests_total", "forge" => self.host.clone(),
            "status" => status.as_u16().to_string())
        .increment(1);
        let body = self.read(response).await?;
        let is_as_known = known.is_some() && status == StatusCode::NOT_MODIFIED;
        if !status.is_success() && !is_as_known {
            let error = self.pacing.refused(status, &headers, &body, ask.resource);
            return Err(Unanswered { status: Some(status), error });
        }
        self.pacing.answered();
        if let Some(known) = known.filter(|_| status == StatusCode::NOT_MODIFIED) {
            return Ok(known.answer);
        }
        let answer = Answer { headers, body };
        if ask.method == Method::GET {
            self.shelf.put(&ask.url, ask.accept, &answer);
        }
        Ok(answer)
    }

    /// Reads to the end, but not without end.
    async fn read(&self, mut response: reqwest::Response) -> Result<Bytes, ForgeError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.away(&error))? {
            if body.len() + chunk.len() > MOST_BYTES {
                return Err(ForgeError::invalid(format!("{} answers with more than {MOST_BYTES} bytes", self.host)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// The address is left out: it may name what a log should not.
    fn away(&self, error: &reqwest::Error) -> ForgeError {
        let how = match error {
            error if error.is_timeout() => "does not answer in time",
            error if error.is_connect() => "cannot be reached",
            error if error.is_redirect() => "leads in circles",
            _ => "broke off in the middle of its answer",
        };
        ForgeError::unavailable(format!("{} {how}", self.host))
    }
}

impl Ask {
    /// Adds a question mark's worth.
    pub(crate) fn query(mut self, name: &str, value: &str) -> Ask {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// What is to be written.
    pub(crate) fn json(self, body: serde_json::Value) -> Ask {
        Ask { body: Some(body), ..self }
    }

    /// The media type that is wanted.
    pub(crate) fn accept(self, accept: &'static str) -> Ask {
        Ask { accept, ..self }
    }

    /// The budget it is taken from, where that is not the usual one.
    pub(crate) fn resource(self, resource: &'static str) -> Ask {
        Ask { resource, ..self }
    }
}

impl Answer {
    /// Understands the body by its type.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, ForgeError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ForgeError::unavailable(format!("the forge's answer makes no sense: {error}")))
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
