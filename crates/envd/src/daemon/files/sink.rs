//! A file on its way to the disk.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use bytes::Bytes;
use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    super::body::Refusal,
    SMALL, WAITING,
    draft::{Draft, Target},
};

/// Takes bytes for a file: the first ones are held, the rest is written by a thread beside.
pub(super) struct Sink {
    target: Target,
    held: usize,
    way: Way,
}

enum Way {
    Held(Vec<Bytes>),
    Beside(mpsc::Sender<Bytes>, JoinHandle<io::Result<Draft>>),
    Closed,
}

impl Sink {
    pub(super) fn new(target: Target) -> Sink {
        Sink { target, held: 0, way: Way::Held(Vec::new()) }
    }

    /// The path that was asked for.
    pub(super) fn path(&self) -> &Path {
        &self.target.path
    }

    /// Takes the next bytes, as fast as the disk does.
    pub(super) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        if let Way::Held(before) = &mut self.way {
            // In memory a piece costs more than its bytes: many tiny ones are no small file.
            self.held += bytes.len().max(64);
            before.push(bytes);
            if self.held as u64 <= SMALL {
                return Ok(());
            }
            let before = std::mem::take(before);
            let (sender, receiver) = mpsc::channel(WAITING);
            let target = self.target.clone();
            self.way = Way::Beside(sender, tokio::task::spawn_blocking(move || write_all(target, before, receiver)));
            return Ok(());
        }
        match &mut self.way {
            Way::Beside(sender, _) => match sender.send(bytes).await {
                Ok(()) => Ok(()),
                // The thread stopped: it knows why.
                Err(_) => match std::mem::replace(&mut self.way, Way::Closed) {
                    Way::Beside(_, thread) => joined(thread.await).map(drop),
                    Way::Held(_) | Way::Closed => Ok(()),
                },
            },
            Way::Held(_) | Way::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until everything is written, and puts it where it belongs.
    pub(super) async fn finish(
        self,
        note: impl FnOnce(&File) -> Result<(), Refusal> + Send + 'static,
    ) -> Result<(), Refusal> {
        let refuse = |error: io::Error| self.target.refuse(&error);
        match self.way {
            Way::Held(content) => self.target.write(&content, note),
            Way::Beside(sender, thread) => {
                drop(sender);
                let draft = joined(thread.await).map_err(refuse)?;
                let kept = tokio::task::spawn_blocking(move || draft.keep(note)).await;
                kept.unwrap_or_else(|error| Err(refuse(io::Error::other(error))))
            }
            Way::Closed => Err(refuse(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

fn joined<T>(ended: Result<io::Result<T>, tokio::task::JoinError>) -> io::Result<T> {
    ended.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn write_all(target: Target, before: Vec<Bytes>, mut receiver: mpsc::Receiver<Bytes>) -> io::Result<Draft> {
    let mut draft = Draft::begin(target)?;
    for bytes in before {
        draft.write(&bytes)?;
    }
    while let Some(bytes) = receiver.blocking_recv() {
        draft.write(&bytes)?;
    }
    Ok(draft)
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
