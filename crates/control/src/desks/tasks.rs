//! The tasks desk: writes what people want of a card. The keeper of tasks makes it so.

use std::{sync::Arc, time::Duration};

use carrel_model::{
    Action, AgentId, Authority, Branch, CommitId, Grant, RepoName, Subject, TaskId,
    agent::Voice,
    audit::{AuditLine, Outcome},
    public::{
        DiffFileView, Happening, NewAttempts, NewMessage, NewTask, TaskChange, TaskPage, TaskView, Timeline, micros,
    },
    session::{MomentKind, Session},
    task::{BUDGET_MARK, NeedsReason, Task, TaskPhase, TaskWant},
};
use carrel_store::{News, TaskFilter, Tx};

use super::{
    agents,
    cards::{Card, Fork, Talk, base_of, check_dependencies, moment, write},
    diffs::{Extract, Span},
    quotas, repos, see_request,
    verbs::{Verb, apply, take_up},
};
use crate::{Error, Idempotency, Paging, PullsDesk, house::House};

/// Writes, shows and drives tasks.
pub struct TasksDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// Which tasks are asked for.
#[derive(Debug, Clone, Default)]
pub struct TaskQuery {
    /// In one of these phases; in any when empty.
    pub phases: Vec<TaskPhase>,
    /// In this repository.
    pub repo: Option<RepoName>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// With this label.
    pub label: Option<String>,
    /// With these words in its title or its prompt.
    pub text: Option<String>,
    /// How much of the list.
    pub paging: Paging,
}

/// How a wait for a task ended.
#[derive(Debug, Clone)]
pub enum TaskWaited {
    /// It is where it was waited for.
    Reached(Box<TaskView>),
    /// It will not be there by itself.
    Never(Box<TaskView>),
    /// It is not there yet.
    NotYet(Box<TaskView>),
}

impl TasksDesk<'_> {
    /// Writes a card. With `start` it is queued at once.
    pub async fn create(
        &self,
        grant: &Grant,
        new: NewTask,
        idempotency: Option<Idempotency>,
    ) -> Result<(TaskView, bool), Error> {
        self.create_from(grant, new, None, idempotency).await
    }

    /// The same, for a card that goes on from a session.
    pub(super) async fn create_from(
        &self,
        grant: &Grant,
        new: NewTask,
        talk: Option<Talk>,
        idempotency: Option<Idempotency>,
    ) -> Result<(TaskView, bool), Error> {
        let agent = self.agent_for(grant, new.agent.clone());
        let subject = Subject::Task { id: None, agent: &agent, sandbox: None };
        self.house.admit(grant, Action::TaskCreate, subject).await?;
        new.check().map_err(|fields| Error::Invalid { fields })?;
        let found = agents::find(self.house, &agent).await.map_err(|error| as_field("agent", error))?;
        let repo = repos::founded(self.house, &new.repo).await.map_err(|error| as_field("repo", error))?;
        quotas::admit_to_repo(self.house, grant, &repo.name).await?;
        let base = base_of(&repo, new.base.as_ref())?;
        if new.base.is_some() && repo.head.is_some() {
            self.expect_branch(&repo.name, &base).await?;
        }
        let network = match new.network.clone() {
            Some(network) => network.policy().map_err(|fields| Error::Invalid { fields })?,
            None => repo.rules.network.and(&found.network),
        };
        let card = Card { grant: grant.clone(), agent, repo, base, network, fork: None, talk, new };
        let most = self.house.settings.work.quotas.clone();
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                let (grant, task) = (card.grant.clone(), write(tx, card).await?);
                match see_request(tx, &grant, idempotency, &task.id.to_string()).await? {
                    // The number that was drawn goes back with the rest.
                    Some(seen) => Err(Halt::Seen(seen)),
                    None => {
                        quotas::admit_card(tx, &most, &grant, &task.repo).await?;
                        Ok(task)
                    }
                }
            })
        });
        match written.await {
            Ok(task) => Ok((TaskView::from(&task), false)),
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Seen(earlier)) => {
                let id = earlier.parse().map_err(|_| Error::NotFound { what: format!("task {earlier}") })?;
                Ok((self.get(grant, id).await?, true))
            }
        }
    }

    /// Shows a task.
    pub async fn get(&self, grant: &Grant, id: TaskId) -> Result<TaskView, Error> {
        Ok(TaskView::from(&self.look(grant, id, Action::TaskRead).await?))
    }

    /// A page of tasks, newest first: those that the grant covers.
    pub async fn list(&self, grant: &Grant, query: TaskQuery) -> Result<TaskPage, Error> {
        let limit = query.paging.limit();
        let mut filter = TaskFilter {
            phases: query.phases,
            repo: query.repo,
            agent: query.agent,
            label: query.label,
            text: query.text,
            sandbox: None,
            before: query.paging.after_task()?,
        };
        match &grant.authority {
            Authority::Admin | Authority::Member => {}
            Authority::Sandbox(me) => filter.sandbox = Some(me.clone()),
            Authority::Agent(me) => filter.agent = Some(me.clone()),
        }
        let (mut tasks, as_of) = self.house.store.tasks().list(&filter, limit + 1).await?;
        let next = Paging::cut(&mut tasks, limit, |task| task.id.to_string());
        Ok(TaskPage { items: tasks.iter().map(TaskView::from).collect(), next, as_of })
    }

    /// Changes what is written on a card.
    pub async fn change(&self, grant: &Grant, id: TaskId, change: TaskChange) -> Result<TaskView, Error> {
        let task = self.look(grant, id, Action::TaskDrive).await?;
        change.check().map_err(|fields| Error::Invalid { fields })?;
        if let Some(base) = &change.base {
            self.rebase(grant, &task, base).await?;
        }
        if let Some(agent) = &change.agent {
            agents::find(self.house, agent).await.map_err(|error| as_field("agent", error))?;
            let subject = Subject::Task { id: Some(id), agent, sandbox: None };
            self.house.admit(grant, Action::TaskDrive, subject).await?;
        }
        self.edit(grant, id, Action::TaskDrive, move |tx, task, session| {
            Box::pin(async move {
                let unstarted = task.phase == TaskPhase::Backlog && task.sandbox_id.is_none();
                if (change.prompt.is_some() || change.agent.is_some()) && !unstarted {
                    let why =
                        "its prompt and agent are changed before it is started; say something to its agent instead";
                    return Err(Error::Conflict { why: why.into() });
                }
                if let Some(depends_on) = change.depends_on {
                    check_dependencies(tx, Some(task.id), &depends_on).await?;
                    task.depends_on = depends_on;
                    // It was asked for a decision, and this is one.
                    let waited = task.needs.as_ref().is_some_and(|needs| needs.reason == NeedsReason::Dependency);
                    if waited && task.phase == TaskPhase::NeedsYou {
                        take_up(task, tx.now());
                    }
                }
                if let Some(prompt) = change.prompt {
                    task.prompt.clone_from(&prompt);
                    if let Some(mut first) = tx.first_asked(session).await? {
                        first.text = prompt;
                        tx.complete(session, first).await?;
                    }
                }
                if let Some(agent) = change.agent {
                    (task.agent, session.agent) = (agent.clone(), agent);
                }
                if let Some(base) = change.base.filter(|base| *base != task.base) {
                    let text = format!("It is merged into `{base}` from now on, no longer into `{}`.", task.base);
                    tx.say(session, moment(MomentKind::Note, Voice::House, text)).await?;
                    task.base = base;
                }
                task.title = change.title.unwrap_or_else(|| task.title.clone());
                task.priority = change.priority.map_or(task.priority, Into::into);
                task.due = change.due.unwrap_or(task.due);
                task.labels = change.labels.unwrap_or_else(|| task.labels.clone());
                if change.budget_usd.is_some() {
                    // How another amount stands is seen when it is next drawn from.
                    task.told.remove(BUDGET_MARK);
                }
                task.budget_micros = change.budget_usd.and_then(micros).or(task.budget_micros);
                Ok(())
            })
        })
        .await
    }

    /// Refuses a base that is not there, nor upstream.
    async fn expect_branch(&self, repo: &RepoName, base: &Branch) -> Result<(), Error> {
        let mirror = self.house.library.mirror(repo).await?;
        if mirror.find(&base.full()).await?.is_some() {
            return Ok(());
        }
        // Somebody may have made it a moment ago.
        Box::pin(repos::bring_up_to_date(self.house, repo)).await?;
        match mirror.find(&base.full()).await? {
            Some(_) => Ok(()),
            None => Err(Error::field("base", format!("there is no branch `{base}` in `{repo}`"))),
        }
    }

    /// Whether a task can have this base; its pull request gets it first.
    async fn rebase(&self, grant: &Grant, task: &Task, base: &Branch) -> Result<(), Error> {
        if task.phase.is_over() {
            return Err(Error::Conflict { why: format!("task {} is {}", task.id, task.phase.word()) });
        }
        if self.house.library.mirror(&task.repo).await?.find(&base.full()).await?.is_none() {
            let why = format!("there is no branch `{base}` in `{}`", task.repo);
            return Err(Error::field("base", why));
        }
        if let Some(pull) = task.pull.as_ref().filter(|pull| !pull.phase.is_over()) {
            (PullsDesk { house: self.house }).set_base(grant, &task.repo, pull.number, base).await?;
        }
        Ok(())
    }

    /// Does what a word asks.
    pub async fn act(&self, grant: &Grant, id: TaskId, verb: Verb) -> Result<TaskView, Error> {
        let done = self.write_down(grant, id, verb).await?;
        if matches!(verb, Verb::Start | Verb::Retry) {
            self.rouse(&done).await;
        }
        Ok(done)
    }

    /// Wakes a desk that somebody paused while its agent works.
    async fn rouse(&self, task: &TaskView) {
        let grant = crate::tasks::desk::grant_of(&task.created_by);
        crate::tasks::desk::rouse(self.house, task.sandbox_id.as_ref().filter(|_| task.phase.is_busy()), &grant).await;
    }

    async fn write_down(&self, grant: &Grant, id: TaskId, verb: Verb) -> Result<TaskView, Error> {
        let action = match verb {
            Verb::Merge => Action::TaskMerge,
            Verb::Close => Action::TaskClose,
            Verb::Start | Verb::Stop | Verb::Retry | Verb::Rebase => Action::TaskDrive,
        };
        self.look(grant, id, action).await?;
        let name = grant.name.clone();
        self.edit(grant, id, action, move |tx, task, session| {
            Box::pin(async move {
                let now = tx.now();
                apply(task, verb, now)?;
                let note = match verb {
                    Verb::Stop => Some(format!("`{name}` stopped it.")),
                    Verb::Close => Some(format!("`{name}` closed it.")),
                    Verb::Merge => Some(format!("`{name}` asked for it to be merged.")),
                    Verb::Start | Verb::Retry | Verb::Rebase => None,
                };
                if let Some(text) = note {
                    tx.say(session, moment(MomentKind::Note, Voice::House, text)).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Says something to the agent of a task. One that rests goes on with it.
    pub async fn message(&self, grant: &Grant, id: TaskId, message: NewMessage) -> Result<TaskView, Error> {
        self.look(grant, id, Action::TaskMessage).await?;
        let voice = check_message(grant, &message)?;
        let told = self.edit(grant, id, Action::TaskMessage, move |tx, task, session| {
            Box::pin(async move {
                if task.phase.is_over() || task.want == TaskWant::Closed {
                    let why = format!("task {id} is {}: nobody listens any more", task.phase.word());
                    return Err(Error::Conflict { why });
                }
                tx.say(session, moment(MomentKind::Message, voice, message.text)).await?;
                task.failures = 0;
                if task.phase.rests() && task.phase != TaskPhase::Backlog {
                    take_up(task, tx.now());
                }
                Ok(())
            })
        });
        let told = told.await?;
        self.rouse(&told).await;
        Ok(told)
    }

    /// Other attempts at a task, from its base or from a checkpoint.
    pub async fn fork(&self, grant: &Grant, id: TaskId, asked: NewAttempts) -> Result<Vec<TaskView>, Error> {
        let task = self.look(grant, id, Action::TaskDrive).await?;
        let agent = asked.agent.clone().unwrap_or_else(|| task.agent.clone());
        let subject = Subject::Task { id: None, agent: &agent, sandbox: None };
        self.house.admit(grant, Action::TaskCreate, subject).await?;
        agents::find(self.house, &agent).await.map_err(|error| as_field("agent", error))?;
        let repo = repos::find(self.house, &task.repo).await?;
        let commit = match (asked.from, &task.base_commit) {
            (Some(seq), _) => Some(super::opening::checkpoint(self.house, &task.session_id, seq).await?),
            (None, Some(commit)) => Some(commit.clone()),
            // Nobody has begun yet: all of them begin where the base is now, however long they wait.
            (None, None) => repos::newest_of(self.house, &repo, &task.base).await?,
        };
        let count = asked.count.map_or(1, carrel_model::number::Whole::get);
        quotas::admit_to_repo(self.house, grant, &repo.name).await?;
        let most = self.house.settings.work.quotas.clone();
        let (grant, fork) = (grant.clone(), Fork { of: id, commit });
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut tasks = Vec::new();
                for _ in 0..count {
                    let new = NewTask {
                        repo: task.repo.clone(),
                        title: task.title.clone(),
                        prompt: Some(task.prompt.clone()),
                        agent: Some(agent.clone()),
                        base: Some(task.base.clone()),
                        start: true,
                        priority: task.priority.try_into().ok(),
                        due: task.due,
                        labels: task.labels.clone(),
                        depends_on: Vec::new(),
                        isolation: task.isolation,
                        network: None,
                        budget_usd: task.budget_micros.map(|micros| micros as f64 / 1e6),
                    };
                    let card = Card {
                        grant: grant.clone(),
                        agent: agent.clone(),
                        repo: repo.clone(),
                        base: task.base.clone(),
                        network: task.network.clone(),
                        fork: Some(fork.clone()),
                        talk: None,
                        new,
                    };
                    tasks.push(write(tx, card).await?);
                }
                quotas::admit_card(tx, &most, &grant, &repo.name).await?;
                Ok::<_, Error>(tasks)
            })
        });
        Ok(written.await?.iter().map(TaskView::from).collect())
    }

    /// What was said and done for a task, oldest first.
    pub async fn timeline(&self, grant: &Grant, id: TaskId, after: i64, limit: u32) -> Result<Timeline, Error> {
        let task = self.look(grant, id, Action::TaskRead).await?;
        super::sessions::timeline(self.house, &task.session_id, after, limit).await
    }

    /// What a task changes, as text: from where it left the base up to its newest save, or between two checkpoints.
    pub async fn diff(&self, grant: &Grant, id: TaskId, extract: &Extract) -> Result<Vec<u8>, Error> {
        extract.check()?;
        match self.span(grant, id, extract.from, extract.to).await? {
            Some(span) => span.patch(extract).await,
            None => Ok(Vec::new()),
        }
    }

    /// The files that a task changes, without their lines.
    pub async fn diff_files(
        &self,
        grant: &Grant,
        id: TaskId,
        from: Option<i64>,
        to: Option<i64>,
    ) -> Result<Vec<DiffFileView>, Error> {
        match self.span(grant, id, from, to).await? {
            Some(span) => span.files().await,
            None => Ok(Vec::new()),
        }
    }

    async fn span(&self, grant: &Grant, id: TaskId, from: Option<i64>, to: Option<i64>) -> Result<Option<Span>, Error> {
        let task = self.look(grant, id, Action::TaskRead).await?;
        let mirror = self.house.library.mirror(&task.repo).await?;
        let at = async |seq: i64| {
            let moment = self.house.store.sessions().moment(&task.session_id, seq).await?;
            let commit = moment.and_then(|moment| moment.commit);
            commit.ok_or_else(|| Error::NotFound { what: format!("checkpoint {seq} of task {id}") })
        };
        let newest = match to {
            Some(seq) => Some(at(seq).await?),
            None => self.newest(&task).await?,
        };
        // The branch and the saves of one that is over are gone; its pull request still holds what it was.
        let newest = match (newest, &task.head) {
            (None, Some(head)) if mirror.has(head).await? => Some(head.clone()),
            (newest, _) => newest,
        };
        let Some(newest) = newest else { return Ok(None) };
        let base = match from {
            Some(seq) => Some(at(seq).await?),
            None => {
                let ahead = u64::from(task.ahead);
                mirror.left_at(&task.base, &newest, ahead).await?.or_else(|| task.base_commit.clone())
            }
        };
        Ok(base.map(|base| Span { mirror, from: base, to: newest }))
    }

    /// Waits until a task is in a phase, follows the journal on the caller's behalf.
    pub async fn wait(&self, grant: &Grant, id: TaskId, phase: TaskPhase, most: Duration) -> Result<TaskWaited, Error> {
        let journal = self.house.store.journal();
        let mut follower = journal.follow(journal.head());
        let mut view = Box::new(self.get(grant, id).await?);
        let mut draining = self.house.draining();
        let end = tokio::time::sleep(most);
        tokio::pin!(end);
        loop {
            if view.phase == phase {
                return Ok(TaskWaited::Reached(view));
            }
            let rests = view.phase.rests() && !is_wanted(&view);
            if view.phase.is_over() || (rests && !(phase.is_over() && self.ends_elsewhere(&view).await?)) {
                return Ok(TaskWaited::Never(view));
            }
            let news = tokio::select! {
                news = follower.next() => news?,
                () = &mut end => return Ok(TaskWaited::NotYet(view)),
                _ = draining.wait_for(|draining| *draining) => return Ok(TaskWaited::NotYet(view)),
            };
            match news {
                News::Reset(_) => view = Box::new(self.get(grant, id).await?),
                News::Entries(entries) => {
                    for written in entries {
                        match &written.entry().happening {
                            Happening::Task { task } if task.id == id && view.phase != phase => view = task.clone(),
                            _ => {}
                        }
                    }
                }
            }
        }
    }

    /// Whether a review comes to its end though nobody here asks for it: its pull was seen to be over, which its card says a
    /// moment later, or it is to be merged by itself.
    async fn ends_elsewhere(&self, view: &TaskView) -> Result<bool, Error> {
        let Some(pull) = view.pull.as_ref().filter(|_| view.phase == TaskPhase::InReview) else { return Ok(false) };
        let seen = self.house.store.seen_pulls().find(&view.repo, pull.number).await?;
        Ok(seen.is_some_and(|seen| seen.phase.is_over() || seen.auto_merge.is_some()))
    }

    /// The newest commit that holds a task's work: its save, or its branch when that is newer.
    async fn newest(&self, task: &Task) -> Result<Option<CommitId>, Error> {
        let mirror = self.house.library.mirror(&task.repo).await?;
        let (head, save) = (mirror.find(&task.branch.full()).await?, mirror.wip(task.id).await?);
        Ok(match (head, save) {
            // Once nobody works, what counts is what was published.
            (Some(head), _) if !task.phase.is_busy() && task.phase != TaskPhase::NeedsYou => Some(head),
            // A save from before the newest commit says less than that commit.
            (Some(head), Some(save)) if !mirror.is_ancestor(&head, &save).await? => Some(head),
            (head, save) => save.or(head),
        })
    }

    /// The task, if the grant covers the action.
    pub(crate) async fn look(&self, grant: &Grant, id: TaskId, action: Action) -> Result<Task, Error> {
        let task = self.house.store.tasks().find(id).await?.ok_or_else(|| no_task(id))?;
        self.house.admit(grant, action, Subject::from(&task)).await?;
        Ok(task)
    }

    pub(super) fn agent_for(&self, grant: &Grant, asked: Option<AgentId>) -> AgentId {
        let own = || grant.authority.agent().cloned();
        asked.or_else(own).unwrap_or_else(|| self.house.settings.work.agent.clone())
    }

    pub(super) async fn edit<F>(&self, grant: &Grant, id: TaskId, action: Action, edit: F) -> Result<TaskView, Error>
    where
        F: for<'t> FnOnce(
                &'t mut Tx,
                &'t mut Task,
                &'t mut Session,
            ) -> futures::future::BoxFuture<'t, Result<(), Error>>
            + Send
            + 'static,
    {
        let grant = grant.clone();
        let changed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let (mut task, _) = tx.lock_task(id).await?.ok_or_else(|| no_task(id))?;
                let mut session = tx.lock_session(&task.session_id).await?.ok_or_else(|| no_task(id))?;
                let before = session.clone();
                edit(tx, &mut task, &mut session).await?;
                tx.put_task(&mut task).await?;
                if session != before {
                    tx.put_session(&mut session).await?;
                }
                let line = AuditLine::by(&grant, action.word(), Some(id.to_string()), Outcome::Done, tx.now());
                tx.audit(&line).await?;
                Ok::<_, Error>(task)
            })
        });
        Ok(TaskView::from(&changed.await?))
    }
}

/// Why no card was written.
enum Halt {
    /// The same request wrote this one.
    Seen(String),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Halt {
        Halt::Failed(error.into())
    }
}

/// Who a message is from, when it may be said.
pub(super) fn check_message(grant: &Grant, message: &NewMessage) -> Result<Voice, Error> {
    if message.text.trim().is_empty() || message.text.len() > 262_144 || message.text.contains('\0') {
        return Err(Error::field("text", "1 byte to 256 KiB, without NUL"));
    }
    match (message.role.unwrap_or(Voice::User), &grant.authority) {
        (Voice::User, _) => Ok(Voice::User),
        (role, _) => Err(Error::field("role", format!("only `user` speaks here, not {role:?}").to_lowercase())),
    }
}

fn is_wanted(view: &TaskView) -> bool {
    view.want == TaskWant::Closed || (view.phase == TaskPhase::InReview && view.want == TaskWant::Merged)
}

/// What is missing is the fault of a field.
pub(super) fn as_field(field: &str, error: Error) -> Error {
    match error {
        Error::NotFound { what } => Error::field(field, format!("there is no {what}")),
        other => other,
    }
}

pub(crate) fn no_task(id: TaskId) -> Error {
    Error::NotFound { what: format!("task {id}") }
}

/// Why somebody must look, when a step broke off in this phase.
pub(crate) fn reason_in(phase: TaskPhase) -> NeedsReason {
    match phase {
        TaskPhase::Preparing | TaskPhase::Queued | TaskPhase::Backlog => NeedsReason::DeskFailed,
        TaskPhase::Working => NeedsReason::AgentFailed,
        TaskPhase::Publishing => NeedsReason::PushRefused,
        _ => NeedsReason::ForgeFailed,
    }
}
