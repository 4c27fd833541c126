//! SIGTERM: no request is cut, and readers are told to come back.

use carrel_testkit::{EventStream, Server};
use reqwest::{Client, StatusCode};

use crate::binary;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_to_end_finishes_what_is_in_flight() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let data = tempfile::tempdir().unwrap();
    let start =
        Server::with(binary(), data.path()).env("CARREL_FAKE_CREATE_MS", "300").env("CARREL_LOG_LEVEL", "error");
    let server = start.start().await;
    let http = Client::builder().no_proxy().build().unwrap();
    let events = http.get(format!("{}/api/v1/events?after=0", server.url)).bearer_auth(&server.key);
    let mut events = EventStream::open(events).await;

    let create = http.post(format!("{}/api/v1/sandboxes?wait=ready", server.url)).bearer_auth(&server.key).send();
    let create = tokio::spawn(create);
    // The request is in flight once the journal tells of its sandbox.
    loop {
        let event = events.next().await.unwrap();
        if event.name == "sandbox" {
            break;
        }
    }
    server.ask_to_end().await;
    let answer = create.await.unwrap().expect("the request was cut");
    assert_eq!(
        (answer.status(), &answer.headers()["carrel-waited"]),
        (StatusCode::CREATED, &"reached".parse().unwrap())
    );
    drop(answer);
    let mut names = Vec::new();
    while let Some(event) = events.next().await {
        names.push(event.name);
    }
    assert_eq!(names.last().map(String::as_str), Some("drain"), "{names:?}");
    drop((events, http));
    assert!(server.wait().await.success());
}
