//! The E2B provider against a cluster of our own: what the recordings show, with state.
#![allow(clippy::unwrap_used, reason = "tests: a panic is the verdict")]

mod builds;
mod cluster;
mod contract;
mod lines;
mod lives;
mod mishaps;
