//! One step of a sandbox's life: its provider is asked, and what came of it is said.

use std::{sync::Arc, time::Duration};

use carrel_model::sandbox::{Depth, Fact, Phase, Sandbox, Step};
use carrel_sandbox::ProviderError;
use carrel_store::Leased;
use tokio::sync::Notify;

use super::row::record;
use crate::{Error, house::House, registry::Post};

/// A step that takes longer than this is told as begun; a quicker one is told in one breath when it is done.
const A_MOMENT: Duration = Duration::from_millis(20);

/// How a step ended, as far as the row is concerned.
pub(super) enum Outcome {
    /// With how deep it sleeps now, or slept until now.
    Done(Option<Depth>),
    /// It came back from its sleep, and is not what it was.
    Astray(String),
    /// It is no longer wanted: look again.
    CalledOff,
    Failed(ProviderError),
}

/// Asks the provider, tells of a beginning that takes a while, and stops when the sandbox is no longer wanted.
pub(super) async fn take_step(
    house: &Arc<House>,
    post: &Post,
    step: Step,
    leased: &Leased,
    unwanted: &Notify,
) -> Result<Outcome, Error> {
    let asked = ask(house, post, step, &leased.sandbox);
    tokio::pin!(asked);
    let a_moment = tokio::time::sleep(A_MOMENT);
    tokio::pin!(a_moment);
    let mut told = false;
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return Ok(match answer {
                Ok(Woken::Well(depth)) => Outcome::Done(depth),
                Ok(Woken::Astray(why)) => Outcome::Astray(why),
                Err(error) => Outcome::Failed(error),
            }),
            () = unwanted.notified(), if step != Step::Destroy => return Ok(Outcome::CalledOff),
            () = &mut a_moment, if !told => {
                told = true;
                if matches!(step, Step::Create | Step::Destroy) {
                    record(house, leased, Fact::Began(step), None, None).await?;
                }
            }
        }
    }
}

/// What a step came to.
enum Woken {
    /// With how deep it sleeps now, or slept until now.
    Well(Option<Depth>),
    /// It came back, and is not what it was.
    Astray(String),
}

async fn ask(house: &Arc<House>, post: &Post, step: Step, sandbox: &Sandbox) -> Result<Woken, ProviderError> {
    let (provider, id) = (&post.provider, &sandbox.id);
    let pausing = || {
        let why = format!("the provider `{}` cannot pause sandboxes", post.name);
        provider.pausing().ok_or(ProviderError::Unfit { why })
    };
    match step {
        Step::Create => crate::work::furnish::create(house, &**provider, sandbox).await.map(|()| Woken::Well(None)),
        Step::Destroy => {
            house.lines.cut(id);
            house.lines.tell_of_sleep(id);
            house.activities.forget(id);
            house.samples.forget(id);
            provider.destroy(id).await.map(|()| Woken::Well(None))
        }
        Step::Pause => {
            // Whoever ends it while it sleeps loses nothing by that.
            if sandbox.phase == Phase::Ready {
                crate::work::save_before_sleep(house, sandbox).await;
            }
            // What only stands still keeps its lines; what is stored must be let go of.
            if sandbox.depth >= Depth::Stored {
                house.lines.cut(id);
            }
            let silent = sandbox.sleeps_for_silence(house.store.now());
            let depth = pausing()?.pause(id, sandbox.depth).await?;
            // Whoever reads on would wait for as long as it sleeps. What only fell silent goes on at the next word.
            if !silent {
                house.lines.tell_of_sleep(id);
            }
            Ok(Woken::Well(Some(depth)))
        }
        Step::Resume => {
            let from = pausing()?.resume(id).await?;
            if from >= Depth::Stored {
                house.lines.cut(id);
            }
            match crate::work::verify_after_sleep(house, sandbox, from).await {
                Ok(None) => Ok(Woken::Well(Some(from))),
                Ok(Some(why)) => Ok(Woken::Astray(why)),
                Err(error) => Err(ProviderError::Unavailable { why: format!("it cannot be looked at: {error}") }),
            }
        }
    }
}

/// What people should know about a sandbox that came back.
pub(super) fn waking_note(step: Step, depth: Option<Depth>) -> Option<String> {
    match (step, depth) {
        (Step::Resume, Some(Depth::Files)) => {
            Some("Its processes are gone: only its files were kept while it was paused.".into())
        }
        _ => None,
    }
}

/// Counts a sandbox that was made out of one that waited.
pub(crate) fn note_claim(took: Duration) {
    note_step(Step::Create, &Outcome::Done(None), took);
}

/// Counts a step, and how long it took.
pub(super) fn note_step(step: Step, outcome: &Outcome, took: Duration) {
    let word = match outcome {
        Outcome::Done(_) => "done",
        Outcome::Astray(_) => "astray",
        Outcome::CalledOff => "called_off",
        Outcome::Failed(_) => "failed",
    };
    metrics::counter!("carrel_sandbox_steps_total", "step" => step.word(), "outcome" => word).increment(1);
    metrics::histogram!("carrel_sandbox_step_seconds", "step" => step.word()).record(took.as_secs_f64());
}
