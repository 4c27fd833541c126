//! Leases: one owner at a time for each row, however many nodes there are.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use carrel_model::{NodeId, SandboxId, Timestamp};
use carrel_store::{Lease, Leased, Store, StoreError};
use futures::{FutureExt, future::join_all};
use jiff::SignedDuration;

use crate::house::{House, a_node, a_sandbox, ask_for_sandbox, insert, note, on_both_databases};

on_both_databases! {
    a_row_is_never_in_two_hands_at_once,
    a_claim_takes_no_more_than_was_asked_for,
    the_rows_that_are_due_longest_are_claimed_first,
    a_row_that_is_not_due_is_not_claimed_but_can_be_asked_for,
    a_lease_that_ran_out_is_taken_over_and_its_former_owner_is_refused,
    a_heartbeat_keeps_what_is_held_and_brings_back_nothing_that_was_lost,
    a_write_does_not_shorten_a_lease_that_a_heartbeat_prolonged,
    a_write_without_a_lease_gives_it_back,
    a_sandbox_can_be_born_in_its_keepers_hands,
    people_may_change_a_row_while_a_keeper_holds_it,
    a_node_that_starts_again_gives_up_only_its_own_leases,
    a_row_at_home_on_another_node_is_left_to_it,
    the_next_row_is_due_when_its_lease_ends,
}

fn in_an_hour(store: &Store) -> Timestamp {
    store.now() + SignedDuration::from_hours(1)
}

fn an_hour_ago(store: &Store) -> Timestamp {
    store.now() - SignedDuration::from_hours(1)
}

/// Makes every row due, whatever the clocks of the nodes say.
async fn make_due(house: &House) {
    house.raw("UPDATE sandboxes SET due_at = due_at - 60000000").await.unwrap();
}

/// Writes a row under a lease. With `keep` the lease stays.
async fn write(store: &Store, id: &SandboxId, lease: &Lease, keep: bool) -> Result<(), StoreError> {
    let (id, lease) = (id.clone(), lease.clone());
    store
        .change(move |tx| {
            async move {
                let mut sandbox = tx.lock_leased(&id, &lease).await?;
                tx.update_sandbox(&mut sandbox, keep.then_some(&lease)).await
            }
            .boxed()
        })
        .await
}

async fn lease_on(store: &Store, id: &SandboxId) -> Option<Lease> {
    let id = id.clone();
    let read: Result<_, StoreError> = store
        .change(move |tx| async move { Ok(tx.lock_sandbox(&id).await?.and_then(|(_, lease)| lease)) }.boxed())
        .await;
    read.unwrap()
}

fn ids(claimed: &[Leased]) -> HashSet<SandboxId> {
    claimed.iter().map(|leased| leased.sandbox.id.clone()).collect()
}

async fn a_row_is_never_in_two_hands_at_once(house: House) {
    const ROWS: usize = 12;
    const ROUNDS: usize = 120;
    let nodes = house.nodes(3).await;
    join_all((0..ROWS).map(|_| ask_for_sandbox(&nodes[0]))).await;
    let held: Arc<Mutex<HashSet<SandboxId>>> = Arc::default();
    let done = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let keepers = (0..6).map(|n| {
        let (store, node, owner) = (nodes[n % nodes.len()].clone(), a_node(), format!("keeper {n}"));
        let (held, done) = (Arc::clone(&held), Arc::clone(&done));
        tokio::spawn(async move {
            while done.load(std::sync::atomic::Ordering::Relaxed) < ROUNDS {
                let claimed = store.sandboxes().claim(&owner, &node, in_an_hour(&store), 3).await.unwrap();
                for Leased { sandbox, .. } in &claimed {
                    assert!(held.lock().unwrap().insert(sandbox.id.clone()), "{} is in two hands", sandbox.id);
                }
                for Leased { sandbox, lease } in claimed {
                    note(&store, &sandbox.id, "at work", 1).await.unwrap();
                    held.lock().unwrap().remove(&sandbox.id);
                    // Given back, it is due again at once.
                    write(&store, &sandbox.id, &lease, false).await.unwrap();
                    done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            }
        })
    });
    for kept in join_all(keepers).await {
        kept.unwrap();
    }
}

async fn a_claim_takes_no_more_than_was_asked_for(house: House) {
    let nodes = house.nodes(3).await;
    join_all((0..40).map(|_| ask_for_sandbox(&nodes[0]))).await;
    make_due(&house).await;
    let claims = (0..9).map(|n| {
        let store = nodes[n % 3].clone();
        tokio::spawn(async move {
            let node = a_node();
            store.sandboxes().claim(&format!("keeper {n}"), &node, in_an_hour(&store), 4).await.unwrap()
        })
    });
    let mut all = HashSet::new();
    for claimed in join_all(claims).await.into_iter().map(Result::unwrap) {
        assert!(claimed.len() <= 4, "asked for 4, got {}", claimed.len());
        for id in ids(&claimed) {
            assert!(all.insert(id), "claimed twice");
        }
    }
    let rest = nodes[0].sandboxes().claim("the last", &a_node(), in_an_hour(&nodes[0]), 100).await.unwrap();
    assert_eq!(all.len() + rest.len(), 40);
    let none = nodes[0].sandboxes().claim("too late", &a_node(), in_an_hour(&nodes[0]), 100).await.unwrap();
    assert_eq!(none, []);
}

async fn the_rows_that_are_due_longest_are_claimed_first(house: House) {
    let store = house.open().await;
    let mut oldest = HashSet::new();
    for n in 0..10 {
        let sandbox = ask_for_sandbox(&store).await;
        let due = an_hour_ago(&store).as_microsecond() - if n % 2 == 0 { 1_000_000 } else { 0 };
        house.raw(&format!("UPDATE sandboxes SET due_at = {due} WHERE id = '{}'", sandbox.id)).await.unwrap();
        if n % 2 == 0 {
            oldest.insert(sandbox.id);
        }
    }
    let claimed = store.sandboxes().claim("me", &a_node(), in_an_hour(&store), 5).await.unwrap();
    assert_eq!(ids(&claimed), oldest);
}

async fn a_row_that_is_not_due_is_not_claimed_but_can_be_asked_for(house: House) {
    let store = house.open().await;
    let mut waits = a_sandbox(store.now());
    waits.next_attempt_at = Some(in_an_hour(&store));
    insert(&store, &waits).await;
    let until = in_an_hour(&store);
    assert_eq!(store.sandboxes().claim("me", &a_node(), until, 9).await.unwrap(), []);
    let asked = store.sandboxes().claim_one(&waits.id, "me", until).await.unwrap().unwrap();
    assert_eq!((asked.lease.owner.as_str(), asked.lease.until), ("me", until));
    assert_eq!(store.sandboxes().claim_one(&waits.id, "you", until).await.unwrap(), None);
    assert_eq!(store.sandboxes().claim_one(&a_sandbox(until).id, "me", until).await.unwrap(), None, "there is none");
}

async fn a_lease_that_ran_out_is_taken_over_and_its_former_owner_is_refused(house: House) {
    let nodes = house.nodes(2).await;
    let sandbox = ask_for_sandbox(&nodes[0]).await;
    make_due(&house).await;
    let slow = nodes[0].sandboxes().claim("slow", &a_node(), an_hour_ago(&nodes[0]), 1).await.unwrap().remove(0);
    let quick = nodes[1].sandboxes().claim("quick", &a_node(), in_an_hour(&nodes[1]), 1).await.unwrap().remove(0);
    assert!(quick.lease.token > slow.lease.token);

    let before = nodes[0].sandboxes().find(&sandbox.id).await.unwrap();
    let late = write(&nodes[0], &sandbox.id, &slow.lease, true).await;
    assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{late:?}");
    assert_eq!(nodes[0].sandboxes().find(&sandbox.id).await.unwrap(), before);
    write(&nodes[1], &sandbox.id, &quick.lease, true).await.unwrap();

    // The same process, taking the row a second time, is not its former self either.
    write(&nodes[1], &sandbox.id, &quick.lease, false).await.unwrap();
    let again = nodes[1].sandboxes().claim_one(&sandbox.id, "quick", in_an_hour(&nodes[1])).await.unwrap().unwrap();
    assert!(again.lease.token > quick.lease.token);
    let late = write(&nodes[1], &sandbox.id, &quick.lease, true).await;
    assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{late:?}");
}

async fn a_heartbeat_keeps_what_is_held_and_brings_back_nothing_that_was_lost(house: House) {
    let store = house.open().await;
    let (held, lost, other) =
        (ask_for_sandbox(&store).await, ask_for_sandbox(&store).await, ask_for_sandbox(&store).await);
    let (soon, later) = (in_an_hour(&store), in_an_hour(&store) + SignedDuration::from_hours(1));
    store.sandboxes().claim_one(&held.id, "me", soon).await.unwrap().unwrap();
    store.sandboxes().claim_one(&lost.id, "me", an_hour_ago(&store)).await.unwrap().unwrap();
    store.sandboxes().claim_one(&other.id, "you", soon).await.unwrap().unwrap();

    let unnamed = ask_for_sandbox(&store).await;
    store.sandboxes().claim_one(&unnamed.id, "me", soon).await.unwrap().unwrap();
    let named = [held.id.clone(), lost.id.clone(), other.id.clone()];
    assert_eq!(store.sandboxes().renew("me", &named, later).await.unwrap(), 1);
    assert_eq!(lease_on(&store, &unnamed.id).await.unwrap().until, soon, "what is not in hand runs out");
    assert_eq!(lease_on(&store, &held.id).await.unwrap().until, later);
    assert_eq!(lease_on(&store, &other.id).await.unwrap().until, soon);
    assert!(store.sandboxes().claim_one(&lost.id, "you", soon).await.unwrap().is_some());
    assert_eq!(store.sandboxes().renew("nobody", &named, later).await.unwrap(), 0);
    assert_eq!(store.sandboxes().renew("me", &[], later).await.unwrap(), 0);
}

async fn a_write_does_not_shorten_a_lease_that_a_heartbeat_prolonged(house: House) {
    let store = house.open().await;
    let sandbox = ask_for_sandbox(&store).await;
    let (soon, later) = (in_an_hour(&store), in_an_hour(&store) + SignedDuration::from_hours(1));
    // The keeper holds the lease as it was when it was taken; the heartbeat prolongs the row's.
    let claimed = store.sandboxes().claim_one(&sandbox.id, "me", soon).await.unwrap().unwrap();
    assert_eq!(store.sandboxes().renew("me", std::slice::from_ref(&sandbox.id), later).await.unwrap(), 1);
    write(&store, &sandbox.id, &claimed.lease, true).await.unwrap();
    assert_eq!(lease_on(&store, &sandbox.id).await.unwrap().until, later);
}

async fn a_write_without_a_lease_gives_it_back(house: House) {
    let store = house.open().await;
    let sandbox = ask_for_sandbox(&store).await;
    let claimed = store.sandboxes().claim_one(&sandbox.id, "me", in_an_hour(&store)).await.unwrap().unwrap();
    write(&store, &sandbox.id, &claimed.lease, false).await.unwrap();
    assert_eq!(lease_on(&store, &sandbox.id).await, None);

    let claimed = store.sandboxes().claim_one(&sandbox.id, "me", in_an_hour(&store)).await.unwrap().unwrap();
    let head = store.journal().head();
    let given_back: Result<(), StoreError> =
        store.change(move |tx| async move { tx.release_sandbox(&claimed.sandbox).await }.boxed()).await;
    given_back.unwrap();
    assert_eq!(lease_on(&store, &sandbox.id).await, None);
    assert_eq!(store.journal().head(), head, "giving back is not worth telling");
}

async fn a_sandbox_can_be_born_in_its_keepers_hands(house: House) {
    let store = house.open().await;
    let sandbox = a_sandbox(store.now());
    let lease = Lease { owner: "me".into(), token: 1, until: in_an_hour(&store) };
    let born: Result<(), StoreError> = store
        .change({
            let (sandbox, lease) = (sandbox.clone(), lease.clone());
            |tx| async move { tx.insert_sandbox(&sandbox, Some(&lease)).await }.boxed()
        })
        .await;
    born.unwrap();
    make_due(&house).await;
    assert_eq!(store.sandboxes().claim("you", &a_node(), lease.until, 9).await.unwrap(), []);
    write(&store, &sandbox.id, &lease, true).await.unwrap();
}

async fn people_may_change_a_row_while_a_keeper_holds_it(house: House) {
    let store = house.open().await;
    let sandbox = ask_for_sandbox(&store).await;
    let claimed = store.sandboxes().claim_one(&sandbox.id, "me", in_an_hour(&store)).await.unwrap().unwrap();
    note(&store, &sandbox.id, "people were here", 1).await.unwrap();
    assert_eq!(lease_on(&store, &sandbox.id).await, Some(claimed.lease.clone()));
    write(&store, &sandbox.id, &claimed.lease, true).await.unwrap();
    let now = store.sandboxes().find(&sandbox.id).await.unwrap().unwrap();
    assert_eq!((now.note.as_deref(), now.revision), (Some("people were here"), 3));
}

async fn a_node_that_starts_again_gives_up_only_its_own_leases(house: House) {
    let store = house.open().await;
    let (mine, other) = (a_node(), a_node());
    let until = in_an_hour(&store);
    let mut rows = Vec::new();
    for owner in [format!("{mine}:1"), format!("{mine}:2"), format!("{other}:1"), "somebody".into()] {
        let sandbox = ask_for_sandbox(&store).await;
        store.sandboxes().claim_one(&sandbox.id, &owner, until).await.unwrap().unwrap();
        rows.push(sandbox.id);
    }
    assert_eq!(store.sandboxes().abandon(&mine).await.unwrap(), 2);
    let mut free = Vec::new();
    for row in &rows {
        free.push(lease_on(&store, row).await.is_none());
    }
    assert_eq!(free, [true, true, false, false]);
}

async fn a_row_at_home_on_another_node_is_left_to_it(house: House) {
    let store = house.open().await;
    let (here, there) = (a_node(), a_node());
    let until = in_an_hour(&store);
    let at_home = |home: Option<&NodeId>| {
        let mut sandbox = a_sandbox(store.now());
        sandbox.home = home.cloned();
        sandbox
    };
    let (ours, theirs, anywhere) = (at_home(Some(&here)), at_home(Some(&there)), at_home(None));
    for sandbox in [&ours, &theirs, &anywhere] {
        insert(&store, sandbox).await;
    }
    make_due(&house).await;
    let claimed = store.sandboxes().claim("me", &here, until, 9).await.unwrap();
    assert_eq!(ids(&claimed), HashSet::from([ours.id, anywhere.id]));
    assert_eq!(store.sandboxes().next_due(&here).await.unwrap(), Some(until), "what is not ours is not waited for");
    assert_eq!(ids(&store.sandboxes().claim("you", &there, until, 9).await.unwrap()), HashSet::from([theirs.id]));
}

async fn the_next_row_is_due_when_its_lease_ends(house: House) {
    let store = house.open().await;
    let node = a_node();
    assert_eq!(store.sandboxes().next_due(&node).await.unwrap(), None);
    let sandbox = ask_for_sandbox(&store).await;
    let due = store.sandboxes().next_due(&node).await.unwrap().unwrap();
    assert!(due <= store.now());
    let until = in_an_hour(&store);
    store.sandboxes().claim_one(&sandbox.id, "me", until).await.unwrap().unwrap();
    assert_eq!(store.sandboxes().next_due(&node).await.unwrap(), Some(until));
}
