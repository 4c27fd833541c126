//! The sweep: compares what the rows say with what the providers see, and settles what differs.
//!
//! Never a zombie, never a row that lies. It also carries out what has been kept long enough.

use std::{collections::HashMap, sync::Arc};

use carrel_model::{
    SandboxId, Timestamp,
    sandbox::{Fact, Phase, Sandbox, Step, Want},
};
use carrel_sandbox::{ProviderError, Sighting};
use carrel_store::Leased;

use crate::{Error, house::House, keeper, registry::Post};

/// Sweeps at the start and then again and again.
pub(crate) async fn walk(house: Arc<House>) {
    let mut round = tokio::time::interval(house.settings.patience.sweep);
    round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        if let Err(error) = house.store.forget_the_future().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "what waits for a clock that was set back still does"
            );
        }
        // Side by side: one that is far away, or does not answer, holds up nobody else's.
        let sweeps = house.providers.values().map(|post| async {
            post.probe().await;
            if let Err(error) = sweep(&house, post).await {
                tracing::warn!(provider = %post.name, error = &error as &dyn std::error::Error, "a sweep was not finished");
            }
        });
        futures::future::join_all(sweeps).await;
        if let Err(error) = crate::inside::follower::close_stranded(&house).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "stranded execs were not closed");
        }
        if let Err(error) = carry_out(&house).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "old records were not carried out");
        }
        if let Err(error) = crate::library::tidy(&house).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "layers and mirrors were not tidied");
        }
        if let Err(error) = crate::desks::copies::tidy(&house).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "snapshots behind forks were not all forgotten");
        }
        house.doorman.flush(&house.store).await;
        count(&house).await;
        crate::numbers::take(&house).await;
    }
}

async fn sweep(house: &Arc<House>, post: &Arc<Post>) -> Result<(), Error> {
    let seen: HashMap<SandboxId, Sighting> = match post.provider.list().await {
        Ok(list) => list.into_iter().collect(),
        Err(error) => {
            tracing::warn!(provider = %post.name, %error, "the provider cannot list its sandboxes");
            return Ok(());
        }
    };
    let expected = house.store.sandboxes().expected(&post.name, &house.settings.node).await?;
    for sandbox in &expected {
        let sighting = seen.get(&sandbox.id).copied().unwrap_or(Sighting::Missing);
        if differs(sandbox, sighting).is_some() {
            settle(house, post, &sandbox.id).await?;
        }
    }
    prolong(house, post, &expected).await;
    let mut orphans = 0;
    for id in seen.keys() {
        if expected.iter().any(|sandbox| sandbox.id == *id) {
            continue;
        }
        match house.store.sandboxes().find(id).await? {
            Some(sandbox) if sandbox.phase == Phase::Gone => bury(post, id).await,
            // What was never ready is the rest of a failed creation; what was ready once and is back holds work.
            Some(sandbox) if sandbox.phase == Phase::Failed && sandbox.ready_at.is_none() => bury(post, id).await,
            Some(sandbox) if sandbox.phase == Phase::Failed => settle(house, post, id).await?,
            Some(_) => {}
            // Its row may be in a backup or in another database: somebody's work is not thrown away on a guess. Only a
            // provider that can tell that it is ours, and that nobody wants it, ends it.
            None => match post.provider.reap(id).await {
                Ok(true) => {
                    tracing::warn!(sandbox = %id, provider = %post.name, "an orphan of this house; taken down");
                    metrics::counter!("carrel_reaped_total", "provider" => post.name.to_string()).increment(1);
                }
                Ok(false) => orphans += 1,
                Err(error) => {
                    orphans += 1;
                    tracing::warn!(sandbox = %id, provider = %post.name, %error, "an orphan stays until the next sweep");
                }
            },
        }
    }
    if orphans > 0 {
        tracing::warn!(provider = %post.name, orphans, "sandboxes that no row knows; they are left alone");
    }
    metrics::gauge!("carrel_orphans", "provider" => post.name.to_string()).set(f64::from(orphans));
    Ok(())
}

/// Tells the provider which of its sandboxes are wanted awake, and until when.
async fn prolong(house: &House, post: &Post, expected: &[Sandbox]) {
    let now = house.store.now();
    let awake = |sandbox: &&Sandbox| sandbox.phase == Phase::Ready && sandbox.want_at(now) == Want::Ready;
    let wanted: Vec<_> =
        expected.iter().filter(awake).map(|sandbox| (sandbox.id.clone(), sandbox.expires_at)).collect();
    if let Err(error) = post.provider.prolong(&wanted).await {
        tracing::warn!(provider = %post.name, %error, "sandboxes were not all prolonged; the next sweep tries again");
    }
}

/// The fact that would bring a row in line with what was seen.
fn differs(sandbox: &Sandbox, sighting: Sighting) -> Option<(Fact, &'static str)> {
    match (sandbox.phase, sighting) {
        (Phase::Ready | Phase::Paused, Sighting::Missing) => Some((Fact::Broke, "Its provider no longer has it.")),
        (Phase::Ready | Phase::Failed, Sighting::Paused) => Some((Fact::Done(Step::Pause), "It was found paused.")),
        (Phase::Paused | Phase::Failed, Sighting::Running) => Some((Fact::Done(Step::Resume), "It was found running.")),
        _ => None,
    }
}

/// Looks again with the lease in hand, when nobody else can be at work on it, and records what is true.
pub(crate) async fn settle(house: &Arc<House>, post: &Post, id: &SandboxId) -> Result<(), Error> {
    let until = house.keeper.lease_end(house.store.now());
    let claimed = house.store.sandboxes().claim_one(id, house.keeper.owner(), until).await?;
    let Some(leased) = claimed else { return Ok(()) };
    // Only now: a row that is in our hands already keeps its place there.
    let Some(slot) = house.keeper.reserve(id) else {
        return Ok(keeper::release(house, &leased).await?);
    };
    let leased = match find_fact(post, &leased).await {
        Some((fact, note)) => {
            tracing::warn!(sandbox = %id, ?fact, "a row did not say what is true; settled");
            metrics::counter!("carrel_settled_total", "provider" => post.name.to_string()).increment(1);
            keeper::record(house, &leased, fact, None, Some(note.into())).await?
        }
        None => Some(leased),
    };
    if let Some(leased) = leased {
        slot.tend(house, leased);
    }
    Ok(())
}

async fn find_fact(post: &Post, leased: &Leased) -> Option<(Fact, &'static str)> {
    let sighting = match post.provider.inspect(&leased.sandbox.id).await {
        Ok(sighting) => sighting,
        Err(ProviderError::Lost) => Sighting::Missing,
        Err(_) => return None,
    };
    differs(&leased.sandbox, sighting)
}

/// A sandbox that outlived its row's end, such as one that a stalled node made after another had destroyed it.
async fn bury(post: &Post, id: &SandboxId) {
    tracing::warn!(sandbox = %id, provider = %post.name, "a zombie; taking it down");
    metrics::counter!("carrel_zombies_total", "provider" => post.name.to_string()).increment(1);
    if let Err(error) = post.provider.destroy(id).await {
        tracing::warn!(sandbox = %id, %error, "the zombie stays until the next sweep");
    }
}

async fn carry_out(house: &House) -> Result<(), Error> {
    let (store, keep, now) = (&house.store, &house.settings.retention, house.store.now());
    let before = |kept| now.checked_sub(kept).unwrap_or(Timestamp::MIN);
    store.journal().forget_before(before(keep.journal)).await?;
    store.transcripts().forget_before(before(keep.transcripts)).await?;
    store.execs().forget_before(before(keep.transcripts)).await?;
    store.forget_requests(before(keep.requests)).await?;
    store.keys().forget_sign_ins().await?;
    if let Some(gone) = keep.gone {
        store.forget_gone(before(gone)).await?;
    }
    Ok(())
}

async fn count(house: &House) {
    for post in house.providers.values() {
        post.show_breaker();
    }
    let counted = house.store.sandboxes().count().await.unwrap_or_default();
    for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::Gone) {
        let count = counted.iter().find(|(counted, _)| *counted == phase).map_or(0, |(_, count)| *count);
        metrics::gauge!("carrel_sandboxes", "phase" => phase.word()).set(count as f64);
    }
}
