//! The steps of a task. Each looks at what is, does what is missing, and records the fact.

use std::sync::Arc;

use carrel_agent::{DeskRules, Ending, Failure, Turn as Asked};
use carrel_git::merge::{Rung, RungRecord};
use carrel_model::{
    Grant, Holder, RefName, SandboxId, TaskId, Timestamp,
    agent::Voice,
    public::{NewExec, PullPhase, PullView},
    sandbox::{Depth, NetworkMode},
    session::{MomentKind, SessionPhase},
    task::{NeedsReason, Task, TaskPhase, TaskPull, TaskWant},
};
use carrel_store::{Lease, LeasedTask, Tx};
use jiff::SignedDuration;
use tokio::sync::Notify;
use tracing::Instrument;

use super::{
    desk::{self, Found, Stands},
    farewell::{self, Last},
    ladder, messages, review, stray,
    turn::{self, At, Went},
};
use crate::{
    Error, ExecsDesk, MergeRefused, MergeWish, PullsDesk, SandboxesDesk,
    desks::{
        areas::ASKED,
        repos,
        tasks::{moment, no_task, reason_in},
    },
    house::House,
    pulls::{self, PullWish, Rebased},
    secret::new_sandbox_id,
    work,
};

/// How often an agent is told that nothing is committed, before a person is asked.
const NUDGES: u32 = 2;
/// How often what changes is committed, before something at the desk is taken to be still at it.
const COMMITS: u32 = 3;
/// How often conflicts go back to the agent, before a person is asked.
const REBASES: u32 = 3;
/// Under this name a task remembers that a person was told what would be lost with its desk.
const UNSAVED: &str = "unsaved";
/// What the card says while an upstream or a forge does not answer.
const UNPUBLISHED: &str = "is not published yet";
/// So often an upstream that is away is asked to let go of the branch of a card that is being closed.
const TAKE_BACK_TRIES: u32 = 5;
/// How long a forge is left alone that has not judged a new head yet. What is heard of it meanwhile comes first.
const FORGE_RESTS: SignedDuration = SignedDuration::from_secs(15);
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
        let waits = task.next_attempt_at.is_some_and(|next| next > house.store.now());
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
        if task.fork_of.is_some() && task.sandbox_id.is_none() && self.take_over_save().await? {
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

    /// Everything that is done is committed, pushed, and at a pull request.
    async fn publish(&self) -> Result<(), Error> {
        let (house, task) = (self.house, self.task);
        let Some(sandbox) = &task.sandbox_id else { return self.back_to_preparing().await };
        match desk::look(house, sandbox).await? {
            Found::There | Found::Asleep => desk::wait_for(house, &self.grant, sandbox).await?,
            Found::Missing | Found::Lost(_) => return self.back_to_preparing().await,
        }
        let mut found = work::look_at_work(house, sandbox).await?;
        if found.head.is_none() {
            self.end_desk(sandbox).await?;
            let detail = "The repository on its desk is gone or broken. `retry` makes a new desk from the last save.";
            self.record(move |task| {
                task.told.remove("desk");
                task.ask_for_help(NeedsReason::DeskFailed, detail);
            })
            .await?;
            return Ok(());
        }
        if let Some(middle) = &found.in_progress {
            let missing = format!("git is in the middle of a {middle}. Finish or abort it.");
            return self.nudge(missing, NeedsReason::Conflict).await;
        }
        if let Some(missing) = stray::elsewhere(task, &found) {
            return self.nudge(missing, NeedsReason::NothingChanged).await;
        }
        for tries in 0.. {
            if !found.dirty {
                break;
            }
            if tries == COMMITS {
                let missing = "something at the desk still changes files that are committed. End it, or have git ignore \
                               what it writes.";
                return self.nudge(missing.to_owned(), NeedsReason::PushRefused).await;
            }
            let committed = match work::commit_work(house, sandbox, &task.title, &[]).await {
                Ok(committed) => committed,
                Err(Error::Conflict { why }) => return self.nudge(why, NeedsReason::PushRefused).await,
                Err(error) => return Err(error),
            };
            found = work::look_at_work(house, sandbox).await?;
            // What git will not commit does not become less.
            if committed.is_none() {
                break;
            }
        }
        if let Some(missing) = stray::nothing_new(task, &found) {
            // The base may have got it meanwhile.
            let phase = match &task.pull {
                Some(pull) => Some(pulls::look_at_pull(house, &task.repo, pull.number).await?.phase),
                None => None,
            };
            if phase.is_none_or(|phase| !phase.is_over()) {
                return self.nudge(missing, NeedsReason::NothingChanged).await;
            }
        }
        // A push of the agent's own may have come in between: it is tried once more before anybody is told.
        let pushed = match work::push_work(house, sandbox).await {
            Err(Error::Conflict { .. }) => work::push_work(house, sandbox).await,
            pushed => pushed,
        };
        let head = match pushed {
            Ok(head) => head,
            Err(Error::Conflict { why }) => return self.nudge(why, NeedsReason::PushRefused).await,
            Err(error) => return Err(error),
        };
        if task.told.contains_key("rebase_wanted") && !self.rebase(sandbox).await? {
            return Ok(());
        }
        let mirror = house.library.mirror(&task.repo).await?;
        let head = mirror.find(&task.branch.full()).await?.unwrap_or(head);
        let learnt = ladder::learn(house, task, &head, Rung::Agent).await?;
        if let Err(error) = pulls::publish(house, &task.repo, &task.branch).await {
            return self.hand_on_later(UNPUBLISHED, error).await;
        }
        let odd = messages::odd(house, task).await?;
        let pull = match pulls::open_pull(house, &self.wish(sandbox, &odd).await?).await {
            Ok(pull) => pull,
            Err(error) => return self.hand_on_later(UNPUBLISHED, error).await,
        };
        let (ahead, behind) = mirror.distance(&task.base, &task.branch).await?;
        let unchanged = |what: &str| task.told.get(what).is_some_and(|told| *told == head.to_string());
        let (unchecked, unsettled) = (unchanged("checks"), unchanged("conflict"));
        let opened = task.pull.is_none().then(|| format!("Pull request {} is open: {}", pull.number, pull.url));
        let (reported, said) = messages::report(task, &odd);
        let settled = ladder::in_words(learnt.as_slice());
        let notes: Vec<String> = settled.into_iter().chain(opened).chain(said).collect();
        let note = (!notes.is_empty()).then(|| notes.join("\n\n"));
        let shown = pull.clone();
        self.record_and_say(note, move |task| {
            if let Some(reported) = reported {
                task.told.insert(messages::TOLD.into(), reported);
            }
            (task.head, task.ahead, task.behind) = (Some(head), ahead, behind);
            task.told.remove("rebase_wanted");
            if learnt.is_some() {
                task.told.remove(ladder::ASKED);
            }
            // It was published before that was heard.
            if task.want == TaskWant::Rest {
                task.want = TaskWant::Review;
            }
            seen(task, &pull);
            if task.phase.is_over() {
            } else if unchecked {
                let detail = "The check of the merged result fails, and its agent changed nothing about it.";
                task.ask_for_help(NeedsReason::ChecksFailed, detail);
            } else if unsettled {
                let detail = format!("It conflicts with `{}`, and its agent changed nothing about it.", task.base);
                task.ask_for_help(NeedsReason::Conflict, detail);
            } else {
                task.nudges = 0;
                task.go_to(TaskPhase::InReview);
            }
        })
        .await?;
        // From here on it may be merged by itself.
        let repo = repos::find(house, &task.repo).await?;
        pulls::tend_pull(house, &repo, &shown).await;
        Ok(())
    }

    /// An upstream or a forge that does not answer is asked again for as long as it takes, and the card says so: what was
    /// done is safe here meanwhile.
    async fn hand_on_later(&self, what: &str, error: Error) -> Result<(), Error> {
        let rests = match &error {
            Error::Unavailable { source: None, .. } => self.pause_after(self.task.attempts),
            Error::Limited { retry_after, .. } => *retry_after,
            _ => return Err(error),
        };
        let (attempts, next) = (self.task.attempts + 1, self.house.store.now() + rests);
        let words = format!("{what} and tried again: {}", tail(&error.to_string(), 300));
        let wanted = self.task.want;
        self.record(move |task| {
            task.doing = Some(words);
            try_later(task, wanted, attempts, Some(next));
        })
        .await?;
        Ok(())
    }

    /// Puts the branch onto the newest base; false when that is for the agent now.
    async fn rebase(&self, sandbox: &SandboxId) -> Result<bool, Error> {
        let (house, task) = (self.house, self.task);
        match pulls::rebase_branch(house, &task.repo, &task.branch, &task.base, Some(task.id), None).await? {
            Rebased::Already => Ok(true),
            Rebased::Moved { records, .. } => {
                if let Some(words) = ladder::in_words(&records) {
                    self.record_and_say(Some(words), |_| {}).await?;
                }
                work::refresh(house, sandbox).await?;
                self.follow_branch(sandbox).await?;
                Ok(true)
            }
            Rebased::Conflicts { paths, records, .. } => {
                self.conflicts(&paths, &records).await?;
                Ok(false)
            }
        }
    }

    /// The desk follows its branch, which the house has moved.
    async fn follow_branch(&self, sandbox: &SandboxId) -> Result<(), Error> {
        let line = format!("git fetch -q origin '{0}' && git reset -q --hard FETCH_HEAD", self.task.branch);
        let follow = NewExec { command: Some(line), cwd: Some(carrel_git::WORKSPACE.to_owned()), ..NewExec::default() };
        let mut running = ExecsDesk { house: self.house }.start_own(&self.grant, sandbox, follow).await?;
        while running.output.next().await?.is_some() {}
        Ok(())
    }

    /// Conflicts go to the agent a few times, then to a person.
    async fn conflicts(&self, paths: &[String], records: &[RungRecord]) -> Result<(), Error> {
        let (list, base) = (review::listed(paths), self.task.base.clone());
        let tried = ladder::tried_in_words(paths, records);
        if self.task.rebases >= REBASES {
            let detail = format!("It conflicts with `{base}` in {list}, and its agent did not settle it.");
            self.record_and_say(Some(tried), move |task| {
                task.told.remove("rebase_wanted");
                task.ask_for_help(NeedsReason::Conflict, detail);
            })
            .await?;
            return Ok(());
        }
        let text = format!(
            "`{base}` has moved on, and your branch conflicts with it in: {list}.\n\nRun `git fetch origin && git rebase \
             origin/{base}`, settle the conflicts so that both changes keep their meaning, finish the rebase, and check \
             your work again."
        );
        let asked = ladder::question(self.house, self.task, paths).await?;
        self.record_and_say(Some(tried), |_| {}).await?;
        self.back_to_agent(text, |task| {
            if let Some(asked) = asked {
                task.told.insert(ladder::ASKED.into(), asked);
            }
            let head = task.head.as_ref().map(ToString::to_string).unwrap_or_default();
            task.told.insert("conflict".into(), head);
            task.rebases += 1;
            task.told.remove("rebase_wanted");
        })
        .await
    }

    /// Something is missing that the agent can mend; told so often, then a person is asked.
    async fn nudge(&self, missing: String, reason: NeedsReason) -> Result<(), Error> {
        if self.task.nudges >= NUDGES {
            let detail = format!("The agent says that it has finished, but {missing}");
            self.record(move |task| task.ask_for_help(reason, detail)).await?;
            return Ok(());
        }
        self.back_to_agent(Asked::nudge(&missing), |task| task.nudges += 1).await
    }

    /// The pull request that this task wants.
    async fn wish(&self, sandbox: &SandboxId, odd: &[messages::Odd]) -> Result<PullWish, Error> {
        let task = self.task;
        let mirror = self.house.library.mirror(&task.repo).await?;
        let log = mirror.subjects(&task.base, &task.branch, 50).await?;
        let changes: String = log.iter().map(|subject| format!("- {subject}\n")).collect();
        let repo = repos::find(self.house, &task.repo).await?;
        let checked = match &repo.rules.check_command {
            Some(command) => format!("`{command}` is run on the merged result before it is merged."),
            None => "The repository names no check command.".to_owned(),
        };
        let body = format!(
            "## What was asked\n\n{}\n\n## What changed\n\n{changes}\n## How it is checked\n\n{checked}\n\n{}Made by the \
             agent `{}` at desk `{sandbox}`.\n\nCarrel-Task: {}\n",
            task.prompt.trim(),
            messages::section(odd),
            task.agent,
            task.id
        );
        let rules = &repo.rules.pulls;
        let mut labels = task.labels.clone();
        labels.extend(rules.labels.iter().filter(|label| !task.labels.contains(label)).cloned());
        Ok(PullWish {
            repo: task.repo.clone(),
            head: task.branch.clone(),
            base: task.base.clone(),
            title: task.title.clone(),
            body,
            draft: rules.draft,
            draft_at_opening: true,
            auto_merge: rules.auto_merge.then_some(repo.rules.merge),
            labels,
            reviewers: rules.reviewers.clone(),
        })
    }

    /// Puts it into the base, through the lane.
    async fn merge(&self) -> Result<(), Error> {
        let task = self.task;
        let Some(pull) = &task.pull else {
            self.record(|task| task.go_to(TaskPhase::Publishing)).await?;
            return Ok(());
        };
        // Its agent would have said so when it was published: whoever settled it since is a person.
        if let Some(head) = &task.head
            && let Some(record) = ladder::learn(self.house, task, head, Rung::Person).await?
        {
            let words = ladder::in_words(&[record]);
            self.record_and_say(words, |task| {
                task.told.remove(ladder::ASKED);
            })
            .await?;
        }
        let wish = MergeWish {
            repo: task.repo.clone(),
            number: pull.number,
            style: None,
            expected_head: task.head.clone(),
            by: self.grant.clone(),
        };
        match pulls::merge_pull(self.house, wish).await {
            Ok(merged) => {
                let settled = ladder::in_words(&merged.records).map(|words| format!(" {words}")).unwrap_or_default();
                let note = format!("Merged into `{}`.{settled}", task.base);
                self.record_and_say(Some(note), move |task| {
                    seen(task, &merged.pull);
                    task.ended_at.get_or_insert(merged.pull.updated_at);
                    task.conflicts.clear();
                    task.shares.clear();
                    task.go_to(TaskPhase::Merged);
                })
                .await?;
                // The repository's own row shows where its branch is now.
                let _ = repos::bring_up_to_date(self.house, &task.repo).await;
                Ok(())
            }
            Err(MergeRefused::Conflicts { paths, records, .. }) => self.conflicts(&paths, &records).await,
            Err(MergeRefused::ChecksFailed { log }) => self.checks_failed(log).await,
            Err(MergeRefused::Waits { why }) => {
                let (next, wanted) = (self.house.store.now() + FORGE_RESTS, task.want);
                self.record(move |task| {
                    task.doing = Some(why);
                    try_later(task, wanted, 0, Some(next));
                })
                .await?;
                Ok(())
            }
            Err(MergeRefused::HeadMoved { head }) => {
                let note = format!("Its branch moved to {} before it was merged.", head.short());
                self.record_and_say(Some(note), move |task| {
                    task.head = Some(head);
                    task.ask_for_help(NeedsReason::ForgeFailed, "Its branch moved after it was looked at; look again.");
                })
                .await?;
                Ok(())
            }
            Err(MergeRefused::Closed) => {
                self.record(|task| task.want = TaskWant::Closed).await?;
                Ok(())
            }
            Err(refused @ (MergeRefused::NotApproved { .. } | MergeRefused::Upstream { .. })) => {
                let detail = format!("It cannot be merged: {refused}");
                self.record(move |task| task.ask_for_help(NeedsReason::ForgeFailed, detail)).await?;
                Ok(())
            }
            Err(MergeRefused::Failed(error)) => Err(error),
        }
    }

    /// What a check printed goes back to the agent, once for each head.
    async fn checks_failed(&self, log: String) -> Result<(), Error> {
        let head = self.task.head.as_ref().map(ToString::to_string).unwrap_or_default();
        if self.task.told.get("checks") == Some(&head) || self.task.nudges >= NUDGES {
            let detail = format!("The check of the merged result fails:\n{}", tail(&log, 2000));
            self.record(move |task| task.ask_for_help(NeedsReason::ChecksFailed, detail)).await?;
            return Ok(());
        }
        let printed = match log.trim() {
            "" => "It printed nothing.".to_owned(),
            log => format!("What it printed:\n\n```\n{}\n```", tail(log, 8000)),
        };
        let repo = repos::find(self.house, &self.task.repo).await?;
        let command = repo.rules.check_command.map(|command| format!(": `{command}`")).unwrap_or_default();
        let text = format!(
            "The check of the merged result fails{command}. {printed}\n\nMend it, run the check yourself, and commit."
        );
        self.back_to_agent(text, move |task| {
            task.nudges += 1;
            task.told.insert("checks".into(), head);
        })
        .await
    }

    /// Stops the turn in flight, keeps what was done, and lets the desk sleep.
    async fn rest(&self) -> Result<(), Error> {
        if let Some(sandbox) = &self.task.sandbox_id
            && matches!(desk::look(self.house, sandbox).await?, Found::There)
        {
            self.stop_turn(sandbox).await?;
            let _ = work::save_work(self.house, sandbox).await;
            let desk = SandboxesDesk { house: self.house };
            if let Err(error) = desk.pause(&self.grant, sandbox, Depth::default()).await {
                tracing::debug!(%sandbox, error = &error as &dyn std::error::Error, "a desk was not paused");
            }
        }
        self.record(|task| task.go_to(TaskPhase::Backlog)).await?;
        Ok(())
    }

    /// Ends what an agent runs, when a turn was in flight.
    async fn stop_turn(&self, sandbox: &SandboxId) -> Result<(), Error> {
        let session = self.house.store.sessions().find(&self.task.session_id).await?;
        let Some(turn) = session.and_then(|session| session.turn) else { return Ok(()) };
        turn::signal(self.house, &self.grant, sandbox, &turn.exec, "KILL").await;
        let id = self.task.session_id.clone();
        let ended = self.house.store.change(move |tx| {
            Box::pin(async move {
                if let Some(mut session) = tx.lock_session(&id).await? {
                    session.turn = None;
                    tx.put_session(&mut session).await?;
                }
                Ok::<_, Error>(())
            })
        });
        ended.await
    }

    /// Keeps what was done under a ref of its own, closes the pull request, and ends the desk.
    async fn close(&self) -> Result<(), Error> {
        let (house, task) = (self.house, self.task);
        let mut notes = Vec::new();
        if let Some(sandbox) = &task.sandbox_id
            && farewell::was_used(house, &self.grant, sandbox).await?
        {
            self.stop_turn(sandbox).await?;
            // Nothing is destroyed before it is on a durable ref.
            match farewell::save_last(house, &self.grant, sandbox).await? {
                Last::Safe => {}
                Last::Unsaved(why) if task.told.contains_key(UNSAVED) => {
                    notes.push(format!("The last of it could not be saved: {why}"));
                }
                Last::Unsaved(why) => return self.ask_before_losing(why).await,
            }
        }
        notes.extend(self.keep().await?);
        let mut closed = None;
        if let Some(pull) = task.pull.as_ref().filter(|pull| !pull.phase.is_over()) {
            match (PullsDesk { house }).set_open(&self.grant, &task.repo, pull.number, false).await {
                Ok(pull) => closed = Some(TaskPull::from(&pull)),
                Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if let Err(error) = pulls::take_back(house, task).await {
            // Who is away for a moment is asked again, so that nothing of ours stays there.
            if task.attempts < TAKE_BACK_TRIES
                && matches!(error, Error::Unavailable { source: None, .. } | Error::Limited { .. })
            {
                return self.hand_on_later("its branch is still upstream", error).await;
            }
            // A branch that stays there is untidy, and no reason to keep a card from being closed.
            tracing::warn!(task = %task.id, error = &error as &dyn std::error::Error, "its branch stays upstream");
        }
        let now = house.store.now();
        let note = (!notes.is_empty()).then(|| notes.join("\n\n"));
        self.record_and_say(note, move |task| {
            // Said here: what is heard of a pull changes no card that is over.
            task.pull = closed.or_else(|| task.pull.take());
            task.ended_at.get_or_insert(now);
            task.conflicts.clear();
            task.shares.clear();
            task.go_to(TaskPhase::Closed);
        })
        .await?;
        Ok(())
    }

    /// There is work at its desk that cannot be saved: a person decides, by closing it once more, that it may go.
    async fn ask_before_losing(&self, why: String) -> Result<(), Error> {
        let detail = format!(
            "It was not closed, so that nothing at its desk is lost: {why}. Mend that, or close it once more and leave \
             behind what was not saved."
        );
        self.record(move |task| {
            task.told.insert(UNSAVED.into(), why);
            task.want = TaskWant::Review;
            task.ask_for_help(NeedsReason::DeskFailed, detail);
        })
        .await?;
        Ok(())
    }

    /// Keeps what was done and is nowhere else under a ref of its own.
    async fn keep(&self) -> Result<Option<String>, Error> {
        let task = self.task;
        work::keep::keep(self.house, &Holder::Task(task.id), &task.repo, Some(&task.branch), &task.base).await
    }

    /// The desk of a task that is over ends, and its saves are forgotten: what they held is merged or kept.
    async fn tidy(&self) -> Result<(), Error> {
        let (house, task) = (self.house, self.task);
        if let Some(sandbox) = &task.sandbox_id {
            self.end_desk(sandbox).await?;
        }
        if repos::find(house, &task.repo).await.is_ok() {
            house.library.mirror(&task.repo).await?.forget_wip(task.id).await?;
        }
        let (id, lease) = (task.id, self.lease.clone());
        let tidied = house.store.change(move |tx| {
            Box::pin(async move {
                let mut task = tx.lock_leased_task(id, &lease).await?;
                task.sandbox_id = None;
                if let Some(mut session) = tx.lock_session(&task.session_id).await? {
                    (session.phase, session.turn) = (SessionPhase::Closed, None);
                    tx.put_session(&mut session).await?;
                }
                tx.put_task(&mut task).await?;
                Ok::<_, Error>(())
            })
        });
        tidied.await
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
