//! Volumes, and what is in them. Whoever shows a volume's token reads and writes it; the key of the house is for the rest.

use axum::{
    Router,
    body::Body as Bytes,
    extract::{FromRequestParts, Path, Request, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use carrel_control::{EntryKind, Ownership, VolumeContent, VolumeEntry, VolumeError};
use carrel_model::{VolumeId, VolumeName, volume::Volume};
use futures::TryStreamExt;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio_util::io::{ReaderStream, StreamReader};

use super::{
    Refusal,
    ask::{Body, Caller, Query},
    sandboxes::domain,
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/volumes", post(create).get(list))
        .route("/volumes/{id}", get(show).delete(remove))
        .route("/volumecontent/{id}/path", get(stat).patch(change).delete(erase))
        .route("/volumecontent/{id}/dir", get(list_folder).post(make_folder))
        .route("/volumecontent/{id}/file", get(read).put(write))
}

#[derive(Debug, Deserialize)]
struct New {
    name: VolumeName,
}

fn shown(volume: &Volume) -> Value {
    json!({ "volumeID": volume.id, "name": volume.name })
}

/// With the token, and the domain where its content is asked for.
fn opened(doors: &Doors, headers: &HeaderMap, volume: &Volume, token: &SecretString) -> Value {
    let mut shown = shown(volume);
    shown["token"] = token.expose_secret().into();
    shown["domain"] = domain(doors, headers).into();
    shown
}

async fn create(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    headers: HeaderMap,
    Body(new): Body<New>,
) -> Result<Response, Refusal> {
    let (volume, token) = doors.control.volumes().create(&grant, new.name).await?;
    Ok((StatusCode::CREATED, axum::Json(opened(&doors, &headers, &volume, &token))).into_response())
}

async fn list(State(doors): State<Doors>, Caller(grant): Caller) -> Result<axum::Json<Vec<Value>>, Refusal> {
    Ok(axum::Json(doors.control.volumes().list(&grant).await?.iter().map(shown).collect()))
}

async fn show(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<axum::Json<Value>, Refusal> {
    let (volume, token) = doors.control.volumes().get(&grant, &named(&id)?).await?;
    Ok(axum::Json(opened(&doors, &headers, &volume, &token)))
}

async fn remove(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    doors.control.volumes().remove(&grant, &named(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn named(id: &str) -> Result<VolumeId, Refusal> {
    let shown: String = id.chars().take(64).collect();
    id.parse().map_err(|_| Refusal::new(404, format!("Volume {shown} not found")))
}

/// A volume whose token was shown.
struct Opened(VolumeContent);

impl FromRequestParts<Doors> for Opened {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Refusal> {
        let path = Path::<String>::from_request_parts(parts, doors).await;
        let Path(id) = path.map_err(|_| Refusal::malformed("The path is not UTF-8."))?;
        let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|text| text.strip_prefix("Bearer "));
        let wanted = || Refusal::new(401, "The token of the volume is missing or wrong.");
        // Whoever shows no token learns not even whether there is such a volume.
        let token = token.ok_or_else(wanted)?;
        let content = doors.control.volumes().content(&named(&id)?, token.trim()).await?;
        content.map(Opened).ok_or_else(wanted)
    }
}

#[derive(Debug, Deserialize)]
struct Asked {
    path: String,
    depth: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
    mode: Option<u32>,
    force: Option<bool>,
}

impl Asked {
    fn owner(&self) -> Ownership {
        Ownership { uid: self.uid, gid: self.gid, mode: self.mode }
    }
}

#[derive(Debug, Deserialize)]
struct NewOwner {
    uid: Option<u32>,
    gid: Option<u32>,
    mode: Option<u32>,
}

fn entry(entry: &VolumeEntry) -> Value {
    let kind = match entry.kind {
        EntryKind::File => "file",
        EntryKind::Folder => "directory",
        EntryKind::Link => "symlink",
        EntryKind::Other => "unknown",
    };
    let mut shown = json!({
        "name": entry.name, "path": entry.path, "type": kind, "size": entry.size, "mode": entry.mode,
        "uid": entry.uid, "gid": entry.gid, "atime": entry.read_at.to_string(), "mtime": entry.written_at.to_string(),
        "ctime": entry.changed_at.to_string(),
    });
    if let Some(target) = &entry.target {
        shown["target"] = target.as_str().into();
    }
    shown
}

/// Looks at a disk, where that does not hold up others.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, VolumeError> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Refusal::from),
        Err(_) => Err(Refusal::new(500, "The volume could not be read.")),
    }
}

impl From<VolumeError> for Refusal {
    fn from(error: VolumeError) -> Self {
        let status = match &error {
            VolumeError::Missing(_) => 404,
            VolumeError::Unfit(_) => 400,
            VolumeError::Taken(_) => 409,
            VolumeError::Full => 507,
            VolumeError::Trouble(trouble) => {
                tracing::warn!(error = %trouble, "a volume could not be read or written");
                500
            }
        };
        Refusal::new(status, error.to_string())
    }
}

async fn stat(Opened(content): Opened, Query(asked): Query<Asked>) -> Result<axum::Json<Value>, Refusal> {
    Ok(axum::Json(entry(&aside(move || content.look(&asked.path)).await?)))
}

async fn change(
    Opened(content): Opened,
    Query(asked): Query<Asked>,
    Body(new): Body<NewOwner>,
) -> Result<axum::Json<Value>, Refusal> {
    let owner = Ownership { uid: new.uid, gid: new.gid, mode: new.mode };
    Ok(axum::Json(entry(&aside(move || content.change(&asked.path, owner)).await?)))
}

async fn erase(Opened(content): Opened, Query(asked): Query<Asked>) -> Result<StatusCode, Refusal> {
    aside(move || content.remove(&asked.path)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_folder(Opened(content): Opened, Query(asked): Query<Asked>) -> Result<axum::Json<Vec<Value>>, Refusal> {
    let found = aside(move || content.list(&asked.path, asked.depth.unwrap_or(1))).await?;
    Ok(axum::Json(found.iter().map(entry).collect()))
}

async fn make_folder(Opened(content): Opened, Query(asked): Query<Asked>) -> Result<Response, Refusal> {
    let made = aside(move || content.make_folder(&asked.path, asked.owner(), asked.force == Some(true))).await?;
    Ok((StatusCode::CREATED, axum::Json(entry(&made))).into_response())
}

async fn read(Opened(content): Opened, Query(asked): Query<Asked>) -> Result<Response, Refusal> {
    let (file, size) = aside(move || content.read(&asked.path)).await?;
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_LENGTH, size.to_string())];
    // A file that grows meanwhile is read as far as it was said to be.
    let content = tokio::io::AsyncReadExt::take(tokio::fs::File::from_std(file), size);
    Ok((headers, Bytes::from_stream(ReaderStream::with_capacity(content, 1 << 16))).into_response())
}

async fn write(Opened(content): Opened, Query(asked): Query<Asked>, request: Request) -> Result<Response, Refusal> {
    let (inside, path, owner) = (content.clone(), asked.path.clone(), asked.owner());
    let file = aside(move || inside.write(&path, owner, asked.force == Some(true))).await?;
    let mut file = tokio::fs::File::from_std(file);
    let body = request.into_body().into_data_stream().map_err(std::io::Error::other);
    let copied = async {
        tokio::io::copy(&mut StreamReader::new(Box::pin(body)), &mut file).await?;
        file.flush().await
    };
    copied.await.map_err(VolumeError::from)?;
    let written = aside(move || content.look(&asked.path)).await?;
    Ok((StatusCode::CREATED, axum::Json(entry(&written))).into_response())
}
