//! The fake keeps the contract, and the contract notices who does not.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is the verdict of a test")]

use async_trait::async_trait;
use carrel_model::{
    SandboxId,
    sandbox::{Spec, Usage},
};
use carrel_sandbox::{
    Endpoint, Fitness, Pausing, Provider, ProviderError, Reach, Sighting,
    contract::broken_promises,
    providers::fake::{Config, Fake},
};

fn fake_in(folder: &std::path::Path) -> Fake {
    let config = Config { folder: folder.to_owned(), create_takes: Default::default(), reach: Reach::Node };
    config.build().unwrap()
}

#[tokio::test]
async fn the_fake_provider_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let broken = broken_promises(&|| Box::new(fake_in(folder.path())) as Box<dyn Provider>).await;
    assert_eq!(broken, Vec::<String>::new());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files were left behind");
}

#[tokio::test]
async fn a_half_written_sandbox_of_a_dead_process_goes_with_destroy() {
    let folder = tempfile::tempdir().unwrap();
    let id = SandboxId::from_random([9; 16]);
    std::fs::write(folder.path().join(format!(".{id}.1.1")), "run").unwrap();
    let fake = fake_in(folder.path());
    assert_eq!(fake.inspect(&id).await, Ok(Sighting::Missing));
    fake.destroy(&id).await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A provider that keeps its word except in one way.
struct Unreliable {
    fake: Fake,
    fault: Fault,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    ForgetsAtRestart,
    DestroysNothing,
    ComplainsAboutTheSecondCreate,
    ThawsOnCreate,
    TakesAnyTemplate,
    ListsNothing,
}

#[async_trait]
impl Provider for Unreliable {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.fake.probe().await
    }
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        let there = self.fake.inspect(id).await? != Sighting::Missing;
        match self.fault {
            Fault::ComplainsAboutTheSecondCreate if there => Err(ProviderError::Unfit { why: "again?".into() }),
            Fault::ThawsOnCreate if there => self.fake.resume(id).await.map(drop),
            Fault::TakesAnyTemplate => {
                let spec = Spec { template: "host".parse().unwrap(), ..spec.clone() };
                self.fake.create(id, &spec).await
            }
            _ => self.fake.create(id, spec).await,
        }
    }
    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        self.fake.inspect(id).await
    }
    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        if matches!(self.fault, Fault::ListsNothing) { Ok(vec![]) } else { self.fake.list().await }
    }
    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        if matches!(self.fault, Fault::DestroysNothing) { Ok(()) } else { self.fake.destroy(id).await }
    }
    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        self.fake.endpoint(id).await
    }
    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        self.fake.usage(id).await
    }
    fn reach(&self) -> Reach {
        Reach::Node
    }
    fn pausing(&self) -> Option<&dyn Pausing> {
        self.fake.pausing()
    }
}

#[tokio::test]
async fn the_contract_notices_every_broken_word() {
    for fault in [
        Fault::ForgetsAtRestart,
        Fault::DestroysNothing,
        Fault::ComplainsAboutTheSecondCreate,
        Fault::ThawsOnCreate,
        Fault::TakesAnyTemplate,
        Fault::ListsNothing,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let openings = std::cell::Cell::new(0);
        let open = || {
            openings.set(openings.get() + 1);
            let forgets = matches!(fault, Fault::ForgetsAtRestart);
            let place = if forgets { folder.path().join(openings.get().to_string()) } else { folder.path().to_owned() };
            Box::new(Unreliable { fake: fake_in(&place), fault }) as Box<dyn Provider>
        };
        assert_ne!(broken_promises(&open).await, Vec::<String>::new(), "{fault:?} went unnoticed");
    }
}
