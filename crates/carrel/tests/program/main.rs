//! The real binary in its own process: killed, drained, misconfigured, and driven from the command line.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is the verdict of a test")]

mod away;
mod backup;
mod cards;
mod command_line;
mod crash;
mod databases;
mod doors;
mod drain;
mod e2b;
mod engine;
mod huge;
mod kills;
mod makings;
mod nodes;
mod parcels;
mod pulls;
mod reviews;
mod run;
mod search;
mod secrets;
mod shell;
#[cfg(feature = "otel")]
mod spans;
mod talks;
mod work;

use std::path::Path;

/// The binary under test.
pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_carrel"))
}
