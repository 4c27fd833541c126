//! Lines to providers: asked with patience before the first byte, never after it.

use std::{sync::OnceLock, time::Duration};

use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use reqwest::{Client, Response, Url, redirect::Policy};
use secrecy::{ExposeSecret, SecretString};

use super::{question::Question, refusal::Refusal};

/// How long it may take to get through at all.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
/// How long a model may say nothing.
const SILENCE: Duration = Duration::from_secs(600);
/// How often something is asked, first time included.
const TRIES: u32 = 3;
/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Whoever is told to wait longer is told so, and comes back.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// The lines, opened when somebody first asks.
#[derive(Default)]
pub(crate) struct Lines {
    outward: OnceLock<Client>,
    here: OnceLock<Client>,
}

impl Lines {
    /// Asks, and asks again where that may help, until the first byte of an answer is there.
    pub(super) async fn ask(&self, url: &str, headers: &HeaderMap, question: &Question) -> Result<Response, Refusal> {
        let url = Url::parse(url).map_err(|_| Refusal::new(404, "there is no such address".into()))?;
        let place = url.host_str().unwrap_or_default().to_owned();
        let client = self.client(&url)?;
        let mut tries = 1;
        loop {
            let request = client.request(question.method().clone(), url.clone()).headers(headers.clone());
            let answer = request.body(question.body().clone()).send().await;
            let pause = match &answer {
                Ok(response) => pause_after(response, tries),
                Err(error) if error.is_connect() => Some(FIRST_PAUSE * (1 << (tries - 1))),
                Err(_) => None,
            };
            match (pause, answer) {
                (Some(pause), answer) if tries < TRIES => {
                    let status = answer.as_ref().map_or(0, |response| response.status().as_u16());
                    tracing::debug!(place, status, ?pause, "a provider of models is asked again");
                    metrics::counter!("carrel_model_retries_total", "status" => status.to_string()).increment(1);
                    drop(answer);
                    tokio::time::sleep(pause).await;
                    tries += 1;
                }
                (_, Ok(response)) => return Ok(response),
                (_, Err(error)) => {
                    let what = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
                    tracing::warn!(error = &error.without_url() as &dyn std::error::Error, place, "no model answered");
                    return Err(Refusal::new(502, format!("the models at {place} {what}")));
                }
            }
        }
    }

    /// What is on this machine is not looked for behind a proxy.
    fn client(&self, url: &Url) -> Result<&Client, Refusal> {
        let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let place = if is_here { &self.here } else { &self.outward };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        // A redirect would carry the key to wherever it leads.
        let builder = Client::builder().connect_timeout(CONNECTS_WITHIN).read_timeout(SILENCE).redirect(Policy::none());
        let builder = if is_here { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "no line to models can be opened");
            Refusal::new(502, "no line to models can be opened; the log says more".into())
        })?;
        Ok(place.get_or_init(|| client))
    }
}

/// How long to wait before asking again, where that may help. A provider that wants more patience is passed on.
fn pause_after(response: &Response, tries: u32) -> Option<Duration> {
    let headers = response.headers();
    let passes = matches!(response.status().as_u16(), 429 | 500 | 502 | 503 | 504 | 529);
    let word = headers.get("x-should-retry").and_then(|value| value.to_str().ok());
    if !passes || word == Some("false") {
        return None;
    }
    let told = told_pause(headers);
    let usual = FIRST_PAUSE * (1 << (tries - 1));
    let pause = told.unwrap_or(usual);
    // One that is out of quota says so at once, and for hours.
    (pause <= LONGEST_PAUSE)
        .then_some(pause)
        .filter(|_| response.status() != StatusCode::TOO_MANY_REQUESTS || told.is_some())
}

/// What `retry-after` says: milliseconds, seconds, or a moment.
fn told_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str| text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<u64>().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    let told = text(header::RETRY_AFTER.as_str())?;
    seconds(told).or_else(|| {
        let moment = jiff::fmt::rfc2822::parse(told).ok()?.timestamp();
        Some(Duration::try_from(moment.duration_since(jiff::Timestamp::now())).unwrap_or_default())
    })
}

/// The body of an error, as long as errors are. A key that a provider repeats in it is taken out.
pub(super) async fn error_body(mut response: Response, most: usize, key: Option<&SecretString>) -> Bytes {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = most - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if body.len() == most {
            break;
        }
    }
    let key = key.map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
    match (key, std::str::from_utf8(&body)) {
        (Some(key), Ok(text)) if text.contains(key) => Bytes::from(text.replace(key, "(hidden)")),
        _ => Bytes::from(body),
    }
}
