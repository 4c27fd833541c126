//! The farewell to a desk: what is at it is saved before it ends, whatever happens to it meanwhile.

use std::sync::Arc;

use carrel_model::{
    Grant, SandboxId,
    sandbox::{Phase, Want},
};

use super::desk::{self, Found};
use crate::{Error, SandboxesDesk, house::House, work};

/// So often a desk that is about to end is looked at anew, because it changed while it was saved.
const LOOKS: u32 = 6;

/// Whether there may be work at a desk. One that sleeps is woken. Nobody was ever at one that was never ready, and nobody
/// goes back to one that breaks while it is waited for.
pub(super) async fn was_used(house: &Arc<House>, grant: &Grant, id: &SandboxId) -> Result<bool, Error> {
    let stands = |found: Found| matches!(found, Found::There | Found::Asleep);
    if !stands(desk::look(house, id).await?) || (SandboxesDesk { house }).look(id).await?.ready_at.is_none() {
        return Ok(false);
    }
    match desk::wait_for(house, grant, id).await {
        Ok(()) => Ok(true),
        Err(error) if stands(desk::look(house, id).await?) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether a desk works at this moment.
pub(super) async fn is_awake(house: &Arc<House>, id: &SandboxId) -> Result<bool, Error> {
    match (SandboxesDesk { house }).look(id).await {
        Ok(view) => Ok(view.phase == Phase::Ready && view.want == Want::Ready),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What becomes of the work at a desk that is about to end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// Nothing is lost: it is saved, or there is nothing that could be.
    Safe,
    /// There is work that cannot be saved, for this reason.
    Unsaved(String),
}

/// Saves what is at a desk before it ends. Meanwhile it may fall asleep, be ended by somebody, or turn out to have nothing
/// in it: only a working tree that is there and cannot be saved twice in a row is in anybody's way.
pub(super) async fn save_last(house: &Arc<House>, grant: &Grant, id: &SandboxId) -> Result<Last, Error> {
    let mut refused = false;
    for _ in 0..LOOKS {
        if !was_used(house, grant, id).await? {
            return Ok(Last::Safe);
        }
        let why = match work::save_work(house, id).await {
            Ok(_) | Err(Error::NotFound { .. }) => return Ok(Last::Safe),
            Err(Error::Conflict { why }) => why,
            Err(error) => return Err(error),
        };
        match work::has_tree(house, id).await {
            // What was saved before is what there is.
            Ok(false) => return Ok(Last::Safe),
            Ok(true) if refused => return Ok(Last::Unsaved(why)),
            Ok(true) => refused = true,
            // It fell asleep or was ended in between.
            Err(Error::Conflict { .. } | Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Unavailable { why: format!("the desk {id} does not stay awake for its last save"), source: None })
}
