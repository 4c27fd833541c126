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
use carrel_model::{
    Grant, TemplateName, Timestamp,
    number::Cpus,
    public::NewLimits,
    sandbox::{DiskMb, MemoryMb},
};
use futures::{StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Body, Caller, Query},
    interpreter, names,
    tags::name_again,
    templates::{Titled, build_id, find, status},
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
    /// How much a sandbox on it may use, as far as anybody said.
    limits: NewLimits,
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
    /// The step that was under way.
    step: Option<usize>,
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
    cpu_count: Option<u64>,
    #[serde(rename = "memoryMB")]
    memory_mb: Option<u64>,
    min_free_disk_mb: Option<u64>,
}

impl New {
    /// The size of its sandboxes. E2B takes whole processors, and memory from 128 MiB on.
    fn limits(&self) -> Result<NewLimits, Refusal> {
        let cpus = self.cpu_count.map(|count| {
            let cpus = (count >= 1).then(|| Cpus::new(count as f64)).flatten();
            cpus.ok_or_else(|| Refusal::malformed("`cpuCount`: expected a whole number from 1 to 64."))
        });
        let memory = self.memory_mb.map(|size| {
            let memory = MemoryMb::new(size).filter(|_| size >= 128);
            memory.ok_or_else(|| Refusal::malformed("`memoryMB`: expected a whole number from 128 to 1048576."))
        });
        // What is free at the start is what a sandbox may write.
        let disk = self.min_free_disk_mb.filter(|size| *size > 0).map(|size| {
            let disk = DiskMb::new(size);
            disk.ok_or_else(|| Refusal::malformed("`minFreeDiskMb`: expected a whole number from 16 to 16777216."))
        });
        let (cpus, memory_mb, disk_mb) = (cpus.transpose()?, memory.transpose()?, disk.transpose()?);
        Ok(NewLimits { cpus, memory_mb, disk_mb, ..NewLimits::default() })
    }
}

async fn begin(State(doors): State<Doors>, Caller(_): Caller, Body(asked): Body<New>) -> Result<Response, Refusal> {
    let limits = asked.limits()?;
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
    let (status, entries, reason) = ("waiting", Vec::new(), None);
    doors.e2b.builds.keep(id, Build { name, tags: named, limits, since, status, entries, reason });
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
    fn understood(self, build: &str, limits: NewLimits) -> Result<Steps, Refusal> {
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
        // A template is one of ours, which whoever starts has looked for; only the other may be an image.
        let from = match (self.from_template, self.from_image) {
            (Some(template), _) => names::ours(&template)?.to_string(),
            (None, Some(image)) if image.starts_with("e2bdev/") => names::ours(&image)?.to_string(),
            (None, Some(image)) => image,
            (None, None) => names::ours(names::BASE)?.to_string(),
        };
        let steps: Result<Vec<_>, _> = self.steps.into_iter().map(Step::understood).collect();
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (start, ready) = (given(self.start_cmd), given(self.ready_cmd));
        Ok(Steps { from, login, anew, steps: steps?, start, ready, limits, build: Some(build.to_owned()) })
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
    let (name, tags, limits) = {
        let builds = doors.e2b.builds.builds();
        let build = builds.get(&id).ok_or_else(|| no_build(&id))?;
        if build.status != "waiting" {
            return Err(Refusal::new(409, format!("build {id} was started before")));
        }
        (build.name.clone(), build.tags.clone(), build.limits.clone())
    };
    if let Some(template) = &asked.from_template {
        begin_with(&doors, &grant, template).await?;
    }
    let steps = asked.understood(&id, limits)?;
    doors.control.templates().make_of(&grant, name.clone(), None, steps).await?;
    doors.e2b.builds.change(&id, |build| build.status = "building");
    tokio::spawn(async move {
        let followed = follow(&doors, &grant, &id, &name, &tags).await;
        doors.e2b.builds.change(&id, |build| match followed {
            Ok(()) => build.status = "ready",
            Err(why) => {
                let step = step_in(&why);
                build.entries.push(Entry { at: doors.control.now(), message: why.clone(), level: "error", step });
                (build.status, build.reason) = ("error", Some(why));
            }
        });
    });
    Ok(StatusCode::ACCEPTED)
}

/// Makes sure that there is the template that another begins with: what is no template of ours is not looked for among images.
async fn begin_with(doors: &Doors, grant: &Grant, text: &str) -> Result<(), Refusal> {
    let name = names::ours(text)?;
    if name.as_str() == names::INTERPRETER && !doors.control.templates().is_ready(&name) {
        return interpreter::prepare(doors, grant, &name).await;
    }
    find(doors, grant, &name).await.map(drop).map_err(|refusal| match refusal.is_not_found() {
        true => {
            let shown: String = text.chars().take(128).collect();
            let hint = "`fromTemplate` names a template of this server, and an image is begun with by `fromImage`";
            Refusal::new(404, format!("template '{shown}' not found: {hint}"))
        }
        false => refusal,
    })
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
    let mut lines = Lines::default();
    while let Some(chunks) = log.next().await.map_err(|error| error.to_string())? {
        let entries = lines.of(chunks.iter().flat_map(|chunk| chunk.bytes.iter()), doors.control.now());
        doors.e2b.builds.change(id, |build| build.entries.extend(entries));
    }
    let made = desk.get(grant, name).await.map_err(|error| error.to_string())?;
    if let Some(why) = made.failure() {
        return Err(why.to_owned());
    }
    for tag in tags {
        let named = name_again(doors, grant, name, tag.clone(), id).await;
        named.map_err(|refusal| refusal.body()["message"].to_string())?;
    }
    Ok(())
}

/// Cuts what a builder prints into lines, and knows which step each belongs to.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
    step: Option<usize>,
    /// How many there are.
    count: Option<usize>,
}

impl Lines {
    fn of<'b>(&mut self, bytes: impl Iterator<Item = &'b u8>, at: Timestamp) -> Vec<Entry> {
        let mut entries = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let message = String::from_utf8_lossy(&self.line).into_owned();
            self.line.clear();
            // Steps are counted, one after the other: what a command prints of others is not taken for it.
            if let Some((number, count)) = begins(&message)
                && number == self.step.unwrap_or(0) + 1
                && self.count.is_none_or(|known| known == count)
            {
                (self.step, self.count) = (Some(number), Some(count));
            }
            entries.push(Entry { at, message, level: "info", step: self.step });
        }
        entries
    }
}

/// The step that begins with this line, and how many there are: `step 2/5 RUN …`.
fn begins(line: &str) -> Option<(usize, usize)> {
    let (number, rest) = line.strip_prefix("step ")?.split_once('/')?;
    let (count, _) = rest.split_once(' ')?;
    let (number, count) = (number.parse().ok()?, count.parse::<usize>().ok()?);
    (1..=count).contains(&number).then_some((number, count))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ask {
    logs_offset: usize,
    limit: Option<usize>,
    level: Option<String>,
    /// From this millisecond on, or up to it.
    cursor: Option<i64>,
    direction: Option<String>,
    source: Option<String>,
}

impl Ask {
    fn check(&self) -> Result<(), Refusal> {
        let odd =
            |given: &Option<String>, known: &[&str]| given.as_ref().is_some_and(|it| !known.contains(&it.as_str()));
        if odd(&self.level, &["debug", "info", "warn", "error"]) {
            return Err(Refusal::malformed("`level` is debug, info, warn or error."));
        }
        if odd(&self.direction, &["forward", "backward"]) {
            return Err(Refusal::malformed("`direction` is forward or backward."));
        }
        if odd(&self.source, &["temporary", "persistent"]) {
            return Err(Refusal::malformed("`source` is temporary or persistent."));
        }
        Ok(())
    }

    /// What is asked for of all that was said.
    fn taken(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        let backward = self.direction.as_deref() == Some("backward");
        if let Some(from) = self.cursor {
            entries.retain(|entry| match backward {
                true => entry.at.as_millisecond() <= from,
                false => entry.at.as_millisecond() >= from,
            });
        }
        if backward {
            entries.reverse();
        }
        let errors_alone = matches!(self.level.as_deref(), Some("warn" | "error"));
        let most = self.limit.unwrap_or(100).clamp(1, 1000);
        let taken = entries.into_iter().skip(self.logs_offset).take(most);
        taken.filter(|entry| !errors_alone || entry.level == "error").collect()
    }
}

/// How a build went: what is remembered of it, or what was written down when that was in an earlier life.
async fn recalled(
    doors: &Doors,
    grant: &Grant,
    name: &TemplateName,
    id: &str,
) -> Result<(&'static str, Vec<Entry>, Option<String>), Refusal> {
    let known = {
        let builds = doors.e2b.builds.builds();
        builds.get(id).map(|build| (build.status, build.entries.clone(), build.reason.clone()))
    };
    if let Some(known) = known {
        return Ok(known);
    }
    let view = find(doors, grant, name).await.map_err(|_| no_build(id))?;
    let is_named = view.source.as_ref().is_some_and(|source| source.get("build_id").is_some());
    if is_named && build_id(&view) != id {
        return Err(no_build(id));
    }
    let mut entries = Vec::new();
    // One that is under way is not waited for: whoever asks, asks again.
    if view.phase.is_settled() {
        let mut lines = Lines::default();
        let at = view.ready_at.or(view.updated_at).unwrap_or_else(|| doors.control.now());
        if let Ok(mut log) = doors.control.templates().log(grant, name, 0).await {
            while let Ok(Some(chunks)) = log.next().await {
                entries.extend(lines.of(chunks.iter().flat_map(|chunk| chunk.bytes.iter()), at));
            }
        }
    }
    let failed = view.failure().map(str::to_owned);
    Ok((if failed.is_some() { "error" } else { status(view.phase) }, entries, failed))
}

async fn show_status(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
    Path(path): Path<Vec<(String, String)>>,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Value>, Refusal> {
    let id = build_in(&path).to_owned();
    ask.check()?;
    let (status, entries, reason) = recalled(&doors, &grant, &name, &id).await?;
    let entries: Vec<Value> = ask.taken(entries).iter().map(shown).collect();
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
            body["reason"]["step"] = step.to_string().into();
        }
    }
    Ok(axum::Json(body))
}

fn shown(entry: &Entry) -> Value {
    let mut shown = json!({ "timestamp": entry.at.to_string(), "message": entry.message, "level": entry.level });
    if let Some(step) = entry.step {
        shown["step"] = step.to_string().into();
    }
    shown
}

/// The step that a failure was in, as its sentence begins; the SDKs show its line in their user's code.
fn step_in(why: &str) -> Option<usize> {
    let (_, rest) = why.split_once("It could not be made: step ")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

async fn show_logs(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
    Path(path): Path<Vec<(String, String)>>,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Value>, Refusal> {
    ask.check()?;
    let (_, entries, _) = recalled(&doors, &grant, &name, build_in(&path)).await?;
    Ok(axum::Json(json!({ "logs": ask.taken(entries).iter().map(shown).collect::<Vec<_>>() })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_prints_of_steps_is_not_taken_for_the_builders() {
        let said =
            "FROM host\nstep 1/2 RUN a\nin step 2 of my own\nstep 2/9 x\nstep 9/9 x\nstep 2/2 RUN b\nstep 1/2 y\n";
        let entries = Lines::default().of(said.as_bytes().iter(), Timestamp::UNIX_EPOCH);
        let steps: Vec<_> = entries.iter().map(|entry| entry.step).collect();
        assert_eq!(steps, [None, Some(1), Some(1), Some(1), Some(1), Some(2), Some(2)]);
        let failed = "It could not be made: step 2 (line 2) failed: `echo step 7`.";
        assert_eq!(step_in(failed), Some(2));
        assert_eq!(step_in("It could not be made: there is no step 7 anywhere."), None);
    }

    #[test]
    fn a_size_is_taken_as_e2b_takes_it() {
        let of = |body: Value| serde_json::from_value::<New>(body).expect("a question").limits();
        let limits = of(json!({"name": "x", "cpuCount": 4, "memoryMB": 2048})).expect("a size");
        assert_eq!((limits.cpus.map(Cpus::get), limits.memory_mb.map(MemoryMb::get)), (Some(4.0), Some(2048)));
        assert_eq!(of(json!({"name": "x"})).expect("no size"), NewLimits::default());
        for bad in [json!({"cpuCount": 0}), json!({"cpuCount": 65}), json!({"memoryMB": 127})] {
            assert!(of(bad.clone()).is_err(), "{bad}");
        }
    }
}
