//! Requests that may be repeated.

use carrel_model::{KeyId, SandboxId, Timestamp};
use carrel_store::{Seen, Store, StoreError};
use futures::{FutureExt, future::join_all};

use crate::house::{House, a_key_id, a_sandbox, on_both_databases};

on_both_databases! {
    the_same_request_twice_at_once_makes_one_thing,
    the_same_key_for_another_request_is_noticed,
    a_request_that_failed_may_be_made_again,
    keys_of_different_bearers_do_not_meet,
    an_old_request_is_forgotten,
}

/// What a door does: remember the request, and make the thing when it is new.
async fn create(store: &Store, bearer: &KeyId, key: &str, fingerprint: &str) -> (Seen, SandboxId) {
    let sandbox = a_sandbox(store.now());
    let id = sandbox.id.clone();
    let (bearer, key, fingerprint) = (bearer.clone(), key.to_owned(), fingerprint.to_owned());
    let seen: Result<Seen, StoreError> = store
        .change(move |tx| {
            async move {
                let seen = tx.remember(&bearer, &key, &fingerprint, sandbox.id.as_str()).await?;
                if seen == Seen::Never {
                    tx.insert_sandbox(&sandbox, None).await?;
                }
                Ok(seen)
            }
            .boxed()
        })
        .await;
    (seen.unwrap(), id)
}

async fn the_same_request_twice_at_once_makes_one_thing(house: House) {
    let nodes = house.nodes(3).await;
    let bearer = a_key_id();
    for round in 0..5 {
        let key = format!("round {round}");
        let asked = join_all((0..9).map(|n| create(&nodes[n % 3], &bearer, &key, "the same"))).await;
        let made: Vec<&SandboxId> = asked.iter().filter(|(seen, _)| *seen == Seen::Never).map(|(_, id)| id).collect();
        assert_eq!(made.len(), 1);
        let before = Seen::Before { subject: made[0].to_string() };
        assert_eq!(asked.iter().filter(|(seen, _)| *seen == before).count(), 8);
    }
    let (rows, head): (i64, i64) = house.numbers("SELECT (SELECT count(*) FROM sandboxes), head FROM ledger").await;
    assert_eq!((rows, head), (5, 5));
}

async fn the_same_key_for_another_request_is_noticed(house: House) {
    let store = house.open().await;
    let bearer = a_key_id();
    assert_eq!(create(&store, &bearer, "k", "one").await.0, Seen::Never);
    assert_eq!(create(&store, &bearer, "k", "two").await.0, Seen::Otherwise);
    assert!(matches!(create(&store, &bearer, "k", "one").await.0, Seen::Before { .. }));
}

async fn a_request_that_failed_may_be_made_again(house: House) {
    let store = house.open().await;
    let bearer = a_key_id();
    let failed: Result<(), StoreError> = store
        .change({
            let bearer = bearer.clone();
            |tx| {
                async move {
                    tx.remember(&bearer, "k", "one", "nothing").await?;
                    Err(StoreError::Busy)
                }
                .boxed()
            }
        })
        .await;
    assert!(failed.is_err());
    assert_eq!(create(&store, &bearer, "k", "one").await.0, Seen::Never);
}

async fn keys_of_different_bearers_do_not_meet(house: House) {
    let store = house.open().await;
    assert_eq!(create(&store, &a_key_id(), "k", "one").await.0, Seen::Never);
    assert_eq!(create(&store, &a_key_id(), "k", "two").await.0, Seen::Never);
}

async fn an_old_request_is_forgotten(house: House) {
    let store = house.open().await;
    let bearer = a_key_id();
    create(&store, &bearer, "k", "one").await;
    assert_eq!(store.forget_requests(Timestamp::UNIX_EPOCH).await.unwrap(), 0);
    assert_eq!(store.forget_requests(Timestamp::MAX).await.unwrap(), 1);
    assert_eq!(create(&store, &bearer, "k", "two").await.0, Seen::Never);
}
