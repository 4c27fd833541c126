//! A change: rows and journal entries in one transaction, then the bell.

use std::sync::Arc;

use carrel_model::{
    Timestamp,
    public::{Cursor, Entry, Happening},
};
use futures::future::BoxFuture;

use crate::{
    Store, StoreError,
    sql::{Work, args},
    tail::Written,
};

/// A transaction in which rows are changed and entries collected.
pub struct Tx {
    pub(crate) work: Work,
    pub(crate) now: Timestamp,
    entries: Vec<Happening>,
    /// The transcripts that grew or ended: their bells are rung when this change is committed.
    pub(crate) grown: Vec<String>,
    /// Lanes are kept by a Redis.
    pub(crate) redis: bool,
}

impl Tx {
    async fn new(store: &Store) -> Result<Tx, StoreError> {
        let (work, now) = (store.sql().begin().await?, store.now());
        Ok(Tx { work, now, entries: Vec::new(), grown: Vec::new(), redis: store.redis().is_some() })
    }

    /// The moment of this change.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Adds an entry to the journal. It gets its cursor when the change is committed.
    pub fn tell(&mut self, happening: Happening) {
        self.entries.push(happening);
    }
}

impl Store {
    /// Does the work in one transaction, writes what it tells to the journal, commits, and rings the bell.
    ///
    /// When it returns, followers on this node can see the entries. An error rolls everything back. Once begun it cannot
    /// be called off: a caller that goes away must not leave a commit without its bell.
    pub async fn change<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
    {
        let store = self.clone();
        let changed = self.inner.room.spawn(async move {
            let mut tx = Tx::new(&store).await?;
            let answer = match work(&mut tx).await {
                Ok(answer) => answer,
                Err(refused) => {
                    let _ = tx.work.rollback().await;
                    return Err(refused);
                }
            };
            for exec in &tx.grown {
                store.sql().ring(&mut tx.work, exec).await?;
            }
            let Tx { work, now, entries, grown, .. } = tx;
            let written = commit(&store, work, now, entries).await?;
            let last = written.last().map(|entry| entry.cursor());
            store.share(&written);
            store.inner.tail.offer(written);
            for exec in &grown {
                store.inner.chimes.ring(exec);
            }
            Ok::<_, E>((answer, last))
        });
        let (answer, last) = match changed.await {
            Ok(changed) => changed?,
            Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
            Err(_) => return Err(StoreError::Busy.into()),
        };
        if let Some(cursor) = last {
            self.inner.tail.reach(cursor).await;
        }
        Ok(answer)
    }
}

/// Gives an entry the next cursor, and moves the ledger's head, in one statement.
const NOTE_SQLITE: &str =
    "INSERT INTO journal (cursor, at, body) SELECT head + 1, $1, $2 FROM ledger WHERE only_row = 1
    RETURNING cursor";
/// The same; and rings the bell of other nodes when this work is committed.
const NOTE_POSTGRES: &str = "WITH next AS (UPDATE ledger SET head = head + 1 WHERE only_row = 1 RETURNING head),
    noted AS (INSERT INTO journal (cursor, at, body) SELECT head, $1::bigint, $2::text FROM next RETURNING cursor)
    SELECT cursor, pg_notify($3, '')::text AS rung FROM noted";

/// Gives each entry its cursor, and commits. The ledger's row stays locked until the commit is visible, so the order of
/// cursors is the order of commits, without a gap, however many nodes write. It is locked last: nobody waits for more.
async fn commit(
    store: &Store,
    work: Work,
    now: Timestamp,
    entries: Vec<Happening>,
) -> Result<Vec<Arc<Written>>, StoreError> {
    let channel = store.sql().channel();
    let mut each = Vec::with_capacity(entries.len());
    for happening in &entries {
        let body = serde_json::to_string(happening).map_err(|_| StoreError::Corrupt { what: "an entry".into() })?;
        each.push(match channel {
            None => args![now, body],
            Some(channel) => args![now, body, channel],
        });
    }
    let sql = if channel.is_none() { NOTE_SQLITE } else { NOTE_POSTGRES };
    let rows = work.commit_with(sql, each).await?;
    let no_ledger = || StoreError::Corrupt { what: "no ledger".into() };
    let mut rows = rows.into_iter();
    let mut written = Vec::with_capacity(entries.len());
    for happening in entries {
        let cursor = rows.next().ok_or_else(no_ledger)?.int("cursor")?;
        written.push(Arc::new(Written::new(Entry { cursor: Cursor(cursor), at: now, happening })?));
    }
    Ok(written)
}
