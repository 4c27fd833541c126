//! The entrance: accepts connections until the house drains, and remembers where each came from.
//!
//! When the house drains nobody new is let in, but whoever is inside is still served: each answer then says that it is the
//! last one on its connection, so that no question is cut.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig, server::TlsStream};

/// Whoever says nothing for so long after calling is hung up on.
const GREETS: Duration = Duration::from_secs(15);
/// So many may be greeting us at once; more wait outside.
const GREETING: usize = 1024;

/// Accepts connections until the house drains.
pub struct Entrance {
    listener: Option<TcpListener>,
    address: SocketAddr,
    draining: watch::Receiver<bool>,
    tls: Option<Greeter>,
}

/// Has each caller prove the keys, while others come in.
struct Greeter {
    acceptor: TlsAcceptor,
    greeted: mpsc::Sender<(Wire, SocketAddr)>,
    waiting: mpsc::Receiver<(Wire, SocketAddr)>,
}

/// A connection, plain or encrypted.
pub enum Wire {
    /// As it comes.
    Plain(TcpStream),
    /// By TLS.
    Secure(Box<TlsStream<TcpStream>>),
}

/// Where a connection came from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

impl Entrance {
    /// Opens the entrance.
    pub fn new(listener: TcpListener, draining: watch::Receiver<bool>) -> std::io::Result<Self> {
        Ok(Self { address: listener.local_addr()?, listener: Some(listener), draining, tls: None })
    }

    /// Lets in by TLS alone. HTTP/2 is offered first.
    pub fn with_tls(mut self, mut config: ServerConfig) -> Self {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let (greeted, waiting) = mpsc::channel(GREETING);
        self.tls = Some(Greeter { acceptor: TlsAcceptor::from(Arc::new(config)), greeted, waiting });
        self
    }
}

impl Listener for Entrance {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        loop {
            let Some(listener) = &self.listener else { std::future::pending().await };
            let greeted = async {
                match &mut self.tls {
                    Some(greeter) => greeter.waiting.recv().await,
                    None => std::future::pending().await,
                }
            };
            let accepted = tokio::select! {
                biased;
                _ = self.draining.wait_for(|draining| *draining) => None,
                Some(greeted) = greeted => return greeted,
                accepted = listener.accept() => Some(accepted),
            };
            match accepted {
                None => self.listener = None,
                Some(Ok((stream, address))) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "a connection keeps its delay");
                    }
                    match &self.tls {
                        Some(greeter) => greeter.greet(stream, address),
                        None => return (Wire::Plain(stream), address),
                    }
                }
                Some(Err(error)) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    // Out of descriptors, most likely: asking again at once would only burn time.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.address)
    }
}

impl Greeter {
    fn greet(&self, stream: TcpStream, address: SocketAddr) {
        let (acceptor, greeted) = (self.acceptor.clone(), self.greeted.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(GREETS, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => drop(greeted.send((Wire::Secure(Box::new(stream)), address)).await),
                Ok(Err(error)) => tracing::debug!(%error, %address, "no TLS came about"),
                Err(_) => tracing::debug!(%address, "a caller said nothing"),
            }
        });
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Wire::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
            Wire::Secure(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Wire::Plain(stream) => stream.is_write_vectored(),
            Wire::Secure(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl Connected<IncomingStream<'_, Entrance>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Entrance>) -> Self {
        Peer(*stream.remote_addr())
    }
}
