//! Keys, one-time links and the visits of browsers.

use carrel_model::{Authority, Timestamp, key::Key};
use carrel_store::{SignInKind, Store, StoreError};
use futures::{FutureExt, future::join_all};
use jiff::SignedDuration;

use crate::house::{House, a_key_id, on_both_databases};

on_both_databases! {
    a_key_is_found_by_the_hash_of_its_secret_and_comes_back_whole,
    a_link_that_is_used_twice_at_once_works_once,
    a_link_that_ran_out_does_not_work,
    a_link_is_not_a_visit,
    a_rotated_key_ends_its_visits_and_links_and_its_old_secret,
    a_revoked_key_ends_its_visits_and_links,
    signing_in_while_the_key_is_revoked_leaves_no_visit,
    two_admins_who_revoke_each_other_do_not_both_succeed,
    keys_are_listed_newest_first_each_once,
    being_shown_is_remembered_and_not_told,
    sign_ins_that_are_over_are_forgotten,
}

fn a_key(store: &Store, authority: Authority) -> Key {
    Key {
        id: a_key_id(),
        name: "somebody".into(),
        authority,
        prefix: "crl_abcdef".into(),
        created_at: store.now(),
        created_by: None,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
        revision: 1,
    }
}

/// Mints a key; the hash of its secret is its id.
async fn mint(store: &Store, key: &Key) {
    let key = key.clone();
    let minted: Result<(), StoreError> =
        store.change(move |tx| async move { tx.insert_key(&key, key.id.as_str()).await }.boxed()).await;
    minted.unwrap();
}

async fn a_minted_key(store: &Store) -> Key {
    let key = a_key(store, Authority::Admin);
    mint(store, &key).await;
    key
}

async fn sign_in(store: &Store, key: &Key, hash: &str, kind: SignInKind, until: Timestamp) {
    let (id, hash) = (key.id.clone(), hash.to_owned());
    let done: Result<(), StoreError> =
        store.change(move |tx| async move { tx.insert_sign_in(&hash, &id, kind, until).await }.boxed()).await;
    done.unwrap();
}

async fn take(store: &Store, hash: &str, kind: SignInKind) -> Option<Key> {
    let hash = hash.to_owned();
    let taken: Result<_, StoreError> =
        store.change(move |tx| async move { tx.take_sign_in(&hash, kind).await }.boxed()).await;
    taken.unwrap()
}

/// Uses a link as a browser does: takes it, and begins a visit.
async fn visit(store: &Store, link: &str, visit: &str) -> Result<bool, StoreError> {
    let (link, visit, until) = (link.to_owned(), visit.to_owned(), soon(store));
    store
        .change(move |tx| {
            async move {
                let Some(key) = tx.take_sign_in(&link, SignInKind::Link).await? else { return Ok(false) };
                tx.insert_sign_in(&visit, &key.id, SignInKind::Visit, until).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
}

async fn revoke(store: &Store, key: &Key) -> Result<(), StoreError> {
    let id = key.id.clone();
    store
        .change(move |tx| {
            async move {
                let mut key = tx.lock_key(&id).await?.expect("the test minted it");
                tx.revoke_key(&mut key).await
            }
            .boxed()
        })
        .await
}

fn soon(store: &Store) -> Timestamp {
    store.now() + SignedDuration::from_hours(1)
}

async fn a_key_is_found_by_the_hash_of_its_secret_and_comes_back_whole(house: House) {
    let store = house.open().await;
    for authority in [
        Authority::Admin,
        Authority::Member,
        Authority::Agent("builder".parse().unwrap()),
        Authority::Sandbox("i2345678901234567890".parse().unwrap()),
    ] {
        let mut key = a_key(&store, authority);
        key.created_by = Some(a_key_id());
        key.expires_at = Some(soon(&store));
        mint(&store, &key).await;
        assert_eq!(store.keys().find_by_hash(key.id.as_str()).await.unwrap(), Some(key.clone()));
        assert_eq!(store.keys().find(&key.id).await.unwrap(), Some(key));
    }
    assert_eq!(store.keys().find_by_hash("another").await.unwrap(), None);
}

async fn a_link_that_is_used_twice_at_once_works_once(house: House) {
    let nodes = house.nodes(3).await;
    let key = a_minted_key(&nodes[0]).await;
    for round in 0..10 {
        let link = format!("link {round}");
        sign_in(&nodes[0], &key, &link, SignInKind::Link, soon(&nodes[0])).await;
        let taken = join_all((0..6).map(|n| take(&nodes[n % 3], &link, SignInKind::Link))).await;
        let taken: Vec<Key> = taken.into_iter().flatten().collect();
        assert_eq!(taken, std::slice::from_ref(&key), "round {round}");
    }
}

async fn a_link_that_ran_out_does_not_work(house: House) {
    let store = house.open().await;
    let key = a_minted_key(&store).await;
    sign_in(&store, &key, "old", SignInKind::Link, store.now()).await;
    assert_eq!(take(&store, "old", SignInKind::Link).await, None);
    sign_in(&store, &key, "visit", SignInKind::Visit, store.now()).await;
    assert_eq!(store.keys().find_by_visit("visit").await.unwrap(), None);
}

async fn a_link_is_not_a_visit(house: House) {
    let store = house.open().await;
    let key = a_minted_key(&store).await;
    sign_in(&store, &key, "link", SignInKind::Link, soon(&store)).await;
    assert_eq!(store.keys().find_by_visit("link").await.unwrap(), None);
    assert_eq!(take(&store, "link", SignInKind::Visit).await, None);
    assert!(visit(&store, "link", "visit").await.unwrap());
    assert_eq!(store.keys().find_by_visit("visit").await.unwrap(), Some(key));
    assert_eq!(take(&store, "visit", SignInKind::Link).await, None);
}

async fn a_rotated_key_ends_its_visits_and_links_and_its_old_secret(house: House) {
    let store = house.open().await;
    let (key, other) = (a_minted_key(&store).await, a_minted_key(&store).await);
    for (key, name) in [(&key, "ours"), (&other, "theirs")] {
        sign_in(&store, key, &format!("{name} visit"), SignInKind::Visit, soon(&store)).await;
        sign_in(&store, key, &format!("{name} link"), SignInKind::Link, soon(&store)).await;
    }
    let rotated: Result<Key, StoreError> = store
        .change({
            let id = key.id.clone();
            |tx| {
                async move {
                    let mut key = tx.lock_key(&id).await?.expect("the test minted it");
                    key.prefix = "crl_fedcba".into();
                    tx.rotate_key(&mut key, "new hash").await?;
                    Ok(key)
                }
                .boxed()
            }
        })
        .await;
    let rotated = rotated.unwrap();
    assert_eq!((rotated.prefix.as_str(), rotated.revision), ("crl_fedcba", 2));
    assert_eq!(store.keys().find_by_hash(key.id.as_str()).await.unwrap(), None);
    assert_eq!(store.keys().find_by_hash("new hash").await.unwrap(), Some(rotated));
    assert_eq!(store.keys().find_by_visit("ours visit").await.unwrap(), None);
    assert_eq!(take(&store, "ours link", SignInKind::Link).await, None);
    assert_eq!(store.keys().find_by_visit("theirs visit").await.unwrap(), Some(other.clone()));
    assert_eq!(take(&store, "theirs link", SignInKind::Link).await, Some(other));
}

async fn a_revoked_key_ends_its_visits_and_links(house: House) {
    let store = house.open().await;
    let key = a_minted_key(&store).await;
    sign_in(&store, &key, "visit", SignInKind::Visit, soon(&store)).await;
    sign_in(&store, &key, "link", SignInKind::Link, soon(&store)).await;
    revoke(&store, &key).await.unwrap();
    assert_eq!(store.keys().find_by_visit("visit").await.unwrap(), None);
    assert_eq!(take(&store, "link", SignInKind::Link).await, None);
    let revoked = store.keys().find_by_hash(key.id.as_str()).await.unwrap().unwrap();
    assert!(!revoked.is_good_at(store.now()));
}

async fn signing_in_while_the_key_is_revoked_leaves_no_visit(house: House) {
    let nodes = house.nodes(3).await;
    for round in 0..if house.is_postgres() { 40 } else { 10 } {
        let key = a_minted_key(&nodes[0]).await;
        for n in 0..4 {
            sign_in(&nodes[0], &key, &format!("link {round} {n}"), SignInKind::Link, soon(&nodes[0])).await;
        }
        let visits = join_all((0..4).map(|n| {
            let (store, link, name) = (nodes[n % 3].clone(), format!("link {round} {n}"), format!("visit {round} {n}"));
            tokio::spawn(async move { visit(&store, &link, &name).await })
        }));
        let (visits, revoked) = tokio::join!(visits, revoke(&nodes[2], &key));
        revoked.unwrap();
        for visited in visits {
            visited.unwrap().unwrap();
        }
        for n in 0..4 {
            assert_eq!(nodes[0].keys().find_by_visit(&format!("visit {round} {n}")).await.unwrap(), None);
        }
    }
}

async fn two_admins_who_revoke_each_other_do_not_both_succeed(house: House) {
    let nodes = house.nodes(2).await;
    let keys = [a_minted_key(&nodes[0]).await, a_minted_key(&nodes[0]).await];
    let revocations = (0..2).map(|n| {
        let (store, id) = (nodes[n].clone(), keys[n].id.clone());
        async move {
            let done: Result<bool, StoreError> = store
                .change(move |tx| {
                    async move {
                        let mut admins = tx.lock_admins(None).await?;
                        if admins.len() < 2 {
                            return Ok(false);
                        }
                        let key = admins.iter_mut().find(|key| key.id == id).expect("the test minted it");
                        tx.revoke_key(key).await?;
                        Ok(true)
                    }
                    .boxed()
                })
                .await;
            done.unwrap()
        }
    });
    let done = join_all(revocations).await;
    assert_eq!(done.iter().filter(|done| **done).count(), 1, "somebody must be left");
}

async fn keys_are_listed_newest_first_each_once(house: House) {
    let store = house.open().await;
    let mut minted = Vec::new();
    let first = store.now();
    for n in 0..11 {
        // Some at the same moment.
        let key = Key { created_at: first + SignedDuration::from_secs(n / 3), ..a_key(&store, Authority::Member) };
        mint(&store, &key).await;
        minted.push(key);
    }
    let (mut listed, mut before) = (Vec::<Key>::new(), None);
    loop {
        let page = store.keys().list(before, 4).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some((last.created_at, last.id.clone()));
        listed.extend(page);
    }
    minted.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
    assert_eq!(listed, minted);
}

async fn being_shown_is_remembered_and_not_told(house: House) {
    let nodes = house.nodes(2).await;
    let keys = join_all((0..6).map(|_| a_minted_key(&nodes[0]))).await;
    let head = nodes[0].journal().span().await.unwrap().head;
    let at = nodes[0].now();
    // Two nodes remember the same keys in different orders, often enough to meet.
    for _ in 0..20 {
        let used: Vec<_> = keys.iter().map(|key| (key.id.clone(), at)).collect();
        let backwards = used.iter().rev().cloned().collect();
        let (one, two) = (nodes[0].clone(), nodes[1].clone());
        let (one, two) = tokio::join!(
            tokio::spawn(async move { one.keys().touch(used).await }),
            tokio::spawn(async move { two.keys().touch(backwards).await }),
        );
        one.unwrap().unwrap();
        two.unwrap().unwrap();
    }
    assert_eq!(nodes[0].keys().find(&keys[0].id).await.unwrap().unwrap().last_used_at, Some(at));
    assert_eq!(nodes[0].journal().span().await.unwrap().head, head);
}

async fn sign_ins_that_are_over_are_forgotten(house: House) {
    let store = house.open().await;
    let key = a_minted_key(&store).await;
    sign_in(&store, &key, "over", SignInKind::Visit, store.now()).await;
    sign_in(&store, &key, "good", SignInKind::Visit, soon(&store)).await;
    assert_eq!(store.keys().forget_sign_ins().await.unwrap(), 1);
    assert_eq!(store.keys().find_by_visit("good").await.unwrap(), Some(key));
}
