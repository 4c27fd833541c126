//! The store remembers: rows, the journal, the audit, transcripts. The only crate that knows SQL.
//!
//! SQLite by default (one writer, many readers), PostgreSQL with the same methods. A change writes its rows and its
//! journal entries in one transaction and then rings the bell; readers follow the journal from a cursor.
//!
//! Absent on purpose: decisions. The store does not know which step follows which, nor who may do what.
#![forbid(unsafe_code)]

mod agents;
mod audit;
mod bells;
mod change;
mod copy;
mod error;
mod execs;
mod hooks;
mod idempotency;
mod journal;
mod keys;
mod lanes;
mod nodes;
mod open;
mod outbound;
mod prune;
mod pulls;
mod quotas;
mod redis;
mod repos;
mod room;
mod sandboxes;
mod secrets;
mod seen;
mod sessions;
mod sql;
mod tail;
mod tasks;
mod templates;
mod thinning;
mod transcripts;
mod trip;
mod usage;
mod volumes;

pub use self::redis::Redis;
pub use agents::Agents;
pub use audit::AuditFilter;
pub use bells::{BellRecord, Bells};
pub use change::Tx;
pub use copy::{copy_sqlite, rehome_sqlite};
pub use error::StoreError;
pub use execs::Execs;
pub use hooks::Hooks;
pub use idempotency::Seen;
pub use journal::{Follower, Journal, News};
pub use keys::{Keys, SignInKind};
pub use lanes::{Lane, Lanes};
pub use nodes::Nodes;
pub use open::{Database, Options, newest_schema};
pub use outbound::OutboundSecrets;
pub use pulls::{PullRecord, Pulls, Word, WordKind};
pub use quotas::Holdings;
pub use repos::{Pushes, Repos};
pub use sandboxes::{Filter, Lease, Leased, Sandboxes};
pub use secrets::{SealedValue, Secrets};
pub use seen::{PullFilter, SeenPulls};
pub use sessions::{SessionFilter, Sessions};
pub use tail::Written;
pub use tasks::{Claimed, LeasedTask, TaskFilter, Tasks};
pub use templates::Templates;
pub use transcripts::{Chunk, Extent, Stream, Transcript, Transcripts};
pub use usage::{UsageFilter, Usages};
pub use volumes::Volumes;

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use carrel_model::{Timestamp, clock};
use jiff::SignedDuration;

/// A handle on the database. Clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    sql: sql::Sql,
    tail: Arc<tail::Tail>,
    chimes: transcripts::Chimes,
    /// How far the database's clock is ahead of ours, in microseconds. Zero for SQLite, whose clock is ours.
    clock_ahead: AtomicI64,
    /// The file of a SQLite, as it was when it was opened.
    file: Option<open::Footprint>,
    /// A Redis that all nodes share, when there is one.
    redis: std::sync::OnceLock<redis::Redis>,
    /// Where changes are made.
    room: room::Room,
    /// The pump, and on PostgreSQL the listener: they end with the store.
    tasks: std::sync::Mutex<Vec<tokio::task::AbortHandle>>,
}

impl Inner {
    fn end_tasks(&self) {
        for task in self.tasks.lock().map(|mut tasks| std::mem::take(&mut *tasks)).unwrap_or_default() {
            task.abort();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end_tasks();
    }
}

impl Store {
    /// The time, to the microsecond. Nodes that share a PostgreSQL share its clock, so that leases mean the same to all.
    pub fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_micros(self.inner.clock_ahead.load(Ordering::Relaxed));
        let now = Timestamp::now().checked_add(ahead).unwrap_or(Timestamp::MAX);
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    /// Moves the clock, as if this machine had slept for so long. For tests: nothing else moves it.
    #[doc(hidden)]
    pub fn move_clock(&self, by: SignedDuration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.inner.clock_ahead.fetch_add(by, Ordering::Relaxed);
    }

    /// What waits for a moment that was named by a clock which is set back since is due now.
    pub async fn forget_the_future(&self) -> Result<(), StoreError> {
        let now = self.now();
        for table in ["tasks", "sandboxes"] {
            let waits = "due_at > $1 AND updated_at > $1";
            let look = format!("SELECT 1 AS one FROM {table} WHERE {waits} LIMIT 1");
            if self.sql().fetch_optional(look, sql::args![now + clock::SKEW]).await?.is_some() {
                let change = format!("UPDATE {table} SET due_at = $2 WHERE {waits}");
                let mut work = self.sql().begin().await?;
                work.execute(change, sql::args![now + clock::SKEW, now]).await?;
                work.commit().await?;
            }
        }
        Ok(())
    }

    /// Compares clocks with the database again.
    pub async fn compare_clocks(&self) -> Result<(), StoreError> {
        if let Some(theirs) = self.inner.sql.clock().await? {
            self.inner.clock_ahead.store(theirs - Timestamp::now().as_microsecond(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits until no change is under way, also of callers that have gone away.
    pub async fn rest(&self) {
        self.inner.room.rest().await;
    }

    /// Closes all connections. SQLite then brings everything into its one file.
    pub async fn close(&self) {
        self.rest().await;
        // The listener holds a connection of the pool: it goes first.
        self.inner.end_tasks();
        match self.sql() {
            sql::Sql::Sqlite { writer, readers, .. } => {
                readers.close().await;
                writer.close().await;
            }
            sql::Sql::Postgres { pool, .. } => pool.close().await,
        }
    }

    /// Whether the database can be written. Nothing changes.
    pub async fn ping(&self) -> Result<(), StoreError> {
        // SQLite goes on with a file that has no name any more, and would never say so.
        if self.inner.file.as_ref().is_some_and(|file| !file.is_there()) {
            return Err(StoreError::Astray);
        }
        let mut work = self.sql().begin().await?;
        // A full disk is noticed only by who really writes. With PostgreSQL the row is everybody's, and is left alone.
        if self.sql().is_postgres() {
            work.execute("UPDATE ledger SET head = head WHERE only_row = 0", vec![]).await?;
            return work.rollback().await;
        }
        // Two steps, because SQLite writes no page whose content stays as it is.
        work.execute("UPDATE ledger SET oldest = oldest + 1 WHERE only_row = 1", vec![]).await?;
        work.execute("UPDATE ledger SET oldest = oldest - 1 WHERE only_row = 1", vec![]).await?;
        work.commit().await
    }

    /// The mark of this house: sixteen hexadecimal digits, drawn with the database and the same for all of its nodes.
    pub async fn mark(&self) -> Result<String, StoreError> {
        let row = self.sql().fetch_optional("SELECT text FROM mark WHERE only_row = 1", vec![]).await?;
        sql::understood("mark", row)?.text("text")
    }

    /// The sandboxes.
    pub fn sandboxes(&self) -> Sandboxes<'_> {
        Sandboxes { store: self }
    }

    /// The keys and sign-ins.
    pub fn keys(&self) -> Keys<'_> {
        Keys { store: self }
    }

    /// The journal.
    pub fn journal(&self) -> Journal<'_> {
        Journal { store: self }
    }

    /// The transcripts.
    pub fn transcripts(&self) -> Transcripts<'_> {
        Transcripts { store: self }
    }

    /// The execs.
    pub fn execs(&self) -> Execs<'_> {
        Execs { store: self }
    }

    /// The templates.
    pub fn templates(&self) -> Templates<'_> {
        Templates { store: self }
    }

    /// The pulls of a repository that is hosted here.
    pub fn pulls<'s>(&'s self, repo: &'s carrel_model::RepoName) -> Pulls<'s> {
        Pulls { store: self, repo }
    }

    /// Pull requests as they were last seen.
    pub fn seen_pulls(&self) -> SeenPulls<'_> {
        SeenPulls { store: self }
    }

    /// The merge lanes.
    pub fn lanes(&self) -> Lanes<'_> {
        Lanes { store: self }
    }

    /// The nodes.
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes { store: self }
    }

    /// The browsers that want to be told, and what of.
    pub fn bells(&self) -> Bells<'_> {
        Bells { store: self }
    }

    /// The secrets.
    pub fn secrets(&self) -> Secrets<'_> {
        Secrets { store: self }
    }

    /// The volumes.
    pub fn volumes(&self) -> Volumes<'_> {
        Volumes { store: self }
    }

    /// The secrets for requests on their way out.
    pub fn outbound_secrets(&self) -> OutboundSecrets<'_> {
        OutboundSecrets { store: self }
    }

    /// The repositories.
    pub fn repos(&self) -> Repos<'_> {
        Repos { store: self }
    }

    /// The agents that somebody added or changed.
    pub fn agents(&self) -> Agents<'_> {
        Agents { store: self }
    }

    /// The hooks.
    pub fn hooks(&self) -> Hooks<'_> {
        Hooks { store: self }
    }

    /// The sessions.
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { store: self }
    }

    /// The tasks.
    pub fn tasks(&self) -> Tasks<'_> {
        Tasks { store: self }
    }

    /// How much of the house somebody has.
    pub fn holdings(&self) -> Holdings<'_> {
        Holdings { store: self }
    }

    /// The usage of models.
    pub fn usage(&self) -> Usages<'_> {
        Usages { store: self }
    }

    /// What was pushed.
    pub fn pushes(&self) -> Pushes<'_> {
        Pushes { store: self }
    }

    /// The Redis that all nodes share, when there is one.
    pub fn redis(&self) -> Option<&Redis> {
        self.inner.redis.get()
    }

    pub(crate) fn sql(&self) -> &sql::Sql {
        &self.inner.sql
    }
}
