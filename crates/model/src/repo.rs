//! Repositories that Carrel works on, and what is pushed to them.
//!
//! ```text
//! Cloning ─► Ready        (Ready stays ready when its upstream does not answer; the note says so)
//!     └────► Failed ─► Cloning
//! ```

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Branch, BranchFormat, CommitId, KeyId, PushId, RefName, RepoName, RepoSource, SandboxId, TaskId,
    command::CommandRules, sandbox::Network,
};

/// A repository, as its row remembers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repo {
    /// Its name, for good.
    pub name: RepoName,
    /// Where it comes from; nothing for one that lives here.
    pub source: Option<RepoSource>,
    /// How far its mirror is.
    pub phase: RepoPhase,
    /// The branch that tasks begin at.
    pub default_branch: Option<Branch>,
    /// Where that branch is.
    pub head: Option<CommitId>,
    /// What people want of it.
    pub rules: RepoRules,
    /// Why it is where it is, when that needs a sentence.
    pub note: Option<String>,
    /// When it was last brought up to date.
    pub synced_at: Option<Timestamp>,
    /// Who added it.
    pub created_by: KeyId,
    /// When it was added.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// Counts the changes of the row.
    pub revision: i64,
}

impl Repo {
    /// Whether it lives here and follows nobody.
    pub fn is_hosted(&self) -> bool {
        self.source.is_none()
    }
}

/// What people want of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RepoRules {
    /// The default branch that was asked for, in place of the upstream's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_branch: Option<Branch>,
    /// Where its pull requests are: `embedded`, `github`, `gitea`. Nothing: by where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forge: Option<String>,
    /// What is run on the merged result before the base moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_command: Option<String>,
    /// How a branch is put onto its base.
    pub merge: MergeStyle,
    /// The name of a task's branch, with `{id}` in it; `task-{id}` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_format: Option<BranchFormat>,
    /// Branches stay after they were merged.
    pub keep_branches: bool,
    /// Only paths that fit may be changed by pushes, when there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_paths: Vec<String>,
    /// Paths that fit may not be changed by pushes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_paths: Vec<String>,
    /// Secrets in pushes are let by.
    pub allow_secrets: bool,
    /// The largest file that a push may bring, in MiB; 50 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 4096)]
    pub largest_file_mb: Option<crate::number::Whole<1, 4096>>,
    /// What is wanted of its pull requests.
    #[serde(skip_serializing_if = "PullRules::is_none")]
    pub pulls: PullRules,
    /// What may be run at its desks when somebody asks for it from outside.
    #[serde(skip_serializing_if = "CommandRules::is_open")]
    pub commands: CommandRules,
    /// Whom its desks may talk to when a card or a session does not say.
    #[serde(skip_serializing_if = "Network::is_none")]
    pub network: Network,
}

/// What people want of the pull requests of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct PullRules {
    /// So many people must approve its head before it is merged; nobody when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 20)]
    pub approvals: Option<crate::number::Whole<0, 20>>,
    /// Labels that every pull of a task gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whose review is asked for, by login.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// A pull of a task is opened as a draft.
    pub draft: bool,
    /// A pull of a task is merged by itself once nothing stands in the way.
    pub auto_merge: bool,
}

impl PullRules {
    /// Whether nothing special is wanted.
    pub fn is_none(&self) -> bool {
        *self == PullRules::default()
    }

    /// How many must approve.
    pub fn approvals(&self) -> u64 {
        self.approvals.map_or(0, crate::number::Whole::get)
    }
}

/// How a branch is put onto its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeStyle {
    /// A commit with two parents.
    Merge,
    /// One commit with everything.
    #[default]
    Squash,
    /// Each commit again, on top of the base.
    Rebase,
}

/// How far a repository's mirror is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepoPhase {
    /// It is being fetched for the first time.
    Cloning,
    /// It can be worked on.
    Ready,
    /// It could not be had, and says why.
    Failed,
}

impl RepoPhase {
    /// All of them.
    pub const ALL: [RepoPhase; 3] = [RepoPhase::Cloning, RepoPhase::Ready, RepoPhase::Failed];

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            RepoPhase::Cloning => "cloning",
            RepoPhase::Ready => "ready",
            RepoPhase::Failed => "failed",
        }
    }

    /// The phase that a word names.
    pub fn from_word(word: &str) -> Option<RepoPhase> {
        RepoPhase::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

/// Refs that arrived through the gateway, with the verdict on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// Its name.
    pub id: PushId,
    /// Where it arrived.
    pub repo: RepoName,
    /// The task that pushed, when one did.
    pub task_id: Option<TaskId>,
    /// The sandbox that it came from, when it came from one.
    pub sandbox_id: Option<SandboxId>,
    /// The key that was shown.
    pub key: KeyId,
    /// What it asked for.
    pub refs: Vec<PushedRef>,
    /// Why it was refused; nothing when it was accepted.
    pub refusal: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// One ref of a push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PushedRef {
    /// Its name.
    pub name: RefName,
    /// Where it was.
    pub old: Option<CommitId>,
    /// Where it is, or was to be.
    pub new: Option<CommitId>,
    /// Whether it moved.
    pub moved: bool,
}
