//! Attending to those who come in: one task each, until they leave or the house closes.
//!
//! As `axum::serve` does it, with one thing more: whoever does not come to the end of their headers is hung up on.

use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

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
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

use crate::entrance::{Entrance, Peer, Wire};

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
        let wire = FirstWords { wire, seen: 0, end: Some(Box::pin(tokio::time::sleep(headers_within))) };
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

/// A connection that must soon show which HTTP it speaks. From then on hyper minds the clock.
struct FirstWords {
    wire: Wire,
    /// How much of HTTP/2's first words has come, and nothing else.
    seen: usize,
    /// Until it is known.
    end: Option<Pin<Box<Sleep>>>,
}

/// How HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl AsyncRead for FirstWords {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.wire).poll_read(cx, buffer);
        let Some(end) = &mut self.end else { return read };
        match read {
            Poll::Pending => end.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                let came = &buffer.filled()[before..];
                let still_open = PREFACE[self.seen..].starts_with(came) && self.seen + came.len() < PREFACE.len();
                self.seen += came.len();
                if !still_open {
                    self.end = None;
                }
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for FirstWords {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }
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
