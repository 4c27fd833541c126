//! The local provider in the hands of a plain user: the same walls, with the few rights that such a user has.
#![allow(unreachable_pub, clippy::unwrap_used, missing_docs)]

mod abuse;
mod contract;
mod gateway;
mod intruder;
mod yard;
