//! The nodes in the database: who is there, and who has been silent for too long.

use std::collections::HashMap;

use carrel_model::{
    NodeId, SandboxId, Timestamp,
    node::{Card, Node},
    task::TaskPhase,
};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The nodes.
pub struct Nodes<'s> {
    pub(crate) store: &'s Store,
}

impl Nodes<'_> {
    /// All of them, the oldest first.
    pub async fn list(&self) -> Result<Vec<Node>, StoreError> {
        let sql = "SELECT * FROM nodes ORDER BY started_at, id";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }

    /// The heartbeat of a node: it is there, and this is how it is.
    pub async fn beat(
        &self,
        id: &NodeId,
        card: &Card,
        started_at: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO nodes (id, card, up, draining, taken_over, started_at, seen_at, until)
                   VALUES ($1, $2, 1, 0, 0, $3, $4, $5)
                   ON CONFLICT (id) DO UPDATE SET card = $2, up = 1, taken_over = 0, started_at = $3, seen_at = $4, until = $5";
        let card = serde_json::to_string(card).map_err(|_| StoreError::Corrupt { what: "a node".into() })?;
        let mut work = self.store.sql().begin().await?;
        work.execute(sql, args![id.as_str(), card, started_at, self.store.now(), until]).await?;
        work.commit().await
    }

    /// A node stops in good order: nothing is asked of it any more. What is on it waits for it until its lease is over.
    pub async fn leave(&self, id: &NodeId) -> Result<(), StoreError> {
        let mut work = self.store.sql().begin().await?;
        work.execute("UPDATE nodes SET up = 0 WHERE id = $1", args![id.as_str()]).await?;
        work.commit().await
    }

    /// How many sandboxes live on each node, paused ones too.
    pub async fn counts(&self) -> Result<HashMap<NodeId, u64>, StoreError> {
        self.count("phase NOT IN ('gone', 'failed')").await
    }

    /// How many of them work, or are about to.
    pub async fn working(&self) -> Result<HashMap<NodeId, u64>, StoreError> {
        self.count("phase IN ('requested', 'preparing', 'ready') AND want <> 'gone'").await
    }

    async fn count(&self, which: &str) -> Result<HashMap<NodeId, u64>, StoreError> {
        let sql =
            format!("SELECT home, count(*) AS count FROM sandboxes WHERE home IS NOT NULL AND {which} GROUP BY home");
        let rows = self.store.sql().fetch_all(sql, vec![]).await?;
        rows.iter().map(|row| Ok((row.name("home")?, row.int("count")?.max(0) as u64))).collect()
    }

    /// The desks of tasks on a node that nobody has ended yet, each with where its task is.
    pub async fn desks(&self, id: &NodeId, most: u32) -> Result<Vec<(SandboxId, TaskPhase)>, StoreError> {
        let sql = "SELECT sandboxes.id AS id, tasks.phase AS phase
                   FROM sandboxes JOIN tasks ON tasks.sandbox_id = sandboxes.id
                   WHERE home = $1 AND sandboxes.want <> 'gone' AND sandboxes.phase NOT IN ('gone', 'failed')
                   ORDER BY sandboxes.id LIMIT $2";
        let rows = self.store.sql().fetch_all(sql, args![id.as_str(), i64::from(most)]).await?;
        let phase = |row: &Row| understood("tasks.phase", TaskPhase::from_word(&row.text("phase")?));
        rows.iter().map(|row| Ok((row.name("id")?, phase(row)?))).collect()
    }
}

impl Tx {
    /// Reads a node and keeps others from changing it until this change is over.
    pub async fn lock_node(&mut self, id: &NodeId) -> Result<Option<Node>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM nodes WHERE id = $1{lock}");
        self.work.fetch_optional(sql, args![id.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// Says whether a node is to be emptied.
    pub async fn drain_node(&mut self, id: &NodeId, on: bool) -> Result<(), StoreError> {
        self.work.execute("UPDATE nodes SET draining = $2 WHERE id = $1", args![id.as_str(), i64::from(on)]).await?;
        Ok(())
    }

    /// Notes that what was on a node is in other hands.
    pub async fn take_node_over(&mut self, id: &NodeId) -> Result<(), StoreError> {
        self.work.execute("UPDATE nodes SET taken_over = 1 WHERE id = $1", args![id.as_str()]).await?;
        Ok(())
    }

    /// Forgets a node, and what it was still following.
    pub async fn remove_node(&mut self, id: &NodeId) -> Result<(), StoreError> {
        // Whoever reads what it printed comes to an end, too.
        let closed = "UPDATE transcripts SET closed_at = $2 WHERE closed_at IS NULL AND exec_id IN
                      (SELECT id FROM execs WHERE node = $1 AND status = 'running') RETURNING exec_id";
        for row in self.work.fetch_all(closed, args![id.as_str(), self.now()]).await? {
            self.grown.push(row.text("exec_id")?);
        }
        let ended = "UPDATE execs SET status = 'lost', note = 'The node it ran on was removed.', ended_at = $2
                     WHERE node = $1 AND status = 'running'";
        self.work.execute(ended, args![id.as_str(), self.now()]).await?;
        self.work.execute("DELETE FROM nodes WHERE id = $1", args![id.as_str()]).await?;
        Ok(())
    }

    /// The sandboxes that live on a node and are not over.
    pub async fn sandboxes_of_node(&mut self, id: &NodeId) -> Result<Vec<SandboxId>, StoreError> {
        let sql = "SELECT id FROM sandboxes WHERE home = $1 AND phase NOT IN ('gone', 'failed') ORDER BY id";
        self.work.fetch_all(sql, args![id.as_str()]).await?.iter().map(|row| row.name("id")).collect()
    }
}

fn read(row: &Row) -> Result<Node, StoreError> {
    Ok(Node {
        id: row.name("id")?,
        card: understood("nodes.card", serde_json::from_str(&row.text("card")?).ok())?,
        is_up: row.int("up")? != 0,
        is_draining: row.int("draining")? != 0,
        started_at: row.time("started_at")?,
        seen_at: row.time("seen_at")?,
        until: row.time("until")?,
        is_taken_over: row.int("taken_over")? != 0,
    })
}
