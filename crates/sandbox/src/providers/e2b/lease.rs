//! Leases: how long a sandbox stays awake at E2B without us, and how it is kept awake for longer.
//!
//! ```text
//! created ─► awake ─► half the lease has passed and people want it: prolonged ─► awake …
//!               └───► nobody prolongs it: asleep, with its memory ─► a row wants it: woken
//!                                                                └─► no row knows it for a day: ended
//! ```
//!
//! The list that every sweep asks for anyway says when each lease ends, so keeping sandboxes awake costs one question per
//! sandbox and half a lease, and no polling.

use std::time::Duration;

use carrel_model::{SandboxId, Timestamp};
use futures::StreamExt;
use jiff::SignedDuration;
use serde_json::json;

use super::{Inner, wire::State};
use crate::ProviderError;

/// A shorter lease would end between two sweeps.
pub(super) const SHORTEST: Duration = Duration::from_secs(120);
/// What was asked to live for a moment is kept a little longer, so that our own keeper ends it and not E2B.
const SLACK: u64 = 120;
/// What nobody knew for so long after it fell asleep is ended.
const ORPHANED: SignedDuration = SignedDuration::from_hours(24);
/// How many are prolonged at the same time.
const TOGETHER: usize = 8;

/// When a lease of so many seconds ends that begins now.
pub(super) fn end_of(seconds: u64) -> Timestamp {
    after(Timestamp::now(), seconds)
}

fn after(now: Timestamp, seconds: u64) -> Timestamp {
    now.checked_add(SignedDuration::from_secs(seconds as i64)).unwrap_or(Timestamp::MAX)
}

/// How many seconds to prolong a lease for, if it is time. `until` is when its life ends by our own books.
fn due(now: Timestamp, end_at: Timestamp, until: Timestamp, lease: u64) -> Option<u64> {
    let left = |then: Timestamp| u64::try_from(then.duration_since(now).as_secs()).unwrap_or(0);
    let wanted = lease.min(left(until).saturating_add(SLACK));
    // The second half of what could be had has begun.
    (left(end_at) < wanted / 2).then_some(wanted)
}

impl Inner {
    /// The lease that a sandbox with this lifetime begins with.
    pub(super) fn first_lease(&self, lifetime: u64) -> u64 {
        self.lease.as_secs().min(lifetime.saturating_add(SLACK))
    }

    /// Prolongs those whose lease has half passed.
    pub(super) async fn prolong(&self, wanted: &[(SandboxId, Timestamp)]) -> Result<(), ProviderError> {
        let now = Timestamp::now();
        let ripe = wanted.iter().filter_map(|(id, until)| {
            let place = self.places().get(id).cloned()?;
            let (e2b, end_at) = place.known().as_ref().map(|known| (known.e2b.clone(), known.end_at))?;
            Some((place, e2b, due(now, end_at, *until, self.lease.as_secs())?))
        });
        let ripe: Vec<_> = ripe.collect();
        let prolonging = ripe.into_iter().map(|(place, e2b, seconds)| async move {
            let asked = self.api.post(&format!("/sandboxes/{e2b}/timeout"), &json!({ "timeout": seconds })).await;
            match asked {
                Ok(_) => {
                    if let Some(known) = place.known().as_mut().filter(|known| known.e2b == e2b) {
                        known.end_at = after(now, seconds);
                    }
                    Ok(())
                }
                // It fell asleep or ended meanwhile: the sweep sees that.
                Err(trouble) if matches!(trouble.status(), Some(404 | 409)) => Ok(()),
                Err(trouble) => Err(self.explain(trouble)),
            }
        });
        let done: Vec<_> = futures::stream::iter(prolonging).buffer_unordered(TOGETHER).collect().await;
        done.into_iter().collect()
    }

    /// Ends a sandbox that no row knows, a day after it fell asleep: somebody who shares our mark, such as a copy of this
    /// house's database, would have kept it awake.
    pub(super) async fn reap(&self, id: &SandboxId) -> Result<bool, ProviderError> {
        let Some(seen) = self.look(id).await? else { return Ok(false) };
        let asleep = seen.state == State::Paused && Timestamp::now().duration_since(seen.end_at) > ORPHANED;
        if asleep {
            self.destroy(id, self.turn(id).await).await?;
        }
        Ok(asleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn a_lease_is_prolonged_when_half_of_it_has_passed_and_not_before() {
        let (far, lease) = (at(1_000_000), 3600);
        assert_eq!(due(at(0), at(3600), far, lease), None);
        assert_eq!(due(at(1799), at(3600), far, lease), None);
        assert_eq!(due(at(1801), at(3600), far, lease), Some(3600));
        assert_eq!(due(at(5000), at(3600), far, lease), Some(3600), "one that is over time is prolonged at once");
    }

    #[test]
    fn nobody_is_kept_awake_for_longer_than_their_life() {
        // Ten minutes are left of its life, and more than that of its lease.
        assert_eq!(due(at(0), at(600), at(600), 3600), None);
        // Somebody has given it more time.
        assert_eq!(due(at(0), at(200), at(1880), 3600), Some(2000));
        // It ends in a moment anyway.
        assert_eq!(due(at(0), at(110), at(60), 3600), None);
    }
}
