//! The house opened: what every desk and keeper has in common.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use carrel_model::{
    Action, Grant, ProviderName, Subject, Timestamp,
    audit::{AuditLine, Outcome},
    exec::Exec,
    public::{Readiness, ReadinessView},
};
use carrel_sandbox::Provider;
use carrel_store::Store;
use futures::FutureExt;
use tokio::sync::{broadcast, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    AgentsDesk, AuditDesk, Error, EventsDesk, ExecsDesk, FilesDesk, GatewayDesk, HooksDesk, KeysDesk, LogsDesk,
    ModelsDesk, NoticesDesk, OutboundDesk, PortsDesk, ProvidersDesk, PullsDesk, ReposDesk, SandboxesDesk, SecretsDesk,
    SessionsDesk, Settings, TasksDesk, TemplatesDesk, VolumesDesk, WorkDesk,
    desks::{keys::Doorman, network, outbound, repos, secrets, templates, volumes},
    forges::Forges,
    hooks::Postman,
    inside::{activity::Activities, follower, lines::Lines, live::Lives, samples, samples::Samples, scribe::Scribe},
    keeper::Keeper,
    library::Library,
    registry::{Post, Registry},
    shelf::Shelf,
    sweep,
    tasks::TaskKeeper,
};

/// How long the database may take to say that it can be written.
const PING_LASTS: Duration = Duration::from_secs(2);
/// How long an answer about the database holds.
const PING_HOLDS: Duration = Duration::from_millis(250);

/// The study. Clones share it.
#[derive(Clone)]
pub struct Control {
    pub(crate) house: Arc<House>,
}

pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) providers: Registry,
    pub(crate) keeper: Keeper,
    pub(crate) task_keeper: TaskKeeper,
    /// Carries what happens to hooks.
    pub(crate) postman: Postman,
    pub(crate) shelf: Shelf,
    /// The servers that are this house.
    pub(crate) nodes: crate::nodes::Nodes,
    pub(crate) doorman: Doorman,
    /// The repositories.
    pub(crate) library: Library,
    /// Where pull requests are.
    pub(crate) forges: Forges,
    /// The lines to what runs inside.
    pub(crate) lines: Lines,
    /// What goes on inside.
    pub(crate) activities: Activities,
    /// What was used inside.
    pub(crate) samples: Samples,
    /// The execs that are followed here.
    pub(crate) lives: Lives,
    /// Writes down what goes on inside.
    pub(crate) scribe: Scribe,
    /// Every exec when it begins and when it ends. Whoever does not keep up reads the rows again.
    pub(crate) exec_news: broadcast::Sender<Arc<Exec>>,
    /// The browsers that sign out here, by the hash of what they showed.
    pub(crate) sign_outs: broadcast::Sender<String>,
    /// What was refused at desks and told of.
    pub(crate) denials: crate::desks::denials::Denials,
    pub(crate) till: Arc<crate::desks::till::Till>,
    pub(crate) refusals: crate::desks::refusals::Refusals,
    /// Which tools are for whom.
    pub(crate) tools: crate::tools::Tools,
    /// When this life of the server began.
    pub(crate) began_at: Timestamp,
    draining: watch::Sender<bool>,
    /// How the database was when somebody last asked, for a moment: anybody may ask, and asking writes.
    pinged: tokio::sync::Mutex<Option<(Instant, String)>>,
    stop: CancellationToken,
    tasks: TaskTracker,
    /// Beats until the last step has ended, so that no lease runs out under it.
    pulse: CancellationToken,
    pulses: TaskTracker,
}

/// A request that may be repeated without being done twice.
#[derive(Debug, Clone)]
pub struct Idempotency {
    /// What the caller named it.
    pub key: String,
    /// Everything the request asks for, as text.
    pub request: String,
}

impl House {
    /// `ok`, or what is the matter with the database.
    async fn ping(&self) -> String {
        let mut pinged = self.pinged.lock().await;
        if let Some((at, told)) = &*pinged
            && at.elapsed() < PING_HOLDS
        {
            return told.clone();
        }
        let told = match tokio::time::timeout(PING_LASTS, self.store.ping()).await {
            Ok(Ok(())) => "ok".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it does not answer within {PING_LASTS:?}"),
        };
        *pinged = Some((Instant::now(), told.clone()));
        told
    }
}

impl Control {
    /// Opens the house: takes up what an earlier life left, then sets the keepers walking.
    pub async fn open(
        store: Store,
        providers: impl IntoIterator<Item = (ProviderName, Arc<dyn Provider>)>,
        settings: Settings,
    ) -> Result<Control, Error> {
        let post = |(name, provider): (ProviderName, _)| {
            (name.clone(), Arc::new(Post::new(name, provider, &settings.patience)))
        };
        let providers: Registry = providers.into_iter().map(post).collect();
        // The others are looked at by the first sweep: one that takes its time holds up nobody's start.
        if let Some(usual) = providers.get(&settings.defaults.provider) {
            usual.probe().await;
        }
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let house = Arc::new(House {
            keeper: Keeper::new(&settings, tasks.clone(), stop.clone()),
            task_keeper: TaskKeeper::default(),
            postman: Postman::new(settings.private_hooks),
            library: Library::open(&settings.library, settings.shared_library.as_deref()).await,
            forges: Forges::new(),
            lines: Lines::default(),
            activities: Activities::default(),
            samples: Samples::default(),
            lives: Lives::default(),
            scribe: Scribe::new(store.clone(), settings.transcript_cap.saturating_mul(4)),
            exec_news: broadcast::Sender::new(256),
            sign_outs: broadcast::Sender::new(64),
            nodes: crate::nodes::Nodes::new(&settings, store.now()),
            began_at: store.now(),
            store,
            settings,
            providers,
            shelf: Shelf::default(),
            doorman: Doorman::default(),
            denials: Default::default(),
            till: Default::default(),
            refusals: Default::default(),
            tools: Default::default(),
            draining: watch::Sender::new(false),
            pinged: tokio::sync::Mutex::default(),
            stop,
            tasks,
            pulse: CancellationToken::new(),
            pulses: TaskTracker::new(),
        });
        crate::nodes::join(&house).await?;
        house.keeper.take_up_former_lives(&house).await?;
        templates::take_up_former_lives(&house).await?;
        follower::take_up_former_lives(&house).await?;
        secrets::take_up_former_keys(&house).await?;
        outbound::take_up_former_keys(&house).await?;
        volumes::take_up_former_lives(&house).await?;
        network::take_up_former_lives(&house).await?;
        crate::pulls::take_up_former_lanes(&house).await?;
        house.go_on("nodes", crate::nodes::walk, &house.pulses, &house.pulse);
        house.go_on("bells", crate::bells::walk, &house.tasks, &house.stop);
        house.go_on("tasks", crate::tasks::walk, &house.tasks, &house.stop);
        house.go_on("sessions", crate::tasks::walk_sessions, &house.tasks, &house.stop);
        house.go_on("phases", crate::tasks::walk_phases, &house.tasks, &house.stop);
        house.go_on("heartbeat of tasks", crate::tasks::heartbeat, &house.pulses, &house.pulse);
        house.go_on("keeper", crate::keeper::walk, &house.tasks, &house.stop);
        house.go_on("sweep", sweep::walk, &house.tasks, &house.stop);
        house.go_on("samples", samples::walk, &house.tasks, &house.stop);
        house.go_on("repos", repos::walk, &house.tasks, &house.stop);
        house.go_on("pulls", crate::pulls::walk, &house.tasks, &house.stop);
        house.go_on("hooks", crate::hooks::walk, &house.tasks, &house.stop);
        house.go_on("heartbeat", crate::keeper::heartbeat, &house.pulses, &house.pulse);
        Ok(Control { house })
    }

    /// The sandboxes desk.
    pub fn sandboxes(&self) -> SandboxesDesk<'_> {
        SandboxesDesk { house: &self.house }
    }

    /// The tools desk.
    pub fn tools(&self) -> crate::ToolsDesk<'_> {
        crate::ToolsDesk { house: &self.house }
    }

    /// The keys desk.
    pub fn keys(&self) -> KeysDesk<'_> {
        KeysDesk { house: &self.house }
    }

    /// The desk that carries out what nobody needs.
    pub fn prune(&self) -> crate::PruneDesk<'_> {
        crate::PruneDesk { house: &self.house }
    }

    /// The quotas desk.
    pub fn quotas(&self) -> crate::QuotasDesk<'_> {
        crate::QuotasDesk { house: &self.house }
    }

    /// The events desk.
    pub fn events(&self) -> EventsDesk<'_> {
        EventsDesk { house: &self.house }
    }

    /// The audit desk.
    pub fn audit(&self) -> AuditDesk<'_> {
        AuditDesk { house: &self.house }
    }

    /// The providers desk.
    pub fn providers(&self) -> ProvidersDesk<'_> {
        ProvidersDesk { house: &self.house }
    }

    /// The execs desk.
    pub fn execs(&self) -> ExecsDesk<'_> {
        ExecsDesk { house: &self.house }
    }

    /// The files desk.
    pub fn files(&self) -> FilesDesk<'_> {
        FilesDesk { house: &self.house }
    }

    /// The ports desk.
    pub fn ports(&self) -> PortsDesk<'_> {
        PortsDesk { house: &self.house }
    }

    /// The logs desk.
    pub fn logs(&self) -> LogsDesk<'_> {
        LogsDesk { house: &self.house }
    }

    /// The templates desk.
    pub fn templates(&self) -> TemplatesDesk<'_> {
        TemplatesDesk { house: &self.house }
    }

    /// How much a sandbox may use when nobody says.
    pub fn usual_limits(&self) -> carrel_model::sandbox::Limits {
        self.house.settings.defaults.limits
    }

    /// Whether a key may ask once more, counted over all nodes; how long it waits when not. Nothing where each counts for
    /// itself, because there is no Redis or it does not answer.
    pub async fn counted_together(
        &self,
        key: &carrel_model::KeyId,
        per_second: std::num::NonZeroU32,
        burst: std::num::NonZeroU32,
    ) -> Option<Option<Duration>> {
        let redis = self.house.store.redis()?;
        redis.admit(key.as_str(), per_second.get(), burst.get()).await.ok()
    }

    /// What time it is in the house.
    pub fn now(&self) -> carrel_model::Timestamp {
        self.house.store.now()
    }

    /// The secrets desk.
    pub fn secrets(&self) -> SecretsDesk<'_> {
        SecretsDesk { house: &self.house }
    }

    /// The volumes desk.
    pub fn volumes(&self) -> VolumesDesk<'_> {
        VolumesDesk { house: &self.house }
    }

    /// The desk of secrets for requests on their way out.
    pub fn outbound(&self) -> OutboundDesk<'_> {
        OutboundDesk { house: &self.house }
    }

    /// The agents desk.
    pub fn agents(&self) -> AgentsDesk<'_> {
        AgentsDesk { house: &self.house }
    }

    /// The sessions desk.
    pub fn sessions(&self) -> SessionsDesk<'_> {
        SessionsDesk { house: &self.house }
    }

    /// The tasks desk.
    pub fn tasks(&self) -> TasksDesk<'_> {
        TasksDesk { house: &self.house }
    }

    /// The repos desk.
    pub fn repos(&self) -> ReposDesk<'_> {
        ReposDesk { house: &self.house }
    }

    /// The pulls desk.
    pub fn pulls(&self) -> PullsDesk<'_> {
        PullsDesk { house: &self.house }
    }

    /// The work desk.
    pub fn work(&self) -> WorkDesk<'_> {
        WorkDesk { house: &self.house }
    }

    /// The gateway desk.
    pub fn gateway(&self) -> GatewayDesk<'_> {
        GatewayDesk { house: &self.house }
    }

    /// The hooks desk.
    pub fn hooks(&self) -> HooksDesk<'_> {
        HooksDesk { house: &self.house }
    }

    /// The notices desk.
    pub fn notices(&self) -> NoticesDesk<'_> {
        NoticesDesk { house: &self.house }
    }

    /// The nodes desk.
    pub fn nodes(&self) -> crate::NodesDesk<'_> {
        crate::NodesDesk { house: &self.house }
    }

    /// The models desk.
    pub fn models(&self) -> ModelsDesk<'_> {
        ModelsDesk { house: &self.house }
    }

    /// Whether the house can work, for whoever watches over it. Takes no grant: it tells nothing of anybody's work.
    pub async fn readiness(&self) -> ReadinessView {
        let database = self.house.ping().await;
        let providers: Vec<_> = self.house.providers.values().map(|post| post.view()).collect();
        let closed = |view: &&_| is_closed(view);
        let status = match providers.iter().filter(closed).count() {
            _ if *self.house.draining.borrow() => Readiness::Draining,
            _ if database != "ok" => Readiness::Unavailable,
            working if working == providers.len() => Readiness::Ready,
            0 => Readiness::Unavailable,
            _ => Readiness::Degraded,
        };
        ReadinessView { status, database, providers }
    }

    /// Tells everybody that the end is near: readers are asked to come back, readiness says so.
    pub fn drain(&self) {
        self.house.draining.send_replace(true);
    }

    /// Becomes true when the house drains.
    pub fn draining(&self) -> watch::Receiver<bool> {
        self.house.draining.subscribe()
    }

    /// Lets the steps in flight end and stops the keepers. What was not finished is taken up at the next start.
    pub async fn close(self) {
        self.drain();
        self.house.stop.cancel();
        self.house.tasks.close();
        self.house.tasks.wait().await;
        self.house.scribe.finish().await;
        self.house.pulse.cancel();
        self.house.pulses.close();
        self.house.pulses.wait().await;
        crate::nodes::leave(&self.house).await;
        self.house.doorman.flush(&self.house.store).await;
    }
}

fn is_closed(view: &carrel_model::public::ProviderView) -> bool {
    view.breaker.state == carrel_model::public::BreakerState::Closed
}

impl House {
    pub(crate) fn draining(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }

    /// Ends when the house closes.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// What must end before the house is closed.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Walks until the token ends it. A walk that panics is a bug report, and is taken up again.
    fn go_on<F>(
        self: &Arc<Self>,
        name: &'static str,
        walk: fn(Arc<House>) -> F,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (house, stop) = (Arc::clone(self), stop.clone());
        tasks.spawn(async move {
            let again = async {
                loop {
                    let _ = AssertUnwindSafe(walk(Arc::clone(&house))).catch_unwind().await;
                    tracing::error!(name, "a walk broke off; taking it up again");
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            };
            stop.run_until_cancelled(again).await;
        });
    }

    /// Lets a grant pass, or writes down that it was refused.
    pub(crate) async fn admit(&self, grant: &Grant, action: Action, subject: Subject<'_>) -> Result<(), Error> {
        let Err(denied) = grant.covers(action, subject) else { return Ok(()) };
        let name = match subject {
            Subject::House => None,
            Subject::Sandbox { id, .. } => id.map(|id| id.to_string()),
            Subject::Key(id) => Some(id.to_string()),
            Subject::Template(name) => Some(name.to_string()),
            Subject::Secret(name) => Some(name.to_string()),
            Subject::Repo(name) => Some(name.to_string()),
            Subject::Agent(name) => Some(name.to_string()),
            Subject::Session { id, .. } => id.map(ToString::to_string),
            Subject::Task { id, .. } => id.map(|id| id.to_string()),
        };
        let line = AuditLine::by(grant, action.word(), name, Outcome::Denied, self.store.now());
        self.store.write_audit(&line.with_detail(denied.to_string())).await?;
        Err(denied.into())
    }

    pub(crate) fn post(&self, name: &ProviderName) -> Result<&Arc<Post>, Error> {
        self.providers.get(name).ok_or_else(|| {
            let names: Vec<_> = self.providers.keys().map(|name| format!("`{name}`")).collect();
            Error::field("provider", format!("there is no provider `{name}`; there are: {}", names.join(", ")))
        })
    }
}
