//! The peer: plain `git http-backend` behind the least server that can run it.

use std::{net::SocketAddr, path::PathBuf, process::Stdio};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use tokio::{io::AsyncWriteExt, process::Command};

use crate::Outcome;

/// Serves the repositories in a folder to everybody, for as long as the runtime lives.
pub(super) async fn serve(folder: PathBuf) -> Outcome<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(answer).with_state(folder);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

async fn answer(State(folder): State<PathBuf>, request: Request) -> Response {
    match run(folder, request).await {
        Ok(response) => response,
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn run(folder: PathBuf, request: Request) -> Outcome<Response> {
    let mut command = Command::new("git");
    command.arg("http-backend").env("GIT_PROJECT_ROOT", folder).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "x");
    command.env("PATH_INFO", request.uri().path()).env("QUERY_STRING", request.uri().query().unwrap_or_default());
    command.env("REQUEST_METHOD", request.method().as_str()).env("HOME", "/nonexistent");
    for (header, name) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = request.headers().get(header).and_then(|value| value.to_str().ok()) {
            command.env(name, value);
        }
    }
    let body = to_bytes(request.into_body(), usize::MAX).await?;
    command.env("CONTENT_LENGTH", body.len().to_string());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no pipe")?;
    let (_, output) = tokio::join!(
        async move {
            let _ = stdin.write_all(&body).await;
        },
        child.wait_with_output()
    );
    let output = output?.stdout;
    let end = output.windows(4).position(|part| part == b"\r\n\r\n").ok_or("no headers")?;
    let mut response = Response::new(Body::from(output[end + 4..].to_vec()));
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        if name.eq_ignore_ascii_case("status") {
            *response.status_mut() = value.split(' ').next().unwrap_or_default().parse()?;
        } else {
            response.headers_mut().insert(HeaderName::try_from(name)?, HeaderValue::from_str(value)?);
        }
    }
    Ok(response)
}
