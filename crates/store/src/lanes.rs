//! Merge lanes in the database: one holder at a time, across nodes.

use carrel_model::{SandboxId, Timestamp};

use crate::{Store, StoreError, Tx, sql::args};

/// The merge lanes.
pub struct Lanes<'s> {
    pub(crate) store: &'s Store,
}

/// A lane that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Which.
    pub name: String,
    /// Who holds it.
    pub owner: String,
    /// Told apart from former holders by this.
    pub token: i64,
    /// The sandbox that a former holder left.
    pub left_behind: Option<SandboxId>,
}

impl Lanes<'_> {
    /// Takes a lane that nobody holds, or whose holder was not heard of for too long.
    pub async fn take(&self, name: &str, owner: &str, until: Timestamp) -> Result<Option<Lane>, StoreError> {
        let sql = "INSERT INTO lanes (name, owner, until, token) VALUES ($1, $2, $3, 1)
                   ON CONFLICT (name) DO UPDATE SET owner = $2, until = $3, token = lanes.token + 1
                       WHERE lanes.owner IS NULL OR lanes.until <= $4
                   RETURNING token, sandbox_id";
        let mut work = self.store.sql().begin().await?;
        let row = work.fetch_optional(sql, args![name, owner, until, self.store.now()]).await?;
        work.commit().await?;
        let Some(row) = row else { return Ok(None) };
        let (token, left_behind) = (row.int("token")?, row.maybe_name("sandbox_id")?);
        Ok(Some(Lane { name: name.to_owned(), owner: owner.to_owned(), token, left_behind }))
    }

    /// The heartbeat; says whether the lane is still held.
    pub async fn prolong(&self, lane: &Lane, until: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE lanes SET until = $4 WHERE name = $1 AND owner = $2 AND token = $3 AND until > $5";
        let values = args![lane.name.as_str(), lane.owner.as_str(), lane.token, until, self.store.now()];
        self.change(sql, values).await
    }

    /// Notes where the holder runs its check, so that whoever comes after a crash can tidy up.
    pub async fn note_sandbox(&self, lane: &Lane, sandbox: Option<&SandboxId>) -> Result<bool, StoreError> {
        let sql = "UPDATE lanes SET sandbox_id = $4 WHERE name = $1 AND owner = $2 AND token = $3";
        let sandbox = sandbox.map(|id| id.as_str());
        self.change(sql, args![lane.name.as_str(), lane.owner.as_str(), lane.token, sandbox]).await
    }

    /// Gives a lane back.
    pub async fn leave(&self, lane: &Lane) -> Result<(), StoreError> {
        let sql = "UPDATE lanes SET owner = NULL WHERE name = $1 AND owner = $2 AND token = $3";
        self.change(sql, args![lane.name.as_str(), lane.owner.as_str(), lane.token]).await.map(drop)
    }

    /// Gives back the lanes of a node's former lives, whose owners begin with its name.
    pub async fn leave_all_of(&self, node: &str) -> Result<(), StoreError> {
        let sql = "UPDATE lanes SET owner = NULL WHERE owner LIKE $1";
        self.change(sql, args![format!("{node}:%")]).await.map(drop)
    }

    async fn change(&self, sql: &'static str, values: Vec<crate::sql::Arg>) -> Result<bool, StoreError> {
        let mut work = self.store.sql().begin().await?;
        let changed = work.execute(sql, values).await?;
        work.commit().await?;
        Ok(changed > 0)
    }
}

impl Tx {
    /// Whether a lane is still the holder's. Until this change is over nobody else takes it.
    pub async fn holds_lane(&mut self, lane: &Lane) -> Result<bool, StoreError> {
        let sql = "UPDATE lanes SET until = until WHERE name = $1 AND owner = $2 AND token = $3 AND until > $4";
        let values = args![lane.name.as_str(), lane.owner.as_str(), lane.token, self.now()];
        Ok(self.work.execute(sql, values).await? == 1)
    }
}
