//! The sandboxes desk: writes what people want. Keepers make it so.

use std::{sync::Arc, time::Duration};

use carrel_model::{
    Action, AgentId, Authority, Grant, NodeId, ProviderName, SandboxId, Subject, TaskId, TemplateName,
    audit::{AuditLine, Outcome},
    public::{Happening, NewCheckout, NewSandbox, SandboxDetail, SandboxPage, SandboxView, StatsView},
    sandbox::{AtEnd, Author, Depth, Ended, Isolation, Lifetime, Manners, Phase, Sandbox, Spec, Want},
};
use carrel_sandbox::{Naming, ProviderError, Reach};
use carrel_store::{Filter, Leased, News, Tx};
use futures::future::OptionFuture;

use super::{
    first::{Early, FirstCommand},
    see_request,
    volumes::VolumesDesk,
};
use crate::{
    Error, Idempotency, Paging, Whereabouts, house::House, keeper, registry::Post, secret::new_sandbox_id,
    work::furnish::plan_checkout,
};

/// A pause that is under way is waited for so long: what is to be saved before it takes a minute at most.
const SLEEPS_WITHIN: Duration = Duration::from_secs(90);

/// Creates, shows and changes sandboxes.
pub struct SandboxesDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// A sandbox that was asked for.
#[derive(Debug, Clone)]
pub struct Created {
    /// As it is now.
    pub sandbox: Arc<SandboxView>,
    /// The request was made before; this is what it made then.
    pub repeated: bool,
}

/// Which sandboxes are asked for.
#[derive(Debug, Clone, Default)]
pub struct SandboxQuery {
    /// In this phase; everything but `gone` when not given.
    pub phase: Option<Phase>,
    /// At this provider.
    pub provider: Option<ProviderName>,
    /// From this template.
    pub template: Option<TemplateName>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Of this task.
    pub task: Option<TaskId>,
    /// How much of the list.
    pub paging: Paging,
}

/// How a wait ended.
#[derive(Debug, Clone)]
pub enum Waited {
    /// It is where it was waited for.
    Reached(Arc<SandboxView>),
    /// It will never be there.
    Never(Arc<SandboxView>),
    /// It is not there yet.
    NotYet(Arc<SandboxView>),
}

/// Where a new sandbox is wanted, if nothing that it stands on decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    /// On this node: whoever asked goes in at once, from here.
    Here,
    /// On the node that has the most room.
    WhereThereIsRoom,
}

impl SandboxesDesk<'_> {
    /// Asks for a sandbox. It is born `requested`; the journal tells when it is `ready`.
    pub async fn create(
        &self,
        grant: &Grant,
        new: NewSandbox,
        idempotency: Option<Idempotency>,
    ) -> Result<Created, Error> {
        Ok(self.bear_new(grant, new, idempotency, None).await?.0)
    }

    /// The same; a first command may begin with it.
    pub(super) async fn bear_new(
        &self,
        grant: &Grant,
        mut new: NewSandbox,
        idempotency: Option<Idempotency>,
        first: Option<FirstCommand>,
    ) -> Result<(Created, Option<Early>), Error> {
        if new.agent_id.is_none() {
            new.agent_id = grant.authority.agent().cloned();
        }
        let subject = Subject::Sandbox { id: None, agent: new.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxCreate, subject).await?;
        let name = new.provider.clone().unwrap_or_else(|| self.house.settings.defaults.provider.clone());
        let post = self.house.post(&name)?;
        let isolation = post.usual_isolation().unwrap_or(Isolation::None);
        let (manners, checkout) = (new.manners(), new.checkout.take());
        let volumes = new.volumes.take().unwrap_or_default();
        let mut spec =
            new.into_spec(&self.house.settings.defaults, isolation).map_err(|fields| Error::Invalid { fields })?;
        self.admit_to_task(grant, &spec).await?;
        spec.volumes = VolumesDesk { house: self.house }.mounts(grant, &spec, volumes).await?;
        if let Some(NewCheckout { base, branch }) = checkout {
            let repo = spec.repo.clone().ok_or_else(|| Error::field("checkout", "a checkout needs a `repo`"))?;
            self.house.admit(grant, Action::RepoRead, Subject::Repo(&repo)).await?;
            let who = spec.agent_id.as_ref().map_or("carrel", |agent| agent.as_str());
            let author = Author::new(who, &format!("{who}@carrel.localhost"))
                .map_err(|bad| Error::field("agent_id", bad.rule))?;
            let planned = plan_checkout(self.house, &repo, spec.task_id, base, branch, author).await?;
            spec.checkout = Some(planned);
        }
        let home = if first.is_some() { Home::Here } else { Home::WhereThereIsRoom };
        self.bear(
            grant,
            Action::SandboxCreate,
            new_sandbox_id(),
            spec,
            manners,
            idempotency,
            (Naming::Free, home, first),
        )
        .await
    }

    /// Whoever has a sandbox of a task moves its branch and spends its budget: that is for those who may drive it.
    async fn admit_to_task(&self, grant: &Grant, spec: &Spec) -> Result<(), Error> {
        let Some(id) = spec.task_id else { return Ok(()) };
        let Some(task) = self.house.store.tasks().find(id).await? else {
            // A number that is no task's is a mark of theirs, for those who may drive every task anyway.
            return match &grant.authority {
                Authority::Admin | Authority::Member => Ok(()),
                _ => Err(Error::field("task_id", format!("there is no task {id}"))),
            };
        };
        self.house.admit(grant, Action::TaskDrive, Subject::from(&task)).await?;
        match &spec.repo {
            Some(repo) if *repo != task.repo => {
                Err(Error::field("task_id", format!("task {id} is of repo `{}`, not of `{repo}`", task.repo)))
            }
            _ => Ok(()),
        }
    }

    /// Asks for a sandbox that is described whole, under a name that was drawn for it.
    pub(crate) async fn create_as(
        &self,
        grant: &Grant,
        action: Action,
        id: SandboxId,
        spec: Spec,
        manners: Manners,
        idempotency: Option<Idempotency>,
    ) -> Result<Created, Error> {
        let home = (Naming::Fixed, Home::WhereThereIsRoom, None);
        Ok(self.bear(grant, action, id, spec, manners, idempotency, home).await?.0)
    }

    /// The same for the house itself, which goes in as soon as it stands: nobody passes its own words on to another node.
    pub(crate) async fn create_here(
        &self,
        grant: &Grant,
        id: SandboxId,
        spec: Spec,
        manners: Manners,
    ) -> Result<Created, Error> {
        let home = (Naming::Fixed, Home::Here, None);
        Ok(self.bear(grant, Action::SandboxCreate, id, spec, manners, None, home).await?.0)
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is what a sandbox is born with")]
    async fn bear(
        &self,
        grant: &Grant,
        action: Action,
        id: SandboxId,
        spec: Spec,
        manners: Manners,
        idempotency: Option<Idempotency>,
        (naming, wanted, first): (Naming, Home, Option<FirstCommand>),
    ) -> Result<(Created, Option<Early>), Error> {
        let post = self.house.post(&spec.provider)?;
        check_fit(&spec, &manners, post)?;
        let home = match post.provider.reach() {
            Reach::Node => Some(self.home_of(&spec, wanted).await?),
            Reach::Anywhere => None,
        };
        let is_ours = home.as_ref().is_none_or(|home| *home == self.house.settings.node);
        if let (false, Some(home), Home::Here) = (is_ours, &home, wanted) {
            let why = match first {
                Some(_) => {
                    format!("what it starts from lies on the node {home}: make the sandbox first, then run the command")
                }
                None => format!("the template `{}` lies on the node {home}: ask that node", spec.template),
            };
            return Err(Error::Conflict { why });
        }
        let is_in_a_task = first.is_some();
        let first = first.filter(|_| FirstCommand::may_begin_early(&spec, idempotency.as_ref()));
        let (house, grant, provider) = (Arc::clone(self.house), grant.clone(), Arc::clone(&post.provider));
        let asker = grant.clone();
        let born = Box::pin(async move {
            // With a free slot the row is born in our keeper's hands; else any keeper claims it.
            let mut slot = if is_ours { house.keeper.reserve(&id) } else { None };
            let began = tokio::time::Instant::now();
            let claimed = if slot.is_some() { provider.claim(&id, &spec, naming).await } else { None };
            let is_made = claimed.is_some();
            let mut id = id;
            if let Some(claimed) = &claimed {
                keeper::note_claim(began.elapsed());
                if claimed.id != id {
                    id = claimed.id.clone();
                    slot = house.keeper.reserve(&id).or(slot);
                }
            } else if slot.is_some() {
                provider.expect(&id, &spec);
            }
            let (told, is_written) = tokio::sync::oneshot::channel();
            let early = first
                .zip(claimed)
                .map(|(first, claimed)| first.begin(Arc::clone(&provider), claimed, house.store.now(), is_written));
            let lease = slot.as_ref().filter(|_| !is_made).map(|_| house.keeper.first_lease(house.store.now()));
            let (whose, held, quotas) = (id.clone(), lease.clone(), house.settings.work.quotas.clone());
            let written = house.store.change(move |tx| {
                Box::pin(async move {
                    if let Some(seen) = see_request(tx, &grant, idempotency, id.as_str()).await? {
                        return Ok::<_, Error>(Err(seen));
                    }
                    super::quotas::admit_sandbox(tx, &quotas, &grant).await?;
                    super::volumes::hold(tx, &spec.volumes).await?;
                    let mut sandbox = Sandbox::born(id, spec, manners, grant.key.clone(), home, tx.now());
                    if is_made {
                        keeper::note_made(&mut sandbox, tx.now())?;
                    }
                    tx.insert_sandbox(&sandbox, held.as_ref()).await?;
                    audit(tx, &grant, action, &sandbox.id).await?;
                    Ok(Ok(sandbox))
                })
            });
            let written = async {
                let written = written.await;
                let _ = told.send(());
                written
            };
            // The command first: it is on its way when the row is begun.
            let (early, written) = tokio::join!(Box::pin(OptionFuture::from(early)), written);
            if slot.is_some() && !matches!(written, Ok(Ok(_))) {
                // What is not asked for in the end is ended.
                let _ = provider.destroy(&whose).await;
            }
            let written = written?.map(|sandbox| {
                let view = Arc::new(SandboxView::from(&sandbox));
                if let (Some(slot), Some(lease)) = (slot, lease) {
                    slot.tend(&house, Leased { sandbox, lease });
                }
                view
            });
            // Nobody is told of a sandbox that cannot be entered.
            if early.is_none()
                && is_made
                && written.is_ok()
                && let Err(error @ (ProviderError::Lost | ProviderError::Unavailable { .. })) =
                    provider.endpoint(&whose).await
            {
                let _ = SandboxesDesk { house: &house }.destroy(&asker, &whose).await;
                return Err(Error::of_provider(&error, format!("the sandbox did not come up: {error}")));
            }
            if is_made {
                tokio::spawn(async move { provider.confirm(&whose).await });
            }
            Ok::<_, Error>(written.map(|view| (view, early)))
        });
        // In a task of its own: a caller that goes away must not leave a row in hand that nobody tends.
        let born = match is_in_a_task {
            true => born.await?,
            false => tokio::spawn(born).await.map_err(|ended| Error::Internal(Box::new(ended)))??,
        };
        let (view, early) = match born {
            Ok(born) => born,
            Err(earlier) => {
                let id = earlier.parse().map_err(|_| Error::NotFound { what: format!("sandbox {earlier}") })?;
                return Ok((Created { sandbox: self.look(&id).await?, repeated: true }, None));
            }
        };
        Ok((Created { sandbox: view, repeated: false }, early))
    }

    /// The node that a new sandbox is to live on: where what it stands on lies, or else where it is wanted.
    async fn home_of(&self, spec: &Spec, wanted: Home) -> Result<NodeId, Error> {
        let me = &self.house.settings.node;
        if !self.house.nodes.has_fellows() || !spec.volumes.is_empty() {
            return Ok(me.clone());
        }
        match self.house.store.templates().find(&spec.template).await? {
            Some(template) => match self.house.nodes.find(Some(&template.node), self.house.store.now()) {
                Whereabouts::Here => Ok(me.clone()),
                Whereabouts::There(node) => Ok(node.id),
                Whereabouts::Away(node) => Err(Error::Unavailable {
                    why: format!("the template `{}` lies on the node {node}, which is away", spec.template),
                    source: None,
                }),
            },
            None => match wanted {
                Home::Here => Ok(me.clone()),
                Home::WhereThereIsRoom => self.house.place().await,
            },
        }
    }

    /// Shows a sandbox.
    pub async fn get(&self, grant: &Grant, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(&view.id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxRead, subject).await?;
        Ok(view)
    }

    /// Shows a sandbox with what only a look at it alone tells.
    pub async fn detail(&self, grant: &Grant, id: &SandboxId) -> Result<SandboxDetail, Error> {
        let sandbox = self.get(grant, id).await?;
        let post = self.house.providers.get(&sandbox.provider);
        let fitness = match (sandbox.phase, post) {
            (Phase::Ready | Phase::Paused, Some(post)) => match post.provider.lacks(id).await {
                Some(own) => own,
                // Its provider keeps no account of each: what all of them lack.
                None => post.fitness().map(|fitness| fitness.missing).unwrap_or_default(),
            },
            _ => Vec::new(),
        };
        Ok(SandboxDetail { sandbox, fitness })
    }

    /// A page of sandboxes, newest first: those that the grant covers.
    pub async fn list(&self, grant: &Grant, query: SandboxQuery) -> Result<SandboxPage, Error> {
        self.house.admit(grant, Action::SandboxRead, Subject::House).await?;
        let limit = query.paging.limit();
        let mut filter = Filter {
            phase: query.phase,
            provider: query.provider,
            template: query.template,
            agent: query.agent,
            task: query.task,
            id: None,
            before: query.paging.after()?,
        };
        match &grant.authority {
            Authority::Admin | Authority::Member => {}
            Authority::Sandbox(me) => filter.id = Some(me.clone()),
            Authority::Agent(me) => {
                if filter.agent.as_ref().is_some_and(|other| other != me) {
                    let subject = Subject::Sandbox { id: None, agent: filter.agent.as_ref() };
                    self.house.admit(grant, Action::SandboxRead, subject).await?;
                }
                filter.agent = Some(me.clone());
            }
        }
        let (mut sandboxes, as_of) = self.house.store.sandboxes().list(&filter, limit + 1).await?;
        let place = |sandbox: &Sandbox| Paging::place(sandbox.created_at, sandbox.id.as_str());
        let next = Paging::cut(&mut sandboxes, limit, place);
        Ok(SandboxPage { items: sandboxes.iter().map(SandboxView::from).collect(), next, as_of })
    }

    /// Asks for a sandbox to be paused, so deep. One that is paused may be asked to sleep deeper.
    pub async fn pause(&self, grant: &Grant, id: &SandboxId, depth: Depth) -> Result<Arc<SandboxView>, Error> {
        self.refuse_without_pausing(grant, id, Action::SandboxPause).await?;
        self.want(grant, id, Action::SandboxPause, move |sandbox, _| {
            sandbox.want = Want::Paused;
            // It never comes up to sleep less deep.
            sandbox.depth = if sandbox.phase == Phase::Paused { sandbox.depth.max(depth) } else { depth };
        })
        .await
    }

    /// Asks for a frozen sandbox to work again. Its lifetime starts anew.
    pub async fn resume(&self, grant: &Grant, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        self.refuse_without_pausing(grant, id, Action::SandboxResume).await?;
        self.want(grant, id, Action::SandboxResume, |sandbox, tx| sandbox.wake(tx.now())).await
    }

    /// The same on behalf of somebody who was let into the sandbox and found it paused.
    pub(crate) async fn wake(&self, grant: &Grant, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        self.change(grant, id, Action::SandboxResume, |sandbox, tx| sandbox.wake(tx.now())).await
    }

    /// What a sandbox uses, and what goes on in it.
    pub async fn stats(&self, grant: &Grant, id: &SandboxId) -> Result<StatsView, Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxStats, subject).await?;
        if !matches!(view.phase, Phase::Ready | Phase::Paused) {
            return Err(Error::Conflict { why: format!("sandbox {id} is {}: it uses nothing", view.phase.word()) });
        }
        let post = self.house.post(&view.provider)?;
        let usage = post.provider.usage(id).await.map_err(|error| Error::Unavailable {
            why: format!("what sandbox {id} uses cannot be measured: {error}"),
            source: None,
        })?;
        let (at, activity) = (self.house.store.now(), self.house.activities.of(id));
        Ok(StatsView { sandbox_id: id.clone(), at, usage, limits: view.limits, activity })
    }

    /// Starts a sandbox's lifetime anew.
    pub async fn set_timeout(
        &self,
        grant: &Grant,
        id: &SandboxId,
        lifetime: Lifetime,
    ) -> Result<Arc<SandboxView>, Error> {
        self.want(grant, id, Action::SandboxTimeout, move |sandbox, tx| {
            // What its lifetime paused stays paused: only `resume` brings it back.
            if sandbox.want_at(tx.now()) == Want::Paused {
                sandbox.want = Want::Paused;
            }
            sandbox.extend(lifetime, tx.now());
        })
        .await
    }

    /// The same for somebody outside: what was done at the desk of a task or a session is saved first.
    pub async fn remove(&self, grant: &Grant, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxDestroy, subject).await?;
        let stands = matches!(view.phase, Phase::Ready | Phase::Paused) && view.want != Want::Gone;
        if stands && crate::work::is_desk(self.house, id).await? {
            Box::pin(self.save_awake(grant, id)).await?;
        }
        self.destroy(grant, id).await
    }

    /// Saves the work of a desk, awake or not. One that falls asleep meanwhile is woken: whoever saves would stand still
    /// with it.
    async fn save_awake(&self, grant: &Grant, id: &SandboxId) -> Result<(), Error> {
        loop {
            let falls_asleep = |view: &SandboxView| view.phase == Phase::Ready && view.want == Want::Paused;
            // A pause that is under way is carried out first: it saves too, and may cut the lines.
            let view = self.until(grant, id, SLEEPS_WITHIN, |view| !falls_asleep(view)).await?;
            if view.phase == Phase::Paused || falls_asleep(&view) {
                self.house.wake(grant, id).await?;
            }
            let saved = tokio::select! {
                saved = crate::work::save_work(self.house, id) => saved,
                asleep = self.until(grant, id, Duration::MAX, |view| view.phase == Phase::Paused) => {
                    asleep?;
                    continue;
                }
            };
            return match saved {
                // Nothing is there to be saved, or it is no desk with a checkout.
                Ok(_) | Err(Error::Conflict { .. } | Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(error),
            };
        }
    }

    /// Asks for a sandbox to end. Asking again changes nothing.
    pub async fn destroy(&self, grant: &Grant, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        let name = grant.name.clone();
        let by = grant.key.to_string();
        let ended = self.want(grant, id, Action::SandboxDestroy, move |sandbox, tx| {
            sandbox.want = Want::Gone;
            sandbox.ended = Some(Ended { by, why: format!("It was destroyed with the key `{name}`."), at: tx.now() });
        });
        match ended.await {
            Err(Error::Conflict { .. }) => self.look(id).await,
            other => other,
        }
    }

    /// Waits until a sandbox is in a phase, follows the journal on the caller's behalf.
    pub async fn wait(&self, grant: &Grant, id: &SandboxId, phase: Phase, most: Duration) -> Result<Waited, Error> {
        let journal = self.house.store.journal();
        // Listens before it looks, so that nothing falls in between.
        let mut follower = journal.follow(journal.head());
        let mut view = self.get(grant, id).await?;
        let mut draining = self.house.draining();
        let end = tokio::time::sleep(most);
        tokio::pin!(end);
        loop {
            if view.phase == phase {
                return Ok(Waited::Reached(view));
            }
            if will_never_be(&view, phase) {
                return Ok(Waited::Never(view));
            }
            let news = tokio::select! {
                news = follower.next() => news?,
                () = &mut end => return Ok(Waited::NotYet(view)),
                // A server that is about to end keeps its promise for a moment, not for minutes.
                () = drained(&mut draining) => return Ok(Waited::NotYet(view)),
            };
            match news {
                News::Reset(_) => view = self.look(id).await?,
                News::Entries(entries) => {
                    for written in entries {
                        match &written.entry().happening {
                            // Stops at the phase, even when the sandbox has already moved on.
                            Happening::Sandbox { sandbox } if sandbox.id == *id && view.phase != phase => {
                                view = Arc::new((**sandbox).clone());
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }

    /// The sandbox as it now is, whoever asks.
    pub(crate) async fn look(&self, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        let journal = self.house.store.journal();
        let (held, since) = self.house.shelf.look(&journal, id);
        if let Some(view) = held.filter(|_| !journal.is_deaf()) {
            return Ok(view);
        }
        // What others saw is as good as what we would see, as long as we hear of every change.
        if !journal.is_deaf()
            && let Some(seen) = self.house.store.remembered(id).await
        {
            let view = Arc::new(seen);
            self.house.shelf.put(Arc::clone(&view), since);
            return Ok(view);
        }
        let sandbox = self.house.store.sandboxes().find(id).await?.ok_or_else(|| Error::no_sandbox(id))?;
        let view = Arc::new(SandboxView::from(&sandbox));
        self.house.shelf.put(Arc::clone(&view), since);
        self.house.store.remember_view(&view);
        Ok(view)
    }

    pub(super) async fn refuse_without_pausing(
        &self,
        grant: &Grant,
        id: &SandboxId,
        action: Action,
    ) -> Result<(), Error> {
        let view = self.look(id).await?;
        let provider = &view.provider;
        if self.house.providers.get(provider).is_some_and(|post| post.provider.pausing().is_some()) {
            return Ok(());
        }
        // Who may not even ask learns nothing about the provider.
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, action, subject).await?;
        Err(Error::Conflict { why: format!("the provider `{provider}` cannot pause sandboxes") })
    }

    /// Changes what is wanted of a sandbox, unless it is over.
    pub(super) async fn want(
        &self,
        grant: &Grant,
        id: &SandboxId,
        action: Action,
        edit: impl FnOnce(&mut Sandbox, &Tx) + Send + 'static,
    ) -> Result<Arc<SandboxView>, Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, action, subject).await?;
        self.change(grant, id, action, edit).await
    }

    async fn change(
        &self,
        grant: &Grant,
        id: &SandboxId,
        action: Action,
        edit: impl FnOnce(&mut Sandbox, &Tx) + Send + 'static,
    ) -> Result<Arc<SandboxView>, Error> {
        let (house, id, grant) = (Arc::clone(self.house), id.clone(), grant.clone());
        // In a task of its own: a caller that goes away must not leave a row in hand that nobody tends.
        let changed = tokio::spawn(async move {
            // With a free slot the row comes into our keeper's hands with this very change; else any keeper claims it.
            let slot = house.keeper.reserve_unheld(&id);
            let hand = slot.is_some().then(|| (house.keeper.owner().to_owned(), house.settings.node.clone()));
            let until = house.keeper.lease_end(house.store.now());
            let change = house.store.change(move |tx| {
                Box::pin(async move {
                    let (mut sandbox, lease) = tx.lock_sandbox(&id).await?.ok_or_else(|| Error::no_sandbox(&id))?;
                    let over = sandbox.want == Want::Gone || sandbox.phase.is_over();
                    if over || (sandbox.phase == Phase::Failed && action != Action::SandboxDestroy) {
                        let state = if over { "ending or gone" } else { "failed" };
                        let why = format!("sandbox {id} is {state} and cannot change any more");
                        return Err(Error::Conflict { why });
                    }
                    edit(&mut sandbox, tx);
                    // What people want now should not wait for an old mishap.
                    sandbox.next_attempt_at = None;
                    tx.update_sandbox(&mut sandbox, lease.as_ref()).await?;
                    audit(tx, &grant, action, &sandbox.id).await?;
                    let lease = match hand.filter(|_| sandbox.step_at(tx.now()).is_some()) {
                        Some((owner, node)) => tx.take_lease(&id, &owner, &node, until).await?,
                        None => None,
                    };
                    Ok((sandbox, lease))
                })
            });
            let (sandbox, lease) = change.await?;
            let view = Arc::new(SandboxView::from(&sandbox));
            if let (Some(slot), Some(lease)) = (slot, lease) {
                slot.tend(&house, Leased { sandbox, lease });
            }
            Ok(view)
        });
        changed.await.map_err(|ended| Error::Internal(Box::new(ended)))?
    }
}

/// Refuses what the provider said it does not offer.
fn check_fit(spec: &Spec, manners: &Manners, post: &Post) -> Result<(), Error> {
    if manners.idle.is_some() && post.provider.pausing().is_none() {
        return Err(Error::field("idle_s", format!("the provider `{}` cannot pause sandboxes", post.name)));
    }
    if let Some(why) = spec.network.interface.then(|| post.provider.lacks_interfaces()).flatten() {
        return Err(Error::field("network.interface", why));
    }
    let Some(fitness) = post.fitness() else { return Ok(()) };
    if fitness.isolation.is_empty() {
        let why = format!("the provider `{}` cannot be used: {}", post.name, fitness.missing.join(" "));
        return Err(Error::field("provider", why));
    }
    if !fitness.isolation.contains(&spec.isolation) {
        let offered: Vec<_> = fitness.isolation.iter().filter_map(|level| serde_json::to_string(level).ok()).collect();
        let detail = format!("the provider `{}` offers: {}", post.name, offered.join(", ").replace('"', "`"));
        return Err(Error::field("isolation", detail));
    }
    if !fitness.templates.contains(&spec.template) {
        let known: Vec<_> = fitness.templates.iter().map(|name| format!("`{name}`")).collect();
        let detail = format!("there is no template `{}`; there are: {}", spec.template, known.join(", "));
        return Err(Error::field("template", detail));
    }
    if spec.at_end == AtEnd::Pause && post.provider.pausing().is_none() {
        return Err(Error::field("auto_pause", format!("the provider `{}` cannot pause sandboxes", post.name)));
    }
    Ok(())
}

/// Whether a sandbox in this state cannot come to a phase any more.
fn will_never_be(view: &SandboxView, phase: Phase) -> bool {
    match view.phase {
        Phase::Gone => true,
        Phase::Closing => phase != Phase::Gone,
        Phase::Failed => !(view.want == Want::Gone && matches!(phase, Phase::Closing | Phase::Gone)),
        Phase::Ready | Phase::Paused => matches!(phase, Phase::Requested | Phase::Preparing),
        Phase::Preparing => phase == Phase::Requested,
        Phase::Requested => false,
    }
}

async fn drained(draining: &mut tokio::sync::watch::Receiver<bool>) {
    /// How long a wait may go on when the server drains.
    const GRACE: Duration = Duration::from_secs(5);
    let _ = draining.wait_for(|draining| *draining).await;
    tokio::time::sleep(GRACE).await;
}

async fn audit(tx: &mut Tx, grant: &Grant, action: Action, id: &SandboxId) -> Result<(), Error> {
    let line = AuditLine::by(grant, action.word(), Some(id.to_string()), Outcome::Done, tx.now());
    Ok(tx.audit(&line).await?)
}
