//! A copy of a database as it is at one moment, while others write to it.

use std::path::Path;

use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};

use crate::StoreError;

/// Copies a SQLite database into a file that must not be there yet. The number of its newest migration.
pub async fn copy_sqlite(from: &Path, to: &Path) -> Result<i64, StoreError> {
    let place = to.to_str().ok_or_else(|| StoreError::Corrupt { what: "the path of the copy is not text".into() })?;
    let mut source = SqliteConnectOptions::new().filename(from).read_only(true).connect().await?;
    sqlx::query("VACUUM INTO ?").bind(place).execute(&mut source).await?;
    source.close().await?;
    let mut copy = SqliteConnectOptions::new().filename(to).read_only(true).immutable(true).connect().await?;
    let newest = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(&mut copy).await?;
    copy.close().await?;
    Ok(newest)
}
