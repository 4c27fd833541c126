//! Copies of sandboxes: snapshots, which are templates, and forks, which are sandboxes made from one.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, SandboxId, Subject, TemplateName,
    public::{NewFork, NewSnapshot, SandboxView, TemplateView},
    sandbox::{Phase, Sandbox},
    template::{SNAPSHOT, Template, TemplatePhase},
};
use carrel_sandbox::ProviderError;
use carrel_store::Filter;
use tokio::task::JoinHandle;

use crate::{
    Begun, Error, Idempotency, SandboxesDesk,
    desks::{
        see_request,
        templates::{become_ready, fail, finish, is_made},
    },
    house::House,
    registry::Post,
    secret::{new_exec_id, new_life, new_sandbox_id},
};

/// Copies that were asked for.
#[derive(Debug, Clone)]
pub struct Forked {
    /// As they are now.
    pub forks: Vec<Arc<SandboxView>>,
    /// The request was made before; this is what it made then.
    pub repeated: bool,
}

/// Marks a snapshot that goes when its copies stand.
const FOR_COPIES: &str = "for_copies";
/// How the names of such snapshots begin.
const FORK: &str = "fork-";

/// A request that has a name, and what it will have made.
type Once = Option<(Idempotency, String)>;

impl SandboxesDesk<'_> {
    /// Keeps a sandbox as it is now, as a template that others start from. It goes on undisturbed. A snapshot of the same
    /// name stays until the new one is whole, then the new one takes its place.
    pub async fn snapshot(&self, grant: &Grant, id: &SandboxId, new: NewSnapshot) -> Result<TemplateView, Error> {
        let (sandbox, post) = self.copied(grant, id, Action::SandboxSnapshot).await?;
        let name = named(&new, id)?;
        if self.house.store.templates().find(&name).await?.is_some() {
            self.house.admit(grant, Action::TemplateRemove, Subject::Template(&name)).await?;
        }
        let (house, grant, memory) = (Arc::clone(self.house), grant.clone(), new.memory == Some(true));
        let kept = self.house.tasks().spawn(async move { renew(&house, &grant, &post, &sandbox, name, memory).await });
        Ok(TemplateView::from(&kept.await.map_err(|ended| Error::Internal(Box::new(ended)))??))
    }

    /// The same under a name that nobody has, once for all requests of one name.
    pub async fn snapshot_once(
        &self,
        grant: &Grant,
        id: &SandboxId,
        new: NewSnapshot,
        idempotency: Option<Idempotency>,
    ) -> Result<Begun, Error> {
        let (sandbox, post) = self.copied(grant, id, Action::SandboxSnapshot).await?;
        let name = named(&new, id)?;
        let (house, grant) = (Arc::clone(self.house), grant.clone());
        let memory = new.memory == Some(true);
        // In a task of its own: a caller that goes away must not leave half a snapshot that nobody finishes.
        let once = idempotency.map(|request| (request, name.to_string()));
        let asker = grant.clone();
        let kept = self
            .house
            .tasks()
            .spawn(async move { keep(&house, &grant, &post, &sandbox, name, (Purpose::Template, memory), once).await });
        match kept.await.map_err(|ended| Error::Internal(Box::new(ended)))?? {
            Kept::Now(kept) => Ok(Begun { template: TemplateView::from(&*kept), repeated: false }),
            Kept::Telling(_) => Err(Error::NotFound { what: "such template".into() }),
            Kept::Before(name) => {
                let name: TemplateName = name.parse().map_err(|_| Error::NotFound { what: "such template".into() })?;
                let templates = crate::TemplatesDesk { house: self.house };
                Ok(Begun { template: templates.get(&asker, &name).await?, repeated: true })
            }
        }
    }

    /// Makes copies of a sandbox, as it is now. Each is born `requested`, like any other.
    pub async fn fork(&self, grant: &Grant, id: &SandboxId, new: NewFork) -> Result<Vec<Arc<SandboxView>>, Error> {
        Ok(self.fork_once(grant, id, new, None).await?.forks)
    }

    /// The same, once for all requests of one name.
    pub async fn fork_once(
        &self,
        grant: &Grant,
        id: &SandboxId,
        new: NewFork,
        idempotency: Option<Idempotency>,
    ) -> Result<Forked, Error> {
        let (sandbox, post) = self.copied(grant, id, Action::SandboxFork).await?;
        let count = new.count.map_or(1, |count| count.get());
        let name = snapshot_name(&format!("{FORK}{id}-{}", new_life()))?;
        let (house, grant, memory) = (Arc::clone(self.house), grant.clone(), new.memory == Some(true));
        // Drawn before anything is made, so that the same request finds them again.
        let ids: Vec<SandboxId> = (0..count).map(|_| new_sandbox_id()).collect();
        let once =
            idempotency.map(|request| (request, ids.iter().map(SandboxId::as_str).collect::<Vec<_>>().join(",")));
        let forked = self.house.tasks().spawn(async move {
            let desk = SandboxesDesk { house: &house };
            let purpose = (Purpose::Copies, memory);
            let told = match keep(&house, &grant, &post, &sandbox, name.clone(), purpose, once).await? {
                Kept::Before(made) => return desk.forked_before(&made).await,
                Kept::Now(_) => None,
                Kept::Telling(told) => Some(told),
            };
            let copies = ids.into_iter().map(|id| {
                let mut spec = sandbox.spec.clone();
                spec.template = name.clone();
                desk.create_as(&grant, Action::SandboxFork, id, spec, sandbox.manners, None)
            });
            let (mut forks, mut trouble) = (Vec::new(), None);
            for copy in futures::future::join_all(copies).await {
                match copy {
                    Ok(created) => forks.push(created.sandbox),
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn std::error::Error, "fewer forks than asked for");
                        trouble.get_or_insert(error);
                    }
                }
            }
            forget_when_used(&house, post, name, forks.clone(), told);
            match trouble {
                Some(error) if forks.is_empty() => Err(error),
                _ => Ok(Forked { forks, repeated: false }),
            }
        });
        forked.await.map_err(|ended| Error::Internal(Box::new(ended)))?
    }

    /// The copies that a request made when it was first made.
    async fn forked_before(&self, made: &str) -> Result<Forked, Error> {
        let mut forks = Vec::new();
        for id in made.split(',').filter_map(|id| id.parse().ok()) {
            match self.look(&id).await {
                Ok(view) => forks.push(view),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if forks.is_empty() {
            let why = "the copies of this Idempotency-Key are being made, or were cut off: ask again, or with another";
            return Err(Error::Conflict { why: why.into() });
        }
        Ok(Forked { forks, repeated: true })
    }

    async fn copied(&self, grant: &Grant, id: &SandboxId, action: Action) -> Result<(Sandbox, Arc<Post>), Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, action, subject).await?;
        if !matches!(view.phase, Phase::Ready | Phase::Paused) {
            return Err(Error::Conflict {
                why: format!("sandbox {id} is {}: there is nothing to copy", view.phase.word()),
            });
        }
        let post = Arc::clone(self.house.post(&view.provider)?);
        if post.provider.forking().is_none() {
            return Err(Error::Conflict { why: format!("the provider `{}` cannot copy sandboxes", post.name) });
        }
        let sandbox = self.house.store.sandboxes().find(id).await?.ok_or_else(|| Error::no_sandbox(id))?;
        Ok((sandbox, post))
    }
}

/// What a snapshot is called that was asked for.
fn named(new: &NewSnapshot, id: &SandboxId) -> Result<TemplateName, Error> {
    match &new.name {
        Some(name) if name.as_str().starts_with(SNAPSHOT) => Ok(name.clone()),
        Some(name) => snapshot_name(name.as_str()),
        None => snapshot_name(&format!("{id}-{}", new_life())),
    }
}

fn snapshot_name(name: &str) -> Result<TemplateName, Error> {
    format!("{SNAPSHOT}{name}")
        .parse()
        .map_err(|malformed: carrel_model::Malformed| Error::field("name", malformed.rule))
}

/// A snapshot that was asked for.
enum Kept {
    Now(Box<Template>),
    /// It is there; that it is, is being written.
    Telling(JoinHandle<()>),
    /// The request was made before; this is what it made then.
    Before(String),
}

/// What a snapshot is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A template, to stay.
    Template,
    /// Copies that are made at once.
    Copies,
}

/// The row of a snapshot that is about to be taken. Who starts from it may use as much as the sandbox might.
fn row(
    house: &House,
    grant: &Grant,
    post: &Post,
    sandbox: &Sandbox,
    name: TemplateName,
    (purpose, memory): (Purpose, bool),
) -> Template {
    let now = house.store.now();
    let mut source = serde_json::json!({"from": "sandbox", "sandbox_id": sandbox.id, "memory": memory});
    match purpose {
        Purpose::Template => source["limits"] = serde_json::json!(sandbox.spec.limits),
        Purpose::Copies => source[FOR_COPIES] = true.into(),
    }
    Template {
        name,
        provider: post.name.clone(),
        phase: TemplatePhase::Building,
        source,
        origin: None,
        bytes: None,
        layers: None,
        memory: false,
        note: None,
        log: new_exec_id(),
        created_by: grant.key.clone(),
        node: house.settings.node.clone(),
        created_at: now,
        updated_at: now,
        ready_at: None,
        revision: 0,
    }
}

/// Has the provider keep a snapshot, in place of one of the same name if there is one. Until the new one is whole,
/// nothing of the old one is touched: neither its files nor its row.
async fn renew(
    house: &Arc<House>,
    grant: &Grant,
    post: &Post,
    sandbox: &Sandbox,
    name: TemplateName,
    memory: bool,
) -> Result<Template, Error> {
    let before = house.store.templates().find(&name).await?;
    if before.as_ref().is_some_and(|before| before.phase == TemplatePhase::Failed) {
        super::templates::forget(house, post, &name).await?;
    }
    let Some(before) = before.filter(|before| before.phase != TemplatePhase::Failed) else {
        return match keep(house, grant, post, sandbox, name, (Purpose::Template, memory), None).await? {
            Kept::Now(kept) => Ok(*kept),
            Kept::Telling(_) | Kept::Before(_) => Err(Error::NotFound { what: "such template".into() }),
        };
    };
    if !before.phase.is_settled() {
        return Err(Error::Conflict { why: format!("the template `{name}` is being made already") });
    }
    if before.provider != post.name {
        let why = format!("there is a template `{name}` at the provider `{}` already", before.provider);
        return Err(Error::Conflict { why });
    }
    let template = row(house, grant, post, sandbox, name.clone(), (Purpose::Template, memory));
    let line = house.audited(grant, Action::SandboxSnapshot, &sandbox.id, Some(format!("kept as {name} anew")));
    let made = match post.provider.forking() {
        Some(forking) => forking.renew(&sandbox.id, &name, memory).await,
        None => Err(ProviderError::Unfit { why: "it cannot copy sandboxes".into() }),
    };
    let made = made.map_err(|error| {
        let why =
            format!("sandbox {} could not be copied: {error}; the `{name}` from before is still there", sandbox.id);
        Error::of_provider(&error, why)
    })?;
    post.probe().await;
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            let mut template = template;
            template.revision = tx.lock_template(&template.name).await?.map_or(0, |before| before.revision);
            is_made(&mut template, made, tx.now());
            tx.put_template(&mut template).await?;
            tx.audit(&line).await?;
            Ok::<_, Error>(template)
        })
    });
    written.await
}

/// Has the provider keep a snapshot, and remembers it.
async fn keep(
    house: &Arc<House>,
    grant: &Grant,
    post: &Post,
    sandbox: &Sandbox,
    name: TemplateName,
    (purpose, memory): (Purpose, bool),
    once: Once,
) -> Result<Kept, Error> {
    let mut template = row(house, grant, post, sandbox, name.clone(), (purpose, memory));
    let line = house.audited(grant, Action::SandboxSnapshot, &sandbox.id, Some(format!("kept as {name}")));
    let asker = grant.clone();
    // Copies wait for the snapshot: it is taken while its row is written, unless the request may have been made before.
    // Should we die in between, the first sweep finds a snapshot without a row (`tidy`).
    let base = async {
        match post.provider.forking() {
            Some(forking) if purpose == Purpose::Copies && once.is_none() => {
                Some(forking.base(&sandbox.id, &name, memory).await)
            }
            _ => None,
        }
    };
    let changed = once.clone();
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            if let Some((request, subject)) = changed
                && let Some(made) = see_request(tx, &asker, Some(request), &subject).await?
            {
                return Ok(Err(made));
            }
            if tx.lock_template(&template.name).await?.is_some() {
                return Err(Error::Conflict { why: format!("there is a template `{}` already", template.name) });
            }
            tx.put_template(&mut template).await?;
            tx.audit(&line).await?;
            Ok::<_, Error>(Ok(template))
        })
    });
    let (written, base) = tokio::join!(written, base);
    let template = match written {
        Ok(Ok(template)) => template,
        Ok(Err(made)) => return Ok(Kept::Before(made)),
        Err(error) => {
            if let (Some(Ok(_)), Some(templating)) = (base, post.provider.templating()) {
                let _ = templating.forget(&name).await;
            }
            return Err(error);
        }
    };
    let why = || ProviderError::Unfit { why: "it cannot copy sandboxes".into() };
    let made = match (base, post.provider.forking().ok_or_else(why)) {
        (Some(made), _) => made,
        (None, Ok(forking)) if purpose == Purpose::Copies => forking.base(&sandbox.id, &name, memory).await,
        (None, Ok(forking)) => forking.snapshot(&sandbox.id, &name, memory).await,
        (None, Err(error)) => Err(error),
    };
    match made {
        Ok(made) if purpose == Purpose::Copies => {
            // The copies need not wait until the row says so.
            post.offers(&name);
            let house = Arc::clone(house);
            Ok(Kept::Telling(house.tasks().clone().spawn(async move {
                if let Err(error) = become_ready(&house, template, made).await {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a snapshot for copies was not recorded");
                }
            })))
        }
        Ok(made) => Ok(Kept::Now(Box::new(finish(house, post, template, made).await?))),
        Err(error) => {
            let why = format!("sandbox {} could not be copied: {error}", sandbox.id);
            fail(house, template, why.clone()).await?;
            Err(Error::of_provider(&error, why))
        }
    }
}

/// Forgets the snapshots behind forks that a server which died did not forget.
pub(crate) async fn tidy(house: &Arc<House>) -> Result<(), Error> {
    forget_rowless(house).await?;
    for template in house.store.templates().list().await? {
        let is_ours = template.node == house.settings.node && template.source[FOR_COPIES] == true;
        // In this life, whoever made it forgets it.
        if !is_ours || template.created_at >= house.began_at || template.phase == TemplatePhase::Building {
            continue;
        }
        let mut waits = false;
        for phase in [Phase::Requested, Phase::Preparing] {
            let filter = Filter { phase: Some(phase), template: Some(template.name.clone()), ..Filter::default() };
            waits |= !house.store.sandboxes().list(&filter, 1).await?.0.is_empty();
        }
        if let (false, Ok(post)) = (waits, house.post(&template.provider)) {
            tracing::info!(template = %template.name, "the snapshot behind forks of an earlier life is forgotten");
            super::templates::forget(house, post, &template.name).await?;
        }
    }
    Ok(())
}

/// Forgets the snapshots behind forks whose server died before it had written their rows.
async fn forget_rowless(house: &Arc<House>) -> Result<(), Error> {
    let prefix = format!("{SNAPSHOT}{FORK}");
    for post in house.providers.values() {
        let offered = post.fitness().map(|fitness| fitness.templates).unwrap_or_default();
        if !offered.iter().any(|name| name.as_str().starts_with(&prefix)) {
            continue;
        }
        let Some(templating) = post.provider.templating() else { continue };
        let Ok(kept) = templating.templates().await else { continue };
        for template in kept.iter().filter(|template| template.name.as_str().starts_with(&prefix)) {
            // In this life, its row is being written.
            let is_former = template.made_at < house.began_at;
            if is_former && house.store.templates().find(&template.name).await?.is_none() {
                tracing::info!(template = %template.name, "a snapshot that no fork came to use is forgotten");
                let _ = templating.forget(&template.name).await;
            }
        }
    }
    Ok(())
}

/// The snapshot behind forks is nobody's template: it goes when each of them stands on its own layers.
fn forget_when_used(
    house: &Arc<House>,
    post: Arc<Post>,
    name: TemplateName,
    forks: Vec<Arc<SandboxView>>,
    told: Option<JoinHandle<()>>,
) {
    let tasks = house.tasks().clone();
    let (house, stop) = (Arc::clone(house), house.stop().clone());
    tasks.spawn(stop.run_until_cancelled_owned(async move {
        // It is not forgotten before it is remembered.
        if let Some(told) = told {
            let _ = told.await;
        }
        for fork in forks {
            if let Err(error) = house.until_ready(&fork.id).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "the snapshot behind a fork stays");
                return;
            }
        }
        if let Err(error) = super::templates::forget(&house, &post, &name).await {
            tracing::warn!(error = &error as &dyn std::error::Error, template = %name, "the snapshot behind a fork stays");
        }
    }));
}
