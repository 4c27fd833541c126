//! Requests that may be repeated: the same key and the same request make one thing.

use carrel_model::{KeyId, Timestamp};

use crate::{
    Store, StoreError, Tx,
    sql::{args, understood},
};

/// What is known of a request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It is new, and now remembered.
    Never,
    /// It was done before, and made this.
    Before {
        /// The id of what it made.
        subject: String,
    },
    /// The key was used for another request.
    Otherwise,
}

impl Tx {
    /// Remembers a request, or finds that it was made before. A second one at the same moment waits for the first.
    pub async fn remember(
        &mut self,
        bearer: &KeyId,
        key: &str,
        fingerprint: &str,
        subject: &str,
    ) -> Result<Seen, StoreError> {
        let sql = "INSERT INTO idempotency (bearer, key, fingerprint, subject, created_at) VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (bearer, key) DO NOTHING";
        let values = args![bearer.as_str(), key, fingerprint, subject, self.now];
        if self.work.execute(sql, values).await? == 1 {
            return Ok(Seen::Never);
        }
        let sql = "SELECT fingerprint, subject FROM idempotency WHERE bearer = $1 AND key = $2";
        let row = understood("idempotency", self.work.fetch_optional(sql, args![bearer.as_str(), key]).await?)?;
        if row.text("fingerprint")? != fingerprint {
            return Ok(Seen::Otherwise);
        }
        Ok(Seen::Before { subject: row.text("subject")? })
    }
}

impl Store {
    /// Forgets requests from before a moment.
    pub async fn forget_requests(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut work = self.sql().begin().await?;
        let forgotten = work.execute("DELETE FROM idempotency WHERE created_at < $1", args![before]).await?;
        work.commit().await?;
        Ok(forgotten)
    }
}
