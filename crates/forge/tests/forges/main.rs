//! Every forge keeps the contract, and the contract notices who does not.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is the verdict of a test")]

mod bare;
mod embedded;
mod fake;
mod gitea;
mod github;
mod letters;
mod nats;
mod unreliable;
