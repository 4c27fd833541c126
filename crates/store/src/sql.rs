//! The thin layer that lets one query serve both dialects.
//!
//! Both understand `$1`, `RETURNING` and `ON CONFLICT`; we use whole numbers, text and bytes only. Where they differ
//! (row locks, notifications), the caller asks for the dialect.

use std::sync::{Arc, atomic::AtomicBool};

use carrel_model::Timestamp;
use sqlx::{
    AssertSqlSafe, PgPool, Postgres, Row as _, Sqlite, SqlitePool, Transaction,
    postgres::{PgArguments, PgRow},
    sqlite::{SqliteArguments, SqliteRow},
};

use crate::{StoreError, trip::Trip};

/// Connections to one database.
pub(crate) enum Sql {
    Sqlite { writer: SqlitePool, readers: SqlitePool, open: Arc<AtomicBool> },
    Postgres { pool: PgPool, channel: String },
}

/// A transaction that may write.
pub(crate) enum Work {
    Sqlite(Trip),
    Postgres(Transaction<'static, Postgres>),
}

/// A value on its way in.
pub(crate) enum Arg {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

/// A row on its way out.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::sql::Arg::from($value)),*] };
}
pub(crate) use args;

macro_rules! run {
    ($executor:expr, $sql:expr, $bind:ident, $args:expr, $method:ident) => {
        $bind(sqlx::query(AssertSqlSafe($sql)), $args).$method($executor).await.map_err(StoreError::from)
    };
}

impl Sql {
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Sql::Postgres { .. })
    }

    /// The channel on which other nodes listen, where there can be others.
    pub(crate) fn channel(&self) -> Option<&str> {
        match self {
            Sql::Sqlite { .. } => None,
            Sql::Postgres { channel, .. } => Some(channel),
        }
    }

    /// Reads outside of any transaction.
    pub(crate) async fn fetch_all(&self, sql: impl Into<String>, args: Vec<Arg>) -> Result<Vec<Row>, StoreError> {
        let sql = sql.into();
        Ok(match self {
            Sql::Sqlite { readers, .. } => {
                run!(readers, sql, bind_sqlite, args, fetch_all)?.into_iter().map(Row::Sqlite).collect()
            }
            Sql::Postgres { pool, .. } => {
                run!(pool, sql, bind_postgres, args, fetch_all)?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// Reads one row outside of any transaction.
    pub(crate) async fn fetch_optional(
        &self,
        sql: impl Into<String>,
        args: Vec<Arg>,
    ) -> Result<Option<Row>, StoreError> {
        let sql = sql.into();
        Ok(match self {
            Sql::Sqlite { readers, .. } => run!(readers, sql, bind_sqlite, args, fetch_optional)?.map(Row::Sqlite),
            Sql::Postgres { pool, .. } => run!(pool, sql, bind_postgres, args, fetch_optional)?.map(Row::Postgres),
        })
    }

    /// Begins a transaction that may write. With SQLite it is the only one.
    pub(crate) async fn begin(&self) -> Result<Work, StoreError> {
        Ok(match self {
            Sql::Sqlite { writer, open, .. } => Work::Sqlite(Trip::begin(writer, open).await?),
            Sql::Postgres { pool, .. } => Work::Postgres(pool.begin().await?),
        })
    }

    /// The database's clock in microseconds, where it has one of its own.
    pub(crate) async fn clock(&self) -> Result<Option<i64>, StoreError> {
        if !self.is_postgres() {
            return Ok(None);
        }
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now";
        let row = self.fetch_optional(sql, vec![]).await?;
        row.map(|row| row.int("now")).transpose()
    }
}

impl Work {
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Work::Postgres(_))
    }

    /// A statement whose outcome is not asked for: it may travel with the next one, and fail there.
    pub(crate) async fn put(&mut self, sql: &str, args: Vec<Arg>) -> Result<(), StoreError> {
        match self {
            Work::Sqlite(trip) => trip.put(sql, args).await,
            Work::Postgres(_) => self.execute(sql, args).await.map(drop),
        }
    }

    pub(crate) async fn execute(&mut self, sql: impl Into<String>, args: Vec<Arg>) -> Result<u64, StoreError> {
        let sql = sql.into();
        Ok(match self {
            Work::Sqlite(trip) => trip.run(&sql, args).await?.affected,
            Work::Postgres(tx) => run!(&mut **tx, sql, bind_postgres, args, execute)?.rows_affected(),
        })
    }

    pub(crate) async fn fetch_all(&mut self, sql: impl Into<String>, args: Vec<Arg>) -> Result<Vec<Row>, StoreError> {
        let sql = sql.into();
        Ok(match self {
            Work::Sqlite(trip) => trip.run(&sql, args).await?.rows.into_iter().map(Row::Sqlite).collect(),
            Work::Postgres(tx) => {
                run!(&mut **tx, sql, bind_postgres, args, fetch_all)?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(crate) async fn fetch_optional(
        &mut self,
        sql: impl Into<String>,
        args: Vec<Arg>,
    ) -> Result<Option<Row>, StoreError> {
        let sql = sql.into();
        Ok(match self {
            Work::Sqlite(trip) => trip.run(&sql, args).await?.rows.into_iter().next().map(Row::Sqlite),
            Work::Postgres(tx) => run!(&mut **tx, sql, bind_postgres, args, fetch_optional)?.map(Row::Postgres),
        })
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        match self {
            Work::Sqlite(trip) => trip.rollback().await?,
            Work::Postgres(tx) => tx.rollback().await?,
        }
        Ok(())
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.commit_with("", Vec::new()).await.map(drop)
    }

    /// Does a last statement once for each list of values, then commits. Gives the row that each returned.
    pub(crate) async fn commit_with(mut self, last: &str, each: Vec<Vec<Arg>>) -> Result<Vec<Row>, StoreError> {
        if let Work::Sqlite(trip) = self {
            return Ok(trip.commit(last, each).await?.into_iter().map(Row::Sqlite).collect());
        }
        let mut rows = Vec::with_capacity(each.len());
        for args in each {
            rows.extend(self.fetch_optional(last, args).await?);
        }
        if let Work::Postgres(tx) = self {
            tx.commit().await?;
        }
        Ok(rows)
    }
}

macro_rules! column {
    ($row:expr, $name:expr) => {
        match $row {
            Row::Sqlite(row) => row.try_get($name),
            Row::Postgres(row) => row.try_get($name),
        }
        .map_err(StoreError::Failed)
    };
}

impl Row {
    pub(crate) fn int(&self, name: &str) -> Result<i64, StoreError> {
        column!(self, name)
    }
    pub(crate) fn maybe_int(&self, name: &str) -> Result<Option<i64>, StoreError> {
        column!(self, name)
    }
    pub(crate) fn text(&self, name: &str) -> Result<String, StoreError> {
        column!(self, name)
    }
    pub(crate) fn maybe_text(&self, name: &str) -> Result<Option<String>, StoreError> {
        column!(self, name)
    }
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        column!(self, name)
    }
    pub(crate) fn time(&self, name: &str) -> Result<Timestamp, StoreError> {
        understood(name, Timestamp::from_microsecond(self.int(name)?).ok())
    }
    pub(crate) fn maybe_time(&self, name: &str) -> Result<Option<Timestamp>, StoreError> {
        self.maybe_int(name)?.map(|at| understood(name, Timestamp::from_microsecond(at).ok())).transpose()
    }
    /// A column that holds one of our names.
    pub(crate) fn name<T: TryFrom<String>>(&self, name: &str) -> Result<T, StoreError> {
        understood(name, T::try_from(self.text(name)?).ok())
    }
    pub(crate) fn maybe_name<T: TryFrom<String>>(&self, name: &str) -> Result<Option<T>, StoreError> {
        self.maybe_text(name)?.map(|text| understood(name, T::try_from(text).ok())).transpose()
    }
}

/// A pattern that finds a text as it is, with `\` before what would mean something else.
pub(crate) fn like(text: &str) -> String {
    let plain = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{plain}%")
}

/// What was read, or the sentence that it makes no sense.
pub(crate) fn understood<T>(what: &str, value: Option<T>) -> Result<T, StoreError> {
    value.ok_or_else(|| StoreError::Corrupt { what: format!("a column `{what}`") })
}

pub(crate) fn bind_sqlite(
    mut query: sqlx::query::Query<'_, Sqlite, SqliteArguments>,
    args: Vec<Arg>,
) -> sqlx::query::Query<'_, Sqlite, SqliteArguments> {
    for arg in args {
        query = match arg {
            Arg::Int(value) => query.bind(value),
            Arg::Text(value) => query.bind(value),
            Arg::Bytes(value) => query.bind(value),
        };
    }
    query
}

fn bind_postgres(
    mut query: sqlx::query::Query<'_, Postgres, PgArguments>,
    args: Vec<Arg>,
) -> sqlx::query::Query<'_, Postgres, PgArguments> {
    for arg in args {
        query = match arg {
            Arg::Int(value) => query.bind(value),
            Arg::Text(value) => query.bind(value),
            Arg::Bytes(value) => query.bind(value),
        };
    }
    query
}

macro_rules! from {
    ($($from:ty, $value:ident => $arg:expr);+ $(;)?) => {$(
        impl From<$from> for Arg {
            fn from($value: $from) -> Arg {
                $arg
            }
        }
    )+};
}
from! {
    i64, value => Arg::Int(Some(value));
    Option<i64>, value => Arg::Int(value);
    &str, value => Arg::Text(Some(value.to_owned()));
    String, value => Arg::Text(Some(value));
    Option<String>, value => Arg::Text(value);
    Option<&str>, value => Arg::Text(value.map(str::to_owned));
    Timestamp, value => Arg::Int(Some(value.as_microsecond()));
    Option<Timestamp>, value => Arg::Int(value.map(|at| at.as_microsecond()));
    Vec<u8>, value => Arg::Bytes(value);
}
