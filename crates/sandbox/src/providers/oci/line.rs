//! Lines into a sandbox: its envd listens on a socket in a folder that both sides see.
//!
//! Whoever is root inside may put anything in that folder. The socket is therefore opened by itself, never through a
//! link, and called by its descriptor: nobody inside can make the host call another socket of the host.

use std::{io, os::fd::AsRawFd, path::PathBuf};

use async_trait::async_trait;
use carrel_envd::{Dial, Line};
use rustix::fs::{FileType, Mode, OFlags};
use tokio::net::UnixStream;

/// The folder of sockets, as seen inside.
pub(crate) const FOLDER: &str = "/run/carrel-host";
/// Where envd listens, in that folder.
pub(crate) const SOCKET: &str = "envd.sock";
/// Where the host listens, in that folder.
pub(crate) const GATEWAY: &str = "gateway.sock";

/// Calls the envd of one sandbox.
pub(crate) struct Caller {
    /// The folder of sockets, as seen outside.
    pub(crate) folder: PathBuf,
}

#[async_trait]
impl Dial for Caller {
    async fn dial(&self) -> io::Result<Box<dyn Line>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = rustix::fs::open(self.folder.join(SOCKET), flags, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&socket)?.st_mode) != FileType::Socket {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "somebody inside put something else there"));
        }
        Ok(Box::new(UnixStream::connect(format!("/proc/self/fd/{}", socket.as_raw_fd())).await?))
    }
}
