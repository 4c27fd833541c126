//! A repository on the web: `git http-backend` behind a door, with the moods that such doors have.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};
use tokio::{io::AsyncWriteExt, net::TcpListener, sync::watch, task::JoinHandle};

/// The most that a client may send at once.
const MOST: usize = 64 << 20;

/// How a repository on the web answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Well,
    /// It answers that it is broken.
    Broken,
    /// Somebody else answers in its place, with a page for people.
    Page,
    /// It hangs up in the middle of what it says.
    Hasty,
    /// It takes what is sent and says nothing, until it is in another mood.
    Silent,
}

/// All bare repositories of a folder, on a port of their own. Whoever is dropped answers no more.
pub struct Upstream {
    address: String,
    mood: watch::Sender<Mood>,
    serving: JoinHandle<()>,
}

#[derive(Clone)]
struct Behind {
    folder: PathBuf,
    mood: watch::Receiver<Mood>,
}

impl Upstream {
    /// Opens the door.
    pub async fn open(folder: &Path) -> Upstream {
        let (mood, seen) = watch::channel(Mood::Well);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let behind = Behind { folder: folder.to_owned(), mood: seen };
        let serving = tokio::spawn(async move {
            axum::serve(listener, Router::new().fallback(serve).with_state(behind)).await.unwrap();
        });
        Upstream { address, mood, serving }
    }

    /// The address of a repository.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    /// From now on it answers like this.
    pub fn is(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(State(mut behind): State<Behind>, request: Request) -> Response {
    let mood = *behind.mood.wait_for(|mood| *mood != Mood::Silent).await.unwrap();
    match mood {
        Mood::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "it is broken").into_response(),
        Mood::Page => Html("<h1>We are back soon</h1>").into_response(),
        Mood::Hasty => {
            let (head, content) = git_answers(&behind.folder, "", request).await;
            let half = content.slice(..content.len() / 2);
            let broken = Err(std::io::Error::other("it hangs up"));
            head.body(Body::from_stream(futures::stream::iter([Ok(half), broken]))).unwrap()
        }
        Mood::Well | Mood::Silent => {
            let (head, content) = git_answers(&behind.folder, "", request).await;
            head.body(Body::from(content)).unwrap()
        }
    }
}

/// What `git http-backend` answers for a folder whose address begins with a prefix: the head, and what follows.
pub async fn git_answers(folder: &Path, prefix: &str, request: Request) -> (axum::http::response::Builder, Bytes) {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MOST).await.unwrap_or_default();
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut backend = tokio::process::Command::new("git");
    backend.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH").unwrap()).kill_on_drop(true);
    backend.env("GIT_PROJECT_ROOT", folder).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "somebody");
    backend.env("HOME", "/nonexistent").env("PATH_INFO", parts.uri.path().strip_prefix(prefix).unwrap());
    backend.env("QUERY_STRING", parts.uri.query().unwrap_or_default()).env("REQUEST_METHOD", parts.method.as_str());
    backend.env("CONTENT_TYPE", header("content-type")).env("HTTP_CONTENT_ENCODING", header("content-encoding"));
    backend.env("GIT_PROTOCOL", header("git-protocol")).env("CONTENT_LENGTH", body.len().to_string());
    let mut child = backend.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let speak = async move {
        let _ = stdin.write_all(&body).await;
    };
    let (_, output) = tokio::join!(speak, child.wait_with_output());
    let output = Bytes::from(output.unwrap().stdout);
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let mut head = Response::builder();
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let (name, value) = line.split_once(": ").unwrap();
        head = match name {
            "Status" => head.status(value[..3].parse::<u16>().unwrap()),
            _ => head.header(name, value),
        };
    }
    (head, output.slice(end + 4..))
}
