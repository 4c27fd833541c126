//! The entrance: accepts connections until the house drains, and remembers where each came from.
//!
//! When the house drains nobody new is let in, but whoever is inside is still served: each answer then says that it is the
//! last one on its connection, so that no question is cut.

use std::{net::SocketAddr, time::Duration};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Accepts connections until the house drains.
pub struct Entrance {
    listener: Option<TcpListener>,
    address: SocketAddr,
    draining: watch::Receiver<bool>,
}

/// Where a connection came from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

impl Entrance {
    /// Opens the entrance.
    pub fn new(listener: TcpListener, draining: watch::Receiver<bool>) -> std::io::Result<Self> {
        Ok(Self { address: listener.local_addr()?, listener: Some(listener), draining })
    }
}

impl Listener for Entrance {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let Some(listener) = &self.listener else { std::future::pending().await };
            let accepted = tokio::select! {
                biased;
                _ = self.draining.wait_for(|draining| *draining) => None,
                accepted = listener.accept() => Some(accepted),
            };
            match accepted {
                None => self.listener = None,
                Some(Ok((stream, address))) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "a connection keeps its delay");
                    }
                    return (stream, address);
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

impl Connected<IncomingStream<'_, Entrance>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Entrance>) -> Self {
        Peer(*stream.remote_addr())
    }
}
