//! Lines through a cluster's proxy: every request says which sandbox and port it is for.

use std::{convert::Infallible, net::SocketAddr};

use carrel_model::SandboxId;
use carrel_sandbox::{Provider, contract::usual_spec};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::cluster::Cluster;

/// A proxy that tells back what it was asked, and can become an echo.
async fn proxy() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            tokio::spawn(serving.with_upgrades());
        }
    });
    address
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<Full<bytes::Bytes>>, Infallible> {
    if request.headers().contains_key(header::UPGRADE) {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let (mut reader, mut writer) = tokio::io::split(TokioIo::new(upgrade.await.unwrap()));
            let _ = tokio::io::copy(&mut reader, &mut writer).await;
        });
        let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        let response = response.header(header::UPGRADE, "echo").header(header::CONNECTION, "upgrade");
        return Ok(response.body(Full::default()).unwrap());
    }
    let shown = |name: &str| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
        format!("{name}={value} ")
    };
    let names = [
        "host",
        "e2b-sandbox-id",
        "e2b-sandbox-port",
        "e2b-traffic-access-token",
        "x-access-token",
        "x-forwarded-host",
    ];
    let mut told: String = names.map(shown).concat();
    let closes = request.uri().path() == "/close";
    told.push_str(request.uri().path());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    told.push_str(&format!(" {}", body.len()));
    let mut response = Response::new(Full::from(told));
    if closes {
        response.headers_mut().insert(header::CONNECTION, "close".parse().unwrap());
    }
    Ok(response)
}

struct Yard {
    _cluster: Cluster,
    proxy: SocketAddr,
    endpoint: carrel_sandbox::Endpoint,
}

async fn yard() -> Yard {
    let (cluster, proxy) = (Cluster::open().await, proxy().await);
    let mut config = cluster.config("house1");
    config.sandbox_url = Some(format!("http://{proxy}"));
    let provider = config.build().unwrap();
    let id = SandboxId::from_random([7; 16]);
    provider.create(&id, &usual_spec(&provider).await).await.unwrap();
    let endpoint = provider.endpoint(&id).await.unwrap();
    Yard { _cluster: cluster, proxy, endpoint }
}

const SANDBOX: &str = "i0000000000000000001";

#[tokio::test]
async fn envd_is_asked_with_the_sandbox_its_port_and_its_token() {
    let yard = yard().await;
    let envd = carrel_envd::Envd::new(yard.endpoint.dial, yard.endpoint.token);
    let mut found = envd.download("/etc/hostname", None).await.unwrap().content;
    let told = futures::StreamExt::next(&mut found).await.unwrap().unwrap();
    let host = yard.proxy;
    let expected = format!(
        "host={host} e2b-sandbox-id={SANDBOX} e2b-sandbox-port=49983 e2b-traffic-access-token=- \
         x-access-token=token-of-{SANDBOX} x-forwarded-host=- /files 0"
    );
    assert_eq!(String::from_utf8(told.to_vec()).unwrap(), expected);
}

#[tokio::test]
async fn a_port_is_a_line_like_any_other_and_keeps_the_envds_token_to_itself() {
    let yard = yard().await;
    let envd = carrel_envd::Envd::new(yard.endpoint.dial, yard.endpoint.token);
    let line = envd.port(3000).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(line)).await.unwrap();
    let driven = tokio::spawn(connection);
    let host = yard.proxy;
    for (path, size) in [("/one", 5), ("/two", 300_000), ("/close", 0)] {
        let body = Full::new(bytes::Bytes::from(vec![b'x'; size]));
        let request = Request::post(path).header(header::HOST, "app.example").body(body).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let told = response.into_body().collect().await.unwrap().to_bytes();
        let expected = format!(
            "host={host} e2b-sandbox-id={SANDBOX} e2b-sandbox-port=3000 e2b-traffic-access-token=traffic-of-{SANDBOX} \
             x-access-token=- x-forwarded-host=app.example {path} {size}"
        );
        assert_eq!(String::from_utf8(told.to_vec()).unwrap(), expected);
    }
    // The far side has hung up after that, and so has the clerk.
    driven.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_port_may_become_a_web_socket() {
    let yard = yard().await;
    let envd = carrel_envd::Envd::new(yard.endpoint.dial, yard.endpoint.token);
    let line = envd.port(3000).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(line)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let request = Request::get("/").header(header::HOST, "x").header(header::UPGRADE, "echo");
    let request = request.header(header::CONNECTION, "upgrade").body(Full::<bytes::Bytes>::default()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut line = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    for round in 0..100_u32 {
        line.write_all(&round.to_be_bytes()).await.unwrap();
        assert_eq!(line.read_u32().await.unwrap(), round);
    }
    line.shutdown().await.unwrap();
    assert_eq!(line.read(&mut [0; 8]).await.unwrap(), 0, "the end goes through as well");
}

#[tokio::test]
async fn a_line_whose_holder_goes_away_is_hung_up_at_the_far_end() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cluster = Cluster::open().await;
    let mut config = cluster.config("house1");
    config.sandbox_url = Some(format!("http://{}", listener.local_addr().unwrap()));
    let provider = config.build().unwrap();
    let id = SandboxId::from_random([7; 16]);
    provider.create(&id, &usual_spec(&provider).await).await.unwrap();
    let endpoint = provider.endpoint(&id).await.unwrap();
    let line = carrel_envd::Envd::new(endpoint.dial, endpoint.token).port(3000).await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    drop(line);
    assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
}
