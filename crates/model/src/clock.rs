//! Clocks that are set back: what was written before says nothing of when something is due.

use jiff::{SignedDuration, Timestamp};

/// So far apart are the clocks of nodes that agree.
pub const SKEW: SignedDuration = SignedDuration::from_secs(5);

/// Whether something was written by a clock that is set back since.
pub fn is_from_the_future(written: Timestamp, now: Timestamp) -> bool {
    written.duration_since(now) > SKEW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_was_set_back_has_written_in_the_future() {
        let now = Timestamp::UNIX_EPOCH;
        assert!(!is_from_the_future(now, now) && !is_from_the_future(now + SKEW, now));
        assert!(is_from_the_future(now + SignedDuration::from_hours(2), now));
    }
}
