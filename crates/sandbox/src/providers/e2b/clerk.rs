//! The clerk: sits on a line to a cluster's proxy and writes on every request which sandbox it is for.
//!
//! To whoever holds the near end it is a plain line to the port inside, as other providers give. What is said over it must be
//! HTTP/1.1, since that is all a cluster's proxy passes on; WebSockets and other upgrades go through.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use carrel_envd::Line;
use http::{HeaderMap, Request, Response, StatusCode, header};
use hyper::{
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;

/// What is on its way between the two ends.
const ON_THE_DESK: usize = 64 * 1024;

/// Puts a clerk on a line and gives back the near end. The clerk goes when either end does.
pub(super) async fn employ(far: Box<dyn Line>, marks: HeaderMap) -> io::Result<Box<dyn Line>> {
    let (sender, connection) = handshake(TokioIo::new(far)).await.map_err(io::Error::other)?;
    let (near, ours) = tokio::io::duplex(ON_THE_DESK);
    let clerk = Arc::new(Clerk { sender: Mutex::new(sender), marks, upgrades: AtomicBool::new(false) });
    tokio::spawn(async move {
        let mut far = tokio::spawn(connection.with_upgrades());
        let at_work = Arc::clone(&clerk);
        let service = service_fn(move |request| {
            let clerk = Arc::clone(&at_work);
            async move { clerk.forward(request).await }
        });
        let mut serving =
            std::pin::pin!(http1::Builder::new().serve_connection(TokioIo::new(ours), service).with_upgrades());
        tokio::select! {
            _ = serving.as_mut() => far.abort(),
            // The far side hung up: so do we, after what it still said. A line that became something else is not ours to
            // close.
            _ = &mut far => {
                if !clerk.upgrades.load(Ordering::Acquire) {
                    serving.as_mut().graceful_shutdown();
                }
                let _ = serving.await;
            }
        }
    });
    Ok(Box::new(near))
}

struct Clerk {
    sender: Mutex<SendRequest<Incoming>>,
    marks: HeaderMap,
    /// The request on its way asks for the line to become something else.
    upgrades: AtomicBool,
}

impl Clerk {
    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Incoming>, hyper::Error> {
        let host = request.headers().get(header::HOST).cloned();
        for (name, value) in &self.marks {
            request.headers_mut().insert(name, value.clone());
        }
        if let Some(host) = host {
            request.headers_mut().entry("x-forwarded-host").or_insert(host);
        }
        let upgrades = request.headers().contains_key(header::UPGRADE);
        self.upgrades.store(upgrades, Ordering::Release);
        let near = upgrades.then(|| hyper::upgrade::on(&mut request));
        let mut response = self.sender.lock().await.send_request(request).await?;
        match near {
            Some(near) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                let far = hyper::upgrade::on(&mut response);
                tokio::spawn(async move {
                    if let (Ok(near), Ok(far)) = tokio::join!(near, far) {
                        let (mut near, mut far) = (TokioIo::new(near), TokioIo::new(far));
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
            _ => self.upgrades.store(false, Ordering::Release),
        }
        Ok(response)
    }
}
