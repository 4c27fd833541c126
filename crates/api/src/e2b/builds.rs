//! Builds: what the SDKs' template builder asks for, one question after the other.
//!
//! ```text
//! POST /v3/templates                       a name and a build
//! GET  /templates/{id}/files/{hash}        where to put the files of a COPY
//! PUT  /templates/{id}/files/{hash}        the files, by the link from before
//! POST /v2/templates/{id}/builds/{build}   the steps
//! GET  …/builds/{build}/status             again and again, until it is ready
//! ```

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use axum::{
    Router,
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use carrel_control::{BuildStep, FilesHash, Steps, new_uuid};
use carrel_model::{Grant, TemplateName, Timestamp, template::TemplatePhase};
use futures::{StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Body, Caller, Query},
    names,
    tags::name_again,
    templates::{Titled, find, status},
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/v3/templates", post(begin))
        .route("/v2/templates", post(begin))
        .route("/templates/{tid}/files/{hash}", get(files_link).put(upload))
        .route("/v2/templates/{tid}/builds/{bid}", post(start))
        .route("/templates/{tid}/builds/{bid}/status", get(show_status))
        .route("/templates/{tid}/builds/{bid}/logs", get(show_logs))
}

/// An upload link is good for so long.
const TICKET: Duration = Duration::from_secs(3600);
/// So many builds are remembered; the oldest goes.
const MOST: usize = 1000;

/// The builds that were asked for, and the links that were given out.
#[derive(Default)]
pub(crate) struct Builds {
    builds: Mutex<HashMap<String, Build>>,
    tickets: Mutex<HashMap<String, Ticket>>,
}

struct Build {
    name: TemplateName,
    /// Its other names.
    tags: Vec<TemplateName>,
    since: Instant,
    status: &'static str,
    entries: Vec<Entry>,
    reason: Option<String>,
}

#[derive(Debug, Clone)]
struct Entry {
    at: Timestamp,
    message: String,
    level: &'static str,
}

struct Ticket {
    grant: Grant,
    name: TemplateName,
    files: FilesHash,
    until: Instant,
}

impl Builds {
    fn builds(&self) -> MutexGuard<'_, HashMap<String, Build>> {
        self.builds.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn tickets(&self) -> MutexGuard<'_, HashMap<String, Ticket>> {
        self.tickets.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn keep(&self, id: String, build: Build) {
        let mut builds = self.builds();
        if builds.len() >= MOST {
            let oldest = builds.iter().min_by_key(|(_, build)| build.since).map(|(id, _)| id.clone());
            oldest.and_then(|oldest| builds.remove(&oldest));
        }
        builds.insert(id, build);
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Build)) {
        if let Some(build) = self.builds().get_mut(id) {
            change(build);
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct New {
    name: Option<String>,
    alias: Option<String>,
    tags: Option<Vec<String>>,
}

async fn begin(State(doors): State<Doors>, Caller(_): Caller, Body(asked): Body<New>) -> Result<Response, Refusal> {
    let given = asked.name.or(asked.alias).ok_or_else(|| Refusal::malformed("`name` is missing."))?;
    let given = given.trim().to_ascii_lowercase();
    let (base, tag) = names::split(&given);
    let mut tags: Vec<String> = asked.tags.unwrap_or_default();
    if given.contains(':') {
        tags.insert(0, tag.to_owned());
    }
    if tags.is_empty() {
        tags.push(tag.to_owned());
    }
    let named: Result<Vec<_>, _> = tags.iter().map(|tag| names::ours(&names::tagged(base, tag))).collect();
    let mut named = named?;
    named.dedup();
    if named.iter().any(|name| names::theirs(name) == names::BASE || name.as_str().starts_with("snapshot/")) {
        return Err(Refusal::malformed(format!("the name `{base}` belongs to the house; choose another")));
    }
    let (id, name) = (new_uuid(), named.remove(0));
    let body = json!({
        "templateID": names::theirs(&name),
        "buildID": id,
        "public": false,
        "names": [base],
        "tags": tags,
        "aliases": [base],
    });
    let since = Instant::now();
    doors.e2b.builds.keep(id, Build { name, tags: named, since, status: "waiting", entries: Vec::new(), reason: None });
    Ok((StatusCode::ACCEPTED, axum::Json(body)).into_response())
}

fn hash_in(path: &[(String, String)]) -> Result<FilesHash, Refusal> {
    let text = path.iter().find(|(name, _)| name == "hash").map_or("", |(_, value)| value);
    text.parse().map_err(|malformed: carrel_model::Malformed| Refusal::malformed(format!("{}.", malformed.rule)))
}

async fn files_link(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    headers: HeaderMap,
    Titled(name): Titled,
    Path(path): Path<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let files = hash_in(&path)?;
    let present = doors.control.templates().has_files(&grant, &name, &files).await?;
    let mut body = json!({ "present": present });
    if !present {
        let ticket = new_uuid();
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        let scheme = if doors.options.secure { "https" } else { "http" };
        let text = path.iter().find(|(name, _)| name == "hash").map_or("", |(_, value)| value);
        let tid: String = form_urlencoded::byte_serialize(name.as_str().as_bytes()).collect();
        body["url"] = format!("{scheme}://{host}/templates/{tid}/files/{text}?ticket={ticket}").into();
        let now = Instant::now();
        let mut tickets = doors.e2b.builds.tickets();
        tickets.retain(|_, ticket| ticket.until > now);
        tickets.insert(ticket, Ticket { grant, name, files, until: now + TICKET });
    }
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

#[derive(Debug, Deserialize)]
struct Shown {
    #[serde(default)]
    ticket: String,
}

/// Whoever comes with the link may put there what it is for, once.
async fn upload(
    State(doors): State<Doors>,
    Path(path): Path<Vec<(String, String)>>,
    Query(shown): Query<Shown>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let files = hash_in(&path)?;
    let ticket = doors.e2b.builds.tickets().remove(&shown.ticket);
    let ticket = ticket.filter(|ticket| ticket.files == files && ticket.until > Instant::now());
    let ticket = ticket.ok_or_else(|| Refusal::new(403, "this upload link is unknown, used or too old"))?;
    let content = request.into_body().into_data_stream().map_err(std::io::Error::other).boxed();
    doors.control.templates().keep_files(&ticket.grant, &ticket.name, &files, content).await?;
    Ok(StatusCode::OK)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    from_image: Option<String>,
    from_template: Option<String>,
    from_image_registry: Option<Registry>,
    #[serde(default)]
    force: bool,
    start_cmd: Option<String>,
    ready_cmd: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Registry {
    #[serde(rename = "type")]
    kind: String,
    username: Option<String>,
    password: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    args: Vec<String>,
    files_hash: Option<String>,
    #[serde(default)]
    force: bool,
}

impl Start {
    fn understood(self) -> Result<Steps, Refusal> {
        let anew = self.force || self.steps.iter().any(|step| step.force);
        let login = match self.from_image_registry {
            None => None,
            Some(Registry { kind, username: Some(username), password: Some(password) }) if kind == "registry" => {
                Some((username, password.into()))
            }
            Some(Registry { kind, .. }) => {
                return Err(Refusal::malformed(format!(
                    "Registries of the kind `{kind}` are not supported by this server; use a user name and a password."
                )));
            }
        };
        // What names one of ours is that one; anything else is an image.
        let from = match (self.from_template, self.from_image) {
            (Some(template), _) => names::ours(&template)?.to_string(),
            (None, Some(image)) if image.starts_with("e2bdev/") => names::ours(&image)?.to_string(),
            (None, Some(image)) => image,
            (None, None) => names::ours(names::BASE)?.to_string(),
        };
        let steps: Result<Vec<_>, _> = self.steps.into_iter().map(Step::understood).collect();
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(Steps { from, login, anew, steps: steps?, start: given(self.start_cmd), ready: given(self.ready_cmd) })
    }
}

impl Step {
    fn understood(self) -> Result<BuildStep, Refusal> {
        let Step { kind, mut args, files_hash, .. } = self;
        let wrong = |why: &str| Refusal::malformed(format!("A step `{kind}` {why}."));
        let mut given = args.drain(..);
        let first = given.next().ok_or_else(|| wrong("has no arguments"))?;
        let mut next = || given.next().filter(|text| !text.is_empty());
        Ok(match kind.to_ascii_uppercase().as_str() {
            "RUN" => BuildStep::Run(first, next()),
            "WORKDIR" => BuildStep::Workdir(first),
            "USER" => BuildStep::User(first),
            "ENV" => {
                let rest: Vec<String> = std::iter::once(first).chain(given).collect();
                let (pairs, odd) = rest.as_chunks::<2>();
                if !odd.is_empty() {
                    return Err(wrong("needs a value for each name"));
                }
                BuildStep::Env(pairs.iter().cloned().map(|[name, value]| (name, value)).collect())
            }
            "COPY" => {
                let destination = next().ok_or_else(|| wrong("says not where to"))?;
                let owner = next();
                let mode = next().map(|mode| u32::from_str_radix(&mode, 8)).transpose();
                let files = files_hash.ok_or_else(|| wrong("has no `filesHash`"))?;
                BuildStep::Copy {
                    files: files.parse().map_err(|_| wrong("has a `filesHash` that is none"))?,
                    source: first,
                    destination,
                    owner,
                    mode: mode.map_err(|_| wrong("has permissions that are not octal"))?,
                }
            }
            _ => return Err(wrong("is not known")),
        })
    }
}

fn build_in(path: &[(String, String)]) -> &str {
    path.iter().find(|(name, _)| name == "bid").map_or("", |(_, value)| value)
}

async fn start(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(_): Titled,
    Path(path): Path<Vec<(String, String)>>,
    Body(asked): Body<Start>,
) -> Result<StatusCode, Refusal> {
    let id = build_in(&path).to_owned();
    let (name, tags) = {
        let builds = doors.e2b.builds.builds();
        let build = builds.get(&id).ok_or_else(|| no_build(&id))?;
        if build.status != "waiting" {
            return Err(Refusal::new(409, format!("build {id} was started before")));
        }
        (build.name.clone(), build.tags.clone())
    };
    let steps = asked.understood()?;
    doors.control.templates().make_of(&grant, name.clone(), None, steps).await?;
    doors.e2b.builds.change(&id, |build| build.status = "building");
    tokio::spawn(async move {
        let followed = follow(&doors, &grant, &id, &name, &tags).await;
        doors.e2b.builds.change(&id, |build| match followed {
            Ok(()) => build.status = "ready",
            Err(why) => {
                build.entries.push(Entry { at: doors.control.now(), message: why.clone(), level: "error" });
                (build.status, build.reason) = ("error", Some(why));
            }
        });
    });
    Ok(StatusCode::ACCEPTED)
}

fn no_build(id: &str) -> Refusal {
    let shown: String = id.chars().take(64).collect();
    Refusal::new(404, format!("build '{shown}' not found"))
}

/// Writes down how a build goes until it has ended, and gives it its other names.
async fn follow(
    doors: &Doors,
    grant: &Grant,
    id: &str,
    name: &TemplateName,
    tags: &[TemplateName],
) -> Result<(), String> {
    let desk = doors.control.templates();
    let mut log = desk.log(grant, name, 0).await.map_err(|error| error.to_string())?;
    let mut line = Vec::new();
    while let Some(chunks) = log.next().await.map_err(|error| error.to_string())? {
        let mut entries = Vec::new();
        for byte in chunks.iter().flat_map(|chunk| chunk.bytes.iter()) {
            if *byte == b'\n' {
                let message = String::from_utf8_lossy(&line).into_owned();
                entries.push(Entry { at: doors.control.now(), message, level: "info" });
                line.clear();
            } else {
                line.push(*byte);
            }
        }
        doors.e2b.builds.change(id, |build| build.entries.extend(entries));
    }
    let made = desk.get(grant, name).await.map_err(|error| error.to_string())?;
    if made.phase != TemplatePhase::Ready {
        return Err(made.note.unwrap_or_else(|| "it could not be made".into()));
    }
    for tag in tags {
        name_again(doors, grant, name, tag.clone()).await.map_err(|refusal| refusal.body()["message"].to_string())?;
    }
    Ok(())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ask {
    logs_offset: usize,
    limit: Option<usize>,
    level: Option<String>,
}

async fn show_status(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
    Path(path): Path<Vec<(String, String)>>,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Value>, Refusal> {
    let id = build_in(&path).to_owned();
    let known = {
        let builds = doors.e2b.builds.builds();
        builds.get(&id).map(|build| (build.status, build.entries.clone(), build.reason.clone()))
    };
    // After a restart the template itself is all that is remembered.
    let (status, entries, reason) = match known {
        Some(known) => known,
        None => {
            let view = find(&doors, &grant, &name).await.map_err(|_| no_build(&id))?;
            (status(view.phase), Vec::new(), view.note)
        }
    };
    let entries: Vec<Value> = taken(&entries, &ask).map(shown).collect();
    let lines: Vec<&Value> = entries.iter().map(|entry| &entry["message"]).collect();
    let mut body = json!({
        "templateID": names::theirs(&name),
        "buildID": id,
        "status": status,
        "logs": lines,
        "logEntries": entries,
    });
    if let Some(reason) = reason.filter(|_| status == "error") {
        body["reason"] = json!({ "message": reason });
        if let Some(step) = step_in(&reason) {
            body["reason"]["step"] = step.into();
        }
    }
    Ok(axum::Json(body))
}

fn taken<'e>(entries: &'e [Entry], ask: &Ask) -> impl Iterator<Item = &'e Entry> {
    let errors_alone = matches!(ask.level.as_deref(), Some("warn" | "error"));
    let skipped = entries.iter().skip(ask.logs_offset).take(ask.limit.unwrap_or(100).clamp(1, 1000));
    skipped.filter(move |entry| !errors_alone || entry.level == "error")
}

fn shown(entry: &Entry) -> Value {
    let mut shown = json!({ "timestamp": entry.at.to_string(), "message": entry.message, "level": entry.level });
    if let Some(step) = step_in(&entry.message) {
        shown["step"] = step.into();
    }
    shown
}

/// The step that a sentence of the builder is about; the SDKs show its line in their user's code.
fn step_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("step ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(digits).filter(|digits| !digits.is_empty())
}

async fn show_logs(
    State(doors): State<Doors>,
    Caller(_): Caller,
    Titled(_): Titled,
    Path(path): Path<Vec<(String, String)>>,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Value>, Refusal> {
    let id = build_in(&path);
    let entries = doors.e2b.builds.builds().get(id).map(|build| build.entries.clone());
    let entries = entries.ok_or_else(|| no_build(id))?;
    Ok(axum::Json(json!({ "logs": taken(&entries, &ask).map(shown).collect::<Vec<_>>() })))
}
