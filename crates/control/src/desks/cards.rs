//! A card as it is first written, and the conversation that begins with it.

use carrel_model::{
    Action, AgentId, Branch, CommitId, Grant, SessionId, TaskId,
    agent::Voice,
    audit::{AuditLine, Outcome},
    public::{NewTask, micros},
    repo::Repo,
    sandbox::Network,
    session::{Moment, MomentKind, Session, SessionPhase},
    task::{Dependency, Task, TaskPhase, TaskWant, closes_a_circle},
};
use carrel_store::Tx;

use super::verbs::{Verb, apply};
use crate::{Error, secret::new_session_id};

/// A card that is about to be written.
pub(super) struct Card {
    pub(super) grant: Grant,
    pub(super) agent: AgentId,
    pub(super) repo: Repo,
    pub(super) base: Branch,
    pub(super) network: Network,
    pub(super) fork: Option<Fork>,
    pub(super) talk: Option<Talk>,
    pub(super) new: NewTask,
}

/// A session that a card goes on from: the checkpoint, and what was said and done up to there.
pub(super) struct Talk {
    pub(super) of: SessionId,
    pub(super) seq: i64,
    pub(super) commit: CommitId,
    pub(super) past: Vec<Moment>,
}

/// What an attempt begins at.
#[derive(Clone)]
pub(super) struct Fork {
    pub(super) of: TaskId,
    pub(super) commit: Option<CommitId>,
}

/// Writes a card and begins its conversation.
pub(super) async fn write(tx: &mut Tx, card: Card) -> Result<Task, Error> {
    let Card { grant, agent, repo, base, network, fork, talk, new } = card;
    let id = tx.next_task_id().await?;
    check_dependencies(tx, Some(id), &new.depends_on).await?;
    let prompt = new.prompt.clone().unwrap_or_else(|| new.title.clone());
    let now = tx.now();
    let mut session = new_session(&grant, new_session_id(), agent.clone(), new.title.clone(), now);
    (session.repo, session.task_id) = (Some(repo.name.clone()), Some(id));
    if let Some(talk) = &talk {
        take_over(tx, id, &mut session, talk).await?;
    }
    let format = repo.rules.branch_format.clone().unwrap_or_default();
    let mut task = Task {
        id,
        repo: repo.name.clone(),
        title: new.title,
        prompt: prompt.clone(),
        agent,
        base,
        base_commit: match &talk {
            Some(talk) => Some(talk.commit.clone()),
            None => fork.as_ref().and_then(|fork| fork.commit.clone()),
        },
        branch: format.of(id),
        priority: new.priority.map_or(0, Into::into),
        due: new.due,
        claims: Vec::new(),
        labels: new.labels,
        depends_on: new.depends_on,
        isolation: new.isolation,
        provider: None,
        network,
        budget_micros: new.budget_usd.and_then(micros),
        want: TaskWant::Rest,
        phase: TaskPhase::Backlog,
        session_id: session.id.clone(),
        sandbox_id: None,
        head: None,
        ahead: 0,
        behind: 0,
        pull: None,
        conflicts: Vec::new(),
        shares: Vec::new(),
        needs: None,
        spent_micros: 0,
        counted: false,
        doing: None,
        nudges: 0,
        rebases: 0,
        told: Default::default(),
        fork_of: fork.map(|fork| fork.of),
        from_session: talk.map(|talk| talk.of),
        score: None,
        created_by: grant.key.clone(),
        created_at: now,
        updated_at: now,
        started_at: None,
        ended_at: None,
        attempts: 0,
        failures: 0,
        next_attempt_at: None,
        revision: 0,
    };
    if new.start {
        apply(&mut task, Verb::Start, now)?;
    }
    tx.say(&mut session, moment(MomentKind::Message, Voice::User, prompt)).await?;
    tx.put_session(&mut session).await?;
    tx.put_task(&mut task).await?;
    let line = AuditLine::by(&grant, Action::TaskCreate.word(), Some(id.to_string()), Outcome::Done, now);
    tx.audit(&line).await?;
    Ok(task)
}

/// What was said in another session was said in this one, and both say where it went on.
async fn take_over(tx: &mut Tx, id: TaskId, session: &mut Session, talk: &Talk) -> Result<(), Error> {
    for moment in &talk.past {
        tx.complete(session, moment.clone()).await?;
    }
    session.turns = talk.past.last().map_or(0, |moment| moment.turn);
    // All of it was heard; who goes on is told of it, for it was not there.
    (session.last_seq, session.asked, session.delivered) = (talk.seq, talk.seq, talk.seq);
    let text = format!("This goes on from session {}, at moment {}.", talk.of, talk.seq);
    tx.say(session, moment(MomentKind::Note, Voice::House, text)).await?;
    if let Some(mut origin) = tx.lock_session(&talk.of).await? {
        let text = format!("Task {id} goes on from moment {}.", talk.seq);
        tx.say(&mut origin, moment(MomentKind::Note, Voice::House, text)).await?;
        tx.put_session(&mut origin).await?;
    }
    Ok(())
}

pub(super) fn new_session(
    grant: &Grant,
    id: SessionId,
    agent: AgentId,
    title: String,
    now: carrel_model::Timestamp,
) -> Session {
    Session {
        id,
        agent,
        repo: None,
        task_id: None,
        title,
        phase: SessionPhase::Open,
        sandbox_id: None,
        idle: None,
        network: Network::default(),
        meta: Default::default(),
        fork_of: None,
        base_commit: None,
        conversation: None,
        turn: None,
        unwanted: None,
        turns: 0,
        last_seq: 0,
        delivered: 0,
        asked: 0,
        spent_micros: 0,
        counted: false,
        saved: None,
        laid: None,
        unsaved: Vec::new(),
        left: None,
        closing: false,
        note: None,
        created_by: grant.key.clone(),
        created_at: now,
        updated_at: now,
        revision: 0,
    }
}

/// A moment that is about to be written: its place and its time are given to it then.
pub(crate) fn moment(kind: MomentKind, role: Voice, text: impl Into<String>) -> Moment {
    Moment {
        seq: 0,
        at: carrel_model::Timestamp::UNIX_EPOCH,
        turn: 0,
        kind,
        role,
        text: text.into(),
        unfinished: false,
        tool: None,
        commit: None,
        files: Vec::new(),
        cost_usd: None,
        desk: None,
    }
}

pub(super) async fn check_dependencies(tx: &mut Tx, own: Option<TaskId>, edges: &[Dependency]) -> Result<(), Error> {
    if edges.is_empty() {
        return Ok(());
    }
    let ids: Vec<TaskId> = edges.iter().map(|edge| edge.task_id).collect();
    let known = tx.phases_of(&ids).await?;
    for edge in edges {
        match known.get(&edge.task_id) {
            None => return Err(Error::field("depends_on", format!("there is no task {}", edge.task_id))),
            Some(TaskPhase::Closed) => {
                let why = format!("task {} is closed: it would wait forever", edge.task_id);
                return Err(Error::field("depends_on", why));
            }
            Some(_) => {}
        }
    }
    if let Some(own) = own {
        let mut all = tx.task_edges().await?;
        all.insert(own, ids);
        if closes_a_circle(&all, own) {
            return Err(Error::field(
                "depends_on",
                "it would wait for itself: the tasks wait for each other in a circle",
            ));
        }
    }
    Ok(())
}

pub(super) fn base_of(repo: &Repo, asked: Option<&Branch>) -> Result<Branch, Error> {
    match asked.or(repo.default_branch.as_ref()) {
        Some(base) => Ok(base.clone()),
        None => {
            let why = format!("repo `{}` has no branch yet; push a first commit to it", repo.name);
            Err(Error::Conflict { why })
        }
    }
}
