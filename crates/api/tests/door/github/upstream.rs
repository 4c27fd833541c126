//! A repository on the web: `git http-backend` behind a door that wants a token.

use std::{
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Response, StatusCode, header},
    routing::any,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use tokio::io::AsyncWriteExt;

/// The door of one repository.
pub(super) struct Upstream {
    /// The folder of the bare repository.
    pub(super) folder: PathBuf,
    /// Which token opens it.
    pub(super) token: Mutex<String>,
    /// Where the token was seen while a client was at work: command lines and environments.
    pub(super) seen: Mutex<Vec<String>>,
    /// How often it answers that it is broken.
    pub(super) broken: Mutex<usize>,
}

impl Upstream {
    pub(super) fn routes(self: &Arc<Self>) -> Router {
        let path = format!("/{}/{}.git/{{*rest}}", super::words::OWNER, super::words::NAME);
        Router::new().route(&path, any(serve)).with_state(Arc::clone(self))
    }

    fn is_let_in(&self, request: &Request) -> bool {
        let token = self.token.lock().unwrap().clone();
        let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let basic = shown.and_then(|shown| STANDARD.decode(shown.strip_prefix("Basic ")?).ok());
        basic.is_some_and(|basic| String::from_utf8_lossy(&basic).rsplit(':').next() == Some(&token))
    }
}

async fn serve(State(upstream): State<Arc<Upstream>>, request: Request) -> Response<Body> {
    let refuse = |status: StatusCode| Response::builder().status(status);
    {
        let mut broken = upstream.broken.lock().unwrap();
        if *broken > 0 {
            *broken -= 1;
            return refuse(StatusCode::INTERNAL_SERVER_ERROR).body(Body::from("broken")).unwrap();
        }
    }
    if !upstream.is_let_in(&request) {
        let asking = refuse(StatusCode::UNAUTHORIZED).header(header::WWW_AUTHENTICATE, "Basic realm=\"x\"");
        return asking.body(Body::empty()).unwrap();
    }
    let token = upstream.token.lock().unwrap().clone();
    upstream.seen.lock().unwrap().extend(seen_in_processes(&token));
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    let start = format!("/{}/{}.git", super::words::OWNER, super::words::NAME);
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut backend = tokio::process::Command::new("git");
    backend.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    backend.env("GIT_PROJECT_ROOT", &upstream.folder).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "somebody");
    backend.env("PATH_INFO", parts.uri.path().strip_prefix(&start).unwrap());
    backend.env("QUERY_STRING", parts.uri.query().unwrap_or_default()).env("REQUEST_METHOD", parts.method.as_str());
    backend.env("CONTENT_TYPE", header("content-type")).env("HTTP_CONTENT_ENCODING", header("content-encoding"));
    backend.env("GIT_PROTOCOL", header("git-protocol")).env("CONTENT_LENGTH", body.len().to_string());
    backend.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = backend.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let speak = async move {
        let _ = stdin.write_all(&body).await;
    };
    let (_, output) = tokio::join!(speak, child.wait_with_output());
    let output = output.unwrap().stdout;
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let mut response = Response::builder();
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = match name {
            "Status" => response.status(value[..3].parse::<u16>().unwrap()),
            _ => response.header(name, value),
        };
    }
    response.body(Body::from(output[end + 4..].to_vec())).unwrap()
}

/// Every command line and environment on this machine that holds a text.
fn seen_in_processes(text: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let content = std::fs::read(entry.path().join(file)).unwrap_or_default();
            if content.windows(text.len()).any(|part| part == text.as_bytes()) {
                seen.push(format!("{}/{file}", entry.path().display()));
            }
        }
    }
    seen
}
