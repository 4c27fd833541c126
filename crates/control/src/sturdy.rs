//! A provider that cannot take the house down: where it panics or hangs, it has failed like any other.

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_trait::async_trait;
use carrel_model::{ProviderName, SandboxId, sandbox::Spec};
use carrel_sandbox::{Fitness, Pausing, Provider, ProviderError, Reach, Sighting};
use futures::FutureExt;

/// Stands between the house and a provider.
pub(crate) struct Sturdy {
    pub(crate) name: ProviderName,
    pub(crate) provider: Arc<dyn Provider>,
    /// How long it may take to answer.
    pub(crate) patience: Duration,
}

impl Sturdy {
    async fn endure<T>(&self, call: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
        let failed = |how: &str| Err(ProviderError::Unavailable { why: format!("the provider `{}` {how}", self.name) });
        match tokio::time::timeout(self.patience, AssertUnwindSafe(call).catch_unwind()).await {
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
}

#[async_trait]
impl Provider for Sturdy {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        self.endure(self.provider.probe()).await
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
    fn reach(&self) -> Reach {
        self.provider.reach()
    }
    fn pausing(&self) -> Option<&dyn Pausing> {
        self.provider.pausing().map(|_| self as &dyn Pausing)
    }
}

#[async_trait]
impl Pausing for Sturdy {
    async fn pause(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.endure(async { self.inner_pausing()?.pause(id).await }).await
    }
    async fn resume(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.endure(async { self.inner_pausing()?.resume(id).await }).await
    }
}
