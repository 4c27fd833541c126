use carrel_envd::{EnvdError, WatchEvents, WatchKind};
use futures::StreamExt;
use http::StatusCode;

use crate::guest::{Guest, content, post};

async fn next(events: &mut WatchEvents) -> (String, WatchKind) {
    let event = events.next().await.unwrap().unwrap();
    (event.name, event.kind)
}

#[tokio::test]
async fn a_new_file_is_created_given_away_and_written() {
    let guest = Guest::new();
    let mut events = guest.envd.watch(&guest.path(""), false, None).await.unwrap();
    guest.envd.upload(&guest.path("new.txt"), None, content("hello")).await.unwrap();
    for kind in [WatchKind::Create, WatchKind::Chmod, WatchKind::Write] {
        assert_eq!(next(&mut events).await, ("new.txt".to_owned(), kind));
    }
    guest.envd.rename(&guest.path("new.txt"), &guest.path("old.txt"), None).await.unwrap();
    assert_eq!(next(&mut events).await, ("new.txt".to_owned(), WatchKind::Rename));
    assert_eq!(next(&mut events).await, ("old.txt".to_owned(), WatchKind::Create));
    guest.envd.remove(&guest.path("old.txt"), None).await.unwrap();
    assert_eq!(next(&mut events).await, ("old.txt".to_owned(), WatchKind::Remove));
}

#[tokio::test]
async fn a_large_file_is_heard_of_by_its_own_name_alone() {
    let guest = Guest::new();
    let mut events = guest.envd.watch(&guest.path(""), false, None).await.unwrap();
    for _ in 0..2 {
        // The first is new, the second takes its place.
        guest.envd.upload(&guest.path("large"), None, content(vec![7; 300_000])).await.unwrap();
        let mut kinds = Vec::new();
        while kinds.last() != Some(&WatchKind::Write) {
            let (name, kind) = next(&mut events).await;
            assert_eq!(name, "large");
            kinds.push(kind);
        }
        kinds.dedup();
        assert!(kinds.ends_with(&[WatchKind::Create, WatchKind::Chmod, WatchKind::Write]), "{kinds:?}");
    }
}

#[tokio::test]
async fn a_deep_watch_sees_folders_that_are_made_later() {
    let guest = Guest::new();
    guest.envd.make_dir(&guest.path("a/b"), None).await.unwrap();
    let mut events = guest.envd.watch(&guest.path("a"), true, None).await.unwrap();
    std::fs::write(guest.path("a/b/one"), "").unwrap();
    assert_eq!(next(&mut events).await, ("b/one".to_owned(), WatchKind::Create));
    std::fs::create_dir_all(guest.path("a/c/d")).unwrap();
    let mut seen = Vec::new();
    while !seen.contains(&"c/d".to_owned()) {
        seen.push(next(&mut events).await.0);
    }
    std::fs::write(guest.path("a/c/d/two"), "").unwrap();
    loop {
        if next(&mut events).await == ("c/d/two".to_owned(), WatchKind::Create) {
            break;
        }
    }
}

#[tokio::test]
async fn only_folders_that_are_there_can_be_watched() {
    let guest = Guest::new();
    let missing = guest.envd.watch(&guest.path("none"), false, None).await.map(drop);
    assert!(matches!(missing, Err(EnvdError::NotFound(_))));
    let file = guest.envd.watch("/etc/passwd", false, None).await.map(drop);
    assert!(matches!(file, Err(EnvdError::Invalid(_))));
}

#[tokio::test]
async fn a_watcher_keeps_what_happened_until_it_is_asked() {
    let guest = Guest::new();
    let ask = |method: &str, body: serde_json::Value| {
        post(&format!("/filesystem.Filesystem/{method}"), "application/json", body.to_string())
    };
    let body = serde_json::json!({"path": guest.path(""), "includeEntry": true});
    let made = guest.http(ask("CreateWatcher", body)).await;
    let made: serde_json::Value = serde_json::from_slice(made.body()).unwrap();
    assert!(made["watcherId"].is_string(), "{made}");
    guest.envd.upload(&guest.path("file"), None, content("x")).await.unwrap();
    let mut kinds = Vec::new();
    while kinds.len() < 3 {
        let answer = guest.http(ask("GetWatcherEvents", made.clone())).await;
        let answer: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
        for event in answer["events"].as_array().unwrap() {
            assert_eq!(event["entry"]["path"], guest.path("file"));
            kinds.push(event["type"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(kinds, ["EVENT_TYPE_CREATE", "EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"]);
    assert_eq!(guest.http(ask("RemoveWatcher", made.clone())).await.body(), "{}");
    let gone = guest.http(ask("GetWatcherEvents", made)).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    assert!(String::from_utf8_lossy(gone.body()).contains("\"not_found\""));
}
