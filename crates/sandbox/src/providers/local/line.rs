//! Lines into a sandbox: its envd listens on a socket that only its own network namespace knows, and a visitor calls it.

use std::{io, os::fd::OwnedFd, sync::Arc};

use async_trait::async_trait;
use carrel_envd::{Dial, Line};
use carrel_linux::visit::Visitor;
use tokio::{net::UnixStream, sync::oneshot};

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

/// Calls the envd of one sandbox.
pub(crate) struct Caller {
    pub(crate) visitor: Visitor,
    pub(crate) network: Arc<OwnedFd>,
}

#[async_trait]
impl Dial for Caller {
    async fn dial(&self) -> io::Result<Box<dyn Line>> {
        let (done, called) = oneshot::channel();
        self.visitor.call(Arc::clone(&self.network), SOCKET.into(), move |answer| {
            let _ = done.send(answer);
        });
        let socket = called.await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??;
        Ok(Box::new(UnixStream::from_std(socket)?))
    }
}
