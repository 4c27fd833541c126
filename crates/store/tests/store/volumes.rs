//! Volumes, and secrets for requests on their way out.

use carrel_model::{
    VolumeId,
    sandbox::VolumeMount,
    volume::{OutboundSecret, Volume},
};
use carrel_store::{SealedValue, Store, StoreError};
use futures::FutureExt;

use crate::house::{House, a_key_id, a_sandbox, insert, on_both_databases};

on_both_databases! {
    a_volume_comes_back_whole_and_its_name_is_its_own,
    a_volume_that_a_sandbox_has_is_known_to_be_used,
    a_volume_on_its_way_out_is_found_by_nobody_but_whoever_finishes_it,
    a_secret_counts_its_values_and_is_found_by_both_names,
}

fn a_volume(store: &Store, number: u8, name: &str) -> Volume {
    Volume {
        id: VolumeId::from_random([number; 8]),
        name: name.parse().unwrap(),
        provider: "local".parse().unwrap(),
        home: "node_0000000000000001".parse().unwrap(),
        removed: false,
        created_by: a_key_id(),
        created_at: store.now(),
    }
}

fn sealed(text: &str) -> SealedValue {
    SealedValue { sealed_by: "print".into(), bytes: text.as_bytes().to_vec() }
}

async fn write(store: &Store, volume: &Volume) -> bool {
    let volume = volume.clone();
    let written: Result<bool, StoreError> =
        store.change(move |tx| async move { tx.insert_volume(&volume, &sealed("token")).await }.boxed()).await;
    written.unwrap()
}

async fn a_volume_comes_back_whole_and_its_name_is_its_own(house: House) {
    let store = house.open().await;
    let volume = a_volume(&store, 1, "data");
    assert!(write(&store, &volume).await);
    assert!(!write(&store, &a_volume(&store, 2, "data")).await, "the name is taken");
    assert_eq!(store.volumes().find(&volume.id).await.unwrap(), Some((volume.clone(), sealed("token"))));
    assert_eq!(store.volumes().find_named(&volume.name).await.unwrap(), Some(volume.clone()));
    assert_eq!(store.volumes().list().await.unwrap(), [volume]);
    store.close().await;
}

async fn a_volume_that_a_sandbox_has_is_known_to_be_used(house: House) {
    let store = house.open().await;
    let (one, two) = (a_volume(&store, 1, "one"), a_volume(&store, 2, "two"));
    write(&store, &one).await;
    write(&store, &two).await;
    let mut sandbox = a_sandbox(store.now());
    let path = "/data".to_owned().try_into().unwrap();
    sandbox.spec.volumes = vec![VolumeMount { volume: one.id.clone(), name: one.name.clone(), path }];
    insert(&store, &sandbox).await;
    let (first, second) = (one.id.clone(), two.id.clone());
    let users: Result<_, StoreError> = store
        .change(move |tx| {
            async move { Ok((tx.user_of_volume(&first).await?, tx.user_of_volume(&second).await?)) }.boxed()
        })
        .await;
    assert_eq!(users.unwrap(), (Some(sandbox.id), None));
    store.close().await;
}

async fn a_volume_on_its_way_out_is_found_by_nobody_but_whoever_finishes_it(house: House) {
    let store = house.open().await;
    let volume = a_volume(&store, 1, "data");
    write(&store, &volume).await;
    let id = volume.id.clone();
    let done: Result<(), StoreError> =
        store.change(move |tx| async move { tx.dismiss_volume(&id).await }.boxed()).await;
    done.unwrap();
    assert!(store.volumes().list().await.unwrap().is_empty());
    assert_eq!(store.volumes().find_named(&volume.name).await.unwrap(), None);
    assert!(write(&store, &a_volume(&store, 2, "data")).await, "its name is free");
    let leaving: Vec<_> = store.volumes().leaving().await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(leaving, std::slice::from_ref(&volume.id));
    let id = volume.id.clone();
    let done: Result<(), StoreError> = store.change(move |tx| async move { tx.forget_volume(&id).await }.boxed()).await;
    done.unwrap();
    assert!(store.volumes().leaving().await.unwrap().is_empty());
    store.close().await;
}

async fn a_secret_counts_its_values_and_is_found_by_both_names(house: House) {
    let store = house.open().await;
    let (now, key) = (store.now(), a_key_id());
    let metadata = [("a".to_owned(), "b".to_owned())].into();
    let secret =
        OutboundSecret { id: "id".into(), name: "name".into(), metadata, version: 1, created_at: now, updated_at: now };
    let (written, by) = (secret.clone(), key.clone());
    let done: Result<_, StoreError> = store
        .change(move |tx| {
            async move {
                let first = tx.insert_outbound(&written, &sealed("one"), &by).await?;
                let other = OutboundSecret { id: "other".into(), ..written };
                Ok((first, tx.insert_outbound(&other, &sealed("x"), &by).await?))
            }
            .boxed()
        })
        .await;
    assert_eq!(done.unwrap(), (true, false), "a name is one secret's");
    for key in ["id", "name"] {
        assert_eq!(store.outbound_secrets().find(key).await.unwrap(), Some((secret.clone(), sealed("one"))));
    }
    let written = secret.clone();
    let updated: Result<_, StoreError> =
        store.change(move |tx| async move { tx.update_outbound(&written, &sealed("two"), &key).await }.boxed()).await;
    assert_eq!(updated.unwrap().unwrap().version, 2);
    assert_eq!(store.outbound_secrets().find("name").await.unwrap().unwrap().1, sealed("two"));
    assert_eq!(store.outbound_secrets().list("", 10).await.unwrap().len(), 1);
    assert!(store.outbound_secrets().list("name", 10).await.unwrap().is_empty());
    let gone: Result<bool, StoreError> = store.change(|tx| async move { tx.remove_outbound("id").await }.boxed()).await;
    assert!(gone.unwrap());
    store.close().await;
}
