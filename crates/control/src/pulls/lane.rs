//! The merge lane: one who merges into a base at a time, across nodes.
//!
//! Who waits on this node is served in order. The lane itself is a lease in the database, prolonged for as long as its
//! holder lives; one that dies loses it, and the next finds out what was done.

use std::sync::Arc;

use carrel_model::{Branch, RepoName, SandboxId};
use carrel_store::{Lane, StoreError};
use futures::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{Error, house::House};

/// How often a lane that another node holds is asked for again.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_millis(200);

/// A lane in our hands. It is given back when it is dropped.
pub(crate) struct Hold {
    house: Arc<House>,
    lane: Lane,
    /// Somebody else has the lane, or may have it.
    lost: CancellationToken,
    _beating: DropGuard,
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

impl Hold {
    /// Waits for the lane of a base. Whoever cannot have it at once says so, by `waits`, and then says when that is over.
    pub(crate) async fn take<'w>(
        house: &Arc<House>,
        repo: &RepoName,
        base: &Branch,
        waits: impl Fn(bool) -> BoxFuture<'w, ()> + Send + Sync,
    ) -> Result<Hold, Error> {
        Hold::take_lane(house, &format!("{repo}/{base}"), waits).await
    }

    /// Waits for a lane that is no base's. The name of a repository holds no space, so theirs do.
    pub(crate) async fn take_named(house: &Arc<House>, name: &str) -> Result<Hold, Error> {
        Hold::take_lane(house, name, |_| Box::pin(async {})).await
    }

    /// Takes such a lane if nobody has it, here or on another node.
    pub(crate) async fn try_named(house: &Arc<House>, name: &str) -> Result<Option<Hold>, Error> {
        let Some(turn) = house.forges.turn_now(&format!("merge {name}")) else { return Ok(None) };
        let until = house.keeper.lease_end(house.store.now());
        let taken = house.store.lanes().take(name, house.keeper.owner(), until).await?;
        Ok(taken.map(|lane| Hold::begin(house, lane, turn)))
    }

    fn begin(house: &Arc<House>, lane: Lane, turn: tokio::sync::OwnedMutexGuard<()>) -> Hold {
        let (over, lost) = (CancellationToken::new(), CancellationToken::new());
        let beating = over.clone().drop_guard();
        house.tasks().spawn(beat(Arc::clone(house), lane.clone(), over, lost.clone()));
        Hold { house: Arc::clone(house), lane, lost, _beating: beating, _turn: turn }
    }

    async fn take_lane<'w>(
        house: &Arc<House>,
        name: &str,
        waits: impl Fn(bool) -> BoxFuture<'w, ()> + Send + Sync,
    ) -> Result<Hold, Error> {
        let mut waited = false;
        let turn = match house.forges.turn_now(&format!("merge {name}")) {
            Some(turn) => turn,
            None => {
                waited = true;
                waits(true).await;
                house.forges.turn(&format!("merge {name}")).await
            }
        };
        let owner = house.keeper.owner().to_owned();
        let lane = loop {
            let until = house.keeper.lease_end(house.store.now());
            let taken = match house.store.lanes().take(name, &owner, until).await {
                // Who keeps the lanes is away: nobody goes on until he is back.
                Err(error @ StoreError::Redis { .. }) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, lane = name, "a lane is waited for");
                    None
                }
                taken => taken?,
            };
            match taken {
                Some(lane) => break lane,
                None => {
                    if !std::mem::replace(&mut waited, true) {
                        waits(true).await;
                    }
                    tokio::time::sleep(ASK_AGAIN).await;
                }
            }
        };
        if waited {
            waits(false).await;
        }
        Ok(Hold::begin(house, lane, turn))
    }

    /// The lane itself.
    pub(crate) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Returns when the lane was lost: what takes long is broken off then, for it would be for nothing.
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Shows the token where it counts: whoever slept over its lane does nothing more in it.
    pub(crate) async fn still_ours(&self) -> Result<(), Error> {
        if still_holds(&self.house, &self.lane).await? { Ok(()) } else { Err(in_other_hands()) }
    }

    /// The sandbox that a holder before us left when it died.
    pub(crate) fn left_behind(&self) -> Option<&SandboxId> {
        self.lane.left_behind.as_ref()
    }

    /// Notes where the check runs, for whoever comes after us if we die.
    pub(crate) async fn note_sandbox(&self, sandbox: Option<&SandboxId>) -> Result<(), Error> {
        if self.house.store.lanes().note_sandbox(&self.lane, sandbox).await? {
            return Ok(());
        }
        Err(in_other_hands())
    }
}

/// What a holder that lost its lane is told.
pub(crate) fn in_other_hands() -> Error {
    Error::Unavailable { why: "the lane is in other hands by now".into(), source: None }
}

/// Whether a lane is its holder's, as the database has it.
pub(crate) async fn still_holds(house: &House, lane: &Lane) -> Result<bool, StoreError> {
    let lane = lane.clone();
    house.store.change(move |tx| Box::pin(async move { tx.holds_lane(&lane).await })).await
}

/// Prolongs the lease until the holder is done, then gives the lane back. One that was lost is not asked for again: the
/// holder hears of it.
async fn beat(house: Arc<House>, lane: Lane, over: CancellationToken, lost: CancellationToken) {
    let pause = house.settings.patience.lease / 3;
    loop {
        tokio::select! {
            () = over.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
        let until = house.keeper.lease_end(house.store.now());
        let held = match house.store.lanes().prolong(&lane, until).await {
            // A Redis that forgot everything is no reason to stop, as long as nobody else wrote a larger token.
            Ok(false) => still_holds(&house, &lane).await,
            held => held,
        };
        match held {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(lane = lane.name, "a lane was lost: it is in other hands, or its lease ran out");
                lost.cancel();
                over.cancelled().await;
                break;
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, lane = lane.name, "a lane was not prolonged");
            }
        }
    }
    if let Err(error) = house.store.lanes().leave(&lane).await {
        tracing::warn!(error = &error as &dyn std::error::Error, lane = lane.name, "a lane was not given back");
    }
}
