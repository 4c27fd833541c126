//! The OCI provider: sandboxes in a container runtime that the host has, gVisor's `runsc` before all others.
//!
//! A sandbox lives in a *slot*, as at the local provider: a container with its folder, its cgroups and a record. The
//! runtime is a program that is called and ends; the cgroups are ours, and whatever is in them ends with the sandbox. What
//! has a record and no process keeps its files, and is seen as paused.
//!
//! A gVisor sandbox has no network but its own loopback. Two sockets in a shared folder lead in and out: one to its
//! envd, one from its gateway. Because nothing else of it is the host's, its memory can be stored and brought back.
//!
//! Absent on purpose: a warm pool (what waits costs 20 MB each) and the making of templates, which the local provider
//! does for both.

mod bundle;
mod desk;
mod line;
mod record;
mod root;
mod runtime;
mod sleep;
mod slot;
mod snapshot;
mod trial;
mod watch;

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Network, Spec, Usage},
};
use tokio::sync::Mutex;

use self::{
    desk::Place,
    slot::{Yard, unavailable},
    trial::Trial,
};
use super::common::{aside, finish};
use crate::{
    Endpoint, Fitness, Forking, MetLimits, Pausing, Provider, ProviderError, Reach, Sighting,
    egress::Hatch,
    providers::local::{DiskChoice, disk},
    template::{self, Progress, Shelves, Template},
};

/// The template that is always there.
const HOST: &str = "host";

/// How the OCI provider works.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where everything lies.
    pub folder: PathBuf,
    /// Sets the cgroups of this house apart from those of others on the same machine.
    pub house: String,
    /// The runtime; the best one that is found and works when it is not said.
    pub runtime: Option<PathBuf>,
    /// Where templates lie. They may be somebody else's too.
    pub shelves: Shelves,
    /// What sandboxes write to.
    pub disk: DiskChoice,
    /// Leads from inside to the doors of the house.
    pub hatch: Hatch,
}

/// Sandboxes in a container runtime. Clones share them.
#[derive(Clone)]
pub struct Oci {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    hatch: Hatch,
    yard: Yard,
    /// The runtime that was asked for.
    asked: Option<PathBuf>,
    trial: Mutex<Option<Arc<Trial>>>,
    places: std::sync::Mutex<HashMap<SandboxId, Arc<Place>>>,
    /// The host's own programs, once they were looked at.
    host: Mutex<Option<Template>>,
}

impl Config {
    /// Opens the provider: takes up what an earlier life left. Needs a tokio runtime; looks for no container runtime yet.
    pub async fn build(self) -> io::Result<Oci> {
        let inner = aside(move || {
            // The local provider of the same house ends every cgroup that it does not know.
            let house = format!("{}-oci", self.house);
            Ok(Inner {
                hatch: self.hatch,
                yard: Yard::open(&self.folder, house, self.disk, self.shelves)?,
                asked: self.runtime,
                trial: Mutex::default(),
                places: std::sync::Mutex::default(),
                host: Mutex::default(),
            })
        });
        let inner = Arc::new(inner.await?);
        let needs = Arc::downgrade(&inner);
        inner.yard.shelves.also_needed_by(move || match needs.upgrade() {
            Some(inner) => inner.yard.layers_in_use().map(Some),
            None => Ok(None),
        });
        inner.take_up().await?;
        watch::start(&inner);
        Ok(Oci { inner })
    }
}

impl Oci {
    /// Lets go of what nobody needs. Sandboxes live on.
    pub async fn close(&self) {
        let inner = Arc::clone(&self.inner);
        let _ = aside(move || inner.yard.close()).await;
    }
}

impl Inner {
    fn place(&self, id: &SandboxId) -> Option<Arc<Place>> {
        self.places().get(id).cloned()
    }

    fn places(&self) -> std::sync::MutexGuard<'_, HashMap<SandboxId, Arc<Place>>> {
        self.places.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn find_template(&self, name: &TemplateName) -> Result<Template, ProviderError> {
        if name.as_str() == HOST {
            return self.host_template().await;
        }
        let found = self.yard.shelves.find(name).map_err(|error| unavailable("look for the template", &error))?;
        found.ok_or_else(|| ProviderError::Unfit { why: format!("there is no template `{name}`") })
    }

    /// The host's own programs; made at the first use of each start.
    async fn host_template(&self) -> Result<Template, ProviderError> {
        let mut host = self.host.lock().await;
        if let Some(template) = &*host {
            return Ok(template.clone());
        }
        let made = template::make_host(&self.yard.shelves, &Progress::silent()).await?;
        self.yard.shelves.keep(&made).map_err(|error| unavailable("keep the template", &error))?;
        Ok(host.insert(made).clone())
    }
}

#[async_trait]
impl Provider for Oci {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        let kept = self.inner.yard.shelves.templates().map_err(|error| unavailable("list the templates", &error))?;
        let mut templates = vec![HOST.parse().expect("a good name")];
        templates.extend(kept.into_iter().map(|template| template.name).filter(|name| name.as_str() != HOST));
        let trial = self.inner.trial().await?;
        let mut missing = trial.missing.clone();
        missing.extend(self.inner.yard.hierarchies.missing());
        missing.extend(self.inner.yard.disk().unfit());
        let isolation = trial.runtime.iter().map(|runtime| runtime.kind.isolation()).collect();
        Ok(Fitness { isolation, templates, missing })
    }

    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        let (inner, id, spec) = (Arc::clone(&self.inner), id.clone(), spec.clone());
        // In a task of its own: a caller that goes away leaves a sandbox that is whole, to be ended like any other.
        finish(tokio::spawn(async move { inner.create(&id, &spec).await })).await
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
        let desk = desk.as_mut().filter(|desk| desk.record.is_alive()).ok_or(ProviderError::Lost)?;
        self.inner.introduce(desk).await?;
        Ok(desk.endpoint(&self.inner))
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

    async fn set_network(&self, id: &SandboxId, network: &Network) -> Result<(), ProviderError> {
        let (inner, id, network) = (Arc::clone(&self.inner), id.clone(), network.clone());
        finish(tokio::spawn(async move { inner.set_network(&id, &network).await })).await
    }

    fn reach(&self) -> Reach {
        Reach::Node
    }

    fn pausing(&self) -> Option<&dyn Pausing> {
        Some(self)
    }

    fn forking(&self) -> Option<&dyn Forking> {
        Some(self)
    }
}
