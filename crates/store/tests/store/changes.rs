//! Changes: rows and entries together, or neither.

use carrel_store::StoreError;
use futures::FutureExt;

use crate::house::{
    House, a_sandbox, ask_for_sandbox, cursors, give_up_after, insert, note, on_both_databases, read_until, sandbox_in,
};

on_both_databases! {
    a_change_that_is_committed_can_be_heard_at_once,
    a_change_that_fails_leaves_neither_row_nor_entry_nor_gap,
    a_change_that_panics_leaves_nothing_and_is_in_nobodys_way,
    a_caller_that_goes_away_leaves_a_whole_change_or_none_and_readers_hear_it,
    a_store_stays_usable_however_many_callers_go_away,
}

async fn a_change_that_is_committed_can_be_heard_at_once(house: House) {
    let store = house.open().await;
    let before = store.journal().head();
    let sandbox = ask_for_sandbox(&store).await;
    assert_eq!(store.journal().head().0, before.0 + 1, "this node knows of its own commit when the change returns");
    let heard = read_until(&mut store.journal().follow(before), store.journal().head()).await;
    assert_eq!(sandbox_in(&heard[0]).id, sandbox.id);
    assert_eq!(store.sandboxes().find(&sandbox.id).await.unwrap().unwrap(), sandbox);
}

async fn a_change_that_panics_leaves_nothing_and_is_in_nobodys_way(house: House) {
    let store = house.open().await;
    let before = store.journal().head();
    // Before anything reached the database, and after.
    for reaches in [false, true] {
        let unborn = a_sandbox(store.now());
        let id = unborn.id.clone();
        let changed = store.change(move |tx| {
            async move {
                tx.insert_sandbox(&unborn, None).await?;
                if reaches {
                    tx.lock_sandbox(&unborn.id).await?.expect("it sees its own row");
                }
                panic!("a bug (this is part of the test)");
                #[allow(unreachable_code)]
                Ok::<(), StoreError>(())
            }
            .boxed()
        });
        assert!(std::panic::AssertUnwindSafe(changed).catch_unwind().await.is_err());
        assert_eq!(store.sandboxes().find(&id).await.unwrap(), None);
        let next = ask_for_sandbox(&store).await;
        assert_eq!(store.sandboxes().find(&next.id).await.unwrap().unwrap(), next);
    }
    assert_eq!(store.journal().head().0, before.0 + 2, "only what was committed has an entry");
}

async fn a_change_that_fails_leaves_neither_row_nor_entry_nor_gap(house: House) {
    let store = house.open().await;
    ask_for_sandbox(&store).await;
    let mut reader = store.journal().follow(store.journal().head());
    let before = store.journal().head();

    let (unborn, twin) = (a_sandbox(store.now()), a_sandbox(store.now()));
    let (unborn_id, twin_id) = (unborn.id.clone(), twin.id.clone());
    let refused: Result<(), StoreError> = store
        .change(move |tx| {
            async move {
                tx.insert_sandbox(&unborn, None).await?;
                Err(StoreError::Busy)
            }
            .boxed()
        })
        .await;
    assert!(matches!(refused, Err(StoreError::Busy)));
    // A constraint that breaks half-way is no different.
    let twice: Result<(), StoreError> = store
        .change(move |tx| {
            async move {
                tx.insert_sandbox(&twin, None).await?;
                tx.insert_sandbox(&twin, None).await
            }
            .boxed()
        })
        .await;
    assert!(matches!(twice, Err(StoreError::Failed(_))));

    assert_eq!(store.sandboxes().find(&unborn_id).await.unwrap(), None);
    assert_eq!(store.sandboxes().find(&twin_id).await.unwrap(), None);
    let next = ask_for_sandbox(&store).await;
    let heard = read_until(&mut reader, store.journal().head()).await;
    assert_eq!(cursors(&heard), [before.0 + 1], "the cursor of the failed change is given to the next");
    assert_eq!(sandbox_in(&heard[0]).id, next.id);
}

async fn a_caller_that_goes_away_leaves_a_whole_change_or_none_and_readers_hear_it(house: House) {
    let store = house.open().await;
    let mut reader = store.journal().follow(store.journal().head());
    let mut kept = 0;
    // Goes away at every point it can, from before the first word to after the last.
    for polls in 0.. {
        let sandbox = a_sandbox(store.now());
        let asked = give_up_after(polls, insert(&store, &sandbox)).await;
        // What has begun goes on without its caller.
        store.rest().await;
        let barrier = ask_for_sandbox(&store).await;
        let heard = read_until(&mut reader, store.journal().head()).await;
        let told = heard.iter().any(|entry| sandbox_in(entry).id == sandbox.id);
        let written = store.sandboxes().find(&sandbox.id).await.unwrap().is_some();
        assert_eq!(told, written, "after {polls} polls");
        assert!(heard.iter().any(|entry| sandbox_in(entry).id == barrier.id));
        kept += u32::from(written && asked.is_none());
        if asked.is_some() {
            assert!(written);
            break;
        }
    }
    assert!(kept > 0, "nobody went away in the middle");
}

async fn a_store_stays_usable_however_many_callers_go_away(house: House) {
    let nodes = house.nodes(2).await;
    let sandbox = ask_for_sandbox(&nodes[0]).await;
    // More of them than there are connections, all at once, on one row.
    let callers = (0..64).map(|n| {
        let (store, id) = (nodes[n % 2].clone(), sandbox.id.clone());
        tokio::spawn(async move { give_up_after(n, note(&store, &id, "hello", 1)).await })
    });
    futures::future::join_all(callers).await;
    for node in &nodes {
        node.rest().await;
    }
    note(&nodes[0], &sandbox.id, "goodbye", 1).await.unwrap();
    let now = nodes[1].sandboxes().find(&sandbox.id).await.unwrap().unwrap();
    assert_eq!(now.note.as_deref(), Some("goodbye"));
    let sql = "SELECT (SELECT head FROM ledger), (SELECT CAST(sum(revision) AS BIGINT) FROM sandboxes)";
    let (head, revisions): (i64, i64) = house.numbers(sql).await;
    assert_eq!(head, revisions, "one entry for each revision");
}
