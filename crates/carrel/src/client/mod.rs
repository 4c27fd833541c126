//! The command line as a client of the API, like any other.

pub(crate) mod agent;
pub(crate) mod audit;
mod commands;
mod copy;
pub(crate) mod events;
mod exec;
pub(crate) mod hook;
mod hosts;
mod judge;
pub(crate) mod key;
pub(crate) mod mcp;
pub(crate) mod node;
mod parcel;
pub(crate) mod prune;
pub(crate) mod pull;
pub(crate) mod quotas;
pub(crate) mod repo;
pub(crate) mod sandbox;
pub(crate) mod secret;
pub(crate) mod session;
mod shell;
pub(crate) mod ssh;
pub(crate) mod task;
pub(crate) mod template;
pub(crate) mod timeline;
pub(crate) mod top;
mod tunnel;
mod watch;

use std::time::Duration;

use carrel_model::{
    key::KeySecret,
    public::{Problem, ReadinessView},
};
use reqwest::{Method, RequestBuilder, Response};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    cli::Common,
    data::DataDir,
    failure::{Exit, Failure},
    say,
};

/// Talks to one server with one key.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    common: Common,
}

impl Client {
    pub(crate) fn new(common: &Common) -> Result<Self, Failure> {
        let mut http = reqwest::Client::builder().connect_timeout(Duration::from_secs(10));
        let host = reqwest::Url::parse(&common.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        if host.is_some_and(|host| host == "localhost" || host == "[::1]" || host.starts_with("127.")) {
            // A key for this machine does not travel by a proxy.
            http = http.no_proxy();
        }
        let http = http.build();
        let http = http.map_err(|error| Failure::new(format!("no HTTP client could be made: {error}")))?;
        Ok(Client { http, url: common.url.trim_end_matches('/').to_owned(), common: common.clone() })
    }

    pub(crate) fn json(&self) -> bool {
        self.common.json
    }

    pub(crate) fn quiet(&self) -> bool {
        self.common.quiet
    }

    /// A place at this server, or anywhere else, as a person can open it.
    pub(crate) fn place(&self, url: &str) -> String {
        if url.starts_with('/') { format!("{}{url}", self.url) } else { url.to_owned() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// `CARREL_KEY`, else the key that the server left for this user.
    fn key(&self) -> Result<String, Failure> {
        if let Ok(key) = std::env::var("CARREL_KEY") {
            return Ok(key.trim().to_owned());
        }
        let data = DataDir::find(self.common.data.clone())?;
        let key = data.admin_key()?;
        key.as_ref().map(KeySecret::reveal).ok_or_else(|| {
            let place = data.path().join("admin.key");
            Failure::new(format!("there is no key: CARREL_KEY is not set and {} is missing", place.display()))
                .hint("start the server once with `carrel serve`, or set CARREL_KEY")
                .exit(Exit::NotAllowed)
        })
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, Failure> {
        self.at(method, &format!("/api/v1{path}"))
    }

    /// The same, at any of the server's doors.
    pub(crate) fn at(&self, method: Method, path: &str) -> Result<RequestBuilder, Failure> {
        Ok(self.http.request(method, format!("{}{path}", self.url)).bearer_auth(self.key()?))
    }

    /// Sends, and turns a refusal into a failure.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(response).await)
    }

    /// Sends, and expects to go on in another protocol.
    pub(crate) async fn send_upgrade(&self, request: RequestBuilder) -> Result<reqwest::Upgraded, Failure> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status() != reqwest::StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.refusal(response).await);
        }
        response.upgrade().await.map_err(|error| self.unreachable(&error))
    }

    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status();
        match response.json::<Problem>().await {
            Ok(mut problem) => {
                if problem.status == 401 {
                    problem.hint = Some("set CARREL_KEY, or use the data directory of the server with --data".into());
                }
                problem.into()
            }
            Err(_) => Failure::new(format!("{} answered {status}", self.url)).hint("is that a Carrel server?"),
        }
    }

    pub(crate) async fn fetch<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let response = self.send(request).await?;
        response.json().await.map_err(|error| Failure::new(format!("the answer cannot be understood: {error}")))
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.fetch(self.request(Method::GET, path)?).await
    }

    pub(crate) async fn readiness(&self) -> Result<ReadinessView, Failure> {
        let answer = self.http.get(format!("{}/readyz", self.url)).timeout(Duration::from_secs(5)).send();
        let answer = answer.await.map_err(|error| self.unreachable(&error))?;
        answer.json().await.map_err(|error| Failure::new(format!("the answer cannot be understood: {error}")))
    }

    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let mut cause = std::error::Error::source(error);
        let mut why = error.to_string();
        while let Some(error) = cause {
            why = error.to_string();
            cause = error.source();
        }
        Failure::new(format!("{} does not answer: {why}", self.url))
            .hint("start the server with `carrel serve`, or set CARREL_URL")
    }
}

/// Finds the one id that begins with what was typed.
pub(crate) fn only_match(what: &str, typed: &str, ids: impl IntoIterator<Item = String>) -> Result<String, Failure> {
    if typed.is_empty() {
        return Err(Failure::new(format!("an empty word names no {what}")).exit(Exit::Usage));
    }
    let mut matches: Vec<_> = ids.into_iter().filter(|id| id.starts_with(typed)).collect();
    match matches.len() {
        1 => Ok(matches.remove(0)),
        0 => Err(Failure::new(format!("there is no {what} `{typed}`")).exit(Exit::NotFound)),
        _ => Err(Failure::new(format!("`{typed}` could be any of {}", matches.join(", ")))
            .hint("type more of it")
            .exit(Exit::Conflict)),
    }
}

/// How long ago, in the largest fitting unit.
pub(crate) fn ago(then: jiff::Timestamp) -> String {
    span(jiff::Timestamp::now().duration_since(then).as_secs())
}

pub(crate) fn span(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..=99 => format!("{s} s"),
        s @ 100..=5999 => format!("{} min", s / 60),
        s @ 6000..=172_799 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

/// Prints a link that signs a browser in.
pub(crate) async fn sign_in(client: &Client, open: bool) -> Result<(), Failure> {
    #[derive(Deserialize, serde::Serialize)]
    struct Link {
        path: String,
        expires_at: jiff::Timestamp,
    }
    let mut link: Link = client.fetch(client.request(Method::POST, "/sign-in/link")?).await?;
    link.path = format!("{}{}", client.url(), link.path);
    if open {
        crate::serve::open_browser(&link.path);
    }
    if client.json() {
        return say::json(&link);
    }
    say::line(&link.path);
    Ok(())
}
