//! A cluster that is slow, full, forgetful or away.

use std::time::Duration;

use carrel_model::SandboxId;
use carrel_sandbox::{Pausing, Provider, ProviderError, Sighting, contract::usual_spec};
use serde_json::json;

use crate::cluster::{Cluster, Habits, Mood};

fn id() -> SandboxId {
    SandboxId::from_random([7; 16])
}

#[tokio::test]
async fn what_passes_by_itself_is_asked_again() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let spec = usual_spec(&provider).await;
    for status in [503, 502, 504] {
        cluster.refuse("POST /v2/sandboxes", status, json!({"code": status, "message": "busy"}));
    }
    provider.create(&id(), &spec).await.unwrap();
    cluster.only(&id());
    cluster.refuse("GET /sandboxes/", 503, json!({"code": 503, "message": "busy"}));
    assert_eq!(provider.inspect(&id()).await, Ok(Sighting::Running));
}

#[tokio::test]
async fn an_answer_that_is_lost_makes_no_second_sandbox() {
    for forgets in [false, true] {
        // Also where the cluster does not remember the names of questions: the sandbox is looked for before each try.
        let cluster = Cluster::with(Habits { forgets_names_of_questions: forgets, ..Habits::default() }).await;
        let provider = cluster.provider();
        let spec = usual_spec(&provider).await;
        let lost = Mood { status: 502, headers: vec![], body: json!("<html>"), after_the_work: true };
        cluster.mood("POST /v2/sandboxes", lost);
        provider.create(&id(), &spec).await.unwrap();
        cluster.only(&id());
        provider.endpoint(&id()).await.unwrap();
    }
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_a_quota_is_told() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let spec = usual_spec(&provider).await;
    let body = json!({"code": 429, "message": "Rate limit exceeded"});
    let rate =
        |after| Mood { status: 429, headers: vec![("retry-after", after)], body: body.clone(), after_the_work: false };
    cluster.mood("POST /v2/sandboxes", rate("0"));
    provider.create(&id(), &spec).await.unwrap();
    provider.destroy(&id()).await.unwrap();

    cluster.mood("POST /v2/sandboxes", rate("3600"));
    let throttled = provider.create(&SandboxId::from_random([8; 16]), &spec).await;
    let hour = Some(Duration::from_secs(3600));
    assert!(matches!(&throttled, Err(ProviderError::Throttled { after, .. }) if *after == hour), "{throttled:?}");

    let full = "you have reached the maximum number of concurrent E2B sandboxes (20)";
    cluster.refuse("POST /v2/sandboxes", 429, json!({"code": 429, "message": full}));
    let asked = cluster.asked("POST /v2/sandboxes");
    let exhausted = provider.create(&SandboxId::from_random([9; 16]), &spec).await;
    assert!(matches!(&exhausted, Err(ProviderError::Exhausted { why }) if why.contains("20")), "{exhausted:?}");
    assert_eq!(cluster.asked("POST /v2/sandboxes"), asked + 1, "a quota is not asked for again at once");
}

#[tokio::test]
async fn a_cluster_that_is_away_is_unavailable_and_loses_nothing() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let spec = usual_spec(&provider).await;
    let mut config = cluster.config("house1");
    config.api_url = Some("http://127.0.0.1:9".into());
    let away = config.build().unwrap();
    for told in [
        away.inspect(&id()).await.err(),
        away.list().await.err(),
        away.create(&id(), &spec).await.err(),
        away.destroy(&id()).await.err(),
        away.pause(&id(), Default::default()).await.err(),
        away.probe().await.err(),
    ] {
        assert!(
            matches!(&told, Some(ProviderError::Unavailable { why }) if why.contains("does not answer")),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn a_key_does_not_follow_a_redirect() {
    let cluster = Cluster::open().await;
    let away = Mood {
        status: 307,
        headers: vec![("location", "http://127.0.0.1:9/elsewhere")],
        body: json!({}),
        after_the_work: false,
    };
    cluster.mood("GET /v2/sandboxes", away);
    let refused = cluster.provider().list().await;
    assert!(matches!(&refused, Err(ProviderError::Unavailable { why }) if why.contains("307")), "{refused:?}");
}

#[tokio::test]
async fn of_doubles_the_eldest_stays() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    provider.create(&id(), &usual_spec(&provider).await).await.unwrap();
    let double = cluster.only(&id());
    cluster.ledger().sandboxes.insert("i9double".into(), double);
    assert_eq!(cluster.provider().list().await.unwrap().len(), 1);
    cluster.only(&id());
    assert!(!cluster.ledger().sandboxes.contains_key("i9double"));

    let double = cluster.only(&id());
    cluster.ledger().sandboxes.insert("i9double".into(), double);
    provider.destroy(&id()).await.unwrap();
    assert!(cluster.ledger().sandboxes.is_empty(), "destroying it ends its doubles too");
}

#[tokio::test]
async fn a_pause_that_somebody_else_did_is_done() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    provider.create(&id(), &usual_spec(&provider).await).await.unwrap();
    let late = Mood {
        status: 409,
        headers: vec![],
        body: json!({"code": 409, "message": "already paused"}),
        after_the_work: true,
    };
    cluster.mood("POST /sandboxes/", late);
    provider.pause(&id(), Default::default()).await.unwrap();
    assert_eq!(provider.inspect(&id()).await, Ok(Sighting::Paused));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_is_called_off_is_found_by_whoever_ends_it() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let spec = usual_spec(&provider).await;
    for _ in 0..20 {
        let id = id();
        let creating = provider.create(&id, &spec);
        // Called off at whatever moment the destroying takes its first step.
        drop(futures::poll!(std::pin::pin!(creating)));
        provider.destroy(&id).await.unwrap();
    }
    assert_eq!(provider.list().await.unwrap(), []);
    assert!(cluster.ledger().sandboxes.is_empty());
}

#[tokio::test]
async fn a_sandbox_that_ended_behind_our_back_is_missing() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    provider.create(&id(), &usual_spec(&provider).await).await.unwrap();
    cluster.ledger().sandboxes.clear();
    assert_eq!(provider.inspect(&id()).await, Ok(Sighting::Missing));
    assert_eq!(provider.pause(&id(), Default::default()).await, Err(ProviderError::Lost));
    assert_eq!(provider.usage(&id()).await, Err(ProviderError::Lost));
    provider.destroy(&id()).await.unwrap();
}
