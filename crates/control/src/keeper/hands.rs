//! What a keeper has in hand: rooms for rows, and what was heard of them meanwhile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use carrel_model::SandboxId;
use carrel_store::Leased;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::{row::is_lost_lease, tend};
use crate::{Error, house::House};

/// What is in hand at the moment.
#[derive(Default)]
pub(super) struct Hands {
    rows: Mutex<HashMap<SandboxId, Hand>>,
    /// Rung when a slot is free again.
    pub(super) freed: Notify,
    /// Rung when a row was let go of that somebody had changed meanwhile.
    pub(super) missed: Notify,
}

/// One row in hand.
pub(super) struct Hand {
    /// Tells a step that its sandbox is no longer wanted.
    pub(super) unwanted: Arc<Notify>,
    /// The newest revision with something to do that was heard of, and the newest that was written from here.
    pub(super) heard: i64,
    written: i64,
}

/// Room for one row.
pub(crate) struct Slot {
    id: SandboxId,
    pub(super) unwanted: Arc<Notify>,
    hands: Arc<Hands>,
    room: Option<OwnedSemaphorePermit>,
}

impl Hands {
    pub(super) fn rows(&self) -> std::sync::MutexGuard<'_, HashMap<SandboxId, Hand>> {
        self.rows.lock().expect("nobody panics while holding the list")
    }

    /// A row in hand was written.
    pub(super) fn wrote(&self, id: &SandboxId, revision: i64) {
        if let Some(hand) = self.rows().get_mut(id) {
            hand.written = revision;
        }
    }
}

impl Slot {
    /// Takes a row into hand.
    pub(super) fn take(hands: &Arc<Hands>, id: &SandboxId, room: OwnedSemaphorePermit) -> Slot {
        let unwanted = Arc::new(Notify::new());
        let hand = Hand { unwanted: Arc::clone(&unwanted), heard: 0, written: 0 };
        hands.rows().insert(id.clone(), hand);
        Slot { id: id.clone(), unwanted, hands: Arc::clone(hands), room: Some(room) }
    }

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
