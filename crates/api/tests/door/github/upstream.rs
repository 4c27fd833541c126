//! A repository on the web: `git http-backend` behind a door that wants a token.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{Response, StatusCode, header},
    routing::any,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use carrel_testkit::git_answers;

/// The door of one repository.
pub(crate) struct Upstream {
    /// What it is called there, such as `octo/hello`.
    pub(crate) slug: String,
    /// The folder of the bare repository.
    pub(crate) folder: PathBuf,
    /// Which token opens it; with a star at its end, every one that begins like that.
    pub(crate) token: Mutex<String>,
    /// Where the token was seen while a client was at work: command lines and environments.
    pub(crate) seen: Mutex<Vec<String>>,
    /// How often it answers that it is broken.
    pub(crate) broken: Mutex<usize>,
}

impl Upstream {
    pub(crate) fn routes(self: &Arc<Self>) -> Router {
        let path = format!("/{}.git/{{*rest}}", self.slug);
        Router::new().route(&path, any(serve)).with_state(Arc::clone(self))
    }

    fn is_let_in(&self, request: &Request) -> bool {
        let token = self.token.lock().unwrap().clone();
        let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let basic = shown.and_then(|shown| STANDARD.decode(shown.strip_prefix("Basic ")?).ok());
        let shown =
            basic.map(|basic| String::from_utf8_lossy(&basic).rsplit(':').next().unwrap_or_default().to_owned());
        shown.is_some_and(|shown| match token.strip_suffix('*') {
            Some(beginning) => shown.starts_with(beginning),
            None => shown == token,
        })
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
    upstream.seen.lock().unwrap().extend(seen_in_processes(token.trim_end_matches('*')));
    let prefix = format!("/{}.git", upstream.slug);
    let (head, content) = git_answers(&upstream.folder, &prefix, request).await;
    head.body(Body::from(content)).unwrap()
}

/// Every command line and environment on this machine that holds a text.
pub(crate) fn seen_in_processes(text: &str) -> Vec<String> {
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
