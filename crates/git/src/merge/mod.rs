//! Merging in the mirror, without a working tree: what would conflict, what can be resolved, and moving a base.

mod apply;
mod archive;
mod diff;
mod forecast;
mod ladder;
mod lock_files;
mod mergiraf;
mod regenerate;
mod rerere;
mod tree;

pub use carrel_model::repo::MergeStyle;

pub use self::{
    apply::{Integrated, Offer},
    forecast::{Clash, Forecaster, Head, PathSet, Whom},
    ladder::{Attempt, Ladder, Outcome, Rung, RungRecord},
    lock_files::{LockRule, Regenerate, lock_rule},
    mergiraf::Mergiraf,
};
