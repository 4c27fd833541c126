//! An exec that is followed here: its row as it now is, and the end of its transcript in memory.
//!
//! Readers go by offset. What they ask for is in memory or in the store; a second viewer, a slow one and one that comes
//! back are the same case.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::{Bytes, BytesMut};
use carrel_model::{ExecId, exec::Exec};
use carrel_store::{Chunk, Extent, Store, Stream};
use tokio::sync::watch;

use super::scribe::Growth;
use crate::Error;

/// So much of the end of a transcript stays in memory, written or not.
pub(crate) const TAIL: i64 = 256 * 1024;
/// Pieces are joined up to this size when they are written.
const PIECE: usize = 64 * 1024;
/// So much is handed out at once.
const AT_ONCE: usize = 1024 * 1024;
/// So many pieces are read from the store at once.
const PIECES: u32 = 64;

/// All execs that are followed here.
#[derive(Default)]
pub(crate) struct Lives {
    held: Mutex<HashMap<ExecId, Arc<Live>>>,
}

pub(crate) struct Live {
    state: Mutex<State>,
    bell: watch::Sender<u64>,
}

struct State {
    exec: Exec,
    extent: Extent,
    /// The end of the transcript, without a gap.
    tail: VecDeque<Chunk>,
    /// Where the tail begins.
    tail_from: i64,
    /// How much was given to the scribe.
    given: i64,
    /// How much is kept in the store.
    kept: i64,
    /// Nothing more will come.
    over: bool,
    /// Another node follows it: what is true of it is in the store alone.
    elsewhere: bool,
}

/// Reads a transcript from an offset on.
pub struct Reader {
    store: Store,
    exec: ExecId,
    live: Option<(Arc<Live>, watch::Receiver<u64>)>,
    from: i64,
}

impl Lives {
    pub(crate) fn find(&self, id: &ExecId) -> Option<Arc<Live>> {
        self.held().get(id).cloned()
    }

    pub(crate) fn put(&self, live: &Arc<Live>) {
        self.held().insert(live.exec().id, Arc::clone(live));
    }

    pub(crate) fn remove(&self, id: &ExecId) {
        self.held().remove(id);
    }

    fn held(&self) -> MutexGuard<'_, HashMap<ExecId, Arc<Live>>> {
        self.held.lock().expect("nobody panics while holding the list")
    }
}

impl Live {
    /// An exec that begins, or one that is taken up with what was kept of it.
    pub(crate) fn new(exec: Exec, extent: Extent) -> Self {
        let length = extent.length;
        let (tail, over, elsewhere) = (VecDeque::new(), false, false);
        let state = State { exec, extent, tail, tail_from: length, given: length, kept: length, over, elsewhere };
        Live { state: Mutex::new(state), bell: watch::Sender::new(0) }
    }

    pub(crate) fn exec(&self) -> Exec {
        self.state().exec.clone()
    }

    /// How long the transcript is.
    pub(crate) fn length(&self) -> i64 {
        self.state().extent.length
    }

    /// How many bytes its process has said, as far as it was heard.
    pub(crate) fn heard(&self) -> u64 {
        u64::try_from(self.state().extent.heard).unwrap_or(0)
    }

    /// What comes next was said after so many bytes: those before it are lost to us.
    pub(crate) fn skip_to(&self, heard: u64) {
        self.state().extent.heard = i64::try_from(heard).unwrap_or(i64::MAX);
    }

    pub(crate) fn edit(&self, edit: impl FnOnce(&mut Exec)) {
        edit(&mut self.state().exec);
    }

    /// Adds what was printed, and says how much of the transcript is not yet given to the scribe.
    pub(crate) fn push(&self, stream: Stream, bytes: Bytes) -> i64 {
        let mut state = self.state();
        let chunks = state.extent.take(stream, bytes);
        let grown = !chunks.is_empty();
        for chunk in chunks {
            state.tail.push_back(chunk);
        }
        let waiting = state.extent.length - state.given;
        drop(state);
        if grown {
            self.ring();
        }
        waiting
    }

    /// Says how it ended. Readers that have come to the end are told so.
    pub(crate) fn end(&self, edit: impl FnOnce(&mut Exec)) {
        let mut state = self.state();
        edit(&mut state.exec);
        state.over = true;
        drop(state);
        self.ring();
    }

    /// What the scribe shall write now: the row as it is, and what was added since the last time.
    pub(crate) fn give(&self) -> Growth {
        let mut state = self.state();
        let from = state.given;
        let chunks = joined(state.tail.iter().filter(|chunk| chunk.offset >= from));
        state.given = state.extent.length;
        Growth { exec: state.exec.clone(), chunks, extent: state.extent, closed: state.over }
    }

    /// What was given up to here is kept: memory may let go of it.
    pub(crate) fn keep(&self, length: i64) {
        let mut state = self.state();
        state.kept = state.kept.max(length);
        state.trim();
    }

    /// Another node follows it now. Readers go on with what is in the store, from where that was still ours.
    pub(crate) fn hand_over(&self) {
        self.state().elsewhere = true;
        self.ring();
    }

    fn ring(&self) {
        self.bell.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding an exec")
    }
}

impl State {
    fn trim(&mut self) {
        while let Some(first) = self.tail.front() {
            let end = first.offset + first.bytes.len() as i64;
            if end > self.kept || self.extent.length - end < TAIL {
                return;
            }
            self.tail_from = end;
            self.tail.pop_front();
        }
    }

    /// What is in memory from an offset on; nothing when it is not in memory any more.
    fn read(&self, from: i64) -> Option<Vec<Chunk>> {
        if from < self.tail_from {
            return None;
        }
        let (mut chunks, mut size) = (Vec::new(), 0);
        for chunk in &self.tail {
            let skip = usize::try_from(from - chunk.offset).unwrap_or(0);
            if skip >= chunk.bytes.len() {
                continue;
            }
            if size >= AT_ONCE {
                break;
            }
            let bytes = chunk.bytes.slice(skip..);
            size += bytes.len();
            chunks.push(Chunk { offset: chunk.offset + skip as i64, stream: chunk.stream, bytes });
        }
        Some(chunks)
    }
}

/// Small pieces of the same stream, one after the other, as one: each is a row.
fn joined<'c>(chunks: impl Iterator<Item = &'c Chunk>) -> Vec<Chunk> {
    let mut all: Vec<(i64, Stream, BytesMut)> = Vec::new();
    for chunk in chunks {
        match all.last_mut() {
            Some((_, stream, bytes)) if *stream == chunk.stream && bytes.len() + chunk.bytes.len() <= PIECE => {
                bytes.extend_from_slice(&chunk.bytes);
            }
            _ => all.push((chunk.offset, chunk.stream, BytesMut::from(&chunk.bytes[..]))),
        }
    }
    all.into_iter().map(|(offset, stream, bytes)| Chunk { offset, stream, bytes: bytes.freeze() }).collect()
}

enum Next {
    Here(Vec<Chunk>),
    InTheStore,
    /// In the store as well, and from now on: up to here it is as we know it.
    Elsewhere(i64),
    Over,
    Wait,
}

impl Reader {
    pub(crate) fn new(store: Store, exec: ExecId, live: Option<Arc<Live>>, from: i64) -> Self {
        let live = live.map(|live| {
            let bell = live.bell.subscribe();
            (live, bell)
        });
        Reader { store, exec, live, from }
    }

    /// Where the next piece begins.
    pub fn offset(&self) -> i64 {
        self.from
    }

    /// What comes next, as soon as there is something; nothing when nothing more will come. May be called off.
    pub async fn next(&mut self) -> Result<Option<Vec<Chunk>>, Error> {
        let chunks = loop {
            let Some((live, bell)) = &mut self.live else {
                break self.store.transcripts().follow(&self.exec, self.from, PIECES).await?;
            };
            bell.mark_unchanged();
            match look(live, self.from) {
                Next::Here(chunks) => break Some(chunks),
                Next::InTheStore => {
                    break Some(self.store.transcripts().read(&self.exec, self.from, PIECES).await?);
                }
                Next::Elsewhere(known) => (self.live, self.from) = (None, self.from.min(known)),
                Next::Over => break None,
                // We hold the sender.
                Next::Wait => drop(bell.changed().await),
            }
        };
        if let Some(last) = chunks.as_ref().and_then(|chunks| chunks.last()) {
            self.from = last.offset + last.bytes.len() as i64;
        }
        Ok(chunks)
    }

    /// What there is, without waiting for more.
    pub async fn rest(&mut self) -> Result<Option<Vec<Chunk>>, Error> {
        let chunks = match &self.live {
            None => self.store.transcripts().read(&self.exec, self.from, PIECES).await?,
            Some((live, _)) => match look(live, self.from) {
                Next::Here(chunks) => chunks,
                Next::InTheStore | Next::Elsewhere(_) => {
                    self.store.transcripts().read(&self.exec, self.from, PIECES).await?
                }
                Next::Over | Next::Wait => Vec::new(),
            },
        };
        let Some(last) = chunks.last() else { return Ok(None) };
        self.from = last.offset + last.bytes.len() as i64;
        Ok(Some(chunks))
    }
}

fn look(live: &Live, from: i64) -> Next {
    let state = live.state();
    if state.elsewhere {
        return Next::Elsewhere(state.kept);
    }
    match state.read(from) {
        None => Next::InTheStore,
        Some(chunks) if !chunks.is_empty() => Next::Here(chunks),
        Some(_) if state.over => Next::Over,
        Some(_) => Next::Wait,
    }
}
