//! Who is asking: a key or a cookie becomes a grant, or a refusal that the audit remembers.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use axum::{
    extract::{ConnectInfo, FromRequestParts, MatchedPath},
    http::{HeaderMap, HeaderValue, Method, header, request::Parts},
};
use axum_extra::extract::CookieJar;
use base64::Engine;
use carrel_model::{Grant, KeyId, key::KeySecret};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock};

use super::Problem;
use crate::{
    entrance::Peer,
    house::{Doors, Options},
};

/// Somebody whose key was believed.
pub(crate) struct Asker(pub(crate) Grant);

/// The grant of a sandbox, put on what it asks through its own hatch. Keys that are shown beside it do not count.
#[derive(Debug, Clone)]
pub(crate) struct Granted(pub(crate) Grant);

/// Where a request came from.
pub(crate) struct Origin(pub(crate) Option<IpAddr>);

/// How often each key may ask, and how often each address may be wrong.
pub(crate) struct Limiter {
    keys: Option<DefaultKeyedRateLimiter<KeyId>>,
    strangers: DefaultKeyedRateLimiter<Option<IpAddr>>,
    asked: AtomicU32,
}

impl Limiter {
    pub(crate) fn new(options: &Options) -> Self {
        let quota = |rate: NonZeroU32| Quota::per_second(rate).allow_burst(options.burst);
        let strangers = const {
            let (rate, burst) = (NonZeroU32::new(10), NonZeroU32::new(200));
            match (rate, burst) {
                (Some(rate), Some(burst)) => Quota::per_second(rate).allow_burst(burst),
                _ => panic!("neither is zero"),
            }
        };
        Limiter {
            keys: options.requests_per_second.map(|rate| RateLimiter::keyed(quota(rate))),
            strangers: RateLimiter::keyed(strangers),
            asked: AtomicU32::new(0),
        }
    }

    fn admit(&self, key: &KeyId) -> Result<(), Problem> {
        let Some(keys) = &self.keys else { return Ok(()) };
        self.forget_now_and_then();
        keys.check_key(key)
            .map_err(|not_until| too_often(not_until.wait_time_from(governor::clock::DefaultClock::default().now())))
    }

    /// Who has not asked for long is forgotten, so that memory does not grow with every address ever seen.
    fn forget_now_and_then(&self) {
        if self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(4096) {
            self.strangers.retain_recent();
            if let Some(keys) = &self.keys {
                keys.retain_recent();
            }
        }
    }

    /// Somebody who is wrong too often is not even written down.
    pub(crate) fn admit_stranger(&self, from: Option<IpAddr>) -> Result<(), Problem> {
        self.forget_now_and_then();
        self.strangers.check_key(&from).map_err(|_| Problem::too_many(10, "too many wrong keys from this address"))
    }
}

impl Doors {
    /// Lets a key ask once more: with what it asks of all nodes, where they count together, or of this one alone.
    async fn admit(&self, key: &KeyId) -> Result<(), Problem> {
        if let Some(rate) = self.options.requests_per_second
            && let Some(counted) = self.control.counted_together(key, rate, self.options.burst).await
        {
            return counted.map_or(Ok(()), |wait| Err(too_often(wait)));
        }
        self.limiter.admit(key)
    }
}

fn too_often(wait: Duration) -> Problem {
    Problem::too_many(wait.as_secs() + 1, "this key asks too often")
        .with_hint("wait for the time that Retry-After says")
}

impl FromRequestParts<Doors> for Origin {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &Doors) -> Result<Self, Infallible> {
        Ok(origin(parts))
    }
}

fn origin(parts: &Parts) -> Origin {
    let seen = &parts.extensions;
    let peer = seen.get::<ConnectInfo<Peer>>().map(|ConnectInfo(Peer(address))| address);
    let address = peer.or_else(|| seen.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address));
    Origin(address.map(SocketAddr::ip))
}

impl Origin {
    pub(crate) fn text(&self) -> Option<String> {
        self.0.map(|address| address.to_string())
    }
}

impl FromRequestParts<Doors> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Problem> {
        if let Some(Granted(grant)) = parts.extensions.get() {
            return Ok(Asker(grant.clone()));
        }
        let origin = origin(parts);
        let keys = doors.control.keys();
        let found = match shown_key(&parts.headers) {
            Some(Ok(secret)) => keys.recognise(&secret, origin.text()).await?,
            Some(Err(())) => None,
            None => match cookie_value(&parts.headers, doors) {
                Some(cookie) if is_own_page(parts, doors) => keys.recognise_visit(&cookie, origin.text()).await?,
                Some(_) => {
                    return Err(turn_away(doors, parts, &origin, "the request came from a page of another site").await);
                }
                None => return Err(ask_for_a_key(doors, parts, &origin).await),
            },
        };
        match found {
            Some(grant) => {
                doors.admit(&grant.key).await?;
                Ok(Asker(grant))
            }
            None => Err(turn_away(doors, parts, &origin, "the key is unknown, revoked or expired").await),
        }
    }
}

/// The key in the headers: absent, malformed or well formed.
fn shown_key(headers: &HeaderMap) -> Option<Result<KeySecret, ()>> {
    let shown = match headers.get(header::AUTHORIZATION) {
        Some(value) => {
            let text = value.to_str().unwrap_or_default();
            match text.split_once(' ') {
                Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => key.trim().to_owned(),
                Some((scheme, pair)) if scheme.eq_ignore_ascii_case("basic") => of_pair(pair.trim()),
                _ => String::new(),
            }
        }
        None => headers.get("x-api-key")?.to_str().unwrap_or_default().to_owned(),
    };
    Some(KeySecret::parse(&shown).map_err(drop))
}

/// The key in a user and password, as git and others show it: the password, or the user where that is empty.
fn of_pair(encoded: &str) -> String {
    match plain_pair(encoded).split_once(':') {
        Some((user, "")) => user.to_owned(),
        Some((_, password)) => password.to_owned(),
        None => String::new(),
    }
}

fn plain_pair(encoded: &str) -> String {
    let plain = base64::prelude::BASE64_STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    plain.unwrap_or_default()
}

/// Whether somebody shows a key, good or not, or a cookie of ours.
pub(crate) fn shows_something(headers: &HeaderMap, doors: &Doors) -> bool {
    shown_key(headers).is_some() || cookie_value(headers, doors).is_some()
}

/// Whether what somebody shows reads like a key of ours, or is a cookie of ours.
pub(crate) fn shows_ours(headers: &HeaderMap, doors: &Doors) -> bool {
    matches!(shown_key(headers), Some(Ok(_))) || cookie_value(headers, doors).is_some()
}

/// The cookie of a browser that shows no key beside it.
pub(crate) fn visit_of(headers: &HeaderMap, doors: &Doors) -> Option<String> {
    if shown_key(headers).is_some() { None } else { cookie_value(headers, doors) }
}

pub(crate) fn cookie_value(headers: &HeaderMap, doors: &Doors) -> Option<String> {
    CookieJar::from_headers(headers).get(&doors.options.cookie).map(|cookie| cookie.value().to_owned())
}

/// Where a GET can change something: whoever shows a cookie alone must come from our own page. A WebSocket, most of all,
/// is opened by any page that likes to.
pub(crate) struct FromOwnPage;

impl FromRequestParts<Doors> for FromOwnPage {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Problem> {
        if shown_key(&parts.headers).is_some() || comes_from_own_page(parts, doors) {
            return Ok(FromOwnPage);
        }
        Err(turn_away(doors, parts, &origin(parts), "the request came from a page of another site").await)
    }
}

/// Whether a header is one of our keys, which is nobody else's business. As user or as password it is one too.
pub(crate) fn is_our_key(value: &HeaderValue) -> bool {
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, pair)) if scheme.eq_ignore_ascii_case("basic") => {
            plain_pair(pair.trim()).split(':').any(|half| KeySecret::parse(half).is_ok())
        }
        _ => KeySecret::parse(text.rsplit(' ').next().unwrap_or_default()).is_ok(),
    }
}

/// A cookie travels by itself, so a request that changes something must come from our own page.
pub(crate) fn is_own_page(parts: &Parts, doors: &Doors) -> bool {
    matches!(parts.method, Method::GET | Method::HEAD) || comes_from_own_page(parts, doors)
}

fn comes_from_own_page(parts: &Parts, doors: &Doors) -> bool {
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    // Browsers say by themselves where a request comes from, also where they leave out its origin.
    let site = parts.headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return false;
    }
    match (text(header::ORIGIN), text(header::HOST)) {
        (Some(origin), Some(host)) => {
            let is_ours =
                |authority: &str| authority == host || doors.options.public_authority.as_deref() == Some(authority);
            let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            authority.is_some_and(is_ours)
        }
        (Some(_), None) => false,
        (None, _) => true,
    }
}

async fn turn_away(doors: &Doors, parts: &Parts, origin: &Origin, why: &str) -> Problem {
    if let Err(limited) = doors.limiter.admit_stranger(origin.0) {
        return limited;
    }
    // The route, not the path: somebody may have pasted a key into it, and the audit forgets nothing.
    let route = parts.extensions.get::<MatchedPath>().map_or("another route", MatchedPath::as_str);
    let what = format!("{} {route}", parts.method);
    let what: String = what.chars().take(200).collect();
    match doors.control.audit().turned_away(&what, origin.text(), why).await {
        Ok(()) => Problem::unauthorized(why),
        Err(error) => error.into(),
    }
}

/// Nobody was refused anything yet, unless they tried to change something.
async fn ask_for_a_key(doors: &Doors, parts: &Parts, origin: &Origin) -> Problem {
    let why = "this needs a key";
    if matches!(parts.method, Method::GET | Method::HEAD) {
        Problem::unauthorized(why)
    } else {
        turn_away(doors, parts, origin, why).await
    }
}
