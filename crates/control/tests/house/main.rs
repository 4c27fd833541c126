//! How the keepers behave: retries, breakers, sweeps, lifetimes, and several nodes on one database.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is the verdict of a test")]

mod far;
mod lives;
mod mishaps;
mod nodes;
mod pulls;
