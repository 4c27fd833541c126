//! Secrets for headers of requests on their way out: names, and sealed bytes that only the vault opens.

use carrel_model::{KeyId, volume::OutboundSecret};

use crate::{
    SealedValue, Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The secrets for requests on their way out.
pub struct OutboundSecrets<'s> {
    pub(crate) store: &'s Store,
}

impl OutboundSecrets<'_> {
    /// A page of them by name, after this one.
    pub async fn list(&self, after: &str, most: u32) -> Result<Vec<OutboundSecret>, StoreError> {
        let sql = "SELECT * FROM outbound_secrets WHERE name > $1 ORDER BY name LIMIT $2";
        self.store.sql().fetch_all(sql, args![after, i64::from(most)]).await?.iter().map(read).collect()
    }

    /// One by its id or its name.
    pub async fn find(&self, key: &str) -> Result<Option<(OutboundSecret, SealedValue)>, StoreError> {
        let sql =
            "SELECT * FROM outbound_secrets WHERE id = $1 OR name = $1 ORDER BY CASE WHEN id = $1 THEN 0 ELSE 1 END";
        let row = self.store.sql().fetch_optional(sql, args![key]).await?;
        row.as_ref().map(|row| Ok((read(row)?, read_sealed(row)?))).transpose()
    }

    /// Those that another key than this sealed.
    pub async fn sealed_otherwise(&self, print: &str) -> Result<Vec<(OutboundSecret, SealedValue)>, StoreError> {
        let sql = "SELECT * FROM outbound_secrets WHERE sealed_by <> $1";
        let rows = self.store.sql().fetch_all(sql, args![print]).await?;
        rows.iter().map(|row| Ok((read(row)?, read_sealed(row)?))).collect()
    }
}

impl Tx {
    /// Writes a new one; says no when its name is taken.
    pub async fn insert_outbound(
        &mut self,
        secret: &OutboundSecret,
        sealed: &SealedValue,
        by: &KeyId,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO outbound_secrets
                       (id, name, metadata, sealed_by, sealed, created_at, updated_at, updated_by, version)
                   VALUES ($1, $2, $3, $4, $5, $6, $6, $7, 1) ON CONFLICT (name) DO NOTHING";
        let values = args![
            secret.id.as_str(),
            secret.name.as_str(),
            metadata(secret)?,
            sealed.sealed_by.as_str(),
            sealed.bytes.clone(),
            secret.created_at,
            by.as_str(),
        ];
        Ok(self.work.execute(sql, values).await? == 1)
    }

    /// Gives one a new value, and shows it as it now is.
    pub async fn update_outbound(
        &mut self,
        secret: &OutboundSecret,
        sealed: &SealedValue,
        by: &KeyId,
    ) -> Result<Option<OutboundSecret>, StoreError> {
        let sql = "UPDATE outbound_secrets SET metadata = $2, sealed_by = $3, sealed = $4, updated_at = $5,
                       updated_by = $6, version = version + 1 WHERE id = $1 RETURNING *";
        let values = args![
            secret.id.as_str(),
            metadata(secret)?,
            sealed.sealed_by.as_str(),
            sealed.bytes.clone(),
            self.now(),
            by.as_str(),
        ];
        self.work.fetch_optional(sql, values).await?.as_ref().map(read).transpose()
    }

    /// Replaces sealed bytes with others that hold the same value, unless it got another one meanwhile.
    pub async fn reseal_outbound(&mut self, secret: &OutboundSecret, sealed: &SealedValue) -> Result<(), StoreError> {
        let sql = "UPDATE outbound_secrets SET sealed_by = $1, sealed = $2 WHERE id = $3 AND version = $4";
        let values = args![sealed.sealed_by.as_str(), sealed.bytes.clone(), secret.id.as_str(), secret.version];
        self.work.execute(sql, values).await.map(drop)
    }

    /// Forgets one; says whether there was one.
    pub async fn remove_outbound(&mut self, id: &str) -> Result<bool, StoreError> {
        Ok(self.work.execute("DELETE FROM outbound_secrets WHERE id = $1", args![id]).await? == 1)
    }
}

fn metadata(secret: &OutboundSecret) -> Result<String, StoreError> {
    serde_json::to_string(&secret.metadata).map_err(|_| StoreError::Corrupt { what: "a secret's metadata".into() })
}

fn read(row: &Row) -> Result<OutboundSecret, StoreError> {
    Ok(OutboundSecret {
        id: row.text("id")?,
        name: row.text("name")?,
        metadata: understood("outbound_secrets.metadata", serde_json::from_str(&row.text("metadata")?).ok())?,
        version: row.int("version")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

fn read_sealed(row: &Row) -> Result<SealedValue, StoreError> {
    Ok(SealedValue { sealed_by: row.text("sealed_by")?, bytes: row.bytes("sealed")? })
}
