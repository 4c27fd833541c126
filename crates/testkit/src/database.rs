//! A database for one test: a SQLite file, or a schema of its own in the PostgreSQL that `scripts/with-postgres` starts.

use std::sync::atomic::{AtomicU64, Ordering};

use carrel_store::{Database, Options};
use sqlx::Connection;

/// A database for one test. Whoever made it drops it.
pub struct TestDatabase {
    options: Options,
    folder: Option<tempfile::TempDir>,
}

impl TestDatabase {
    /// A SQLite file.
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(Database::Sqlite(folder.path().join("carrel.db")));
        Self { options, folder: Some(folder) }
    }

    /// A fresh schema in PostgreSQL.
    pub async fn postgres() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let url = std::env::var("CARREL_TEST_POSTGRES").expect(
            "this test needs PostgreSQL: run it by `make test`, or with `scripts/with-postgres cargo nextest run`",
        );
        let moment = jiff::Timestamp::now().as_microsecond();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("t{}_{moment}_{count}", std::process::id());
        let options = Options { schema, connections: 6, ..Options::new(Database::parse(&url).unwrap()) };
        Self { options, folder: None }
    }

    /// How to open it.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The address as `carrel serve --database` takes it.
    pub fn url(&self) -> String {
        match &self.options.database {
            Database::Sqlite(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        }
    }

    /// Whether several nodes can share it.
    pub fn is_postgres(&self) -> bool {
        self.folder.is_none()
    }

    /// Cuts whoever is connected off from it: PostgreSQL hangs up on them all; SQLite is kept from them for a while.
    pub async fn cut(&self, lasts: std::time::Duration) {
        match &self.options.database {
            Database::Postgres(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1";
                let name = format!("carrel_{}", self.options.schema);
                sqlx::query(sql).bind(name).execute(&mut connection).await.unwrap();
            }
            Database::Sqlite(path) => {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
                let options = options.busy_timeout(std::time::Duration::from_secs(30));
                let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
                sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
                tokio::time::sleep(lasts).await;
                sqlx::query("ROLLBACK").execute(&mut connection).await.unwrap();
            }
        }
    }

    /// Takes it away.
    pub async fn drop(self) {
        if let Database::Postgres(url) = &self.options.database {
            let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
            let sql = sqlx::AssertSqlSafe(format!("DROP SCHEMA IF EXISTS {} CASCADE", self.options.schema));
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        }
    }
}
