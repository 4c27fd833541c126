//! The E2B provider: sandboxes at E2B Cloud, or at any cluster that speaks its API.
//!
//! A sandbox is found again by its metadata: `carrel_id` is our name for it, `carrel_house` the mark of this house, so that
//! two houses with one key leave each other's alone. Nothing is kept on this side but what spares a question.
//!
//! At E2B a sandbox has a lease, which the sweep prolongs while people want it (`lease.rs`). When nobody does, because this
//! server is away or no row knows the sandbox, it falls asleep with its memory and nothing is lost.
//!
//! Absent on purpose: the gateway. A sandbox at E2B reaches no socket of ours, so its network is what its policy allows.

mod api;
mod build;
mod clerk;
mod desk;
mod lease;
mod line;
mod names;
mod network;
mod sleep;
mod snapshot;
mod templates;
mod wire;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use carrel_model::{
    SandboxId, TemplateName, Timestamp,
    sandbox::{Network, Spec, Usage},
};
use secrecy::SecretString;

use self::{
    api::{Api, Trouble},
    desk::Place,
    line::{Caller, Plane},
    templates::Offer,
    wire::{Metric, State},
};
use super::common::finish;
use crate::{Endpoint, Fitness, Forking, Pausing, Provider, ProviderError, Reach, Sighting, Templating};

/// The domain of E2B Cloud.
pub const CLOUD: &str = "e2b.app";

/// How the E2B provider works.
#[derive(Debug, Clone)]
pub struct Config {
    /// The control plane; `https://api.{domain}` when absent.
    pub api_url: Option<String>,
    /// One address that leads to every sandbox; by the domain when absent.
    pub sandbox_url: Option<String>,
    /// The cluster's domain.
    pub domain: String,
    /// What the control plane wants to be shown. Without one nothing works, and everything says so.
    pub api_key: Option<SecretString>,
    /// The mark of this house: lower-case letters and digits.
    pub house: String,
    /// How E2B calls templates that we call something else.
    pub templates: BTreeMap<TemplateName, String>,
    /// How long a sandbox stays awake there without being prolonged.
    pub lease: Duration,
}

/// Sandboxes at E2B. Clones share them.
#[derive(Clone)]
pub struct E2b {
    inner: Arc<Inner>,
}

struct Inner {
    api: Api,
    plane: Arc<Plane>,
    house: String,
    renamed: BTreeMap<TemplateName, String>,
    lease: Duration,
    places: Mutex<HashMap<SandboxId, Arc<Place>>>,
    offer: tokio::sync::Mutex<Option<Offer>>,
    /// The cluster has only the first generation of paths.
    is_old: AtomicBool,
    /// Somebody was told already that the key is not accepted.
    was_told: AtomicBool,
}

impl Config {
    /// Opens the provider. Nobody is asked yet.
    pub fn build(self) -> Result<E2b, ProviderError> {
        let unfit = |why: String| ProviderError::Unfit { why };
        if !wire::is_domain(&self.domain) {
            return Err(unfit(format!("`{}` is not a domain, such as {CLOUD}", self.domain)));
        }
        let marked = |mark: &str| {
            (1..=32).contains(&mark.len()) && mark.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        if !marked(&self.house) {
            return Err(unfit("the mark of a house is 1 to 32 lower-case letters or digits".into()));
        }
        let base = match &self.api_url {
            Some(url) => {
                let good = reqwest::Url::parse(url).is_ok_and(|url| {
                    matches!(url.scheme(), "http" | "https")
                        && url.has_host()
                        && url.query().is_none()
                        && url.password().is_none()
                });
                if !good {
                    return Err(unfit(format!(
                        "`{url}` is not the address of a control plane, such as https://api.{CLOUD}"
                    )));
                }
                url.trim_end_matches('/').to_owned()
            }
            None => format!("https://api.{}", self.domain),
        };
        // The server chose one for the whole process; a program without a server has not.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let inner = Inner {
            api: Api::new(base, self.api_key.as_ref())?,
            plane: Arc::new(Plane::new(self.sandbox_url.as_deref(), self.domain)?),
            house: self.house,
            renamed: self.templates,
            lease: self.lease.max(lease::SHORTEST),
            places: Mutex::default(),
            offer: tokio::sync::Mutex::default(),
            is_old: AtomicBool::new(false),
            was_told: AtomicBool::new(false),
        };
        Ok(E2b { inner: Arc::new(inner) })
    }
}

impl Inner {
    fn place(&self, id: &SandboxId) -> Arc<Place> {
        Arc::clone(self.places().entry(id.clone()).or_default())
    }

    fn places(&self) -> MutexGuard<'_, HashMap<SandboxId, Arc<Place>>> {
        self.places.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn explain(&self, trouble: Trouble) -> ProviderError {
        trouble.explain(self.api.place())
    }
}

#[async_trait]
impl Provider for E2b {
    /// What E2B offers. A key that is missing or not accepted is no failure of E2B's: it offers nothing, and says why.
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        let inner = &self.inner;
        match inner.offer().await {
            Ok(fitness) => {
                inner.was_told.store(false, Ordering::Relaxed);
                Ok(fitness)
            }
            Err(trouble @ Trouble::NoKey) => Ok(nothing(inner.explain(trouble))),
            Err(trouble) if matches!(trouble.status(), Some(401 | 403)) => {
                let why = inner.explain(trouble);
                if !inner.was_told.swap(true, Ordering::Relaxed) {
                    tracing::warn!("{why}; sandboxes at E2B cannot be made until E2B_API_KEY is a good one");
                }
                Ok(nothing(why))
            }
            Err(trouble) => Err(inner.explain(trouble)),
        }
    }

    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        let (inner, id, spec, turn) = (Arc::clone(&self.inner), id.clone(), spec.clone(), self.inner.turn(id).await);
        // In a task of its own: whoever ends a sandbox whose creation was called off waits for it, and finds it.
        finish(tokio::spawn(async move { inner.create(&id, &spec, turn).await })).await
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        match self.inner.look(id).await? {
            None => Ok(Sighting::Missing),
            Some(seen) => self.inner.sighting(&seen),
        }
    }

    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        if !self.inner.api.has_key() {
            return Ok(Vec::new());
        }
        self.inner.list().await
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        let (inner, id, turn) = (Arc::clone(&self.inner), id.clone(), self.inner.turn(id).await);
        finish(tokio::spawn(async move { inner.destroy(&id, turn).await })).await
    }

    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        let (e2b, access) = self.inner.access(id).await?;
        let token = access.token.clone();
        Ok(Endpoint::new(Arc::new(Caller { plane: Arc::clone(&self.inner.plane), id: e2b, access }), token))
    }

    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        let seen = self.inner.look(id).await?.ok_or(ProviderError::Lost)?;
        if seen.state == State::Paused {
            return Ok(Usage::default());
        }
        let path = format!("/sandboxes/{}/metrics", seen.id);
        let metrics: Vec<Metric> = self.inner.api.get(&path).await.map_err(|trouble| self.inner.explain(trouble))?;
        // One that has just begun was not measured yet.
        let Some(newest) = metrics.into_iter().next_back() else { return Ok(Usage::default()) };
        Ok(Usage {
            memory_bytes: newest.mem_used.map(|used| used + newest.mem_cache.unwrap_or(0)),
            cache_bytes: newest.mem_cache,
            disk_bytes: newest.disk_used,
            ..Usage::default()
        })
    }

    async fn prolong(&self, wanted: &[(SandboxId, Timestamp)]) -> Result<(), ProviderError> {
        self.inner.prolong(wanted).await
    }

    async fn reap(&self, id: &SandboxId) -> Result<bool, ProviderError> {
        self.inner.reap(id).await
    }

    async fn set_network(&self, id: &SandboxId, network: &Network) -> Result<(), ProviderError> {
        let (inner, id, network) = (Arc::clone(&self.inner), id.clone(), network.clone());
        let turn = self.inner.turn(&id).await;
        finish(tokio::spawn(async move { inner.set_network(&id, &network, turn).await })).await
    }

    fn reach(&self) -> Reach {
        Reach::Anywhere
    }

    fn lacks_gateway(&self) -> Option<String> {
        Some("sandboxes at E2B cannot ask this house for anything; what they need is carried there".into())
    }

    fn pausing(&self) -> Option<&dyn Pausing> {
        Some(self)
    }

    fn forking(&self) -> Option<&dyn Forking> {
        Some(self)
    }

    fn templating(&self) -> Option<&dyn Templating> {
        Some(self)
    }
}

fn nothing(why: ProviderError) -> Fitness {
    Fitness { isolation: Vec::new(), templates: Vec::new(), missing: vec![sentence(&why.to_string())] }
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
