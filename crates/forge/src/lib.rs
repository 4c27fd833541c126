//! Pull requests outside: the `Forge` trait, its implementations, and the contract that all of them keep.
//!
//! A forge here is one repository's place for pull requests. Four kinds stand in `forges`: `embedded` for repositories
//! hosted by this house, `github`, `gitea` (and Forgejo), and `fake`. `hooks` reads what forges send by themselves,
//! `courier` carries what the house sends, and `poll` finds the same news where nothing is sent.
//!
//! Absent on purpose: SQL (rows of the embedded forge are kept by a `Ledger`), git (asked through `Repository`), a
//! server for HTTP, retries and decisions. A forge is asked, does one thing, and returns.
#![forbid(unsafe_code)]

mod check;
pub mod contract;
pub mod courier;
mod diff;
mod error;
mod forge;
pub mod forges;
pub mod hooks;
mod key;
mod ledger;
mod names;
mod nats;
mod notebook;
mod notice;
mod poll;
mod pull;
mod repository;
mod rest;
mod talk;

pub use check::{Check, CheckState, Checks};
pub use error::ForgeError;
pub use forge::{Fitness, Forge};
pub use key::{AppKey, Key, Keyring};
pub use ledger::{Ledger, PullRow};
pub use names::{BranchName, CommitId, PullNumber, Slug, Stamp};
pub use notebook::Notebook;
pub use notice::{Notice, PullMove};
pub use poll::{News, Reading, poll};
pub use pull::{Merge, MergeWay, Mergeable, Merged, NewPull, Pull, PullChange, PullState};
pub use repository::{Repository, Weave, Woven};
pub use talk::{Comment, NewComment, NewReview, Place, Review, Side, Verdict};
