//! Opening a database: find it, refuse what is not ours, bring it up to date, listen to its bell.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use carrel_model::public::Cursor;
use sqlx::{
    ConnectOptions, Connection, Executor, PgConnection, Row as _, SqliteConnection,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{
    Inner, Store, StoreError,
    journal::pump,
    room::Room,
    sql::{Sql, Work, args},
    tail::Tail,
    transcripts::Chimes,
};

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// Where the database is.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A server. The address may hold a password, so it does not print itself.
    Postgres(String),
}

/// How to open it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it is.
    pub database: Database,
    /// PostgreSQL: the schema that holds our tables, so that one database can hold several houses.
    pub schema: String,
    /// The most connections (PostgreSQL), or readers beside the one writer (SQLite).
    pub connections: u32,
    /// A Redis that all nodes share, when there is one. The address may hold a password.
    pub redis: Option<String>,
}

impl Options {
    /// The usual way to open a database.
    pub fn new(database: Database) -> Self {
        Self { database, schema: "carrel".into(), connections: 8, redis: None }
    }
}

impl Database {
    /// Understands `sqlite:PATH` and `postgres://…`.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.contains([':', '?']) {
                let why = "write `sqlite:PATH` with the path of a file".into();
                return Err(StoreError::Address { url: url.into(), why });
            }
            return Ok(Database::Sqlite(path.into()));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            PgConnectOptions::from_str(url)
                .map_err(|_| StoreError::Address { url: hide_password(url), why: "it does not parse".into() })?;
            return Ok(Database::Postgres(url.to_owned()));
        }
        let why = "write `sqlite:PATH` or `postgres://user@host/name`".into();
        Err(StoreError::Address { url: hide_password(url), why })
    }
}

impl std::fmt::Display for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Database::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Database::Postgres(url) => f.write_str(&hide_password(url)),
        }
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Which file a path led to.
pub(crate) struct Footprint {
    path: PathBuf,
    device: u64,
    number: u64,
}

impl Footprint {
    fn of(path: &Path) -> Option<Footprint> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok()?;
        Some(Footprint { path: path.to_owned(), device: found.dev(), number: found.ino() })
    }

    /// Whether it still leads there.
    pub(crate) fn is_there(&self) -> bool {
        Footprint::of(&self.path).is_some_and(|now| (now.device, now.number) == (self.device, self.number))
    }
}

impl Store {
    /// Opens a database and brings its schema up to date. What is not ours or too new is left untouched.
    pub async fn open(options: &Options) -> Result<Store, StoreError> {
        let sql = match &options.database {
            Database::Sqlite(path) => open_sqlite(path, options.connections).await?,
            Database::Postgres(url) => open_postgres(url, options).await?,
        };
        // Listens before it looks at the head: what is committed in between rings the bell.
        let listener = match &sql {
            Sql::Sqlite { .. } => None,
            Sql::Postgres { pool, channel } => {
                let mut listener = PgListener::connect_with(pool).await?;
                listener.listen(channel).await?;
                Some((listener, channel.clone()))
            }
        };
        let head = sql.fetch_optional("SELECT head FROM ledger WHERE only_row = 1", vec![]).await?;
        let head = head.ok_or_else(|| StoreError::Corrupt { what: "no ledger".into() })?.int("head")?;
        let room = if sql.is_postgres() { Room::shared() } else { Room::apart().map_err(sqlx::Error::Io)? };
        let inner = Arc::new(Inner {
            sql,
            tail: Arc::new(Tail::new(Cursor(head))),
            chimes: Chimes::default(),
            clock_ahead: AtomicI64::new(0),
            file: match &options.database {
                Database::Sqlite(path) => Footprint::of(path),
                _ => None,
            },
            room,
            redis: std::sync::OnceLock::new(),
            tasks: Default::default(),
        });
        let mut tasks = vec![tokio::spawn(pump(Arc::downgrade(&inner))).abort_handle()];
        if let Some((listener, channel)) = listener {
            tasks.push(tokio::spawn(listen(listener, channel, Arc::downgrade(&inner))).abort_handle());
        }
        *inner.tasks.lock().expect("nobody else holds the tasks yet") = tasks;
        let store = Store { inner };
        store.compare_clocks().await?;
        if let Some(url) = &options.redis {
            let redis = crate::redis::Redis::open(url, store.mark().await?).await?;
            let _ = store.inner.redis.set(redis);
        }
        Ok(store)
    }
}

impl Sql {
    /// Rings the bell of other nodes when this work is committed. Within one process the tail rings it.
    pub(crate) async fn ring(&self, work: &mut Work, whom: &str) -> Result<(), StoreError> {
        if let Sql::Postgres { channel, .. } = self {
            work.execute("SELECT pg_notify($1, $2)", args![channel.as_str(), whom]).await?;
        }
        Ok(())
    }
}

/// Passes the bell of other nodes on. A connection that was lost may have missed some: then everybody is woken.
async fn listen(mut listener: PgListener, channel: String, store: std::sync::Weak<Inner>) {
    loop {
        let heard = listener.try_recv().await;
        let Some(inner) = store.upgrade() else { return };
        match heard {
            Ok(Some(bell)) if !bell.payload().is_empty() => inner.chimes.ring(bell.payload()),
            Ok(Some(_)) => inner.tail.behind.notify_one(),
            Ok(None) => wake_everybody(&inner),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the bell's connection is down; trying again");
                inner.tail.deaf.store(true, Ordering::Relaxed);
                drop(inner);
                // A new one: the old may hold on to a connection that is dead.
                listener = loop {
                    let Some(inner) = store.upgrade() else { return };
                    let Sql::Postgres { pool, .. } = &inner.sql else { return };
                    let pool = pool.clone();
                    drop(inner);
                    match listen_anew(&pool, &channel).await {
                        Ok(listener) => break listener,
                        Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
                    }
                };
                let Some(inner) = store.upgrade() else { return };
                inner.tail.deaf.store(false, Ordering::Relaxed);
                wake_everybody(&inner);
                tracing::info!("the bell can be heard again");
            }
        }
    }
}

async fn listen_anew(pool: &sqlx::PgPool, channel: &str) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(channel).await?;
    Ok(listener)
}

fn wake_everybody(inner: &Inner) {
    inner.tail.behind.notify_one();
    inner.chimes.ring_all();
}

async fn open_sqlite(path: &Path, readers: u32) -> Result<Sql, StoreError> {
    let place = path.display().to_string();
    let explain = |error| explain_sqlite(error, &place);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(StoreError::Missing { place });
    }
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5))
        .synchronous(SqliteSynchronous::Full);
    if path.exists() {
        refuse_foreign_sqlite(path, &options, &place).await?;
    }
    let write = options.clone().create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
    let writer =
        SqlitePoolOptions::new().max_connections(1).test_before_acquire(false).acquire_timeout(Duration::from_secs(30));
    let writer = writer.connect_with(write).await.map_err(explain)?;
    // Whoever holds the lock of a WAL file is noticed only by who wants to write.
    writer.begin_with("BEGIN IMMEDIATE").await.map_err(explain)?.rollback().await.map_err(explain)?;
    SQLITE.run(&writer).await.map_err(|error| explain_migration(error, &place, explain))?;
    let readers = SqlitePoolOptions::new()
        .max_connections(readers.max(1))
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(options.read_only(true))
        .await
        .map_err(explain)?;
    Ok(Sql::Sqlite { writer, readers, open: Default::default() })
}

/// Looks without touching: a file that is read-only, somebody else's, damaged or too new is refused as it is.
async fn refuse_foreign_sqlite(path: &Path, options: &SqliteConnectOptions, place: &str) -> Result<(), StoreError> {
    let explain = |error| explain_sqlite(error, place);
    // Root may write everywhere; a file without any write bit was made read-only on purpose all the same.
    if path.metadata().is_ok_and(|about| about.permissions().readonly()) {
        return Err(StoreError::ReadOnly { place: place.into() });
    }
    let mut look: SqliteConnection = options.clone().read_only(true).connect().await.map_err(explain)?;
    let tables = sqlx::query("SELECT name FROM sqlite_master WHERE type = 'table'");
    let tables = tables.fetch_all(&mut look).await.map_err(explain)?;
    let ours = tables.iter().any(|row| row.try_get::<String, _>("name").is_ok_and(|name| name == "_sqlx_migrations"));
    if !ours && !tables.is_empty() {
        let why = "it holds tables of another program".into();
        return Err(StoreError::Foreign { place: place.into(), why });
    }
    if ours {
        let newest = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(&mut look);
        refuse_newer(newest.await.map_err(explain)?, &SQLITE, place)?;
    }
    look.close().await.map_err(explain)
}

async fn open_postgres(url: &str, options: &Options) -> Result<Sql, StoreError> {
    let place = hide_password(url);
    let explain = |error| explain_postgres(error, &place);
    if !is_plain_name(&options.schema) {
        let why = format!("`{}` cannot name a schema: use lower-case letters, digits and `_`", options.schema);
        return Err(StoreError::Address { url: place, why });
    }
    // A node that freezes in the middle of a change must not hold up all others.
    // Whoever looks at the server's activity can tell two houses apart.
    let name = format!("carrel_{}", options.schema);
    let connect = PgConnectOptions::from_str(url).map_err(explain)?.application_name(&name).options([
        ("search_path", options.schema.as_str()),
        ("timezone", "UTC"),
        ("lock_timeout", "10s"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("tcp_keepalives_idle", "10"),
        ("tcp_keepalives_interval", "5"),
    ]);
    let mut first = PgConnection::connect_with(&connect).await.map_err(explain)?;
    prepare_schema(&mut first, &options.schema, &place).await?;
    first.close().await.map_err(explain)?;
    let pool = PgPoolOptions::new()
        .max_connections(options.connections.max(3))
        .acquire_timeout(Duration::from_secs(30))
        .connect_with(connect)
        .await
        .map_err(explain)?;
    POSTGRES.run(&pool).await.map_err(|error| explain_migration(error, &place, explain))?;
    // Channels belong to the whole database: the schema keeps houses apart.
    Ok(Sql::Postgres { pool, channel: format!("carrel_{}", options.schema) })
}

async fn prepare_schema(connection: &mut PgConnection, schema: &str, place: &str) -> Result<(), StoreError> {
    let explain = |error| explain_postgres(error, place);
    let found = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    if sqlx::query_scalar(found).fetch_one(&mut *connection).await.map_err(explain)? {
        let newest = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(&mut *connection);
        refuse_newer(newest.await.map_err(explain)?, &POSTGRES, place)?;
    }
    let there = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)").bind(schema);
    if there.fetch_one(&mut *connection).await.map_err(explain)? {
        return Ok(());
    }
    // Two nodes may be born at once; the name was checked to be a plain one.
    let made = sqlx::AssertSqlSafe(format!("CREATE SCHEMA IF NOT EXISTS {schema}"));
    if let Err(error) = connection.execute(made).await
        && error.as_database_error().and_then(|e| e.code()).as_deref() != Some("23505")
    {
        return Err(explain(error));
    }
    Ok(())
}

/// The number of the newest migration that this build knows.
pub fn newest_schema() -> i64 {
    SQLITE.iter().map(|migration| migration.version).max().unwrap_or(0)
}

fn refuse_newer(found: Option<i64>, ours: &Migrator, place: &str) -> Result<(), StoreError> {
    let known = ours.iter().map(|migration| migration.version).max().unwrap_or(0);
    match found {
        Some(found) if found > known => Err(StoreError::Newer { place: place.into(), found, known }),
        _ => Ok(()),
    }
}

fn explain_migration(error: MigrateError, place: &str, explain: impl Fn(sqlx::Error) -> StoreError) -> StoreError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => explain(error),
        other => StoreError::Foreign { place: place.into(), why: other.to_string() },
    }
}

fn explain_sqlite(error: sqlx::Error, place: &str) -> StoreError {
    let place = place.to_owned();
    let code = error.as_database_error().and_then(|said| said.code()).and_then(|code| code.parse::<i32>().ok());
    // The low byte is the primary result code.
    match code.map(|code| code & 0xff) {
        Some(5 | 6) => StoreError::Locked { place },
        Some(8) => StoreError::ReadOnly { place },
        Some(14) => StoreError::Missing { place },
        Some(11) => StoreError::Foreign { place, why: "the file is damaged".into() },
        Some(26) => StoreError::Foreign { place, why: "the file is not a SQLite database".into() },
        _ if matches!(error, sqlx::Error::PoolTimedOut) => StoreError::Locked { place },
        _ => StoreError::Unreachable { place, source: error },
    }
}

fn explain_postgres(error: sqlx::Error, place: &str) -> StoreError {
    let place = place.to_owned();
    match error.as_database_error().and_then(|said| said.code()).as_deref() {
        Some("3D000") => StoreError::Missing { place },
        Some("25006") => StoreError::ReadOnly { place },
        _ => StoreError::Unreachable { place, source: error },
    }
}

/// The address with its password taken out. Of one that cannot be understood only the scheme is shown: who knows where
/// its password is.
pub(crate) fn hide_password(url: &str) -> String {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    match PgConnectOptions::from_str(url) {
        Ok(options) if scheme.starts_with("postgres") => {
            let database = options.get_database().unwrap_or_default();
            format!("{scheme}://{}@{}:{}/{database}", options.get_username(), options.get_host(), options.get_port())
        }
        _ if scheme.is_empty() => "…".to_owned(),
        _ => format!("{scheme}://…"),
    }
}

fn is_plain_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = Database::parse("postgres://me:hunter2@db.example/x?password=hunter2").unwrap().to_string();
        assert_eq!(shown, "postgres://me@db.example:5432/x");
        assert!(!Database::parse("postgres://me:hun/ter2@h:x/y").unwrap_err().to_string().contains("ter2"));
        for odd in ["host=1 password=hunter2", "postgres:u:hunter2@h/x", "Server=db;Password=hunter2"] {
            assert!(!Database::parse(odd).unwrap_err().to_string().contains("hunter2"), "{odd}");
        }
        assert!(!format!("{:?}", Database::parse("postgres://me:hunter2@h/x").unwrap()).contains("hunter2"));
        assert!(!Database::parse("mysql://me:hunter2@h/x").unwrap_err().to_string().contains("hunter2"));
    }

    #[test]
    fn an_address_is_a_file_or_a_server() {
        assert_eq!(Database::parse("sqlite:/x/y.db").unwrap(), Database::Sqlite("/x/y.db".into()));
        assert_eq!(Database::parse("sqlite:///x/y.db").unwrap(), Database::Sqlite("/x/y.db".into()));
        for bad in ["", "sqlite:", "sqlite::memory:", "mysql://x", "/x/y.db"] {
            assert!(Database::parse(bad).is_err(), "{bad}");
        }
    }
}
