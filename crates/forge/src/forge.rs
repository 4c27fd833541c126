//! What every place for pull requests can do.

use async_trait::async_trait;
use carrel_model::Timestamp;

use crate::{
    BranchName, Check, Checks, Comment, CommitId, ForgeError, Merge, MergeWay, Merged, NewComment, NewPull, NewReview,
    Pull, PullChange, PullNumber, Review,
};

/// One repository's place for pull requests.
///
/// A pull is found by its branch even after everybody restarted. Every call may be repeated, and called off in the
/// middle; the next time finds or finishes the work.
#[async_trait]
pub trait Forge: Send + Sync {
    /// Looks around and changes nothing: who we are there, and what our credential lacks.
    async fn probe(&self) -> Result<Fitness, ForgeError>;

    /// The branch that work starts from.
    async fn default_branch(&self) -> Result<BranchName, ForgeError>;

    /// Opens a pull, or finds the open one of the same head and base. What was found is not changed.
    async fn open(&self, new: &NewPull) -> Result<Pull, ForgeError>;

    /// The pull of a branch: the open one, else the newest.
    async fn find(&self, head: &BranchName) -> Result<Option<Pull>, ForgeError>;

    /// One pull as it now is.
    async fn get(&self, number: PullNumber) -> Result<Pull, ForgeError>;

    /// The pulls that changed at that time or later, the oldest change first.
    async fn changed(&self, since: Timestamp) -> Result<Vec<Pull>, ForgeError>;

    /// Changes title, text, base, or whether it is open.
    async fn update(&self, number: PullNumber, change: &PullChange) -> Result<Pull, ForgeError>;

    /// What the pull changes, as a unified diff.
    async fn diff(&self, number: PullNumber) -> Result<String, ForgeError>;

    /// Says something, to the pull as a whole or to a line of its diff. With a stamp it is said once.
    async fn comment(&self, number: PullNumber, new: &NewComment) -> Result<Comment, ForgeError>;

    /// What was said or changed at that time or later, on lines and in general, the oldest first.
    async fn comments(&self, number: PullNumber, since: Option<Timestamp>) -> Result<Vec<Comment>, ForgeError>;

    /// Gives a review. Forges let nobody approve a pull of their own.
    async fn review(&self, number: PullNumber, new: &NewReview) -> Result<Review, ForgeError>;

    /// All reviews, the oldest first.
    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError>;

    /// Adds labels. Those that the repository does not have are made.
    async fn label(&self, number: PullNumber, labels: &[String]) -> Result<(), ForgeError>;

    /// Asks people, by login, for their review.
    async fn request_reviewers(&self, number: PullNumber, logins: &[String]) -> Result<(), ForgeError>;

    /// Says whether it is still being worked on.
    async fn set_draft(&self, number: PullNumber, draft: bool) -> Result<(), ForgeError>;

    /// Asks that it be merged by itself once everything is green, or, with `None`, that it is not. When nothing stands
    /// in the way, a forge may refuse the wish as a `Conflict`, or fulfil it at once.
    async fn auto_merge(&self, number: PullNumber, way: Option<MergeWay>) -> Result<(), ForgeError>;

    /// What programs found out about a commit: checks and statuses together.
    async fn checks(&self, commit: &CommitId) -> Result<Checks, ForgeError>;

    /// Says what we found out about a commit.
    async fn report(&self, commit: &CommitId, check: &Check) -> Result<(), ForgeError>;

    /// Merges it, if its head is still the one that was looked at. A second time finds it merged.
    async fn merge(&self, number: PullNumber, merge: &Merge) -> Result<Merged, ForgeError>;

    /// Deletes a branch, and is content to find none.
    async fn delete_branch(&self, branch: &BranchName) -> Result<(), ForgeError>;

    /// Whether a pull tells that it is to be merged by itself. Gitea takes the wish and keeps it to itself.
    fn shows_auto_merge(&self) -> bool {
        true
    }
}

/// Who we are at a forge, and what that is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitness {
    /// Our name there.
    pub login: String,
    /// The branch that work starts from.
    pub default_branch: BranchName,
    /// What our credential lacks, each a sentence with what would give it.
    pub missing: Vec<String>,
}
