//! The merge lane: one who merges into a base at a time, across nodes.
//!
//! Who waits on this node is served in order. The lane itself is a lease in the database, prolonged for as long as its
//! holder lives; one that dies loses it, and the next finds out what was done.

use std::sync::Arc;

use carrel_model::{Branch, RepoName, SandboxId};
use carrel_store::Lane;
use futures::future::BoxFuture;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{Error, house::House};

/// How often a lane that another node holds is asked for again.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_millis(200);

/// A lane in our hands. It is given back when it is dropped.
pub(crate) struct Hold {
    house: Arc<House>,
    lane: Lane,
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
            match house.store.lanes().take(name, &owner, until).await? {
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
        let over = CancellationToken::new();
        let beating = over.clone().drop_guard();
        house.tasks().spawn(beat(Arc::clone(house), lane.clone(), over));
        Ok(Hold { house: Arc::clone(house), lane, _beating: beating, _turn: turn })
    }

    /// The lane itself.
    pub(crate) fn lane(&self) -> &Lane {
        &self.lane
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
        Err(Error::Unavailable { why: "the merge lane is in other hands by now".into(), source: None })
    }
}

/// Prolongs the lease until the holder is done, then gives the lane back.
async fn beat(house: Arc<House>, lane: Lane, over: CancellationToken) {
    let pause = house.settings.patience.lease / 3;
    loop {
        tokio::select! {
            () = over.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
        let until = house.keeper.lease_end(house.store.now());
        if let Err(error) = house.store.lanes().prolong(&lane, until).await {
            tracing::warn!(error = &error as &dyn std::error::Error, lane = lane.name, "a lane was not prolonged");
        }
    }
    if let Err(error) = house.store.lanes().leave(&lane).await {
        tracing::warn!(error = &error as &dyn std::error::Error, lane = lane.name, "a lane was not given back");
    }
}
