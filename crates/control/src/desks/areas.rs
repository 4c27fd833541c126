//! What an agent reports of its own task: areas that it claims, questions to people, and whether anything is missing.

use carrel_model::{
    Action, Authority, Grant, RepoName, Subject, TaskId,
    agent::Voice,
    area::Claim,
    audit::{AuditLine, Outcome},
    public::{AreaView, DoneView, Field, NewClaim, NewQuestion, TaskView},
    sandbox::Phase,
    session::MomentKind,
    task::{Task, TaskPhase},
};
use carrel_store::TaskFilter;
use jiff::SignedDuration;

use super::{cards::moment, tasks::no_task};
use crate::{Error, SandboxesDesk, TasksDesk, work};

/// So many tasks of a repository are looked at, the newest first.
const MOST_TASKS: u32 = 5000;
/// For how long an area is claimed when nobody says.
const USUAL_S: u64 = 3600;

impl TasksDesk<'_> {
    /// Claims files or directories for a task, unless another task has claimed one of them.
    pub async fn claim(&self, grant: &Grant, id: TaskId, new: NewClaim) -> Result<Claim, Error> {
        let task = self.look(grant, id, Action::TaskReport).await?;
        if new.paths.is_empty() || new.paths.len() > 64 {
            let fields = vec![Field { field: "paths".into(), detail: "1 to 64 paths".into() }];
            return Err(Error::Invalid { fields });
        }
        let (grant, repo) = (grant.clone(), task.repo.clone());
        let claimed = self.house.store.change(move |tx| {
            Box::pin(async move {
                // One after the other: two that want the same place at the same moment do not both get it.
                tx.lock_queue().await?;
                let now = tx.now();
                for other in tx.live_tasks(&repo).await?.iter().filter(|other| other.id != id) {
                    for claim in other.claims.iter().filter(|claim| claim.holds(now)) {
                        if let Some(path) = claim.overlap(&new.paths).first() {
                            let why = format!(
                                "task {} ({}) has claimed `{path}` until {}; work elsewhere first, or ask a person",
                                other.id, other.title, claim.until
                            );
                            return Err(Error::Conflict { why });
                        }
                    }
                }
                let (mut task, _) = tx.lock_task(id).await?.ok_or_else(|| no_task(id))?;
                if task.phase.is_over() {
                    return Err(Error::Conflict { why: format!("task {id} is {}", task.phase.word()) });
                }
                if let Some(token) = new.renews
                    && !task.claims.iter().any(|claim| claim.token == token && claim.holds(now))
                {
                    let why = format!("the claim {token} has ended; claim anew, and look at what changed meanwhile");
                    return Err(Error::Conflict { why });
                }
                task.claims.retain(|claim| claim.holds(now) && Some(claim.token) != new.renews);
                if task.claims.len() >= 32 {
                    return Err(Error::Conflict { why: "it has 32 claims; release one first".into() });
                }
                let lasts = new.for_s.map_or(USUAL_S, carrel_model::number::Whole::get);
                let until = now + SignedDuration::from_secs(i64::try_from(lasts).unwrap_or(3600));
                // The queue is held, so no two have the same moment, and a later one is larger.
                let newest = task.claims.iter().map(|claim| claim.token).max().unwrap_or(0);
                let claim = Claim { token: now.as_microsecond().max(newest + 1), paths: new.paths, until };
                task.claims.push(claim.clone());
                tx.put_task(&mut task).await?;
                let line =
                    AuditLine::by(&grant, Action::TaskReport.word(), Some(id.to_string()), Outcome::Done, tx.now());
                tx.audit(&line).await?;
                Ok::<_, Error>(claim)
            })
        });
        claimed.await
    }

    /// Gives up a claim. One that is not there any more is given up already.
    pub async fn release(&self, grant: &Grant, id: TaskId, token: i64) -> Result<(), Error> {
        self.look(grant, id, Action::TaskReport).await?;
        self.edit(grant, id, Action::TaskReport, move |tx, task, _| {
            Box::pin(async move {
                let now = tx.now();
                task.claims.retain(|claim| claim.token != token && claim.holds(now));
                Ok(())
            })
        })
        .await
        .map(drop)
    }

    /// Who has claimed what in a repository.
    pub async fn areas(&self, grant: &Grant, repo: &RepoName) -> Result<Vec<AreaView>, Error> {
        let own = match &grant.authority {
            Authority::Sandbox(me) => {
                self.house.store.sandboxes().find(me).await?.and_then(|sandbox| sandbox.spec.repo).as_ref()
                    == Some(repo)
            }
            _ => false,
        };
        if !own {
            self.house.admit(grant, Action::RepoRead, Subject::Repo(repo)).await?;
        }
        let phases = TaskPhase::ALL.into_iter().filter(|phase| !phase.is_over()).collect();
        let filter = TaskFilter { phases, repo: Some(repo.clone()), ..TaskFilter::default() };
        let (tasks, _) = self.house.store.tasks().list(&filter, MOST_TASKS).await?;
        let now = self.house.store.now();
        let areas = tasks.iter().flat_map(|task| {
            let held = task.claims.iter().filter(move |claim| claim.holds(now));
            held.map(|claim| AreaView {
                task_id: task.id,
                title: task.title.clone(),
                agent: task.agent.clone(),
                claim: claim.clone(),
            })
        });
        Ok(areas.collect())
    }

    /// Asks a person. The card says so when the agent ends its turn.
    pub async fn ask(&self, grant: &Grant, id: TaskId, asked: NewQuestion) -> Result<TaskView, Error> {
        self.look(grant, id, Action::TaskReport).await?;
        let question = asked.question.trim().to_owned();
        if question.is_empty() || question.len() > 8192 || question.contains('\0') {
            return Err(Error::field("question", "1 byte to 8 KiB, without NUL"));
        }
        self.edit(grant, id, Action::TaskReport, move |tx, task, session| {
            Box::pin(async move {
                if task.phase != TaskPhase::Working {
                    let why = format!("task {id} is {}: only who works asks", task.phase.word());
                    return Err(Error::Conflict { why });
                }
                let mut said = moment(MomentKind::Question, Voice::Agent, question.clone());
                said.turn = session.turns;
                tx.say(session, said).await?;
                // Who asks twice wants both to be answered.
                let asked = task.told.remove(ASKED).filter(|asked| asked.len() + question.len() <= 16 * 1024);
                let asked = asked.map_or_else(|| question.clone(), |asked| format!("{asked}\n\n{question}"));
                task.told.insert(ASKED.into(), asked);
                Ok(())
            })
        })
        .await
    }

    /// Whether anything is missing on the agent's side: looked at, not believed.
    pub async fn done(&self, grant: &Grant, id: TaskId) -> Result<DoneView, Error> {
        let task = self.look(grant, id, Action::TaskReport).await?;
        let at = self.house.store.now();
        let nothing = |missing: &str| DoneView { done: false, missing: vec![missing.into()], head: None, ahead: 0, at };
        if task.phase.is_over() {
            return Ok(DoneView { done: true, missing: Vec::new(), head: task.head.clone(), ahead: task.ahead, at });
        }
        let Some(sandbox) = &task.sandbox_id else { return Ok(nothing("It has no desk: nobody began.")) };
        if (SandboxesDesk { house: self.house }).look(sandbox).await?.phase != Phase::Ready {
            return Ok(nothing("Its desk sleeps: nobody works on it."));
        }
        let found = work::look_at_work(self.house, sandbox).await?;
        let missing = missing(&task, &found);
        Ok(DoneView { done: missing.is_empty(), missing, head: found.head, ahead: found.ahead, at })
    }
}

/// Where a task keeps what its agent asked during the turn.
pub(crate) const ASKED: &str = "asked";

fn missing(task: &Task, found: &work::Work) -> Vec<String> {
    let mut missing = Vec::new();
    if found.head.is_none() {
        missing.push("The repository in the working tree is gone or broken.".to_owned());
    }
    if let Some(middle) = &found.in_progress {
        missing.push(format!("Git is in the middle of a {middle}: finish or abort it."));
    }
    if found.dirty {
        missing.push("There are changes that are not committed.".to_owned());
    }
    if found.branch.as_ref().is_some_and(|branch| *branch != task.branch) {
        missing.push(format!("Another branch than `{}` is checked out.", task.branch));
    }
    if found.ahead == 0 && task.pull.is_none() {
        missing.push(format!("There is no commit on `{}` that `{}` does not have.", task.branch, task.base));
    }
    missing
}
