//! Agents in the database.

use carrel_model::{
    AgentId,
    agent::Agent,
    public::{AgentView, Happening},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The agents that somebody added or changed.
pub struct Agents<'s> {
    pub(crate) store: &'s Store,
}

impl Agents<'_> {
    /// The agent of this name.
    pub async fn find(&self, name: &AgentId) -> Result<Option<Agent>, StoreError> {
        let sql = "SELECT * FROM agents WHERE name = $1";
        self.store.sql().fetch_optional(sql, args![name.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Agent>, StoreError> {
        let sql = "SELECT * FROM agents ORDER BY name";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }
}

impl Tx {
    /// Writes an agent as it now is, and tells of it.
    pub async fn put_agent(&mut self, agent: &Agent, view: AgentView) -> Result<(), StoreError> {
        let sql = "INSERT INTO agents (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = $2";
        let body = serde_json::to_string(agent).map_err(|_| StoreError::Corrupt { what: "an agent".into() })?;
        self.work.execute(sql, args![agent.name.as_str(), body]).await?;
        self.tell(Happening::Agent { agent: Box::new(view) });
        Ok(())
    }

    /// Forgets an agent, and tells of it. Says whether it was there.
    pub async fn remove_agent(&mut self, view: AgentView) -> Result<bool, StoreError> {
        let gone = self.work.execute("DELETE FROM agents WHERE name = $1", args![view.name.as_str()]).await? == 1;
        if gone {
            self.tell(Happening::Agent { agent: Box::new(AgentView { removed: true, ..view }) });
        }
        Ok(gone)
    }
}

fn read(row: &Row) -> Result<Agent, StoreError> {
    understood("agents.body", serde_json::from_str(&row.text("body")?).ok())
}
