//! Pull requests and the bases they are merged into, as the outside sees them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Branch, CommitId, RepoName, TaskId, repo::MergeStyle};

/// A pull request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PullView {
    /// The repository.
    pub repo: RepoName,
    /// Its number there.
    pub number: u64,
    /// The forge that it is at: `embedded`, `github` or `gitea`.
    pub forge: String,
    /// Where people look at it.
    pub url: String,
    /// What it is called.
    pub title: String,
    /// What it says of itself.
    pub body: String,
    /// Who opened it.
    pub author: String,
    /// The task whose branch it is, when it is one's.
    pub task_id: Option<TaskId>,
    /// The branch that is to be merged.
    pub head: Branch,
    /// Where that branch is, or was when it was last seen.
    pub head_commit: CommitId,
    /// The branch it is to be merged into.
    pub base: Branch,
    /// Where in its life it is.
    pub phase: PullPhase,
    /// Whether it is still being worked on.
    pub draft: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// Whose review was asked for and has not come.
    pub reviewers: Vec<String>,
    /// How it is merged by itself once nothing stands in the way, when that was asked for.
    pub auto_merge: Option<MergeStyle>,
    /// What the checks of its head come to together; nothing while nobody checked it.
    pub checks: Option<CheckState>,
    /// What the reviews come to together; nothing while nobody judged it.
    pub verdict: Option<Verdict>,
    /// How many approve its head as it is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub approvals: u64,
    /// What the base got, once it is merged.
    pub merge_commit: Option<CommitId>,
    /// When it was opened.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When anything about it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Counts what was seen to change.
    pub revision: i64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PullView {
    /// Whether another look saw the same, whatever the revision.
    pub fn is_as(&self, other: &PullView) -> bool {
        *self == PullView { revision: self.revision, ..other.clone() }
    }
}

/// Where in its life a pull request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullPhase {
    /// It is open, and it is not known yet whether it can be merged, or something other than its files stands in the way.
    Open,
    /// Its checks are not done.
    Checking,
    /// Nothing that we know of stands in the way.
    Mergeable,
    /// Its files conflict with the base.
    Conflicted,
    /// It was merged.
    Merged,
    /// It was closed and nothing was merged.
    Closed,
}

impl PullPhase {
    /// All of them.
    pub const ALL: [PullPhase; 6] = [
        PullPhase::Open,
        PullPhase::Checking,
        PullPhase::Mergeable,
        PullPhase::Conflicted,
        PullPhase::Merged,
        PullPhase::Closed,
    ];

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            PullPhase::Open => "open",
            PullPhase::Checking => "checking",
            PullPhase::Mergeable => "mergeable",
            PullPhase::Conflicted => "conflicted",
            PullPhase::Merged => "merged",
            PullPhase::Closed => "closed",
        }
    }

    /// The phase that a word names.
    pub fn from_word(word: &str) -> Option<PullPhase> {
        PullPhase::ALL.into_iter().find(|phase| phase.word() == word)
    }

    /// Whether nothing more will happen to it, unless it is opened again.
    pub fn is_over(self) -> bool {
        matches!(self, PullPhase::Merged | PullPhase::Closed)
    }
}

/// What one program found out about a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckView {
    /// What it calls itself.
    pub name: String,
    /// What it comes to.
    pub state: CheckState,
    /// A sentence about it.
    pub summary: Option<String>,
    /// Where its log can be read.
    pub url: Option<String>,
    /// When it last changed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
}

/// What a check comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It has nothing to say about this commit.
    Skipped,
    /// It is content.
    Passed,
    /// It is not done yet.
    Pending,
    /// It is not content, or broke off.
    Failed,
}

impl CheckState {
    /// The word used in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            CheckState::Skipped => "skipped",
            CheckState::Passed => "passed",
            CheckState::Pending => "pending",
            CheckState::Failed => "failed",
        }
    }
}

/// Something that was said at a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommentView {
    /// Its name at the forge.
    pub id: String,
    /// Who said it.
    pub author: String,
    /// What was said.
    pub body: String,
    /// The file it is about, when it is about one.
    pub path: Option<String>,
    /// The line of that file; nothing when the line is gone from the diff by now.
    pub line: Option<u32>,
    /// Which side of the diff counts the line.
    pub side: Option<Side>,
    /// The commit that it speaks of, where the forge names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// What it is known by, when it was said through Carrel.
    pub stamp: Option<String>,
    /// Where people look at it.
    pub url: String,
    /// When it was said.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// A side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// As it was.
    Old,
    /// As it is to be.
    #[default]
    New,
}

/// What somebody thinks of a pull request as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewView {
    /// Its name at the forge.
    pub id: String,
    /// Whose it is.
    pub author: String,
    /// What it comes to.
    pub verdict: Verdict,
    /// What it says.
    pub body: String,
    /// The commit that was looked at, where the forge names it.
    pub commit: Option<CommitId>,
    /// When it was given.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// What a review comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may be merged.
    Approved,
    /// Something has to change first.
    ChangesRequested,
    /// Remarks only.
    Commented,
    /// It was taken back.
    Dismissed,
}

impl Verdict {
    /// The word used in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Approved => "approved",
            Verdict::ChangesRequested => "changes_requested",
            Verdict::Commented => "commented",
            Verdict::Dismissed => "dismissed",
        }
    }
}

/// What is new at a pull request. Each is told once, with the commit that it speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum PullNews {
    /// Somebody said something, or changed what they said.
    Comment {
        /// What was said.
        comment: CommentView,
        /// Where the head was when it was heard.
        head: CommitId,
    },
    /// Somebody gave a review.
    Review {
        /// The review.
        review: ReviewView,
        /// The commit that was looked at, or where the head was when it was heard.
        head: CommitId,
    },
    /// A program found something out about a commit.
    Check {
        /// What it found.
        check: CheckView,
        /// About which commit.
        head: CommitId,
    },
}

/// A branch that others are merged into, and where it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BaseView {
    /// The repository.
    pub repo: RepoName,
    /// The branch.
    pub branch: Branch,
    /// Where it is; nothing when it is gone.
    pub commit: Option<CommitId>,
    /// Where it was.
    pub before: Option<CommitId>,
    /// Whether its history was rewritten: where it was is no ancestor of where it is.
    pub rewritten: bool,
}

/// A pull request that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPull {
    /// In which repository.
    pub repo: RepoName,
    /// The branch that is to be merged.
    pub head: Branch,
    /// The branch it is to be merged into; the default branch when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Branch>,
    /// What it is to be called: one line.
    pub title: String,
    /// What it says of itself.
    #[serde(default)]
    pub body: String,
    /// Whether it is still being worked on.
    #[serde(default)]
    pub draft: bool,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whose review is asked for, by login.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
}

/// Something that is to be said at a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPullComment {
    /// What to say.
    pub body: String,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line of that file, counted from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub line: Option<u32>,
    /// Which side of the diff counts the line; `new` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// What it is known by: with a stamp it is said once, however often it is asked for, and the task's agent is not told
    /// of it; for what it was told already. 1 to 80 lower-case letters, digits, `.`, `_` or single `-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

/// A review that is to be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPullReview {
    /// What it comes to.
    pub verdict: Verdict,
    /// What it says. Only an approval may say nothing.
    #[serde(default)]
    pub body: String,
}

/// A merge that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMerge {
    /// How it is put onto its base; as the repository says when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<MergeStyle>,
    /// What was looked at: a head that has moved since is not merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
}

/// A wish that a pull request be merged by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAutoMerge {
    /// How it is put onto its base; as the repository says when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<MergeStyle>,
}
