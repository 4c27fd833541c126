//! Several nodes on one PostgreSQL: no row is ever in two hands.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use carrel_model::{
    SandboxId,
    public::{Cursor, NewSandbox},
    sandbox::{Depth, Phase, Spec, Usage},
};
use carrel_sandbox::{Endpoint, Fitness, Pausing, Provider, ProviderError, Reach, Sighting, providers::fake::Fake};
use carrel_testkit::{House, Setup, TestDatabase};

/// Notices when two nodes act on one sandbox at once.
#[derive(Default)]
struct Witness {
    at_work: Mutex<HashMap<SandboxId, u32>>,
    overlaps: Mutex<Vec<SandboxId>>,
    acts: Mutex<HashMap<u32, u32>>,
}

struct Watched {
    fake: Arc<Fake>,
    node: u32,
    witness: Arc<Witness>,
    /// How long a pause goes on after it can be seen.
    pause_lasts: Duration,
}

impl Watched {
    async fn act<T>(&self, id: &SandboxId, work: impl Future<Output = T>) -> T {
        if let Some(other) = self.witness.at_work.lock().unwrap().insert(id.clone(), self.node) {
            self.witness.overlaps.lock().unwrap().push(id.clone());
            assert_ne!(other, self.node, "one node acts twice at once");
        }
        *self.witness.acts.lock().unwrap().entry(self.node).or_default() += 1;
        // Gives the other nodes every chance to interfere.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let done = work.await;
        self.witness.at_work.lock().unwrap().remove(id);
        done
    }
}

#[async_trait]
impl Provider for Watched {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.fake.probe().await
    }
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        self.act(id, self.fake.create(id, spec)).await
    }
    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        self.fake.inspect(id).await
    }
    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        self.fake.list().await
    }
    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.act(id, self.fake.destroy(id)).await
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
        Some(self)
    }
}

#[async_trait]
impl Pausing for Watched {
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        let pause = async {
            let reached = Pausing::pause(&*self.fake, id, depth).await?;
            tokio::time::sleep(self.pause_lasts).await;
            Ok(reached)
        };
        self.act(id, pause).await
    }
    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError> {
        self.act(id, Pausing::resume(&*self.fake, id)).await
    }
}

async fn node(database: &TestDatabase, folder: &std::path::Path, number: u32, witness: &Arc<Witness>) -> House {
    patient_node(database, folder, number, witness, Duration::ZERO).await
}

async fn patient_node(
    database: &TestDatabase,
    folder: &std::path::Path,
    number: u32,
    witness: &Arc<Witness>,
    pause_lasts: Duration,
) -> House {
    let witness = Arc::clone(witness);
    let around = move |fake| {
        Arc::new(Watched { fake, node: number, witness: Arc::clone(&witness), pause_lasts }) as Arc<dyn Provider>
    };
    // Two hands each: most rows cannot be born in hand and must be claimed.
    let setup =
        Setup { shared: Some(folder.to_owned()), steps_at_once: 2, around: Box::new(around), ..Setup::default() };
    House::build(database, setup).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_takes_longer_than_a_lease_stays_in_its_hands_also_while_its_node_closes() {
    let database = TestDatabase::postgres().await;
    let (folder, witness) = (tempfile::tempdir().unwrap(), Arc::<Witness>::default());
    // A lease lasts two seconds and a sweep comes several times a second: both have every chance to go wrong.
    let lasts = Duration::from_millis(5000);
    let one = patient_node(&database, folder.path(), 0, &witness, lasts).await;
    let made = one.control.sandboxes().create(&one.admin, NewSandbox::default(), None).await.unwrap().sandbox;
    one.until(&made, Phase::Ready).await;
    one.control.sandboxes().pause(&one.admin, &made.id, Default::default()).await.unwrap();
    while !witness.at_work.lock().unwrap().contains_key(&made.id) {
        tokio::task::yield_now().await;
    }
    // The second node comes when the first has it in hand, and the first is asked to close in the middle of it.
    let two = patient_node(&database, folder.path(), 1, &witness, lasts).await;
    one.control.clone().close().await;
    two.until(&made, Phase::Paused).await;
    assert_eq!(*witness.overlaps.lock().unwrap(), Vec::<SandboxId>::new(), "two nodes acted on one row");
    assert_eq!(*witness.acts.lock().unwrap(), HashMap::from([(0, 2)]), "the pause was done twice");
    two.close().await;
    one.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_nodes_share_the_work_and_never_a_row() {
    let database = TestDatabase::postgres().await;
    let (folder, witness) = (tempfile::tempdir().unwrap(), Arc::<Witness>::default());
    let mut nodes = Vec::new();
    for number in 0..3 {
        nodes.push(node(&database, folder.path(), number, &witness).await);
    }
    let mut made = Vec::new();
    for number in 0..60 {
        let house: &House = &nodes[number % 3];
        made.push(house.control.sandboxes().create(&house.admin, NewSandbox::default(), None).await.unwrap().sandbox);
    }
    // Every sandbox is changed through another node than the one that made it.
    for (number, sandbox) in made.iter().enumerate() {
        let house = &nodes[(number + 1) % 3];
        house.until(sandbox, Phase::Ready).await;
        house.control.sandboxes().pause(&house.admin, &sandbox.id, Default::default()).await.unwrap();
    }
    for (number, sandbox) in made.iter().enumerate() {
        let house = &nodes[(number + 2) % 3];
        house.until(sandbox, Phase::Paused).await;
        house.control.sandboxes().destroy(&house.admin, &sandbox.id).await.unwrap();
    }
    for sandbox in &made {
        nodes[0].until(sandbox, Phase::Gone).await;
    }
    assert_eq!(*witness.overlaps.lock().unwrap(), Vec::<SandboxId>::new(), "two nodes acted on one row");
    assert_eq!(witness.acts.lock().unwrap().len(), 3, "a node did no work");
    assert!(nodes[0].store.journal().head() >= Cursor(60 * 4));
    for house in nodes {
        house.close().await;
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lives_on_one_node_is_left_to_it() {
    let database = TestDatabase::postgres().await;
    let (here, there) = (House::open(&database).await, House::open(&database).await);
    let made = here.control.sandboxes().create(&here.admin, NewSandbox::default(), None).await.unwrap().sandbox;
    here.until(&made, Phase::Ready).await;
    // The other node sweeps and does not find it in its own folder; it must not call it lost. A canary of its own,
    // lost and found out, tells that it has swept since.
    for _ in 0..2 {
        let canary = there.control.sandboxes().create(&there.admin, NewSandbox::default(), None).await.unwrap().sandbox;
        there.until(&canary, Phase::Ready).await;
        there.fake.destroy(&canary.id).await.unwrap();
        there.until(&canary, Phase::Failed).await;
    }
    assert_eq!(here.until(&made, Phase::Ready).await.phase, Phase::Ready);
    // Asked through the other node, done by its own.
    there.control.sandboxes().destroy(&there.admin, &made.id).await.unwrap();
    here.until(&made, Phase::Gone).await;
    // Each house looks only at what is its own when it closes.
    let folder = here.fake.folder().to_owned();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    there.close().await;
    here.close().await;
    database.drop().await;
}
