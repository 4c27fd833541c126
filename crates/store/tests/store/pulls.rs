//! Merge lanes, pulls as they were seen, and bases.

use carrel_model::{RepoName, public::PullView};
use carrel_store::{PullFilter, Store, StoreError};
use futures::{FutureExt, future::join_all};
use jiff::SignedDuration;
use serde_json::json;

use crate::{
    house::{House, on_both_databases},
    redis::Redis,
};

on_both_databases! {
    a_lane_has_one_holder_and_one_who_comes_back_late_is_recognised,
    a_lane_in_redis_has_one_holder_and_one_who_comes_back_late_is_recognised,
    a_redis_that_forgets_everything_makes_nobody_wrong,
    a_rate_is_counted_over_all_nodes,
    a_sandbox_that_was_seen_is_remembered_as_newly_as_anybody_saw_it,
    a_word_is_new_once_however_many_hear_it_at_once,
    what_is_merged_stays_merged_and_what_says_nothing_new_is_not_told,
    a_base_is_told_of_once_for_each_move,
}

async fn a_lane_in_redis_has_one_holder_and_one_who_comes_back_late_is_recognised(mut house: House) {
    let redis = Redis::start().await;
    house.options.redis = Some(redis.url());
    a_lane_has_one_holder_and_one_who_comes_back_late_is_recognised(house).await;
}

async fn a_redis_that_forgets_everything_makes_nobody_wrong(mut house: House) {
    let mut redis = Redis::start().await;
    house.options.redis = Some(redis.url());
    let nodes = house.nodes(2).await;
    let until = nodes[0].now() + SignedDuration::from_secs(60);
    let first = nodes[0].lanes().take("app/main", "node_a:1", until).await.unwrap().unwrap();
    assert!(nodes[1].lanes().take("app/main", "node_b:1", until).await.unwrap().is_none());
    redis.restart(std::time::Duration::ZERO).await;
    // Whoever asks while it is away hears so; whoever asks then finds the lane free.
    let second = loop {
        match nodes[1].lanes().take("app/main", "node_b:1", until).await {
            Ok(Some(lane)) => break lane,
            Ok(None) => panic!("it remembers"),
            Err(StoreError::Redis { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(second.token > first.token, "the database knows how far it was");
    // Both believe that they hold it, and one of them is right.
    assert!(!holds(&nodes[0], &first).await && holds(&nodes[1], &second).await);
    // Its line broke with the old one; the next is a new one.
    let still = loop {
        match nodes[0].lanes().prolong(&first, until).await {
            Err(StoreError::Redis { .. }) => {}
            told => break told.unwrap(),
        }
    };
    assert!(!still);
}

async fn a_rate_is_counted_over_all_nodes(mut house: House) {
    let redis = Redis::start().await;
    house.options.redis = Some(redis.url());
    let nodes = house.nodes(2).await;
    let mut let_in = 0;
    let wait = loop {
        match nodes[let_in % 2].redis().unwrap().admit("key_a", 1, 10).await.unwrap() {
            None => let_in += 1,
            Some(wait) => break wait,
        }
        assert!(let_in < 100, "nobody counts");
    };
    assert!((10..=12).contains(&let_in), "{let_in}");
    assert!(wait <= std::time::Duration::from_secs(1), "{wait:?}");
    assert_eq!(nodes[0].redis().unwrap().admit("key_b", 1, 10).await.unwrap(), None, "another key, another count");
}

async fn a_sandbox_that_was_seen_is_remembered_as_newly_as_anybody_saw_it(mut house: House) {
    let redis = Redis::start().await;
    house.options.redis = Some(redis.url());
    let nodes = house.nodes(2).await;
    let sandbox = crate::house::a_sandbox(nodes[0].now());
    let mut view = carrel_model::public::SandboxView::from(&sandbox);
    assert_eq!(nodes[0].remembered(&view.id).await, None);
    view.revision = 5;
    nodes[0].remember_view(&std::sync::Arc::new(view.clone()));
    while nodes[1].remembered(&view.id).await.is_none() {}
    // Somebody who read it earlier comes later.
    let mut older = view.clone();
    (older.revision, older.note) = (4, Some("old".into()));
    nodes[1].remember_view(&std::sync::Arc::new(older));
    let mut newer = view.clone();
    newer.revision = 6;
    nodes[1].remember_view(&std::sync::Arc::new(newer.clone()));
    while nodes[0].remembered(&view.id).await.map(|seen| seen.revision) != Some(6) {}
    assert_eq!(nodes[0].remembered(&view.id).await, Some(newer));
}

async fn a_lane_has_one_holder_and_one_who_comes_back_late_is_recognised(house: House) {
    let nodes = house.nodes(3).await;
    let until = nodes[0].now() + SignedDuration::from_secs(60);
    let owners = ["node_a:1", "node_b:1", "node_c:1"];
    let taken = join_all((0..3).map(|n| {
        let (node, owner) = (nodes[n].clone(), owners[n]);
        async move { node.lanes().take("app/main", owner, until).await }
    }))
    .await;
    let mut held: Vec<_> = taken.into_iter().filter_map(|taken| taken.unwrap()).collect();
    assert_eq!(held.len(), 1, "{held:?}");
    let first = held.remove(0);
    let sandbox = "abcdefghij0123456789".parse().unwrap();
    assert!(nodes[0].lanes().note_sandbox(&first, Some(&sandbox)).await.unwrap());
    // Its holder was not heard of: its lease has run out.
    assert!(nodes[0].lanes().prolong(&first, nodes[0].now() - SignedDuration::from_secs(1)).await.unwrap());
    let second = loop {
        if let Some(lane) = nodes[1].lanes().take("app/main", "node_b:2", until).await.unwrap() {
            break lane;
        }
    };
    assert!(second.token > first.token);
    assert_eq!(second.left_behind, Some(sandbox), "whoever comes after a crash knows what to tidy up");
    assert!(!nodes[0].lanes().prolong(&first, until).await.unwrap());
    assert!(!holds(&nodes[0], &first).await && holds(&nodes[1], &second).await);
    nodes[0].lanes().leave(&first).await.unwrap();
    assert!(
        nodes[2].lanes().take("app/main", "node_c:2", until).await.unwrap().is_none(),
        "it was not his to give back"
    );
    assert!(
        nodes[2].lanes().take("app/other", "node_c:2", until).await.unwrap().is_some(),
        "another base, another lane"
    );
    nodes[1].lanes().leave_all_of("node_b").await.unwrap();
    assert!(nodes[2].lanes().take("app/main", "node_c:2", until).await.unwrap().is_some());
}

async fn holds(store: &Store, lane: &carrel_store::Lane) -> bool {
    let lane = lane.clone();
    let asked: Result<bool, StoreError> =
        store.change(move |tx| async move { tx.holds_lane(&lane).await }.boxed()).await;
    asked.unwrap()
}

fn app() -> RepoName {
    "app".parse().unwrap()
}

fn pull(phase: &str) -> PullView {
    serde_json::from_value(json!({
        "repo": "app", "number": 7, "forge": "embedded", "url": "/x", "title": "feat: x", "body": "", "author": "carrel",
        "task_id": null, "head": "task-1", "head_commit": "c".repeat(40), "base": "main", "phase": phase, "draft": false,
        "labels": [], "reviewers": [], "auto_merge": null, "checks": null, "verdict": null, "merge_commit": null,
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "revision": 0,
    }))
    .unwrap()
}

async fn see(store: &Store, seen: PullView) -> PullView {
    let written: Result<PullView, StoreError> =
        store.change(move |tx| async move { tx.see_pull(seen, Vec::new()).await }.boxed()).await;
    written.unwrap()
}

async fn a_word_is_new_once_however_many_hear_it_at_once(house: House) {
    let nodes = house.nodes(3).await;
    let hear = |store: Store, version: &'static str| async move {
        let heard: Result<bool, StoreError> =
            store.change(move |tx| async move { tx.hear(&app(), 7, "comment 1", version).await }.boxed()).await;
        heard.unwrap()
    };
    for version in ["first", "changed"] {
        let heard = join_all((0..9).map(|n| hear(nodes[n % 3].clone(), version))).await;
        assert_eq!(heard.into_iter().filter(|heard| *heard).count(), 1, "{version}");
    }
    assert_eq!(nodes[0].seen_pulls().heard(&app(), 7).await.unwrap()["comment 1"], "changed");
}

async fn what_is_merged_stays_merged_and_what_says_nothing_new_is_not_told(house: House) {
    let store = house.open().await;
    let first = see(&store, pull("open")).await;
    assert_eq!(see(&store, pull("open")).await.revision, first.revision);
    let merged = see(&store, pull("merged")).await;
    assert_eq!(see(&store, pull("open")).await, merged, "who looked earlier writes later");
    let head = store.journal().head();
    see(&store, pull("merged")).await;
    assert_eq!(store.journal().head(), head);
    let open = PullFilter { over: Some(false), ..PullFilter::default() };
    assert_eq!(store.seen_pulls().list(&open, 10).await.unwrap(), vec![]);
    let of_it = PullFilter { repo: Some(app()), head: Some("task-1".parse().unwrap()), ..PullFilter::default() };
    assert_eq!(store.seen_pulls().list(&of_it, 10).await.unwrap(), vec![merged]);
}

async fn a_base_is_told_of_once_for_each_move(house: House) {
    let nodes = house.nodes(3).await;
    let (one, two) = ("a".repeat(40).parse().unwrap(), "b".repeat(40).parse().unwrap());
    let main: carrel_model::Branch = "main".parse().unwrap();
    let watched: Result<(), StoreError> = {
        let (main, one) = (main.clone(), carrel_model::CommitId::clone(&one));
        nodes[0].change(move |tx| async move { tx.watch_base(&app(), &main, Some(&one)).await }.boxed()).await
    };
    watched.unwrap();
    let step = carrel_model::public::BaseView {
        repo: app(),
        branch: main.clone(),
        commit: Some(two),
        before: Some(one),
        rewritten: false,
    };
    let tell = |store: Store, base: carrel_model::public::BaseView| async move {
        let told: Result<bool, StoreError> =
            store.change(move |tx| async move { tx.move_base(base).await }.boxed()).await;
        told.unwrap()
    };
    let told = join_all((0..9).map(|n| tell(nodes[n % 3].clone(), step.clone()))).await;
    assert_eq!(told.into_iter().filter(|told| *told).count(), 1);
    assert_eq!(nodes[1].seen_pulls().bases(&app()).await.unwrap(), vec![(main, step.commit)]);
}
