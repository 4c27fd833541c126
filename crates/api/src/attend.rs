//! Attending to those who come in: one task each, until they leave or the house closes.
//!
//! As `axum::serve` does it, with one thing more: whoever does not come to the end of their headers is hung up on.

use std::{convert::Infallible, future::Future, pin::Pin, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, Response},
    serve::Listener,
};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};

use crate::entrance::{Entrance, Peer};

/// Serves everybody until `closing`, then lets what is in flight end. Whoever has not said what they want within
/// `headers_within` is hung up on; so is a connection on which nothing is asked for as long.
pub async fn attend(mut entrance: Entrance, app: Router, headers_within: Duration, closing: impl Future<Output = ()>) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(headers_within);
    server.http2().timer(TokioTimer::new()).enable_connect_protocol();
    let inside = GracefulShutdown::new();
    let mut closing = std::pin::pin!(closing);
    loop {
        let (wire, address) = tokio::select! {
            accepted = entrance.accept() => accepted,
            () = &mut closing => break,
        };
        let visit = Visit { app: app.clone(), peer: Peer(address) };
        let connection = server.serve_connection_with_upgrades(TokioIo::new(wire), visit).into_owned();
        let connection = inside.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = &*error, %address, "a connection broke off");
            }
        });
    }
    // Nobody new is let in while the others finish.
    drop(entrance);
    inside.shutdown().await;
}

/// One connection, with where it came from.
#[derive(Clone)]
struct Visit {
    app: Router,
    peer: Peer,
}

impl hyper::service::Service<Request<Incoming>> for Visit {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let mut app = self.app.clone();
        Box::pin(tower_service::Service::call(&mut app, request))
    }
}
