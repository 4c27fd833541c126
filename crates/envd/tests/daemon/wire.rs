//! The wire itself, byte by byte, as the official SDKs and others see it.

use bytes::{BufMut, Bytes, BytesMut};
use carrel_envd::wire::{Codec, Deframer, END_STREAM, Envelope, frame, process};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::net::UnixStream;

use crate::guest::{Guest, get, post};

fn envelope(json: &str) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(json.len() as u32);
    bytes.put(json.as_bytes());
    bytes.freeze()
}

/// The envelopes of a body as flags and text.
fn opened(body: &[u8]) -> Vec<(u8, String)> {
    let mut rest = body;
    let mut found = Vec::new();
    while let [flags, a, b, c, d, more @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        found.push((*flags, String::from_utf8(more[..length].to_vec()).unwrap()));
        rest = &more[length..];
    }
    found
}

const STREAM: &str = "application/connect+json";

#[tokio::test]
async fn a_command_of_the_sdk_is_answered_word_by_word() {
    let guest = Guest::new();
    let request = r#"{"process":{"cmd":"/bin/sh","args":["-c","printf hi; exit 3"]},"stdin":false}"#;
    let mut request = post("/process.Process/Start", STREAM, envelope(request));
    for (name, value) in [
        ("connect-protocol-version", "1"),
        ("keepalive-ping-interval", "50"),
        ("connect-timeout-ms", "60000"),
        ("accept-encoding", "zstd,gzip,br"),
    ] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let response = guest.http(request).await;
    assert_eq!((response.status(), response.headers()["content-type"].to_str().unwrap()), (StatusCode::OK, STREAM));
    let envelopes = opened(response.body());
    assert_eq!(envelopes.len(), 4, "{envelopes:?}");
    assert!(envelopes[0].1.starts_with(r#"{"event":{"start":{"pid":"#), "{envelopes:?}");
    assert_eq!(envelopes[1], (0, r#"{"event":{"data":{"stdout":"aGk="}}}"#.into()));
    assert_eq!(
        envelopes[2],
        (
            0,
            r#"{"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}}}"#.into()
        )
    );
    assert_eq!(envelopes[3], (END_STREAM, "{}".into()));
}

#[tokio::test]
async fn a_stream_that_fails_says_so_in_its_last_envelope() {
    let guest = Guest::new();
    for (body, code) in [
        (envelope(r#"{"process":{"pid":999999}}"#), "not_found"),
        (envelope("no json"), "invalid_argument"),
        (Bytes::new(), "invalid_argument"),
        (Bytes::from_static(&[1, 0, 0, 0, 1, 0]), "unimplemented"),
        (Bytes::from_static(&[0, 255, 255, 255, 255]), "resource_exhausted"),
    ] {
        let response = guest.http(post("/process.Process/Connect", STREAM, body)).await;
        assert_eq!(response.status(), StatusCode::OK);
        let envelopes = opened(response.body());
        assert_eq!((envelopes.len(), envelopes[0].0), (1, END_STREAM));
        assert!(envelopes[0].1.contains(&format!(r#""code":"{code}""#)), "{envelopes:?}");
    }
}

#[tokio::test]
async fn a_unary_refusal_has_its_status_and_its_word() {
    let guest = Guest::new();
    for (target, body, status, code) in [
        ("/filesystem.Filesystem/Stat", r#"{"path":"/no/such"}"#, 404, "not_found"),
        ("/filesystem.Filesystem/MakeDir", r#"{"path":"/tmp"}"#, 409, "already_exists"),
        ("/filesystem.Filesystem/Stat", "{", 400, "invalid_argument"),
        ("/process.Process/SendSignal", r#"{"process":{"pid":999999},"signal":"SIGNAL_SIGKILL"}"#, 404, "not_found"),
        ("/process.Process/SendSignal", "{}", 400, "invalid_argument"),
        ("/process.Process/Nonsense", "{}", 501, "unimplemented"),
    ] {
        let response = guest.http(post(target, "application/json", body)).await;
        assert_eq!(response.status().as_u16(), status, "{target}");
        let refusal: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(refusal["code"], code);
        assert!(refusal["message"].is_string());
    }
}

#[tokio::test]
async fn routes_that_are_not_there_answer_in_json() {
    let guest = Guest::new();
    let response = guest.http(get("/nothing")).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(response.body()).unwrap()["code"], 404);
    let response = guest.http(post("/health", "text/plain", "")).await;
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    let response = guest.http(post("/process.Process/List", "text/plain", "")).await;
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(guest.http(get("/health")).await.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn both_codecs_say_the_same() {
    let guest = Guest::new();
    let request = process::StartRequest {
        process: Some(process::ProcessConfig {
            cmd: "/bin/echo".into(),
            args: vec!["hi".into()],
            ..Default::default()
        }),
        stdin: Some(false),
        ..Default::default()
    };
    for (codec, kind) in [(Codec::Json, STREAM), (Codec::Proto, "application/connect+proto")] {
        let response = guest.http(post("/process.Process/Start", kind, frame(codec, &request))).await;
        assert_eq!(response.headers()["content-type"], kind);
        let mut deframer = Deframer::default();
        deframer.push(response.body());
        let mut said = Vec::new();
        let mut ended = None;
        while let Some(envelope) = deframer.next_envelope().unwrap() {
            match envelope {
                Envelope::Message(message) => {
                    let event = codec.decode::<process::EventResponse>(&message).unwrap().event.unwrap();
                    said.extend(event.data.and_then(|data| data.stdout).unwrap_or_default());
                    ended = event.end.or(ended);
                }
                Envelope::End(end) => end.unwrap(),
            }
        }
        assert_eq!((said.as_slice(), ended.unwrap().status.as_str()), (&b"hi\n"[..], "exit status 0"));
    }
    let listed = guest.http(post("/process.Process/List", "application/proto", "")).await;
    assert_eq!((listed.headers()["content-type"].to_str().unwrap(), listed.body().len()), ("application/proto", 0));
    assert_eq!(guest.http(post("/process.Process/List", "application/json", "{}")).await.body(), r#"{"processes":[]}"#);
}

#[tokio::test]
async fn a_message_in_gzip_is_understood() {
    let guest = Guest::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, br#"{"path":"/"}"#).unwrap();
    let mut request = post("/filesystem.Filesystem/Stat", "application/json", encoder.finish().unwrap());
    request.headers_mut().insert("content-encoding", HeaderValue::from_static("gzip"));
    assert_eq!(guest.http(request).await.status(), StatusCode::OK);
    let mut request = post("/filesystem.Filesystem/Stat", "application/json", "{}");
    request.headers_mut().insert("content-encoding", HeaderValue::from_static("br"));
    assert_eq!(guest.http(request).await.status(), StatusCode::NOT_IMPLEMENTED);
}

#[tokio::test]
async fn a_silent_command_gives_signs_of_life() {
    let guest = Guest::new();
    let request = r#"{"process":{"cmd":"/bin/sh","args":["-c","sleep 1.5"]},"stdin":false}"#;
    let mut request = post("/process.Process/Start", STREAM, envelope(request));
    request.headers_mut().insert("keepalive-ping-interval", HeaderValue::from_static("1"));
    let envelopes = opened(guest.http(request).await.body());
    assert_eq!(envelopes[1], (0, r#"{"event":{"keepalive":{}}}"#.into()));
}

#[tokio::test]
async fn input_is_streamed_in_pieces_and_answered_once() {
    let guest = Guest::new();
    let start = carrel_envd::Start { program: "cat".into(), stdin: true, ..Default::default() };
    let mut events = guest.envd.start(&start).await.unwrap();
    let pid = crate::guest::pid(&mut events).await;
    let pieces = [
        envelope(&format!(r#"{{"start":{{"process":{{"pid":{pid}}}}}}}"#)),
        envelope(r#"{"keepalive":{}}"#),
        envelope(r#"{"data":{"input":{"stdin":"YWI="}}}"#),
        envelope(r#"{"data":{"input":{"stdin":"Yw=="}}}"#),
    ];
    let body = StreamBody::new(futures::stream::iter(
        pieces.map(|piece| Ok::<_, std::io::Error>(hyper::body::Frame::data(piece))),
    ));
    let line = UnixStream::connect(&guest.socket.path).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(line)).await.unwrap();
    let driven = tokio::spawn(connection);
    let request = http::Request::post("/process.Process/StreamInput")
        .header("host", "envd")
        .header("content-type", STREAM)
        .body(body)
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    driven.abort();
    assert_eq!(opened(&body), [(0, "{}".to_owned()), (END_STREAM, "{}".to_owned())]);
    guest.envd.close_stdin(&carrel_envd::Selector::Pid(pid)).await.unwrap();
    assert_eq!(crate::guest::gather(events).await.stdout, "abc");
}

#[tokio::test]
async fn a_follower_can_limit_its_own_time_and_the_command_lives_on() {
    let guest = Guest::new();
    let mut events = guest.envd.start(&crate::guest::shell("exec sleep 600")).await.unwrap();
    let pid = crate::guest::pid(&mut events).await;
    let mut request = post("/process.Process/Connect", STREAM, envelope(&format!(r#"{{"process":{{"pid":{pid}}}}}"#)));
    request.headers_mut().insert("connect-timeout-ms", HeaderValue::from_static("100"));
    let envelopes = opened(guest.http(request).await.body());
    assert!(envelopes[1].1.contains("deadline_exceeded"), "{envelopes:?}");
    assert_eq!(guest.envd.processes().await.unwrap().len(), 1);
}

#[tokio::test]
async fn nonsense_on_the_line_hurts_nobody() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let guest = Guest::new();
    for nonsense in [
        &b"\0\0\0\0"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /files HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        &[b'x'; 100_000],
    ] {
        let mut line = UnixStream::connect(&guest.socket.path).await.unwrap();
        let _ = line.write_all(nonsense).await;
        let _ = line.shutdown().await;
        let _ = line.read_to_end(&mut Vec::new()).await;
    }
    let body: Full<Bytes> = Full::default();
    let request = http::Request::builder().method("BREW").uri("/health").header("host", "x").body(body).unwrap();
    assert_eq!(guest.http(request).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    guest.envd.health().await.unwrap();
}
