//! Real databases for tests: a SQLite file in a folder of its own, or a fresh schema on a real PostgreSQL.
//! Both are gone when the test ends, however it ends.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    path::PathBuf,
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    task::Poll,
};

use carrel_model::{
    ExecId, KeyId, NodeId, SandboxId, Timestamp,
    public::{Cursor, Happening, SandboxView},
    sandbox::{AtEnd, Isolation, Lifetime, Sandbox, Spec},
};
use carrel_store::{Database, Follower, News, Options, Store, StoreError, Written};
use futures::FutureExt;
use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestCaseError, TestRunner},
};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, SqliteConnection, sqlite::SqliteConnectOptions};

/// Runs every test of a list on both databases. A test that is on no list is dead code, which the lints refuse.
macro_rules! on_both_databases {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $test() { $crate::house::run($crate::house::House::sqlite(), super::$test) })+
        }
        mod postgres {
            $(#[test] fn $test() { $crate::house::run($crate::house::House::postgres(), super::$test) })+
        }
    };
}
pub(crate) use on_both_databases;

/// A database of a test's own.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) options: Options,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Sqlite(PathBuf),
    Postgres(String),
}

pub(crate) fn run<F: Future<Output = ()>>(house: House, test: fn(House) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let ended = AssertUnwindSafe(test(house.clone())).catch_unwind().await;
        house.tear_down().await;
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

impl House {
    pub(crate) fn sqlite() -> House {
        let folder = tempfile::Builder::new().prefix("carrel-store-").tempdir().unwrap().keep();
        let options = Options::new(Database::Sqlite(folder.join("carrel.db")));
        House { options, place: Place::Sqlite(folder) }
    }

    pub(crate) fn postgres() -> House {
        let url = postgres_url();
        let schema = format!("test_{:016x}", u64::from_le_bytes(random()));
        let options = Options { schema, ..Options::new(Database::parse(&url).unwrap()) };
        House { options, place: Place::Postgres(url) }
    }

    /// Whether several nodes can have it.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.place, Place::Postgres(_))
    }

    /// One node of the house.
    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.options).await.unwrap()
    }

    /// Several nodes where the database allows it. SQLite belongs to one process, so there they are one.
    pub(crate) async fn nodes(&self, count: usize) -> Vec<Store> {
        let first = self.open().await;
        let mut nodes = vec![first];
        while nodes.len() < count {
            let node = if self.is_postgres() { self.open().await } else { nodes[0].clone() };
            nodes.push(node);
        }
        nodes
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.place, Place::Postgres(_))
    }

    /// Says something to the database behind the store's back, and how many rows that touched.
    pub(crate) async fn raw(&self, sql: &str) -> Result<u64, sqlx::Error> {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match &self.place {
            Place::Sqlite(_) => Ok(self.sqlite_connection().await.execute(sql).await?.rows_affected()),
            Place::Postgres(_) => {
                let mut connection = self.postgres_connection().await;
                let done = connection.execute(sql).await.map(|done| done.rows_affected());
                connection.close().await?;
                done
            }
        }
    }

    /// Asks the database for a row of numbers behind the store's back, in one statement and so of one moment.
    pub(crate) async fn numbers<T>(&self, sql: &str) -> T
    where
        T: for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow>
            + for<'r> sqlx::FromRow<'r, sqlx::postgres::PgRow>
            + Send
            + Unpin,
    {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match &self.place {
            Place::Sqlite(_) => sqlx::query_as(sql).fetch_one(&mut self.sqlite_connection().await).await.unwrap(),
            Place::Postgres(_) => {
                let mut connection = self.postgres_connection().await;
                let row = sqlx::query_as(sql).fetch_one(&mut connection).await.unwrap();
                connection.close().await.unwrap();
                row
            }
        }
    }

    /// Tries a property on many plans: more of them where the database is cheap.
    pub(crate) async fn for_all<S, F>(&self, plans: S, holds: impl Fn(S::Value) -> F)
    where
        S: Strategy,
        F: Future<Output = ()>,
    {
        let cases = if self.is_postgres() { 12 } else { 48 };
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 64, ..Config::default() };
        let runtime = tokio::runtime::Handle::current();
        let tried = TestRunner::new(config).run(&plans, |plan| {
            let held = tokio::task::block_in_place(|| runtime.block_on(AssertUnwindSafe(holds(plan)).catch_unwind()));
            held.map_err(|panic| TestCaseError::fail(sentence_of(panic)))
        });
        if let Err(failure) = tried {
            panic!("{failure}");
        }
    }

    async fn sqlite_connection(&self) -> SqliteConnection {
        let Database::Sqlite(path) = &self.options.database else { unreachable!("asked of a SQLite house") };
        SqliteConnectOptions::new().filename(path).connect().await.unwrap()
    }

    async fn postgres_connection(&self) -> PgConnection {
        let Place::Postgres(url) = &self.place else { unreachable!("asked of a PostgreSQL house") };
        let options: sqlx::postgres::PgConnectOptions = url.parse().unwrap();
        options.options([("search_path", self.options.schema.as_str())]).connect().await.unwrap()
    }

    async fn tear_down(&self) {
        match &self.place {
            Place::Sqlite(folder) => std::fs::remove_dir_all(folder).unwrap(),
            Place::Postgres(_) => {
                self.raw(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.options.schema)).await.map(drop).unwrap();
            }
        }
    }
}

/// The address of the PostgreSQL that tests may use.
pub(crate) fn postgres_url() -> String {
    std::env::var("CARREL_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("this test needs PostgreSQL: run it by `make test` or `scripts/with-postgres cargo nextest run`")
    })
}

fn sentence_of(panic: Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_else(|| "a panic".into())
}

/// Polls a future so many times and then calls it off.
pub(crate) async fn give_up_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// The entries up to and including a cursor. Panics at a reset.
pub(crate) async fn read_until(follower: &mut Follower, cursor: Cursor) -> Vec<std::sync::Arc<Written>> {
    let mut heard = Vec::new();
    while follower.cursor() < cursor {
        match follower.next().await.unwrap() {
            News::Entries(entries) => heard.extend(entries),
            News::Reset(reset) => panic!("asked for {cursor:?} and heard {reset:?}"),
        }
    }
    heard
}

pub(crate) fn cursors(entries: &[std::sync::Arc<Written>]) -> Vec<i64> {
    entries.iter().map(|entry| entry.cursor().0).collect()
}

/// The sandbox that an entry tells of.
pub(crate) fn sandbox_in(entry: &Written) -> &SandboxView {
    match &entry.entry().happening {
        Happening::Sandbox { sandbox } => sandbox,
        other => panic!("expected a sandbox, heard {other:?}"),
    }
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; N];
    for piece in bytes.chunks_mut(8) {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let hash = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), count);
        piece.copy_from_slice(&hash.to_le_bytes()[..piece.len()]);
    }
    bytes
}

pub(crate) fn a_key_id() -> KeyId {
    KeyId::from_random(random())
}

pub(crate) fn a_node() -> NodeId {
    NodeId::from_random(random())
}

pub(crate) fn an_exec() -> ExecId {
    ExecId::from_random(random())
}

pub(crate) fn a_spec() -> Spec {
    Spec {
        template: "host".parse().unwrap(),
        provider: "fake".parse().unwrap(),
        isolation: Isolation::None,
        agent_id: None,
        task_id: None,
        repo: None,
        checkout: None,
        env: Default::default(),
        metadata: Default::default(),
        lifetime: Lifetime::new(3600).unwrap(),
        at_end: AtEnd::Destroy,
        limits: serde_json::from_value(serde_json::json!({"cpus": 1, "memory_mb": 64, "disk_mb": 64, "pids": 64}))
            .unwrap(),
        network: Default::default(),
        ports: Default::default(),
        port_host: None,
        tls_ports: Vec::new(),
        pause_depth: Default::default(),
        volumes: Vec::new(),
    }
}

/// A sandbox that was just asked for, and so is due.
pub(crate) fn a_sandbox(now: Timestamp) -> Sandbox {
    Sandbox::born(SandboxId::from_random(random()), a_spec(), Default::default(), a_key_id(), None, now)
}

/// Writes a sandbox into the store.
pub(crate) async fn insert(store: &Store, sandbox: &Sandbox) {
    let sandbox = sandbox.clone();
    store.change(move |tx| async move { tx.insert_sandbox(&sandbox, None).await }.boxed()).await.unwrap_or_else(fail)
}

/// Writes a sandbox that was just asked for.
pub(crate) async fn ask_for_sandbox(store: &Store) -> Sandbox {
    let sandbox = a_sandbox(store.now());
    insert(store, &sandbox).await;
    sandbox
}

/// Changes a sandbox's note, as many times as asked, in one change.
pub(crate) async fn note(store: &Store, id: &SandboxId, note: &str, times: usize) -> Result<(), StoreError> {
    let (id, note) = (id.clone(), note.to_owned());
    store
        .change(move |tx| {
            async move {
                let (mut sandbox, lease) = tx.lock_sandbox(&id).await?.expect("the test wrote it");
                for _ in 0..times {
                    sandbox.note = Some(note.clone());
                    tx.update_sandbox(&mut sandbox, lease.as_ref()).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
}

fn fail(error: StoreError) {
    panic!("{error}: {error:?}");
}
