//! Panics: a bug of ours or of a provider's costs one request or one try, never the house.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use async_trait::async_trait;
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Phase, Spec, Usage},
};
use carrel_sandbox::{Endpoint, Fitness, Pausing, Provider, ProviderError, Reach, Sighting, providers::fake::Fake};
use carrel_testkit::{House, Setup, TestDatabase, on_both_databases};
use reqwest::Method;
use serde_json::json;

use crate::{refused, traces};

/// A provider that panics when it is told to.
struct Fragile {
    fake: Arc<Fake>,
    mood: Arc<Mood>,
}

#[derive(Default)]
struct Mood {
    /// So many of the steps of a sandbox's life panic, then they work.
    steps: AtomicU32,
    /// Looking around panics.
    looks: AtomicBool,
    /// Panics in the handler that asks.
    reach: AtomicBool,
    panics: AtomicU32,
}

impl Mood {
    fn step(&self) {
        let left = self.steps.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        self.panic_if(left.is_ok());
    }
    fn look(&self) {
        self.panic_if(self.looks.load(Ordering::SeqCst));
    }
    fn panic_if(&self, so: bool) {
        if so {
            self.panics.fetch_add(1, Ordering::SeqCst);
            panic!("a secret of the provider");
        }
    }
}

#[async_trait]
impl Provider for Fragile {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.mood.look();
        self.fake.probe().await
    }
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        self.mood.step();
        self.fake.create(id, spec).await
    }
    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        self.mood.look();
        self.fake.inspect(id).await
    }
    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        self.mood.look();
        self.fake.list().await
    }
    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.mood.step();
        self.fake.destroy(id).await
    }
    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        self.fake.endpoint(id).await
    }
    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        self.fake.usage(id).await
    }
    fn reach(&self) -> Reach {
        self.mood.panic_if(self.mood.reach.load(Ordering::SeqCst));
        self.fake.reach()
    }
    fn pausing(&self) -> Option<&dyn Pausing> {
        Some(self)
    }
}

#[async_trait]
impl Pausing for Fragile {
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        self.mood.step();
        self.fake.pause(id, depth).await
    }
    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError> {
        self.mood.step();
        self.fake.resume(id).await
    }
}

async fn fragile_house(database: &TestDatabase) -> (House, Arc<Mood>) {
    let mood = Arc::<Mood>::default();
    let told = Arc::clone(&mood);
    let around = Box::new(move |fake| Arc::new(Fragile { fake, mood: Arc::clone(&told) }) as Arc<dyn Provider>);
    (House::build(database, Setup { around, ..Setup::default() }).await, mood)
}

on_both_databases! {
    async fn a_handler_that_panics_costs_one_request(database: TestDatabase) {
        let (house, mood) = fragile_house(&database).await;
        let before = traces(&house).await;
        mood.reach.store(true, Ordering::SeqCst);
        for request in [house.request(Method::GET, "/api/v1/providers"), house.request(Method::POST, "/api/v1/sandboxes")] {
            let problem = refused(500, request).await;
            assert!(!problem.to_string().contains("secret"), "{problem}");
        }
        mood.reach.store(false, Ordering::SeqCst);
        assert_eq!(mood.panics.load(Ordering::SeqCst), 2);
        assert_eq!(traces(&house).await, before);
        house.ready_sandbox().await;
        house.close().await;
        database.drop().await;
    }

    async fn a_provider_that_panics_is_tried_again(database: TestDatabase) {
        let (house, mood) = fragile_house(&database).await;
        for _ in 0..3 {
            mood.steps.store(2, Ordering::SeqCst);
            let sandbox = house.ready_sandbox().await;
            for (verb, phase) in [("pause", "paused"), ("resume", "ready")] {
                mood.steps.store(2, Ordering::SeqCst);
                let path = format!("/api/v1/sandboxes/{}/{verb}?wait={phase}&timeout=600", sandbox.id);
                let (status, view) = house.ask(house.request(Method::POST, &path)).await;
                assert_eq!((status.as_u16(), &view["phase"]), (200, &json!(phase)));
            }
            mood.steps.store(2, Ordering::SeqCst);
            house.request(Method::DELETE, &format!("/api/v1/sandboxes/{}", sandbox.id)).send().await.unwrap();
            house.until(&sandbox, Phase::Gone).await;
        }
        assert_eq!(mood.panics.load(Ordering::SeqCst), 24);
        house.close().await;
        database.drop().await;
    }

    async fn a_provider_that_always_panics_fails_the_sandbox_and_opens_its_breaker(database: TestDatabase) {
        let (house, mood) = fragile_house(&database).await;
        let mut events = house.events("?kind=provider").await;
        mood.steps.store(u32::MAX, Ordering::SeqCst);
        let request = house.request(Method::POST, "/api/v1/sandboxes?wait=failed&timeout=600");
        let (status, view) = house.ask(request).await;
        assert_eq!((status.as_u16(), &view["phase"]), (201, &json!("failed")), "{view}");
        assert!(!view.to_string().contains("secret"), "{view}");
        let opened = serde_json::to_value(events.entry().await).unwrap();
        assert_eq!(opened["provider"]["breaker"]["state"], "open");
        mood.steps.store(0, Ordering::SeqCst);
        house.ready_sandbox().await;
        house.close().await;
        database.drop().await;
    }

    async fn the_sweep_outlives_a_provider_that_panics(database: TestDatabase) {
        let (house, mood) = fragile_house(&database).await;
        let sandbox = house.ready_sandbox().await;
        mood.looks.store(true, Ordering::SeqCst);
        while mood.panics.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        mood.looks.store(false, Ordering::SeqCst);
        // Somebody takes it away behind our back: the sweep must still be there to see it.
        house.fake.destroy(&sandbox.id).await.unwrap();
        let failed = house.until(&sandbox, Phase::Failed).await;
        assert_eq!(failed.note.as_deref(), Some("Its provider no longer has it."));
        house.close().await;
        database.drop().await;
    }
}
