//! The control plane: asked over HTTP, with patience for what passes by itself.

use std::{collections::BTreeMap, path::Path, time::Duration};

use backon::{ExponentialBuilder, Retryable};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{CONTENT_LENGTH, RETRY_AFTER},
};
use reqwest::{Url, redirect::Policy};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, de::DeserializeOwned};

use super::wire::Refusal;
use crate::ProviderError;

/// How long one question may take: a sandbox may have to be placed, or its memory written.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to get through at all.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
/// How long files may take on their way to a build.
const UPLOADS_WITHIN: Duration = Duration::from_secs(3600);
/// What passes by itself is asked again so often,
const TRIES: usize = 3;
/// and waited for so long at most. Whoever is told to wait longer goes away and comes back.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// No answer of a control plane is larger.
const LARGEST: usize = 16 << 20;
/// How many pages of a list are read.
const MOST_PAGES: usize = 1000;

/// A line to a control plane.
pub(super) struct Api {
    /// Without a slash at the end.
    base: String,
    /// Nobody is called without a key.
    line: Option<Line>,
}

struct Line {
    http: reqwest::Client,
    /// Shown with every question. It prints itself nowhere.
    key: HeaderValue,
}

/// A good answer.
pub(super) struct Answer {
    headers: HeaderMap,
    body: Vec<u8>,
}

/// Why there is no good answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// There is no key to show.
    NoKey,
    /// Nobody answered, or the line broke.
    Silence(String),
    /// The answer is not understood.
    Gibberish(String),
    /// It was refused.
    Refused(Box<Refused>),
}

/// A refusal, with what says how to go on.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// The machine's word for it.
    pub(super) code: Option<String>,
    message: String,
    /// Whether this came from the control plane, and not from a router that knows no such path.
    pub(super) is_spoken: bool,
    retry_after: Option<Duration>,
    should_retry: Option<bool>,
    is_metered: bool,
}

impl Api {
    pub(super) fn new(base: String, key: Option<&SecretString>) -> Result<Self, ProviderError> {
        Ok(Api { base, line: key.map(Line::new).transpose()? })
    }

    /// Where it is, for sentences.
    pub(super) fn place(&self) -> &str {
        &self.base
    }

    pub(super) fn has_key(&self) -> bool {
        self.line.is_some()
    }

    /// Asks something that may be asked twice, and asks again where that helps.
    pub(super) async fn ask<B: Serialize + Sync>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<Answer, Trouble> {
        patiently(|| self.ask_once(method.clone(), path, body, None)).await
    }

    pub(super) async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Trouble> {
        self.ask(Method::GET, path, None::<&()>).await?.read()
    }

    pub(super) async fn post<B: Serialize + Sync>(&self, path: &str, body: &B) -> Result<Answer, Trouble> {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// Sends a file to where the control plane said. It is nobody's business to see the key there.
    pub(super) async fn put_file(
        &self,
        url: &str,
        headers: &BTreeMap<String, String>,
        file: &Path,
    ) -> Result<(), Trouble> {
        let Line { http, .. } = self.line.as_ref().ok_or(Trouble::NoKey)?;
        let place = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let place = place.ok_or_else(|| Trouble::Gibberish("an address for files that is none".into()))?;
        let file = tokio::fs::File::open(file).await.map_err(|error| Trouble::Silence(error.to_string()))?;
        let size = file.metadata().await.map_err(|error| Trouble::Silence(error.to_string()))?.len();
        let mut request = http.put(place).timeout(UPLOADS_WITHIN).header(CONTENT_LENGTH, size);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = reqwest::Body::wrap_stream(tokio_util::io::ReaderStream::new(file));
        let response = request.body(body).send().await.map_err(silence)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(Trouble::Refused(Box::new(Refused::read(status, response.headers(), &[])))),
        }
    }

    /// A list, all its pages together.
    pub(super) async fn list<A: DeserializeOwned>(&self, path: &str) -> Result<Vec<A>, Trouble> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let mut all = Vec::new();
        let mut page = format!("{path}{joint}limit=100");
        for _ in 0..MOST_PAGES {
            let answer = self.ask(Method::GET, &page, None::<&()>).await?;
            let next = answer.headers.get("x-next-token").and_then(|next| next.to_str().ok());
            let next = next.filter(|next| !next.is_empty()).map(percent);
            all.extend(answer.read::<Vec<A>>()?);
            match next {
                Some(next) => page = format!("{path}{joint}limit=100&nextToken={next}"),
                None => return Ok(all),
            }
        }
        Err(Trouble::Gibberish("a list without an end".into()))
    }

    /// Asks once. `idempotency` names the question, so that asking it twice does it once.
    pub(super) async fn ask_once<B: Serialize + Sync>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
        idempotency: Option<&str>,
    ) -> Result<Answer, Trouble> {
        let Line { http, key } = self.line.as_ref().ok_or(Trouble::NoKey)?;
        let mut request = http.request(method, format!("{}{path}", self.base)).header("x-api-key", key);
        if let Some(name) = idempotency {
            request = request.header("idempotency-key", name);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(silence)?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(silence)? {
            if bytes.len() + piece.len() > LARGEST {
                return Err(Trouble::Gibberish(format!("an answer of more than {LARGEST} bytes")));
            }
            bytes.extend_from_slice(&piece);
        }
        if status.is_success() {
            return Ok(Answer { headers, body: bytes });
        }
        Err(Trouble::Refused(Box::new(Refused::read(status, &headers, &bytes))))
    }
}

impl Line {
    fn new(key: &SecretString) -> Result<Line, ProviderError> {
        let unfit = |why: String| ProviderError::Unfit { why };
        let mut key = HeaderValue::from_str(key.expose_secret().trim())
            .map_err(|_| unfit("the E2B API key holds characters that no key has".into()))?;
        key.set_sensitive(true);
        let http = reqwest::Client::builder()
            .user_agent(concat!("carrel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECTS_WITHIN)
            .timeout(PATIENCE)
            // A redirect would carry the key to wherever it leads.
            .redirect(Policy::none())
            .build()
            .map_err(|error| unfit(format!("no line to E2B can be opened: {error}")))?;
        Ok(Line { http, key })
    }
}

/// Asks until it is answered, or asking again does not help.
pub(super) async fn patiently<T, F>(mut ask: impl FnMut() -> F) -> Result<T, Trouble>
where
    F: Future<Output = Result<T, Trouble>>,
{
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(5))
        .with_max_times(TRIES)
        .with_jitter();
    (move || ask())
        .retry(pauses)
        .when(Trouble::is_passing)
        .adjust(|trouble, pause| Some(pause?.max(trouble.retry_after().unwrap_or_default())))
        .await
}

impl Answer {
    pub(super) fn read<A: DeserializeOwned>(&self) -> Result<A, Trouble> {
        serde_json::from_slice(&self.body).map_err(|error| Trouble::Gibberish(error.to_string()))
    }
}

fn silence(error: reqwest::Error) -> Trouble {
    // The address stands in our sentence already, and the chain says what reqwest itself leaves out.
    let error = error.without_url();
    let mut why = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        source = cause.source();
    }
    Trouble::Silence(why)
}

impl Refused {
    fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Refused {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let refusal: Option<Refusal> = serde_json::from_slice(body).ok();
        let is_spoken = refusal.as_ref().is_some_and(|refusal| refusal.message.is_some());
        let (message, code) = refusal.map(|refusal| (refusal.message, refusal.error_code)).unwrap_or_default();
        let message = message.map(|message| printable(&message)).filter(|message| !message.is_empty());
        Refused {
            status,
            code,
            message: message.unwrap_or_else(|| status.canonical_reason().unwrap_or("no reason given").to_owned()),
            is_spoken,
            retry_after: header(RETRY_AFTER.as_str()).and_then(|s| s.parse().ok()).map(Duration::from_secs),
            should_retry: header("should-retry").and_then(|word| word.parse().ok()),
            is_metered: header("ratelimit-remaining").is_some_and(|left| left.trim() == "0"),
        }
    }
}

/// What a stranger says, short enough for a sentence and without what moves a terminal's cursor.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect::<String>().trim_end_matches('.').to_owned()
}

impl Trouble {
    /// Whether it is worth asking again at once.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Trouble::NoKey | Trouble::Gibberish(_) => false,
            Trouble::Silence(_) => true,
            Trouble::Refused(refused) => match (refused.should_retry, refused.status.as_u16()) {
                (Some(worth), _) => worth,
                (None, 429) => refused.retry_after.is_some_and(|after| after <= LONGEST_WAIT),
                (None, 502..=504) => refused.retry_after.is_none_or(|after| after <= LONGEST_WAIT),
                _ => false,
            },
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Trouble::Refused(refused) => refused.retry_after.map(|after| after.min(LONGEST_WAIT)),
            _ => None,
        }
    }

    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Trouble::Refused(refused) => Some(refused.status.as_u16()),
            _ => None,
        }
    }

    /// Whether the sandbox that was named is not there.
    pub(super) fn is_missing(&self) -> bool {
        self.status() == Some(404)
    }

    /// What it means for the caller of a provider.
    pub(super) fn explain(self, place: &str) -> ProviderError {
        let refused = match self {
            Trouble::NoKey => return ProviderError::Unfit { why: NO_KEY.into() },
            Trouble::Silence(why) => {
                return ProviderError::Unavailable { why: format!("{place} does not answer: {why}") };
            }
            Trouble::Gibberish(why) => {
                return ProviderError::Unavailable { why: format!("{place} answers what is not understood: {why}") };
            }
            Trouble::Refused(refused) => refused,
        };
        let why = format!("{place} says {}: {}", refused.status.as_u16(), refused.message);
        match refused.status.as_u16() {
            401 => ProviderError::Unfit { why: format!("{place} does not accept the E2B API key") },
            404 => ProviderError::Lost,
            429 if refused.is_about_quota() => ProviderError::Exhausted { why },
            429 => ProviderError::Throttled { why, after: refused.retry_after },
            400 | 402 | 403 | 405 | 413 | 422 => ProviderError::Unfit { why },
            _ => ProviderError::Unavailable { why },
        }
    }
}

/// What is said when there is no key.
pub(super) const NO_KEY: &str = "there is no E2B API key; set E2B_API_KEY";

impl Refused {
    /// A rate passes by itself and says when. A quota does not: it speaks of what there are too many of.
    fn is_about_quota(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let counts = ["concurrent", "maximum number", "quota", "limit reached"];
        !self.is_metered && self.retry_after.is_none() && counts.iter().any(|word| message.contains(word))
    }
}

/// Percent-encodes everything but letters, digits, `-`, `_`, `.` and `~`.
pub(super) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The filter of lists by metadata: each word encoded, the form encoded, and the query encoded.
pub(super) fn metadata_filter(pairs: &[(&str, &str)]) -> String {
    let pair = |(key, value): &(&str, &str)| format!("{}={}", percent(&percent(key)), percent(&percent(value)));
    let form: Vec<_> = pairs.iter().map(pair).collect();
    percent(&form.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, headers: &[(&'static str, &str)], body: &str) -> Trouble {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        Trouble::Refused(Box::new(Refused::read(status, &map, body.as_bytes())))
    }

    #[test]
    fn the_metadata_filter_is_written_as_the_sdks_write_it() {
        assert_eq!(metadata_filter(&[("a b", "c&d"), ("e", "f")]), "a%252520b%3Dc%252526d%26e%3Df");
    }

    #[test]
    fn a_rate_and_a_quota_are_told_apart() {
        let rate = refused(429, &[("retry-after", "2")], r#"{"code":429,"message":"Rate limit exceeded"}"#);
        assert!(rate.is_passing());
        let after = Some(Duration::from_secs(2));
        assert!(matches!(rate.explain("x"), ProviderError::Throttled { after: told, .. } if told == after));
        let quota = "You have reached the maximum number of concurrent E2B sandboxes (20).";
        let quota = refused(429, &[], &format!(r#"{{"code":429,"message":"{quota}"}}"#));
        assert!(!quota.is_passing(), "a quota is not there again in a moment");
        assert!(matches!(quota.explain("x"), ProviderError::Exhausted { .. }));
        let metered = [("ratelimit-remaining", "0")];
        let metered = refused(429, &metered, r#"{"code":429,"message":"concurrent requests limit reached"}"#);
        assert!(matches!(metered.explain("x"), ProviderError::Throttled { after: None, .. }));
    }

    #[test]
    fn what_passes_is_asked_again_and_what_does_not_is_not() {
        for status in [502, 503, 504] {
            assert!(refused(status, &[], "").is_passing(), "{status}");
            assert!(!refused(status, &[("should-retry", "false")], "").is_passing(), "{status}");
        }
        for status in [400, 401, 403, 404, 409, 422, 500] {
            assert!(!refused(status, &[], "").is_passing(), "{status}");
            assert!(refused(status, &[("should-retry", "true")], "").is_passing(), "{status}");
        }
        let later = refused(429, &[("retry-after", "3600")], "{}");
        assert!(!later.is_passing(), "nobody waits an hour in a request");
    }

    #[test]
    fn every_refusal_says_what_the_caller_can_do() {
        let of = |status| refused(status, &[], r#"{"code":1,"message":"no\u001b[31m good."}"#).explain("https://x");
        assert_eq!(of(404), ProviderError::Lost);
        assert_eq!(of(400), ProviderError::Unfit { why: "https://x says 400: no[31m good".into() });
        assert!(matches!(of(401), ProviderError::Unfit { why } if why.contains("API key")));
        assert!(matches!(of(409), ProviderError::Unavailable { .. }));
        assert!(matches!(of(500), ProviderError::Unavailable { .. }));
    }

    #[tokio::test]
    async fn the_key_prints_itself_nowhere() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = SecretString::from("e2b_0123456789");
        let api = Api::new("http://127.0.0.1:1".into(), Some(&key)).unwrap();
        let trouble = api.get::<()>("/sandboxes/x").await.unwrap_err();
        let Line { http, key: shown } = api.line.as_ref().unwrap();
        let told = format!("{trouble:?} {shown:?} {http:?}");
        assert!(!told.contains("0123456789"), "{told}");
        assert!(!trouble.explain(api.place()).to_string().contains("0123456789"));
        assert!(Api::new("http://x".into(), Some(&SecretString::from("a\nb"))).is_err());
    }
}
