use carrel_envd::{
    Envd, EnvdError, Init,
    wire::{Operation, percent_encode, sign},
};
use http::{HeaderValue, Method, StatusCode};
use secrecy::SecretString;

use crate::guest::{Guest, get, post, shell};

const TOKEN: &str = "tok-envd-123";

async fn locked() -> Guest {
    let guest = Guest::new();
    let init = Init { token: Some(SecretString::from(TOKEN)), ..Default::default() };
    guest.envd.init(&init).await.unwrap();
    guest
}

fn message(response: &http::Response<bytes::Bytes>) -> String {
    let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(body["code"], response.status().as_u16());
    body["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn whoever_shows_no_token_is_refused_everywhere_but_at_health() {
    let guest = locked().await;
    guest.envd.health().await.unwrap();
    let refused = [
        guest.envd.start(&shell("true")).await.map(drop),
        guest.envd.list("/", 1, None).await.map(drop),
        guest.envd.metrics().await.map(drop),
        guest.envd.init(&Init::default()).await,
        guest.envd.port(1).await.map(drop),
        guest.envd.hibernate(std::time::Duration::ZERO).await,
    ];
    for refused in refused {
        assert!(matches!(refused, Err(EnvdError::Refused(_))), "{refused:?}");
    }
    let response = guest.http(get("/envs")).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert!(message(&response).starts_with("unauthorized access"));
}

#[tokio::test]
async fn whoever_shows_the_token_is_let_in() {
    let guest = locked().await;
    let holder = Envd::new(guest.socket.clone(), Some(SecretString::from(TOKEN)));
    assert_eq!(crate::guest::gather(holder.start(&shell("echo in")).await.unwrap()).await.stdout, "in\n");
    holder.init(&Init { env: [("A".to_owned(), "b".to_owned())].into(), ..Default::default() }).await.unwrap();
    let mut request = get("/envs");
    request.headers_mut().insert("x-access-token", HeaderValue::from_static(TOKEN));
    assert_eq!(guest.http(request).await.body(), r#"{"A":"b"}"#);
    let wrong = Envd::new(guest.socket.clone(), Some(SecretString::from("wrong")));
    assert!(matches!(wrong.processes().await, Err(EnvdError::Refused(_))));
}

#[tokio::test]
async fn a_signed_address_opens_one_file_one_way() {
    let guest = locked().await;
    let path = guest.path("signed.txt");
    let write = sign(&path, Operation::Write, "", TOKEN, None);
    let target =
        |signature: &str| format!("/files?path={}&signature={}", percent_encode(&path), percent_encode(signature));
    let response = guest.http(post(&target(&write), "application/octet-stream", "content")).await;
    assert_eq!(response.status(), StatusCode::OK);
    let read = sign(&path, Operation::Read, "", TOKEN, None);
    assert_eq!(guest.http(get(&target(&read))).await.body(), "content");

    let response = guest.http(get(&target(&write))).await;
    assert_eq!((response.status(), message(&response).as_str()), (StatusCode::UNAUTHORIZED, "invalid signature"));
    let response = guest.http(get(&format!("/files?path={}", percent_encode(&path)))).await;
    assert_eq!(message(&response), "missing signature query parameter");
    let mut request = get(&target(&read));
    request.headers_mut().insert("x-access-token", HeaderValue::from_static("wrong"));
    assert_eq!(message(&guest.http(request).await), "access token present in header but does not match");
}

#[tokio::test]
async fn a_signed_address_ends_when_it_says() {
    let guest = locked().await;
    let path = guest.path("signed.txt");
    std::fs::write(&path, "x").unwrap();
    let target = |until: i64| {
        let signature = sign(&path, Operation::Read, "root", TOKEN, Some(until));
        let (path, signature) = (percent_encode(&path), percent_encode(&signature));
        format!("/files?path={path}&username=root&signature={signature}&signature_expiration={until}")
    };
    let response = guest.http(get(&target(1_000_000_000))).await;
    assert_eq!(message(&response), "signature is already expired");
    assert_eq!(guest.http(get(&target(32_503_680_000))).await.body(), "x");
}

#[tokio::test]
async fn pages_of_any_origin_may_ask() {
    let guest = locked().await;
    let mut request = get("/files");
    *request.method_mut() = Method::OPTIONS;
    let response = guest.http(request).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
}
