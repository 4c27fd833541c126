//! How a task rests and how it ends: nothing goes before its work is on a ref.

use carrel_model::{
    Holder, SandboxId,
    sandbox::Depth,
    session::SessionPhase,
    task::{NeedsReason, TaskPhase, TaskPull, TaskWant},
};

use super::{Hand, UNSAVED};
use crate::{
    Error, PullsDesk, SandboxesDesk,
    desks::repos,
    pulls,
    tasks::{
        desk::{self, Found},
        farewell::{self, Last},
        turn,
    },
    work,
};

/// So often an upstream that is away is asked to let go of the branch of a card that is being closed.
const TAKE_BACK_TRIES: u32 = 5;

impl Hand<'_> {
    /// Stops the turn in flight, keeps what was done, and lets the desk sleep.
    pub(super) async fn rest(&self) -> Result<(), Error> {
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
    pub(super) async fn close(&self) -> Result<(), Error> {
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
            let error = match error {
                // A folder on a disk that comes back is away, too.
                Error::NotFound { what } => Error::Unavailable { why: what, source: None },
                error => error,
            };
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
    pub(super) async fn tidy(&self) -> Result<(), Error> {
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
}
