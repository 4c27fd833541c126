//! A stand-in for GitHub: a real server that keeps state, and whose every request and answer is held to GitHub's own
//! description. It can be told to fail.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Request, Response, StatusCode, header},
};
use carrel_forge::{
    BranchName, Check, CommitId, Notebook, Repository,
    forges::{
        embedded::{self, Embedded},
        fake::Pretend,
    },
};
use carrel_model::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    description::{Operation, description},
    desk,
};

/// The stand-in. It serves until it is dropped.
pub(crate) struct StandIn {
    pub(crate) house: Arc<House>,
    pub(crate) address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

/// Everything that it remembers.
pub(crate) struct House {
    pub(crate) forge: Embedded,
    pub(crate) repository: Arc<dyn Repository>,
    /// The repository, when it is only pretended.
    pretend: Arc<Pretend>,
    /// Where the interface stands: at the root, or under `/api/v3` as on an Enterprise Server.
    prefix: &'static str,
    pub(crate) state: Mutex<Memory>,
}

#[derive(Default)]
pub(crate) struct Memory {
    /// What did not follow the description.
    pub(crate) violations: Vec<String>,
    /// What was asked, and how it ended: `GET /user 200`.
    pub(crate) asked: Vec<String>,
    faults: VecDeque<(String, Fault)>,
    /// Who bears which token, and until when.
    pub(crate) tokens: HashMap<String, (String, Option<Timestamp>)>,
    /// Of which pulls it is known whether they merge: GitHub finds out when first asked.
    pub(crate) looked_at: HashSet<String>,
    /// What a program with the right to make check runs said.
    pub(crate) runs: HashMap<CommitId, Vec<Check>>,
    /// The public half of the app's key.
    pub(crate) app_key: Option<Vec<u8>>,
    pub(crate) granted: Value,
    pub(crate) lifetime_s: i64,
    pub(crate) installations_asked: usize,
    pub(crate) remaining: i64,
}

/// What can go wrong.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// It refuses, without doing anything.
    Refuse(u16, Vec<(&'static str, String)>, Value),
    /// It answers nothing for as long as anybody waits.
    Silent,
    /// It does what it was asked, and the line is cut in the middle of the answer.
    CutAfterDoing,
    /// The line is cut before anything is done.
    CutBefore,
}

impl StandIn {
    pub(crate) async fn start(prefix: &'static str) -> StandIn {
        let pretend: Arc<Pretend> = Arc::default();
        StandIn::over(prefix, Arc::clone(&pretend) as _, pretend, Router::new()).await
    }

    /// A stand-in in front of a repository, with other doors at the same address.
    pub(crate) async fn over(
        prefix: &'static str,
        repository: Arc<dyn Repository>,
        pretend: Arc<Pretend>,
        doors: Router,
    ) -> StandIn {
        let forge = embedded::Config {
            ledger: Arc::new(Notebook::default()),
            repository: Arc::clone(&repository),
            login: "carrel".into(),
            url: "https://fake.invalid/pulls".into(),
        };
        let forge = forge.build();
        let tokens = HashMap::from([
            ("token-carrel".to_owned(), ("carrel".to_owned(), None)),
            ("token-mona".to_owned(), ("mona".to_owned(), None)),
        ]);
        let granted = json!({
            "contents": "write", "pull_requests": "write", "issues": "write", "statuses": "write", "checks": "read",
            "metadata": "read",
        });
        let memory = Memory { tokens, granted, lifetime_s: 3600, remaining: 5000, ..Memory::default() };
        let house = Arc::new(House { forge, repository, pretend, prefix, state: Mutex::new(memory) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = doors.merge(Router::new().fallback(serve).with_state(Arc::clone(&house)));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        StandIn { house, address, serving }
    }

    pub(crate) fn api(&self) -> String {
        format!("http://{}{}", self.address, self.house.prefix)
    }

    /// The next request whose `METHOD /path` contains this text meets the fault.
    pub(crate) fn fail(&self, at: &str, fault: Fault) {
        self.house.memory().faults.push_back((at.to_owned(), fault));
    }

    /// What was asked since the last time this was called.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.house.memory().asked)
    }

    /// Ends the test with what did not follow the description.
    pub(crate) fn assert_by_the_book(&self) {
        assert_eq!(self.house.memory().violations, Vec::<String>::new());
    }

    pub(crate) fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.house.pretend.push(branch, path, text).unwrap()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl House {
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.state.lock().unwrap()
    }

    fn fault_at(&self, line: &str) -> Option<Fault> {
        let mut memory = self.memory();
        let at = memory.faults.iter().position(|(at, _)| line.contains(at.as_str()))?;
        memory.faults.remove(at).map(|(_, fault)| fault)
    }

    /// Who asks, by the header.
    fn bearer(&self, headers: &HeaderMap) -> Option<String> {
        let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        let memory = self.memory();
        match memory.tokens.get(shown) {
            Some((login, until)) => until.is_none_or(|until| Timestamp::now() < until).then(|| login.clone()),
            None => desk::is_from_the_app(&memory, shown).then(|| "app".to_owned()),
        }
    }
}

async fn serve(State(house): State<Arc<House>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let line = format!("{} {}", parts.method, parts.uri.path());
    let fault = house.fault_at(&line);
    match fault {
        Some(Fault::Silent) => std::future::pending().await,
        Some(Fault::CutBefore) => return cut(),
        Some(Fault::Refuse(status, headers, body)) => {
            house.memory().asked.push(format!("{line} {status}"));
            let mut response = Response::builder().status(status).header("content-type", "application/json");
            for (name, value) in headers {
                response = response.header(name, value);
            }
            return response.body(Body::from(body.to_string())).unwrap();
        }
        _ => {}
    }
    let response = answer(&house, &parts.method, &parts.uri, &parts.headers, &body).await;
    house.memory().asked.push(format!("{line} {}", response.status().as_u16()));
    if matches!(fault, Some(Fault::CutAfterDoing)) { cut() } else { response }
}

/// An answer that begins and does not end.
fn cut() -> Response<Body> {
    let pieces = [Ok(Bytes::from_static(b"{\"numb")), Err(std::io::Error::other("the line is cut"))];
    Response::new(Body::from_stream(futures::stream::iter(pieces)))
}

async fn answer(
    house: &House,
    method: &Method,
    uri: &axum::http::Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Response<Body> {
    let query: Vec<(String, String)> =
        reqwest::Url::parse(&format!("http://x{uri}")).unwrap().query_pairs().into_owned().collect();
    let json: Option<Value> = (!body.is_empty()).then(|| serde_json::from_slice(body).unwrap());
    for wanted in ["user-agent", "accept", "x-github-api-version"] {
        if !headers.contains_key(wanted) {
            house.memory().violations.push(format!("{method} {uri}: the header {wanted} is missing"));
        }
    }
    let Some(login) = house.bearer(headers) else {
        let body = json!({ "message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401" });
        return send(house, 401, body, headers, "core");
    };
    let root = house.prefix.strip_suffix("/v3").unwrap_or(house.prefix);
    if uri.path() == format!("{root}/graphql") {
        let json = json.unwrap_or_default();
        let complaints = description().complaints_of_mutation(&json);
        house.memory().violations.extend(complaints);
        return send(house, 200, desk::mutate(house, &login, &json).await, headers, "graphql");
    }
    let path = uri.path().strip_prefix(house.prefix).unwrap_or("/");
    let Some(operation) = description().operation(&method.as_str().to_lowercase(), path) else {
        house.memory().violations.push(format!("{method} {path}: GitHub knows no such thing"));
        return send(house, 404, desk::message("Not Found"), headers, "core");
    };
    let complaints = description().complaints_of_request(&operation, &query, json.as_ref());
    house.memory().violations.extend(complaints);
    let wants_diff = headers.get(header::ACCEPT).is_some_and(|accept| accept.to_str().unwrap().contains("diff"));
    let ask = desk::Asked { house, login: &login, path, query: &query, body: json.unwrap_or_default() };
    if wants_diff {
        return match ask.diff().await {
            Some(diff) => Response::new(Body::from(diff)),
            None => send(house, 404, desk::message("Not Found"), headers, "core"),
        };
    }
    let (status, value) = ask.answer(method.as_str(), operation.template).await;
    check(house, &operation, status, value.as_ref());
    let Some(value) = value else {
        return Response::builder().status(status).body(Body::empty()).unwrap();
    };
    let (value, link) = page(value, &query, uri, headers);
    let mut response = send(house, status, value, headers, "core");
    if let Some(link) = link {
        response.headers_mut().insert(header::LINK, link.parse().unwrap());
    }
    response
}

fn check(house: &House, operation: &Operation<'_>, status: u16, value: Option<&Value>) {
    // What every operation may answer is not always described.
    if matches!(status, 401 | 404 | 422) && !description().describes(operation, status) {
        return;
    }
    let complaints = description().complaints_of_answer(operation, status, value);
    house.memory().violations.extend(complaints);
}

/// Cuts a list into pages, and says where the next is.
fn page(
    mut value: Value,
    query: &[(String, String)],
    uri: &axum::http::Uri,
    headers: &HeaderMap,
) -> (Value, Option<String>) {
    let number = |name: &str, usual: usize| {
        query.iter().find(|(key, _)| key == name).and_then(|(_, text)| text.parse().ok()).unwrap_or(usual)
    };
    let (size, at) = (number("per_page", 30).min(100), number("page", 1));
    let list = match &mut value {
        Value::Array(list) => list,
        Value::Object(object) => match ["check_runs", "statuses"].iter().find(|name| object.contains_key(**name)) {
            Some(name) => object[*name].as_array_mut().unwrap(),
            None => return (value, None),
        },
        _ => return (value, None),
    };
    let more = list.len() > size * at;
    *list = list.drain(..).skip(size * (at - 1)).take(size).collect();
    let host = headers.get(header::HOST).unwrap().to_str().unwrap();
    let others: Vec<_> =
        query.iter().filter(|(name, _)| name != "page").map(|(name, text)| format!("{name}={text}")).collect();
    let next = format!("<http://{host}{}?{}&page={}>; rel=\"next\"", uri.path(), others.join("&"), at + 1);
    (value, more.then_some(next))
}

/// An answer with its tag and what is left of the budget. What has not changed costs nothing.
fn send(house: &House, status: u16, value: Value, headers: &HeaderMap, resource: &str) -> Response<Body> {
    let text = value.to_string();
    let tag = format!("W/\"{}\"", hex::encode(Sha256::digest(&text)));
    let known =
        status == 200 && headers.get(header::IF_NONE_MATCH).is_some_and(|shown| shown.as_bytes() == tag.as_bytes());
    let mut memory = house.memory();
    if !known {
        memory.remaining -= 1;
    }
    Response::builder()
        .status(if known { StatusCode::NOT_MODIFIED } else { StatusCode::from_u16(status).unwrap() })
        .header("content-type", "application/json; charset=utf-8")
        .header("etag", tag)
        .header("x-ratelimit-limit", "5000")
        .header("x-ratelimit-remaining", memory.remaining.max(0).to_string())
        .header("x-ratelimit-reset", (Timestamp::now().as_second() + 3600).to_string())
        .header("x-ratelimit-resource", resource)
        .body(if known { Body::empty() } else { Body::from(text) })
        .unwrap()
}
