//! Whom sandboxes were not let through to, as far as it is remembered: in memory, on the node that has the sandbox.
//!
//! What a person should know stands on the timeline and in the audit (`denials`); this is for whoever looks at a sandbox
//! and asks why something does not work.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use carrel_model::{Action, Grant, SandboxId, Subject, Timestamp, public::RefusedHost};

use super::sandboxes::SandboxesDesk;
use crate::Error;

/// So many are remembered of one sandbox.
const MOST: usize = 64;
/// Of so many sandboxes.
const MOST_SANDBOXES: usize = 1024;
/// No name in the world is longer; what a guest asks for may be.
const LONGEST: usize = 260;

/// What was refused, by sandbox; the newest first.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<HashMap<SandboxId, VecDeque<RefusedHost>>>);

impl Refusals {
    /// Remembers one. The same one again is counted, and is the newest then.
    pub(crate) fn remember(&self, sandbox: &SandboxId, host: &str, port: Option<u16>, why: &str, at: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(sandbox) && all.len() >= MOST_SANDBOXES {
            let oldest = all.iter().min_by_key(|(_, hosts)| hosts.front().map(|newest| newest.at));
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                all.remove(&oldest);
            }
        }
        let hosts = all.entry(sandbox.clone()).or_default();
        let earlier = hosts.iter().position(|known| known.host == host && known.port == port);
        let times = earlier.and_then(|place| hosts.remove(place)).map_or(1, |known| known.times + 1);
        hosts.push_front(RefusedHost { host: host.to_owned(), port, why: why.to_owned(), times, at });
        hosts.truncate(MOST);
    }

    fn of(&self, sandbox: &SandboxId) -> Vec<RefusedHost> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(sandbox).into_iter().flatten().cloned().collect()
    }
}

/// The name that a guest asked for, as it may be shown.
pub(crate) fn shown(host: &str) -> String {
    host.chars().filter(|c| !c.is_control() && *c != '`').take(LONGEST).collect()
}

impl SandboxesDesk<'_> {
    /// Whom a sandbox was not let through to, the newest first.
    pub async fn refused(&self, grant: &Grant, id: &SandboxId) -> Result<Vec<RefusedHost>, Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxRead, subject).await?;
        Ok(self.house.refusals.of(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn the_newest_comes_first_and_the_same_one_is_counted() {
        let (refusals, id) = (Refusals::default(), SandboxId::from_random([1; 16]));
        refusals.remember(&id, "a.example", Some(443), "no", at(1));
        refusals.remember(&id, "b.example", None, "no", at(2));
        refusals.remember(&id, "a.example", Some(80), "no", at(3));
        refusals.remember(&id, "a.example", Some(443), "still no", at(4));
        let seen = refusals.of(&id);
        let seen: Vec<_> = seen.iter().map(|it| (it.host.as_str(), it.port, it.times, it.why.as_str())).collect();
        let expected =
            [("a.example", Some(443), 2, "still no"), ("a.example", Some(80), 1, "no"), ("b.example", None, 1, "no")];
        assert_eq!(seen, expected);
    }

    #[test]
    fn no_guest_fills_the_memory() {
        let refusals = Refusals::default();
        for n in 0..MOST_SANDBOXES + 10 {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&n.to_be_bytes());
            refusals.remember(&SandboxId::from_random(bytes), "a.example", None, "no", at(n as i64));
        }
        let id = SandboxId::from_random([9; 16]);
        for port in 0..1000 {
            refusals.remember(&id, "a.example", Some(port), "no", at(10_000 + i64::from(port)));
        }
        let seen = refusals.of(&id);
        assert_eq!((seen.len(), seen[0].port, seen[63].port), (MOST, Some(999), Some(936)));
        assert!(refusals.0.lock().expect("whole").len() <= MOST_SANDBOXES);
        assert_eq!(shown(&format!("a\n`b{}", "x".repeat(1000))).len(), LONGEST);
    }
}
