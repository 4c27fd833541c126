//! Volumes in the database. Their tokens are sealed bytes that only the vault opens.

use carrel_model::{SandboxId, VolumeId, VolumeName, volume::Volume};

use crate::{
    SealedValue, Store, StoreError, Tx,
    sql::{Row, args},
};

/// The volumes.
pub struct Volumes<'s> {
    pub(crate) store: &'s Store,
}

impl Volumes<'_> {
    /// Those that are not on their way out, by name.
    pub async fn list(&self) -> Result<Vec<Volume>, StoreError> {
        let sql = "SELECT * FROM volumes WHERE removed = 0 ORDER BY name";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }

    /// One by its id, with its sealed token; also on its way out.
    pub async fn find(&self, id: &VolumeId) -> Result<Option<(Volume, SealedValue)>, StoreError> {
        let row = self.store.sql().fetch_optional("SELECT * FROM volumes WHERE id = $1", args![id.as_str()]).await?;
        row.as_ref().map(|row| Ok((read(row)?, read_sealed(row)?))).transpose()
    }

    /// One by its name.
    pub async fn find_named(&self, name: &VolumeName) -> Result<Option<Volume>, StoreError> {
        let sql = "SELECT * FROM volumes WHERE name = $1 AND removed = 0";
        self.store.sql().fetch_optional(sql, args![name.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// Those on their way out.
    pub async fn leaving(&self) -> Result<Vec<Volume>, StoreError> {
        let sql = "SELECT * FROM volumes WHERE removed = 1 ORDER BY id";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }

    /// Those whose token another key than this sealed.
    pub async fn sealed_otherwise(&self, print: &str) -> Result<Vec<(Volume, SealedValue)>, StoreError> {
        let rows = self.store.sql().fetch_all("SELECT * FROM volumes WHERE sealed_by <> $1", args![print]).await?;
        rows.iter().map(|row| Ok((read(row)?, read_sealed(row)?))).collect()
    }
}

impl Tx {
    /// Writes a new volume; says no when its name is taken.
    pub async fn insert_volume(&mut self, volume: &Volume, sealed: &SealedValue) -> Result<bool, StoreError> {
        let sql = "INSERT INTO volumes (id, name, provider, home, sealed_by, sealed, removed, created_by, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8) ON CONFLICT (name) DO NOTHING";
        let values = args![
            volume.id.as_str(),
            volume.name.as_str(),
            volume.provider.as_str(),
            volume.home.as_str(),
            sealed.sealed_by.as_str(),
            sealed.bytes.clone(),
            volume.created_by.as_str(),
            volume.created_at,
        ];
        Ok(self.work.execute(sql, values).await? == 1)
    }

    /// Whether a volume is there, and stays until this change is over.
    pub async fn lock_volume(&mut self, id: &VolumeId) -> Result<Option<Volume>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM volumes WHERE id = $1 AND removed = 0{lock}");
        self.work.fetch_optional(sql, args![id.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// A sandbox that has a volume mounted, if there is one.
    pub async fn user_of_volume(&mut self, id: &VolumeId) -> Result<Option<SandboxId>, StoreError> {
        // An id holds `_`, which LIKE takes for any character: harmless, the digits are unique.
        let sql = "SELECT id FROM sandboxes WHERE phase <> 'gone' AND spec LIKE $1 LIMIT 1";
        let row = self.work.fetch_optional(sql, args![format!("%\"{id}\"%")]).await?;
        row.map(|row| row.name("id")).transpose()
    }

    /// Marks a volume as on its way out, and frees its name.
    pub async fn dismiss_volume(&mut self, id: &VolumeId) -> Result<(), StoreError> {
        // A name holds no colon, so nobody asks for this one.
        let sql = "UPDATE volumes SET removed = 1, name = $2 WHERE id = $1";
        self.work.execute(sql, args![id.as_str(), format!("{id}:")]).await.map(drop)
    }

    /// Forgets a volume that is gone.
    pub async fn forget_volume(&mut self, id: &VolumeId) -> Result<(), StoreError> {
        self.work.execute("DELETE FROM volumes WHERE id = $1", args![id.as_str()]).await.map(drop)
    }

    /// Replaces a sealed token with the same, sealed otherwise.
    pub async fn reseal_volume(&mut self, id: &VolumeId, sealed: &SealedValue) -> Result<(), StoreError> {
        let sql = "UPDATE volumes SET sealed_by = $2, sealed = $3 WHERE id = $1";
        let values = args![id.as_str(), sealed.sealed_by.as_str(), sealed.bytes.clone()];
        self.work.execute(sql, values).await.map(drop)
    }
}

fn read(row: &Row) -> Result<Volume, StoreError> {
    let removed = row.int("removed")? == 1;
    let name = if removed { row.text("name")?.trim_end_matches(':').to_owned() } else { row.text("name")? };
    Ok(Volume {
        id: row.name("id")?,
        name: crate::sql::understood("volumes.name", VolumeName::try_from(name).ok())?,
        provider: row.name("provider")?,
        home: row.name("home")?,
        removed,
        created_by: row.name("created_by")?,
        created_at: row.time("created_at")?,
    })
}

fn read_sealed(row: &Row) -> Result<SealedValue, StoreError> {
    Ok(SealedValue { sealed_by: row.text("sealed_by")?, bytes: row.bytes("sealed")? })
}
