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
}

impl Tx {
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
    /// When it returns, followers on this node can see the entries. An error rolls everything back.
    pub async fn change<T, E, F>(&self, work: F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, E>>,
    {
        let mut tx = Tx { work: self.sql().begin().await?, now: self.now(), entries: Vec::new() };
        let answer = work(&mut tx).await?;
        let written = tx.write_entries(self).await?;
        let last = written.last().map(|entry| entry.cursor());
        let tail = Arc::clone(&self.inner.tail);
        // From here on nobody can call it off: a caller that goes away must not leave a commit without its bell.
        let committed = tokio::spawn(async move {
            tx.work.commit().await?;
            tail.offer(written);
            Ok::<_, StoreError>(())
        });
        match committed.await {
            Ok(done) => done?,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
        if let Some(cursor) = last {
            self.inner.tail.reach(cursor).await;
        }
        Ok(answer)
    }
}

impl Tx {
    /// Gives each entry its cursor. The ledger's row stays locked until the commit is visible, so the order of cursors
    /// is the order of commits, without a gap, however many nodes write.
    async fn write_entries(&mut self, store: &Store) -> Result<Vec<Arc<Written>>, StoreError> {
        if self.entries.is_empty() {
            return Ok(Vec::new());
        }
        let count = self.entries.len() as i64;
        let sql = "UPDATE ledger SET head = head + $1 WHERE only_row = 1 RETURNING head";
        let row = self.work.fetch_optional(sql, args![count]).await?;
        let head = row.ok_or_else(|| StoreError::Corrupt { what: "no ledger".into() })?.int("head")?;
        let mut written = Vec::with_capacity(self.entries.len());
        for (happening, cursor) in std::mem::take(&mut self.entries).into_iter().zip(head - count + 1..) {
            let body =
                serde_json::to_string(&happening).map_err(|_| StoreError::Corrupt { what: "an entry".into() })?;
            let sql = "INSERT INTO journal (cursor, at, body) VALUES ($1, $2, $3)";
            self.work.execute(sql, args![cursor, self.now, body]).await?;
            written.push(Arc::new(Written::new(Entry { cursor: Cursor(cursor), at: self.now, happening })?));
        }
        store.sql().ring(&mut self.work, "").await?;
        Ok(written)
    }
}
