//! A circuit breaker: stops asking a provider that keeps failing, and finds out when it is back.
//!
//! ```text
//! Closed ──(failures in a row)──► Open ──(time passes)──► HalfOpen ──(trial succeeds)──► Closed
//!                                   ▲──────────(trial fails)──┘
//! ```

use jiff::{SignedDuration, Timestamp};

/// When a breaker opens and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Failures in a row that open it.
    pub failures: u32,
    /// How long it stays open, and how long a trial may take.
    pub rest: SignedDuration,
}

/// The state of one breaker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breaker {
    state: State,
    failures: u32,
    last_error: Option<String>,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// Everything passes.
    #[default]
    Closed,
    /// Nothing passes until then.
    Open(Timestamp),
    /// One trial is out; nothing else passes until it reports, or until then.
    HalfOpen(Timestamp),
}

/// Whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Go ahead, and report how it went.
    Go,
    /// Not before then.
    Wait(Timestamp),
}

impl Breaker {
    /// How it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Failures in a row so far.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// What the last failure said.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Asks whether a call may be made now. The first to ask after the rest becomes the trial.
    pub fn admit(&mut self, rules: Rules, now: Timestamp) -> Admission {
        match self.state {
            State::Closed => Admission::Go,
            State::Open(until) | State::HalfOpen(until) if now < until => Admission::Wait(until),
            State::Open(_) | State::HalfOpen(_) => {
                self.state = State::HalfOpen(later(now, rules.rest));
                Admission::Go
            }
        }
    }

    /// A call went well.
    pub fn succeeded(&mut self) {
        *self = Breaker::default();
    }

    /// A call failed in a way that blames the provider.
    pub fn failed(&mut self, error: String, rules: Rules, now: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        self.last_error = Some(error);
        let trial_failed = matches!(self.state, State::HalfOpen(_));
        if trial_failed || self.failures >= rules.failures {
            self.state = State::Open(later(now, rules.rest));
        }
    }
}

fn later(now: Timestamp, rest: SignedDuration) -> Timestamp {
    now.checked_add(rest).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: Rules = Rules { failures: 3, rest: SignedDuration::from_secs(30) };
    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }
    fn open_at(second: i64) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            breaker.failed("no answer".into(), RULES, at(second));
        }
        breaker
    }

    #[test]
    fn it_opens_after_repeated_failures_and_lets_one_trial_through() {
        let mut breaker = open_at(0);
        assert_eq!(breaker.admit(RULES, at(29)), Admission::Wait(at(30)));
        assert_eq!(breaker.admit(RULES, at(30)), Admission::Go);
        assert_eq!(breaker.admit(RULES, at(31)), Admission::Wait(at(60)), "one trial at a time");
        breaker.succeeded();
        assert_eq!((breaker.state(), breaker.failures()), (State::Closed, 0));
    }

    #[test]
    fn a_trial_that_fails_opens_it_again() {
        let mut breaker = open_at(0);
        breaker.admit(RULES, at(30));
        breaker.failed("still nothing".into(), RULES, at(31));
        assert_eq!(breaker.state(), State::Open(at(61)));
    }

    #[test]
    fn a_trial_that_never_reports_does_not_block_for_good() {
        let mut breaker = open_at(0);
        breaker.admit(RULES, at(30));
        assert_eq!(breaker.admit(RULES, at(60)), Admission::Go);
    }

    proptest! {
        #[test]
        fn it_never_makes_anybody_wait_longer_than_its_rest(story in prop::collection::vec((0i64..20, 0u8..3), 0..60)) {
            let (mut breaker, mut now) = (Breaker::default(), 0);
            for (pause, what) in story {
                now += pause;
                match what {
                    0 => breaker.succeeded(),
                    1 => breaker.failed("x".into(), RULES, at(now)),
                    _ => if let Admission::Wait(until) = breaker.admit(RULES, at(now)) {
                        prop_assert!(until > at(now) && until <= at(now + 30));
                    }
                }
            }
        }
    }
}
