//! Resources: what can be read and referred to. Each address stands for something at our own doors.

use axum::http::Method;
use base64::Engine;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::{
    desk::{Desk, Trouble},
    tools::encoded,
};

/// The kinds of addresses.
pub(super) fn templates(desk: &Desk) -> Vec<ResourceTemplate> {
    let mut templates = vec![
        ResourceTemplate::new("carrel://sandboxes/{sandbox_id}", "sandbox").with_description("A sandbox as it now is."),
        ResourceTemplate::new("carrel://sandboxes/{sandbox_id}/files/{+path}", "file")
            .with_description("A file in a sandbox."),
    ];
    if desk.scope.sandbox.is_none() || desk.scope.task.is_some() {
        templates.extend([
            ResourceTemplate::new("carrel://tasks/{task_id}", "task").with_description("A task as it now is."),
            ResourceTemplate::new("carrel://tasks/{task_id}/diff", "diff").with_description("What a task changed."),
            ResourceTemplate::new("carrel://tasks/{task_id}/timeline", "timeline")
                .with_description("What was said and done on a task."),
        ]);
    }
    templates
}

/// What there is now, as far as this desk sees.
pub(super) async fn list(desk: &Desk) -> Result<Vec<Resource>, Trouble> {
    let mut found = Vec::new();
    if let Some(id) = &desk.scope.sandbox {
        found.push(Resource::new(format!("carrel://sandboxes/{id}"), format!("sandbox {id}")));
    }
    if let Some(id) = desk.scope.task {
        found.push(Resource::new(format!("carrel://tasks/{id}"), format!("task {id}")));
        found.push(Resource::new(format!("carrel://tasks/{id}/diff"), format!("diff of task {id}")));
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let page = desk.json(Method::GET, "/sandboxes?limit=100", None).await?;
    for sandbox in page["items"].as_array().into_iter().flatten() {
        if let (Some(id), Some(phase)) = (sandbox["id"].as_str(), sandbox["phase"].as_str()) {
            let resource = Resource::new(format!("carrel://sandboxes/{id}"), format!("sandbox {id}"));
            found.push(resource.with_description(format!("It is {phase}.")).with_mime_type("application/json"));
        }
    }
    // Where there are no tasks yet there is nothing to list.
    let page = desk.json(Method::GET, "/tasks?limit=100", None).await.unwrap_or_default();
    for task in page["items"].as_array().into_iter().flatten() {
        if let (Some(id), Some(title)) = (task["id"].as_i64(), task["title"].as_str()) {
            let resource = Resource::new(format!("carrel://tasks/{id}"), format!("task {id}"));
            found.push(resource.with_description(title.to_owned()).with_mime_type("application/json"));
        }
    }
    Ok(found)
}

/// Reads what an address stands for.
pub(super) async fn read(desk: &Desk, uri: &str) -> Result<ResourceContents, Trouble> {
    let unknown = || Trouble(format!("There is nothing at {uri}. Look at resources/templates/list."));
    let place = uri.strip_prefix("carrel://").ok_or_else(unknown)?;
    let mut parts = place.splitn(4, '/');
    let (noun, id) = (parts.next().unwrap_or_default(), parts.next().filter(|id| !id.is_empty()).ok_or_else(unknown)?);
    let own = match noun {
        _ if desk.scope.sandbox.is_none() && desk.scope.task.is_none() => ["sandboxes", "tasks"].contains(&noun),
        "sandboxes" => desk.scope.sandbox.as_ref().is_some_and(|own| own.as_str() == id),
        "tasks" => desk.scope.task.is_some_and(|own| own.to_string() == id),
        _ => false,
    };
    if !["sandboxes", "tasks"].contains(&noun) {
        return Err(unknown());
    }
    if !own {
        return Err(Trouble("That is not on this desk.".into()));
    }
    let id = encoded(id);
    let path = match (noun, parts.next(), parts.next()) {
        ("sandboxes", None, None) => format!("/sandboxes/{id}"),
        ("sandboxes", Some("files"), Some(path)) => {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("path", path).finish();
            format!("/sandboxes/{id}/files?{query}")
        }
        ("tasks", None, None) => format!("/tasks/{id}"),
        ("tasks", Some(part @ ("diff" | "timeline")), None) => format!("/tasks/{id}/{part}"),
        _ => return Err(unknown()),
    };
    let answer = desk.ask(Method::GET, &path, None).await?;
    let kind = answer.kind.clone();
    Ok(match String::from_utf8(answer.body) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(kind),
        Err(odd) => {
            ResourceContents::blob(base64::prelude::BASE64_STANDARD.encode(odd.as_bytes()), uri).with_mime_type(kind)
        }
    })
}
