//! What is no longer kept: readers are told to start over, and never left in the dark.

use carrel_model::{Timestamp, public::Cursor};
use carrel_store::{News, Store};
use jiff::SignedDuration;

use crate::house::{House, ask_for_sandbox, cursors, note, on_both_databases, read_until};

on_both_databases! {
    a_reader_older_than_the_ledger_starts_over_at_its_head,
    a_reader_from_another_ledger_starts_over_at_its_head,
    a_cursor_that_makes_no_sense_starts_over,
    what_is_young_enough_is_kept_without_a_gap,
    cursors_go_on_after_everything_was_forgotten,
    a_node_that_was_away_for_too_long_recovers,
    a_reader_that_waits_at_a_node_that_was_away_is_told,
    what_is_long_gone_is_forgotten_and_what_lives_is_not,
}

async fn what_is_long_gone_is_forgotten_and_what_lives_is_not(house: House) {
    let store = house.open().await;
    let (lives, old, young) =
        (ask_for_sandbox(&store).await, ask_for_sandbox(&store).await, ask_for_sandbox(&store).await);
    for (sandbox, at) in [(&old, 1_000_000), (&young, 3_000_000)] {
        let sql = format!("UPDATE sandboxes SET phase = 'gone', ended_at = {at} WHERE id = '{}'", sandbox.id);
        house.raw(&sql).await.unwrap();
    }
    let between = Timestamp::from_second(2).unwrap();
    assert_eq!(store.count_gone(between).await.unwrap(), 1);
    assert_eq!(store.forget_gone(between).await.unwrap(), 1);
    assert_eq!(store.forget_gone(between).await.unwrap(), 0);
    assert_eq!(store.sandboxes().find(&old.id).await.unwrap(), None);
    for sandbox in [lives, young] {
        assert!(store.sandboxes().find(&sandbox.id).await.unwrap().is_some());
    }
}

async fn a_reader_older_than_the_ledger_starts_over_at_its_head(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    note(&store, &row.id, "old", 5).await.unwrap();
    assert_eq!(store.journal().forget_before(Timestamp::MAX).await.unwrap(), 6);
    drop(store);

    // A fresh node: the former one may still have them in memory, which is as good.
    let store = house.open().await;
    let mut reader = store.journal().follow(Cursor(2));
    assert_starts_over(&mut reader, 7, 6).await;
    note(&store, &row.id, "new", 2).await.unwrap();
    assert_eq!(cursors(&read_until(&mut reader, store.journal().head()).await), [7, 8]);
}

async fn a_reader_from_another_ledger_starts_over_at_its_head(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    let mut reader = store.journal().follow(Cursor(4000));
    assert_starts_over(&mut reader, 1, 1).await;
    note(&store, &row.id, "new", 1).await.unwrap();
    assert_eq!(cursors(&read_until(&mut reader, store.journal().head()).await), [2]);
}

async fn a_cursor_that_makes_no_sense_starts_over(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    note(&store, &row.id, "on", 3).await.unwrap();
    let young = house.open().await;
    note(&young, &row.id, "on", 1).await.unwrap();
    for absurd in [i64::MIN, i64::MIN + 1, -1, 6, i64::MAX - 1, i64::MAX] {
        let mut reader = young.journal().follow(Cursor(absurd));
        assert_starts_over(&mut reader, 1, 5).await;
    }
}

async fn what_is_young_enough_is_kept_without_a_gap(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    note(&store, &row.id, "on", 9).await.unwrap();
    // A change that began early and was committed late: its time is older than its neighbours'.
    house.raw("UPDATE journal SET at = cursor * 1000").await.unwrap();
    house.raw("UPDATE journal SET at = 1 WHERE cursor = 8").await.unwrap();
    let moment = Timestamp::from_microsecond(6000).unwrap();
    assert_eq!(store.journal().forget_before(moment).await.unwrap(), 5);
    assert_eq!(store.journal().forget_before(moment).await.unwrap(), 0, "asked again, nothing is left to forget");

    let later = house.open().await;
    assert_eq!(cursors(&read_until(&mut later.journal().follow(Cursor(5)), Cursor(10)).await), [6, 7, 8, 9, 10]);
    assert_starts_over(&mut later.journal().follow(Cursor(4)), 6, 10).await;
}

async fn cursors_go_on_after_everything_was_forgotten(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    store.journal().forget_before(after(&store)).await.unwrap();
    let store = house.open().await;
    let mut reader = store.journal().follow(store.journal().head());
    note(&store, &row.id, "on", 1).await.unwrap();
    assert_eq!(cursors(&read_until(&mut reader, Cursor(2)).await), [2]);
}

/// Writes and forgets behind the node's back, as others do while its bell is out of order.
async fn forget_behind_its_back(house: &House) {
    house.raw("UPDATE ledger SET head = 50, oldest = 51").await.unwrap();
    house.raw("DELETE FROM journal").await.unwrap();
}

async fn a_node_that_was_away_for_too_long_recovers(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    let mut at_the_head = store.journal().follow(Cursor(1));
    let mut ahead = store.journal().follow(Cursor(50));
    forget_behind_its_back(&house).await;

    note(&store, &row.id, "on", 2).await.unwrap();
    assert_eq!(store.journal().head(), Cursor(52));
    let News::Reset(_) = at_the_head.next().await.unwrap() else { panic!("a gap was passed over in silence") };
    assert_eq!(cursors(&read_until(&mut ahead, Cursor(52)).await), [51, 52]);
}

async fn a_reader_that_waits_at_a_node_that_was_away_is_told(house: House) {
    let store = house.open().await;
    ask_for_sandbox(&store).await;
    let mut waits = store.journal().follow(Cursor(1));
    forget_behind_its_back(&house).await;
    // Somebody who knows more comes by, and the node looks at the ledger again. Nothing new is written.
    let wakes = tokio::spawn({
        let mut knows_more = store.journal().follow(Cursor(50));
        async move { knows_more.next().await }
    });
    assert_starts_over(&mut waits, 51, 50).await;
    wakes.abort();
}

async fn assert_starts_over(reader: &mut carrel_store::Follower, oldest: i64, head: i64) {
    match reader.next().await.unwrap() {
        News::Reset(reset) => assert_eq!((reset.oldest.0, reset.head.0), (oldest, head)),
        News::Entries(entries) => panic!("expected to start over, heard {:?}", cursors(&entries)),
    }
    assert_eq!(reader.cursor(), Cursor(head));
}

fn after(store: &Store) -> Timestamp {
    store.now() + SignedDuration::from_hours(1)
}
