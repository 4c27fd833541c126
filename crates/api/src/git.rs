//! `/git/{repo}.git`: git's smart HTTP, for people with a key and sandboxes with a grant.
//!
//! The door only passes on: what may be fetched and pushed is decided behind it. A key is shown as the password of Basic
//! (git's own way) or as Bearer.

use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts, Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use carrel_control::{GitService, GitVersion, Upload};
use carrel_model::{Grant, RepoName};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use tokio_util::io::StreamReader;
use tower_http::decompression::RequestDecompressionLayer;

use crate::{
    door::{Asker, Problem, Query},
    house::Doors,
};

pub(crate) fn routes() -> Router<Doors> {
    Router::new()
        .route("/git/{repo}/info/refs", get(info_refs))
        .route("/git/{repo}/git-upload-pack", post(upload_pack))
        .route("/git/{repo}/git-receive-pack", post(receive_pack))
        // Clients compress what they ask when it is long.
        .layer(RequestDecompressionLayer::new().gzip(true).pass_through_unaccepted(false))
}

/// A bearer whom git can ask for a password: the refusal says how.
struct Bearer(Grant);

impl FromRequestParts<Doors> for Bearer {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Response> {
        match Asker::from_request_parts(parts, doors).await {
            Ok(Asker(grant)) => Ok(Bearer(grant)),
            Err(problem) => {
                let mut response = problem.spoken();
                if response.status() == StatusCode::UNAUTHORIZED {
                    let challenge = HeaderValue::from_static("Basic realm=\"Carrel\", charset=\"UTF-8\"");
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                }
                Err(response)
            }
        }
    }
}

/// A refusal in plain words: git shows them to whoever called it.
struct Spoken(Problem);

impl<E: Into<Problem>> From<E> for Spoken {
    fn from(error: E) -> Self {
        Spoken(error.into())
    }
}

impl IntoResponse for Spoken {
    fn into_response(self) -> Response {
        self.0.spoken()
    }
}

/// The repository of an address, with or without `.git`.
struct At(RepoName);

impl FromRequestParts<Doors> for At {
    type Rejection = Spoken;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Spoken> {
        let nothing = || Spoken::from(Problem::not_found("there is no such repo"));
        let Path(name): Path<String> = Path::from_request_parts(&mut *parts, doors).await.map_err(|_| nothing())?;
        let name = name.strip_suffix(".git").unwrap_or(&name);
        name.parse().map(At).map_err(|_| nothing())
    }
}

#[derive(Debug, Deserialize)]
struct Asked {
    service: String,
}

fn version(headers: &HeaderMap) -> GitVersion {
    headers
        .get("git-protocol")
        .and_then(|value| value.to_str().ok())
        .map_or_else(GitVersion::default, GitVersion::from_header)
}

fn typed(kind: String, body: Body) -> Response {
    let unkept = HeaderValue::from_static("no-cache, max-age=0, must-revalidate");
    ([(header::CONTENT_TYPE, kind)], [(header::CACHE_CONTROL, unkept)], body).into_response()
}

/// What a client is shown first.
async fn info_refs(
    State(doors): State<Doors>,
    At(repo): At,
    Bearer(grant): Bearer,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Result<Response, Spoken> {
    let Some(service) = GitService::from_name(&asked.service) else {
        let why = "git-upload-pack or git-receive-pack; the dumb protocol is not spoken here";
        return Err(Problem::field("service", why).into());
    };
    let visitor = doors.control.gateway().enter(&grant, &repo, service).await?;
    let shown = visitor.advertise(service, version(&headers)).await?;
    Ok(typed(format!("application/x-{}-advertisement", service.name()), shown.into()))
}

/// Answers a fetch, as it comes.
async fn upload_pack(
    State(doors): State<Doors>,
    At(repo): At,
    Bearer(grant): Bearer,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Spoken> {
    let visitor = doors.control.gateway().enter(&grant, &repo, GitService::UploadPack).await?;
    let upload = visitor.upload(version(&headers), read(request))?;
    let pieces = stream::try_unfold(upload, |mut upload: Upload| async move {
        let piece = upload.next().await.map_err(std::io::Error::other)?;
        Ok::<_, std::io::Error>((!piece.is_empty()).then(|| (Bytes::from(piece), upload)))
    });
    Ok(typed("application/x-git-upload-pack-result".into(), Body::from_stream(pieces.boxed())))
}

/// Receives a push. The answer comes when what was accepted is safe on disk.
async fn receive_pack(
    State(doors): State<Doors>,
    At(repo): At,
    Bearer(grant): Bearer,
    request: Request,
) -> Result<Response, Spoken> {
    let visitor = doors.control.gateway().enter(&grant, &repo, GitService::ReceivePack).await?;
    // In a task of its own: a client that goes away leaves a push that is whole, or none.
    let received = tokio::spawn(async move { visitor.receive(&mut read(request)).await });
    let answer = received.await.map_err(|_| Problem::internal())??;
    Ok(typed("application/x-git-receive-pack-result".into(), answer.into()))
}

fn read(request: Request) -> impl tokio::io::AsyncRead + Unpin + Send + 'static {
    StreamReader::new(request.into_body().into_data_stream().map_err(std::io::Error::other).boxed())
}
