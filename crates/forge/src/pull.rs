//! Pull requests, as every forge tells of them.
//!
//! ```text
//! Open ◄─► Closed
//!   └────► Merged
//! ```

use carrel_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{BranchName, CommitId, PullNumber};

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    /// Its number in the repository.
    pub number: PullNumber,
    /// Where people look at it.
    pub url: String,
    /// What it is called.
    pub title: String,
    /// What it says of itself.
    pub body: String,
    /// Who opened it.
    pub author: String,
    /// The branch that is to be merged.
    pub head: BranchName,
    /// The newest commit of that branch, or the last one that was seen.
    pub head_commit: CommitId,
    /// The branch it is to be merged into.
    pub base: BranchName,
    /// Where in its life it is.
    pub state: PullState,
    /// Whether it is still being worked on.
    pub draft: bool,
    /// Whether it can be merged, as far as the forge has found out.
    pub mergeable: Mergeable,
    /// Its labels, by name.
    pub labels: Vec<String>,
    /// Whose review was asked for and has not come.
    pub reviewers: Vec<String>,
    /// How it is merged by itself once everything is green, when that was asked for.
    pub auto_merge: Option<MergeWay>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything about it last changed.
    pub updated_at: Timestamp,
}

/// Where in its life a pull request is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullState {
    /// It waits for reviews, checks and a merge.
    Open,
    /// It was merged.
    Merged {
        /// The commit that the base got, where the forge names it.
        commit: Option<CommitId>,
    },
    /// It was closed and nothing was merged.
    Closed,
}

/// Whether a pull request can be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeable {
    /// The forge has not found out yet: look again.
    Unknown,
    /// Nothing stands in the way of the files. Reviews and checks may.
    Clean,
    /// Its files conflict with the base.
    Conflicted,
}

/// How the commits of a pull request reach the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeWay {
    /// With a merge commit.
    Merge,
    /// As one new commit.
    Squash,
    /// Each one anew, on top of the base.
    Rebase,
}

impl MergeWay {
    /// The word that all forges use for it.
    pub fn word(self) -> &'static str {
        match self {
            MergeWay::Merge => "merge",
            MergeWay::Squash => "squash",
            MergeWay::Rebase => "rebase",
        }
    }

    /// Understands the word.
    pub fn from_word(word: &str) -> Option<MergeWay> {
        [MergeWay::Merge, MergeWay::Squash, MergeWay::Rebase].into_iter().find(|way| way.word() == word)
    }
}

/// A pull request that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    /// What it is to be called: one line.
    pub title: String,
    /// What it says of itself.
    pub body: String,
    /// The branch that is to be merged.
    pub head: BranchName,
    /// The branch it is to be merged into.
    pub base: BranchName,
    /// Whether it is still being worked on.
    pub draft: bool,
}

/// What is to change about a pull request. What is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullChange {
    /// A new title.
    pub title: Option<String>,
    /// A new text.
    pub body: Option<String>,
    /// Another base.
    pub base: Option<BranchName>,
    /// Whether it is to be open. One that was merged stays merged.
    pub open: Option<bool>,
}

/// A merge that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// How the commits reach the base.
    pub way: MergeWay,
    /// What was looked at: a head that has moved since is not merged.
    pub head: CommitId,
    /// The first line of the new commit, where one is made.
    pub title: Option<String>,
    /// The rest of its message.
    pub message: Option<String>,
}

/// A merge that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// What the base got, where the forge names it.
    pub commit: Option<CommitId>,
}
