//! Opening a database: what is missing, foreign, damaged, locked or too new is refused by name, and left as it is.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use carrel_store::{Database, Options, Store, StoreError};
use futures::future::join_all;
use sqlx::{ConnectOptions, Executor, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::house::{House, ask_for_sandbox, on_both_databases, postgres_url, run};

on_both_databases! {
    opening_twice_applies_migrations_once_and_finds_everything,
    a_database_of_a_newer_carrel_is_refused,
    a_database_whose_history_was_rewritten_is_refused,
    a_store_that_is_dropped_lets_go_of_the_database,
}

const NEWER: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                     SELECT 9999, 'from the future', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";

async fn opening_twice_applies_migrations_once_and_finds_everything(house: House) {
    let applied = "SELECT count(*), CAST(sum(CASE WHEN success THEN 1 ELSE 0 END) AS BIGINT) FROM _sqlx_migrations";
    let store = house.open().await;
    let first: (i64, i64) = house.numbers(applied).await;
    let sandbox = ask_for_sandbox(&store).await;
    drop(store);
    let store = house.open().await;
    assert_eq!(house.numbers::<(i64, i64)>(applied).await, first);
    assert_eq!(first.0, first.1);
    assert_eq!(store.sandboxes().find(&sandbox.id).await.unwrap(), Some(sandbox));
    assert_eq!(store.journal().head().0, 1);
    store.ping().await.unwrap();
}

/// SQLite belongs to one process, so this is about PostgreSQL alone.
#[test]
fn nodes_that_open_a_fresh_schema_at_once_all_succeed() {
    run(House::postgres(), open_at_once);
}

async fn open_at_once(house: House) {
    let opened = join_all((0..4).map(|_| Store::open(&house.options))).await;
    for store in opened {
        ask_for_sandbox(&store.unwrap()).await;
    }
    let (head,): (i64,) = house.numbers("SELECT head FROM ledger").await;
    assert_eq!(head, 4);
}

async fn a_database_of_a_newer_carrel_is_refused(house: House) {
    drop(house.open().await);
    let (before,): (i64,) = house.numbers("SELECT count(*) FROM _sqlx_migrations").await;
    house.raw(NEWER).await.unwrap();
    let error = refusal(&house.options).await;
    assert!(matches!(error, StoreError::Newer { found: 9999, .. }), "{error:?}");
    assert!(error.to_string().contains("newer Carrel"), "{error}");
    let (applied,): (i64,) = house.numbers("SELECT count(*) FROM _sqlx_migrations WHERE version < 9999").await;
    assert_eq!(applied, before);
}

async fn a_database_whose_history_was_rewritten_is_refused(house: House) {
    drop(house.open().await);
    let other = if house.is_postgres() { "'\\x00'" } else { "x'00'" };
    house.raw(&format!("UPDATE _sqlx_migrations SET checksum = {other}")).await.unwrap();
    let error = refusal(&house.options).await;
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
}

async fn a_store_that_is_dropped_lets_go_of_the_database(house: House) {
    for _ in 0..if house.is_postgres() { 30 } else { 10 } {
        // More stores than the server has room for at once.
        let store = house.open().await;
        ask_for_sandbox(&store).await;
    }
    let (head,): (i64,) = house.numbers("SELECT head FROM ledger").await;
    assert_eq!(head, if house.is_postgres() { 30 } else { 10 });
}

async fn refusal(options: &Options) -> StoreError {
    match Store::open(options).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

/// A folder with a database that nobody has open.
struct Shelf {
    folder: tempfile::TempDir,
}

impl Shelf {
    fn empty() -> Shelf {
        Shelf { folder: tempfile::tempdir().unwrap() }
    }

    async fn with_a_database() -> Shelf {
        let shelf = Shelf::empty();
        let first = shelf.folder.path().join("first.db");
        let store = Store::open(&Options::new(Database::Sqlite(first.clone()))).await.unwrap();
        ask_for_sandbox(&store).await;
        let copy = format!("VACUUM INTO '{}'", shelf.path().display());
        connect(&first).await.execute(sqlx::AssertSqlSafe(copy)).await.unwrap();
        shelf
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("carrel.db")
    }

    fn write(&self, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(), bytes).unwrap();
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    /// Opens it, and makes sure that it was refused and not touched.
    async fn refusal(&self) -> StoreError {
        let before = self.bytes();
        let error = refusal(&Options::new(Database::Sqlite(self.path()))).await;
        assert!(self.bytes() == before, "the file was touched");
        assert!(error.to_string().contains("carrel.db"), "the sentence names the file: {error}");
        error
    }
}

async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

#[tokio::test]
async fn a_database_in_a_missing_folder_is_missing_and_no_folder_is_made() {
    let shelf = Shelf::empty();
    let folder = shelf.folder.path().join("nowhere");
    let error = refusal(&Options::new(Database::Sqlite(folder.join("carrel.db")))).await;
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_file_of_another_program_is_refused_as_it_is() {
    let shelf = Shelf::empty();
    let mut theirs =
        SqliteConnectOptions::new().filename(shelf.path()).create_if_missing(true).connect().await.unwrap();
    theirs.execute("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')").await.unwrap();
    drop(theirs);
    let error = shelf.refusal().await;
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_as_it_is() {
    let shelf = Shelf::empty();
    shelf.write("Dear diary,\n".repeat(1000));
    let error = shelf.refusal().await;
    assert!(matches!(&error, StoreError::Foreign { why, .. } if why.contains("not a SQLite")), "{error:?}");
}

#[tokio::test]
async fn a_damaged_file_is_refused_as_it_is() {
    let shelf = Shelf::with_a_database().await;
    let whole = shelf.bytes();
    let mut scrambled = whole.clone();
    scrambled[100..4000].fill(0xa5);
    let cut = whole[..whole.len() / 2].to_vec();
    for damaged in [scrambled, cut] {
        shelf.write(damaged);
        let error = shelf.refusal().await;
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_read_only_file_is_refused_as_it_is() {
    let shelf = Shelf::with_a_database().await;
    std::fs::set_permissions(shelf.path(), std::fs::Permissions::from_mode(0o444)).unwrap();
    let error = shelf.refusal().await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_file_that_another_program_locked_is_refused_as_it_is() {
    for mode in ["DELETE", "WAL"] {
        let shelf = Shelf::with_a_database().await;
        let mut other = connect(&shelf.path()).await;
        let held = format!("PRAGMA journal_mode = {mode}; BEGIN EXCLUSIVE");
        other.execute(sqlx::AssertSqlSafe(held)).await.unwrap();
        let error = shelf.refusal().await;
        assert!(matches!(error, StoreError::Locked { .. }), "{mode}: {error:?}");
        other.execute("ROLLBACK").await.unwrap();
        Store::open(&Options::new(Database::Sqlite(shelf.path()))).await.unwrap();
    }
}

#[tokio::test]
async fn a_file_of_a_newer_carrel_is_refused_as_it_is() {
    let shelf = Shelf::with_a_database().await;
    connect(&shelf.path()).await.execute(NEWER).await.unwrap();
    let error = shelf.refusal().await;
    assert!(matches!(error, StoreError::Newer { found: 9999, .. }), "{error:?}");
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let shelf = Shelf::empty();
    shelf.write("");
    let store = Store::open(&Options::new(Database::Sqlite(shelf.path()))).await.unwrap();
    ask_for_sandbox(&store).await;
}

#[tokio::test]
async fn a_server_without_our_database_says_that_it_is_missing() {
    let url = postgres_url();
    let (server, _) = url.rsplit_once('/').unwrap();
    let error = refusal(&Options::new(Database::parse(&format!("{server}/nowhere")).unwrap())).await;
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_unreachable_and_the_password_stays_hidden() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://carrel:hunter2@{free}/postgres");
    let error = refusal(&Options::new(Database::parse(&url).unwrap())).await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(error.is_passing());
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_wrong_password_is_unreachable_and_stays_hidden() {
    let url = postgres_url();
    let (who, place) = url.split_once('@').unwrap();
    let (who, _) = who.rsplit_once(':').unwrap();
    let error = refusal(&Options::new(Database::parse(&format!("{who}:hunter2@{place}")).unwrap())).await;
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_schema_with_a_strange_name_is_refused() {
    let database = Database::parse(&postgres_url()).unwrap();
    for name in ["", "Upper", "x; drop schema public", "1st", "a\"b"] {
        let error = refusal(&Options { schema: name.into(), ..Options::new(database.clone()) }).await;
        assert!(matches!(error, StoreError::Address { .. }), "{name}: {error:?}");
    }
}
