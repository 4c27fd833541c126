//! The store's promises, each kept on both databases. The list of test names is the specification.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests: the names say it, and a panic is the verdict")]

mod house;

mod audit;
mod changes;
mod following;
mod inside;
mod keys;
mod leases;
mod listing;
mod opening;
mod pulls;
/// The same as everybody's: the kit itself stands above this crate.
#[path = "../../../testkit/src/redis.rs"]
#[allow(unreachable_pub, reason = "there it can be reached")]
mod redis;
mod released;
mod requests;
mod retention;
mod transcripts;
mod volumes;
