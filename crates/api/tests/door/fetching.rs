//! An upstream that is slow: how far its first fetch is can be seen while it lasts.

use std::{path::PathBuf, process::Stdio, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    response::Response,
};
use carrel_testkit::{House, TestDatabase};
use serde_json::json;
use tokio::{io::AsyncWriteExt, sync::Notify};

use crate::repos::{Work, add, sync};

/// A repository behind `git http-backend` that sends half of what is fetched, and the rest when it is told to.
#[derive(Clone)]
struct Halting {
    folder: PathBuf,
    go_on: Arc<Notify>,
}

async fn serve(State(upstream): State<Halting>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut backend = tokio::process::Command::new("git");
    backend.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    backend.env("GIT_PROJECT_ROOT", &upstream.folder).env("GIT_HTTP_EXPORT_ALL", "1").env("HOME", "/nonexistent");
    backend.env("PATH_INFO", parts.uri.path()).env("QUERY_STRING", parts.uri.query().unwrap_or_default());
    backend.env("REQUEST_METHOD", parts.method.as_str()).env("CONTENT_TYPE", header("content-type"));
    backend.env("GIT_PROTOCOL", header("git-protocol")).env("CONTENT_LENGTH", body.len().to_string());
    backend.env("HTTP_CONTENT_ENCODING", header("content-encoding"));
    let mut child = backend.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let asked = body.clone();
    let speak = async move {
        let _ = stdin.write_all(&asked).await;
    };
    let (_, output) = tokio::join!(speak, child.wait_with_output());
    let output = Bytes::from(output.unwrap().stdout);
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let mut response = Response::builder();
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        if let Some((name, value)) = line.split_once(": ").filter(|(name, _)| *name != "Status") {
            response = response.header(name, value);
        }
    }
    let content = output.slice(end + 4..);
    if !body.windows(13).any(|part| part == b"command=fetch") {
        return response.body(Body::from(content)).unwrap();
    }
    let middle = content.len() / 2;
    let (first, rest) = (content.slice(..middle), content.slice(middle..));
    let pieces = futures::stream::unfold(0, move |piece| {
        let (go_on, first, rest) = (Arc::clone(&upstream.go_on), first.clone(), rest.clone());
        async move {
            match piece {
                0 => Some((Ok::<_, std::io::Error>(first), 1)),
                1 => {
                    go_on.notified().await;
                    Some((Ok(rest), 2))
                }
                _ => None,
            }
        }
    });
    response.body(Body::from_stream(pieces)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn how_far_a_first_fetch_is_can_be_seen_while_it_lasts() {
    let database = TestDatabase::sqlite();
    let house = House::open(&database).await;
    let work = Work::new(&house, "slow");
    work.git(&["init", "-q", "-b", "main"]).await;
    for number in 0..300 {
        std::fs::write(work.folder.join(format!("file-{number}")), format!("{number}\n")).unwrap();
    }
    let head = work.commit("README", "hello\n").await;
    let upstream = Halting { folder: house.folder().to_owned(), go_on: Arc::default() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let source = format!("http://{}/slow/.git", listener.local_addr().unwrap());
    let router = Router::new().fallback(serve).with_state(upstream.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let mut events = house.events("?kind=repo").await;
    add(&house, json!({"source": source, "name": "app"})).await;
    let note = loop {
        let repo = serde_json::to_value(events.entry().await).unwrap()["repo"].clone();
        assert_ne!(repo["phase"], "failed", "{repo}");
        if let Some(note) = repo["note"].as_str() {
            assert_eq!(repo["phase"], "cloning", "{repo}");
            break note.to_owned();
        }
    };
    assert!(note.contains(" % of ") && note.ends_with('.'), "{note}");
    upstream.go_on.notify_one();
    let repo = sync(&house, "app").await;
    assert_eq!((&repo["phase"], &repo["head"]), (&json!("ready"), &json!(head)), "{repo}");
    assert!(repo["note"].is_null(), "what was told meanwhile is gone: {repo}");
    serving.abort();
    house.close().await;
    database.drop().await;
}
