//! Dialects of coding agents: how to start one, and how to read what it prints. Text in, moments out.
//!
//! ```text
//!   AgentSettings ─┐
//!                  ├─► Dialect::launch ─► Launch ─► (an exec in the sandbox) ─► bytes ─► Reader ─► Moment … Ending
//!   Turn ──────────┘                                                                       ▲
//!   Dialect::reader ───────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! One turn is one exec: it gets its prompt at the start and ends by itself, so nobody outside has to live as long as it
//! does. A `Reader` is a pure function of the bytes: a server that was killed reads the transcript again from its start
//! and finds the same moments in the same order, however the bytes are cut.
//!
//! Absent on purpose: input and output, clocks, retries, and the decision whether a task is done. An agent that says it
//! has finished has finished a turn, nothing more.
#![forbid(unsafe_code)]

mod desk;
mod dialect;
mod dialects;
mod ending;
mod error;
mod heard;
mod launch;
mod lines;
mod moment;
mod offer;
mod phrases;
mod reader;
mod settings;
mod shorten;
mod trouble;
mod turn;

pub use desk::{DeskRules, Place};
pub use dialect::Dialect;
pub use ending::{Ending, Failure};
pub use error::AgentError;
pub use launch::{File, Launch, Signal, Stop};
pub use moment::{Moment, Spending};
pub use offer::{Offer, Program};
pub use phrases::{Phrases, Pointers};
pub use reader::{End, Reader};
pub use settings::AgentSettings;
pub use turn::{Exchange, Turn, Voice};
