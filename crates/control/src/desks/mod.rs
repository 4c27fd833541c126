//! The desks: one for each noun. Every verb takes a grant first.

pub(crate) mod agents;
pub(crate) mod areas;
pub(crate) mod audit;
pub(crate) mod budgets;
pub(crate) mod cards;
mod chatter;
pub(crate) mod copies;
pub(crate) mod denials;
pub(crate) mod diffs;
pub(crate) mod events;
pub(crate) mod execs;
mod fetching;
pub(crate) mod files;
pub(crate) mod first;
pub(crate) mod fitness;
pub(crate) mod gateway;
pub(crate) mod hooks;
pub(crate) mod judge;
pub(crate) mod keeping;
pub(crate) mod keys;
pub(crate) mod logs;
pub(crate) mod members;
pub(crate) mod models;
mod moving;
pub(crate) mod network;
pub(crate) mod nodes;
pub(crate) mod notices;
pub(crate) mod opening;
pub(crate) mod outbound;
pub(crate) mod parcels;
pub(crate) mod ports;
pub(crate) mod providers;
pub(crate) mod prune;
pub(crate) mod pulls;
pub(crate) mod quotas;
pub(crate) mod refusals;
pub(crate) mod repos;
mod rewind;
pub(crate) mod sandboxes;
pub(crate) mod secrets;
pub(crate) mod sessions;
mod standing;
pub(crate) mod steps;
pub(crate) mod tasks;
pub(crate) mod templates;
pub(crate) mod till;
pub(crate) mod verbs;
pub(crate) mod visits;
pub(crate) mod volumes;
pub(crate) mod work;
mod wrapping;

use carrel_model::Grant;
use carrel_store::{Seen, Tx};

use crate::{Error, Idempotency, secret::hash};

/// Finds out whether a request was made before, and by then what it made.
pub(crate) async fn see_request(
    tx: &mut Tx,
    grant: &Grant,
    request: Option<Idempotency>,
    subject: &str,
) -> Result<Option<String>, Error> {
    let Some(Idempotency { key, request }) = request else { return Ok(None) };
    match tx.remember(&grant.key, &key, &hash(&request), subject).await? {
        Seen::Never => Ok(None),
        Seen::Before { subject } => Ok(Some(subject)),
        Seen::Otherwise => Err(Error::AskedOtherwise { key }),
    }
}
