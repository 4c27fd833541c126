//! The contract: what every provider promises, checked the same way for all of them.
//!
//! A provider's own tests call `broken_promises` and expect none. The suite is itself tested with providers that break
//! their word, so that a promise that cannot fail is noticed.

use carrel_model::{
    SandboxId, Timestamp,
    sandbox::{Depth, Isolation, Lifetime, Spec},
};

use jiff::SignedDuration;

use crate::{Provider, ProviderError, Sighting};

/// Opens the provider over the same state each time it is asked, as a restart would.
pub trait Reopen {
    /// Opens it.
    fn open(&self) -> Box<dyn Provider>;
}

impl<F: Fn() -> Box<dyn Provider>> Reopen for F {
    fn open(&self) -> Box<dyn Provider> {
        self()
    }
}

/// Tries everything a provider promises and lists, as sentences, what it did not keep.
pub async fn broken_promises(provider: &impl Reopen) -> Vec<String> {
    let mut broken = Vec::new();
    let mut promise = |sentence: &str, kept: bool| {
        if !kept {
            broken.push(sentence.to_owned());
        }
    };
    let here = provider.open();
    let spec = usual_spec(here.as_ref()).await;
    let id = SandboxId::from_random(*b"contract, one...");
    let other = SandboxId::from_random(*b"contract, two...");

    promise("a stranger is missing", here.inspect(&id).await == Ok(Sighting::Missing));
    promise("destroy is content to find nothing", here.destroy(&id).await.is_ok());
    promise("create makes a sandbox", here.create(&id, &spec).await.is_ok());
    promise("what was created is running", here.inspect(&id).await == Ok(Sighting::Running));
    promise("create may be repeated", here.create(&id, &spec).await.is_ok());
    promise("a second sandbox is another one", here.create(&other, &spec).await.is_ok());
    promise("the list has both", has(here.as_ref(), &id).await && has(here.as_ref(), &other).await);

    let end = Timestamp::now() + SignedDuration::from_hours(1);
    promise("what is wanted awake may be told at any time", here.prolong(&[(id.clone(), end)]).await.is_ok());
    promise("what is awake is not reaped", here.reap(&id).await == Ok(false));

    let again = provider.open();
    promise("a restart finds the sandbox by its id", again.inspect(&id).await == Ok(Sighting::Running));
    promise("a restart lists the sandbox", has(again.as_ref(), &id).await);
    promise("create after a restart finds it made", again.create(&id, &spec).await.is_ok());

    if let Some(pausing) = again.pausing() {
        promise("pause freezes", pausing.pause(&id, Depth::Frozen).await.is_ok());
        promise("what is paused is seen paused", again.inspect(&id).await == Ok(Sighting::Paused));
        promise("pause may be repeated", pausing.pause(&id, Depth::Frozen).await.is_ok());
        promise("pausing one leaves the others alone", again.inspect(&other).await == Ok(Sighting::Running));
        let third = provider.open();
        promise("a restart finds it paused", third.inspect(&id).await == Ok(Sighting::Paused));
        promise("create does not thaw what is paused", {
            third.create(&id, &spec).await.is_ok() && third.inspect(&id).await == Ok(Sighting::Paused)
        });
        if let Some(pausing) = third.pausing() {
            promise("resume thaws", pausing.resume(&id).await.is_ok());
            promise("what is resumed is running", third.inspect(&id).await == Ok(Sighting::Running));
            promise("resume may be repeated", pausing.resume(&id).await.is_ok());
            let stranger = SandboxId::from_random(*b"contract, three.");
            promise(
                "a stranger cannot be paused",
                pausing.pause(&stranger, Depth::Frozen).await == Err(ProviderError::Lost),
            );
            promise("a stranger cannot be resumed", pausing.resume(&stranger).await == Err(ProviderError::Lost));
        }
    }

    let mut odd = spec.clone();
    odd.template = "no-such-template".parse().expect("a good name");
    let stranger = SandboxId::from_random(*b"contract, four..");
    let refused = matches!(again.create(&stranger, &odd).await, Err(ProviderError::Unfit { .. }));
    promise("a template that nobody has is refused as unfit", refused);
    promise("a create that was refused leaves nothing", {
        again.destroy(&stranger).await.is_ok() && !has(again.as_ref(), &stranger).await
    });

    promise("destroy works", again.destroy(&id).await.is_ok());
    promise("what was destroyed is missing", again.inspect(&id).await == Ok(Sighting::Missing));
    promise("what was destroyed is not listed", !has(again.as_ref(), &id).await);
    promise("destroying one leaves the others alone", again.inspect(&other).await == Ok(Sighting::Running));
    promise("destroy may be repeated", again.destroy(&id).await.is_ok());
    promise("the last one can be destroyed", again.destroy(&other).await.is_ok());
    promise("nothing is left", provider.open().list().await.is_ok_and(|list| list.is_empty()));
    broken
}

async fn has(provider: &dyn Provider, id: &SandboxId) -> bool {
    provider.list().await.is_ok_and(|list| list.iter().any(|(listed, _)| listed == id))
}

/// A small sandbox that this provider can make.
pub async fn usual_spec(provider: &dyn Provider) -> Spec {
    let fitness = provider.probe().await.expect("a provider that is tested can be probed");
    let limits = serde_json::json!({"cpus": 1, "memory_mb": 128, "disk_mb": 256, "pids": 64});
    Spec {
        template: fitness.templates.first().expect("a provider has a template").clone(),
        provider: "tested".parse().expect("a good name"),
        isolation: fitness.isolation.first().copied().unwrap_or(Isolation::None),
        agent_id: None,
        task_id: None,
        repo: None,
        checkout: None,
        env: Default::default(),
        metadata: Default::default(),
        lifetime: Lifetime::new(60).expect("in range"),
        at_end: carrel_model::sandbox::AtEnd::Destroy,
        limits: serde_json::from_value(limits).expect("in range"),
        network: Default::default(),
        ports: Default::default(),
        port_host: None,
        tls_ports: Vec::new(),
        pause_depth: Default::default(),
        volumes: Vec::new(),
    }
}
