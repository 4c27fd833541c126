//! An upstream that is slow: how far its first fetch is can be seen while it lasts.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    response::Response,
};
use carrel_testkit::{House, TestDatabase, git_answers};
use serde_json::json;
use tokio::sync::Notify;

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
    let is_fetch = body.windows(13).any(|part| part == b"command=fetch");
    let (response, content) = git_answers(&upstream.folder, "", Request::from_parts(parts, Body::from(body))).await;
    if !is_fetch {
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
