//! Templates: what there is, under which names, and how one is forgotten.

use axum::{
    Router,
    extract::{FromRequestParts, Path, State},
    http::{HeaderName, HeaderValue, StatusCode, request::Parts},
    response::{IntoResponse, Response},
    routing::get,
};
use carrel_control::{Error, uuid_of};
use carrel_model::{
    Grant, TemplateName, Timestamp,
    public::TemplateView,
    template::{SNAPSHOT, TemplatePhase},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Body, Caller, Query},
    names, words,
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/templates", get(list).post(outdated))
        .route("/v2/templates", get(list))
        .route("/default-templates", get(defaults))
        .route("/templates/{tid}", get(show).delete(forget).patch(publish).post(outdated))
        .route("/templates/{tid}/builds/{bid}", axum::routing::post(outdated))
        .route("/v2/templates/{tid}", axum::routing::patch(publish))
        .route("/templates/aliases/{tid}", get(alias))
        .route("/teams", get(teams))
        .route("/teams/{team}/metrics", get(team_metrics))
        .route("/teams/{team}/metrics/max", get(team_metrics))
}

/// A template that is named in the path.
pub(super) struct Titled(pub(super) TemplateName);

impl FromRequestParts<Doors> for Titled {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Refusal> {
        let Path(named) = Path::<Vec<(String, String)>>::from_request_parts(parts, doors)
            .await
            .map_err(|_| Refusal::malformed("The path is not UTF-8."))?;
        let text = named.iter().find(|(name, _)| name == "tid").map_or("", |(_, value)| value);
        names::ours(text).map(Titled).map_err(|_| no_template(text))
    }
}

pub(super) fn no_template(text: &str) -> Refusal {
    let shown: String = text.chars().take(128).collect();
    Refusal::new(404, format!("template '{shown}' not found"))
}

/// A template that there is.
pub(super) async fn find(doors: &Doors, grant: &Grant, name: &TemplateName) -> Result<TemplateView, Refusal> {
    doors.control.templates().get(grant, name).await.map_err(|error| match error {
        Error::NotFound { .. } => no_template(names::theirs(name)),
        error => error.into(),
    })
}

/// The name of its last making.
pub(super) fn build_id(view: &TemplateView) -> String {
    let told = view.source.as_ref().and_then(|source| source.get("build_id")).and_then(Value::as_str);
    told.map_or_else(|| uuid_of(&format!("{} {:?}", view.name, view.created_at)), str::to_owned)
}

pub(super) fn status(phase: TemplatePhase) -> &'static str {
    match phase {
        TemplatePhase::Requested => "waiting",
        TemplatePhase::Building => "building",
        TemplatePhase::Ready => "ready",
        TemplatePhase::Failed => "error",
    }
}

fn shown(doors: &Doors, view: &TemplateView) -> Value {
    let name = names::theirs(&view.name);
    let made = view.created_at.or(view.ready_at).unwrap_or(Timestamp::UNIX_EPOCH);
    let (usual, own) = (doors.control.usual_limits(), view.limits());
    json!({
        "templateID": name,
        "buildID": build_id(view),
        "cpuCount": own.cpus.unwrap_or(usual.cpus).get().ceil() as u64,
        "memoryMB": own.memory_mb.unwrap_or(usual.memory_mb).get(),
        "diskSizeMB": own.disk_mb.unwrap_or(usual.disk_mb).get(),
        "public": false,
        "aliases": [name],
        "names": [name],
        "createdAt": made.to_string(),
        "updatedAt": view.updated_at.unwrap_or(made).to_string(),
        "createdBy": null,
        "lastSpawnedAt": null,
        "spawnCount": 0,
        "buildCount": 1,
        "envdVersion": words::ENVD_VERSION,
        "buildStatus": status(view.phase),
        "isDefault": view.created_by.is_none(),
        "description": view.origin,
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ask {
    limit: Option<usize>,
    next_token: Option<String>,
}

async fn list(State(doors): State<Doors>, Caller(grant): Caller, Query(ask): Query<Ask>) -> Result<Response, Refusal> {
    let mut all = doors.control.templates().list(&grant).await?;
    all.retain(|view| !view.name.as_str().starts_with(SNAPSHOT));
    if let Some(after) = &ask.next_token {
        all.retain(|view| names::theirs(&view.name) > after.as_str());
    }
    // A provider may have one that is called as we call another: one that was really made is shown.
    all.sort_by(|a, b| names::theirs(&a.name).cmp(names::theirs(&b.name)).then_with(|| b.ready_at.cmp(&a.ready_at)));
    all.dedup_by(|a, b| names::theirs(&a.name) == names::theirs(&b.name));
    let most = ask.limit.unwrap_or(1000).clamp(1, 1000);
    let next = (all.len() > most).then(|| names::theirs(&all[most - 1].name).to_owned());
    all.truncate(most);
    let mut response = axum::Json(all.iter().map(|view| shown(&doors, view)).collect::<Vec<_>>()).into_response();
    if let Some(next) = next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        response.headers_mut().insert(HeaderName::from_static("x-next-token"), next);
    }
    Ok(response)
}

async fn defaults(State(doors): State<Doors>, Caller(grant): Caller) -> Result<axum::Json<Vec<Value>>, Refusal> {
    let all = doors.control.templates().list(&grant).await?;
    Ok(axum::Json(all.iter().filter(|view| view.created_by.is_none()).map(|view| shown(&doors, view)).collect()))
}

async fn show(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
) -> Result<axum::Json<Value>, Refusal> {
    let view = find(&doors, &grant, &name).await?;
    let mut body = shown(&doors, &view);
    body["builds"] = json!([{
        "buildID": build_id(&view),
        "status": status(view.phase),
        "createdAt": body["createdAt"],
        "updatedAt": body["updatedAt"],
        "finishedAt": view.ready_at.map(|at| at.to_string()),
        "cpuCount": body["cpuCount"],
        "memoryMB": body["memoryMB"],
        "diskSizeMB": body["diskSizeMB"],
        "envdVersion": words::ENVD_VERSION,
    }]);
    Ok(axum::Json(body))
}

async fn forget(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
) -> Result<StatusCode, Refusal> {
    let desk = doors.control.templates();
    let mut named = vec![name.clone()];
    // A name without a tag means its tags too.
    if let (base, names::DEFAULT_TAG) = names::split(names::theirs(&name)) {
        let all = desk.list(&grant).await?.into_iter().map(|view| view.name);
        let tags: Vec<_> = all.filter(|other| names::split(names::theirs(other)).0 == base).collect();
        if !tags.is_empty() {
            named = tags;
        }
    }
    named.sort_by_key(|other| *other != name);
    for name in &named {
        find(&doors, &grant, name).await?;
    }
    for name in &named {
        desk.remove(&grant, name).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
struct Publish {
    public: Option<bool>,
}

/// Everybody in the house sees every template; there is nobody else to publish it to.
async fn publish(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
    Body(asked): Body<Publish>,
) -> Result<axum::Json<Value>, Refusal> {
    let view = find(&doors, &grant, &name).await?;
    if asked.public == Some(true) {
        let message = "Templates of this server are for whoever has a key; they cannot be published further.";
        return Err(Refusal::malformed(message));
    }
    Ok(axum::Json(json!({ "names": [names::theirs(&view.name)] })))
}

async fn alias(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
) -> Result<axum::Json<Value>, Refusal> {
    let (base, tag) = names::split(names::theirs(&name));
    let can_be_made = doors.options.interpreter.is_some();
    let found = match find(&doors, &grant, &name).await {
        // This one is made when somebody asks for it, and so it is always there.
        Err(refusal) if refusal.is_not_found() && name.as_str() == names::INTERPRETER && can_be_made => base.to_owned(),
        // A name is taken as soon as there is one of its tags.
        Err(refusal) if refusal.is_not_found() && tag == names::DEFAULT_TAG => {
            let all = doors.control.templates().list(&grant).await?;
            let is_one = |view: &TemplateView| names::split(names::theirs(&view.name)).0 == base;
            all.iter().any(is_one).then(|| base.to_owned()).ok_or(refusal)?
        }
        found => names::theirs(&found?.name).to_owned(),
    };
    Ok(axum::Json(json!({ "templateID": found, "public": false })))
}

/// One house, one team. Its key is not told again to whoever shows it.
async fn teams(Caller(grant): Caller) -> axum::Json<Value> {
    axum::Json(json!([{ "teamID": "carrel", "name": grant.name, "apiKey": "", "isDefault": true }]))
}

/// What a team used is counted for the whole house, and elsewhere.
async fn team_metrics(Caller(_): Caller) -> Refusal {
    Refusal::new(501, "Metrics of a team are not kept here: `GET /metrics` tells what this server counts.").for_good()
}

/// The first generation of builds pushed an image to a registry of E2B's.
async fn outdated(Caller(_): Caller) -> Refusal {
    let message = "Templates are built by steps here, not by pushing an image: build it with a newer SDK's `Template`, \
                   or with `e2b template create` of a newer command line.";
    Refusal::new(501, message).for_good()
}
