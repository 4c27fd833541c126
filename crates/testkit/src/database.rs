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

    /// Cuts whoever is connected off from it for a while: PostgreSQL hangs up on them all, as often as they come back;
    /// SQLite is kept from them.
    pub async fn cut(&self, lasts: std::time::Duration) {
        match &self.options.database {
            Database::Postgres(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1";
                let name = format!("carrel_{}", self.options.schema);
                let began = std::time::Instant::now();
                loop {
                    sqlx::query(sql).bind(&name).execute(&mut connection).await.unwrap();
                    if began.elapsed() >= lasts {
                        break;
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
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

    /// Kills one process of PostgreSQL as a fault of the machine would: all of them end, and it recovers. It belongs to
    /// this campaign alone, or everybody else is cut off too. Returns when somebody is let in again.
    pub async fn crash(&self) {
        let Database::Postgres(url) = &self.options.database else { return };
        let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
        let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut connection).await.unwrap();
        let pid = rustix::process::Pid::from_raw(pid).expect("a process has a number");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        drop(connection);
        while sqlx::PgConnection::connect(url).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// What somebody still holds: tasks, sandboxes and lanes, each with its holder. Lanes that a Redis keeps are not among
    /// them: what stands here of those is only who had them last.
    pub async fn held(&self, with_lanes: bool) -> Vec<String> {
        let lanes = "UNION ALL SELECT 'lane ' || name || ' by ' || owner FROM lanes WHERE owner IS NOT NULL";
        let sql = format!(
            "SELECT 'task ' || id || ' by ' || lease_owner AS held FROM tasks WHERE lease_owner IS NOT NULL
             UNION ALL SELECT 'sandbox ' || id || ' by ' || lease_owner FROM sandboxes WHERE lease_owner IS NOT NULL {}",
            if with_lanes { lanes } else { "" }
        );
        match &self.options.database {
            Database::Postgres(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                let path = sqlx::AssertSqlSafe(format!("SET search_path TO {}", self.options.schema));
                sqlx::query(path).execute(&mut connection).await.unwrap();
                sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap()
            }
            Database::Sqlite(path) => {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
                let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
                sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap()
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
