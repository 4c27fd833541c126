//! The ports desk: a raw line to what listens inside a sandbox.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use carrel_envd::{Envd, EnvdError, Line};
use carrel_model::{Action, Grant, SandboxId, sandbox::PortHost};
use carrel_sandbox::GATEWAY_PORT;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::wrapping;
use crate::{
    Error,
    house::House,
    inside::activity::{Busy, Doing},
};

/// Opens lines to ports.
pub struct PortsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// A line to a port. Its sandbox counts as active while it is open.
pub struct PortLine {
    pub(super) line: Box<dyn Line>,
    /// The host that a request names inside, when its sandbox has a wish.
    pub(super) host: Option<PortHost>,
    /// Rings when its sandbox is put to sleep, for those who are told.
    pub(super) asleep: CancellationToken,
    pub(super) _busy: Busy,
}

impl PortsDesk<'_> {
    /// Opens a line to a port that something inside listens on.
    pub async fn open(&self, grant: &Grant, id: &SandboxId, port: u16) -> Result<PortLine, Error> {
        let inside = self.house.enter(grant, id, Action::SandboxPort).await?;
        match listened(&inside.envd, port).await {
            Ok(line) => Ok(PortLine {
                line: wrapping::dress(&inside.view, port, line).await?,
                host: inside.view.port_host.clone(),
                asleep: CancellationToken::new(),
                _busy: Busy::new(self.house, &inside.view, Doing::Port),
            }),
            Err(EnvdError::NotFound(_)) => {
                Err(Error::Inside { why: format!("nothing listens on port {port} in sandbox {id}") })
            }
            Err(error) => Err(self.house.understand(id, "port", error)),
        }
    }
}

/// A line to a port of the sandbox's own. The gateway is the house's: whoever calls there is taken for the sandbox, with
/// its grant and with keys that are added on the way, so nobody calls it from outside.
pub(super) async fn listened(envd: &Envd, port: u16) -> Result<Box<dyn Line>, EnvdError> {
    if port == GATEWAY_PORT {
        return Err(EnvdError::NotFound(format!("port {port} belongs to the house")));
    }
    envd.port(port).await
}

impl PortLine {
    /// Rings when its sandbox is put to sleep.
    pub fn asleep(&self) -> CancellationToken {
        self.asleep.clone()
    }

    /// The host that a request to this port names inside.
    pub fn host(&self, port: u16) -> String {
        self.host.as_ref().map_or_else(|| format!("localhost:{port}"), |host| host.of(port))
    }
}

impl AsyncRead for PortLine {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_read(cx, buf)
    }
}

impl AsyncWrite for PortLine {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.line).poll_write(cx, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_shutdown(cx)
    }
}
