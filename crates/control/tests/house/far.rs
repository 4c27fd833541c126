//! Providers that are far away: they throttle, have quotas, and let sandboxes fall asleep that nobody prolongs.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use carrel_model::{
    SandboxId, Timestamp,
    public::{BreakerState, NewSandbox},
    sandbox::{Phase, Spec, Usage},
};
use carrel_sandbox::{Endpoint, Fitness, Pausing, Provider, ProviderError, Reach, Sighting, providers::fake::Fake};
use carrel_testkit::{House, Setup, on_both_databases};

/// A fake that is far away.
struct Far {
    fake: Arc<Fake>,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What the next creations are answered.
    refusals: Mutex<Vec<ProviderError>>,
    creations: AtomicU32,
    prolonged: Mutex<HashSet<(SandboxId, Timestamp)>>,
    /// Sandboxes that it would end if no row knew them.
    forsaken: Mutex<HashSet<SandboxId>>,
}

#[async_trait]
impl Provider for Far {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.fake.probe().await
    }
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        self.seen.creations.fetch_add(1, Ordering::SeqCst);
        let refusal = self.seen.refusals.lock().unwrap().pop();
        match refusal {
            Some(refusal) => Err(refusal),
            None => self.fake.create(id, spec).await,
        }
    }
    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        self.fake.inspect(id).await
    }
    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        self.fake.list().await
    }
    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.fake.destroy(id).await
    }
    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        self.fake.endpoint(id).await
    }
    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        self.fake.usage(id).await
    }
    async fn prolong(&self, wanted: &[(SandboxId, Timestamp)]) -> Result<(), ProviderError> {
        *self.seen.prolonged.lock().unwrap() = wanted.iter().cloned().collect();
        Ok(())
    }
    async fn reap(&self, id: &SandboxId) -> Result<bool, ProviderError> {
        let ends = self.seen.forsaken.lock().unwrap().contains(id);
        if ends {
            self.fake.destroy(id).await?;
        }
        Ok(ends)
    }
    fn reach(&self) -> Reach {
        self.fake.reach()
    }
    fn pausing(&self) -> Option<&dyn Pausing> {
        self.fake.pausing()
    }
}

fn setup(seen: &Arc<Seen>) -> Setup {
    let seen = Arc::clone(seen);
    let around = Box::new(move |fake| Arc::new(Far { fake, seen: Arc::clone(&seen) }) as Arc<dyn Provider>);
    Setup { around, ..Setup::default() }
}

async fn ask(house: &House) -> Arc<carrel_model::public::SandboxView> {
    house.control.sandboxes().create(&house.admin, NewSandbox::default(), None).await.unwrap().sandbox
}

fn throttled(after: Option<Duration>) -> ProviderError {
    ProviderError::Throttled { why: "too many requests".into(), after }
}

on_both_databases! {
    async fn a_rate_limit_is_waited_for_and_is_nobodys_failure(database: TestDatabase) {
        let seen = Arc::new(Seen::default());
        let mut setup = setup(&seen);
        setup.patience.tries = 3;
        let house = House::build(&database, setup).await;
        // More often than a provider that fails is asked.
        *seen.refusals.lock().unwrap() = vec![throttled(None); 8];
        let made = ask(&house).await;
        let waiting = house.until_it(&made, |view| view.attempts > 0 || view.phase == Phase::Ready).await;
        assert_ne!(waiting.phase, Phase::Failed);
        house.until(&made, Phase::Ready).await;
        assert_eq!(seen.creations.load(Ordering::SeqCst), 9);
        assert_eq!(house.control.readiness().await.providers[0].breaker.state, BreakerState::Closed);
        house.close().await;
        database.drop().await;
    }

    async fn who_is_told_when_to_come_back_comes_back_then(database: TestDatabase) {
        let seen = Arc::new(Seen::default());
        let house = House::build(&database, setup(&seen)).await;
        *seen.refusals.lock().unwrap() = vec![throttled(Some(Duration::from_secs(1800)))];
        let made = ask(&house).await;
        let waiting = house.until_it(&made, |view| view.next_attempt_at.is_some()).await;
        let pause = waiting.next_attempt_at.unwrap().duration_since(waiting.updated_at);
        assert!(pause.as_secs() > 1700, "{pause:?}, and not after the 50 ms that a failure would have waited");
        assert!(waiting.note.unwrap().contains("too many requests"));
        house.close().await;
        database.drop().await;
    }

    async fn a_quota_that_stays_used_up_is_told_as_the_reason(database: TestDatabase) {
        let seen = Arc::new(Seen::default());
        let mut setup = setup(&seen);
        setup.patience.tries = 4;
        let house = House::build(&database, setup).await;
        *seen.refusals.lock().unwrap() = vec![ProviderError::Exhausted { why: "20 of 20 sandboxes run".into() }; 50];
        let made = ask(&house).await;
        let failed = house.until(&made, Phase::Failed).await;
        assert!(failed.note.unwrap().contains("20 of 20"));
        assert_eq!(seen.creations.load(Ordering::SeqCst), 4);
        assert_eq!(house.control.readiness().await.providers[0].breaker.state, BreakerState::Closed);
        house.control.sandboxes().destroy(&house.admin, &made.id).await.unwrap();
        house.until(&made, Phase::Gone).await;
        house.close().await;
        database.drop().await;
    }

    async fn the_desk_of_a_task_waits_for_room_however_often_there_is_none(database: TestDatabase) {
        let seen = Arc::new(Seen::default());
        let mut setup = setup(&seen);
        setup.patience.tries = 4;
        let house = House::build(&database, setup).await;
        // More often than anybody else is tried.
        *seen.refusals.lock().unwrap() = vec![ProviderError::Exhausted { why: "20 of 20 sandboxes run".into() }; 12];
        let new = NewSandbox { task_id: Some(carrel_model::TaskId::try_from(1).unwrap()), ..NewSandbox::default() };
        let made = house.control.sandboxes().create(&house.admin, new, None).await.unwrap().sandbox;
        let waiting = house.until_it(&made, |view| view.attempts > 4 || view.phase == Phase::Failed).await;
        assert!(waiting.note.as_ref().unwrap().contains("20 of 20"), "{waiting:?}");
        house.until(&made, Phase::Ready).await;
        assert_eq!(seen.creations.load(Ordering::SeqCst), 13);
        house.control.sandboxes().destroy(&house.admin, &made.id).await.unwrap();
        house.until(&made, Phase::Gone).await;
        house.close().await;
        database.drop().await;
    }

    async fn who_is_wanted_awake_is_prolonged_until_the_end_of_its_life(database: TestDatabase) {
        let seen = Arc::new(Seen::default());
        let house = House::build(&database, setup(&seen)).await;
        let (one, two) = (ask(&house).await, ask(&house).await);
        let one = house.until(&one, Phase::Ready).await;
        house.until(&two, Phase::Ready).await;
        house.control.sandboxes().pause(&house.admin, &two.id, Default::default()).await.unwrap();
        house.until(&two, Phase::Paused).await;
        let expected = HashSet::from([(one.id.clone(), one.expires_at.unwrap())]);
        until(|| *seen.prolonged.lock().unwrap() == expected).await;
        house.control.sandboxes().destroy(&house.admin, &one.id).await.unwrap();
        house.until(&one, Phase::Gone).await;
        until(|| seen.prolonged.lock().unwrap().is_empty()).await;
        house.control.sandboxes().destroy(&house.admin, &two.id).await.unwrap();
        house.until(&two, Phase::Gone).await;
        house.close().await;
        database.drop().await;
    }

    async fn an_orphan_is_ended_only_by_a_provider_that_can_tell(database: TestDatabase) {
        let seen = Arc::new(Seen::default());
        let house = House::build(&database, setup(&seen)).await;
        let spec = carrel_sandbox::contract::usual_spec(&*house.fake).await;
        let (kept, forsaken) = (SandboxId::from_random([1; 16]), SandboxId::from_random([2; 16]));
        house.fake.create(&kept, &spec).await.unwrap();
        house.fake.create(&forsaken, &spec).await.unwrap();
        seen.forsaken.lock().unwrap().insert(forsaken.clone());
        while house.fake.inspect(&forsaken).await != Ok(Sighting::Missing) {
            tokio::task::yield_now().await;
        }
        assert_eq!(house.fake.inspect(&kept).await, Ok(Sighting::Running), "somebody's work is not thrown away on a guess");
        house.fake.destroy(&kept).await.unwrap();
        house.close().await;
        database.drop().await;
    }
}

/// Waits for the sweeps that make it so.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}
