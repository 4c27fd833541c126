//! Listing sandboxes: page by page, while others come and go.

use std::collections::HashSet;

use carrel_model::{
    SandboxId,
    sandbox::{Phase, Sandbox},
};
use carrel_store::{Filter, Store, StoreError};
use futures::FutureExt;
use jiff::SignedDuration;

use crate::house::{House, a_sandbox, ask_for_sandbox, insert, on_both_databases, read_until, sandbox_in};

on_both_databases! {
    pages_visit_each_sandbox_once_while_others_are_born,
    a_list_is_newest_first,
    a_list_is_filtered_by_what_sandboxes_are,
    what_is_gone_is_listed_only_when_asked_for,
    what_a_list_does_not_show_yet_comes_after_its_cursor,
    a_sandbox_comes_back_as_it_was_written,
}

async fn move_to(store: &Store, id: &SandboxId, phase: Phase) {
    let id = id.clone();
    let moved: Result<(), StoreError> = store
        .change(move |tx| {
            async move {
                let (mut sandbox, _) = tx.lock_sandbox(&id).await?.expect("the test wrote it");
                sandbox.phase = phase;
                tx.update_sandbox(&mut sandbox, None).await
            }
            .boxed()
        })
        .await;
    moved.unwrap();
}

async fn pages_visit_each_sandbox_once_while_others_are_born(house: House) {
    let nodes = house.nodes(2).await;
    let first = nodes[0].now();
    let mut there = HashSet::new();
    for n in 0..30 {
        // Ten at a time are born at the same moment.
        let sandbox = a_sandbox(first + SignedDuration::from_millis(n / 10));
        insert(&nodes[0], &sandbox).await;
        there.insert(sandbox.id);
    }
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let born = tokio::spawn({
        let store = nodes[1].clone();
        async move {
            while stopped.try_recv().is_err() {
                insert(&store, &a_sandbox(first + SignedDuration::from_secs(60))).await;
            }
        }
    });
    let mut visited = HashSet::new();
    let mut filter = Filter::default();
    loop {
        let (page, _) = nodes[0].sandboxes().list(&filter, 4).await.unwrap();
        let Some(last) = page.last() else { break };
        filter.before = Some((last.created_at, last.id.clone()));
        for sandbox in page {
            assert!(visited.insert(sandbox.id), "visited twice");
        }
        // One more is born between any two pages, whatever the other writer does.
        insert(&nodes[0], &a_sandbox(first + SignedDuration::from_secs(60))).await;
    }
    stop.send(()).unwrap();
    born.await.unwrap();
    assert!(visited.is_superset(&there));
}

async fn a_list_is_newest_first(house: House) {
    let store = house.open().await;
    let first = store.now();
    let mut expected = Vec::new();
    for second in [3, 1, 2] {
        let sandbox = a_sandbox(first + SignedDuration::from_secs(second));
        insert(&store, &sandbox).await;
        expected.push(sandbox);
    }
    expected.sort_by_key(|sandbox| std::cmp::Reverse(sandbox.created_at));
    assert_eq!(store.sandboxes().list(&Filter::default(), 9).await.unwrap().0, expected);
    assert_eq!(store.sandboxes().list(&Filter::default(), 2).await.unwrap().0, expected[..2]);
}

async fn a_list_is_filtered_by_what_sandboxes_are(house: House) {
    let store = house.open().await;
    let mut special = a_sandbox(store.now());
    special.spec.provider = "local".parse().unwrap();
    special.spec.template = "debian:12".parse().unwrap();
    special.spec.agent_id = Some("builder".parse().unwrap());
    special.spec.task_id = Some(7.try_into().unwrap());
    insert(&store, &special).await;
    let plain = ask_for_sandbox(&store).await;
    let all = Filter::default();
    let ours = [
        Filter { provider: Some("local".parse().unwrap()), ..all.clone() },
        Filter { template: Some("debian:12".parse().unwrap()), ..all.clone() },
        Filter { agent: Some("builder".parse().unwrap()), ..all.clone() },
        Filter { task: Some(7.try_into().unwrap()), ..all.clone() },
        Filter { id: Some(special.id.clone()), ..all.clone() },
        Filter {
            provider: Some("local".parse().unwrap()),
            task: Some(7.try_into().unwrap()),
            phase: Some(Phase::Requested),
            ..all.clone()
        },
    ];
    for filter in ours {
        assert_eq!(list(&store, &filter).await, [special.clone()], "{filter:?}");
    }
    let none = Filter { provider: Some("fake".parse().unwrap()), task: Some(7.try_into().unwrap()), ..all.clone() };
    assert_eq!(list(&store, &none).await, []);
    let fake = Filter { provider: Some("fake".parse().unwrap()), ..all };
    assert_eq!(list(&store, &fake).await, [plain]);
}

async fn list(store: &Store, filter: &Filter) -> Vec<Sandbox> {
    store.sandboxes().list(filter, 9).await.unwrap().0
}

async fn what_is_gone_is_listed_only_when_asked_for(house: House) {
    let store = house.open().await;
    let (lives, gone) = (ask_for_sandbox(&store).await, ask_for_sandbox(&store).await);
    move_to(&store, &gone.id, Phase::Gone).await;
    assert_eq!(list(&store, &Filter::default()).await, [lives]);
    let listed = list(&store, &Filter { phase: Some(Phase::Gone), ..Default::default() }).await;
    assert_eq!(listed.into_iter().map(|sandbox| sandbox.id).collect::<Vec<_>>(), [gone.id]);
    assert_eq!(store.sandboxes().count().await.unwrap(), [(Phase::Requested, 1)]);
}

async fn what_a_list_does_not_show_yet_comes_after_its_cursor(house: House) {
    let nodes = house.nodes(2).await;
    let writing = tokio::spawn({
        let store = nodes[1].clone();
        async move {
            for _ in 0..30 {
                ask_for_sandbox(&store).await;
            }
        }
    });
    // A page and what follows it are everything, whenever the page was asked for.
    let (page, cursor) = nodes[0].sandboxes().list(&Filter::default(), 100).await.unwrap();
    writing.await.unwrap();
    let end = nodes[0].journal().span().await.unwrap().head;
    let followed = read_until(&mut nodes[0].journal().follow(cursor), end).await;
    let known: HashSet<_> = page.into_iter().map(|sandbox| sandbox.id).collect();
    let told: HashSet<_> = followed.iter().map(|entry| sandbox_in(entry).id.clone()).collect();
    assert_eq!(known.union(&told).count(), 30);
}

async fn a_sandbox_comes_back_as_it_was_written(house: House) {
    let store = house.open().await;
    let mut sandbox = a_sandbox(store.now());
    sandbox.spec.env = serde_json::from_value(serde_json::json!({"TOKEN": "s3cret \u{1f511}"})).unwrap();
    sandbox.spec.metadata = serde_json::from_value(serde_json::json!({"for": "\"quotes\" and 'more'"})).unwrap();
    sandbox.note = Some("it's".into());
    sandbox.ready_at = Some(store.now());
    sandbox.home = Some(crate::house::a_node());
    sandbox.attempts = 3;
    insert(&store, &sandbox).await;
    assert_eq!(store.sandboxes().find(&sandbox.id).await.unwrap(), Some(sandbox.clone()));
    let (told,): (i64,) = house.numbers("SELECT count(*) FROM journal WHERE body LIKE '%s3cret%'").await;
    assert_eq!(told, 0, "the environment is never told");
}
