//! Files in a sandbox, over HTTP: streamed, of any size.

use std::io;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use carrel_control::Content;
use carrel_model::{
    SandboxId,
    number::Whole,
    public::{FileEntry, FileKind, Page, Problem as ProblemBody},
};
use futures::{StreamExt, TryStreamExt};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Name, Problem, Query, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(download, stat, upload, remove)).routes(routes!(list))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Where {
    /// The path inside. One that does not begin with `/` is taken from the user's home.
    path: String,
    /// As whom; the usual user of the sandbox when left out.
    #[serde(default)]
    user: Option<String>,
}

/// How an upload is taken.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// As a tar archive, unpacked into a directory.
    Tar,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Upload {
    /// The path inside.
    path: String,
    /// As whom; the usual user of the sandbox when left out.
    #[serde(default)]
    user: Option<String>,
    /// With `tar`: the body is unpacked into the directory `path`, which is made when it is missing.
    #[serde(default)]
    #[param(inline)]
    extract: Option<Extract>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct List {
    /// The directory inside.
    path: String,
    /// As whom; the usual user of the sandbox when left out.
    #[serde(default)]
    user: Option<String>,
    /// How deep: 1 to 64, 1 when left out.
    #[serde(default, deserialize_with = "from_text")]
    #[param(value_type = Option<u32>, minimum = 1, maximum = 64)]
    depth: Option<Whole<1, 64>>,
}

/// Downloads a file. A directory comes as a tar archive.
#[utoipa::path(get, path = "/sandboxes/{id}/files", operation_id = "download_file", tag = "files", params(("id" = SandboxId, Path), Where),
    responses((status = 200, description = "The bytes.", content((Vec<u8> = "application/octet-stream"), (Vec<u8> = "application/x-tar"))),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn download(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(place): Query<Where>,
) -> Result<Response, Problem> {
    let found = doors.control.files().download(&grant, &id, &place.path, place.user.as_deref()).await?;
    let mut headers = about(&found.entry);
    if let Some(size) = found.size {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    }
    Ok((headers, Body::from_stream(found.content)).into_response())
}

/// Looks at a file without reading it.
#[utoipa::path(head, path = "/sandboxes/{id}/files", operation_id = "stat_file", tag = "files", params(("id" = SandboxId, Path), Where),
    responses((status = 200, description = "It is there; headers say what it is."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn stat(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(place): Query<Where>,
) -> Result<Response, Problem> {
    let entry = doors.control.files().stat(&grant, &id, &place.path, place.user.as_deref()).await?;
    let mut headers = about(&entry);
    if entry.kind == FileKind::File {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(entry.size));
    }
    Ok((headers, Body::empty()).into_response())
}

/// Uploads a file; its parents are made. With `extract=tar`, unpacks the body into a directory.
#[utoipa::path(put, path = "/sandboxes/{id}/files", operation_id = "upload_file", tag = "files", params(("id" = SandboxId, Path), Upload),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 204, description = "It was written."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn upload(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(to): Query<Upload>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let (files, user, content) = (doors.control.files(), to.user.as_deref(), content(request));
    match to.extract {
        None => files.upload(&grant, &id, &to.path, user, content).await?,
        Some(Extract::Tar) => files.extract(&grant, &id, &to.path, user, content).await?,
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a file, or a directory with all that is in it.
#[utoipa::path(delete, path = "/sandboxes/{id}/files", operation_id = "remove_file", tag = "files", params(("id" = SandboxId, Path), Where),
    responses((status = 204, description = "It is removed."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn remove(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(place): Query<Where>,
) -> Result<StatusCode, Problem> {
    doors.control.files().remove(&grant, &id, &place.path, place.user.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists a directory.
#[utoipa::path(get, path = "/sandboxes/{id}/files/list", operation_id = "list_files", tag = "files", params(("id" = SandboxId, Path), List),
    responses((status = 200, description = "What is in it.", body = Page<FileEntry>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(ask): Query<List>,
) -> Result<axum::Json<Page<FileEntry>>, Problem> {
    let depth = ask.depth.map_or(1, |depth| depth.get() as u32);
    let items = doors.control.files().list(&grant, &id, &ask.path, depth, ask.user.as_deref()).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// A body, bit by bit.
pub(super) fn content(request: Request) -> Content {
    request.into_body().into_data_stream().map_err(io::Error::other).boxed()
}

/// What a browser must not take for a page of ours.
fn about(entry: &FileEntry) -> HeaderMap {
    let (kind, ending) = match entry.kind {
        FileKind::Directory => ("application/x-tar", ".tar"),
        FileKind::File | FileKind::Other => ("application/octet-stream", ""),
    };
    let name = form_urlencoded::byte_serialize(entry.name.as_bytes()).collect::<String>().replace('+', "%20");
    let shown = format!("attachment; filename*=UTF-8''{name}{ending}");
    let word = match entry.kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Other => "other",
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(HeaderName::from_static("carrel-file-kind"), HeaderValue::from_static(word));
    for (name, text) in [
        (header::CONTENT_DISPOSITION, shown),
        (HeaderName::from_static("carrel-file-mode"), entry.mode.clone()),
        (HeaderName::from_static("carrel-file-size"), entry.size.to_string()),
    ] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
    headers
}
