//! Copies of sandboxes: forks and snapshots.

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use carrel_control::Paging;
use carrel_model::{
    Timestamp,
    number::Whole,
    public::{NewFork, NewSnapshot, TemplateView},
    sandbox::Phase,
    template::{SNAPSHOT, TemplatePhase},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Body, Caller, Named, Query, place, sandbox_id},
    names,
    sandboxes::{PATIENCE, alive, connection, lifetime},
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/sandboxes/{id}/fork", post(fork))
        .route("/sandboxes/{id}/snapshots", post(snapshot))
        .route("/snapshots", get(list))
}

#[derive(Debug, Deserialize)]
struct Fork {
    timeout: Option<u64>,
    count: Option<u64>,
}

/// One result for each copy that was asked for: a sandbox, or why it is none.
async fn fork(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    headers: HeaderMap,
    Named(id): Named,
    Body(asked): Body<Fork>,
) -> Result<Response, Refusal> {
    alive(&doors, &grant, &id).await?;
    let count = asked.count.unwrap_or(1);
    let count = Whole::<1, 100>::new(count).ok_or_else(|| Refusal::malformed("`count` is a number from 1 to 100."))?;
    let lifetime = lifetime(asked.timeout.unwrap_or(15))?;
    let desk = doors.control.sandboxes();
    let new = NewFork { count: Some(count), memory: Some(true) };
    let forks = desk.fork(&grant, &id, new).await.map_err(|error| Refusal::of_sandbox(&id, error))?;
    let mut results = Vec::new();
    for fork in &forks {
        let ready = async {
            let view = desk
                .until(&grant, &fork.id, PATIENCE, |view| !matches!(view.phase, Phase::Requested | Phase::Preparing));
            let view = view.await?;
            if view.phase != Phase::Ready {
                let why = view.note.as_deref().unwrap_or("it is not ready");
                return Err(Refusal::new(500, format!("a copy of {id} could not be made: {why}")));
            }
            desk.set_timeout(&grant, &fork.id, lifetime).await?;
            connection(&doors, &grant, &headers, &view).await
        };
        results.push(match ready.await {
            Ok(connection) => json!({ "sandbox": connection }),
            Err(refusal) => json!({ "error": refusal.body() }),
        });
    }
    for _ in forks.len() as u64..count.get() {
        results.push(json!({ "error": { "code": 503, "message": "there was no room for this copy" } }));
    }
    Ok((StatusCode::CREATED, axum::Json(results)).into_response())
}

#[derive(Debug, Deserialize)]
struct Snapshot {
    name: Option<String>,
    memory: Option<bool>,
}

async fn snapshot(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Body(asked): Body<Snapshot>,
) -> Result<Response, Refusal> {
    alive(&doors, &grant, &id).await?;
    let name = asked.name.as_deref().map(names::ours).transpose()?;
    let new = NewSnapshot { name, memory: Some(asked.memory != Some(false)) };
    // The same name again is a new version of it.
    let kept = doors.control.sandboxes().snapshot(&grant, &id, new).await;
    let kept = kept.map_err(|error| Refusal::of_sandbox(&id, error))?;
    Ok((StatusCode::CREATED, axum::Json(shown(&kept))).into_response())
}

fn shown(template: &TemplateView) -> Value {
    let id = template.name.as_str();
    let (name, tag) = names::split(id);
    // E2B's keep it always. Here it needs CRIU, and whoever looks can see whether it could.
    json!({ "snapshotID": id, "names": [format!("{name}:{tag}")], "memory": template.memory })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ask {
    #[serde(rename = "sandboxID")]
    sandbox_id: Option<String>,
    name: Option<String>,
    limit: Option<usize>,
    next_token: Option<String>,
}

async fn list(State(doors): State<Doors>, Caller(grant): Caller, Query(ask): Query<Ask>) -> Result<Response, Refusal> {
    let of = ask.sandbox_id.as_deref().map(|id| sandbox_id(id).ok_or_else(|| Refusal::no_sandbox(id))).transpose()?;
    let wanted = |template: &TemplateView| {
        let source = template.source.as_ref().and_then(|source| source.get("sandbox_id")).and_then(Value::as_str);
        let id = template.name.as_str();
        template.phase == TemplatePhase::Ready
            && id.starts_with(SNAPSHOT)
            && !id.starts_with("snapshot/fork-")
            && of.as_ref().is_none_or(|of| source == Some(of.as_str()))
            && ask.name.as_deref().is_none_or(|name| {
                let plain = name.strip_prefix(SNAPSHOT).unwrap_or(name);
                let mine = id.strip_prefix(SNAPSHOT).unwrap_or(id);
                mine == plain || names::split(mine).0 == names::split(plain).0
            })
    };
    let mut all = doors.control.templates().list(&grant).await?;
    all.retain(wanted);
    let made = |template: &TemplateView| template.created_at.unwrap_or(Timestamp::UNIX_EPOCH);
    let at = |template: &TemplateView| made(template).as_microsecond();
    // The newest first, and what was made in one moment by its name.
    all.sort_by(|a, b| at(b).cmp(&at(a)).then_with(|| a.name.cmp(&b.name)));
    if let Some((then, name)) = ask.next_token.as_deref().map(place).transpose()? {
        all.retain(|template| at(template) < then || (at(template) == then && template.name.as_str() > name));
    }
    let most = ask.limit.unwrap_or(100).clamp(1, 100);
    let next = (all.len() > most).then(|| Paging::place(made(&all[most - 1]), all[most - 1].name.as_str()));
    all.truncate(most);
    let mut response = axum::Json(all.iter().map(shown).collect::<Vec<_>>()).into_response();
    if let Some(next) = next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        response.headers_mut().insert(HeaderName::from_static("x-next-token"), next);
    }
    Ok(response)
}
