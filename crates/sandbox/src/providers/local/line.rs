//! Lines into a sandbox: its envd listens on a socket that only its own network namespace knows, and a visitor calls it.

use std::{
    io,
    net::Ipv4Addr,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use carrel_envd::{Dial, Line};
use carrel_linux::visit::Visitor;
use tokio::{
    net::{TcpListener, UdpSocket, UnixStream},
    sync::{oneshot, watch},
};

use crate::egress::Ear;

/// The abstract name of envd's socket.
pub(crate) const SOCKET: &str = "carrel-envd";

/// Calls an envd whose socket lies among the host's files.
pub(crate) struct Neighbour(pub(crate) std::path::PathBuf);

#[async_trait]
impl Dial for Neighbour {
    async fn dial(&self) -> io::Result<Box<dyn Line>> {
        Ok(Box::new(UnixStream::connect(&self.0).await?))
    }
}

/// Listens inside one sandbox.
pub(crate) struct Inside {
    pub(crate) visitor: Visitor,
    pub(crate) network: Arc<OwnedFd>,
}

#[async_trait]
impl Ear for Inside {
    async fn datagrams(&self, port: u16) -> io::Result<UdpSocket> {
        let (done, opened) = oneshot::channel();
        self.visitor.take_datagrams(Arc::clone(&self.network), port, move |answer| {
            let _ = done.send(answer);
        });
        UdpSocket::from_std(opened.await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??)
    }

    async fn calls(&self, address: Ipv4Addr, port: u16) -> io::Result<TcpListener> {
        let (done, opened) = oneshot::channel();
        self.visitor.listen(Arc::clone(&self.network), address, port, move |answer| {
            let _ = done.send(answer);
        });
        TcpListener::from_std(opened.await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??)
    }
}

/// Calls the envd of one sandbox.
pub(crate) struct Caller {
    pub(crate) visitor: Visitor,
    pub(crate) network: Arc<OwnedFd>,
    /// Nobody calls while its memory is written: a line that leads outside cannot be.
    pub(crate) gate: Option<Gate>,
    /// Lines that were opened before anybody needed them.
    pub(crate) kept: Kept,
}

/// Lines into one sandbox on which nothing was said yet: its first callers find one open. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<UnixStream>>>);

impl Kept {
    /// One that is still open at the other end.
    fn take(&self) -> Option<UnixStream> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(line) = kept.pop() {
            // Nothing was asked, so nothing is said; what can be read is the end.
            let mut nothing = [0];
            if line.try_read(&mut nothing).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                return Some(line);
            }
        }
        None
    }

    /// Lets go of all of them.
    pub(crate) fn hang_up(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Caller {
    /// Opens a line and keeps it for whoever comes first.
    pub(crate) async fn keep_one(&self) {
        if let Ok(line) = self.call().await {
            self.kept.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    async fn call(&self) -> io::Result<UnixStream> {
        let (done, called) = oneshot::channel();
        self.visitor.call(Arc::clone(&self.network), SOCKET.into(), move |answer| {
            let _ = done.send(answer);
        });
        let socket = called.await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??;
        UnixStream::from_std(socket)
    }
}

/// Shut while a sandbox's memory is written. Whoever calls meanwhile waits.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub(crate) fn new() -> Self {
        Gate(Arc::new(watch::Sender::new(false)))
    }

    /// Shuts it for as long as the answer is kept.
    pub(crate) fn shut(&self) -> impl Drop + use<> {
        struct Shut(Gate);
        impl Drop for Shut {
            fn drop(&mut self) {
                self.0.0.send_replace(false);
            }
        }
        self.0.send_replace(true);
        Shut(self.clone())
    }

    async fn pass(&self) -> io::Result<()> {
        /// Memory is written in less; what takes longer sleeps.
        const PATIENCE: Duration = Duration::from_secs(10);
        let mut open = self.0.subscribe();
        match tokio::time::timeout(PATIENCE, open.wait_for(|shut| !*shut)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[async_trait]
impl Dial for Caller {
    async fn dial(&self) -> io::Result<Box<dyn Line>> {
        if let Some(gate) = &self.gate {
            gate.pass().await?;
        }
        if let Some(line) = self.kept.take() {
            return Ok(Box::new(line));
        }
        Ok(Box::new(self.call().await?))
    }
}
