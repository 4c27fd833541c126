//! Forgetting: rows that only tell of what is long over.

use carrel_model::Timestamp;

use crate::{Store, StoreError, sql::args};

const GONE: &str = "SELECT id FROM sandboxes WHERE phase = 'gone' AND COALESCE(ended_at, updated_at) < $1";

impl Store {
    /// How many sandboxes were gone before a moment.
    pub async fn count_gone(&self, before: Timestamp) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) AS number FROM ({GONE}) AS gone");
        let row = self.sql().fetch_optional(sql, args![before]).await?;
        Ok(row.map(|row| row.int("number")).transpose()?.unwrap_or(0).unsigned_abs())
    }

    /// Forgets sandboxes that were gone before a moment, and what ran in them. How many sandboxes that were.
    pub async fn forget_gone(&self, before: Timestamp) -> Result<u64, StoreError> {
        if self.count_gone(before).await? == 0 {
            return Ok(0);
        }
        let mut work = self.sql().begin().await?;
        work.execute(format!("DELETE FROM execs WHERE sandbox_id IN ({GONE})"), args![before]).await?;
        let forgotten = work.execute(format!("DELETE FROM sandboxes WHERE id IN ({GONE})"), args![before]).await?;
        work.commit().await?;
        Ok(forgotten)
    }
}
