//! Tags: other names for a template. `name:tag` is a name of ours; a tag is a template on the same layers.
//!
//! E2B remembers every build that a tag ever meant. Here a tag means one, and that one is its whole history.

use std::{cmp::Ordering, collections::HashMap};

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    response::IntoResponse,
    response::Response,
    routing::{get, post},
};
use carrel_control::{Paging, Steps, uuid_of};
use carrel_model::{Grant, TemplateName, Timestamp, public::TemplateView, template::TemplatePhase};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Body, Caller, Query, place},
    names,
    templates::{Titled, build_id, find, no_template},
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/templates/tags", post(assign).delete(remove))
        .route("/templates/{tid}/tags", get(list))
        .route("/templates/{tid}/tags/count", get(count))
        .route("/templates/{tid}/tags/exists", get(exists))
        .route("/templates/{tid}/tags/groups", get(groups))
        .route("/templates/{tid}/tags/{tag}/assignments", get(assignments))
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

/// A tag that can be started from.
struct Tag {
    tag: String,
    given_at: Timestamp,
    view: TemplateView,
}

impl Tag {
    fn assignment(&self) -> Value {
        let build = build_id(&self.view);
        json!({
            "assignmentId": uuid_of(&format!("{} {build}", self.view.name)),
            "buildId": build,
            "assignedAt": self.given_at.to_string(),
            "buildCreatedAt": self.given_at.to_string(),
            "buildFinishedAt": self.view.ready_at.map(|at| at.to_string()),
        })
    }

    fn key(&self) -> Key<'_> {
        (self.given_at.as_microsecond(), &self.tag)
    }
}

/// The tags of a template. A name that none of them has is no template's.
async fn ready(doors: &Doors, grant: &Grant, name: &TemplateName) -> Result<Vec<Tag>, Refusal> {
    let base = names::split(names::theirs(name)).0;
    let mut all = doors.control.templates().list(grant).await?;
    all.retain(|view| names::split(names::theirs(&view.name)).0 == base);
    if all.is_empty() {
        return Err(no_template(base));
    }
    all.retain(|view| view.phase == TemplatePhase::Ready);
    let tag = |view: TemplateView| Tag {
        tag: names::split(names::theirs(&view.name)).1.to_owned(),
        given_at: view.created_at.or(view.ready_at).unwrap_or(Timestamp::UNIX_EPOCH),
        view,
    };
    Ok(all.into_iter().map(tag).collect())
}

async fn list(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
) -> Result<axum::Json<Vec<Value>>, Refusal> {
    let tags = ready(&doors, &grant, &name).await?;
    let shown =
        |it: &Tag| json!({ "tag": it.tag, "buildID": build_id(&it.view), "createdAt": it.given_at.to_string() });
    Ok(axum::Json(tags.iter().map(shown).collect()))
}

async fn count(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
) -> Result<axum::Json<Value>, Refusal> {
    Ok(axum::Json(json!({ "total": ready(&doors, &grant, &name).await?.len() })))
}

#[derive(Debug, Deserialize)]
struct Which {
    tag: String,
}

async fn exists(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
    Query(which): Query<Which>,
) -> Result<axum::Json<Value>, Refusal> {
    let tag = check(&which.tag)?.to_ascii_lowercase();
    let tags = ready(&doors, &grant, &name).await?;
    Ok(axum::Json(json!({ "exists": tags.iter().any(|it| it.tag == tag), "normalizedTag": tag })))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ask {
    assignment_limit: Option<usize>,
    tags_limit: Option<usize>,
    tags_cursor: Option<String>,
    search: Option<String>,
    sort: Option<String>,
}

/// When a tag was given, in microseconds, and what it is called.
type Key<'t> = (i64, &'t str);
type Order = fn(&Key<'_>, &Key<'_>) -> Ordering;

fn order(word: Option<&str>) -> Result<Order, Refusal> {
    let order: Order = match word {
        None | Some("latest_desc") => |a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)),
        Some("latest_asc") => |a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)),
        Some("name_asc") => |a, b| a.1.cmp(b.1),
        Some("name_desc") => |a, b| b.1.cmp(a.1),
        Some(_) => {
            return Err(Refusal::malformed("`sort` is `latest_desc`, `latest_asc`, `name_asc` or `name_desc`."));
        }
    };
    Ok(order)
}

async fn groups(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<Value>, Refusal> {
    let order = order(ask.sort.as_deref())?;
    let mut tags = ready(&doors, &grant, &name).await?;
    tags.sort_by(|a, b| order(&a.key(), &b.key()));
    if let Some(last) = ask.tags_cursor.as_deref().map(place).transpose()? {
        tags.retain(|it| order(&it.key(), &last) == Ordering::Greater);
    }
    if let Some(text) = &ask.search {
        tags.retain(|it| it.tag.contains(&text.to_ascii_lowercase()));
    }
    let most = ask.tags_limit.unwrap_or(25).clamp(1, 100);
    let next = (tags.len() > most).then(|| Paging::place(tags[most - 1].given_at, &tags[most - 1].tag));
    tags.truncate(most);
    let shown = |it: &Tag| match ask.assignment_limit {
        Some(0) => json!({ "tag": it.tag, "assignments": [], "hasMore": true }),
        _ => json!({ "tag": it.tag, "assignments": [it.assignment()], "hasMore": false }),
    };
    Ok(axum::Json(json!({ "tags": tags.iter().map(shown).collect::<Vec<_>>(), "nextCursor": next })))
}

async fn assignments(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Titled(name): Titled,
    Path(path): Path<HashMap<String, String>>,
) -> Result<axum::Json<Value>, Refusal> {
    let tag = check(path.get("tag").map_or("", String::as_str))?.to_ascii_lowercase();
    let tags = ready(&doors, &grant, &name).await?;
    let data: Vec<Value> = tags.iter().filter(|it| it.tag == tag).map(Tag::assignment).collect();
    Ok(axum::Json(json!({ "data": data, "nextCursor": null })))
}
