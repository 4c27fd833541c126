//! Desks for tasks and sessions: found, woken, or made anew from what was saved.

use std::sync::Arc;

use carrel_git::Mirror;
use carrel_model::{
    Action, Authority, Branch, CommitId, Grant, Holder, KeyId, ProviderName, SandboxId, SessionId,
    agent::{Agent, Voice},
    public::SandboxView,
    repo::{Repo, RepoPhase},
    sandbox::{AtEnd, Author, Checkout, Isolation, Lifetime, Manners, Network, Phase, Spec, Want},
    session::{MomentKind, Session},
    task::Task,
};

use crate::{
    Error, SandboxesDesk, Whereabouts,
    desks::{agents, cards::moment, repos, sessions::no_session},
    house::House,
    secret::new_sandbox_id,
    work,
};

/// A desk lives as long as its task; each wake starts this anew.
const LIFETIME: Option<Lifetime> = Lifetime::new(2_592_000);

/// So many desks are tried for a session, one after the other.
const DESKS: u32 = 6;

/// What a desk is to be.
struct Wish<'w> {
    agent: &'w Agent,
    isolation: Option<Isolation>,
    network: Network,
    idle: Option<Lifetime>,
    task: Option<&'w Task>,
    checkout: Option<(Repo, Checkout)>,
}

/// The house itself, acting on behalf of who asked.
pub(crate) fn grant_of(key: &KeyId) -> Grant {
    Grant { key: key.clone(), name: "carrel".into(), authority: Authority::Admin, origin: None }
}

/// Whether a desk is there, and whether it can be used again.
pub(crate) enum Found {
    /// It works, or will when it is waited for.
    There,
    /// It sleeps.
    Asleep,
    /// Nobody made it yet.
    Missing,
    /// It broke or is gone, and says why.
    Lost(String),
}

pub(crate) async fn look(house: &Arc<House>, id: &SandboxId) -> Result<Found, Error> {
    let view = match (SandboxesDesk { house }).look(id).await {
        Ok(view) => view,
        Err(Error::NotFound { .. }) => return Ok(Found::Missing),
        Err(error) => return Err(error),
    };
    if let Whereabouts::Away(node) = house.nodes.whereabouts(&view, house.store.now())
        && !view.phase.is_over()
    {
        return Ok(Found::Lost(format!("its node {node} is away")));
    }
    Ok(match view.phase {
        _ if view.want == Want::Gone => {
            let by_house = [crate::nodes::NODE, crate::keeper::ASTRAY];
            let by_house = view.ended.as_ref().filter(|ended| by_house.contains(&ended.by.as_str()));
            Found::Lost(by_house.map_or_else(|| "somebody ended it".to_owned(), |ended| ended.why.clone()))
        }
        Phase::Requested | Phase::Preparing | Phase::Ready => Found::There,
        Phase::Paused => Found::Asleep,
        Phase::Closing | Phase::Gone | Phase::Failed => {
            let ended = view.ended.as_ref().map(|ended| ended.why.clone());
            Found::Lost(view.note.clone().or(ended).unwrap_or_else(|| format!("it is {}", view.phase.word())))
        }
    })
}

/// On which node a desk stands, as far as this one is concerned.
pub(crate) enum Stands {
    /// On this one, or on none.
    Here,
    /// On another that works.
    Elsewhere,
    /// On this one, which is to be emptied while others are not.
    Leaving,
}

pub(crate) async fn stands(house: &Arc<House>, id: &SandboxId) -> Result<Stands, Error> {
    let view = match (SandboxesDesk { house }).look(id).await {
        Ok(view) if view.want != Want::Gone && !view.phase.is_over() && view.phase != Phase::Failed => view,
        Ok(_) | Err(Error::NotFound { .. }) => return Ok(Stands::Here),
        Err(error) => return Err(error),
    };
    Ok(match house.nodes.whereabouts(&view, house.store.now()) {
        Whereabouts::There(_) => Stands::Elsewhere,
        Whereabouts::Here if view.node.is_some() && house.nodes.is_draining() && house.nodes.has_room_elsewhere() => {
            Stands::Leaving
        }
        Whereabouts::Here | Whereabouts::Away(_) => Stands::Here,
    })
}

/// Asks for the desk of a task under the name that its row has.
pub(crate) async fn create_for_task(house: &Arc<House>, task: &Task, id: &SandboxId) -> Result<(), Error> {
    let agent = agents::find(house, &task.agent).await?;
    let repo = repos::find(house, &task.repo).await?;
    if repo.phase != RepoPhase::Ready {
        let note = repo.note.as_deref().unwrap_or("it is still being fetched");
        return Err(Error::Unavailable { why: format!("repo `{}` is not ready: {note}", repo.name), source: None });
    }
    let mirror = house.library.mirror(&repo.name).await?;
    let commit = start_of(&mirror, task).await?;
    let checkout = Checkout { branch: task.branch.clone(), base: task.base.clone(), commit, author: author(&agent)? };
    let idle = house.settings.work.idle;
    let wish = Wish {
        agent: &agent,
        isolation: task.isolation,
        network: task.network.clone(),
        idle,
        task: Some(task),
        checkout: Some((repo, checkout)),
    };
    create(house, &grant_of(&task.created_by), id, wish).await
}

/// Where a new desk of a task begins: at the commit under its newest save, at its branch, or where the task began.
async fn start_of(mirror: &Mirror, task: &Task) -> Result<CommitId, Error> {
    if let Some(saved) = mirror.wip(task.id).await?
        && let Some(parent) = mirror.parent_of(&saved).await?
    {
        return Ok(parent);
    }
    if let Some(head) = mirror.find(&task.branch.full()).await? {
        return Ok(head);
    }
    match &task.base_commit {
        Some(commit) => Ok(commit.clone()),
        None => Ok(mirror.head_of(&task.base).await?),
    }
}

/// Asks for the desk of a session under the name that its row has, unless it is there.
pub(crate) async fn of_session(house: &Arc<House>, session: &Session, agent: &Agent) -> Result<(), Error> {
    let network = session.network.clone();
    let Some(id) = &session.sandbox_id else { return Ok(()) };
    let checkout = match &session.repo {
        Some(name) => Some(checkout_of_session(house, session, agent, name).await?),
        None => None,
    };
    let wish = Wish { agent, isolation: None, network, idle: session.idle, task: None, checkout };
    create(house, &grant_of(&session.created_by), id, wish).await
}

/// The commit at which new work in a repository begins: the newest of its usual branch.
pub(crate) async fn beginning_of(house: &Arc<House>, repo: &Repo) -> Result<CommitId, Error> {
    let Some(base) = &repo.default_branch else { return Err(no_branch(&repo.name)) };
    Ok(house.library.mirror(&repo.name).await?.head_of(base).await?)
}

pub(crate) fn no_branch(repo: &carrel_model::RepoName) -> Error {
    Error::Conflict { why: format!("repo `{repo}` has no branch yet; push a first commit to it") }
}

async fn checkout_of_session(
    house: &Arc<House>,
    session: &Session,
    agent: &Agent,
    name: &carrel_model::RepoName,
) -> Result<(Repo, Checkout), Error> {
    let repo = repos::find(house, name).await?;
    let mirror = house.library.mirror(name).await?;
    let Some(base) = repo.default_branch.clone() else { return Err(no_branch(name)) };
    let holder = Holder::Session(session.id.clone());
    // A new desk begins where the work was when it was last saved; what was saved is laid on it then.
    let commit = match mirror.saved(&holder).await? {
        Some(saved) => mirror.parent_of(&saved).await?,
        None => None,
    };
    let commit = match commit.or_else(|| session.base_commit.clone()) {
        Some(commit) => commit,
        None => mirror.head_of(&base).await?,
    };
    let branch: Branch = holder.to_string().parse().map_err(|_| no_session(&session.id))?;
    let checkout = Checkout { branch, base, commit, author: author(agent)? };
    Ok((repo, checkout))
}

/// Makes sure that a session's desk is there, with its work on it. One that was lost is made anew from the last save, and
/// the session says so.
pub(crate) async fn ensure_session(house: &Arc<House>, id: &SessionId) -> Result<SandboxId, Error> {
    for _ in 0..DESKS {
        let session = house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
        let agent = agents::find(house, &session.agent).await?;
        let lost = match &session.sandbox_id {
            None => "it had none".to_owned(),
            Some(sandbox) => match look(house, sandbox).await? {
                Found::There | Found::Asleep => match lay(house, &session, sandbox).await? {
                    None => return Ok(sandbox.clone()),
                    Some(why) => why,
                },
                Found::Missing => {
                    of_session(house, &session, &agent).await?;
                    continue;
                }
                Found::Lost(why) => why,
            },
        };
        draw_for_session(house, &session, lost).await?;
    }
    Err(Error::Unavailable { why: format!("no desk could be made for session {id}"), source: None })
}

/// Looks at a desk that came back: whether it has its checkout. One that has not makes room for a new one, from the last
/// save.
pub(crate) async fn verify_session(house: &Arc<House>, session: &Session, sandbox: &SandboxId) -> Result<bool, Error> {
    if session.repo.is_none() {
        return Ok(true);
    }
    match work::look_at_work(house, sandbox).await {
        Ok(found) if found.head.is_some() => Ok(true),
        Ok(_) | Err(Error::Conflict { .. }) => {
            draw_for_session(house, session, "it came back without its checkout".into()).await.map(|()| false)
        }
        Err(error) => Err(error),
    }
}

/// Lays what was saved on a session's new desk, once. Says what is wrong with a desk that has no checkout any more.
async fn lay(house: &Arc<House>, session: &Session, sandbox: &SandboxId) -> Result<Option<String>, Error> {
    let Some(repo) = session.repo.as_ref().filter(|_| session.laid.as_ref() != Some(sandbox)) else { return Ok(None) };
    wait_for(house, &grant_of(&session.created_by), sandbox).await?;
    let mirror = house.library.mirror(repo).await?;
    if let Some(saved) = mirror.saved(&Holder::Session(session.id.clone())).await? {
        match work::restore_work(house, sandbox, &saved).await {
            Err(Error::Conflict { why }) => return Ok(Some(why)),
            laid => laid?,
        }
    }
    let (id, desk) = (session.id.clone(), sandbox.clone());
    let laid = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            session.laid = Some(desk);
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    laid.await.map(|()| None)
}

/// Wakes a desk that fell asleep, or was paused by somebody, while its agent works. One that does not wake is met by whoever works there.
pub(crate) async fn rouse(house: &Arc<House>, sandbox: Option<&SandboxId>, grant: &Grant) {
    let Some(sandbox) = sandbox else { return };
    let desk = SandboxesDesk { house };
    let asleep = |view: &SandboxView| {
        view.phase == Phase::Paused
            || view.want == Want::Paused && matches!(view.phase, Phase::Ready | Phase::Preparing)
    };
    if let Ok(view) = desk.look(sandbox).await
        && asleep(&view)
        && let Err(error) = desk.wake(grant, sandbox).await
    {
        tracing::debug!(%sandbox, error = &error as &dyn std::error::Error, "a desk was not woken");
    }
}

/// Names a new desk for a session before it exists.
async fn draw_for_session(house: &Arc<House>, session: &Session, lost: String) -> Result<(), Error> {
    let saved = match &session.repo {
        Some(repo) => house.library.mirror(repo).await?.saved(&Holder::Session(session.id.clone())).await?,
        None => None,
    };
    let then = match saved {
        Some(_) => "a new one goes on from the last save",
        None => "this is a new one",
    };
    if let Some(old) = &session.sandbox_id {
        // What is left of it is of no use.
        match (SandboxesDesk { house }).destroy(&grant_of(&session.created_by), old).await {
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let (owned, drawn) = (session.id.clone(), new_sandbox_id());
    let moved = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&owned).await?.ok_or_else(|| no_session(&owned))?;
            session.sandbox_id = Some(drawn);
            // Who remembers the conversation was at the other desk, and so was the turn in flight.
            (session.conversation, session.turn, session.unwanted) = (None, None, None);
            let text = format!("The desk was lost ({lost}); {then}.");
            tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    moved.await
}

/// Waits until a desk works. What sleeps is woken.
pub(crate) async fn wait_for(house: &Arc<House>, grant: &Grant, id: &SandboxId) -> Result<(), Error> {
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    loop {
        let view = SandboxesDesk { house }.look(id).await?;
        match (view.phase, view.want) {
            (Phase::Ready, Want::Ready) if view.idle_at.is_none_or(|then| house.store.now() < then) => {
                // Not that it falls asleep in the middle of what follows.
                house.activities.touch(house, &view);
                return Ok(());
            }
            // Whoever slept because nothing happened is still wanted, and is not woken by that: only by being asked. Also
            // one that is about to fall asleep.
            (Phase::Ready | Phase::Paused, Want::Ready | Want::Paused) => drop(house.wake(grant, id).await?),
            (Phase::Requested | Phase::Preparing, Want::Ready | Want::Paused) => {
                follower.next().await?;
            }
            (phase @ (Phase::Closing | Phase::Gone | Phase::Failed), _) | (phase, Want::Gone) => {
                let note = view.note.clone().unwrap_or_default();
                return Err(Error::Inside { why: format!("the desk is {}: {note}", phase.word()) });
            }
        }
    }
}

/// The usual provider, or the first one that offers this much isolation.
pub(crate) fn provider_for(house: &House, isolation: Option<Isolation>) -> Result<ProviderName, Error> {
    let usual = &house.settings.defaults.provider;
    let Some(level) = isolation else { return Ok(usual.clone()) };
    let offers = |name: &&ProviderName| {
        house.providers.get(*name).and_then(|post| post.fitness()).is_some_and(|fit| fit.isolation.contains(&level))
    };
    let found = std::iter::once(usual).chain(house.providers.keys()).find(offers);
    found.cloned().ok_or_else(|| Error::field("isolation", "no provider of this server offers it"))
}

async fn create(house: &Arc<House>, grant: &Grant, id: &SandboxId, wish: Wish<'_>) -> Result<(), Error> {
    let defaults = &house.settings.defaults;
    let moved = wish.task.and_then(|task| task.provider.clone());
    let provider = match moved {
        Some(provider) => provider,
        None => provider_for(house, wish.isolation)?,
    };
    let post = house.post(&provider)?;
    let pauses = post.provider.pausing().is_some();
    let isolation = wish.isolation.or_else(|| post.usual_isolation()).unwrap_or(Isolation::None);
    let (repo, checkout) = wish.checkout.map_or((None, None), |(repo, checkout)| (Some(repo.name), Some(checkout)));
    let spec = Spec {
        template: wish.agent.template.clone().unwrap_or_else(|| defaults.template.clone()),
        provider,
        isolation,
        agent_id: Some(wish.agent.name.clone()),
        task_id: wish.task.map(|task| task.id),
        repo,
        checkout,
        env: Default::default(),
        metadata: Default::default(),
        lifetime: LIFETIME.unwrap_or(defaults.lifetime),
        at_end: if pauses { AtEnd::Pause } else { AtEnd::Destroy },
        limits: defaults.limits,
        network: wish.network,
        ports: Default::default(),
        port_host: None,
        tls_ports: Vec::new(),
        pause_depth: Default::default(),
        volumes: Vec::new(),
    };
    let manners = Manners { auto_resume: true, idle: wish.idle.filter(|_| pauses) };
    let desk = SandboxesDesk { house };
    desk.create_as(grant, Action::SandboxCreate, id.clone(), spec, manners, None).await?;
    Ok(())
}

/// Agents sign with their own name, at an address that is nobody's.
fn author(agent: &Agent) -> Result<Author, Error> {
    let email = format!("{}@carrel.localhost", agent.name);
    Author::new(agent.name.as_str(), &email).map_err(|error| Error::field("agent", error.to_string()))
}
