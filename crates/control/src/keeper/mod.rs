//! The keeper of sandboxes: looks at a row, takes one step, records the fact.
//!
//! One owner at a time per row, by a lease in the row. Restart, retry and first try are the same path. The keeper is a
//! reader of the journal: an entry that shows something undone makes it look for rows that are due.

mod hands;
mod mending;
mod row;
mod step;

use std::{sync::Arc, time::Duration};

use carrel_model::{
    SandboxId, Timestamp,
    breaker::Admission,
    public::{Happening, SandboxView},
    sandbox::{Fact, Sleep, Step, Want},
};
use carrel_store::{Lease, Leased, News, StoreError};
use jiff::SignedDuration;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    hands::{Hands, Slot},
    mending::{mend, report},
    row::{end_astray, postpone, reread, stay_awake},
    step::{Outcome, note_step, take_step, waking_note},
};
pub(crate) use self::{
    row::{ASTRAY, is_lost_lease, note_made, record, release},
    step::note_claim,
};
use crate::{Error, Settings, house::House, inside::activity::last_seen};

/// How many rows are claimed at once.
const CLAIM: u32 = 32;

pub(crate) struct Keeper {
    /// Sets this life of this node apart from all others.
    owner: String,
    lease: Duration,
    slots: Arc<Semaphore>,
    hands: Arc<Hands>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Keeper {
    pub(crate) fn new(settings: &Settings, tasks: TaskTracker, stop: CancellationToken) -> Self {
        Keeper {
            owner: format!("{}:{}", settings.node, crate::secret::new_life()),
            lease: settings.patience.lease,
            slots: Arc::new(Semaphore::new(settings.steps_at_once)),
            hands: Arc::default(),
            tasks,
            stop,
        }
    }

    /// The process died with rows in hand: they are free again at once, not when their leases run out.
    pub(crate) async fn take_up_former_lives(&self, house: &House) -> Result<(), Error> {
        let abandoned = house.store.sandboxes().abandon(&house.settings.node).await?;
        let abandoned = abandoned + house.store.tasks().abandon(&house.settings.node).await?;
        if abandoned > 0 {
            tracing::info!(abandoned, "an earlier life of this node left rows in hand; taking them up");
        }
        Ok(())
    }

    /// Makes room for one row, unless there is none or the house is closing.
    pub(crate) fn reserve(&self, id: &SandboxId) -> Option<Slot> {
        if self.stop.is_cancelled() {
            return None;
        }
        let room = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(Slot::take(&self.hands, id, room))
    }

    /// The same for a row that somebody has just changed, unless it is in hand already.
    pub(crate) fn reserve_unheld(&self, id: &SandboxId) -> Option<Slot> {
        if self.hands.rows().contains_key(id) { None } else { self.reserve(id) }
    }

    /// The lease a row is born with.
    pub(crate) fn first_lease(&self, now: Timestamp) -> Lease {
        Lease { owner: self.owner.clone(), token: 1, until: self.lease_end(now) }
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    pub(crate) fn lease_end(&self, now: Timestamp) -> Timestamp {
        now + SignedDuration::try_from(self.lease).unwrap_or(SignedDuration::from_secs(15))
    }
}

/// Walks until the house closes: hears the journal, minds the clock, takes what is due.
pub(crate) async fn walk(house: Arc<House>) {
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    let mut wake = Instant::now();
    let mut no_room = false;
    loop {
        tokio::select! {
            news = follower.next() => match news {
                Ok(News::Entries(entries)) => {
                    for written in entries {
                        if let Happening::Sandbox { sandbox } = &written.entry().happening {
                            wake = wake.min(hear(&house, sandbox));
                        }
                    }
                }
                Ok(News::Reset(_)) => wake = Instant::now(),
                Err(error) => {
                    wake = wake.min(trouble(&error));
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            },
            () = house.keeper.hands.missed.notified() => wake = Instant::now(),
            () = house.keeper.hands.freed.notified(), if no_room => (no_room, wake) = (false, Instant::now()),
            () = tokio::time::sleep_until(wake), if !no_room => match take_what_is_due(&house).await {
                Ok(Some(next)) => wake = next,
                Ok(None) => no_room = true,
                Err(error) => wake = trouble(&error),
            },
        }
    }
}

/// Prolongs the leases in hand, and keeps the clock in step with the database's.
pub(crate) async fn heartbeat(house: Arc<House>) {
    let mut beat = tokio::time::interval(house.keeper.lease / 3);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let in_hand: Vec<_> = house.keeper.hands.rows().keys().cloned().collect();
        let renewed = async {
            house.store.compare_clocks().await?;
            let until = house.keeper.lease_end(house.store.now());
            house.store.sandboxes().renew(&house.keeper.owner, &in_hand, until).await
        };
        if let Err(error) = renewed.await {
            tracing::warn!(error = &error as &dyn std::error::Error, "the heartbeat failed; trying again");
        }
    }
}

fn trouble(error: &StoreError) -> Instant {
    tracing::warn!(error = error as &dyn std::error::Error, "the keeper cannot reach the database; trying again");
    Instant::now() + Duration::from_secs(1)
}

/// Says when a sandbox that was heard of wants to be looked at. One in hand is looked at anyway, until it rests.
fn hear(house: &House, sandbox: &SandboxView) -> Instant {
    let deeper = sandbox.want == Want::Paused && sandbox.paused.is_some_and(|paused| paused.wanted > paused.depth);
    let step = sandbox.phase.step_towards(sandbox.want).or(deeper.then_some(Step::Pause));
    let in_hand = match house.keeper.hands.rows().get_mut(&sandbox.id) {
        Some(hand) => {
            if sandbox.want == Want::Gone && !sandbox.phase.is_over() {
                hand.unwanted.notify_one();
            }
            if step.is_some() {
                hand.heard = hand.heard.max(sandbox.revision);
            }
            true
        }
        None => false,
    };
    match step {
        Some(_) => match sandbox.next_attempt_at {
            Some(next) => instant_of(house, next),
            None if in_hand => next_round(house),
            None => Instant::now(),
        },
        None => {
            let end = sandbox.expires_at.into_iter().chain(sandbox.idle_at).min();
            end.map_or_else(|| next_round(house), |end| instant_of(house, end))
        }
    }
}

/// The instant of a moment, or the next round if that is sooner.
fn instant_of(house: &House, due: Timestamp) -> Instant {
    let left = Duration::try_from(due.duration_since(house.store.now())).unwrap_or_default();
    (Instant::now() + left).min(next_round(house))
}

/// Even when nothing was heard, rows are looked for this often.
fn next_round(house: &House) -> Instant {
    Instant::now() + house.settings.patience.sweep
}

/// Claims rows and tends them, as many as there is room for. Says when to look again; nothing when there is no room.
async fn take_what_is_due(house: &Arc<House>) -> Result<Option<Instant>, StoreError> {
    let keeper = &house.keeper;
    loop {
        let room = u32::try_from(keeper.slots.available_permits()).unwrap_or(CLAIM).min(CLAIM);
        if room == 0 {
            return Ok(None);
        }
        let until = keeper.lease_end(house.store.now());
        let claimed = house.store.sandboxes().claim(&keeper.owner, &house.settings.node, until, room).await?;
        let full = claimed.len() == room as usize;
        for leased in claimed {
            match keeper.reserve(&leased.sandbox.id) {
                Some(slot) => slot.tend(house, leased),
                // A request took the last slot in between: give the row back for the next round.
                None => release(house, &leased).await.unwrap_or_else(|error| {
                    trouble(&error);
                }),
            }
        }
        if !full {
            break;
        }
    }
    let next = house.store.sandboxes().next_due(&house.settings.node).await?;
    // Not at once: what is due now is in somebody's hand, or has just been given back.
    let soon = Instant::now() + Duration::from_millis(20);
    Ok(Some(next.map_or_else(|| next_round(house), |due| instant_of(house, due).max(soon))))
}

/// Takes steps until the sandbox rests, waits, or is somebody else's.
async fn tend(house: &Arc<House>, mut leased: Leased, slot: &Slot) -> Result<(), Error> {
    house.keeper.hands.wrote(&leased.sandbox.id, leased.sandbox.revision);
    loop {
        let now = house.store.now();
        let sandbox = &leased.sandbox;
        let waits = sandbox.next_try(now).is_some_and(|next| next > now);
        let Some(step) = sandbox.step_at(now).filter(|_| !waits && !house.keeper.stop.is_cancelled()) else {
            return Ok(release(house, &leased).await?);
        };
        if step == Step::Pause
            && sandbox.sleeps_for_silence(now)
            && let Some(seen) = last_seen(house, sandbox).await
        {
            return stay_awake(house, &leased, seen).await;
        }
        let Some(post) = house.providers.get(&sandbox.spec.provider) else {
            let why = format!("This server has no provider `{}`.", sandbox.spec.provider);
            return postpone(house, &leased, now + SignedDuration::from_secs(60), why).await;
        };
        if let Admission::Wait(until) = post.admit(now) {
            let error = post.last_error().unwrap_or_default();
            let why = format!("The provider `{}` is left alone for a moment: {error}", post.name);
            return postpone(house, &leased, until, why).await;
        }
        let began = Instant::now();
        let span = tracing::debug_span!(target: "carrel_span", "sandbox", otel.name = %format_args!("sandbox {}", step.word()), sandbox = %leased.sandbox.id);
        let taking = Box::pin(take_step(house, post, step, &leased, &slot.unwanted));
        let outcome = tracing::Instrument::instrument(taking, span).await?;
        note_step(step, &outcome, began.elapsed());
        let going_on = match outcome {
            Outcome::Done(depth) => {
                report(house, post, Ok(())).await;
                let sleep = depth.map(|reached| Sleep { asked: leased.sandbox.depth, reached });
                record(house, &leased, Fact::Done(step), sleep, waking_note(step, depth)).await?
            }
            Outcome::Astray(why) => end_astray(house, &leased, why).await?,
            Outcome::CalledOff => Some(reread(house, &leased).await?),
            Outcome::Failed(error) => mend(house, post, step, &leased, error).await?,
        };
        match going_on {
            Some(next) => leased = next,
            None => return Ok(()),
        }
    }
}
