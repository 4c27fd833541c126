//! One sandbox in its slot: made, introduced, looked at, ended.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use carrel_envd::{Envd, Init};
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Network, NetworkMode, Spec},
};
use secrecy::SecretString;
use tokio::{
    net::UnixListener,
    sync::{Mutex, MutexGuard},
    task::AbortHandle,
};

use super::{Inner, aside, line, record::Record, slot::unavailable};
use crate::{
    Endpoint, ProviderError, Sighting, egress,
    providers::common::{silent, start, surroundings},
};

/// How long envd may take to listen.
const WAKES: Duration = Duration::from_secs(30);

/// Where one sandbox is, or is about to be. Whoever holds the desk may move it.
pub(crate) struct Place {
    desk: Mutex<Option<Desk>>,
    traffic: Arc<egress::Traffic>,
}

/// A slot that belongs to a sandbox.
pub(crate) struct Desk {
    pub(crate) record: Record,
    /// Serves its gateway.
    gateway: Option<AbortHandle>,
    /// What its gateway goes by.
    policy: Option<Arc<egress::Policy>>,
}

impl Place {
    pub(crate) fn empty() -> Arc<Place> {
        Arc::new(Place { desk: Mutex::new(None), traffic: Arc::default() })
    }

    pub(crate) async fn desk(&self) -> MutexGuard<'_, Option<Desk>> {
        self.desk.lock().await
    }

    /// Bytes received and sent through the gateway.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        (self.traffic.received.load(Ordering::Relaxed), self.traffic.sent.load(Ordering::Relaxed))
    }

    pub(crate) async fn sighting(&self) -> Sighting {
        match &*self.desk().await {
            None => Sighting::Missing,
            Some(desk) if desk.record.asleep.is_none() && desk.record.is_alive() => Sighting::Running,
            // What has files and no processes sleeps, whether it was put to sleep or its processes were lost.
            Some(_) => Sighting::Paused,
        }
    }
}

impl Desk {
    pub(crate) fn of(record: Record) -> Desk {
        Desk { record, gateway: None, policy: None }
    }

    pub(crate) fn endpoint(&self, inner: &Inner) -> Endpoint {
        let dial = Arc::new(line::Caller { folder: inner.yard.run(&self.record) });
        Endpoint::new(dial, Some(SecretString::from(self.record.token.clone())))
    }

    pub(crate) fn envd(&self, inner: &Inner) -> Envd {
        let endpoint = self.endpoint(inner);
        Envd::new(endpoint.dial, endpoint.token)
    }

    pub(crate) fn let_go(&mut self) {
        if let Some(gateway) = self.gateway.take() {
            gateway.abort();
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Inner {
    /// Finds the slots of an earlier life: those with an owner go on, those that were a trial end.
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
            for record in &owned {
                // Half of it may have come up, or half of it be left.
                if !record.is_alive() {
                    inner.yard.stop(record)?;
                }
            }
            Ok(owned)
        });
        for mut record in found.await? {
            let Some(id) = record.id.clone() else { continue };
            // Frozen memory does not outlive its processes; files do.
            if !record.is_alive() && matches!(record.asleep, Some(Depth::Frozen | Depth::PagedOut)) {
                record.asleep = Some(Depth::Files);
                self.yard.keep(&record)?;
            }
            let place = Place::empty();
            let mut desk = Desk::of(record);
            // One that resists does not keep the others.
            if let Some(depth) = desk.record.falls
                && let Err(error) = self.fall_asleep(&mut desk, depth).await
            {
                tracing::warn!(sandbox = %id, %error, "a pause that was broken off could not be ended");
            }
            if desk.record.is_alive() {
                self.open_gateway(&mut desk, &place);
            }
            *place.desk().await = Some(desk);
            self.places().insert(id, place);
        }
        Ok(())
    }

    pub(crate) async fn create(self: &Arc<Self>, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        let place = Arc::clone(self.places().entry(id.clone()).or_insert_with(Place::empty));
        let mut desk = place.desk().await;
        let made = self.create_at(id, spec, &place, &mut desk).await;
        if desk.is_none() {
            self.places().remove(id);
        }
        made
    }

    async fn create_at(
        self: &Arc<Self>,
        id: &SandboxId,
        spec: &Spec,
        place: &Arc<Place>,
        desk: &mut Option<Desk>,
    ) -> Result<(), ProviderError> {
        if let Some(desk) = desk {
            if desk.record.asleep.is_some() || (desk.record.ready && desk.record.is_alive()) {
                return Ok(());
            }
            if !desk.record.is_alive() {
                self.launch(desk, place).await?;
            }
            return self.introduce(desk).await;
        }
        self.suits(spec).await?;
        let template = self.find_template(&spec.template).await?;
        let env = spec.env.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect();
        refuse_headers(&spec.network)?;
        if !spec.volumes.is_empty() {
            return Err(ProviderError::Unfit { why: "volumes need the provider `local`".into() });
        }
        let planned = self.yard.plan(Some(id.clone()), &template, spec.limits, spec.network.clone(), env);
        let record = planned.map_err(|error| unavailable("remember it", &error))?;
        let made = desk.insert(Desk::of(record));
        self.launch(made, place).await?;
        self.introduce(made).await
    }

    /// Launches a slot whose processes have ended, or never began.
    pub(crate) async fn launch(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) -> Result<(), ProviderError> {
        let runtime = self.runtime().await?;
        desk.let_go();
        desk.record.ready = false;
        let (inner, mut record) = (Arc::clone(self), desk.record.clone());
        let launched = aside(move || inner.yard.launch(&mut record, &runtime).map(|()| record));
        desk.record = launched.await.map_err(|error| unavailable("launch it", &error))?;
        self.open_gateway(desk, place);
        Ok(())
    }

    /// Listens in the folder of sockets. Only the host makes one there that leads out, and whoever takes it away inside
    /// cuts nobody off but itself.
    pub(crate) fn open_gateway(&self, desk: &mut Desk, place: &Arc<Place>) {
        desk.let_go();
        let path = self.yard.run(&desk.record).join(line::GATEWAY);
        let _ = std::fs::remove_file(&path);
        // Whoever is root inside calls it, and nobody else: not through a link, should somebody inside have been quicker.
        let base = Some(desk.record.base);
        match bind(&path).and_then(|listener| std::os::unix::fs::lchown(&path, base, base).map(|()| listener)) {
            Ok(listener) => {
                let whose = desk.record.id.as_ref().map_or(desk.record.name.clone(), ToString::to_string);
                let policy = Arc::new(egress::Policy::new(whose, desk.record.network.clone()));
                desk.policy = Some(Arc::clone(&policy));
                let traffic = Arc::clone(&place.traffic);
                let hatch = desk.record.id.clone().map(|id| self.hatch.of(id));
                desk.gateway = Some(tokio::spawn(egress::serve(listener, policy, traffic, hatch)).abort_handle());
            }
            Err(error) => tracing::warn!(sandbox = ?desk.record.id, %error, "its gateway could not be opened"),
        }
    }

    /// Tells the envd of a sandbox who it is, and runs the start command, unless that was done.
    pub(crate) async fn introduce(&self, desk: &mut Desk) -> Result<(), ProviderError> {
        if desk.record.ready || desk.record.asleep.is_some() {
            return Ok(());
        }
        let envd = self.await_envd(desk).await?;
        envd.init(&greeting(&desk.record)).await.map_err(silent)?;
        let record = &desk.record;
        if let Some(command) = &record.config.start_command {
            start(&envd, command, record.config.ready_command.as_deref()).await?;
        }
        desk.record.ready = true;
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember it", &error))
    }

    /// Waits until the envd of a sandbox answers. It rings no bell outside: it is asked again and again, for as long as
    /// the sandbox lives.
    pub(crate) async fn await_envd(&self, desk: &Desk) -> Result<Envd, ProviderError> {
        let envd = desk.envd(self);
        let asked = async {
            loop {
                match envd.health().await {
                    Ok(()) => return Ok(()),
                    Err(error) if !desk.record.is_alive() => return Err(silent(error)),
                    Err(_) => tokio::time::sleep(Duration::from_millis(3)).await,
                }
            }
        };
        match tokio::time::timeout(WAKES, asked).await {
            Ok(answered) => answered.map(|()| envd),
            Err(_) => Err(ProviderError::Unavailable { why: format!("its envd did not answer within {WAKES:?}") }),
        }
    }

    /// Changes whom a sandbox may talk to.
    pub(crate) async fn set_network(&self, id: &SandboxId, network: &Network) -> Result<(), ProviderError> {
        let place = self.place(id).ok_or(ProviderError::Lost)?;
        let mut desk = place.desk().await;
        let desk = desk.as_mut().ok_or(ProviderError::Lost)?;
        refuse_headers(network)?;
        let opens = desk.record.network.mode == NetworkMode::None && network.mode != NetworkMode::None;
        desk.record.network = network.clone();
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember its network", &error))?;
        if let Some(policy) = &desk.policy {
            policy.change(network.clone());
        }
        let awake = desk.record.asleep.is_none() && desk.record.is_alive();
        // One that an earlier version of us made without a network was told of no proxy.
        if awake && opens {
            desk.envd(self).init(&greeting(&desk.record)).await.map_err(silent)?;
        }
        Ok(())
    }

    pub(crate) async fn destroy(self: &Arc<Self>, id: &SandboxId) -> Result<(), ProviderError> {
        let Some(place) = self.place(id) else { return Ok(()) };
        let mut desk = place.desk().await;
        if let Some(held) = desk.as_mut() {
            held.let_go();
            self.end_slot(held.record.clone()).await?;
            *desk = None;
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

/// A sandbox whose kernel is another one is not given an authority yet.
fn refuse_headers(network: &Network) -> Result<(), ProviderError> {
    if network.headers.is_empty() {
        return Ok(());
    }
    Err(ProviderError::Unfit { why: "headers for requests on their way out need the provider `local`".into() })
}

/// What the envd of a sandbox is told.
fn greeting(record: &Record) -> Init {
    let mut env = record.config.env.clone();
    env.extend(surroundings(record.id.as_ref(), &record.template, &record.network));
    env.extend(record.env.clone());
    Init {
        env,
        token: Some(SecretString::from(record.token.clone())),
        default_user: record.config.user.clone(),
        default_workdir: record.config.workdir.clone(),
        hostname: None,
    }
}

/// Listens at a path of any length: the kernel takes names of a hundred bytes, folders may lie deeper.
fn bind(path: &std::path::Path) -> std::io::Result<UnixListener> {
    use std::os::fd::AsRawFd;
    let folder = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    let folder = std::fs::File::open(folder)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{}", folder.as_raw_fd(), line::GATEWAY))
}
