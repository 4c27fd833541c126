//! The keeper of sandboxes: looks at a row, takes one step, records the fact.
//!
//! One owner at a time per row, by a lease in the row. Restart, retry and first try are the same path. The keeper is a
//! reader of the journal: an entry that shows something undone makes it look for rows that are due.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use carrel_model::{
    SandboxId, Timestamp,
    breaker::Admission,
    public::{Happening, SandboxView},
    sandbox::{Depth, Ended, Fact, Phase, Sandbox, Sleep, Step, Want},
};
use carrel_sandbox::ProviderError;
use carrel_store::{Lease, Leased, News, StoreError};
use jiff::SignedDuration;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{Error, Settings, house::House, registry::Post};

/// A step that takes longer than this is told as begun; a quicker one is told in one breath when it is done.
const A_MOMENT: Duration = Duration::from_millis(20);
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

/// What is in hand at the moment.
#[derive(Default)]
struct Hands {
    rows: Mutex<HashMap<SandboxId, Hand>>,
    /// Rung when a slot is free again.
    freed: Notify,
    /// Rung when a row was let go of that somebody had changed meanwhile.
    missed: Notify,
}

/// One row in hand.
struct Hand {
    /// Tells a step that its sandbox is no longer wanted.
    unwanted: Arc<Notify>,
    /// The newest revision with something to do that was heard of, and the newest that was written from here.
    heard: i64,
    written: i64,
}

/// Room for one row.
pub(crate) struct Slot {
    id: SandboxId,
    unwanted: Arc<Notify>,
    hands: Arc<Hands>,
    room: Option<OwnedSemaphorePermit>,
}

/// How a step ended, as far as the row is concerned.
enum Outcome {
    /// With how deep it sleeps now, or slept until now.
    Done(Option<Depth>),
    /// It is no longer wanted: look again.
    CalledOff,
    Failed(ProviderError),
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
        let unwanted = Arc::new(Notify::new());
        let hand = Hand { unwanted: Arc::clone(&unwanted), heard: 0, written: 0 };
        self.hands.rows().insert(id.clone(), hand);
        Some(Slot { id: id.clone(), unwanted, hands: Arc::clone(&self.hands), room: Some(room) })
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

impl Hands {
    fn rows(&self) -> std::sync::MutexGuard<'_, HashMap<SandboxId, Hand>> {
        self.rows.lock().expect("nobody panics while holding the list")
    }

    /// A row in hand was written.
    fn wrote(&self, id: &SandboxId, revision: i64) {
        if let Some(hand) = self.rows().get_mut(id) {
            hand.written = revision;
        }
    }
}

impl Slot {
    /// Tends a row until it rests, in its own task.
    pub(crate) fn tend(self, house: &Arc<House>, leased: Leased) {
        let house = Arc::clone(house);
        house.keeper.tasks.clone().spawn(async move {
            let id = leased.sandbox.id.clone();
            match Box::pin(tend(&house, leased, &self)).await {
                Ok(()) => {}
                Err(Error::Internal(error)) if is_lost_lease(&*error) => {
                    tracing::info!(sandbox = %id, "somebody else has taken this sandbox over");
                }
                // The lease runs out, and somebody tries again.
                Err(error) => {
                    tracing::warn!(sandbox = %id, error = &error as &dyn std::error::Error, "a step was not recorded")
                }
            }
            drop(self);
        });
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut rows = self.hands.rows();
        // The row may already be in another slot of ours.
        let ours = rows.get(&self.id).is_some_and(|held| Arc::ptr_eq(&held.unwanted, &self.unwanted));
        let hand = if ours { rows.remove(&self.id) } else { None };
        drop(rows);
        // What was heard while it was in hand was left to us, and we did not see it.
        if hand.is_some_and(|hand| hand.heard > hand.written) {
            self.hands.missed.notify_one();
        }
        drop(self.room.take());
        self.hands.freed.notify_one();
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
        let waits = sandbox.next_attempt_at.is_some_and(|next| next > now);
        let Some(step) = sandbox.step_at(now).filter(|_| !waits && !house.keeper.stop.is_cancelled()) else {
            return Ok(release(house, &leased).await?);
        };
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
        let outcome = Box::pin(take_step(house, post, step, &leased, &slot.unwanted)).await?;
        note_step(step, &outcome, began.elapsed());
        let going_on = match outcome {
            Outcome::Done(depth) => {
                report(house, post, Ok(())).await;
                let sleep = depth.map(|reached| Sleep { asked: leased.sandbox.depth, reached });
                record(house, &leased, Fact::Done(step), sleep, waking_note(step, depth)).await?
            }
            Outcome::CalledOff => Some(reread(house, &leased).await?),
            Outcome::Failed(error) => mend(house, post, step, &leased, error).await?,
        };
        match going_on {
            Some(next) => leased = next,
            None => return Ok(()),
        }
    }
}

/// Asks the provider, tells of a beginning that takes a while, and stops when the sandbox is no longer wanted.
async fn take_step(
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
            answer = &mut asked => return Ok(answer.map_or_else(Outcome::Failed, Outcome::Done)),
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

async fn ask(house: &Arc<House>, post: &Post, step: Step, sandbox: &Sandbox) -> Result<Option<Depth>, ProviderError> {
    let (provider, id) = (&post.provider, &sandbox.id);
    let pausing = || {
        let why = format!("the provider `{}` cannot pause sandboxes", post.name);
        provider.pausing().ok_or(ProviderError::Unfit { why })
    };
    match step {
        Step::Create => crate::work::furnish::create(house, &**provider, sandbox).await.map(|()| None),
        Step::Destroy => {
            house.lines.cut(id);
            house.activities.forget(id);
            house.samples.forget(id);
            provider.destroy(id).await.map(|()| None)
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
            pausing()?.pause(id, sandbox.depth).await.map(Some)
        }
        Step::Resume => {
            let from = pausing()?.resume(id).await?;
            if from >= Depth::Stored {
                house.lines.cut(id);
            }
            Ok(Some(from))
        }
    }
}

/// What people should know about a sandbox that came back.
fn waking_note(step: Step, depth: Option<Depth>) -> Option<String> {
    match (step, depth) {
        (Step::Resume, Some(Depth::Files)) => {
            Some("Its processes are gone: only its files were kept while it was paused.".into())
        }
        _ => None,
    }
}

/// What follows a failure: another try later, or the end.
async fn mend(
    house: &House,
    post: &Post,
    step: Step,
    leased: &Leased,
    error: ProviderError,
) -> Result<Option<Leased>, Error> {
    // Whoever says that something cannot be has answered.
    let answered = match &error {
        ProviderError::Unavailable { why } => Err(why.clone()),
        ProviderError::Unfit { .. }
        | ProviderError::Throttled { .. }
        | ProviderError::Exhausted { .. }
        | ProviderError::Lost => Ok(()),
    };
    report(house, post, answered).await;
    let patience = &house.settings.patience;
    let attempts = leased.sandbox.attempts.saturating_add(1);
    let hopeless = match (&error, step) {
        // Taking down is never given up.
        (_, Step::Destroy) => false,
        // Nothing is left to come back to.
        (ProviderError::Lost, Step::Pause | Step::Resume) => true,
        // What has worked once holds work: it waits for its provider for as long as it lives.
        (_, Step::Pause | Step::Resume) => false,
        (ProviderError::Unfit { .. } | ProviderError::Lost, Step::Create) => true,
        (ProviderError::Unavailable { .. } | ProviderError::Exhausted { .. }, Step::Create) => {
            attempts >= patience.tries
        }
        // It has a place in the queue, and waits there for as long as it lives.
        (ProviderError::Throttled { .. }, Step::Create) => false,
    };
    if hopeless {
        // What was half made goes; if that fails too, the sweep finds it.
        if leased.sandbox.ready_at.is_none()
            && let Err(error) = post.provider.destroy(&leased.sandbox.id).await
        {
            tracing::warn!(sandbox = %leased.sandbox.id, %error, "a failed sandbox is left to the sweep");
        }
        let why = format!("It could not {}: {error}.", step.word());
        return record(house, leased, Fact::Broke, None, Some(why)).await;
    }
    let mut pause = backoff(patience.first_retry, patience.longest_retry, attempts);
    if let ProviderError::Throttled { after: Some(after), .. } = &error {
        pause = pause.max(*after);
    }
    let next = house.store.now() + SignedDuration::try_from(pause).unwrap_or(SignedDuration::from_secs(60));
    let why = format!("It could not {} yet: {error}.", step.word());
    edit(house, leased, move |sandbox, now| {
        // Somebody wants something else meanwhile: that does not wait for this mishap.
        if sandbox.step_at(now) != Some(step) {
            return Ok(Next::GoOn);
        }
        sandbox.attempts = attempts;
        sandbox.next_attempt_at = Some(next);
        sandbox.note = Some(why.clone());
        Ok(Next::GiveBack)
    })
    .await
}

/// Twice as long each time, up to a limit, and never the same for two that failed together.
fn backoff(first: Duration, longest: Duration, attempts: u32) -> Duration {
    let pauses =
        ExponentialBuilder::new().with_min_delay(first).with_max_delay(longest).without_max_times().with_jitter();
    pauses.build().nth(attempts.saturating_sub(1) as usize).unwrap_or(longest).min(longest)
}

/// Records a fact. Gives the sandbox back when nothing is left to do.
pub(crate) async fn record(
    house: &House,
    leased: &Leased,
    fact: Fact,
    sleep: Option<Sleep>,
    note: Option<String>,
) -> Result<Option<Leased>, Error> {
    edit(house, leased, move |sandbox, now| {
        apply(sandbox, fact, sleep, note.as_deref(), now)?;
        Ok(Next::GoOn)
    })
    .await
}

/// A sandbox that was made before its row was written.
pub(crate) fn note_made(sandbox: &mut Sandbox, now: Timestamp) -> Result<(), Error> {
    apply(sandbox, Fact::Done(Step::Create), None, None, now)
}

/// Counts a sandbox that was made out of one that waited.
pub(crate) fn note_claim(took: Duration) {
    note_step(Step::Create, &Outcome::Done(None), took);
}

/// What a fact makes of a sandbox.
fn apply(
    sandbox: &mut Sandbox,
    fact: Fact,
    sleep: Option<Sleep>,
    note: Option<&str>,
    now: Timestamp,
) -> Result<(), Error> {
    sandbox.phase = sandbox.phase.after(fact)?;
    sandbox.note = note.map(str::to_owned);
    sandbox.sleep = match sandbox.phase {
        // One that was found paused sleeps as lightly as can be, as far as we know.
        Phase::Paused => sleep.or(sandbox.sleep).or(Some(Sleep { asked: sandbox.depth, reached: Depth::Frozen })),
        _ => None,
    };
    match fact {
        Fact::Began(Step::Destroy) | Fact::Done(Step::Destroy) if sandbox.ended.is_none() => {
            let why = format!("Its lifetime of {} s had passed.", sandbox.spec.lifetime);
            sandbox.ended = Some(Ended { by: "lifetime".into(), why, at: now });
        }
        Fact::Done(Step::Create) => {
            sandbox.ready_at = Some(now);
            sandbox.stir(now);
        }
        Fact::Done(Step::Resume) => sandbox.stir(now),
        _ => {}
    }
    if !matches!(fact, Fact::Began(_)) {
        sandbox.attempts = 0;
        sandbox.next_attempt_at = None;
    }
    Ok(())
}

enum Next {
    /// Keep the row if a step is left to do.
    GoOn,
    /// Give it back.
    GiveBack,
}

/// Changes a row in hand. Mostly nobody else has changed it meanwhile: then it is written as it is known, and only else
/// is it read again.
async fn edit(
    house: &House,
    leased: &Leased,
    change: impl Fn(&mut Sandbox, Timestamp) -> Result<Next, Error> + Send + Sync + 'static,
) -> Result<Option<Leased>, Error> {
    let Leased { sandbox: known, lease: held } = leased.clone();
    let id = known.id.clone();
    let until = house.keeper.lease_end(house.store.now());
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            let lease = Lease { until, ..held.clone() };
            let now = tx.now();
            let keeps = |next: Next, sandbox: &Sandbox| matches!(next, Next::GoOn) && sandbox.step_at(now).is_some();
            let mut sandbox = known.clone();
            if let Ok(next) = change(&mut sandbox, now) {
                let keep = keeps(next, &sandbox);
                if tx.update_unchanged(&mut sandbox, &held, keep.then_some(&lease)).await? {
                    return Ok((sandbox.revision, keep.then_some(Leased { sandbox, lease })));
                }
            }
            let mut sandbox = tx.lock_leased(&known.id, &held).await?;
            let keep = keeps(change(&mut sandbox, now)?, &sandbox);
            tx.update_sandbox(&mut sandbox, keep.then_some(&lease)).await?;
            Ok::<_, Error>((sandbox.revision, keep.then_some(Leased { sandbox, lease })))
        })
    });
    let (revision, kept) = written.await?;
    house.keeper.hands.wrote(&id, revision);
    Ok(kept)
}

async fn postpone(house: &House, leased: &Leased, until: Timestamp, why: String) -> Result<(), Error> {
    let postponed = edit(house, leased, move |sandbox, _| {
        sandbox.next_attempt_at = Some(until);
        sandbox.note = Some(why.clone());
        Ok(Next::GiveBack)
    });
    postponed.await.map(drop)
}

async fn reread(house: &House, leased: &Leased) -> Result<Leased, Error> {
    let (id, lease) = (leased.sandbox.id.clone(), leased.lease.clone());
    let read = house.store.change(move |tx| {
        Box::pin(async move {
            let sandbox = tx.lock_leased(&id, &lease).await?;
            Ok::<_, Error>(Leased { sandbox, lease })
        })
    });
    read.await
}

/// Gives a row back without a change worth telling.
pub(crate) async fn release(house: &House, leased: &Leased) -> Result<(), StoreError> {
    let (id, lease) = (leased.sandbox.id.clone(), leased.lease.clone());
    let released = house.store.change(move |tx| {
        Box::pin(async move {
            let sandbox = tx.lock_leased(&id, &lease).await?;
            tx.release_sandbox(&sandbox).await
        })
    });
    released.await
}

/// Tells the breaker how a call went, and everybody when it changed its stand.
async fn report(house: &House, post: &Post, outcome: Result<(), String>) {
    if !post.report(outcome, house.store.now()) {
        return;
    }
    let view = post.view();
    tracing::warn!(provider = %post.name, breaker = ?view.breaker.state, error = view.breaker.last_error, "a breaker changed");
    post.show_breaker();
    let told = house.store.change(move |tx| {
        tx.tell(Happening::Provider { provider: view });
        Box::pin(async { Ok::<_, StoreError>(()) })
    });
    if let Err(error) = told.await {
        tracing::warn!(error = &error as &dyn std::error::Error, "cannot tell of a breaker");
    }
}

fn note_step(step: Step, outcome: &Outcome, took: Duration) {
    let word = match outcome {
        Outcome::Done(_) => "done",
        Outcome::CalledOff => "called_off",
        Outcome::Failed(_) => "failed",
    };
    metrics::counter!("carrel_sandbox_steps_total", "step" => step.word(), "outcome" => word).increment(1);
    metrics::histogram!("carrel_sandbox_step_seconds", "step" => step.word()).record(took.as_secs_f64());
}

pub(crate) fn is_lost_lease(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::LeaseLost { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_differ() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(10));
        let pauses: Vec<_> = (1..=40).map(|attempt| backoff(first, longest, attempt)).collect();
        assert!(pauses[0] >= first && pauses[0] <= first * 3, "{:?}", pauses[0]);
        assert!(pauses.iter().all(|pause| *pause <= longest));
        assert!(pauses[30] > longest / 2);
        let same: std::collections::HashSet<_> = (0..20).map(|_| backoff(first, longest, 3)).collect();
        assert!(same.len() > 1, "no jitter");
    }
}
