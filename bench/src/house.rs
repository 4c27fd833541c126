//! A house as `carrel serve` opens it: SQLite, the fake provider, numbers and log, but no rate limit.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::post,
};
use carrel_control::{Control, KeysDesk, Patience, Retention, Settings};
use carrel_model::{
    NodeId, TaskId,
    number::Cpus,
    public::Defaults,
    sandbox,
    task::{TaskPhase, TaskWant},
};
use carrel_sandbox::{Provider, Reach, providers::fake};
use carrel_store::{Database, Options, Store, StoreError};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::{Outcome, server};

/// Serves a house in a folder of its own.
pub(crate) async fn serve() -> Outcome<()> {
    let (_, parent_is_gone) = server::hear_parent()?;
    tracing_subscriber::fmt().with_env_filter(EnvFilter::new("warn")).with_writer(std::io::stderr).init();
    let folder = tempfile::Builder::new().prefix("carrel-bench-house.").tempdir()?;
    let store = Store::open(&Options::new(Database::Sqlite(folder.path().join("carrel.db")))).await?;
    let fake = fake::Config { folder: folder.path().join("fake"), create_takes: Duration::ZERO, reach: Reach::Node };
    let fake: Arc<dyn Provider> = Arc::new(fake.build()?);
    let control = Control::open(store.clone(), [("fake".parse()?, fake)], settings(folder.path())?).await?;
    let key = KeysDesk::draw_secret();
    control.keys().adopt_admin(&key, "bench").await?;
    let options = carrel_api::Options {
        requests_per_second: None,
        burst: NonZeroU32::MIN,
        cookie: "carrel_bench".into(),
        secure: false,
        public_authority: None,
        sandbox_domain: None,
        interpreter: None,
        node_authority: None,
        metrics: Some(record_numbers()?),
    };
    let doors = carrel_api::router(control.clone(), options);
    let doors = doors.merge(Router::new().route("/bench/live/{count}", post(make_live)).with_state(store));
    let served = server::serve(doors, &key.reveal(), parent_is_gone).await;
    let _ = tokio::time::timeout(Duration::from_secs(2), control.close()).await;
    served
}

/// The first cards are under way, each as if its agent had finished a turn: what a bench needs that is about hundreds of
/// them, and not about agents. `carrel serve` has no such door.
async fn make_live(State(store): State<Store>, Path(count): Path<i64>) -> StatusCode {
    let made = store.change(move |tx| {
        Box::pin(async move {
            for id in (1..=count).filter_map(|id| TaskId::try_from(id).ok()) {
                let Some((mut task, _)) = tx.lock_task(id).await? else { continue };
                task.go_to(TaskPhase::InReview);
                task.want = TaskWant::Review;
                tx.put_task(&mut task).await?;
            }
            Ok::<_, StoreError>(())
        })
    });
    if made.await.is_ok() { StatusCode::NO_CONTENT } else { StatusCode::INTERNAL_SERVER_ERROR }
}

/// The defaults of `carrel serve`.
fn settings(folder: &std::path::Path) -> Outcome<Settings> {
    let limits = sandbox::Limits {
        cpus: Cpus::new(2.0).expect("in range"),
        memory_mb: sandbox::MemoryMb::new(2048).expect("in range"),
        disk_mb: sandbox::DiskMb::new(10_240).expect("in range"),
        pids: sandbox::Pids::new(1024).expect("in range"),
    };
    let lifetime = sandbox::Lifetime::new(3600).expect("in range");
    Ok(Settings {
        node: NodeId::from_random([7; 8]),
        address: "http://127.0.0.1".into(),
        defaults: Defaults { template: "host".parse()?, provider: "fake".parse()?, lifetime, limits },
        patience: Patience::default(),
        retention: Retention::default(),
        work: carrel_control::Workload::default(),
        steps_at_once: 64,
        transcript_cap: Settings::TRANSCRIPT_CAP,
        library: folder.join("library"),
        shared_library: None,
        scratch: folder.join("scratch"),
        tools: folder.join("tools.yaml"),
        keychain: carrel_vault::Keychain::new(vec![carrel_vault::MasterKey::draw()]).expect("there is a key"),
        models: carrel_control::Models::default(),
        notices: carrel_control::Notices::default(),
        private_hooks: false,
    })
}

fn record_numbers() -> Outcome<PrometheusHandle> {
    let steps = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
    let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &steps)?;
    let handle = builder.install_recorder()?;
    let upkeep = handle.clone();
    tokio::spawn(async move {
        let mut round = tokio::time::interval(Duration::from_secs(5));
        loop {
            round.tick().await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}
