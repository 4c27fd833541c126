//! Hooks in the database: where each is in the journal.

use carrel_model::{HookId, hook::Hook};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The hooks.
pub struct Hooks<'s> {
    pub(crate) store: &'s Store,
}

impl Hooks<'_> {
    /// The hook of this name.
    pub async fn find(&self, id: &HookId) -> Result<Option<Hook>, StoreError> {
        let sql = "SELECT body FROM hooks WHERE id = $1";
        self.store.sql().fetch_optional(sql, args![id.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// All of them, the oldest first.
    pub async fn list(&self) -> Result<Vec<Hook>, StoreError> {
        let sql = "SELECT body FROM hooks ORDER BY created_at, id";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }
}

impl Tx {
    /// Reads a hook and keeps others from changing it until this change is over.
    pub async fn lock_hook(&mut self, id: &HookId) -> Result<Option<Hook>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT body FROM hooks WHERE id = $1{lock}");
        self.work.fetch_optional(sql, args![id.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// Writes a hook as it now is, whether or not it was written before.
    pub async fn put_hook(&mut self, hook: &mut Hook) -> Result<(), StoreError> {
        hook.revision += 1;
        let sql = "INSERT INTO hooks (id, body, created_at) VALUES ($1, $2, $3)
                   ON CONFLICT (id) DO UPDATE SET body = $2";
        let body = serde_json::to_string(&*hook).map_err(|_| StoreError::Corrupt { what: "a hook".into() })?;
        self.work.execute(sql, args![hook.id.as_str(), body, hook.created_at]).await?;
        Ok(())
    }

    /// Forgets a hook; says whether there was one.
    pub async fn remove_hook(&mut self, id: &HookId) -> Result<bool, StoreError> {
        Ok(self.work.execute("DELETE FROM hooks WHERE id = $1", args![id.as_str()]).await? == 1)
    }
}

fn read(row: &Row) -> Result<Hook, StoreError> {
    understood("hooks.body", serde_json::from_str(&row.text("body")?).ok())
}
