//! What goes wrong, and how the house settles it.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use carrel_model::{
    SandboxId,
    public::{BreakerState, Happening, NewSandbox, Readiness},
    sandbox::{Phase, Spec, Usage},
};
use carrel_sandbox::{
    Endpoint, Fitness, Pausing, Provider, ProviderError, Reach, Sighting,
    providers::fake::{Fake, Weather},
};
use carrel_store::News;
use carrel_testkit::{House, Setup, on_both_databases};

async fn ask(house: &House) -> std::sync::Arc<carrel_model::public::SandboxView> {
    house.control.sandboxes().create(&house.admin, NewSandbox::default(), None).await.unwrap().sandbox
}

/// A fake that panics at its first creations.
struct Panicking {
    fake: Arc<Fake>,
    left: AtomicU32,
}

#[async_trait]
impl Provider for Panicking {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.fake.probe().await
    }
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            panic!("a provider with a bug (this is part of the test)");
        }
        self.fake.create(id, spec).await
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
    fn reach(&self) -> Reach {
        self.fake.reach()
    }
    fn pausing(&self) -> Option<&dyn Pausing> {
        self.fake.pausing()
    }
}

on_both_databases! {
    async fn a_provider_that_is_away_for_a_moment_is_asked_again(database: TestDatabase) {
        let house = House::open(&database).await;
        house.weather(Weather::Showers(3));
        let made = ask(&house).await;
        let mut follower = house.store.journal().follow(carrel_model::public::Cursor(0));
        let ready = house.until(&made, Phase::Ready).await;
        assert_eq!((ready.attempts, ready.note), (0, None), "the mishap is over");
        // The journal remembers that it was tried again, and why.
        let mut tries = Vec::new();
        while follower.cursor() < house.store.journal().head() {
            let News::Entries(entries) = follower.next().await.unwrap() else { panic!("nothing was forgotten") };
            for entry in entries {
                if let Happening::Sandbox { sandbox } = &entry.entry().happening
                    && sandbox.attempts > 0
                {
                    assert!(sandbox.note.as_ref().unwrap().contains("bad weather"));
                    assert!(sandbox.next_attempt_at.is_some());
                    tries.push(sandbox.attempts);
                }
            }
        }
        assert!(!tries.is_empty() && tries.is_sorted(), "{tries:?}");
        house.close().await;
        database.drop().await;
    }

    async fn a_provider_that_stays_away_opens_its_breaker_and_closes_it_when_it_is_back(database: TestDatabase) {
        let house = House::open(&database).await;
        house.weather(Weather::Storm);
        let made = ask(&house).await;
        let is_open = |house: &House| {
            let control = house.control.clone();
            async move { control.readiness().await }
        };
        let journal = house.store.journal();
        let mut follower = journal.follow(carrel_model::public::Cursor(0));
        let mut told = Vec::new();
        while told.is_empty() {
            if let News::Entries(entries) = follower.next().await.unwrap() {
                for entry in entries {
                    if let Happening::Provider { provider } = &entry.entry().happening {
                        told.push(provider.breaker.clone());
                    }
                }
            }
        }
        assert_eq!(told[0].state, BreakerState::Open);
        assert!(told[0].retry_at.is_some() && told[0].last_error.as_ref().unwrap().contains("weather"));
        let ready = is_open(&house).await;
        assert_eq!(ready.status, Readiness::Unavailable, "the only provider is left alone");
        assert_ne!(ready.providers[0].breaker.state, BreakerState::Closed);
        let waiting = house.until_it(&made, |view| view.note.as_ref().is_some_and(|note| note.contains("left alone"))).await;
        assert!(waiting.next_attempt_at.is_some());

        house.weather(Weather::Clear);
        house.until(&made, Phase::Ready).await;
        assert_eq!(is_open(&house).await.status, Readiness::Ready);
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_that_can_never_be_made_fails_with_the_reason_and_leaves_nothing(database: TestDatabase) {
        let mut setup = Setup::default();
        setup.patience.tries = 3;
        // A sweep that looks around in the middle would have part of the weather.
        setup.patience.sweep = std::time::Duration::from_secs(3600);
        let house = House::build(&database, setup).await;
        house.weather(Weather::Showers(3));
        let made = ask(&house).await;
        let failed = house.until(&made, Phase::Failed).await;
        assert!(failed.note.unwrap().contains("bad weather"));
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Missing));
        house.control.sandboxes().destroy(&house.admin, &made.id).await.unwrap();
        house.until(&made, Phase::Gone).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_that_its_provider_lost_is_found_out(database: TestDatabase) {
        let house = House::open(&database).await;
        let made = ask(&house).await;
        house.until(&made, Phase::Ready).await;
        house.fake.destroy(&made.id).await.unwrap();
        let failed = house.until(&made, Phase::Failed).await;
        assert_eq!(failed.note.as_deref(), Some("Its provider no longer has it."));
        house.close().await;
        database.drop().await;
    }

    async fn a_paused_sandbox_outlives_the_absence_of_its_provider(database: TestDatabase) {
        let mut setup = Setup::default();
        setup.patience.tries = 2;
        let house = House::build(&database, setup).await;
        let made = ask(&house).await;
        house.until(&made, Phase::Ready).await;
        house.control.sandboxes().pause(&house.admin, &made.id, Default::default()).await.unwrap();
        house.until(&made, Phase::Paused).await;
        house.weather(Weather::Storm);
        house.control.sandboxes().resume(&house.admin, &made.id).await.unwrap();
        house.until_it(&made, |view| view.attempts > 3).await;
        house.weather(Weather::Clear);
        house.until(&made, Phase::Ready).await;
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Running), "somebody's work was thrown away");
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_that_was_lost_and_is_found_again_goes_on(database: TestDatabase) {
        let house = House::open(&database).await;
        let made = ask(&house).await;
        house.until(&made, Phase::Ready).await;
        // As when a disk is not mounted for a while.
        let (place, aside) = (house.fake.folder().join(made.id.as_str()), house.folder().join("aside"));
        std::fs::rename(&place, &aside).unwrap();
        house.until(&made, Phase::Failed).await;
        std::fs::rename(&aside, &place).unwrap();
        let back = house.until(&made, Phase::Ready).await;
        assert_eq!(back.note.as_deref(), Some("It was found running."));
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Running), "somebody's work was thrown away");
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_that_was_paused_behind_our_back_is_brought_to_where_it_is_wanted(database: TestDatabase) {
        let house = House::open(&database).await;
        let made = ask(&house).await;
        let ready = house.until(&made, Phase::Ready).await;
        house.fake.pausing().unwrap().pause(&made.id, Default::default()).await.unwrap();
        let again = house.until_it(&made, |view| view.phase == Phase::Ready && view.revision > ready.revision + 1).await;
        assert_eq!(again.want, carrel_model::sandbox::Want::Ready);
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Running));
        house.close().await;
        database.drop().await;
    }

    async fn a_zombie_is_taken_down_and_a_stranger_is_left_alone(database: TestDatabase) {
        let house = House::open(&database).await;
        let made = ask(&house).await;
        house.until(&made, Phase::Ready).await;
        house.control.sandboxes().destroy(&house.admin, &made.id).await.unwrap();
        house.until(&made, Phase::Gone).await;
        let stranger = SandboxId::from_random([5; 16]);
        let zombie = house.fake.folder().join(made.id.as_str());
        std::fs::write(house.fake.folder().join(stranger.as_str()), "running").unwrap();
        std::fs::write(&zombie, "running").unwrap();
        // Sweeps go on by themselves; a sandbox that is lost meanwhile tells us that two have passed.
        for _ in 0..2 {
            let canary = ask(&house).await;
            house.until(&canary, Phase::Ready).await;
            house.fake.destroy(&canary.id).await.unwrap();
            house.until(&canary, Phase::Failed).await;
        }
        assert!(!zombie.exists(), "the zombie walks");
        assert_eq!(house.fake.inspect(&stranger).await, Ok(Sighting::Running), "no row knows it: it is not ours to end");
        house.fake.destroy(&stranger).await.unwrap();
        house.close().await;
        database.drop().await;
    }

    async fn a_provider_that_panics_is_asked_again(database: TestDatabase) {
        let setup = Setup {
            around: Box::new(|fake| Arc::new(Panicking { fake, left: AtomicU32::new(2) })),
            ..Setup::default()
        };
        let house = House::build(&database, setup).await;
        let made = ask(&house).await;
        house.until(&made, Phase::Ready).await;
        house.close().await;
        database.drop().await;
    }

    async fn what_a_dead_process_had_in_hand_is_taken_up(database: TestDatabase) {
        let house = House::open(&database).await;
        let made = ask(&house).await;
        house.until(&made, Phase::Ready).await;
        // Somebody who is no more holds the row, and somebody wants it gone.
        let soon = house.store.now() + jiff::SignedDuration::from_millis(300);
        let dead = house.store.sandboxes().claim_one(&made.id, "node_dead:1", soon).await.unwrap().unwrap();
        house.control.sandboxes().destroy(&house.admin, &made.id).await.unwrap();
        house.until(&made, Phase::Gone).await;
        // The dead one wakes up late and is fenced off.
        let late = house.store.change(move |tx| Box::pin(async move { tx.lock_leased(&dead.sandbox.id, &dead.lease).await }));
        assert!(matches!(late.await, Err(carrel_store::StoreError::LeaseLost { .. })));
        house.close().await;
        database.drop().await;
    }

    async fn old_records_are_carried_out(database: TestDatabase) {
        let mut setup = Setup::default();
        setup.retention.journal = jiff::SignedDuration::from_millis(200);
        let house = House::build(&database, setup).await;
        let made = ask(&house).await;
        house.until(&made, Phase::Ready).await;
        // The journal forgets by itself; a reader from the beginning is told to start over.
        loop {
            let span = house.store.journal().span().await.unwrap();
            if span.oldest.0 > 1 {
                break;
            }
            tokio::task::yield_now().await;
        }
        let mut reader = house.store.journal().follow(carrel_model::public::Cursor(0));
        // What is still in memory may be told; what is in neither place makes a reset. Either way nothing is skipped.
        match reader.next().await.unwrap() {
            News::Entries(entries) => assert_eq!(entries[0].cursor().0, 1),
            News::Reset(reset) => assert!(reset.head >= reset.oldest || reset.oldest.0 == reset.head.0 + 1),
        }
        house.close().await;
        database.drop().await;
    }
}
