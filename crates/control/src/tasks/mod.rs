//! The keeper of tasks: takes a card from the queue to a merged pull request, one repeatable step at a time.
//!
//! ```text
//! queue ─► prepare (a desk, a checkout) ─► work (turns of the agent) ─► publish (commit, push, pull) ─► merge ─► tidy
//! ```
//!
//! A step looks at what is, does what is missing, and records the fact. Whatever dies, the next look goes on from there.

pub(crate) mod desk;
pub(crate) mod dozing;
mod farewell;
mod keeper;
mod ladder;
mod messages;
mod queue;
mod radar;
mod review;
mod sleep;
mod steps;
mod stray;
mod talk;
mod tape;
mod turn;

pub(crate) use dozing::walk as walk_phases;
pub(crate) use keeper::{TaskKeeper, heartbeat, walk};
pub(crate) use ladder::{in_words as settled_in_words, put_on_base};
pub(crate) use talk::walk as walk_sessions;
