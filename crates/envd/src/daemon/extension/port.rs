//! A tunnel to a port inside.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use http::{HeaderValue, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::super::{
    body::{Answer, Refusal, json, status},
    serve::Asked,
};

/// What the `Upgrade` header says.
const PROTOCOL: &str = "carrel-port";

/// Leads a line to a port that somebody listens on, and gets out of the way.
pub(in crate::daemon) async fn port(mut asked: Asked) -> Result<Answer, Refusal> {
    let port = asked.parameter("port").and_then(|port| port.parse::<u16>().ok()).filter(|port| *port > 0);
    let port = port.ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, "port must be a number from 1 to 65535"))?;
    if !asked.header(header::UPGRADE).is_some_and(|protocol| protocol.eq_ignore_ascii_case(PROTOCOL)) {
        return Err(Refusal::new(StatusCode::UPGRADE_REQUIRED, "ask with Upgrade: carrel-port"));
    }
    let Some(mut inside) = connect(port).await else {
        let body = serde_json::json!({
            "message": "The sandbox is running but port is not open",
            "port": port,
            "code": 502,
        });
        return Ok(json(StatusCode::BAD_GATEWAY, &body));
    };
    let upgrade = hyper::upgrade::on(&mut asked.request);
    asked.caller.lines.spawn(|_| async move {
        if let Ok(outside) = upgrade.await {
            // Either side may break off; the other hears of it by the end.
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(outside), &mut inside).await;
        }
    });
    let mut answer = status(StatusCode::SWITCHING_PROTOCOLS);
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    answer.headers_mut().insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
    Ok(answer)
}

async fn connect(port: u16) -> Option<TcpStream> {
    for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))] {
        if let Ok(stream) = TcpStream::connect(address).await {
            let _ = stream.set_nodelay(true);
            return Some(stream);
        }
    }
    None
}
