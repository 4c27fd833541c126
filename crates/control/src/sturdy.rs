//! A provider that cannot take the house down: where it panics or hangs, it has failed like any other.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use carrel_model::{
    ProviderName, SandboxId, TemplateName, Timestamp, VolumeId,
    sandbox::{Depth, Network, Spec, Usage},
};
use carrel_sandbox::{
    Claimed, Endpoint, Fitness, Forking, Furnishing, Furniture, MetLimits, Naming, Pausing, Provider, ProviderError,
    Reach, Sighting, Stowing, Templating,
    template::{Progress, Source, Template},
    volume::VolumeContent,
};
use futures::FutureExt;

/// How long the making of a template may take.
const MAKING: Duration = Duration::from_secs(4 * 3600);

/// Stands between the house and a provider.
pub(crate) struct Sturdy {
    pub(crate) name: ProviderName,
    pub(crate) provider: Arc<dyn Provider>,
    /// How long it may take to answer.
    pub(crate) patience: Duration,
}

impl Sturdy {
    async fn endure<T>(&self, call: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
        self.endure_for(self.patience, call).await
    }

    async fn endure_for<T>(
        &self,
        patience: Duration,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let failed = |how: &str| Err(ProviderError::Unavailable { why: format!("the provider `{}` {how}", self.name) });
        match tokio::time::timeout(patience, AssertUnwindSafe(call).catch_unwind()).await {
            Ok(Ok(answer)) => answer,
            // The panic's own words are in the log of the process; they are not for everybody.
            Ok(Err(_)) => failed("panicked"),
            Err(_) => failed("does not answer"),
        }
    }

    fn inner_pausing(&self) -> Result<&dyn Pausing, ProviderError> {
        let why = || format!("the provider `{}` cannot pause sandboxes", self.name);
        self.provider.pausing().ok_or_else(|| ProviderError::Unfit { why: why() })
    }

    fn inner_furnishing(&self) -> Result<&dyn Furnishing, ProviderError> {
        let why = || format!("the provider `{}` lays no checkout under its sandboxes", self.name);
        self.provider.furnishing().ok_or_else(|| ProviderError::Unfit { why: why() })
    }

    fn inner_stowing(&self) -> Result<&dyn Stowing, ProviderError> {
        let why = || format!("the provider `{}` keeps no volumes", self.name);
        self.provider.stowing().ok_or_else(|| ProviderError::Unfit { why: why() })
    }

    fn inner_templating(&self) -> Result<&dyn Templating, ProviderError> {
        let why = || format!("the provider `{}` cannot make templates", self.name);
        self.provider.templating().ok_or_else(|| ProviderError::Unfit { why: why() })
    }
}

#[async_trait]
impl Provider for Sturdy {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.endure(self.provider.probe()).await
    }
    fn expect(&self, id: &SandboxId, spec: &Spec) {
        self.provider.expect(id, spec);
    }
    async fn claim(&self, id: &SandboxId, spec: &Spec, naming: Naming) -> Option<Claimed> {
        self.endure(async { Ok(self.provider.claim(id, spec, naming).await) }).await.ok().flatten()
    }
    async fn confirm(&self, id: &SandboxId) {
        let confirmed = async {
            self.provider.confirm(id).await;
            Ok(())
        };
        let _ = self.endure(confirmed).await;
    }
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        self.endure(self.provider.create(id, spec)).await
    }
    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        self.endure(self.provider.inspect(id)).await
    }
    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        self.endure(self.provider.list()).await
    }
    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.endure(self.provider.destroy(id)).await
    }
    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        self.endure(self.provider.endpoint(id)).await
    }
    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        self.endure(self.provider.usage(id)).await
    }
    async fn met_limits(&self, id: &SandboxId) -> Option<MetLimits> {
        self.endure(async { Ok(self.provider.met_limits(id).await) }).await.ok().flatten()
    }
    async fn lacks(&self, id: &SandboxId) -> Option<Vec<String>> {
        self.endure(async { Ok(self.provider.lacks(id).await) }).await.ok().flatten()
    }
    async fn set_network(&self, id: &SandboxId, network: &Network) -> Result<(), ProviderError> {
        self.endure(self.provider.set_network(id, network)).await
    }
    async fn prolong(&self, wanted: &[(SandboxId, Timestamp)]) -> Result<(), ProviderError> {
        self.endure(self.provider.prolong(wanted)).await
    }
    async fn reap(&self, id: &SandboxId) -> Result<bool, ProviderError> {
        self.endure(self.provider.reap(id)).await
    }
    fn reach(&self) -> Reach {
        self.provider.reach()
    }
    fn lacks_interfaces(&self) -> Option<String> {
        self.provider.lacks_interfaces()
    }
    fn lacks_gateway(&self) -> Option<String> {
        self.provider.lacks_gateway()
    }
    fn pausing(&self) -> Option<&dyn Pausing> {
        self.provider.pausing().map(|_| self as &dyn Pausing)
    }
    fn forking(&self) -> Option<&dyn Forking> {
        self.provider.forking().map(|_| self as &dyn Forking)
    }
    fn furnishing(&self) -> Option<&dyn Furnishing> {
        self.provider.furnishing().map(|_| self as &dyn Furnishing)
    }
    fn stowing(&self) -> Option<&dyn Stowing> {
        self.provider.stowing().map(|_| self as &dyn Stowing)
    }
    fn templating(&self) -> Option<&dyn Templating> {
        self.provider.templating().map(|_| self as &dyn Templating)
    }
}

#[async_trait]
impl Pausing for Sturdy {
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        self.endure(async { self.inner_pausing()?.pause(id, depth).await }).await
    }
    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError> {
        self.endure(async { self.inner_pausing()?.resume(id).await }).await
    }
}

#[async_trait]
impl Forking for Sturdy {
    async fn snapshot(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let why = || format!("the provider `{}` cannot keep snapshots", self.name);
        self.endure(async {
            let forking = self.provider.forking().ok_or_else(|| ProviderError::Unfit { why: why() })?;
            forking.snapshot(id, name, memory).await
        })
        .await
    }

    async fn renew(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let why = || format!("the provider `{}` cannot keep snapshots", self.name);
        self.endure(async {
            let forking = self.provider.forking().ok_or_else(|| ProviderError::Unfit { why: why() })?;
            forking.renew(id, name, memory).await
        })
        .await
    }

    async fn base(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let why = || format!("the provider `{}` cannot copy sandboxes", self.name);
        self.endure(async {
            let forking = self.provider.forking().ok_or_else(|| ProviderError::Unfit { why: why() })?;
            forking.base(id, name, memory).await
        })
        .await
    }
}

#[async_trait]
impl Furnishing for Sturdy {
    async fn create_furnished(&self, id: &SandboxId, spec: &Spec, furniture: &Furniture) -> Result<(), ProviderError> {
        self.endure(async { self.inner_furnishing()?.create_furnished(id, spec, furniture).await }).await
    }
    async fn borrowed(&self) -> Result<Vec<PathBuf>, ProviderError> {
        self.endure(async { self.inner_furnishing()?.borrowed().await }).await
    }
    async fn let_go(&self, folder: &Path) -> Result<(), ProviderError> {
        self.endure(async { self.inner_furnishing()?.let_go(folder).await }).await
    }
}

#[async_trait]
impl Stowing for Sturdy {
    async fn make_volume(&self, id: &VolumeId) -> Result<(), ProviderError> {
        self.endure(async { self.inner_stowing()?.make_volume(id).await }).await
    }
    async fn remove_volume(&self, id: &VolumeId) -> Result<(), ProviderError> {
        self.endure_for(MAKING, async { self.inner_stowing()?.remove_volume(id).await }).await
    }
    fn content(&self, id: &VolumeId) -> Result<VolumeContent, ProviderError> {
        self.inner_stowing()?.content(id)
    }
}

#[async_trait]
impl Templating for Sturdy {
    async fn templates(&self) -> Result<Vec<Template>, ProviderError> {
        self.endure(async { self.inner_templating()?.templates().await }).await
    }
    async fn make(&self, name: &TemplateName, source: &Source, progress: &Progress) -> Result<Template, ProviderError> {
        self.endure_for(MAKING, async { self.inner_templating()?.make(name, source, progress).await }).await
    }
    async fn forget(&self, name: &TemplateName) -> Result<(), ProviderError> {
        self.endure(async { self.inner_templating()?.forget(name).await }).await
    }
}
