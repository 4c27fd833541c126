//! Cards that are closed at a bad moment: while their desk is made, while a step fails, while they wait for another try.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use carrel_model::{
    SandboxId,
    sandbox::{Spec, Usage},
};
use carrel_sandbox::{Endpoint, Fitness, Pausing, Provider, ProviderError, Reach, Sighting, providers::fake::Fake};
use carrel_testkit::{House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// A place where a provider is held up.
struct Gate {
    /// One for each time that somebody came.
    came: Semaphore,
    /// One for each who may pass.
    pass: Semaphore,
}

impl Gate {
    fn open() -> Gate {
        Gate { came: Semaphore::new(0), pass: Semaphore::new(Semaphore::MAX_PERMITS) }
    }

    fn shut() -> Gate {
        Gate { came: Semaphore::new(0), pass: Semaphore::new(0) }
    }

    async fn hold_up(&self) {
        self.came.add_permits(1);
        self.pass.acquire().await.unwrap().forget();
    }

    /// Waits until somebody stands before it.
    async fn somebody(&self) {
        self.came.acquire().await.unwrap().forget();
    }
}

/// What stands between a house and its fake.
struct Gates {
    /// Before a desk is made.
    making: Gate,
    /// Before somebody goes into a desk, as long as it says that it is away.
    entry: Gate,
    away: AtomicBool,
    /// Desks that somebody looked into after they were made, for a checkout. Nothing runs there.
    made: Mutex<HashSet<SandboxId>>,
}

struct Gated {
    fake: Arc<Fake>,
    gates: Arc<Gates>,
}

#[async_trait]
impl Provider for Gated {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.fake.probe().await
    }
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        self.gates.making.hold_up().await;
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
        let is_known = !self.gates.made.lock().unwrap().insert(id.clone());
        if is_known && self.gates.away.load(Ordering::SeqCst) {
            self.gates.entry.hold_up().await;
            return Err(ProviderError::Unavailable { why: "nobody opens (this is part of the test)".into() });
        }
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

/// A house with a repository and an agent, whose provider is held up.
async fn gated(
    database: &carrel_testkit::TestDatabase,
    making: Gate,
    entry: Option<Gate>,
    setup: Setup,
) -> (House, Arc<Gates>) {
    let away = AtomicBool::new(entry.is_some());
    let gates = Gates { making, entry: entry.unwrap_or_else(Gate::open), away, made: Mutex::default() };
    let gates = Arc::new(gates);
    let held = Arc::clone(&gates);
    let around = Box::new(move |fake| Arc::new(Gated { fake, gates: Arc::clone(&held) }) as Arc<dyn Provider>);
    let house = House::build(database, Setup { around, ..setup }).await;
    post(&house, "/repos", json!({"new": true, "name": "town"})).await;
    post(&house, "/agents", json!({"name": "idle", "dialect": "shell", "command": "true"})).await;
    (house, gates)
}

async fn post(house: &House, path: &str, body: Value) -> Value {
    let (status, answer) = house.ask(house.request(Method::POST, &format!("/api/v1{path}")).json(&body)).await;
    assert!(status.is_success(), "{path}: {status} {answer}");
    answer
}

async fn task(house: &House, query: &str) -> Value {
    let (status, task) = house.ask(house.request(Method::GET, &format!("/api/v1/tasks/1{query}"))).await;
    assert!(status.is_success(), "{task}");
    task
}

async fn start(house: &House) {
    post(house, "/tasks", json!({"repo": "town", "agent": "idle", "title": "Mend the bridge", "start": true})).await;
}

/// Waits until the desk of a card that is over is gone, as its card says.
async fn tidied(house: &House) {
    while !task(house, "").await["sandbox_id"].is_null() {}
}

on_both_databases! {
    async fn a_card_whose_desk_is_still_being_made_is_closed_at_once(database: TestDatabase) {
        let (house, gates) = gated(&database, Gate::shut(), None, Setup::default()).await;
        start(&house).await;
        gates.making.somebody().await;
        // The gate stays shut: nobody waits for a desk that nobody has been at.
        let closed = post(&house, "/tasks/1/close?wait=closed&timeout=60", json!({})).await;
        assert_eq!((&closed["phase"], &closed["needs"]), (&json!("closed"), &Value::Null), "{closed:#}");
        tidied(&house).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_card_that_is_closed_while_a_step_fails_for_the_last_time_is_closed(database: TestDatabase) {
        let mut setup = Setup::default();
        setup.work.tries = 1;
        let (house, gates) = gated(&database, Gate::open(), Some(Gate::shut()), setup).await;
        start(&house).await;
        gates.entry.somebody().await;
        let wished = post(&house, "/tasks/1/close", json!({})).await;
        assert_eq!((&wished["phase"], &wished["want"]), (&json!("preparing"), &json!("closed")), "{wished:#}");
        // The step that is under way fails now. That there is nothing at the desk is no reason to stay either.
        gates.away.store(false, Ordering::SeqCst);
        gates.entry.pass.add_permits(1);
        let closed = task(&house, "?wait=closed&timeout=60").await;
        assert_eq!((&closed["phase"], &closed["needs"]), (&json!("closed"), &Value::Null), "{closed:#}");
        tidied(&house).await;
        house.close().await;
        database.drop().await;
    }

    async fn what_people_want_does_not_wait_for_the_next_try_of_something_else(database: TestDatabase) {
        let mut setup = Setup::default();
        let hour = Duration::from_secs(3600);
        (setup.patience.first_retry, setup.patience.longest_retry) = (hour, hour);
        let (house, gates) = gated(&database, Gate::open(), Some(Gate::open()), setup).await;
        start(&house).await;
        for (verb, phase) in [("stop", "backlog"), ("close", "closed")] {
            while task(&house, "").await["next_attempt_at"].is_null() {}
            gates.away.store(false, Ordering::SeqCst);
            let done = post(&house, &format!("/tasks/1/{verb}?wait={phase}&timeout=60"), json!({})).await;
            assert_eq!((&done["phase"], &done["needs"]), (&json!(phase), &Value::Null), "{done:#}");
            if phase == "backlog" {
                gates.away.store(true, Ordering::SeqCst);
                post(&house, "/tasks/1/start", json!({})).await;
            }
        }
        tidied(&house).await;
        house.close().await;
        database.drop().await;
    }

    async fn desks_that_never_have_a_checkout_are_not_made_for_ever(database: TestDatabase) {
        let mut setup = Setup::default();
        setup.work.tries = 3;
        let (house, _) = gated(&database, Gate::open(), None, setup).await;
        start(&house).await;
        let asks = task(&house, "?wait=needs_you&timeout=60").await;
        assert_eq!(asks["needs"]["reason"], "desk_failed", "{asks:#}");
        assert!(asks["needs"]["detail"].as_str().unwrap().contains("3 times in a row: nothing runs in a fake"), "{asks:#}");
        let (_, timeline) = house.ask(house.request(Method::GET, "/api/v1/tasks/1/timeline?limit=100")).await;
        let left = |item: &&Value| item["text"].as_str().unwrap().starts_with("The desk came back without its checkout");
        assert_eq!(timeline["items"].as_array().unwrap().iter().filter(left).count(), 2, "{timeline:#}");
        post(&house, "/tasks/1/close?wait=closed&timeout=60", json!({})).await;
        tidied(&house).await;
        house.close().await;
        database.drop().await;
    }
}
