//! Following the journal: nothing lost, nothing twice, in the order of commits.

use std::collections::HashMap;

use carrel_model::{SandboxId, public::Cursor};
use carrel_store::{News, Store, StoreError};
use futures::{FutureExt, future::join_all};
use proptest::{collection::vec, prelude::*};

use crate::house::{
    House, ask_for_sandbox, cursors, give_up_after, insert, note, on_both_databases, read_until, sandbox_in,
};

on_both_databases! {
    every_reader_hears_what_came_after_its_cursor_once_and_in_order,
    at_every_moment_the_ledger_is_whole_up_to_its_head,
    a_node_that_is_born_in_the_middle_of_a_burst_hears_the_rest,
    a_reader_that_changes_nodes_misses_nothing,
    a_reader_hears_on_after_its_nodes_were_cut_off_from_the_bell,
    a_reader_far_behind_catches_up_in_order,
    entries_read_from_the_database_are_those_that_were_told,
}

const NODES: usize = 3;
const ROWS: usize = 3;

/// A change: which row, how many entries, and what becomes of it.
#[derive(Debug, Clone)]
struct Word {
    row: usize,
    entries: usize,
    fate: Fate,
}

#[derive(Debug, Clone)]
enum Fate {
    Committed,
    Refused,
    /// The caller goes away after so many polls: it may or may not be committed.
    LeftAfter(usize),
}

/// A reader: where it begins, and how patient it is.
#[derive(Debug, Clone)]
struct Reader {
    /// Joins when the burst has come this far, in percent.
    joins_at: usize,
    /// Has already heard all but so many entries.
    behind: i64,
    /// Goes away after so many batches, and comes back at the next node.
    stays: usize,
    /// Calls `next` off after so many polls, one after the other.
    patience: Vec<usize>,
}

fn word() -> impl Strategy<Value = Word> {
    let fate = prop_oneof![
        6 => Just(Fate::Committed),
        1 => Just(Fate::Refused),
        2 => (0..40usize).prop_map(Fate::LeftAfter),
    ];
    (0..ROWS, 1..4usize, fate).prop_map(|(row, entries, fate)| Word { row, entries, fate })
}

fn reader() -> impl Strategy<Value = Reader> {
    (0..100usize, 0..300i64, 1..6usize, vec(0..12usize, 1..5)).prop_map(|(joins_at, behind, stays, patience)| Reader {
        joins_at,
        behind,
        stays,
        patience,
    })
}

async fn every_reader_hears_what_came_after_its_cursor_once_and_in_order(house: House) {
    let first = house.open().await;
    let rows: Vec<_> = join_all((0..ROWS).map(|_| ask_for_sandbox(&first))).await.into_iter().map(|s| s.id).collect();
    let begin = first.journal().head();
    note(&first, &rows[0], "long ago", 100).await.unwrap();
    drop(first);
    // Born later, so that what was long ago comes from the database.
    let nodes = house.nodes(NODES).await;
    let plans = (vec(vec(word(), 1..8), 1..6), vec(reader(), 1..6));
    house.for_all(plans, |(writers, readers)| burst(&nodes, &rows, writers, readers)).await;

    // The whole story once more, from a node that was not there.
    let late = house.open().await;
    let story = read_until(&mut late.journal().follow(begin), late.journal().head()).await;
    let mut revisions: HashMap<SandboxId, i64> = rows.iter().map(|row| (row.clone(), 1)).collect();
    for entry in &story {
        let told = sandbox_in(entry);
        if let Some(known) = revisions.get_mut(&told.id) {
            *known += 1;
            assert_eq!(told.revision, *known, "the order of cursors is the order of commits");
        }
    }
    for row in &rows {
        let now = late.sandboxes().find(row).await.unwrap().unwrap();
        assert_eq!(now.revision, revisions[row], "what was committed was told, what was told was committed");
    }
}

async fn burst(nodes: &[Store], rows: &[SandboxId], writers: Vec<Vec<Word>>, readers: Vec<Reader>) {
    let begin = nodes[0].journal().span().await.unwrap().head;
    let words: usize = writers.iter().map(Vec::len).sum();
    let (said, progress) = tokio::sync::watch::channel(0);
    let last = crate::house::a_sandbox(nodes[0].now());
    let hearing = readers.into_iter().enumerate().map(|(n, reader)| {
        let (nodes, last, mut progress) = (nodes.to_vec(), last.id.clone(), progress.clone());
        tokio::spawn(async move {
            progress.wait_for(|said| said * 100 >= reader.joins_at * words).await.unwrap();
            hear(&nodes, n, reader, begin, &last).await
        })
    });
    let hearing: Vec<_> = hearing.collect();
    let writing = writers.into_iter().enumerate().map(|(n, words)| {
        let (store, rows, said) = (nodes[n % NODES].clone(), rows.to_vec(), said.clone());
        tokio::spawn(async move {
            for word in words {
                speak(&store, &rows[word.row], word.entries, word.fate).await;
                said.send_modify(|said| *said += 1);
            }
        })
    });
    for written in join_all(writing).await {
        written.unwrap();
    }
    // Changes whose callers went away have ended too, so this is the last word.
    for node in nodes {
        node.rest().await;
    }
    insert(&nodes[0], &last).await;
    let end = nodes[0].journal().span().await.unwrap().head;
    for (from, heard) in join_all(hearing).await.into_iter().map(Result::unwrap) {
        let expected: Vec<i64> = (from.0 + 1..=end.0).collect();
        assert_eq!(heard, expected, "after {from:?}");
    }
}

async fn speak(store: &Store, row: &SandboxId, entries: usize, fate: Fate) {
    match fate {
        Fate::Committed => note(store, row, "said", entries).await.unwrap(),
        Fate::LeftAfter(polls) => {
            if let Some(said) = give_up_after(polls, note(store, row, "left", entries)).await {
                said.unwrap();
            }
        }
        Fate::Refused => {
            let row = row.clone();
            let refused: Result<(), StoreError> = store
                .change(move |tx| {
                    async move {
                        let (mut sandbox, _) = tx.lock_sandbox(&row).await?.unwrap();
                        tx.update_sandbox(&mut sandbox, None).await?;
                        Err(StoreError::Busy)
                    }
                    .boxed()
                })
                .await;
            assert!(refused.is_err());
        }
    }
}

/// Listens until the last word, and returns where it began and the cursors it heard.
async fn hear(nodes: &[Store], n: usize, reader: Reader, begin: Cursor, last: &SandboxId) -> (Cursor, Vec<i64>) {
    let mut node = n;
    let known = nodes[node % NODES].journal().head().max(begin);
    let from = Cursor((known.0 - reader.behind).max(0));
    let mut follower = nodes[node % NODES].journal().follow(from);
    let (mut heard, mut batches) = (Vec::new(), 0);
    let mut patience = reader.patience.into_iter().cycle();
    let mut in_vain = 0;
    loop {
        let polls = patience.next().expect("a cycle never ends");
        // Not for ever, or a reader of the database would never hear anything.
        let news = if in_vain < 4 { give_up_after(polls, follower.next()).await } else { Some(follower.next().await) };
        let entries = match news {
            Some(Ok(News::Entries(entries))) => entries,
            Some(other) => panic!("{other:?}"),
            None => {
                in_vain += 1;
                continue;
            }
        };
        in_vain = 0;
        heard.extend(cursors(&entries));
        if entries.iter().any(|entry| sandbox_in(entry).id == *last) {
            return (from, heard);
        }
        batches += 1;
        if batches % reader.stays == 0 {
            node += 1;
            let cursor = Cursor(*heard.last().unwrap());
            assert_eq!(follower.cursor(), cursor);
            follower = nodes[node % NODES].journal().follow(cursor);
        }
    }
}

async fn at_every_moment_the_ledger_is_whole_up_to_its_head(house: House) {
    let nodes = house.nodes(NODES).await;
    let rows = join_all(nodes.iter().map(ask_for_sandbox)).await;
    // Writers that share nothing but the ledger.
    let writing: Vec<_> = (nodes.iter().cloned().zip(rows))
        .map(|(store, row)| {
            tokio::spawn(async move {
                for n in 0..25 {
                    note(&store, &row.id, "on", 1 + n % 3).await.unwrap();
                }
            })
        })
        .collect();
    let sql = "SELECT (SELECT count(*) FROM journal), (SELECT max(cursor) FROM journal), (SELECT head FROM ledger)";
    while !writing.iter().all(|writer| writer.is_finished()) {
        let (count, newest, head): (i64, i64, i64) = house.numbers(sql).await;
        assert_eq!((count, newest), (head, head), "a later cursor was seen before an earlier one");
    }
    for written in join_all(writing).await {
        written.unwrap();
    }
}

async fn a_node_that_is_born_in_the_middle_of_a_burst_hears_the_rest(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    for _ in 0..if house.is_postgres() { 12 } else { 4 } {
        let burst = tokio::spawn({
            let (store, id) = (store.clone(), row.id.clone());
            async move {
                for _ in 0..8 {
                    note(&store, &id, "on", 1).await.unwrap();
                }
                store.journal().head()
            }
        });
        // SQLite's one process has one store: another is born when the former is gone, or silent.
        let born = if house.is_postgres() { house.open().await } else { store.clone() };
        let mut reader = born.journal().follow(born.journal().head());
        let from = reader.cursor();
        let end = burst.await.unwrap();
        let heard = read_until(&mut reader, end).await;
        assert_eq!(cursors(&heard), (from.0 + 1..=end.0).collect::<Vec<_>>());
    }
}

async fn a_reader_that_changes_nodes_misses_nothing(house: House) {
    let nodes = house.nodes(2).await;
    let row = ask_for_sandbox(&nodes[0]).await;
    let mut cursor = nodes[0].journal().head();
    for n in 0..20 {
        // The other node may not have heard of it yet; the reader already has.
        note(&nodes[n % 2], &row.id, "here", 1).await.unwrap();
        let mut reader = nodes[(n + 1) % 2].journal().follow(cursor);
        let heard = read_until(&mut reader, Cursor(cursor.0 + 1)).await;
        assert_eq!(cursors(&heard), [cursor.0 + 1]);
        cursor = reader.cursor();
    }
}

async fn a_reader_hears_on_after_its_nodes_were_cut_off_from_the_bell(house: House) {
    let nodes = house.nodes(2).await;
    let row = ask_for_sandbox(&nodes[0]).await;
    let mut cursor = nodes[0].journal().head();
    let mut reader = nodes[1].journal().follow(cursor);
    let hang_up = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'carrel_{}' AND query ILIKE 'LISTEN%'",
        house.options.schema
    );
    for _ in 0..5 {
        // Those of both nodes; from the second time on it shows that they had come back.
        let mut cut = 0;
        while house.is_postgres() && cut < 2 {
            cut += house.raw(&hang_up).await.unwrap();
        }
        // Told while nobody listens, and then once more.
        for _ in 0..2 {
            note(&nodes[0], &row.id, "told", 1).await.unwrap();
            let heard = read_until(&mut reader, Cursor(cursor.0 + 1)).await;
            assert_eq!(cursors(&heard), [cursor.0 + 1]);
            cursor = reader.cursor();
        }
    }
}

async fn a_reader_far_behind_catches_up_in_order(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    // More than the node keeps in memory, so that the beginning comes from the database.
    for _ in 0..10 {
        note(&store, &row.id, "long ago", 500).await.unwrap();
    }
    let head = store.journal().head();
    let heard = read_until(&mut store.journal().follow(Cursor(0)), head).await;
    assert_eq!(cursors(&heard), (1..=head.0).collect::<Vec<_>>());
}

async fn entries_read_from_the_database_are_those_that_were_told(house: House) {
    let store = house.open().await;
    let row = ask_for_sandbox(&store).await;
    note(&store, &row.id, "\u{1f4da} \"quoted\" \\ and \n broken", 2).await.unwrap();
    let head = store.journal().head();
    let told = read_until(&mut store.journal().follow(Cursor(0)), head).await;
    let later = house.open().await;
    let read = read_until(&mut later.journal().follow(Cursor(0)), head).await;
    assert_eq!(told, read);
    assert_eq!(told[0].json(), read[0].json());
}
