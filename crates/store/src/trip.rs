//! Trips to SQLite's thread, with several statements in each.
//!
//! A trip there and back wakes two threads, which costs more than most statements do. So what nobody waits for (the
//! beginning, rows that are written without a question, the end) travels with the next statement that somebody does
//! wait for: a change that only writes is one trip.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures::StreamExt;
use sqlx::{AssertSqlSafe, Either, Executor, Sqlite, SqlitePool, pool::PoolConnection, sqlite::SqliteRow};

use crate::{
    StoreError,
    sql::{Arg, bind_sqlite},
};

/// No more statements wait for company: each mix of them is prepared once, and there should not be too many.
const MOST_WAITING: usize = 8;

/// A transaction on the one connection that writes.
pub(crate) struct Trip {
    connection: PoolConnection<Sqlite>,
    /// Whether a transaction may be open on the connection. Whoever comes next finds one that was left behind.
    open: Arc<AtomicBool>,
    waiting: Statements,
}

/// Statements on their way, as one text with one list of values.
#[derive(Default)]
struct Statements {
    sql: String,
    args: Vec<Arg>,
    count: usize,
}

/// What a statement came to.
pub(crate) struct Came {
    pub(crate) rows: Vec<SqliteRow>,
    pub(crate) affected: u64,
}

impl Trip {
    /// Begins a transaction that may write, as soon as something is to be done in it.
    pub(crate) async fn begin(writer: &SqlitePool, open: &Arc<AtomicBool>) -> Result<Trip, StoreError> {
        let mut trip =
            Trip { connection: writer.acquire().await?, open: Arc::clone(open), waiting: Statements::default() };
        // Left behind by somebody who panicked or was refused. SQLite may have rolled back by itself, as it does on a
        // full disk: then there is nothing to roll back, and that is as well.
        if open.load(Ordering::Acquire) {
            let _ = trip.connection.execute("ROLLBACK").await;
            open.store(false, Ordering::Release);
        }
        trip.waiting.add("BEGIN IMMEDIATE", Vec::new());
        Ok(trip)
    }

    /// A statement whose outcome is not asked for. It may fail later, and then the whole change does.
    pub(crate) async fn put(&mut self, sql: &str, args: Vec<Arg>) -> Result<(), StoreError> {
        self.waiting.add(sql, args);
        if self.waiting.count >= MOST_WAITING { self.go().await.map(drop) } else { Ok(()) }
    }

    /// A statement, with what it came to.
    pub(crate) async fn run(&mut self, sql: &str, args: Vec<Arg>) -> Result<Came, StoreError> {
        self.waiting.add(sql, args);
        self.go().await
    }

    /// The last statements, and the end. Gives the rows that they returned, in order.
    pub(crate) async fn commit(mut self, last: &str, each: Vec<Vec<Arg>>) -> Result<Vec<SqliteRow>, StoreError> {
        // Nothing was begun, and nothing is to be done.
        if each.is_empty() && self.waiting.count == 1 && !self.open.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        let mut rows = Vec::with_capacity(each.len());
        for args in each {
            if self.waiting.count >= MOST_WAITING {
                rows.extend(self.go().await?.rows);
            }
            self.waiting.add(last, args);
        }
        self.waiting.add("COMMIT", Vec::new());
        match self.go().await {
            Ok(came) => {
                self.open.store(false, Ordering::Release);
                rows.extend(came.rows);
                Ok(rows)
            }
            Err(error) => {
                self.rollback().await?;
                Err(error)
            }
        }
    }

    /// Undoes everything.
    pub(crate) async fn rollback(mut self) -> Result<(), StoreError> {
        if self.open.load(Ordering::Acquire) {
            let _ = self.connection.execute("ROLLBACK").await;
            self.open.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Takes everything that waits to the database. Gives all rows, and how many the last statement touched.
    async fn go(&mut self) -> Result<Came, StoreError> {
        let Statements { sql, args, .. } = std::mem::take(&mut self.waiting);
        self.open.store(true, Ordering::Release);
        let query = bind_sqlite(sqlx::query(AssertSqlSafe(sql)), args);
        let mut coming = (&mut *self.connection).fetch_many(query);
        let mut came = Came { rows: Vec::new(), affected: 0 };
        while let Some(item) = coming.next().await {
            match item? {
                Either::Left(done) => came.affected = done.rows_affected(),
                Either::Right(row) => came.rows.push(row),
            }
        }
        Ok(came)
    }
}

impl Statements {
    /// Adds one; its `$1` is the first of its own values.
    fn add(&mut self, sql: &str, args: Vec<Arg>) {
        let before = self.args.len();
        let mut rest = sql;
        while let Some(at) = rest.find('$') {
            let (text, number) = (&rest[..=at], &rest[at + 1..]);
            let digits = number.bytes().take_while(u8::is_ascii_digit).count();
            self.sql.push_str(text);
            if let Ok(place) = number[..digits].parse::<usize>() {
                self.sql.push_str(&(place + before).to_string());
            }
            rest = &number[digits..];
        }
        self.sql.push_str(rest);
        self.sql.push_str(";\n");
        self.args.extend(args);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::args;

    #[test]
    fn each_statement_keeps_its_own_values() {
        let mut statements = Statements::default();
        statements.add("BEGIN", Vec::new());
        statements.add("INSERT INTO a VALUES ($1, $2)", args![1, 2]);
        statements.add("UPDATE b SET x = $2, y = $12 WHERE z = $1", args![3, 4]);
        assert_eq!(
            statements.sql,
            "BEGIN;\nINSERT INTO a VALUES ($1, $2);\nUPDATE b SET x = $4, y = $14 WHERE z = $3;\n"
        );
        assert_eq!((statements.args.len(), statements.count), (4, 3));
    }
}
