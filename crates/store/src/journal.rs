//! The ledger, and how it is followed: nothing lost, nothing twice.

use std::sync::Arc;

use carrel_model::{
    Timestamp,
    public::{Cursor, Entry, Happening, Reset},
};
use tokio::sync::watch;

use crate::{
    Store, StoreError,
    sql::{Row, args, understood},
    tail::{Tail, Written},
};

/// How long a node may go without looking, bell or not.
const UNHEARD: std::time::Duration = std::time::Duration::from_secs(10);
/// How many entries a follower takes at once.
const BATCH: usize = 256;

/// The journal.
pub struct Journal<'s> {
    pub(crate) store: &'s Store,
}

/// What a follower hears.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// The next entries, in order.
    Entries(Vec<Arc<Written>>),
    /// The entries after the cursor are no longer kept; the follower goes on from the head.
    Reset(Reset),
}

impl Journal<'_> {
    /// The newest entry this node has seen.
    pub fn head(&self) -> Cursor {
        self.store.inner.tail.head()
    }

    /// The entries after a cursor, when all of them are still in memory.
    pub fn recent_after(&self, cursor: Cursor) -> Option<Vec<Arc<Written>>> {
        let tail = &self.store.inner.tail;
        if cursor == tail.head() { Some(Vec::new()) } else { tail.after(cursor, usize::MAX) }
    }

    /// Whether this node may be missing what others write: its connection to the bell is down.
    pub fn is_deaf(&self) -> bool {
        self.store.inner.tail.deaf.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Follows the journal after a cursor.
    pub fn follow(&self, after: Cursor) -> Follower {
        Follower { store: self.store.clone(), cursor: after, bell: self.store.inner.tail.bell() }
    }

    /// Forgets entries from before a moment. A reader that needed them is told to start over.
    pub async fn forget_before(&self, moment: Timestamp) -> Result<u64, StoreError> {
        let mut work = self.store.sql().begin().await?;
        // The ledger's row first: a commit in flight must not slip in below the new oldest.
        let sql = "UPDATE ledger SET head = head WHERE only_row = 1 RETURNING head";
        let ledger = work.fetch_optional(sql, vec![]).await?;
        let head = understood("ledger.head", ledger)?.int("head")?;
        // By cursor, not by time: a change that began early may have been committed late, and no gap may remain.
        let sql = "SELECT cursor AS oldest FROM journal WHERE at >= $1 ORDER BY cursor LIMIT 1";
        let kept = work.fetch_optional(sql, args![moment]).await?;
        let oldest = kept.map(|row| row.maybe_int("oldest")).transpose()?.flatten().unwrap_or(head + 1);
        let forgotten = work.execute("DELETE FROM journal WHERE cursor < $1", args![oldest]).await?;
        work.execute("UPDATE ledger SET oldest = $1 WHERE only_row = 1", args![oldest]).await?;
        work.commit().await?;
        Ok(forgotten)
    }

    /// The first and last entry that are kept.
    pub async fn span(&self) -> Result<Reset, StoreError> {
        let row = self.store.sql().fetch_optional("SELECT oldest, head FROM ledger WHERE only_row = 1", vec![]).await?;
        let row = understood("ledger", row)?;
        Ok(Reset { oldest: Cursor(row.int("oldest")?), head: Cursor(row.int("head")?) })
    }
}

/// Follows the journal from a cursor.
pub struct Follower {
    store: Store,
    cursor: Cursor,
    bell: watch::Receiver<Cursor>,
}

impl Follower {
    /// The last entry that was handed out.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Waits for the next entries. May be called off and called again: nothing is lost.
    pub async fn next(&mut self) -> Result<News, StoreError> {
        loop {
            let head = *self.bell.borrow_and_update();
            if self.cursor > head {
                if let Some(reset) = self.another_ledger().await? {
                    return Ok(self.start_over(reset));
                }
            } else if self.cursor < head {
                return self.take_batch().await;
            }
            // The store holds the sender, and we hold the store.
            let _ = self.bell.changed().await;
        }
    }

    async fn take_batch(&mut self) -> Result<News, StoreError> {
        let batch = match self.store.inner.tail.after(self.cursor, BATCH) {
            Some(batch) => batch,
            None => read_after(&self.store, self.cursor, BATCH).await?,
        };
        match (batch.first(), batch.last()) {
            (Some(first), Some(last)) if first.cursor().0 == self.cursor.0 + 1 => {
                self.cursor = last.cursor();
                Ok(News::Entries(batch))
            }
            _ => {
                let span = self.store.journal().span().await?;
                Ok(self.start_over(span))
            }
        }
    }

    /// The reader knows a newer entry than this node: either the node lags, or it is another ledger altogether.
    async fn another_ledger(&self) -> Result<Option<Reset>, StoreError> {
        let span = self.store.journal().span().await?;
        if self.cursor > span.head {
            return Ok(Some(span));
        }
        self.store.inner.tail.behind.notify_one();
        Ok(None)
    }

    fn start_over(&mut self, span: Reset) -> News {
        self.cursor = span.head;
        News::Reset(span)
    }
}

/// Keeps the tail up to date: reads what other nodes, or commits out of turn, have written.
pub(crate) async fn pump(store: std::sync::Weak<crate::Inner>) {
    loop {
        let Some(inner) = store.upgrade() else { return };
        let tail = Arc::clone(&inner.tail);
        let store = Store { inner };
        loop {
            match read_after(&store, tail.head(), BATCH).await {
                // Also when there is nothing to read: everything may have come and gone.
                Ok(batch) if batch.is_empty() => {
                    skip_the_forgotten(&store, &tail).await;
                    break;
                }
                Ok(batch) => {
                    let before = tail.head();
                    if tail.push(batch) == before {
                        skip_the_forgotten(&store, &tail).await;
                        break;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "cannot read the journal; trying again");
                    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
                }
            }
        }
        drop(store);
        // A bell that was never heard, because a connection died in silence, costs seconds and not hours.
        let _ = tokio::time::timeout(UNHEARD, tail.behind.notified()).await;
    }
}

/// A node that was away for longer than the journal remembers starts its tail anew.
async fn skip_the_forgotten(store: &Store, tail: &Tail) {
    if let Ok(span) = store.journal().span().await
        && span.oldest.0 > tail.head().0 + 1
    {
        tail.leap(Cursor(span.oldest.0 - 1));
        tail.behind.notify_one();
    }
}

async fn read_after(store: &Store, cursor: Cursor, most: usize) -> Result<Vec<Arc<Written>>, StoreError> {
    let sql = "SELECT cursor, at, body FROM journal WHERE cursor > $1 ORDER BY cursor LIMIT $2";
    let rows = store.sql().fetch_all(sql, args![cursor.0, most as i64]).await?;
    rows.iter().map(read_entry).collect()
}

fn read_entry(row: &Row) -> Result<Arc<Written>, StoreError> {
    let happening: Option<Happening> = serde_json::from_str(&row.text("body")?).ok();
    let entry = Entry {
        cursor: Cursor(row.int("cursor")?),
        at: row.time("at")?,
        happening: understood("journal.body", happening)?,
    };
    Ok(Arc::new(Written::new(entry)?))
}
