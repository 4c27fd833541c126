//! News from a forge, in the same words whether it was sent or found.

use crate::{BranchName, Check, Comment, CommitId, Pull, PullNumber, Review};

/// Something that happened at a forge. It may be told twice; ids and commits say what is known already.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A pull request changed.
    Pull {
        /// The pull as it now is.
        pull: Box<Pull>,
        /// What happened to it.
        moved: PullMove,
    },
    /// Somebody said something, or changed what they said.
    Comment {
        /// At which pull.
        number: PullNumber,
        /// What was said.
        comment: Comment,
    },
    /// Somebody gave a review.
    Review {
        /// Of which pull.
        number: PullNumber,
        /// The review.
        review: Review,
    },
    /// A program found something out about a commit.
    Check {
        /// About which commit.
        commit: CommitId,
        /// What it found.
        check: Check,
    },
    /// A branch moved. Only told where forges send it; whoever has a mirror sees it by fetching.
    Push {
        /// Which branch.
        branch: BranchName,
        /// Where it was; `None` when it is new.
        before: Option<CommitId>,
        /// Where it is; `None` when it is gone.
        after: Option<CommitId>,
    },
}

/// What happened to a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullMove {
    /// It was opened.
    Opened,
    /// Its head has new commits.
    Pushed,
    /// Something else about it: title, labels, draft, reviewers.
    Changed,
    /// A review came, of which the forge told no more: ask for the reviews.
    Reviewed,
    /// It was closed and nothing was merged.
    Closed,
    /// It was closed and is open again.
    Reopened,
    /// It was merged.
    Merged,
}
