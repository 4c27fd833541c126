//! The local provider: sandboxes on this machine's own kernel, made by the `linux` crate.
//!
//! A sandbox lives in a *slot*: a jail with its folder, its cgroups and a record. Slots wait in a warm pool without an
//! owner; creating a sandbox claims one, or makes one. Slots are found again after a restart by their records; what has
//! a record and no process keeps its files, and is seen as paused: nothing that was done inside is lost with its
//! processes.

mod claim;
mod criu;
mod desk;
pub(crate) mod disk;
mod expected;
mod furnish;
pub(crate) mod guest;
mod interface;
mod kinds;
mod line;
mod makings;
mod pool;
mod pressure;
mod record;
mod shell;
mod sleep;
mod slot;
mod snapshot;
mod templates;
mod volumes;
mod watch;

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use carrel_envd::Envd;
use carrel_linux::visit::Visitor;
use carrel_model::{
    SandboxId,
    sandbox::{Isolation, Network, Spec, Usage},
};
use secrecy::SecretString;
use tokio::sync::Mutex;

pub use self::disk::DiskChoice;
use self::{
    desk::{Desk, Place},
    expected::Expected,
    makings::Makings,
    pool::Pool,
    shell::Shells,
    slot::{Yard, unavailable},
};
use super::common::{aside, finish};
use crate::{
    Claimed, Endpoint, Fitness, Forking, Furnishing, MetLimits, Naming, Pausing, Provider, ProviderError, Reach,
    Sighting, Stowing, Templating, egress::Hatch, template::Template,
};

/// The template that is always there.
const HOST: &str = "host";

/// How the local provider works.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where everything lies.
    pub folder: PathBuf,
    /// Sets the cgroups of this house apart from those of others on the same machine.
    pub house: String,
    /// The program that is the launcher, and what makes it so. The scratch folder is added as last argument.
    pub launcher: (PathBuf, Vec<String>),
    /// The warm pool.
    pub pool: PoolSize,
    /// What sandboxes write to.
    pub disk: DiskChoice,
    /// Leads from inside to the doors of the house.
    pub hatch: Hatch,
}

/// How many slots wait.
#[derive(Debug, Clone, Copy)]
pub struct PoolSize {
    /// For each template and size that is in use.
    pub target: usize,
    /// For all together.
    pub cap: usize,
    /// How many shells wait, which are of no template: namespaces and cgroups, without a root.
    pub shells: usize,
}

/// Sandboxes on this machine. Clones share them.
#[derive(Clone)]
pub struct Local {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    hatch: Hatch,
    yard: Yard,
    visitor: Visitor,
    pool: Pool,
    shells: Shells,
    places: std::sync::Mutex<HashMap<SandboxId, Arc<Place>>>,
    expected: Expected,
    /// The templates that are being made.
    makings: Makings,
    /// They are made one at a time.
    making: Mutex<()>,
    /// The host's own programs, once they were looked at.
    host: Mutex<Option<Template>>,
}

impl Config {
    /// Opens the provider: takes up what an earlier life left. Needs a runtime.
    pub async fn build(self) -> io::Result<Local> {
        let inner = aside(move || {
            let (pool, shells, hatch) = (Pool::new(self.pool), Shells::new(self.pool.shells), self.hatch.clone());
            Ok(Inner {
                hatch,
                yard: Yard::open(self)?,
                visitor: Visitor::start()?,
                pool,
                shells,
                places: std::sync::Mutex::default(),
                expected: Expected::default(),
                makings: Makings::default(),
                making: Mutex::default(),
                host: Mutex::default(),
            })
        });
        let inner = Arc::new(inner.await?);
        inner.take_up().await?;
        Pool::start(&inner);
        Shells::start(&inner);
        watch::start(&inner);
        pressure::start(&inner);
        Ok(Local { inner })
    }
}

impl Local {
    /// Ends the makings of templates and what waits in the pool, and lets the launcher go. Sandboxes live on.
    pub async fn close(&self) {
        self.inner.makings.close().await;
        self.inner.pool.close().await;
        let shells = self.inner.shells.close().await;
        let inner = Arc::clone(&self.inner);
        let closed = aside(move || {
            for record in inner.pool.take_all().into_iter().chain(shells) {
                // One that resists does not keep the others; the next start ends it.
                if let Err(error) = inner.yard.end(&record) {
                    tracing::warn!(%error, slot = record.name, "a slot that waited was not ended");
                }
            }
            inner.yard.close()
        });
        if let Err(error) = closed.await {
            tracing::warn!(%error, "what sandboxes lived on is not wholly put away; the next start goes on with it");
        }
    }

    /// Where its templates lie, for other providers on this machine that live on them too.
    pub fn shelves(&self) -> crate::template::Shelves {
        self.inner.yard.shelves.clone()
    }

    /// How often the pool had a slot, and how often it had none.
    pub fn pool_counts(&self) -> (u64, u64) {
        self.inner.pool.counts()
    }

    /// How many shells wait.
    pub fn shells_waiting(&self) -> usize {
        self.inner.shells.count()
    }

    /// How many slots wait.
    pub fn pool_waiting(&self) -> usize {
        self.inner.pool.waiting()
    }
}

impl Inner {
    fn place(&self, id: &SandboxId) -> Option<Arc<Place>> {
        self.places().get(id).cloned()
    }

    fn places(&self) -> std::sync::MutexGuard<'_, HashMap<SandboxId, Arc<Place>>> {
        self.places.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn find_template(&self, spec: &Spec) -> Result<Template, ProviderError> {
        if spec.template.as_str() == HOST {
            return self.host_template().await;
        }
        let found =
            self.yard.shelves.find(&spec.template).map_err(|error| unavailable("look for the template", &error))?;
        found.ok_or_else(|| ProviderError::Unfit { why: format!("there is no template `{}`", spec.template) })
    }
}

#[async_trait]
impl Provider for Local {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        let kept = self.inner.yard.shelves.templates().map_err(|error| unavailable("list the templates", &error))?;
        let mut templates = vec![HOST.parse().expect("a good name")];
        templates.extend(kept.into_iter().map(|template| template.name).filter(|name| name.as_str() != HOST));
        let mut missing = carrel_linux::fitness::missing();
        missing.extend(self.inner.yard.hierarchies.missing());
        missing.extend(self.inner.yard.disk().unfit());
        missing.extend(self.inner.yard.criu.missing());
        Ok(Fitness { isolation: vec![Isolation::Namespace], templates, missing })
    }

    fn expect(&self, id: &SandboxId, spec: &Spec) {
        self.inner.expect(id, spec);
    }

    async fn claim(&self, id: &SandboxId, spec: &Spec, naming: Naming) -> Option<Claimed> {
        let (inner, id, spec) = (Arc::clone(&self.inner), id.clone(), spec.clone());
        tokio::spawn(async move { inner.claim(id, &spec, naming).await }).await.ok().flatten()
    }

    async fn confirm(&self, id: &SandboxId) {
        self.inner.confirm(id).await;
    }

    async fn reap(&self, id: &SandboxId) -> Result<bool, ProviderError> {
        match self.inner.is_left_claimed(id).await {
            true => self.destroy(id).await.map(|()| true),
            false => Ok(false),
        }
    }

    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        let (inner, id, spec) = (Arc::clone(&self.inner), id.clone(), spec.clone());
        // In a task of its own: a caller that goes away leaves a sandbox that is whole, to be ended like any other.
        finish(tokio::spawn(async move { inner.create(&id, &spec, None).await })).await
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        match self.inner.place(id) {
            Some(place) => Ok(place.sighting().await),
            None => Ok(Sighting::Missing),
        }
    }

    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        let places: Vec<_> = self.inner.places().iter().map(|(id, place)| (id.clone(), Arc::clone(place))).collect();
        let mut seen = Vec::with_capacity(places.len());
        for (id, place) in places {
            match place.sighting().await {
                Sighting::Missing => {}
                sighting => seen.push((id, sighting)),
            }
        }
        Ok(seen)
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        finish(tokio::spawn(async move { inner.destroy(&id).await })).await
    }

    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        let place = self.inner.place(id).ok_or(ProviderError::Lost)?;
        let mut desk = place.desk().await;
        let desk = desk.as_mut().ok_or(ProviderError::Lost)?;
        self.inner.introduce(desk).await?;
        desk.endpoint(&self.inner)
    }

    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        let place = self.inner.place(id).ok_or(ProviderError::Lost)?;
        let record = place.desk().await.as_ref().ok_or(ProviderError::Lost)?.record.clone();
        let traffic = place.traffic();
        let inner = Arc::clone(&self.inner);
        let read = aside(move || {
            let reading = inner.yard.cgroup(&record).read();
            Ok(Usage {
                cpu_us: reading.cpu_us,
                memory_bytes: reading.memory,
                cache_bytes: reading.cache,
                disk_bytes: Some(disk::occupied(&inner.yard.upper(&record))),
                pids: reading.pids,
                received_bytes: Some(traffic.0),
                sent_bytes: Some(traffic.1),
                out_of_memory: reading.out_of_memory,
            })
        });
        read.await.map_err(|error| unavailable("read what it uses", &error))
    }

    async fn met_limits(&self, id: &SandboxId) -> Option<MetLimits> {
        let record = self.inner.place(id)?.desk().await.as_ref()?.record.clone();
        let inner = Arc::clone(&self.inner);
        let met = aside(move || Ok(inner.yard.cgroup(&record).met())).await.ok()??;
        Some(MetLimits { memory: met.memory, pids: met.pids })
    }

    async fn lacks(&self, id: &SandboxId) -> Option<Vec<String>> {
        let mut unfit = self.inner.place(id)?.desk().await.as_ref()?.record.unfit.clone();
        let mut said = std::collections::HashSet::new();
        unfit.retain(|sentence| said.insert(sentence.clone()));
        Some(unfit)
    }

    async fn set_network(&self, id: &SandboxId, network: &Network) -> Result<(), ProviderError> {
        let (inner, id, network) = (Arc::clone(&self.inner), id.clone(), network.clone());
        finish(tokio::spawn(async move { inner.set_network(&id, &network).await })).await
    }

    fn reach(&self) -> Reach {
        Reach::Node
    }

    fn lacks_interfaces(&self) -> Option<String> {
        interface::Interfaces::missing()
    }

    fn pausing(&self) -> Option<&dyn Pausing> {
        Some(self)
    }

    fn forking(&self) -> Option<&dyn Forking> {
        Some(self)
    }

    fn furnishing(&self) -> Option<&dyn Furnishing> {
        Some(self)
    }

    fn stowing(&self) -> Option<&dyn Stowing> {
        Some(self)
    }

    fn templating(&self) -> Option<&dyn Templating> {
        Some(self)
    }
}

impl Desk {
    /// Where others call it.
    fn endpoint(&self, inner: &Inner) -> Result<Endpoint, ProviderError> {
        let endpoint = self.reached_by(inner, Some(self.gate.clone()))?;
        Ok(Endpoint { open: self.envd.clone(), ..endpoint })
    }

    /// Calls it ourselves, also when others have to wait.
    fn envd(&self, inner: &Inner) -> Result<Envd, ProviderError> {
        Ok(self.reached_by(inner, None)?.envd())
    }

    fn reached_by(&self, inner: &Inner, gate: Option<line::Gate>) -> Result<Endpoint, ProviderError> {
        let network = self.network.clone().ok_or(ProviderError::Lost)?;
        let dial: Arc<dyn carrel_envd::Dial> = match inner.yard.socket_path(&self.record) {
            Some(path) => Arc::new(line::Neighbour(path)),
            None => Arc::new(line::Caller { visitor: inner.visitor.clone(), network, gate, kept: self.kept.clone() }),
        };
        Ok(Endpoint::new(dial, Some(SecretString::from(self.record.token.clone()))))
    }
}

impl Inner {
    /// Calls the envd of a slot that nobody lives in yet.
    fn caller(&self, held: &slot::Held) -> line::Caller {
        let (network, gate, kept) = (Arc::clone(&held.network), Some(held.gate.clone()), held.kept.clone());
        line::Caller { visitor: self.visitor.clone(), network, gate, kept }
    }

    /// The same one each time: whoever comes to live there finds its lines open.
    fn envd_of(&self, record: &record::Record, held: &mut slot::Held) -> Envd {
        if let Some(envd) = &held.envd {
            return envd.clone();
        }
        let dial: Arc<dyn carrel_envd::Dial> = match self.yard.socket_path(record) {
            Some(path) => Arc::new(line::Neighbour(path)),
            None => Arc::new(self.caller(held)),
        };
        held.envd.insert(Envd::new(dial, Some(SecretString::from(record.token.clone())))).clone()
    }
}
