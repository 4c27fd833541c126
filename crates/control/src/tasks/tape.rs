//! What an agent prints, as its desk keeps it: read where the transcript has a gap, because no server ran meanwhile.
//!
//! ```text
//! transcript   said 1, said 2, ─ gap ─            said 5
//! tape         said 1, said 2, said 3, said 4, said 5
//! ```
//!
//! A turn is read the same way however often the server dies: the transcript up to its first gap, then the tape. Errors
//! come last from the tape, since it does not know when they were printed.

use std::{sync::Arc, time::Duration};

use carrel_model::{ExecId, Grant, SandboxId};
use carrel_store::Stream;
use futures::StreamExt;

use crate::{Error, FilesDesk, Found, house::House};

/// How often a tape is looked at that is still being written.
const PACE: Duration = Duration::from_secs(1);
/// How often a desk is asked that does not answer.
const TRIES: u32 = 8;
/// What an agent prints beyond this in one turn is not read from the tape.
const LONGEST: u64 = 256 << 20;

/// Where the tape of a turn lies at the desk.
pub(super) fn folder(exec: &ExecId) -> String {
    format!("/tmp/carrel-turn-{exec}")
}

/// The tape of one turn.
pub(super) struct Tape<'a> {
    house: &'a Arc<House>,
    grant: &'a Grant,
    sandbox: &'a SandboxId,
    folder: String,
    /// How much of each the agent's reader has.
    stdout: u64,
    stderr: u64,
    is_torn: bool,
    looks: tokio::time::Interval,
}

impl<'a> Tape<'a> {
    pub(super) fn new(house: &'a Arc<House>, grant: &'a Grant, sandbox: &'a SandboxId, exec: &ExecId) -> Tape<'a> {
        let mut looks = tokio::time::interval(PACE);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Tape { house, grant, sandbox, folder: folder(exec), stdout: 0, stderr: 0, is_torn: false, looks }
    }

    /// The transcript has a gap here.
    pub(super) fn tear(&mut self) {
        self.is_torn = true;
    }

    /// Whether so many bytes of the transcript are to be read; counts them.
    pub(super) fn passes(&mut self, stream: Stream, bytes: usize) -> bool {
        if self.is_torn {
            return false;
        }
        match stream {
            Stream::Stderr => self.stderr += bytes as u64,
            _ => self.stdout += bytes as u64,
        }
        true
    }

    /// Comes back when the tape is to be looked at; never while the transcript has no gap. May be called off.
    pub(super) async fn due(&mut self) {
        if !self.is_torn {
            return std::future::pending().await;
        }
        self.looks.tick().await;
    }

    /// What is new on the tape.
    pub(super) async fn more(&mut self) -> Vec<u8> {
        let more = self.read("stdout", self.stdout).await.unwrap_or_default();
        self.stdout += more.len() as u64;
        more
    }

    /// What is left of output and errors when it is over; nothing when the transcript has no gap.
    pub(super) async fn rest(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        if !self.is_torn {
            return None;
        }
        let stdout = self.read("stdout", self.stdout).await.unwrap_or_default();
        let stderr = self.read("stderr", self.stderr).await.unwrap_or_default();
        Some((stdout, stderr))
    }

    /// How the agent ended, as the desk knows it.
    pub(super) async fn code(&self) -> Option<i32> {
        let text = self.read("code", 0).await?;
        String::from_utf8(text).ok()?.trim().parse().ok()
    }

    /// Opens a file at the desk. A desk that does not answer in the first moments of a server is asked again.
    async fn find(&self, path: &str) -> Option<Found> {
        let files = FilesDesk { house: self.house };
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(PACE / 4).await;
            }
            match files.download(self.grant, self.sandbox, path, None).await {
                Ok(found) => return Some(found),
                Err(Error::Unavailable { .. } | Error::Inside { .. }) => {}
                Err(_) => return None,
            }
        }
        None
    }

    async fn read(&self, name: &str, from: u64) -> Option<Vec<u8>> {
        let path = format!("{}/{name}", self.folder);
        let found = self.find(&path).await?;
        let (mut skip, mut bytes, mut content) = (from, Vec::new(), found.content);
        while let Some(piece) = content.next().await {
            let piece = piece.ok()?;
            let passed = skip.min(piece.len() as u64);
            skip -= passed;
            bytes.extend_from_slice(&piece[passed as usize..]);
            if bytes.len() as u64 > LONGEST {
                break;
            }
        }
        Some(bytes)
    }
}
