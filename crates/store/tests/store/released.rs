//! Databases that released versions left behind: this version opens each, brings it up to date, and finds everything.
//!
//! One folder for each release under `tests/released`: the database of a small house, written down as SQL by the release
//! itself (`tests/released/make`), with `SCHEMA` for the name of the schema. A release adds a folder and changes none.

use carrel_model::{TaskId, session::MomentKind, task::TaskPhase};
use carrel_store::{Database, SessionFilter, TaskFilter};

use crate::house::{House, on_both_databases};

on_both_databases! {
    a_house_of_0_1_0_is_opened_and_nothing_is_missing,
    a_house_of_schema_16_is_opened_and_nothing_is_missing,
}

async fn a_house_of_0_1_0_is_opened_and_nothing_is_missing(house: House) {
    lay(&house, include_str!("../released/0.1.0/sqlite.sql"), include_str!("../released/0.1.0/postgres.sql")).await;
    is_whole(&house, 12).await;
}

async fn a_house_of_schema_16_is_opened_and_nothing_is_missing(house: House) {
    let sqlite = include_str!("../released/0.1.0-schema-16/sqlite.sql");
    lay(&house, sqlite, include_str!("../released/0.1.0-schema-16/postgres.sql")).await;
    let store = is_whole(&house, 16).await;
    assert_eq!(store.nodes().list().await.unwrap().len(), 1, "it was a node by then");
}

/// Opens the house of a fixture and looks for everything in it.
async fn is_whole(house: &House, schema: i64) -> carrel_store::Store {
    let (before,): (i64,) = house.numbers("SELECT max(version) FROM _sqlx_migrations").await;
    assert_eq!(before, schema, "the fixture is of another release");
    let store = house.open().await;

    let (tasks, _) = store.tasks().list(&TaskFilter::default(), 10).await.unwrap();
    let seen: Vec<_> = tasks.iter().map(|task| (i64::from(task.id), task.title.as_str(), task.phase)).collect();
    assert_eq!(seen, [(2, "Second card", TaskPhase::Backlog), (1, "First card", TaskPhase::Backlog)]);
    let (first, second) = (&tasks[1], &tasks[0]);
    assert_eq!((first.priority, first.labels.as_slice(), first.agent.as_str()), (3, &["one".to_owned()][..], "slow"));
    assert_eq!(second.depends_on[0].task_id, first.id);
    let moments = store.sessions().moments(&first.session_id, 0, 10).await.unwrap();
    assert_eq!((moments[0].kind, moments[0].text.as_str()), (MomentKind::Message, "First card"));
    assert_eq!(store.sessions().list(&SessionFilter::default(), 10).await.unwrap().len(), 3);

    let keys = store.keys().list(None, 10).await.unwrap();
    let names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
    assert!(names.contains(&"admin") && names.contains(&"Ada"), "{names:?}");
    let (sandboxes, head) = store.sandboxes().list(&Default::default(), 10).await.unwrap();
    assert!(!sandboxes.is_empty() && sandboxes.iter().all(|sandbox| sandbox.spec.provider.as_str() == "fake"));
    assert_eq!(store.repos().list().await.unwrap()[0].name.as_str(), "own");
    assert_eq!(store.agents().list().await.unwrap()[0].name.as_str(), "slow");
    assert_eq!(store.mark().await.unwrap().len(), 16);

    // It is not only read: numbers and cursors go on where they were.
    let next = store.change(|tx| Box::pin(async move { tx.next_task_id().await })).await.unwrap();
    assert_eq!(next, TaskId::try_from(3).unwrap());
    crate::house::ask_for_sandbox(&store).await;
    assert_eq!(store.journal().head().0, head.0 + 1);
    store
}

/// Puts an old database where the house looks for its own.
async fn lay(house: &House, sqlite: &str, postgres: &str) {
    match &house.options.database {
        Database::Sqlite(path) => {
            std::fs::File::create(path).unwrap();
            house.raw(sqlite).await.unwrap();
        }
        Database::Postgres { .. } => {
            house.raw(&format!("CREATE SCHEMA {}", house.options.schema)).await.unwrap();
            house.raw(&postgres.replace("SCHEMA.", &format!("{}.", house.options.schema))).await.unwrap();
        }
    }
}
