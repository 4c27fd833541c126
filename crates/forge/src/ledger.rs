//! What the embedded forge asks of whoever remembers for it: the rows of one repository's pulls.

use async_trait::async_trait;
use carrel_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Check, Comment, CommitId, ForgeError, Pull, PullNumber, Review, names::BranchName};

/// Remembers the pulls, comments, reviews and checks of one repository. Each call is done whole or not at all.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Writes a new pull under the next number, or finds the open one of the same head and base.
    async fn add_pull(&self, row: PullRow) -> Result<PullRow, ForgeError>;

    /// The pull of this number.
    async fn pull(&self, number: PullNumber) -> Result<Option<PullRow>, ForgeError>;

    /// The pull of a branch: the open one, else the newest.
    async fn pull_of(&self, head: &BranchName) -> Result<Option<PullRow>, ForgeError>;

    /// Pulls that changed at that time or later, and those that are open: their heads may have moved unseen.
    async fn pulls_since(&self, since: Timestamp) -> Result<Vec<PullRow>, ForgeError>;

    /// Writes a pull as it now is, if nobody wrote it since it was read; says whether it was written.
    async fn put_pull(&self, row: PullRow) -> Result<bool, ForgeError>;

    /// Writes a comment under a new id, or finds the one with the same stamp at the same pull.
    async fn add_comment(&self, number: PullNumber, comment: Comment) -> Result<Comment, ForgeError>;

    /// All comments of a pull, the oldest first.
    async fn comments(&self, number: PullNumber) -> Result<Vec<Comment>, ForgeError>;

    /// Writes a review under a new id.
    async fn add_review(&self, number: PullNumber, review: Review) -> Result<Review, ForgeError>;

    /// All reviews of a pull, the oldest first.
    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError>;

    /// Writes what a program found out about a commit, in place of what it said before.
    async fn put_check(&self, commit: &CommitId, check: Check) -> Result<(), ForgeError>;

    /// The newest word of each program about a commit.
    async fn checks(&self, commit: &CommitId) -> Result<Vec<Check>, ForgeError>;
}

/// A pull as its row remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRow {
    /// The pull. Whether it can be merged is not remembered but asked of git.
    pub pull: Pull,
    /// The commit that the base is about to get. Written before the base moves, so that a merge in the middle of which
    /// everything died is known for what it is.
    pub merging: Option<CommitId>,
    /// Counts the changes of the row.
    pub revision: i64,
}
