//! One sandbox in its slot: made, introduced, looked at, ended.

use std::{
    os::fd::OwnedFd,
    sync::{Arc, atomic::Ordering},
};

use carrel_envd::{Envd, Init};
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Network, NetworkMode, Spec},
};
use secrecy::SecretString;
use tokio::{
    sync::{Mutex, MutexGuard, OwnedMutexGuard},
    task::AbortHandle,
};

use super::{
    Inner, aside,
    interface::Interfaces,
    line,
    record::Record,
    slot::{Held, unavailable},
};
use crate::{
    Furniture, ProviderError, Sighting, egress,
    providers::common::{GATEWAY_PORT, silent, start, surroundings, trust, trusting},
    template::LayerId,
};

/// Where one sandbox is, or is about to be. Whoever holds the desk may move it.
pub(crate) struct Place {
    desk: Arc<Mutex<Option<Desk>>>,
    traffic: Arc<egress::Traffic>,
}

/// A slot that belongs to a sandbox.
pub(crate) struct Desk {
    pub(crate) record: Record,
    /// Its network namespace, while it has processes.
    pub(crate) network: Option<Arc<OwnedFd>>,
    /// Serves its gateway.
    pub(crate) gateway: Option<AbortHandle>,
    /// What its gateway goes by.
    pub(crate) policy: Option<Arc<egress::Policy>>,
    /// Keeps callers waiting while its memory is written.
    pub(crate) gate: line::Gate,
    /// Lines to its envd that nobody has used yet.
    pub(crate) kept: line::Kept,
    /// Speaks with its envd, when somebody did before it had an owner.
    pub(crate) envd: Option<Envd>,
    /// Its envd was told who it is.
    pub(crate) greeted: bool,
    /// It is of an earlier life of the server.
    pub(crate) found: bool,
}

impl Place {
    pub(crate) fn empty() -> Arc<Place> {
        Arc::new(Place { desk: Arc::default(), traffic: Arc::default() })
    }

    pub(crate) async fn desk(&self) -> MutexGuard<'_, Option<Desk>> {
        self.desk.lock().await
    }

    /// The same, for somebody who goes on with it alone.
    pub(crate) async fn desk_to_keep(&self) -> OwnedMutexGuard<Option<Desk>> {
        Arc::clone(&self.desk).lock_owned().await
    }

    /// Bytes received and sent through the gateway.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        (self.traffic.received.load(Ordering::Relaxed), self.traffic.sent.load(Ordering::Relaxed))
    }

    pub(crate) async fn sighting(&self) -> Sighting {
        match &*self.desk().await {
            None => Sighting::Missing,
            Some(desk) => desk.sighting(),
        }
    }
}

impl Desk {
    pub(crate) fn new(record: Record) -> Desk {
        let (gate, kept) = (line::Gate::new(), line::Kept::default());
        let (network, gateway, policy, envd) = (None, None, None, None);
        Desk { record, network, gateway, policy, gate, kept, envd, greeted: false, found: false }
    }

    /// What has files and no processes sleeps, whether it was put to sleep or its processes were lost.
    fn sighting(&self) -> Sighting {
        let alive = self.record.first.is_some_and(|first| first.is_alive());
        match self.record.asleep {
            Some(_) => Sighting::Paused,
            None if alive => Sighting::Running,
            None => Sighting::Paused,
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.record.first.is_some_and(|first| first.is_alive())
    }

    pub(crate) fn let_go(&mut self) {
        self.network = None;
        self.greeted = false;
        self.kept.hang_up();
        if let Some(envd) = self.envd.take() {
            envd.hang_up();
        }
        if let Some(gateway) = self.gateway.take() {
            gateway.abort();
        }
    }
}

impl Inner {
    /// Finds the slots of an earlier life: those with an owner go on, those of the pool end.
    pub(crate) async fn take_up(self: &Arc<Self>) -> std::io::Result<()> {
        let inner = Arc::clone(self);
        let found = aside(move || {
            inner.yard.forget_drafts()?;
            let records = inner.yard.records()?;
            inner.yard.sweep_cgroups(&records);
            let (owned, left): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.id.is_some());
            for record in left {
                inner.yard.end(&record)?;
            }
            inner.yard.empty_trash()?;
            inner.yard.sweep_memory()?;
            let mut found = Vec::with_capacity(owned.len());
            for mut record in owned {
                inner.yard.mend(&mut record)?;
                if record.asleep == Some(Depth::Stored) {
                    inner.yard.settle_stored(&mut record)?;
                }
                inner.yard.settle(&mut record)?;
                let network = match record.first.filter(|first| first.is_alive()) {
                    Some(first) => std::fs::File::open(format!("/proc/{}/ns/net", first.pid)).ok(),
                    None => None,
                };
                // Frozen memory does not outlive its processes; files do.
                if network.is_none() && matches!(record.asleep, Some(Depth::Frozen | Depth::PagedOut)) {
                    record.asleep = Some(Depth::Files);
                    inner.yard.keep(&record)?;
                }
                found.push((record, network.map(|file| Arc::new(OwnedFd::from(file)))));
            }
            Ok(found)
        });
        for (record, network) in found.await? {
            let Some(id) = record.id.clone() else { continue };
            let place = Place::empty();
            let mut desk = Desk { network, found: true, ..Desk::new(record) };
            self.reopen_gateway(&mut desk, &place).await;
            *place.desk().await = Some(desk);
            self.places().insert(id, place);
        }
        Ok(())
    }

    pub(crate) async fn create(
        self: &Arc<Self>,
        id: &SandboxId,
        spec: &Spec,
        furniture: Option<&Furniture>,
    ) -> Result<(), ProviderError> {
        let place = Arc::clone(self.places().entry(id.clone()).or_insert_with(Place::empty));
        let mut desk = place.desk().await;
        let made = self.create_at(id, spec, furniture, &place, &mut desk).await;
        if desk.is_none() {
            self.places().remove(id);
        }
        made
    }

    async fn create_at(
        self: &Arc<Self>,
        id: &SandboxId,
        spec: &Spec,
        furniture: Option<&Furniture>,
        place: &Arc<Place>,
        desk: &mut Option<Desk>,
    ) -> Result<(), ProviderError> {
        if let Some(desk) = desk {
            if desk.record.ready || desk.record.asleep.is_some() {
                return Ok(());
            }
            if !desk.is_alive() {
                self.launch(desk, place).await?;
            }
            self.attach_interface(desk).await?;
            return self.settle_in(desk, furniture).await;
        }
        if let Some(why) = spec.network.interface.then(Interfaces::missing).flatten() {
            return Err(ProviderError::Unfit { why });
        }
        for mount in &spec.volumes {
            self.make_volume(&mount.volume).await?;
        }
        let template = self.find_template(spec).await?;
        // A copy of a sandbox has its checkout already.
        let furniture = furniture.filter(|_| !template.layers.iter().any(LayerId::is_checkout));
        let template = match furniture {
            Some(furniture) => self.furnish(template, furniture).await?,
            None => template,
        };
        // Processes that were kept know nothing of volumes.
        let remembers = template.memory && spec.volumes.is_empty();
        let remembered = if remembers { self.revive(&template, spec).await? } else { Err(None) };
        let (mut record, held) = match remembered {
            Ok(slot) => slot,
            Err(why) => {
                let (mut record, held) = match self.expected.take(id).await {
                    Some((record, held)) if record.layers == template.layers && record.config == template.config => {
                        (record, held)
                    }
                    other => {
                        // The template was made anew in between.
                        if let Some((record, _)) = other {
                            self.end_slot(record).await?;
                        }
                        self.slot(&template, spec).await?
                    }
                };
                record.unfit.extend(why);
                (record, held)
            }
        };
        record.belong_to(id, spec);
        record.furnished = furniture.map(|_| false);
        if !record.network.headers.is_empty() {
            let made =
                egress::Authority::make(id.as_str()).map_err(|error| unavailable("make its authority", &error))?;
            record.authority = Some(made);
        }
        self.yard.keep(&record).map_err(|error| unavailable("remember it", &error))?;
        if let Some(furniture) = furniture {
            // The record has it from now on.
            self.yard.shelves.release(&furniture.layer);
        }
        let made = desk.insert(Desk::new(record));
        self.hold(made, place, held);
        if made.gateway.is_none() {
            self.reopen_gateway(made, place).await;
        }
        self.attach_interface(made).await?;
        self.settle_in(made, furniture).await
    }

    /// Gives it the interface that it asked for, if it did.
    async fn attach_interface(self: &Arc<Self>, desk: &Desk) -> Result<(), ProviderError> {
        let Some(first) = desk.record.first.filter(|_| desk.record.network.interface) else { return Ok(()) };
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let attached = aside(move || inner.yard.interfaces.attach(&record.name, record.base, first)).await;
        attached.map_err(|error| unavailable("give it an interface", &error))
    }

    /// Launches a slot whose processes have ended.
    pub(crate) async fn launch(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) -> Result<(), ProviderError> {
        desk.let_go();
        let (inner, mut record) = (Arc::clone(self), desk.record.clone());
        let launched = aside(move || {
            // What is left of the former life goes first.
            inner.yard.stop(&record)?;
            Ok(inner.yard.launch(&mut record).map(|held| (record, held)))
        });
        let (record, held) = launched.await.map_err(|error| unavailable("launch it", &error))??;
        desk.record = record;
        desk.record.ready = false;
        self.hold(desk, place, held);
        self.attach_interface(desk).await
    }

    /// Takes hold of a running slot: its network and its gateway.
    pub(crate) fn hold(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>, held: Held) {
        desk.network = Some(held.network);
        (desk.gate, desk.kept) = (held.gate, held.kept);
        (desk.envd, desk.greeted) = (held.envd, held.greeted);
        if let Some(listener) = held.gateway {
            let listener = std::net::TcpListener::from(listener);
            self.serve_gateway(desk, place, listener);
        }
    }

    fn serve_gateway(&self, desk: &mut Desk, place: &Arc<Place>, listener: std::net::TcpListener) {
        let served = listener.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(listener));
        if let Ok(listener) = served {
            let whose = desk.record.id.as_ref().map_or(desk.record.name.clone(), ToString::to_string);
            let policy = Arc::new(egress::Policy::new(whose, desk.record.network.clone()));
            let traffic = Arc::clone(&place.traffic);
            let hatch = desk.record.id.clone().map(|id| self.hatch.of(id));
            if let Some(authority) = &desk.record.authority {
                policy.trust(authority.clone());
            }
            desk.policy = Some(Arc::clone(&policy));
            let proxy = egress::serve(listener, Arc::clone(&policy), Arc::clone(&traffic), hatch.clone());
            let ear = desk.network.clone().map(|network| line::Inside { visitor: self.visitor.clone(), network });
            let serving = async move {
                match ear {
                    Some(ear) => drop(tokio::join!(proxy, egress::answer_names(ear, policy, traffic, hatch))),
                    None => proxy.await,
                }
            };
            desk.gateway = Some(tokio::spawn(serving).abort_handle());
        }
    }

    /// The listener of an earlier life died with it; the port is free for the next one.
    pub(crate) async fn reopen_gateway(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) {
        let Some(network) = desk.network.clone() else { return };
        let (done, opened) = tokio::sync::oneshot::channel();
        self.visitor.listen(network, std::net::Ipv4Addr::LOCALHOST, GATEWAY_PORT, move |answer| {
            let _ = done.send(answer);
        });
        let opened = match (opened.await, desk.record.first) {
            // A plain user cannot send a thread there: a process goes.
            (Ok(Err(error)), Some(first)) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let inner = Arc::clone(self);
                aside(move || inner.yard.launcher.listen(first, GATEWAY_PORT)).await
            }
            (Ok(answer), _) => answer,
            (Err(_), _) => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        match opened {
            Ok(listener) => self.serve_gateway(desk, place, listener),
            // Somebody inside has taken the port meanwhile: the sandbox does without.
            _ => desk.record.unfit.push("its gateway could not be opened again".into()),
        }
    }

    /// Tells the envd of a sandbox who it is, and runs the start command, unless that was done.
    pub(crate) async fn introduce(&self, desk: &mut Desk) -> Result<(), ProviderError> {
        self.settle_in(desk, None).await
    }

    /// The same, and lays down what is its own of a checkout first.
    async fn settle_in(&self, desk: &mut Desk, furniture: Option<&Furniture>) -> Result<(), ProviderError> {
        if desk.record.ready || desk.record.asleep.is_some() {
            return Ok(());
        }
        if !desk.greeted {
            let envd = desk.envd.clone().map_or_else(|| desk.envd(self), Ok)?;
            greet(&envd, &desk.record).await?;
            desk.greeted = true;
        }
        let record = &desk.record;
        if record.furnished == Some(false) {
            let why = || ProviderError::Unavailable { why: "its checkout is not finished".into() };
            self.lay_down(&desk.envd(self)?, record, furniture.ok_or_else(why)?).await?;
            desk.record.furnished = Some(true);
            // Once: whoever works there changes these files.
            self.yard.keep(&desk.record).map_err(|error| unavailable("remember its checkout", &error))?;
        }
        if let Some(authority) = &desk.record.authority {
            trust(&desk.envd(self)?, authority).await?;
        }
        let record = &desk.record;
        if let Some(command) = record.config.start_command.as_ref().filter(|_| !record.remembers) {
            start(&desk.envd(self)?, command, record.config.ready_command.as_deref()).await?;
        }
        desk.record.ready = true;
        if desk.record.config.start_command.is_some() {
            // It runs once, whoever serves the sandbox next.
            self.yard.keep(&desk.record).map_err(|error| unavailable("remember that it started", &error))?;
        }
        Ok(())
    }

    /// Changes whom a sandbox may talk to, while it works or sleeps.
    pub(crate) async fn set_network(&self, id: &SandboxId, network: &Network) -> Result<(), ProviderError> {
        let place = self.place(id).ok_or(ProviderError::Lost)?;
        let mut desk = place.desk().await;
        let desk = desk.as_mut().ok_or(ProviderError::Lost)?;
        if desk.record.claimed {
            self.note_known(desk)?;
        }
        if desk.record.network == *network {
            return Ok(());
        }
        if desk.record.network.interface || network.interface {
            let why = "the network of a sandbox with an interface of its own is chosen when it is made";
            return Err(ProviderError::Unfit { why: why.into() });
        }
        let opens = desk.record.network.mode == NetworkMode::None && network.mode != NetworkMode::None;
        desk.record.network = network.clone();
        let needs_authority = desk.record.authority.is_none() && !network.headers.is_empty();
        if needs_authority {
            let made =
                egress::Authority::make(id.as_str()).map_err(|error| unavailable("make its authority", &error))?;
            desk.record.authority = Some(made);
        }
        // Remembered first: whoever serves it next goes by it, whatever happens to us.
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember its network", &error))?;
        let awake = desk.record.asleep.is_none() && desk.is_alive();
        // Believed before anybody is shown it.
        if let Some(authority) = desk.record.authority.as_ref().filter(|_| needs_authority && awake) {
            trust(&desk.envd(self)?, authority).await?;
        }
        if let Some(policy) = &desk.policy {
            if let Some(authority) = &desk.record.authority {
                policy.trust(authority.clone());
            }
            policy.change(network.clone());
        }
        // One that an earlier version of us made without a network was told of no proxy: what begins from now on finds
        // it in its environment. What sleeps is told when it wakes anew.
        if awake && (needs_authority || opens) {
            desk.envd(self)?.init(&greeting(&desk.record)).await.map_err(silent)?;
        }
        Ok(())
    }

    pub(crate) async fn destroy(self: &Arc<Self>, id: &SandboxId) -> Result<(), ProviderError> {
        if let Some((record, _)) = self.expected.take(id).await {
            self.end_slot(record).await?;
        }
        let Some(place) = self.place(id) else { return Ok(()) };
        let mut desk = place.desk().await;
        if let Some(held) = desk.as_mut() {
            held.let_go();
            self.end_slot(held.record.clone()).await?;
            let stood_on_snapshots = held.record.layers.iter().any(|layer| !layer.is_digest());
            *desk = None;
            if stood_on_snapshots {
                // It may have been the last that stood on one whose template is forgotten.
                self.collect_layers().await?;
            }
        }
        self.places().remove(id);
        Ok(())
    }

    /// Ends a slot; its files are deleted by and by.
    pub(crate) async fn end_slot(self: &Arc<Self>, record: Record) -> Result<(), ProviderError> {
        let inner = Arc::clone(self);
        let ended = aside(move || inner.yard.end(&record)).await;
        ended.map_err(|error| unavailable("end it", &error))?;
        let inner = Arc::clone(self);
        tokio::task::spawn_blocking(move || inner.yard.empty_trash());
        Ok(())
    }
}

/// Tells the envd of a slot whose it is.
pub(crate) async fn greet(envd: &Envd, record: &Record) -> Result<(), ProviderError> {
    envd.init(&greeting(record)).await.map_err(silent)
}

/// What the envd of a sandbox is told.
fn greeting(record: &Record) -> Init {
    let mut env = record.config.env.clone();
    env.extend(surroundings(record.id.as_ref(), &record.template, &record.network));
    if record.authority.is_some() {
        env.extend(trusting());
    }
    env.extend(record.env.clone());
    Init {
        env,
        token: Some(SecretString::from(record.token.clone())),
        default_user: record.config.user.clone(),
        default_workdir: record.config.workdir.clone(),
        hostname: None,
    }
}
