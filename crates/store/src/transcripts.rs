//! Transcripts: what an exec printed. Append-only, addressed by offset, cut with a marker when they grow too long.
//!
//! They never go into the journal: a reader follows one from an offset, so a second viewer, a slow one and one that
//! comes back are the same case.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use carrel_model::{ExecId, Timestamp};
use tokio::sync::Notify;

use crate::{
    Store, StoreError,
    sql::{args, understood},
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
    pub bytes: Vec<u8>,
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
        let sql = format!("SELECT length, room, dropped, closed_at FROM transcripts WHERE exec_id = $1{lock}");
        let row = understood("transcripts", work.fetch_optional(sql, args![exec.as_str()]).await?)?;
        let (mut length, mut room, mut dropped) = (row.int("length")?, row.int("room")?, row.int("dropped")?);
        let ended = row.maybe_time("closed_at")?.is_some();
        let kept = if ended { 0 } else { bytes.len().min(usize::try_from(room).unwrap_or(0)) };
        let mut pieces = vec![(stream, bytes[..kept].to_vec())];
        if kept < bytes.len() {
            if dropped == 0 && !ended {
                pieces.push((Stream::Carrel, cut_marker(length + kept as i64)));
            }
            dropped += (bytes.len() - kept) as i64;
        }
        room -= kept as i64;
        for (stream, bytes) in pieces.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let sql = "INSERT INTO transcript_chunks (exec_id, start, stream, bytes) VALUES ($1, $2, $3, $4)";
            let size = bytes.len() as i64;
            work.execute(sql, args![exec.as_str(), length, stream.word(), bytes]).await?;
            length += size;
        }
        let sql = "UPDATE transcripts SET length = $2, room = $3, dropped = $4 WHERE exec_id = $1";
        work.execute(sql, args![exec.as_str(), length, room, dropped]).await?;
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
                chunks.push(Chunk { offset: start + skip as i64, stream, bytes });
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
