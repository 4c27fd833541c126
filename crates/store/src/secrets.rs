//! Secrets in the database: names, and sealed bytes that only the vault opens.

use carrel_model::{RepoName, SecretName, secret::Secret};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The secrets.
pub struct Secrets<'s> {
    pub(crate) store: &'s Store,
}

/// The value of a secret, as the vault sealed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// The print of the master key.
    pub sealed_by: String,
    /// What the vault made of it.
    pub bytes: Vec<u8>,
}

impl Secrets<'_> {
    /// All of them, by name; those of the house first.
    pub async fn list(&self) -> Result<Vec<Secret>, StoreError> {
        let sql = "SELECT repo, name, created_at, updated_at, updated_by, revision FROM secrets ORDER BY repo, name";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }

    /// The secret of this name, of a repository or of the house.
    pub async fn find(
        &self,
        repo: Option<&RepoName>,
        name: &SecretName,
    ) -> Result<Option<(Secret, SealedValue)>, StoreError> {
        let sql = "SELECT * FROM secrets WHERE repo = $1 AND name = $2";
        let row = self.store.sql().fetch_optional(sql, args![scope(repo), name.as_str()]).await?;
        row.as_ref().map(|row| Ok((read(row)?, read_sealed(row)?))).transpose()
    }

    /// Those that another key than this sealed.
    pub async fn sealed_otherwise(&self, print: &str) -> Result<Vec<(Secret, SealedValue)>, StoreError> {
        let rows = self.store.sql().fetch_all("SELECT * FROM secrets WHERE sealed_by <> $1", args![print]).await?;
        rows.iter().map(|row| Ok((read(row)?, read_sealed(row)?))).collect()
    }
}

impl Tx {
    /// Writes a value under a name, whether or not it had one. Shows the secret as it now is.
    pub async fn put_secret(
        &mut self,
        repo: Option<&RepoName>,
        name: &SecretName,
        sealed: &SealedValue,
        by: &carrel_model::KeyId,
    ) -> Result<Secret, StoreError> {
        let sql = "INSERT INTO secrets (repo, name, sealed_by, sealed, created_at, updated_at, updated_by, revision)
                   VALUES ($1, $2, $3, $4, $5, $5, $6, 1)
                   ON CONFLICT (repo, name) DO UPDATE SET sealed_by = $3, sealed = $4, updated_at = $5, updated_by = $6,
                       revision = secrets.revision + 1
                   RETURNING repo, name, created_at, updated_at, updated_by, revision";
        let values =
            args![scope(repo), name.as_str(), sealed.sealed_by.as_str(), sealed.bytes.clone(), self.now(), by.as_str()];
        let row = self.work.fetch_optional(sql, values).await?;
        read(&understood("secrets", row)?)
    }

    /// Writes a value of the house under a name that has none yet. Of many who try, one does.
    pub async fn put_secret_once(
        &mut self,
        name: &SecretName,
        sealed: &SealedValue,
        by: &carrel_model::KeyId,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO secrets (repo, name, sealed_by, sealed, created_at, updated_at, updated_by, revision)
                   VALUES ('', $1, $2, $3, $4, $4, $5, 1) ON CONFLICT (repo, name) DO NOTHING";
        let values = args![name.as_str(), sealed.sealed_by.as_str(), sealed.bytes.clone(), self.now(), by.as_str()];
        Ok(self.work.execute(sql, values).await? == 1)
    }

    /// Replaces sealed bytes with others that hold the same value, unless it got another value meanwhile.
    pub async fn reseal_secret(&mut self, secret: &Secret, sealed: &SealedValue) -> Result<bool, StoreError> {
        let sql = "UPDATE secrets SET sealed_by = $1, sealed = $2 WHERE repo = $3 AND name = $4 AND revision = $5";
        let values = args![
            sealed.sealed_by.as_str(),
            sealed.bytes.clone(),
            scope(secret.repo.as_ref()),
            secret.name.as_str(),
            secret.revision
        ];
        Ok(self.work.execute(sql, values).await? == 1)
    }

    /// Forgets a secret; says whether there was one.
    pub async fn remove_secret(&mut self, repo: Option<&RepoName>, name: &SecretName) -> Result<bool, StoreError> {
        let sql = "DELETE FROM secrets WHERE repo = $1 AND name = $2";
        Ok(self.work.execute(sql, args![scope(repo), name.as_str()]).await? == 1)
    }
}

fn scope(repo: Option<&RepoName>) -> &str {
    repo.map(RepoName::as_str).unwrap_or_default()
}

fn read(row: &Row) -> Result<Secret, StoreError> {
    let repo = row.text("repo")?;
    let repo = if repo.is_empty() { None } else { Some(understood("secrets.repo", RepoName::try_from(repo).ok())?) };
    Ok(Secret {
        name: row.name("name")?,
        repo,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        updated_by: row.name("updated_by")?,
        revision: row.int("revision")?,
    })
}

fn read_sealed(row: &Row) -> Result<SealedValue, StoreError> {
    Ok(SealedValue { sealed_by: row.text("sealed_by")?, bytes: row.bytes("sealed")? })
}
