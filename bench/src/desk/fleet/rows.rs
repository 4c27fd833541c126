//! What a server writes to its database: a file that grows, or what PostgreSQL counts of itself.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use sqlx::{Connection, PgConnection, Row};

use super::super::Desk;
use crate::Outcome;

/// Where the rows of a server are.
pub(super) enum Rows {
    /// In a file of its own folder.
    File,
    /// In a PostgreSQL, which nobody else uses meanwhile.
    Postgres(PgConnection),
}

/// What was written so far.
#[derive(Clone, Copy)]
pub(super) struct Written {
    /// How much room it takes, in bytes.
    pub(super) bytes: f64,
    /// What PostgreSQL wrote ahead, in bytes, and how often somebody committed.
    pub(super) ahead: Option<(f64, f64)>,
}

impl Rows {
    pub(super) async fn open(database: Option<&str>) -> Outcome<Rows> {
        Ok(match database {
            Some(address) => Rows::Postgres(PgConnection::connect(address).await?),
            None => Rows::File,
        })
    }

    /// What stands there now.
    pub(super) async fn look(&mut self, desk: &Desk) -> Outcome<Written> {
        let Rows::Postgres(line) = self else {
            return Ok(Written { bytes: room(&desk.server.folder, "carrel.db"), ahead: None });
        };
        let sql = "SELECT pg_database_size(current_database())::bigint AS bytes,
                          pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS ahead,
                          (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::bigint AS commits";
        let row = sqlx::query(sql).fetch_one(line).await?;
        let number = |name: &str| Outcome::Ok(row.try_get::<i64, _>(name)? as f64);
        Ok(Written { bytes: number("bytes")?, ahead: Some((number("ahead")?, number("commits")?)) })
    }
}

impl Written {
    /// What was written since an earlier look.
    pub(super) fn since(self, earlier: Written) -> Written {
        let ahead = self.ahead.zip(earlier.ahead);
        Written { bytes: self.bytes - earlier.bytes, ahead: ahead.map(|(now, then)| (now.0 - then.0, now.1 - then.1)) }
    }
}

/// How much room something in a folder takes on the disk, with what lies beside it under a longer name.
pub(super) fn room(place: &Path, name: &str) -> f64 {
    let mut sum = 0;
    let mut left = vec![place.to_owned()];
    while let Some(folder) = left.pop() {
        // What goes away meanwhile takes no room.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_meant = folder != place || entry.file_name().to_string_lossy().starts_with(name);
            let Ok(about) = entry.metadata() else { continue };
            match about.is_dir() {
                true if is_meant => left.push(entry.path()),
                false if is_meant => sum += about.blocks() * 512,
                _ => {}
            }
        }
    }
    sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_takes_room() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let write = |name: &str| fs::write(folder.path().join(name), vec![1; 64 << 10]);
        assert!(write("carrel.db").is_ok() && write("carrel.db-wal").is_ok() && write("other").is_ok());
        assert!(fs::create_dir(folder.path().join("library")).is_ok() && write("library/carrel.db").is_ok());
        let of_one = room(folder.path(), "other");
        assert!(of_one > 0.0);
        assert_eq!(room(folder.path(), "carrel.db"), 2.0 * of_one);
        assert_eq!(room(folder.path(), "library"), of_one);
    }

    #[test]
    fn what_was_written_is_the_difference_of_two_looks() {
        let then = Written { bytes: 100.0, ahead: Some((10.0, 1.0)) };
        let since = Written { bytes: 150.0, ahead: Some((40.0, 5.0)) }.since(then);
        assert_eq!((since.bytes, since.ahead), (50.0, Some((30.0, 4.0))));
    }
}
