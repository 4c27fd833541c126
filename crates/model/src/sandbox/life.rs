//! The life of a sandbox.
//!
//! ```text
//! Requested ─► Preparing ─► Ready ◄─► Paused
//!     └────────────┴──────────┴─────────┴────► Closing ─► Gone
//!          (any living phase may become Failed; from there it ends, or goes on if it is found again)
//! ```
//!
//! People write `want`, the keeper writes `phase`. A crash between a step and its fact is harmless: a sandbox that is
//! `Requested` may already exist at its provider, so every step may be repeated and `Destroy` is asked for even there.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a sandbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Asked for; nothing is promised to exist yet.
    Requested,
    /// The provider is making it.
    Preparing,
    /// It works.
    Ready,
    /// Frozen; comes back with `resume`.
    Paused,
    /// Being taken down.
    Closing,
    /// Ended. The row stays as its tombstone.
    Gone,
    /// It broke or was lost, and says why.
    Failed,
}

/// Where people want it to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Working.
    Ready,
    /// Frozen.
    Paused,
    /// Ended.
    Gone,
}

/// What a keeper can ask of a provider. A closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Make it.
    Create,
    /// Freeze it.
    Pause,
    /// Thaw it.
    Resume,
    /// Take it down; content to find nothing.
    Destroy,
}

/// What a keeper found to be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The step began and takes a while.
    Began(Step),
    /// The step is done.
    Done(Step),
    /// It is beyond repair.
    Broke,
}

/// A fact that cannot be true in this phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sandbox that is {phase:?} cannot see {fact:?}")]
pub struct OutOfOrder {
    /// Where it was.
    pub phase: Phase,
    /// What was reported.
    pub fact: Fact,
}

impl Phase {
    /// All of them, in the order of a life.
    pub const ALL: [Phase; 7] =
        [Phase::Requested, Phase::Preparing, Phase::Ready, Phase::Paused, Phase::Closing, Phase::Gone, Phase::Failed];

    /// Where a fact leaves us.
    pub fn after(self, fact: Fact) -> Result<Phase, OutOfOrder> {
        use {Fact::*, Phase::*, Step::*};
        match (self, fact) {
            (Requested | Preparing, Began(Create)) => Ok(Preparing),
            // A step that ends quickly is recorded in one breath, without its beginning.
            (Requested | Preparing, Done(Create)) => Ok(Ready),
            // A sandbox that was lost and is found again goes on where it is found; one that is paused may go deeper.
            (Ready | Failed | Paused, Done(Pause)) => Ok(Paused),
            (Paused | Failed, Done(Resume)) => Ok(Ready),
            (Requested | Preparing | Ready | Paused | Failed | Closing, Began(Destroy)) => Ok(Closing),
            (Requested | Preparing | Ready | Paused | Failed | Closing, Done(Destroy)) => Ok(Gone),
            (Requested | Preparing | Ready | Paused, Broke) => Ok(Failed),
            (phase, fact) => Err(OutOfOrder { phase, fact }),
        }
    }

    /// What to do next to bring a sandbox in this phase to where it is wanted.
    pub fn step_towards(self, want: Want) -> Option<Step> {
        match (self, want) {
            (Phase::Requested | Phase::Preparing, Want::Ready | Want::Paused) => Some(Step::Create),
            (Phase::Ready, Want::Ready) => None,
            (Phase::Ready, Want::Paused) => Some(Step::Pause),
            (Phase::Paused, Want::Ready) => Some(Step::Resume),
            (Phase::Paused, Want::Paused) => None,
            (Phase::Failed, Want::Ready | Want::Paused) => None,
            (Phase::Requested | Phase::Preparing | Phase::Ready | Phase::Paused | Phase::Failed, Want::Gone) => {
                Some(Step::Destroy)
            }
            (Phase::Closing, Want::Ready | Want::Paused | Want::Gone) => Some(Step::Destroy),
            (Phase::Gone, Want::Ready | Want::Paused | Want::Gone) => None,
        }
    }

    /// Nothing that people want can move it any more.
    pub fn is_over(self) -> bool {
        matches!(self, Phase::Closing | Phase::Gone)
    }

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Requested => "requested",
            Phase::Preparing => "preparing",
            Phase::Ready => "ready",
            Phase::Paused => "paused",
            Phase::Closing => "closing",
            Phase::Gone => "gone",
            Phase::Failed => "failed",
        }
    }

    /// The phase that a word names.
    pub fn from_word(word: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

impl Want {
    /// All of them.
    pub const ALL: [Want; 3] = [Want::Ready, Want::Paused, Want::Gone];

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Want::Ready => "ready",
            Want::Paused => "paused",
            Want::Gone => "gone",
        }
    }

    /// The want that a word names.
    pub fn from_word(word: &str) -> Option<Want> {
        Want::ALL.into_iter().find(|want| want.word() == word)
    }
}

impl Step {
    /// The verb, for sentences and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Step::Create => "create",
            Step::Pause => "pause",
            Step::Resume => "resume",
            Step::Destroy => "destroy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn any_phase() -> impl Strategy<Value = Phase> {
        select(&Phase::ALL[..])
    }
    fn any_want() -> impl Strategy<Value = Want> {
        select(&Want::ALL[..])
    }
    fn any_fact() -> impl Strategy<Value = Fact> {
        let step = || select(&[Step::Create, Step::Pause, Step::Resume, Step::Destroy][..]);
        prop_oneof![step().prop_map(Fact::Began), step().prop_map(Fact::Done), Just(Fact::Broke)]
    }

    /// Walks with a keeper that succeeds at everything, and says where it comes to rest.
    fn settle(mut phase: Phase, want: Want) -> Phase {
        for _ in 0..4 {
            let Some(step) = phase.step_towards(want) else { return phase };
            phase = phase.after(Fact::Done(step)).expect("a step that is asked for may be done");
        }
        panic!("{phase:?} does not settle towards {want:?}");
    }

    proptest! {
        #[test]
        fn a_keeper_that_succeeds_comes_to_rest_where_people_want_it(phase in any_phase(), want in any_want()) {
            let rest = settle(phase, want);
            let as_wanted = match want {
                Want::Ready => Phase::Ready,
                Want::Paused => Phase::Paused,
                Want::Gone => Phase::Gone,
            };
            let over = phase.is_over() && rest == Phase::Gone;
            let broken = phase == Phase::Failed && want != Want::Gone && rest == Phase::Failed;
            prop_assert!(rest == as_wanted || over || broken, "{phase:?} wanted {want:?} rests {rest:?}");
        }

        #[test]
        fn every_story_can_still_be_ended(facts in prop::collection::vec(any_fact(), 0..40)) {
            let phase = facts.into_iter().fold(Phase::Requested, |phase, fact| phase.after(fact).unwrap_or(phase));
            prop_assert_eq!(settle(phase, Want::Gone), Phase::Gone);
        }

        #[test]
        fn nothing_returns_from_the_grave(fact in any_fact(), want in any_want()) {
            prop_assert!(Phase::Gone.after(fact).is_err());
            prop_assert_eq!(Phase::Gone.step_towards(want), None);
        }

        #[test]
        fn a_sandbox_being_taken_down_is_never_revived(facts in prop::collection::vec(any_fact(), 0..20)) {
            let end = facts.into_iter().fold(Phase::Closing, |phase, fact| phase.after(fact).unwrap_or(phase));
            prop_assert!(end.is_over());
        }

        #[test]
        fn a_step_may_be_told_with_or_without_its_beginning(phase in any_phase(), want in any_want()) {
            if let Some(step) = phase.step_towards(want) {
                let told_once = phase.after(Fact::Done(step));
                prop_assert!(told_once.is_ok());
                if matches!(step, Step::Create | Step::Destroy) {
                    let told_twice = phase.after(Fact::Began(step)).and_then(|phase| phase.after(Fact::Done(step)));
                    prop_assert_eq!(told_twice, told_once);
                }
            }
        }
    }

    #[test]
    fn words_and_phases_are_the_same_thing() {
        for phase in Phase::ALL {
            assert_eq!(Phase::from_word(phase.word()), Some(phase));
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.word());
        }
        for want in Want::ALL {
            assert_eq!(Want::from_word(want.word()), Some(want));
        }
    }
}
