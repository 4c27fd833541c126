//! Bells in the database: browsers that want to be told, and the hands that they were told of.

use carrel_model::{KeyId, TaskId, Timestamp};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The bells and hands.
pub struct Bells<'s> {
    pub(crate) store: &'s Store,
}

/// A browser that wants to be told.
#[derive(Clone, PartialEq, Eq)]
pub struct BellRecord {
    /// Names it here.
    pub id: String,
    /// Whose browser it is.
    pub key: KeyId,
    /// Where its notices are posted.
    pub endpoint: String,
    /// Its public key.
    pub p256dh: String,
    /// What it shares with us.
    pub auth: String,
    /// Since when.
    pub created_at: Timestamp,
}

impl Bells<'_> {
    /// Every browser whose key is still good.
    pub async fn list(&self) -> Result<Vec<BellRecord>, StoreError> {
        let sql = "SELECT bells.* FROM bells JOIN keys ON keys.id = bells.key_id
                   WHERE keys.revoked_at IS NULL AND (keys.expires_at IS NULL OR keys.expires_at > $1)
                     AND keys.role IN ('admin', 'member') ORDER BY bells.id";
        self.store.sql().fetch_all(sql, args![self.store.now()]).await?.iter().map(read).collect()
    }

    /// The browsers of one key, oldest first.
    pub async fn of(&self, key: &KeyId) -> Result<Vec<BellRecord>, StoreError> {
        let sql = "SELECT * FROM bells WHERE key_id = $1 ORDER BY created_at, id";
        self.store.sql().fetch_all(sql, args![key.as_str()]).await?.iter().map(read).collect()
    }

    /// Hands that went up before a moment and that not everybody was told of.
    pub async fn unrung(&self, before: Timestamp) -> Result<Vec<TaskId>, StoreError> {
        let sql = "SELECT task_id FROM hands WHERE rung = 0 AND at < $1 ORDER BY task_id";
        let rows = self.store.sql().fetch_all(sql, args![before]).await?;
        rows.iter().map(|row| understood("hands.task_id", TaskId::try_from(row.int("task_id")?).ok())).collect()
    }
}

impl Tx {
    /// Remembers a browser. The same address again belongs to whoever gave it last.
    pub async fn put_bell(&mut self, bell: &BellRecord) -> Result<(), StoreError> {
        let sql = "INSERT INTO bells (id, key_id, endpoint, p256dh, auth, failures, created_at)
                   VALUES ($1, $2, $3, $4, $5, 0, $6)
                   ON CONFLICT (id) DO UPDATE SET key_id = $2, p256dh = $4, auth = $5, failures = 0";
        let values = args![
            bell.id.as_str(),
            bell.key.as_str(),
            bell.endpoint.as_str(),
            bell.p256dh.as_str(),
            bell.auth.as_str(),
            bell.created_at
        ];
        self.work.execute(sql, values).await.map(drop)
    }

    /// Forgets a browser; of one key, or whosoever it is. Says whether there was one.
    pub async fn remove_bell(&mut self, id: &str, of: Option<&KeyId>) -> Result<bool, StoreError> {
        let (sql, values) = match of {
            Some(key) => ("DELETE FROM bells WHERE id = $1 AND key_id = $2", args![id, key.as_str()]),
            None => ("DELETE FROM bells WHERE id = $1", args![id]),
        };
        Ok(self.work.execute(sql, values).await? == 1)
    }

    /// Counts a failure, or that there is none any more. One that fails too often in a row is forgotten.
    pub async fn note_bell(&mut self, id: &str, failed: bool, most: i64) -> Result<(), StoreError> {
        let sql = if failed {
            "UPDATE bells SET failures = failures + 1 WHERE id = $1"
        } else {
            "UPDATE bells SET failures = 0 WHERE id = $1"
        };
        self.work.execute(sql, args![id]).await?;
        self.work.execute("DELETE FROM bells WHERE id = $1 AND failures >= $2", args![id, most]).await.map(drop)
    }

    /// A hand goes up. Says whether it was down: of all nodes one hears yes.
    pub async fn raise_hand(&mut self, task: TaskId) -> Result<bool, StoreError> {
        let sql = "INSERT INTO hands (task_id, at, rung) VALUES ($1, $2, 0) ON CONFLICT (task_id) DO NOTHING";
        Ok(self.work.execute(sql, args![i64::from(task), self.now]).await? == 1)
    }

    /// Everybody was told of a hand.
    pub async fn note_rung(&mut self, task: TaskId) -> Result<(), StoreError> {
        self.work.execute("UPDATE hands SET rung = 1 WHERE task_id = $1", args![i64::from(task)]).await.map(drop)
    }

    /// A hand goes down.
    pub async fn lower_hand(&mut self, task: TaskId) -> Result<(), StoreError> {
        self.work.execute("DELETE FROM hands WHERE task_id = $1", args![i64::from(task)]).await.map(drop)
    }
}

fn read(row: &Row) -> Result<BellRecord, StoreError> {
    Ok(BellRecord {
        id: row.text("id")?,
        key: row.name("key_id")?,
        endpoint: row.text("endpoint")?,
        p256dh: row.text("p256dh")?,
        auth: row.text("auth")?,
        created_at: row.time("created_at")?,
    })
}
