//! The steps of a task. Each looks at what is, does what is missing, and records the fact.

mod ending;
mod publishing;

use std::sync::Arc;

use carrel_agent::{DeskRules, Ending, Failure};
use carrel_model::{
    Grant, RefName, SandboxId, TaskId, Timestamp,
    agent::Voice,
    public::{PullPhase, PullView},
    sandbox::NetworkMode,
    session::MomentKind,
    task::{NeedsReason, Task, TaskPhase, TaskWant},
};
use carrel_store::{Lease, LeasedTask, Tx};
use jiff::SignedDuration;
use tokio::sync::Notify;
use tracing::Instrument;

use super::{
    desk::{self, Found, Stands},
    farewell, ladder,
    turn::{self, At, Went},
};
use crate::{
    Error, SandboxesDesk,
    desks::{
        areas::ASKED,
        cards::moment,
        repos,
        tasks::{no_task, reason_in},
    },
    house::House,
    secret::new_sandbox_id,
    work,
};

/// How often an agent is told that nothing is committed, before a person is asked.
const NUDGES: u32 = 2;
/// Under this name a task remembers that a person was told what would be lost with its desk.
const UNSAVED: &str = "unsaved";
/// What a person or a wrong request must mend is tried so often.
const HOPELESS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Prepare,
    Work,
    Publish,
    Merge,
    Rest,
    Close,
    Tidy,
}

fn step_of(task: &Task) -> Option<Step> {
    match (task.phase, task.want) {
        (TaskPhase::Merged | TaskPhase::Closed, _) => task.sandbox_id.is_some().then_some(Step::Tidy),
        (_, TaskWant::Closed) => Some(Step::Close),
        (phase, TaskWant::Rest) => (phase.is_busy() || phase == TaskPhase::Queued).then_some(Step::Rest),
        (TaskPhase::Preparing, _) => Some(Step::Prepare),
        (TaskPhase::Working, _) => Some(Step::Work),
        (TaskPhase::Publishing, _) => Some(Step::Publish),
        (TaskPhase::InReview, TaskWant::Merged) => Some(Step::Merge),
        _ => None,
    }
}

/// Takes steps until the task rests, waits, or is somebody else's.
pub(crate) async fn tend(house: &Arc<House>, leased: LeasedTask, bell: &Notify) -> Result<(), Error> {
    let (id, lease) = (leased.task.id, leased.lease);
    loop {
        let task = house.store.tasks().find(id).await?.ok_or_else(|| no_task(id))?;
        let now = house.store.now();
        let waits = task.next_try(now).is_some_and(|next| next > now);
        let Some(step) = step_of(&task).filter(|_| !waits) else { return release(house, id, lease).await };
        if let Some(desk) = task.sandbox_id.as_ref().filter(|_| house.nodes.has_fellows()) {
            match desk::stands(house, desk).await? {
                Stands::Elsewhere => return hand_over(house, id, lease).await,
                // Nobody sits at it now: whoever sits down next does so on a node that stays.
                Stands::Leaving => Box::pin(crate::nodes::leave_desk(house, desk)).await?,
                Stands::Here => {}
            }
        }
        let began = tokio::time::Instant::now();
        let hand = Hand { house, lease: &lease, task: &task, bell, grant: desk::grant_of(&task.created_by) };
        let span =
            tracing::debug_span!(target: "carrel_span", "task", otel.name = %format_args!("task {step:?}"), task = %id);
        let taking = Box::pin(async {
            match step {
                Step::Prepare => hand.prepare().await,
                Step::Work => hand.work().await,
                Step::Publish => Box::pin(hand.publish()).await,
                Step::Merge => hand.merge().await,
                Step::Rest => hand.rest().await,
                Step::Close => hand.close().await,
                Step::Tidy => hand.tidy().await,
            }
        });
        let taken = taking.instrument(span).await;
        let word = format!("{step:?}").to_lowercase();
        metrics::histogram!("carrel_task_step_seconds", "step" => word).record(began.elapsed().as_secs_f64());
        if let Err(error) = taken {
            hand.mend(error).await?;
        }
    }
}

async fn release(house: &Arc<House>, id: TaskId, lease: Lease) -> Result<(), Error> {
    let released = house.store.change(move |tx| {
        Box::pin(async move {
            let task = tx.lock_leased_task(id, &lease).await?;
            tx.release_task(&task).await?;
            Ok::<_, Error>(())
        })
    });
    released.await
}

/// Lets the node that has the desk go on with a task.
async fn hand_over(house: &Arc<House>, id: TaskId, lease: Lease) -> Result<(), Error> {
    let handed = house.store.change(move |tx| {
        Box::pin(async move {
            let mut task = tx.lock_leased_task(id, &lease).await?;
            tx.release_task(&task).await?;
            // Told, so that the other hears of it.
            tx.put_task(&mut task).await?;
            Ok::<_, Error>(())
        })
    });
    handed.await
}

/// A task in hand.
struct Hand<'h> {
    house: &'h Arc<House>,
    lease: &'h Lease,
    task: &'h Task,
    bell: &'h Notify,
    grant: Grant,
}

impl Hand<'_> {
    /// Writes what is now true of the task.
    async fn record(&self, edit: impl FnOnce(&mut Task) + Send + 'static) -> Result<Task, Error> {
        self.record_and_say(None, edit).await
    }

    /// The same, with a line on its timeline.
    async fn record_and_say(
        &self,
        note: Option<String>,
        edit: impl FnOnce(&mut Task) + Send + 'static,
    ) -> Result<Task, Error> {
        let (id, lease) = (self.task.id, self.lease.clone());
        let recorded = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut task = tx.lock_leased_task(id, &lease).await?;
                edit(&mut task);
                if let Some(text) = note {
                    say(tx, &task, MomentKind::Note, text).await?;
                }
                tx.put_task(&mut task).await?;
                Ok::<_, Error>(task)
            })
        });
        recorded.await
    }

    /// Gives something back to the agent: it is told, and works on.
    async fn back_to_agent(&self, text: String, edit: impl FnOnce(&mut Task) + Send + 'static) -> Result<(), Error> {
        let (id, lease) = (self.task.id, self.lease.clone());
        let told = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut task = tx.lock_leased_task(id, &lease).await?;
                edit(&mut task);
                say(tx, &task, MomentKind::Message, text).await?;
                if task.want == TaskWant::Merged {
                    task.want = TaskWant::Review;
                }
                task.doing = None;
                task.go_to(TaskPhase::Preparing);
                tx.put_task(&mut task).await?;
                Ok::<_, Error>(())
            })
        });
        told.await
    }

    /// Comes true when people want something else.
    async fn unwanted(&self) {
        loop {
            if let Ok(Some(task)) = self.house.store.tasks().find(self.task.id).await
                && matches!(task.want, TaskWant::Closed | TaskWant::Rest)
            {
                return;
            }
            self.bell.notified().await;
        }
    }

    /// A desk with the checkout in it, awake, and as it was left.
    async fn prepare(&self) -> Result<(), Error> {
        let (house, task) = (self.house, self.task);
        if task.base_commit.is_none() {
            let repo = repos::find(house, &task.repo).await?;
            let commit = repos::newest_of(house, &repo, &task.base).await?;
            let commit =
                commit.ok_or_else(|| carrel_git::GitError::Missing { what: format!("branch `{}`", task.base) })?;
            self.record(move |task| task.base_commit = Some(commit)).await?;
            return Ok(());
        }
        if task.goes_on() && task.sandbox_id.is_none() && self.take_over_save().await? {
            return Ok(());
        }
        let Some(sandbox) = &task.sandbox_id else { return self.draw_desk(None, task.attempts).await };
        match desk::look(house, sandbox).await? {
            Found::There | Found::Asleep => {}
            Found::Missing => {
                desk::create_for_task(house, task, sandbox).await?;
                if house.nodes.has_fellows() {
                    // It may stand on another node, which then goes on.
                    return Ok(());
                }
            }
            Found::Lost(why) => {
                let mirror = house.library.mirror(&task.repo).await?;
                let saved = mirror.wip(task.id).await?;
                // No desk can be made where it would begin. When that is mended, it begins at what is newest then.
                if let (None, Some(base)) = (&saved, &task.base_commit)
                    && let Err(carrel_git::GitError::Unfit { why }) = mirror.check_fit(base).await
                {
                    self.record(move |task| {
                        (task.base_commit, task.sandbox_id) = (None, None);
                        task.ask_for_help(NeedsReason::Repo, format!("It cannot begin: {why}."));
                    })
                    .await?;
                    return Ok(());
                }
                let then = match saved {
                    Some(_) => "a new one goes on from the last save",
                    None => "nothing was saved yet, so a new one begins where this one began",
                };
                return self.draw_desk(Some(format!("The desk was lost ({why}); {then}.")), task.attempts).await;
            }
        }
        tokio::select! {
            ready = desk::wait_for(house, &self.grant, sandbox) => ready?,
            () = self.unwanted() => return Ok(()),
        }
        if task.told.get("desk").map(String::as_str) != Some(sandbox.as_str()) {
            let mirror = house.library.mirror(&task.repo).await?;
            if let Some(saved) = mirror.wip(task.id).await? {
                work::restore_work(house, sandbox, &saved).await?;
            }
        }
        // Where an agent cannot fetch for itself, it finds what is new when its turn begins.
        match work::refresh(house, sandbox).await {
            Ok(()) | Err(Error::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
        match work::look_at_work(house, sandbox).await {
            Ok(found) if ladder::is_behind(task, &found) => self.follow_branch(sandbox).await?,
            Ok(found) if found.head.is_some() => {}
            Ok(_) => return self.leave_desk(sandbox, "there is no commit that is checked out".into()).await,
            // It fell asleep or was ended in between: it is looked at again.
            Err(Error::Conflict { .. }) if !farewell::is_awake(house, sandbox).await? => return Ok(()),
            Err(Error::Conflict { why }) => return self.leave_desk(sandbox, why).await,
            Err(error) => return Err(error),
        }
        let desk = sandbox.to_string();
        self.record(move |task| {
            task.told.insert("desk".into(), desk);
            task.told.remove(UNSAVED);
            ladder::has_followed(task);
            task.go_to(TaskPhase::Working);
        })
        .await?;
        Ok(())
    }

    /// Another attempt that begins at a checkpoint finds its files as they were: on the commit that was checked out then,
    /// and not committed. True when that is written down now.
    async fn take_over_save(&self) -> Result<bool, Error> {
        let Some(save) = &self.task.base_commit else { return Ok(false) };
        let mirror = self.house.library.mirror(&self.task.repo).await?;
        let Some(under) = mirror.saved_upon(save).await? else { return Ok(false) };
        mirror.hold(&RefName::wip(self.task.id), save).await?;
        self.record(move |task| task.base_commit = Some(under)).await?;
        Ok(true)
    }

    /// Leaves a desk behind that came without its checkout. Where none ever comes with it, a person is asked.
    async fn leave_desk(&self, sandbox: &SandboxId, why: String) -> Result<(), Error> {
        self.end_desk(sandbox).await?;
        let desks = self.task.attempts + 1;
        if desks >= self.house.settings.work.tries {
            let detail = format!("Its desk comes without its checkout, {desks} times in a row: {why}");
            self.record(move |task| task.ask_for_help(NeedsReason::DeskFailed, detail)).await?;
            return Ok(());
        }
        let note = "The desk came back without its checkout; a new one goes on from the last save.";
        self.draw_desk(Some(note.into()), desks).await
    }

    /// Names a new desk before it exists.
    async fn draw_desk(&self, note: Option<String>, attempts: u32) -> Result<(), Error> {
        let (id, lease, sandbox) = (self.task.id, self.lease.clone(), new_sandbox_id());
        let drawn = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut task = tx.lock_leased_task(id, &lease).await?;
                let lost = task.sandbox_id.is_some();
                (task.sandbox_id, task.attempts) = (Some(sandbox.clone()), attempts);
                if let Some(mut session) = tx.lock_session(&task.session_id).await? {
                    session.sandbox_id = Some(sandbox);
                    if lost {
                        // Who remembers the conversation was at the other desk, and so was the turn in flight.
                        (session.conversation, session.turn) = (None, None);
                    }
                    if let Some(text) = note {
                        tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
                    }
                    tx.put_session(&mut session).await?;
                }
                tx.put_task(&mut task).await?;
                Ok::<_, Error>(())
            })
        });
        drawn.await
    }

    async fn end_desk(&self, sandbox: &SandboxId) -> Result<(), Error> {
        match (SandboxesDesk { house: self.house }).destroy(&self.grant, sandbox).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A turn of the agent.
    async fn work(&self) -> Result<(), Error> {
        let (house, task) = (self.house, self.task);
        let Some(sandbox) = &task.sandbox_id else { return self.back_to_preparing().await };
        if !matches!(desk::look(house, sandbox).await?, Found::There) {
            return self.back_to_preparing().await;
        }
        let repo = repos::find(house, &task.repo).await?;
        let rules = DeskRules {
            task: Some(task.id),
            repo: Some(task.repo.clone()),
            branch: Some(task.branch.clone()),
            base: Some(task.base.clone()),
            check_command: repo.rules.check_command.clone(),
            house_rules: None,
            reachable: reachable(task),
        };
        let at = At { session: &task.session_id, sandbox, rules, saves: true, asks_again: true };
        let ending = match Box::pin(turn::take(house, &at, self.unwanted())).await? {
            Went::Stopped => return Ok(()),
            Went::Nothing => Ending::Finished,
            Went::Ended(ending) => ending,
        };
        // What it asked during the turn, by its tools, waits for a person like what it asked in its last words.
        let asked = house.store.tasks().find(task.id).await?.and_then(|task| task.told.get(ASKED).cloned());
        let ending = match (ending, asked) {
            (Ending::Finished, Some(question)) => Ending::Asked { question },
            (ending, _) => ending,
        };
        match ending {
            Ending::Finished => {
                let session = house.store.sessions().find(&task.session_id).await?;
                // Somebody said something meanwhile: that comes first.
                let asked = session.is_some_and(|session| session.is_asked());
                self.record(move |task| {
                    task.failures = 0;
                    task.go_to(if asked { TaskPhase::Working } else { TaskPhase::Publishing });
                })
                .await?;
            }
            Ending::Asked { question } => {
                self.record(move |task| {
                    task.failures = 0;
                    task.told.remove(ASKED);
                    task.ask_for_help(NeedsReason::Question, question);
                })
                .await?;
            }
            Ending::Failed { why, failure } => self.failed(why, failure).await?,
        }
        Ok(())
    }

    async fn back_to_preparing(&self) -> Result<(), Error> {
        self.record(|task| task.phase = TaskPhase::Preparing).await.map(drop)
    }

    /// A turn that did not come to an end of its own.
    async fn failed(&self, why: String, failure: Failure) -> Result<(), Error> {
        let tries = self.house.settings.work.tries;
        let reason = match failure {
            Failure::Budget => NeedsReason::Budget,
            _ => NeedsReason::AgentFailed,
        };
        let failures = self.task.failures + 1;
        if !failure.may_pass() || failures >= tries {
            self.record(move |task| {
                task.failures = failures;
                task.ask_for_help(reason, why);
            })
            .await?;
            return Ok(());
        }
        let rests = match failure {
            Failure::RateLimited { retry_after_s: Some(seconds) } => {
                SignedDuration::from_secs(i64::try_from(seconds.min(3600)).unwrap_or(60))
            }
            _ => self.pause_after(failures - 1),
        };
        let (id, lease, wanted) = (self.task.id, self.lease.clone(), self.task.want);
        let told = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut task = tx.lock_leased_task(id, &lease).await?;
                if let Some(mut session) = tx.lock_session(&task.session_id).await? {
                    if failure == Failure::Conversation {
                        session.conversation = None;
                    }
                    // What got no answer is asked again with the next turn, and this with it: it is said once.
                    if failures == 1 || !session.is_asked() {
                        let text = format!(
                            "Your last turn broke off: {why}\n\nWhat you did until then is still there. Look at it, and \
                             go on."
                        );
                        tx.say(&mut session, moment(MomentKind::Message, Voice::House, text)).await?;
                    }
                    tx.put_session(&mut session).await?;
                }
                task.go_to(TaskPhase::Preparing);
                task.failures = failures;
                try_later(&mut task, wanted, 0, Some(tx.now() + rests));
                tx.put_task(&mut task).await?;
                Ok::<_, Error>(())
            })
        });
        told.await
    }

    /// A step that failed is tried again after a pause; after too many, a person is asked.
    async fn mend(&self, error: Error) -> Result<(), Error> {
        if matches!(&error, Error::Internal(inner) if crate::keeper::is_lost_lease(&**inner)) {
            return Err(error);
        }
        let task = self.task;
        let (attempts, tries) = (task.attempts + 1, self.house.settings.work.tries);
        tracing::debug!(task = %task.id, error = &error as &dyn std::error::Error, attempts, "a step of a task failed");
        let passing = matches!(
            error,
            Error::Unavailable { .. } | Error::Limited { .. } | Error::Inside { .. } | Error::Internal(_)
        );
        let most = if passing { tries } else { HOPELESS };
        let wanted = task.want;
        if attempts >= most && !matches!(error, Error::Limited { .. }) {
            let (reason, detail) = (reason_in(task.phase), error.to_string());
            self.record(move |task| {
                // What failed is not what people want meanwhile: that is tried first.
                if is_otherwise(task, wanted) {
                    return try_later(task, wanted, 0, None);
                }
                if task.want == TaskWant::Closed {
                    task.want = TaskWant::Review;
                }
                task.ask_for_help(reason, detail);
            })
            .await?;
            return Ok(());
        }
        let rests = match &error {
            Error::Limited { retry_after, .. } => *retry_after,
            _ => self.pause_after(task.attempts),
        };
        let next = self.house.store.now() + rests;
        self.record(move |task| try_later(task, wanted, attempts, Some(next))).await?;
        Ok(())
    }

    fn pause_after(&self, attempts: u32) -> SignedDuration {
        let patience = &self.house.settings.patience;
        let first = patience.first_retry.max(std::time::Duration::from_millis(200));
        let pause = first.saturating_mul(2_u32.saturating_pow(attempts.min(16)));
        SignedDuration::try_from(pause.min(patience.longest_retry)).unwrap_or(SignedDuration::from_secs(1))
    }
}

/// Whether people want something else of a task than when its step began, and that at once.
fn is_otherwise(task: &Task, wanted: TaskWant) -> bool {
    task.want != wanted && matches!(task.want, TaskWant::Closed | TaskWant::Rest)
}

/// It is tried again after a while. What people want instead meanwhile does not wait for this mishap.
fn try_later(task: &mut Task, wanted: TaskWant, attempts: u32, next: Option<Timestamp>) {
    (task.attempts, task.next_attempt_at) = if is_otherwise(task, wanted) { (0, None) } else { (attempts, next) };
}

/// What was seen of a task's pull request.
pub(super) fn seen(task: &mut Task, pull: &PullView) {
    task.pull = Some(pull.into());
    if pull.phase == PullPhase::Merged {
        task.ended_at.get_or_insert(pull.updated_at);
        task.conflicts.clear();
        task.shares.clear();
        task.go_to(TaskPhase::Merged);
    }
}

async fn say(tx: &mut Tx, task: &Task, kind: MomentKind, text: String) -> Result<(), Error> {
    if let Some(mut session) = tx.lock_session(&task.session_id).await? {
        tx.say(&mut session, moment(kind, Voice::House, text)).await?;
        tx.put_session(&mut session).await?;
    }
    Ok(())
}

fn reachable(task: &Task) -> Vec<String> {
    match task.network.mode {
        NetworkMode::None => Vec::new(),
        NetworkMode::Allow => task.network.allow.iter().map(|host| host.as_str().to_owned()).collect(),
        NetworkMode::Open => vec!["the internet".into()],
    }
}

/// The end of a long text.
fn tail(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}
