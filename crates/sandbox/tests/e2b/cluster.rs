//! A cluster that speaks E2B's API, as the recordings of the official SDKs show it. It keeps state, and can be told to be
//! in a bad mood.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, RawQuery, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use carrel_model::SandboxId;
use carrel_sandbox::providers::e2b::{Config, E2b};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "e2b_00112233445566778899aabbccddeeff00112233";

/// A cluster on a free port of this machine. It goes when it is dropped.
pub(crate) struct Cluster {
    pub(crate) url: String,
    shared: Arc<Shared>,
    serving: tokio::task::AbortHandle,
}

#[derive(Default)]
struct Shared(Mutex<Ledger>);

/// What the cluster knows.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) sandboxes: BTreeMap<String, Sandbox>,
    pub(crate) snapshots: BTreeMap<String, String>,
    pub(crate) questions: Vec<String>,
    pub(crate) habits: Habits,
    /// What the next questions are answered instead, when their text begins like this.
    pub(crate) moods: VecDeque<(&'static str, Mood)>,
    /// What was built, and with which steps.
    pub(crate) builds: BTreeMap<String, Value>,
    /// The files that were sent, by hash.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Names of questions, and what was made for them.
    named: BTreeMap<String, String>,
    drawn: u64,
}

/// One refusal.
pub(crate) struct Mood {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: Value,
    /// The work is done all the same; only the answer is lost.
    pub(crate) after_the_work: bool,
}

/// How this cluster differs from others.
#[derive(Default, Clone, Copy)]
pub(crate) struct Habits {
    pub(crate) knows_only_the_first_generation: bool,
    pub(crate) forgets_names_of_questions: bool,
    pub(crate) ignores_the_filter: bool,
    pub(crate) page: Option<usize>,
    pub(crate) no_files_only_pause: bool,
    pub(crate) longest_timeout: Option<i64>,
}

#[derive(Clone)]
pub(crate) struct Sandbox {
    pub(crate) asked: Value,
    pub(crate) state: &'static str,
    pub(crate) started_at: Timestamp,
    pub(crate) end_at: Timestamp,
    pub(crate) pause_mode: Option<&'static str>,
}

impl Cluster {
    pub(crate) async fn open() -> Cluster {
        let shared = Arc::new(Shared::default());
        let app = Router::new()
            .route("/v2/sandboxes", post(create).get(list))
            .route("/sandboxes", post(create))
            .route("/sandboxes/{id}", delete(kill).get(show))
            .route("/sandboxes/{id}/{verb}", post(verb).get(metrics))
            .route("/v2/sandboxes/{id}/connect", post(connect))
            .route("/snapshots", get(snapshots))
            .route("/templates", get(templates))
            .route("/templates/{id}", delete(forget))
            .route("/v3/templates", post(begin_build))
            .route("/templates/{id}/files/{hash}", get(files).put(put_files))
            .route("/v2/templates/{id}/builds/{build}", post(start_build))
            .route("/templates/{id}/builds/{build}/status", get(build_status))
            .fallback(|| async { (StatusCode::NOT_FOUND, "404 page not found") })
            .layer(middleware::from_fn_with_state(Arc::clone(&shared), at_the_door))
            .with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() }).abort_handle();
        Cluster { url, shared, serving }
    }

    pub(crate) async fn with(habits: Habits) -> Cluster {
        let cluster = Cluster::open().await;
        cluster.ledger().habits = habits;
        cluster
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.shared.ledger()
    }

    /// The next question that begins like this is refused.
    pub(crate) fn refuse(&self, question: &'static str, status: u16, body: Value) {
        let mood = Mood { status, headers: Vec::new(), body, after_the_work: false };
        self.ledger().moods.push_back((question, mood));
    }

    pub(crate) fn mood(&self, question: &'static str, mood: Mood) {
        self.ledger().moods.push_back((question, mood));
    }

    /// How often it was asked something that begins like this.
    pub(crate) fn asked(&self, question: &str) -> usize {
        self.ledger().questions.iter().filter(|asked| asked.starts_with(question)).count()
    }

    pub(crate) fn provider(&self) -> E2b {
        self.provider_of("house1")
    }

    pub(crate) fn provider_of(&self, house: &str) -> E2b {
        self.config(house).build().unwrap()
    }

    pub(crate) fn config(&self, house: &str) -> Config {
        Config {
            api_url: Some(self.url.clone()),
            sandbox_url: Some(self.url.clone()),
            domain: "e2b.app".into(),
            api_key: Some(KEY.to_owned().into()),
            house: house.into(),
            templates: [("host".parse().unwrap(), "base".to_owned())].into(),
            lease: Duration::from_secs(3600),
        }
    }

    /// The one sandbox with this id.
    pub(crate) fn only(&self, id: &SandboxId) -> Sandbox {
        let ledger = self.ledger();
        let mut found = ledger.sandboxes.values().filter(|it| it.asked["metadata"]["carrel_id"] == id.as_str());
        let only = found.next().expect("the cluster has it").clone();
        assert!(found.next().is_none(), "the cluster has it twice");
        only
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap()
    }
}

type House = State<Arc<Shared>>;

fn refuse(status: u16, message: &str) -> Response {
    let body = json!({"code": status, "message": message});
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}

/// Checks the key, and whether the cluster is in a mood.
async fn at_the_door(State(shared): House, request: Request, next: Next) -> Response {
    let question = format!("{} {}", request.method(), request.uri().path());
    let key = request.headers().get("x-api-key").and_then(|key| key.to_str().ok().map(str::to_owned));
    let mood = {
        let mut ledger = shared.ledger();
        ledger.questions.push(question.clone());
        let place = ledger.moods.iter().position(|(asked, _)| question.starts_with(asked));
        place.and_then(|place| ledger.moods.remove(place))
    };
    if question.starts_with("PUT ") {
        assert_eq!(key, None, "the key is shown to nobody but the control plane");
        return next.run(request).await;
    }
    if key.as_deref() != Some(KEY) {
        return refuse(401, "Invalid API key");
    }
    let Some((_, mood)) = mood else { return next.run(request).await };
    if mood.after_the_work {
        let _ = next.run(request).await;
    }
    let mut response = Response::builder().status(mood.status);
    for (name, value) in mood.headers {
        response = response.header(name, HeaderValue::from_static(value));
    }
    response.body(Body::from(mood.body.to_string())).unwrap()
}

fn opened(id: &str) -> Value {
    json!({
        "templateID": "base", "sandboxID": id, "clientID": "node-1", "envdVersion": "0.6.13", "alias": "base",
        "envdAccessToken": format!("token-of-{id}"), "trafficAccessToken": format!("traffic-of-{id}"), "domain": null,
    })
}

fn seconds(value: &Value, usual: i64) -> SignedDuration {
    SignedDuration::from_secs(value.as_i64().unwrap_or(usual))
}

async fn create(State(shared): House, request: Request) -> Response {
    let second = request.uri().path().starts_with("/v2/");
    let name = request.headers().get("idempotency-key").map(|name| name.to_str().unwrap().to_owned());
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let mut ledger = shared.ledger();
    if second && ledger.habits.knows_only_the_first_generation {
        return (StatusCode::METHOD_NOT_ALLOWED, "").into_response();
    }
    let template = asked["templateID"].as_str().unwrap();
    if !["base", "team/tool:v1"].contains(&template) && !ledger.snapshots.contains_key(template) {
        return refuse(if second { 404 } else { 400 }, &format!("template '{template}' not found"));
    }
    if let (Some(most), Some(timeout)) = (ledger.habits.longest_timeout, asked["timeout"].as_i64())
        && timeout > most
    {
        return refuse(400, "Timeout cannot be greater than 1 hours");
    }
    if let Some(made) = name.as_ref().filter(|_| !ledger.habits.forgets_names_of_questions)
        && let Some(made) = ledger.named.get(made)
    {
        return (StatusCode::CREATED, Json(opened(made))).into_response();
    }
    ledger.drawn += 1;
    let id = format!("i{:019}", ledger.drawn);
    let now = Timestamp::now();
    let end_at = now + seconds(&asked["timeout"], 300);
    let sandbox = Sandbox { asked, state: "running", started_at: now, end_at, pause_mode: None };
    ledger.sandboxes.insert(id.clone(), sandbox);
    if let Some(name) = name {
        ledger.named.insert(name, id.clone());
    }
    (StatusCode::CREATED, Json(opened(&id))).into_response()
}

fn shown(id: &str, sandbox: &Sandbox) -> Value {
    json!({
        "templateID": sandbox.asked["templateID"], "sandboxID": id, "clientID": "node-1", "state": sandbox.state,
        "startedAt": sandbox.started_at.to_string(), "endAt": sandbox.end_at.to_string(), "cpuCount": 2,
        "memoryMB": 512, "diskSizeMB": 10240, "envdVersion": "0.6.13", "metadata": sandbox.asked["metadata"],
    })
}

async fn show(State(shared): House, Path(id): Path<String>) -> Response {
    let ledger = shared.ledger();
    let Some(sandbox) = ledger.sandboxes.get(&id) else { return refuse(404, &format!("sandbox \"{id}\" not found")) };
    let mut shown = shown(&id, sandbox);
    shown["pauseMode"] = sandbox.pause_mode.into();
    if sandbox.pause_mode.is_none() {
        shown.as_object_mut().unwrap().remove("pauseMode");
    }
    Json(shown).into_response()
}

/// Undoes one layer of percent signs.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

async fn list(State(shared): House, RawQuery(query): RawQuery) -> Response {
    let query: BTreeMap<String, String> = query
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), decode(value)))
        .collect();
    let ledger = shared.ledger();
    let states = query.get("state").map_or("running,paused", String::as_str);
    let wanted: Vec<(String, String)> = query
        .get("metadata")
        .filter(|_| !ledger.habits.ignores_the_filter)
        .map(|form| form.split('&').filter_map(|pair| pair.split_once('=')).collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .map(|(key, value)| (decode(&decode(key)), decode(&decode(value))))
        .collect();
    let fits = |sandbox: &Sandbox| {
        states.split(',').any(|state| state == sandbox.state)
            && wanted.iter().all(|(key, value)| sandbox.asked["metadata"][key] == value.as_str())
    };
    let found: Vec<Value> = ledger.sandboxes.iter().filter(|(_, it)| fits(it)).map(|(id, it)| shown(id, it)).collect();
    let from: usize = query.get("nextToken").map_or(0, |token| token.parse().unwrap());
    let limit = query.get("limit").map_or(100, |limit| limit.parse().unwrap());
    let limit = ledger.habits.page.unwrap_or(limit).min(limit);
    let mut headers = HeaderMap::new();
    if from + limit < found.len() {
        headers.insert("x-next-token", HeaderValue::from(from + limit));
    }
    (headers, Json(found.into_iter().skip(from).take(limit).collect::<Vec<_>>())).into_response()
}

async fn kill(State(shared): House, Path(id): Path<String>) -> Response {
    match shared.ledger().sandboxes.remove(&id) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => refuse(404, &format!("sandbox \"{id}\" not found")),
    }
}

async fn metrics(State(shared): House, Path((id, what)): Path<(String, String)>) -> Response {
    let ledger = shared.ledger();
    match (ledger.sandboxes.contains_key(&id), what.as_str()) {
        (true, "metrics") => {
            let one = |used: u64| {
                json!({
                    "timestamp": "2026-11-15T18:23:40Z", "timestampUnix": 1, "cpuCount": 2, "cpuUsedPct": 1.5,
                    "memUsed": used, "memTotal": 512, "memCache": 10, "diskUsed": 7, "diskTotal": 100,
                })
            };
            Json(vec![one(100), one(200)]).into_response()
        }
        _ => refuse(404, "not found"),
    }
}

async fn verb(state: House, Path((id, verb)): Path<(String, String)>, body: axum::body::Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if verb == "connect" {
        return connect(state, Path(id), Json(body)).await;
    }
    let mut ledger = state.0.ledger();
    let ledger = &mut *ledger;
    let Some(sandbox) = ledger.sandboxes.get_mut(&id) else { return refuse(404, "sandbox not found") };
    match verb.as_str() {
        "timeout" if sandbox.state == "running" => {
            if ledger.habits.longest_timeout.is_some_and(|most| body["timeout"].as_i64() > Some(most)) {
                return refuse(400, "Timeout cannot be greater than 1 hours");
            }
            sandbox.end_at = Timestamp::now() + seconds(&body["timeout"], 15);
            StatusCode::NO_CONTENT.into_response()
        }
        "timeout" => refuse(404, "sandbox not running"),
        "pause" if sandbox.state == "paused" => refuse(409, "sandbox is already paused"),
        "pause" => {
            let memory = body["memory"].as_bool().unwrap_or(true);
            if !memory && ledger.habits.no_files_only_pause {
                return refuse(400, "filesystem-only pause is not enabled");
            }
            sandbox.state = "paused";
            sandbox.pause_mode = Some(if memory { "full" } else { "filesystem" });
            sandbox.end_at = Timestamp::now();
            StatusCode::NO_CONTENT.into_response()
        }
        "snapshots" => {
            let name = body["name"].as_str().unwrap();
            let snapshot = format!("team/{name}:default");
            ledger.snapshots.insert(snapshot.clone(), id);
            (StatusCode::CREATED, Json(json!({"snapshotID": snapshot, "names": [snapshot]}))).into_response()
        }
        _ => refuse(404, "not found"),
    }
}

async fn connect(State(shared): House, Path(id): Path<String>, Json(body): Json<Value>) -> Response {
    let mut ledger = shared.ledger();
    let Some(sandbox) = ledger.sandboxes.get_mut(&id) else { return refuse(404, "sandbox not found") };
    let was = sandbox.state;
    if sandbox.pause_mode == Some("filesystem") && body["memory"] != json!(false) {
        return refuse(400, "the sandbox has no memory to resume from");
    }
    (sandbox.state, sandbox.pause_mode) = ("running", None);
    sandbox.end_at = sandbox.end_at.max(Timestamp::now() + seconds(&body["timeout"], 300));
    let status = if was == "paused" { StatusCode::CREATED } else { StatusCode::OK };
    (status, Json(opened(&id))).into_response()
}

async fn snapshots(State(shared): House) -> Response {
    let ledger = shared.ledger();
    let shown: Vec<_> = ledger.snapshots.keys().map(|id| json!({"snapshotID": id, "names": [id]})).collect();
    Json(shown).into_response()
}

async fn templates() -> Response {
    let one = json!({
        "templateID": "rki5dems9wqfm4r03t7g", "buildID": "00000000-0000-0000-0000-000000000000", "cpuCount": 2,
        "memoryMB": 1024, "diskSizeMB": 5120, "public": false, "aliases": ["tool"], "names": ["team/tool"],
        "createdAt": "2026-11-15T18:23:40Z", "updatedAt": "2026-11-15T18:23:40Z", "createdBy": null,
        "lastSpawnedAt": null, "spawnCount": 0, "buildCount": 1, "envdVersion": "0.6.13", "buildStatus": "ready",
    });
    Json(vec![one]).into_response()
}

async fn forget(State(shared): House, Path(id): Path<String>) -> Response {
    match shared.ledger().snapshots.remove(&id) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => refuse(404, "template not found"),
    }
}

async fn begin_build(State(shared): House, Json(asked): Json<Value>) -> Response {
    let name = asked["name"].as_str().unwrap().to_owned();
    shared.ledger().builds.insert(name.clone(), Value::Null);
    let body = json!({
        "templateID": name, "buildID": "build-1", "public": false, "names": [name], "tags": [], "aliases": [],
    });
    (StatusCode::ACCEPTED, Json(body)).into_response()
}

async fn files(State(shared): House, Path((id, hash)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let host = headers["host"].to_str().unwrap();
    let present = shared.ledger().files.contains_key(&hash);
    let url = format!("http://{host}/templates/{id}/files/{hash}");
    (StatusCode::CREATED, Json(json!({"present": present, "url": url, "headers": {"x-part": "one"}}))).into_response()
}

async fn put_files(
    State(shared): House,
    Path((_, hash)): Path<(String, String)>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Response {
    assert_eq!(
        (headers["x-part"].to_str().unwrap(), headers["content-length"].to_str().unwrap()),
        ("one", body.len().to_string().as_str())
    );
    shared.ledger().files.insert(hash, body.to_vec());
    StatusCode::OK.into_response()
}

async fn start_build(
    State(shared): House,
    Path((id, _)): Path<(String, String)>,
    Json(asked): Json<Value>,
) -> Response {
    shared.ledger().builds.insert(id, asked);
    StatusCode::ACCEPTED.into_response()
}

/// Says something at each of the first three looks, and is ready at the third. A step `RUN false` fails.
async fn build_status(
    State(shared): House,
    Path((id, build)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = query.unwrap_or_default();
    let offset: usize = query.split('&').find_map(|pair| pair.strip_prefix("logsOffset=")).unwrap().parse().unwrap();
    let lines = ["one", "two", "three"];
    let said: Vec<_> = lines
        .iter()
        .skip(offset)
        .take(1)
        .map(|line| json!({"message": line, "level": "info", "timestamp": "2026-11-15T18:23:40Z"}))
        .collect();
    let failed = shared.ledger().builds[&id]["steps"].to_string().contains("\"false\"");
    let status = match (offset, failed) {
        (0 | 1, _) => "building",
        (_, true) => "error",
        (_, false) => "ready",
    };
    let mut body = json!({"templateID": id, "buildID": build, "status": status, "logs": [], "logEntries": said});
    if status == "error" {
        body["reason"] = json!({"message": "command 'false' failed with exit code 1", "step": "1"});
    }
    Json(body).into_response()
}
