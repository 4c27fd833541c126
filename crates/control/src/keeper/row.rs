//! A row in hand: facts are written into it, and it is given back.

use carrel_model::{
    Timestamp,
    sandbox::{Depth, Ended, Fact, Phase, Sandbox, Sleep, Step, Want},
};
use carrel_store::{Lease, Leased, StoreError};

use crate::{Error, house::House};

/// Who ends a desk that came back wrong.
pub(crate) const ASTRAY: &str = "resume";

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

/// What becomes of a row that was changed.
pub(super) enum Next {
    /// Keep the row if a step is left to do.
    GoOn,
    /// Give it back.
    GiveBack,
}

/// Changes a row in hand. Mostly nobody else has changed it meanwhile: then it is written as it is known, and only else
/// is it read again.
pub(super) async fn edit(
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

/// A desk that came back wrong is ended at once: nothing of it is saved, nor used. Whoever works there gets another, from
/// the save that was made before it slept.
pub(super) async fn end_astray(house: &House, leased: &Leased, why: String) -> Result<Option<Leased>, Error> {
    tracing::warn!(sandbox = %leased.sandbox.id, why, "a desk came back from its sleep and is not what it was");
    edit(house, leased, move |sandbox, now| {
        sandbox.want = Want::Gone;
        sandbox.ended.get_or_insert_with(|| Ended { by: ASTRAY.into(), why: why.clone(), at: now });
        Ok(Next::GoOn)
    })
    .await
}

/// Something went on in a sandbox that seemed idle: it is looked at again when it could be.
pub(super) async fn stay_awake(house: &House, leased: &Leased, seen: Timestamp) -> Result<(), Error> {
    let (id, lease) = (leased.sandbox.id.clone(), leased.lease.clone());
    let stirred = house.store.change(move |tx| {
        Box::pin(async move {
            let mut sandbox = tx.lock_leased(&id, &lease).await?;
            if sandbox.sleeps_for_silence(tx.now()) {
                tx.stir_sandbox_since(&mut sandbox, seen).await?;
            }
            tx.release_sandbox(&sandbox).await?;
            Ok::<_, Error>(())
        })
    });
    stirred.await?;
    // Nothing is told of this: the walk asks anew when something is due.
    house.keeper.hands.missed.notify_one();
    Ok(())
}

/// It is looked at again later, and says why.
pub(super) async fn postpone(house: &House, leased: &Leased, until: Timestamp, why: String) -> Result<(), Error> {
    let postponed = edit(house, leased, move |sandbox, _| {
        sandbox.next_attempt_at = Some(until);
        sandbox.note = Some(why.clone());
        Ok(Next::GiveBack)
    });
    postponed.await.map(drop)
}

/// Looks at a row in hand as it now is.
pub(super) async fn reread(house: &House, leased: &Leased) -> Result<Leased, Error> {
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

/// Whether somebody else has taken a row over.
pub(crate) fn is_lost_lease(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::LeaseLost { .. }))
}
