//! What the embedded forge asks of git. The house answers with its mirrors; tests answer with the git command line.

use async_trait::async_trait;

use crate::{BranchName, CommitId, ForgeError, MergeWay};

/// A bare repository that is hosted here.
///
/// Making a merge and moving the branch are two calls, so that what is about to happen can be written down in between.
#[async_trait]
pub trait Repository: Send + Sync {
    /// The branch that work starts from.
    async fn default_branch(&self) -> Result<BranchName, ForgeError>;

    /// Where a branch stands.
    async fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, ForgeError>;

    /// Whether a branch has a commit among its ancestors.
    async fn contains(&self, branch: &BranchName, commit: &CommitId) -> Result<bool, ForgeError>;

    /// What the head changes since it left the base, as a unified diff.
    async fn diff(&self, base: &CommitId, head: &CommitId) -> Result<String, ForgeError>;

    /// The paths that conflict if the head were merged into the base. Moves nothing.
    async fn conflicts(&self, base: &CommitId, head: &CommitId) -> Result<Vec<String>, ForgeError>;

    /// Makes the commits of a merge. Moves no branch.
    async fn weave(&self, weave: &Weave) -> Result<Woven, ForgeError>;

    /// Moves a branch, if it is still where it was thought to be; says whether it was.
    async fn advance(&self, branch: &BranchName, from: &CommitId, to: &CommitId) -> Result<bool, ForgeError>;

    /// Deletes a branch, and is content to find none.
    async fn delete(&self, branch: &BranchName) -> Result<(), ForgeError>;
}

/// A merge whose commits are to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weave {
    /// What it is merged into.
    pub base: CommitId,
    /// What is merged.
    pub head: CommitId,
    /// How the commits reach the base.
    pub way: MergeWay,
    /// The message of a new commit.
    pub message: String,
    /// Who merges.
    pub author: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woven {
    /// The base can move here.
    Clean(CommitId),
    /// These paths conflict.
    Conflicted(Vec<String>),
}
