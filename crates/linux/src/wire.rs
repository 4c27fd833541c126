//! Messages with descriptors over a SEQPACKET socket: one message, one packet, whole or not at all.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Serialize, de::DeserializeOwned};

/// No message is longer.
const LONGEST: usize = 128 * 1024;
/// No message brings more descriptors.
const MOST_FDS: usize = 128;

/// Both ends of a wire.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message with descriptors.
pub(crate) fn send(wire: impl AsFd, message: &impl Serialize, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    if body.len() > LONGEST || fds.len() > MOST_FDS {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message does not fit into a packet"));
    }
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    loop {
        match sendmsg(&wire, &[IoSlice::new(&body)], &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for a message. Nothing when the other end is gone.
pub(crate) fn receive<T: DeserializeOwned>(wire: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut body = vec![0; LONGEST];
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match recvmsg(&wire, &mut [IoSliceMut::new(&mut body)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(got) => break got,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    Ok(Some((serde_json::from_slice(&body[..got.bytes])?, fds)))
}
