//! A file on its way to the disk.

use std::{
    fs::File,
    io::{self, Write},
};

use bytes::Bytes;
use tokio::{sync::mpsc, task::JoinHandle};

use super::{SMALL, WAITING};

/// Takes bytes for a file: the first ones at once, the rest through a thread beside.
pub(super) struct Sink {
    taken: u64,
    way: Way,
}

enum Way {
    Here(File),
    Beside(mpsc::Sender<Bytes>, JoinHandle<io::Result<()>>),
    Closed,
}

impl Sink {
    pub(super) fn new(file: File) -> Sink {
        Sink { taken: 0, way: Way::Here(file) }
    }

    /// Takes the next bytes, as fast as the disk does.
    pub(super) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.taken += bytes.len() as u64;
        if self.taken > SMALL
            && let Way::Here(_) = &self.way
            && let Way::Here(file) = std::mem::replace(&mut self.way, Way::Closed)
        {
            let (sender, receiver) = mpsc::channel(WAITING);
            self.way = Way::Beside(sender, tokio::task::spawn_blocking(move || write_all(file, receiver)));
        }
        match &mut self.way {
            Way::Here(file) => file.write_all(&bytes),
            Way::Beside(sender, _) => match sender.send(bytes).await {
                Ok(()) => Ok(()),
                // The thread stopped: it knows why.
                Err(_) => self.finish().await,
            },
            Way::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until everything is written.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.way, Way::Closed) {
            Way::Here(_) | Way::Closed => Ok(()),
            Way::Beside(sender, thread) => {
                drop(sender);
                thread.await.unwrap_or_else(|error| Err(io::Error::other(error)))
            }
        }
    }
}

fn write_all(mut file: File, mut receiver: mpsc::Receiver<Bytes>) -> io::Result<()> {
    while let Some(bytes) = receiver.blocking_recv() {
        file.write_all(&bytes)?;
    }
    Ok(())
}

/// Undoes `Content-Encoding: gzip`, a little at a time: a few bytes can mean very many.
pub(in crate::daemon) struct Inflater {
    decoder: Option<flate2::write::MultiGzDecoder<Vec<u8>>>,
}

impl Inflater {
    /// For a coding; `None` when it is not understood.
    pub(in crate::daemon) fn of(coding: Option<&str>) -> Option<Inflater> {
        match coding.map(str::trim) {
            None | Some("" | "identity") => Some(Inflater { decoder: None }),
            Some("gzip" | "x-gzip") => Some(Inflater { decoder: Some(flate2::write::MultiGzDecoder::new(Vec::new())) }),
            Some(_) => None,
        }
    }

    /// The pieces in which bytes should be given to it.
    pub(in crate::daemon) fn pieces(&self, mut bytes: Bytes) -> Vec<Bytes> {
        const PIECE: usize = 2 << 10;
        if self.decoder.is_none() {
            return vec![bytes];
        }
        let mut pieces = Vec::with_capacity(bytes.len() / PIECE + 1);
        while bytes.len() > PIECE {
            pieces.push(bytes.split_to(PIECE));
        }
        pieces.push(bytes);
        pieces
    }

    /// What a piece means.
    pub(in crate::daemon) fn inflate(&mut self, piece: Bytes) -> io::Result<Bytes> {
        let Some(decoder) = &mut self.decoder else { return Ok(piece) };
        decoder.write_all(&piece)?;
        Ok(std::mem::take(decoder.get_mut()).into())
    }

    /// What is left at the end.
    pub(in crate::daemon) fn finish(&mut self) -> io::Result<Bytes> {
        match self.decoder.take() {
            Some(decoder) => Ok(decoder.finish()?.into()),
            None => Ok(Bytes::new()),
        }
    }
}
