//! Parcels: a task leaves this house with all its work, or comes from another.
//!
//! ```text
//! task-42.tar:  task.json (the card)  timeline.jsonl (what was said and done)  work.pack (branch, save, checkpoints)
//! ```
//!
//! Nothing is moved: the task stays where it was. What arrives is a new card, with a number, a branch and a conversation
//! of its own, at rest until somebody starts it. What comes out of a parcel is judged like a push.

mod unwrap;
mod wrap;

use std::fs::File;

use carrel_git::{Mirror, Move, carry::Load};
use carrel_model::{
    Action, AgentId, Authority, CommitId, Grant, Holder, RefName, RepoName, Subject, TaskId,
    agent::Voice,
    parcel::{Parcel, WRAPPING},
    public::{NewNetwork, NewTask, TaskView},
    repo::Repo,
    session::{Moment, MomentKind, Session, SessionPhase},
    task::{Task, TaskPhase, TaskWant},
};
use carrel_store::Tx;
use futures::StreamExt;
use tokio_util::io::ReaderStream;

use super::{
    agents,
    cards::{Card, base_of, moment, write},
    quotas, repos,
    tasks::{as_field, no_task},
};
use crate::{Content, Error, TasksDesk, Verb, library};

/// So many moments are read in one go.
const PAGE: u32 = 1000;

/// A parcel, ready to be sent.
pub struct Wrapped {
    /// How many bytes it has.
    pub size: u64,
    /// Its bytes.
    pub content: Content,
}

/// Where a parcel is to go.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    /// The repository; the one that had its name in the other house when left out.
    pub repo: Option<RepoName>,
    /// Who goes on with it; whoever did it there when left out.
    pub agent: Option<AgentId>,
    /// Somebody shall work on it at once.
    pub start: bool,
}

impl TasksDesk<'_> {
    /// Wraps a task: its card, what was said and done, and every commit of its work. With `whole` all of its history is
    /// in it; without, the receiver must have the commit that it began at.
    pub async fn export(&self, grant: &Grant, id: TaskId, whole: bool) -> Result<Wrapped, Error> {
        let task = self.look(grant, id, Action::TaskRead).await?;
        let session = self.house.store.sessions().find(&task.session_id).await?.ok_or_else(|| no_task(id))?;
        let mirror = self.house.library.mirror(&task.repo).await?;
        let folder = self.scratch()?;
        // Refs before the timeline: a commit that is named is never newer than what is packed.
        let (head, saved) = (mirror.find(&task.branch.full()).await?, mirror.wip(id).await?);
        let kept = mirror.find(&Holder::Task(id).kept()).await?;
        let mut checkpoints = Vec::new();
        let mut timeline = wrap::Timeline::create(folder.path()).map_err(broken)?;
        let mut after = 0;
        loop {
            let moments = self.house.store.sessions().moments(&session.id, after, PAGE).await?;
            let Some(last) = moments.last() else { break };
            after = last.seq;
            for moment in &moments {
                timeline.write(moment).map_err(broken)?;
                checkpoints.extend(moment.commit.clone());
            }
        }
        timeline.finish().map_err(broken)?;
        checkpoints.sort();
        checkpoints.dedup();
        let checkpoints = present(&mirror, checkpoints).await?;
        let needs = match &task.base_commit {
            Some(base) if !whole && mirror.has(base).await? => Some(base.clone()),
            _ => None,
        };
        let parcel = Parcel { head, saved, kept, checkpoints, needs, ..first_page(&task, &session) };
        let load = Load { wanted: parcel.commits(), has: parcel.needs.iter().cloned().collect(), ends: Vec::new() };
        mirror.pack_into(&folder.path().join(wrap::WORK), &load).await?;
        let file = tokio::task::spawn_blocking(move || wrap::wrap(folder.path(), &parcel)).await;
        let file = file.map_err(|ended| Error::Internal(Box::new(ended)))?.map_err(broken)?;
        let size = file.metadata().map_err(broken)?.len();
        // The folder is gone by now; the file is not, as long as somebody reads it.
        let content = ReaderStream::with_capacity(tokio::fs::File::from_std(file), 128 << 10).boxed();
        Ok(Wrapped { size, content })
    }

    /// Unwraps a task that comes from another house, or from this one.
    pub async fn import(&self, grant: &Grant, delivery: Delivery, content: Content) -> Result<TaskView, Error> {
        let subject = |agent| Subject::Task { id: None, agent, sandbox: None };
        // Before anything is read: commits that nobody here made are for people alone.
        let usual = self.agent_for(grant, delivery.agent.clone());
        self.house.admit(grant, Action::TaskCreate, subject(&usual)).await?;
        if !matches!(grant.authority, Authority::Admin | Authority::Member) {
            let hint = "ask somebody with a key of the role `member`".into();
            return Err(Error::Refused { why: "only people bring tasks from elsewhere".into(), hint });
        }
        let folder = self.scratch()?;
        let (parcel, moments, work) = unwrap::unwrap(folder.path(), content).await?;
        let card = self.address(grant, &delivery, &parcel).await?;
        let (repo, base) = (card.repo.clone(), card.base.clone());
        let mirror = self.house.library.mirror(&repo.name).await?;
        self.take_in(&mirror, &repo, &parcel, work).await?;
        let told = parcel.clone();
        let (most, bearer) = (self.house.settings.work.quotas.clone(), grant.clone());
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                let task = put(tx, card, told, moments).await?;
                quotas::admit_card(tx, &most, &bearer, &task.repo).await?;
                Ok::<_, Error>(task)
            })
        });
        let task = written.await?;
        let named = match name(&mirror, &task, &parcel).await {
            Ok(()) => Ok(()),
            Err(error) => {
                // A card without its work would be a lie.
                self.edit(grant, task.id, Action::TaskClose, |_, task, _| {
                    Box::pin(async move {
                        (task.phase, task.want, task.doing) = (TaskPhase::Closed, TaskWant::Closed, None);
                        Ok(())
                    })
                })
                .await?;
                Err(error)
            }
        };
        named?;
        let (head, over) = (mirror.find(&task.branch.full()).await?, task.phase.is_over());
        let distance = match &head {
            Some(_) => mirror.distance(&base, &task.branch).await?,
            None => (0, 0),
        };
        let whole = self.edit(grant, task.id, Action::TaskCreate, move |_, task, _| {
            Box::pin(async move {
                (task.head, task.ahead, task.behind, task.doing) = (head, distance.0, distance.1, None);
                Ok(())
            })
        });
        let view = whole.await?;
        if delivery.start && !over { self.act(grant, view.id, Verb::Start).await } else { Ok(view) }
    }

    /// Where it goes in this house, and whether it may be there.
    async fn address(&self, grant: &Grant, delivery: &Delivery, parcel: &Parcel) -> Result<Card, Error> {
        if parcel.carrel_parcel != WRAPPING {
            let why = format!("it is wrapped as {}; this Carrel reads {WRAPPING}", parcel.carrel_parcel);
            return Err(Error::field("body", why));
        }
        let mut new = parcel.card.clone();
        new.repo = delivery.repo.clone().unwrap_or(new.repo);
        (new.start, new.depends_on) = (false, Vec::new());
        new.check().map_err(|fields| Error::Invalid { fields })?;
        let agent = delivery.agent.clone().or(new.agent.clone());
        let agent = self.agent_for(grant, agent);
        agents::find(self.house, &agent).await.map_err(|error| as_field("agent", error))?;
        let subject = Subject::Task { id: None, agent: &agent, sandbox: None };
        self.house.admit(grant, Action::TaskCreate, subject).await?;
        let repo = repos::founded(self.house, &new.repo).await.map_err(|error| as_field("repo", error))?;
        quotas::admit_to_repo(self.house, grant, &repo.name).await?;
        let base = base_of(&repo, new.base.as_ref())?;
        let network = match new.network.clone() {
            Some(network) => network.policy().map_err(|fields| Error::Invalid { fields })?,
            None => Default::default(),
        };
        Ok(Card { grant: grant.clone(), agent, repo, base, network, fork: None, talk: None, new })
    }

    /// Brings the commits into the mirror.
    async fn take_in(&self, mirror: &Mirror, repo: &Repo, parcel: &Parcel, work: File) -> Result<(), Error> {
        if let Some(needs) = &parcel.needs
            && !mirror.has(needs).await?
        {
            if !repo.is_hosted() {
                let _ = repos::bring_up_to_date(self.house, &repo.name).await;
            }
            if !mirror.has(needs).await? {
                let why = format!(
                    "repo `{}` does not have commit {}, where this work began; export it with --whole, or bring that \
                     commit here first",
                    repo.name,
                    needs.short()
                );
                return Err(Error::Conflict { why });
            }
        }
        let (limits, rules) = (library::push_limits(&repo.rules), library::content_rules(&repo.rules)?);
        let tips: Vec<CommitId> = parcel.head.iter().cloned().collect();
        let mut work = tokio::fs::File::from_std(work);
        mirror.take_parcel(&mut work, &tips, &parcel.commits(), &limits, &rules).await?;
        Ok(())
    }

    fn scratch(&self) -> Result<tempfile::TempDir, Error> {
        let place = &self.house.settings.scratch;
        std::fs::create_dir_all(place).map_err(broken)?;
        tempfile::Builder::new().prefix("parcel-").tempdir_in(place).map_err(broken)
    }
}

/// What the first page says of the card itself.
fn first_page(task: &Task, session: &Session) -> Parcel {
    let network = NewNetwork {
        mode: task.network.mode,
        allow: task.network.allow.clone(),
        deny: task.network.deny.clone(),
        interface: task.network.interface,
        ..NewNetwork::default()
    };
    let card = NewTask {
        repo: task.repo.clone(),
        title: task.title.clone(),
        prompt: Some(task.prompt.clone()),
        agent: Some(task.agent.clone()),
        base: Some(task.base.clone()),
        start: false,
        priority: task.priority.try_into().ok(),
        due: task.due,
        labels: task.labels.clone(),
        depends_on: Vec::new(),
        isolation: task.isolation,
        network: Some(network),
        budget_usd: task.budget_micros.map(|micros| micros as f64 / 1e6),
    };
    Parcel {
        carrel_parcel: WRAPPING,
        number: task.id,
        phase: task.phase,
        card,
        base_commit: task.base_commit.clone(),
        head: None,
        saved: None,
        kept: None,
        checkpoints: Vec::new(),
        needs: None,
        pull: task.pull.as_ref().map(|pull| pull.url.clone()),
        spent_micros: task.spent_micros,
        turns: session.turns,
        delivered: session.delivered,
        asked: session.asked,
        created_at: task.created_at,
        started_at: task.started_at,
        ended_at: task.ended_at,
    }
}

async fn present(mirror: &Mirror, commits: Vec<CommitId>) -> Result<Vec<CommitId>, Error> {
    let mut there = Vec::new();
    for commit in commits {
        if mirror.has(&commit).await? {
            there.push(commit);
        }
    }
    Ok(there)
}

/// Writes the card with its past. What is over there is over here.
async fn put(tx: &mut Tx, card: Card, parcel: Parcel, moments: Vec<Moment>) -> Result<Task, Error> {
    let mut task = write(tx, card).await?;
    let mut session = tx.lock_session(&task.session_id).await?.ok_or_else(|| no_task(task.id))?;
    let last = moments.last().map_or(session.last_seq, |moment| moment.seq);
    for moment in moments {
        tx.complete(&session, moment).await?;
    }
    session.last_seq = last;
    (session.delivered, session.asked) = (parcel.delivered.clamp(0, last), parcel.asked.clamp(0, last));
    session.turns = parcel.turns;
    let pull = parcel.pull.as_ref().map(|url| format!("; its pull request was {url}")).unwrap_or_default();
    let text = format!(
        "It came in a parcel: there it was task {} in `{}`, {}{pull}.",
        parcel.number,
        parcel.card.repo,
        parcel.phase.word()
    );
    tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
    task.base_commit = parcel.base_commit;
    task.spent_micros = parcel.spent_micros.max(0);
    (task.created_at, task.started_at) = (parcel.created_at, parcel.started_at);
    task.doing = Some("its work is being unwrapped; bring it again if this stays".into());
    if parcel.phase.is_over() {
        (task.phase, task.want, task.ended_at) = (TaskPhase::Closed, TaskWant::Closed, parcel.ended_at);
        session.phase = SessionPhase::Closed;
    }
    tx.put_session(&mut session).await?;
    tx.put_task(&mut task).await?;
    Ok(task)
}

/// Gives the work its names in this house, all or none.
async fn name(mirror: &Mirror, task: &Task, parcel: &Parcel) -> Result<(), Error> {
    let holder = Holder::Task(task.id);
    let wanted = match task.phase.is_over() {
        true => vec![(holder.kept(), parcel.newest().cloned())],
        false => vec![(task.branch.full(), parcel.head.clone()), (holder.saves(), parcel.saved.clone())],
    };
    let place = |(name, to): (RefName, Option<CommitId>)| Some(Move { name, from: None, to: Some(to?) });
    let moves: Vec<Move> = wanted.into_iter().filter_map(place).collect();
    // Checkpoints stay in the mirror like those of every other task: nothing that was saved is ever thrown away.
    Ok(mirror.move_refs(&moves).await?)
}

fn broken(error: std::io::Error) -> Error {
    let why = format!("a parcel cannot be put down on the disk of the server: {error}");
    Error::Unavailable { why, source: None }
}
