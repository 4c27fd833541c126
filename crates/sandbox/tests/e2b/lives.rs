//! What E2B is told of a sandbox, and how its life goes on there.

use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Depth, Network, NetworkMode, Spec},
};
use carrel_sandbox::{
    Forking, Pausing, Provider, ProviderError, Sighting, Templating,
    contract::usual_spec,
    providers::e2b::{Config, E2b},
};
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::cluster::{Cluster, Habits};

fn id() -> SandboxId {
    SandboxId::from_random([7; 16])
}

async fn spec(provider: &E2b) -> Spec {
    usual_spec(provider).await
}

#[tokio::test]
async fn e2b_is_told_whose_a_sandbox_is_and_to_let_nobody_in() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let mut spec = spec(&provider).await;
    spec.env.insert("TOKEN".to_owned().try_into().unwrap(), "hunter2".to_owned().try_into().unwrap());
    spec.metadata = std::collections::BTreeMap::from([("team".to_owned(), "a & b".to_owned())]).try_into().unwrap();
    spec.template = "host".parse().unwrap();
    provider.create(&id(), &spec).await.unwrap();
    let asked = cluster.only(&id()).asked;
    assert_eq!(asked["metadata"], json!({"team": "a & b", "carrel_id": id().as_str(), "carrel_house": "house1"}));
    assert_eq!(asked["envVars"]["TOKEN"], "hunter2");
    assert_eq!(asked["templateID"], "base", "by the map of names");
    assert_eq!((&asked["autoPause"], &asked["secure"]), (&json!(true), &json!(true)));
    assert_eq!(asked["allow_internet_access"], json!(false));
    assert_eq!(asked["network"], json!({"allowPublicTraffic": false, "denyOut": ["0.0.0.0/0"]}));
    assert_eq!(asked["timeout"], json!(180), "its minute, and a little slack");
}

#[tokio::test]
async fn an_allow_list_goes_along_and_a_port_in_it_is_refused() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let mut spec = spec(&provider).await;
    let allow = |hosts: &[&str]| Network {
        mode: NetworkMode::Allow,
        allow: hosts.iter().map(|host| host.to_string().try_into().unwrap()).collect(),
        ..Network::default()
    };
    spec.network = allow(&["example.org:443"]);
    let refused = provider.create(&id(), &spec).await;
    assert!(matches!(&refused, Err(ProviderError::Unfit { why }) if why.contains("`example.org`")), "{refused:?}");
    spec.network = allow(&["example.org", "*.example.net"]);
    provider.create(&id(), &spec).await.unwrap();
    let asked = cluster.only(&id()).asked;
    assert_eq!(asked["network"]["allowOut"], json!(["example.org", "*.example.net"]));
    assert_eq!(asked["network"]["denyOut"], json!(["0.0.0.0/0"]));
    assert_eq!(asked["allow_internet_access"], json!(true));
}

#[tokio::test]
async fn a_lease_is_prolonged_while_it_is_wanted_and_only_when_it_is_time() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let mut spec = spec(&provider).await;
    spec.lifetime = carrel_model::sandbox::Lifetime::new(86_400).unwrap();
    provider.create(&id(), &spec).await.unwrap();
    let hour = SignedDuration::from_hours(1);
    let tomorrow = Timestamp::now() + hour * 24;
    provider.prolong(&[(id(), tomorrow)]).await.unwrap();
    assert_eq!(cluster.asked("POST /sandboxes"), 0, "it has an hour");
    // Most of the hour has passed; the sweep's list shows it.
    cluster.ledger().sandboxes.values_mut().for_each(|it| it.end_at = Timestamp::now() + hour / 6);
    provider.list().await.unwrap();
    provider.prolong(&[(id(), tomorrow)]).await.unwrap();
    assert!(cluster.only(&id()).end_at > Timestamp::now() + SignedDuration::from_mins(59));
    provider.prolong(&[(id(), tomorrow)]).await.unwrap();
    assert_eq!(cluster.asked("POST /sandboxes"), 1, "once is enough");
    // What nobody wants is left to fall asleep.
    cluster.ledger().sandboxes.values_mut().for_each(|it| it.end_at = Timestamp::now() + hour / 6);
    provider.list().await.unwrap();
    provider.prolong(&[]).await.unwrap();
    assert_eq!(cluster.asked("POST /sandboxes"), 1);
}

#[tokio::test]
async fn a_sandbox_that_fell_asleep_by_itself_comes_back_as_it_was() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    provider.create(&id(), &spec(&provider).await).await.unwrap();
    cluster.ledger().sandboxes.values_mut().for_each(|it| (it.state, it.pause_mode) = ("paused", Some("full")));
    assert_eq!(provider.list().await.unwrap(), [(id(), Sighting::Paused)]);
    let asleep = provider.endpoint(&id()).await.err();
    assert!(matches!(asleep, Some(ProviderError::Unavailable { .. })), "nobody is woken by a look: {asleep:?}");
    assert_eq!(provider.resume(&id()).await, Ok(Depth::Stored));
    assert_eq!(provider.inspect(&id()).await, Ok(Sighting::Running));
}

#[tokio::test]
async fn a_sandbox_can_sleep_as_files_alone_where_the_cluster_can() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    provider.create(&id(), &spec(&provider).await).await.unwrap();
    assert_eq!(provider.pause(&id(), Depth::Files).await, Ok(Depth::Files));
    assert_eq!(cluster.provider().resume(&id()).await, Ok(Depth::Files), "also after a restart of ours");
    cluster.ledger().habits = Habits { no_files_only_pause: true, ..Habits::default() };
    assert_eq!(provider.pause(&id(), Depth::Files).await, Ok(Depth::Stored), "as deep as it can");
    assert_eq!(provider.pause(&id(), Depth::Files).await, Ok(Depth::Stored), "and it never comes up for it");
}

#[tokio::test]
async fn after_a_restart_the_way_in_is_asked_for_once() {
    let cluster = Cluster::open().await;
    let spec = spec(&cluster.provider()).await;
    cluster.provider().create(&id(), &spec).await.unwrap();
    let restarted = cluster.provider();
    let before = cluster.only(&id()).end_at;
    for _ in 0..3 {
        let endpoint = restarted.endpoint(&id()).await.unwrap();
        let token = endpoint.token.unwrap();
        assert!(token.expose_secret().starts_with("token-of-i"), "the token that envd wants");
        assert!(!format!("{token:?}").contains("token-of"));
    }
    assert_eq!(cluster.asked("POST /v2/sandboxes/"), 1);
    assert_eq!(cluster.only(&id()).end_at, before, "a look does not prolong it");
    let lost = restarted.endpoint(&SandboxId::from_random([8; 16])).await.err();
    assert_eq!(lost, Some(ProviderError::Lost));
}

#[tokio::test]
async fn what_it_uses_is_the_newest_that_was_measured() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    provider.create(&id(), &spec(&provider).await).await.unwrap();
    let usage = provider.usage(&id()).await.unwrap();
    assert_eq!((usage.memory_bytes, usage.cache_bytes, usage.disk_bytes), (Some(210), Some(10), Some(7)));
}

#[tokio::test]
async fn a_snapshot_is_a_template_of_this_house_and_goes_when_it_is_forgotten() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    let mut spec = spec(&provider).await;
    provider.create(&id(), &spec).await.unwrap();
    let name: TemplateName = "snapshot/before.the/change".parse().unwrap();
    let made = provider.snapshot(&id(), &name, true).await.unwrap();
    assert_eq!((&made.name, made.memory), (&name, true));
    provider.snapshot(&id(), &name, true).await.unwrap();
    assert_eq!(cluster.asked("POST /sandboxes/i0000000000000000001/snapshots"), 1, "a second time finds it made");
    provider.renew(&id(), &name, true).await.unwrap();
    assert_eq!(cluster.asked("POST /sandboxes/i0000000000000000001/snapshots"), 2, "a new version is asked for");
    assert!(cluster.provider().probe().await.unwrap().templates.contains(&name));
    let neighbour = cluster.provider_of("house2");
    assert!(!neighbour.probe().await.unwrap().templates.contains(&name));
    assert!(neighbour.templates().await.unwrap().is_empty());

    spec.template = name.clone();
    let fork = SandboxId::from_random([9; 16]);
    provider.create(&fork, &spec).await.unwrap();
    assert_eq!(cluster.only(&fork).asked["templateID"], "team/carrel-house1-before_dthe_schange:default");
    provider.forget(&name).await.unwrap();
    provider.forget(&name).await.unwrap();
    assert!(cluster.ledger().snapshots.is_empty());
    assert!(matches!(provider.forget(&"base".parse().unwrap()).await, Err(ProviderError::Unfit { .. })));
    let gone = provider.create(&SandboxId::from_random([10; 16]), &spec).await;
    assert!(matches!(gone, Err(ProviderError::Unfit { .. })), "{gone:?}");
}

#[tokio::test]
async fn an_orphan_of_this_house_goes_a_day_after_it_fell_asleep() {
    let cluster = Cluster::open().await;
    let provider = cluster.provider();
    provider.create(&id(), &spec(&provider).await).await.unwrap();
    let age = |state: &'static str, hours: i64| {
        let end_at = Timestamp::now() - SignedDuration::from_hours(hours);
        cluster.ledger().sandboxes.values_mut().for_each(|it| (it.state, it.end_at) = (state, end_at));
    };
    for (state, hours) in [("running", 0), ("running", 100), ("paused", 1), ("paused", 23)] {
        age(state, hours);
        assert_eq!(provider.reap(&id()).await, Ok(false), "{state} for {hours} hours");
    }
    age("paused", 25);
    assert_eq!(cluster.provider_of("house2").reap(&id()).await, Ok(false), "it is not another house's");
    assert_eq!(provider.reap(&id()).await, Ok(true));
    assert!(cluster.ledger().sandboxes.is_empty());
}

#[tokio::test]
async fn without_a_good_key_nothing_is_offered_and_everything_says_why() {
    let cluster = Cluster::open().await;
    let spec = spec(&cluster.provider()).await;
    let without = Config { api_key: None, ..cluster.config("house1") }.build().unwrap();
    let asked = cluster.ledger().questions.len();
    let fitness = without.probe().await.unwrap();
    assert!(fitness.isolation.is_empty() && fitness.missing[0].contains("E2B_API_KEY"), "{fitness:?}");
    assert_eq!(without.list().await, Ok(Vec::new()));
    let refused = without.create(&id(), &spec).await;
    assert!(matches!(&refused, Err(ProviderError::Unfit { why }) if why.contains("E2B_API_KEY")), "{refused:?}");
    assert_eq!(cluster.ledger().questions.len(), asked, "nobody is asked without a key");

    let wrong = Config { api_key: Some("e2b_bad".to_owned().into()), ..cluster.config("house1") }.build().unwrap();
    let fitness = wrong.probe().await.unwrap();
    assert!(fitness.isolation.is_empty() && fitness.missing[0].contains("does not accept"), "{fitness:?}");
    let refused = wrong.create(&id(), &spec).await;
    assert!(matches!(&refused, Err(ProviderError::Unfit { why }) if why.contains("API key")), "{refused:?}");
    for told in [format!("{:?}", cluster.config("house1")), format!("{fitness:?} {refused:?}")] {
        assert!(!told.contains("e2b_0011") && !told.contains("e2b_bad"), "{told}");
    }
}
