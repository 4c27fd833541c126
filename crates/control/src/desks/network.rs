//! Whom a sandbox may talk to, changed while it works.
//!
//! The row is written first; then the provider is told what the row says. A server that ends in between tells it at its
//! next start, before anybody is let in.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, SandboxId,
    public::{NewNetwork, SandboxView},
    sandbox::{HostRule, MOST_ALLOWED, Network, NetworkMode, Phase},
};
use carrel_sandbox::{ProviderError, Reach};

use super::sandboxes::SandboxesDesk;
use crate::{Error, house::House};

impl SandboxesDesk<'_> {
    /// Replaces the whole network of a sandbox. When this returns it holds, and what it does not allow is cut.
    pub async fn set_network(&self, grant: &Grant, id: &SandboxId, new: NewNetwork) -> Result<Arc<SandboxView>, Error> {
        let network = new.policy().map_err(|fields| Error::Invalid { fields })?;
        self.change_network(grant, id, |_| Ok(network)).await
    }

    /// Lets a sandbox reach more hosts. One that reached nobody reaches these from then on.
    pub async fn allow_hosts(
        &self,
        grant: &Grant,
        id: &SandboxId,
        hosts: Vec<HostRule>,
    ) -> Result<Arc<SandboxView>, Error> {
        self.change_network(grant, id, |former| {
            if former.mode == NetworkMode::Open {
                let why = format!("the network of sandbox {id} is open: there is no list to add to");
                return Err(Error::Conflict { why });
            }
            let mut network = Network { mode: NetworkMode::Allow, ..former.clone() };
            network.allow.extend(hosts.into_iter().filter(|host| !former.allow.contains(host)));
            if network.allow.len() > MOST_ALLOWED {
                return Err(Error::field("allow", format!("at most {MOST_ALLOWED} hosts")));
            }
            Ok(network)
        })
        .await
    }

    async fn change_network(
        &self,
        grant: &Grant,
        id: &SandboxId,
        change: impl FnOnce(&Network) -> Result<Network, Error>,
    ) -> Result<Arc<SandboxView>, Error> {
        let former = self.house.store.sandboxes().find(id).await?.ok_or_else(|| Error::no_sandbox(id))?;
        let subject = carrel_model::Subject::from(&former);
        self.house.admit(grant, Action::SandboxNetwork, subject).await?;
        if former.phase != Phase::Ready {
            let why = format!("sandbox {id} is {}: its network is changed while it works", former.phase.word());
            return Err(Error::Conflict { why });
        }
        let network = change(&former.spec.network)?;
        if network.interface != former.spec.network.interface {
            return Err(Error::field("network.interface", "an interface is chosen when a sandbox is made"));
        }
        let written = self.write_network(grant, id, network).await?;
        match self.apply_network(id).await {
            Ok(()) => Ok(written),
            Err(error) => {
                // What cannot be had is not said to hold.
                self.write_network(grant, id, former.spec.network).await?;
                Err(error)
            }
        }
    }

    async fn write_network(&self, grant: &Grant, id: &SandboxId, network: Network) -> Result<Arc<SandboxView>, Error> {
        self.want(grant, id, Action::SandboxNetwork, move |sandbox, _| sandbox.spec.network = network).await
    }

    /// Tells the provider what the row says, until both say the same: another change may come in between.
    async fn apply_network(&self, id: &SandboxId) -> Result<(), Error> {
        loop {
            let network = |found: Option<carrel_model::sandbox::Sandbox>| {
                found.map(|it| (it.spec.provider, it.spec.network)).ok_or_else(|| Error::no_sandbox(id))
            };
            let (provider, wanted) = network(self.house.store.sandboxes().find(id).await?)?;
            let told = self.house.post(&provider)?.provider.set_network(id, &wanted).await;
            told.map_err(|error| match error {
                ProviderError::Unfit { why } => Error::Conflict { why },
                error => Error::Unavailable { why: format!("the network of {id} stays: {error}"), source: None },
            })?;
            if network(self.house.store.sandboxes().find(id).await?)?.1 == wanted {
                return Ok(());
            }
        }
    }
}

/// Tells the providers of this machine what the rows say.
pub(crate) async fn take_up_former_lives(house: &Arc<House>) -> Result<(), Error> {
    for post in house.providers.values().filter(|post| post.provider.reach() == Reach::Node) {
        for sandbox in house.store.sandboxes().expected(&post.name, &house.settings.node).await? {
            match post.provider.set_network(&sandbox.id, &sandbox.spec.network).await {
                Ok(()) | Err(ProviderError::Lost | ProviderError::Unfit { .. }) => {}
                Err(error) => tracing::warn!(sandbox = %sandbox.id, "its network may be the former one: {error}"),
            }
        }
    }
    Ok(())
}
