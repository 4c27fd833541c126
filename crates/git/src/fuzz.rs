//! What `fuzz/` throws bytes at: the readers that meet them first. Only with the feature `fuzz`.

use crate::{gateway, packet};

/// Reads the beginning of a push, up to its pack, and every packet line after it.
pub async fn push(mut bytes: &[u8]) {
    let mut lines = bytes;
    while let Ok(packet::Packet::Line(_) | packet::Packet::Flush) = packet::read(&mut lines).await {}
    gateway::fuzz(&mut bytes).await;
}
