//! SIGTERM: no request is cut, and readers are told to come back. And who never says what they want is hung up on.

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

#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_not_come_to_the_end_of_their_headers_is_hung_up_on() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let data = tempfile::tempdir().unwrap();
    let start = Server::with(binary(), data.path()).env("CARREL_SERVER_HEADERS_S", "1");
    let server = start.env("CARREL_LOG_LEVEL", "error").start().await;
    let address = server.url.strip_prefix("http://").unwrap();
    let begun = std::time::Instant::now();
    for said in ["", "PRI * HTTP", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: "] {
        let mut line = tokio::net::TcpStream::connect(address).await.unwrap();
        line.write_all(said.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        // Ends when the other side does.
        let _ = line.read_to_end(&mut heard).await;
        assert!(!String::from_utf8_lossy(&heard).contains("200 OK"), "{heard:?}");
    }
    assert!(begun.elapsed() >= std::time::Duration::from_secs(1), "nobody was given any time");
    // Who is being answered is not cut, however long that takes.
    let url = format!("{}/api/v1/events", server.url);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut events = EventStream::open(Client::new().get(url).bearer_auth(&server.key)).await;
    let mut line = tokio::net::TcpStream::connect(address).await.unwrap();
    let _ = line.read_to_end(&mut Vec::new()).await;
    let create = Client::new().post(format!("{}/api/v1/sandboxes", server.url)).bearer_auth(&server.key);
    assert_eq!(create.send().await.unwrap().status(), StatusCode::CREATED);
    assert_eq!(events.next().await.unwrap().name, "sandbox");
    drop(events);
    assert!(server.terminate().await.success());
}
