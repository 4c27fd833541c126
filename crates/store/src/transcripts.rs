//! Transcripts: what an exec printed. Append-only, addressed by offset, cut with a marker when they grow too long.
//!
//! They never go into the journal: a reader follows one from an offset, so a second viewer, a slow one and one that
//! comes back are the same case.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use carrel_model::{ExecId, Timestamp};
use tokio::sync::Notify;

use crate::{
    Store, StoreError, Tx,
    sql::{Row, Work, args, understood},
};

/// The transcripts.
pub struct Transcripts<'s> {
    pub(crate) store: &'s Store,
}

/// Where a piece of output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Carrel itself: the marker where the transcript was cut.
    Carrel,
}

/// A piece of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where it begins.
    pub offset: i64,
    /// Where it came from.
    pub stream: Stream,
    /// What was printed.
    pub bytes: Bytes,
}

/// How far a transcript reaches, and how much more of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes that can be read, the marker of the cut included.
    pub length: i64,
    /// Bytes that still fit.
    pub room: i64,
    /// Bytes that came after the cut.
    pub dropped: i64,
    /// Bytes that the process had said, kept or not.
    pub heard: i64,
}

impl Extent {
    /// The extent of a transcript that is empty and keeps at most `cap` bytes.
    pub fn new(cap: u64) -> Self {
        Extent { length: 0, room: i64::try_from(cap).unwrap_or(i64::MAX), dropped: 0, heard: 0 }
    }

    /// Takes what was printed, and says what of it is kept: all of it, or a part and the marker where it was cut, or
    /// nothing.
    pub fn take(&mut self, stream: Stream, mut bytes: Bytes) -> Vec<Chunk> {
        if stream != Stream::Carrel {
            self.heard += bytes.len() as i64;
        }
        let kept = bytes.len().min(usize::try_from(self.room).unwrap_or(0));
        let cut = bytes.split_off(kept);
        let mut pieces = vec![(stream, bytes)];
        if !cut.is_empty() {
            if self.dropped == 0 {
                pieces.push((Stream::Carrel, cut_marker(self.length + kept as i64).into()));
            }
            self.dropped += cut.len() as i64;
        }
        self.room -= kept as i64;
        let mut chunks = Vec::new();
        for (stream, bytes) in pieces.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let offset = self.length;
            self.length += bytes.len() as i64;
            chunks.push(Chunk { offset, stream, bytes });
        }
        chunks
    }
}

/// How a transcript stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Bytes that can be read.
    pub length: i64,
    /// Bytes that came after the cut and were not kept.
    pub dropped: i64,
    /// When it ended.
    pub closed_at: Option<Timestamp>,
}

impl Transcripts<'_> {
    /// Opens a transcript that keeps at most `cap` bytes. Opening it again changes nothing.
    pub async fn open(&self, exec: &ExecId, cap: u64) -> Result<(), StoreError> {
        let mut work = self.store.sql().begin().await?;
        let sql = "INSERT INTO transcripts (exec_id, length, room, dropped, created_at) VALUES ($1, 0, $2, 0, $3)
                   ON CONFLICT (exec_id) DO NOTHING";
        let cap = i64::try_from(cap).unwrap_or(i64::MAX);
        work.execute(sql, args![exec.as_str(), cap, self.store.now()]).await?;
        work.commit().await
    }

    /// Adds what was printed, and says how long the transcript is now. What no longer fits, or comes after the end, is
    /// counted, not kept.
    pub async fn append(&self, exec: &ExecId, stream: Stream, bytes: &[u8]) -> Result<i64, StoreError> {
        if bytes.is_empty() {
            return Ok(self.get(exec).await?.length);
        }
        let mut work = self.store.sql().begin().await?;
        let lock = if work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT length, room, dropped, heard, closed_at FROM transcripts WHERE exec_id = $1{lock}");
        let row = understood("transcripts", work.fetch_optional(sql, args![exec.as_str()]).await?)?;
        let mut extent = extent(&row)?;
        if row.maybe_time("closed_at")?.is_some() {
            extent.dropped += bytes.len() as i64;
        } else {
            for chunk in extent.take(stream, Bytes::copy_from_slice(bytes)) {
                insert_chunk(&mut work, exec, &chunk).await?;
            }
        }
        let length = extent.length;
        let sql = "UPDATE transcripts SET length = $2, room = $3, dropped = $4, heard = $5 WHERE exec_id = $1";
        work.execute(sql, args![exec.as_str(), extent.length, extent.room, extent.dropped, extent.heard]).await?;
        self.store.sql().ring(&mut work, exec.as_str()).await?;
        work.commit().await?;
        self.store.inner.chimes.ring(exec.as_str());
        Ok(length)
    }

    /// Says that nothing more will come.
    pub async fn close(&self, exec: &ExecId) -> Result<(), StoreError> {
        let mut work = self.store.sql().begin().await?;
        let sql = "UPDATE transcripts SET closed_at = $2 WHERE exec_id = $1 AND closed_at IS NULL";
        work.execute(sql, args![exec.as_str(), self.store.now()]).await?;
        self.store.sql().ring(&mut work, exec.as_str()).await?;
        work.commit().await?;
        self.store.inner.chimes.ring(exec.as_str());
        Ok(())
    }

    /// How far a transcript reaches, when there is one.
    pub async fn extent(&self, exec: &ExecId) -> Result<Option<Extent>, StoreError> {
        let sql = "SELECT length, room, dropped, heard FROM transcripts WHERE exec_id = $1";
        self.store.sql().fetch_optional(sql, args![exec.as_str()]).await?.as_ref().map(extent).transpose()
    }

    /// How a transcript stands.
    pub async fn get(&self, exec: &ExecId) -> Result<Transcript, StoreError> {
        let sql = "SELECT length, dropped, closed_at FROM transcripts WHERE exec_id = $1";
        let row = understood("transcripts", self.store.sql().fetch_optional(sql, args![exec.as_str()]).await?)?;
        Ok(Transcript {
            length: row.int("length")?,
            dropped: row.int("dropped")?,
            closed_at: row.maybe_time("closed_at")?,
        })
    }

    /// Reads from an offset on, at most so many pieces.
    pub async fn read(&self, exec: &ExecId, from: i64, most: u32) -> Result<Vec<Chunk>, StoreError> {
        // The piece that holds the offset may begin before it.
        let sql = "SELECT start, stream, bytes FROM transcript_chunks WHERE exec_id = $1 AND start >= COALESCE(
                       (SELECT max(start) FROM transcript_chunks WHERE exec_id = $1 AND start <= $2), 0)
                   ORDER BY start LIMIT $3";
        let rows = self.store.sql().fetch_all(sql, args![exec.as_str(), from, i64::from(most)]).await?;
        let mut chunks = Vec::with_capacity(rows.len());
        for row in rows {
            let (start, mut bytes) = (row.int("start")?, row.bytes("bytes")?);
            let stream = understood("transcript_chunks.stream", Stream::from_word(&row.text("stream")?))?;
            let skip = usize::try_from(from - start).unwrap_or(0).min(bytes.len());
            bytes.drain(..skip);
            if !bytes.is_empty() {
                chunks.push(Chunk { offset: start + skip as i64, stream, bytes: bytes.into() });
            }
        }
        Ok(chunks)
    }

    /// Waits until there is something to read at an offset. `None` says that nothing more will come.
    pub async fn follow(&self, exec: &ExecId, from: i64, most: u32) -> Result<Option<Vec<Chunk>>, StoreError> {
        let bell = self.store.inner.chimes.listen(exec.as_str());
        loop {
            let rung = bell.notified();
            tokio::pin!(rung);
            // Listens before it looks, so that nothing falls in between.
            rung.as_mut().enable();
            let stands = self.get(exec).await?;
            if stands.length > from {
                return Ok(Some(self.read(exec, from, most).await?));
            }
            if stands.closed_at.is_some() {
                return Ok(None);
            }
            rung.await;
        }
    }

    /// Forgets transcripts that ended before a moment.
    pub async fn forget_before(&self, moment: Timestamp) -> Result<u64, StoreError> {
        let mut work = self.store.sql().begin().await?;
        let forgotten = work.execute("DELETE FROM transcripts WHERE closed_at < $1", args![moment]).await?;
        work.commit().await?;
        Ok(forgotten)
    }
}

impl Tx {
    /// Writes what a transcript has grown by, and how far it now reaches; it is opened when it is not there yet. Only its
    /// one writer may ask: it knows the extent.
    pub async fn extend_transcript(
        &mut self,
        exec: &ExecId,
        chunks: &[Chunk],
        extent: Extent,
        closed: bool,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO transcripts (exec_id, length, room, dropped, created_at, closed_at, heard)
                   VALUES ($1, $2, $3, $4, $5, $6, $7)
                   ON CONFLICT (exec_id) DO UPDATE SET length = $2, room = $3, dropped = $4, closed_at = $6, heard = $7";
        let (now, end) = (self.now(), closed.then_some(self.now()));
        self.work
            .put(sql, args![exec.as_str(), extent.length, extent.room, extent.dropped, now, end, extent.heard])
            .await?;
        for chunk in chunks {
            insert_chunk(&mut self.work, exec, chunk).await?;
        }
        self.grown.push(exec.to_string());
        Ok(())
    }
}

fn extent(row: &Row) -> Result<Extent, StoreError> {
    let (length, room, dropped) = (row.int("length")?, row.int("room")?, row.int("dropped")?);
    Ok(Extent { length, room, dropped, heard: row.int("heard")? })
}

pub(crate) async fn insert_chunk(work: &mut Work, exec: &ExecId, chunk: &Chunk) -> Result<(), StoreError> {
    let sql = "INSERT INTO transcript_chunks (exec_id, start, stream, bytes) VALUES ($1, $2, $3, $4)";
    work.put(sql, args![exec.as_str(), chunk.offset, chunk.stream.word(), chunk.bytes.to_vec()]).await
}

impl Stream {
    /// The word used in SQL and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
            Stream::Carrel => "carrel",
        }
    }

    fn from_word(word: &str) -> Option<Stream> {
        [Stream::Stdout, Stream::Stderr, Stream::Carrel].into_iter().find(|stream| stream.word() == word)
    }
}

fn cut_marker(at: i64) -> Vec<u8> {
    format!("\n[carrel: the transcript is cut here, at its limit of {at} bytes]\n").into_bytes()
}

/// One bell for each transcript that somebody follows.
#[derive(Default)]
pub(crate) struct Chimes {
    bells: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Chimes {
    fn listen(&self, exec: &str) -> Arc<Notify> {
        let mut bells = self.bells.lock().expect("nobody panics while holding the bells");
        // Bells that nobody holds any more make room.
        bells.retain(|_, bell| Arc::strong_count(bell) > 1);
        Arc::clone(bells.entry(exec.to_owned()).or_default())
    }

    pub(crate) fn ring(&self, exec: &str) {
        if let Some(bell) = self.bells.lock().expect("nobody panics while holding the bells").get(exec) {
            bell.notify_waiters();
        }
    }

    pub(crate) fn ring_all(&self) {
        for bell in self.bells.lock().expect("nobody panics while holding the bells").values() {
            bell.notify_waiters();
        }
    }
}
