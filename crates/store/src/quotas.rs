//! How much of the house a member and a repository have: counted when there is a quota, never kept in a column.

use carrel_model::{KeyId, RepoName, Timestamp, usage::Dollars};

use crate::{
    Store, StoreError, Tx,
    sql::{Arg, args},
};

/// Counts what somebody has.
pub struct Holdings<'s> {
    pub(crate) store: &'s Store,
}

/// Sandboxes that live. Desks of tasks are the tasks' own.
const SANDBOXES: &str = "SELECT count(*) AS number FROM sandboxes
    WHERE created_by = $1 AND task_id IS NULL AND phase NOT IN ('gone', 'failed')";
const TASKS_IN: &str = "SELECT count(*) AS number FROM tasks WHERE repo = $1 AND phase NOT IN ('merged', 'closed')";
const COST_IN: &str = "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS number FROM usage
    JOIN sessions ON sessions.id = usage.session_id WHERE sessions.repo = $1 AND at >= $2";

/// Who wrote a row stands in its body.
fn written_by(postgres: bool, table: &str) -> String {
    match postgres {
        true => format!("({table}.body::jsonb ->> 'created_by')"),
        false => format!("json_extract({table}.body, '$.created_by')"),
    }
}

fn tasks_of(postgres: bool) -> String {
    let by = written_by(postgres, "tasks");
    format!("SELECT count(*) AS number FROM tasks WHERE phase NOT IN ('merged', 'closed') AND {by} = $1")
}

fn cost_of(postgres: bool) -> String {
    let by = written_by(postgres, "sessions");
    format!(
        "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS number FROM usage
         JOIN sessions ON sessions.id = usage.session_id WHERE {by} = $1 AND at >= $2"
    )
}

impl Holdings<'_> {
    /// How many sandboxes of somebody live, without the desks of tasks.
    pub async fn sandboxes_of(&self, member: &KeyId) -> Result<u64, StoreError> {
        self.number(SANDBOXES.into(), args![member.as_str()]).await
    }

    /// How many cards of somebody are not over.
    pub async fn tasks_of(&self, member: &KeyId) -> Result<u64, StoreError> {
        self.number(tasks_of(self.store.sql().is_postgres()), args![member.as_str()]).await
    }

    /// How many cards in a repository are not over.
    pub async fn tasks_in(&self, repo: &RepoName) -> Result<u64, StoreError> {
        self.number(TASKS_IN.into(), args![repo.as_str()]).await
    }

    /// What the tasks and sessions of somebody have cost from a moment on.
    pub async fn cost_of(&self, member: &KeyId, since: Timestamp) -> Result<Dollars, StoreError> {
        let sql = cost_of(self.store.sql().is_postgres());
        Ok(dollars(self.number(sql, args![member.as_str(), since]).await?))
    }

    /// What the tasks and sessions in a repository have cost from a moment on.
    pub async fn cost_in(&self, repo: &RepoName, since: Timestamp) -> Result<Dollars, StoreError> {
        Ok(dollars(self.number(COST_IN.into(), args![repo.as_str(), since]).await?))
    }

    async fn number(&self, sql: String, values: Vec<Arg>) -> Result<u64, StoreError> {
        let row = self.store.sql().fetch_optional(sql, values).await?;
        Ok(row.map(|row| row.int("number")).transpose()?.unwrap_or(0).unsigned_abs())
    }
}

impl Tx {
    /// How many sandboxes of somebody live, with what this change adds.
    pub async fn sandboxes_of(&mut self, member: &KeyId) -> Result<u64, StoreError> {
        self.number(SANDBOXES.into(), args![member.as_str()]).await
    }

    /// How many cards of somebody are not over, with what this change adds.
    pub async fn tasks_of(&mut self, member: &KeyId) -> Result<u64, StoreError> {
        let sql = tasks_of(self.work.is_postgres());
        self.number(sql, args![member.as_str()]).await
    }

    /// How many cards in a repository are not over, with what this change adds.
    pub async fn tasks_in(&mut self, repo: &RepoName) -> Result<u64, StoreError> {
        self.number(TASKS_IN.into(), args![repo.as_str()]).await
    }

    /// What somebody's work has cost, with what this change adds.
    pub async fn cost_of_member(&mut self, member: &KeyId, since: Timestamp) -> Result<Dollars, StoreError> {
        let sql = cost_of(self.work.is_postgres());
        Ok(dollars(self.number(sql, args![member.as_str(), since]).await?))
    }

    /// What the work in a repository has cost, with what this change adds.
    pub async fn cost_in_repo(&mut self, repo: &RepoName, since: Timestamp) -> Result<Dollars, StoreError> {
        Ok(dollars(self.number(COST_IN.into(), args![repo.as_str(), since]).await?))
    }

    async fn number(&mut self, sql: String, values: Vec<Arg>) -> Result<u64, StoreError> {
        let row = self.work.fetch_optional(sql, values).await?;
        Ok(row.map(|row| row.int("number")).transpose()?.unwrap_or(0).unsigned_abs())
    }
}

fn dollars(micros: u64) -> Dollars {
    Dollars::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
