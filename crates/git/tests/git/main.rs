//! Git through and through: real git clients, real HTTP, real repositories with everything that can be wrong with them.
#![allow(clippy::unwrap_used, reason = "everything here runs inside a test, where a panic is the verdict")]

mod bench;
mod carried;
mod credentials;
mod extremes;
mod histories;
mod layers;
mod merges;
mod mirrors;
mod nested;
mod owners;
mod pushes;
mod saves;
mod ssh;
mod strangers;
