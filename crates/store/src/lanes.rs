//! Merge lanes in the database: one holder at a time, across nodes.

use std::time::Duration;

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
    /// Takes a lane that nobody holds, or whose holder was not heard of for too long. With a Redis that is decided there; the
    /// token stands in the database in either case before anybody acts on it.
    pub async fn take(&self, name: &str, owner: &str, until: Timestamp) -> Result<Option<Lane>, StoreError> {
        let Some(redis) = self.store.redis() else { return self.write(name, owner, until, None).await };
        let known = "SELECT token FROM lanes WHERE name = $1";
        let known = self.store.sql().fetch_optional(known, args![name]).await?;
        let floor = known.map(|row| row.int("token")).transpose()?.unwrap_or(0);
        let Some(token) = redis.take(name, owner, self.lasts(until), floor).await? else { return Ok(None) };
        let written = self.write(name, owner, until, Some(token)).await;
        if !matches!(written, Ok(Some(_))) {
            redis.leave(name, owner, token).await?;
        }
        written
    }

    /// Writes who has a lane: with the next token if nobody has it, or with this one if none as large was ever seen.
    async fn write(
        &self,
        name: &str,
        owner: &str,
        until: Timestamp,
        token: Option<i64>,
    ) -> Result<Option<Lane>, StoreError> {
        let next = "INSERT INTO lanes (name, owner, until, token) VALUES ($1, $2, $3, 1)
                    ON CONFLICT (name) DO UPDATE SET owner = $2, until = $3, token = lanes.token + 1
                        WHERE lanes.owner IS NULL OR lanes.until <= $4
                    RETURNING token, sandbox_id";
        let given = "INSERT INTO lanes (name, owner, until, token) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (name) DO UPDATE SET owner = $2, until = $3, token = $4 WHERE lanes.token < $4
                     RETURNING token, sandbox_id";
        let mut work = self.store.sql().begin().await?;
        let row = match token {
            None => work.fetch_optional(next, args![name, owner, until, self.store.now()]).await?,
            Some(token) => work.fetch_optional(given, args![name, owner, until, token]).await?,
        };
        work.commit().await?;
        let Some(row) = row else { return Ok(None) };
        let (token, left_behind) = (row.int("token")?, row.maybe_name("sandbox_id")?);
        Ok(Some(Lane { name: name.to_owned(), owner: owner.to_owned(), token, left_behind }))
    }

    fn lasts(&self, until: Timestamp) -> Duration {
        Duration::try_from(until.duration_since(self.store.now())).unwrap_or(Duration::from_millis(1))
    }

    /// The heartbeat; says whether the lane is still held.
    pub async fn prolong(&self, lane: &Lane, until: Timestamp) -> Result<bool, StoreError> {
        if let Some(redis) = self.store.redis() {
            return redis.prolong(&lane.name, &lane.owner, lane.token, self.lasts(until)).await;
        }
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
        if let Some(redis) = self.store.redis() {
            return redis.leave(&lane.name, &lane.owner, lane.token).await;
        }
        let sql = "UPDATE lanes SET owner = NULL WHERE name = $1 AND owner = $2 AND token = $3";
        self.change(sql, args![lane.name.as_str(), lane.owner.as_str(), lane.token]).await.map(drop)
    }

    /// Gives back the lanes of a node's former lives, whose owners begin with its name.
    pub async fn leave_all_of(&self, node: &str) -> Result<(), StoreError> {
        if let Some(redis) = self.store.redis() {
            let held = "SELECT name, owner, token FROM lanes WHERE owner LIKE $1";
            for row in self.store.sql().fetch_all(held, args![format!("{node}:%")]).await? {
                redis.leave(&row.text("name")?, &row.text("owner")?, row.int("token")?).await?;
            }
        }
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
    /// Whether a lane is still the holder's. Until this change is over nobody else acts in it: whoever takes it writes a larger
    /// token first. A lease that ran out while nobody else wanted the lane does no harm where Redis keeps it.
    pub async fn holds_lane(&mut self, lane: &Lane) -> Result<bool, StoreError> {
        let sql = "UPDATE lanes SET until = until WHERE name = $1 AND owner = $2 AND token = $3 AND until > $4";
        let since = if self.redis { Timestamp::MIN } else { self.now() };
        let values = args![lane.name.as_str(), lane.owner.as_str(), lane.token, since];
        Ok(self.work.execute(sql, values).await? == 1)
    }
}
