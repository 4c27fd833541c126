//! Tags: other names for a template. `name:tag` is a name of ours; a tag is a template on the same layers.

use axum::{
    Router,
    extract::State,
    http::StatusCode,
    response::IntoResponse,
    response::Response,
    routing::{get, post},
};
use carrel_control::Steps;
use carrel_model::{Grant, TemplateName, template::TemplatePhase};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Body, Caller},
    names,
    templates::{Titled, build_id, find, no_template},
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new().route("/templates/tags", post(assign).delete(remove)).route("/templates/{tid}/tags", get(list))
}

#[derive(Debug, Deserialize)]
struct Assign {
    target: String,
    tags: Vec<String>,
}

async fn assign(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Body(asked): Body<Assign>,
) -> Result<Response, Refusal> {
    let target = find(&doors, &grant, &names::ours(&asked.target)?).await?;
    if target.phase != TemplatePhase::Ready {
        return Err(Refusal::new(409, format!("template '{}' is not ready", asked.target)));
    }
    if asked.tags.is_empty() {
        return Err(Refusal::malformed("`tags` is empty."));
    }
    let base = names::split(&asked.target).0;
    // All of them are understood before the first is made.
    let named: Result<Vec<_>, Refusal> =
        asked.tags.iter().map(|tag| names::ours(&names::tagged(base, check(tag)?))).collect();
    let build = build_id(&target);
    for name in named?.into_iter().filter(|name| *name != target.name) {
        name_again(&doors, &grant, &target.name, name, &build).await?;
    }
    let body = json!({ "tags": asked.tags, "buildID": build });
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// A tag as E2B takes it. A client may also write the whole name.
fn check(tag: &str) -> Result<&str, Refusal> {
    let tag = tag.rsplit(':').next().unwrap_or(tag);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if (1..=64).contains(&tag.len()) && tag.bytes().all(fits) {
        return Ok(tag);
    }
    Err(Refusal::malformed(format!("`{tag}` cannot be a tag: letters, digits, `.`, `_` and `-`, at most 64.")))
}

/// Gives a template another name: no steps on top of it, and so the same layers and the same build. Returns when it can be used.
pub(super) async fn name_again(
    doors: &Doors,
    grant: &Grant,
    target: &TemplateName,
    name: TemplateName,
    build: &str,
) -> Result<(), Refusal> {
    let desk = doors.control.templates();
    let steps = Steps {
        from: target.to_string(),
        login: None,
        anew: false,
        steps: Vec::new(),
        start: None,
        ready: None,
        limits: desk.limits(target).await?,
        build: Some(build.to_owned()),
    };
    desk.make_of(grant, name.clone(), None, steps).await?;
    let mut log = desk.log(grant, &name, 0).await?;
    while log.next().await?.is_some() {}
    let made = find(doors, grant, &name).await?;
    match made.failure() {
        Some(why) => Err(Refusal::new(500, why)),
        None => Ok(()),
    }
}

#[derive(Debug, Deserialize)]
struct Remove {
    name: String,
    tags: Vec<String>,
}

async fn remove(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Body(asked): Body<Remove>,
) -> Result<StatusCode, Refusal> {
    let (base, _) = names::split(&asked.name);
    let named: Result<Vec<_>, _> =
        asked.tags.iter().map(|tag| names::ours(&names::tagged(base, check(tag)?))).collect();
    let named = named?;
    for name in &named {
        find(&doors, &grant, name).await?;
    }
    for name in &named {
        doors.control.templates().remove(&grant, name).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn list(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
) -> Result<axum::Json<Vec<Value>>, Refusal> {
    let base = names::split(names::theirs(&name)).0.to_owned();
    let all = doors.control.templates().list(&grant).await?;
    let tags: Vec<Value> = all
        .iter()
        .filter_map(|view| {
            let (mine, tag) = names::split(names::theirs(&view.name));
            let made = view.created_at.or(view.ready_at)?;
            (mine == base && view.phase == TemplatePhase::Ready)
                .then(|| json!({ "tag": tag, "buildID": build_id(view), "createdAt": made.to_string() }))
        })
        .collect();
    if tags.is_empty() {
        return Err(no_template(&base));
    }
    Ok(axum::Json(tags))
}
