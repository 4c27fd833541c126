//! From threads that may not block to threads that may.

use std::io::{self, Read};

use tokio::sync::mpsc;

/// Reads, on a thread that may block, what arrives on one that may not.
pub(super) struct Arriving<B> {
    pieces: mpsc::Receiver<B>,
    piece: Option<B>,
    read: usize,
}

impl<B: AsRef<[u8]>> Arriving<B> {
    pub(super) fn new(pieces: mpsc::Receiver<B>) -> Self {
        Arriving { pieces, piece: None, read: 0 }
    }
}

impl<B: AsRef<[u8]>> Read for Arriving<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(piece) = &self.piece {
                let rest = &piece.as_ref()[self.read..];
                if !rest.is_empty() {
                    let length = rest.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&rest[..length]);
                    self.read += length;
                    return Ok(length);
                }
            }
            match self.pieces.blocking_recv() {
                Some(piece) => (self.piece, self.read) = (Some(piece), 0),
                None => return Ok(0),
            }
        }
    }
}
