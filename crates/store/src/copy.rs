//! A copy of a database as it is at one moment, while others write to it.

use std::path::Path;

use carrel_model::NodeId;
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

/// Makes what was at home on one node be at home on another, in a copy that nobody has opened yet. The number of its
/// newest migration; a file that is no database of ours is refused.
pub async fn rehome_sqlite(path: &Path, from: &NodeId, to: &NodeId) -> Result<i64, StoreError> {
    let mut copy = SqliteConnectOptions::new().filename(path).connect().await?;
    let sound: String = sqlx::query_scalar("PRAGMA quick_check").fetch_one(&mut copy).await?;
    if sound != "ok" {
        return Err(StoreError::Corrupt { what: sound });
    }
    let newest = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(&mut copy).await?;
    for statement in [
        "UPDATE sandboxes SET home = $1 WHERE home = $2",
        "UPDATE execs SET node = $1 WHERE node = $2",
        "UPDATE templates SET node = $1 WHERE node = $2",
        "UPDATE volumes SET home = $1 WHERE home = $2",
        "UPDATE nodes SET id = $1 WHERE id = $2",
    ] {
        // An older copy may lack what a later migration brings.
        let table = statement.split(' ').nth(1).unwrap_or_default();
        let there: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1")
            .bind(table)
            .fetch_one(&mut copy)
            .await?;
        if there > 0 {
            sqlx::query(statement).bind(to.as_str()).bind(from.as_str()).execute(&mut copy).await?;
        }
    }
    copy.close().await?;
    Ok(newest)
}
