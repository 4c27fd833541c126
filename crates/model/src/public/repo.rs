//! Repositories and pushes, as the outside asks for them and sees them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CommandRulesChange, NewNetwork};
use crate::{
    Branch, BranchFormat, CommitId, KeyId, PushId, RepoName, RepoSource, SandboxId, TaskId,
    number::Whole,
    repo::{MergeStyle, PullRules, Push, PushedRef, Repo, RepoPhase, RepoRules},
};

/// Asks for a repository: one that comes from somewhere, or with `new` one that lives here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewRepo {
    /// What to call it; from the source when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<RepoName>,
    /// Where it comes from: a path of the server, an address, or `github:owner/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<RepoSource>,
    /// It begins empty and lives here.
    #[serde(skip_serializing_if = "super::view::is_false")]
    pub new: bool,
    /// The branch that tasks begin at; the upstream's own when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<Branch>,
    /// Where its pull requests are: `embedded`, `github`, `gitea`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forge: Option<String>,
    /// What is run on the merged result before the base moves; empty for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_command: Option<String>,
    /// How a branch is put onto its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeStyle>,
    /// The name of a task's branch, with `{id}` in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_format: Option<BranchFormat>,
    /// Branches stay after they were merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_branches: Option<bool>,
    /// Only paths that fit may be changed by pushes, such as `src/**`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_paths: Option<Vec<String>>,
    /// Paths that fit may not be changed by pushes, such as `.github/**`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny_paths: Option<Vec<String>>,
    /// Secrets in pushes are let by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_secrets: Option<bool>,
    /// The largest file that a push may bring, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 4096)]
    pub largest_file_mb: Option<Whole<1, 4096>>,
    /// What is wanted of its pull requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulls: Option<PullRulesChange>,
    /// What may be run at its desks when somebody asks for it from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<CommandRulesChange>,
    /// Whom its desks may talk to when a card or a session does not say. Headers name their secrets; no proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NewNetwork>,
}

/// What a repository's forge answered when it was asked who we are there and what we may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepoFitness {
    /// Where its pull requests are: `embedded`, `github`, `gitea`.
    pub forge: String,
    /// Whether the forge answered and knows our credential.
    pub reached: bool,
    /// Our name there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// The branch that work starts from, as the forge has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// What is missing, each a sentence with what would give it. Empty when nothing is.
    pub missing: Vec<String>,
}

/// Changes what is wanted of a repository; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepoChange {
    /// The branch that tasks begin at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<Branch>,
    /// Where its pull requests are: `embedded`, `github`, `gitea`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forge: Option<String>,
    /// What is run on the merged result before the base moves; empty for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_command: Option<String>,
    /// How a branch is put onto its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeStyle>,
    /// The name of a task's branch, with `{id}` in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_format: Option<BranchFormat>,
    /// Branches stay after they were merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_branches: Option<bool>,
    /// Only paths that fit may be changed by pushes, such as `src/**`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_paths: Option<Vec<String>>,
    /// Paths that fit may not be changed by pushes, such as `.github/**`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny_paths: Option<Vec<String>>,
    /// Secrets in pushes are let by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_secrets: Option<bool>,
    /// The largest file that a push may bring, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 4096)]
    pub largest_file_mb: Option<Whole<1, 4096>>,
    /// What is wanted of its pull requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulls: Option<PullRulesChange>,
    /// What may be run at its desks when somebody asks for it from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<CommandRulesChange>,
    /// Whom its desks may talk to when a card or a session does not say. Headers name their secrets; no proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NewNetwork>,
}

impl NewRepo {
    /// What is wanted of it, as a change of nothing.
    pub fn change(&self) -> RepoChange {
        RepoChange {
            default_branch: self.default_branch.clone(),
            forge: self.forge.clone(),
            check_command: self.check_command.clone(),
            merge: self.merge,
            branch_format: self.branch_format.clone(),
            keep_branches: self.keep_branches,
            allow_paths: self.allow_paths.clone(),
            deny_paths: self.deny_paths.clone(),
            allow_secrets: self.allow_secrets,
            largest_file_mb: self.largest_file_mb,
            pulls: self.pulls.clone(),
            commands: self.commands.clone(),
            network: self.network.clone(),
        }
    }
}

impl RepoChange {
    /// The rules after this change.
    pub fn apply(self, rules: &RepoRules) -> RepoRules {
        let text = |new: Option<String>, old: &Option<String>| match new {
            Some(text) => Some(text).filter(|text| !text.is_empty()),
            None => old.clone(),
        };
        RepoRules {
            pinned_branch: self.default_branch.or_else(|| rules.pinned_branch.clone()),
            forge: text(self.forge, &rules.forge),
            check_command: text(self.check_command, &rules.check_command),
            merge: self.merge.unwrap_or(rules.merge),
            branch_format: self.branch_format.or_else(|| rules.branch_format.clone()),
            keep_branches: self.keep_branches.unwrap_or(rules.keep_branches),
            allow_paths: self.allow_paths.unwrap_or_else(|| rules.allow_paths.clone()),
            deny_paths: self.deny_paths.unwrap_or_else(|| rules.deny_paths.clone()),
            allow_secrets: self.allow_secrets.unwrap_or(rules.allow_secrets),
            largest_file_mb: self.largest_file_mb.or(rules.largest_file_mb),
            pulls: self.pulls.unwrap_or_default().apply(&rules.pulls),
            commands: self.commands.unwrap_or_default().apply(&rules.commands),
            network: self.network.and_then(|network| network.rule().ok()).unwrap_or_else(|| rules.network.clone()),
        }
    }
}

/// Changes what is wanted of the pull requests of a repository; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PullRulesChange {
    /// So many people must approve its head before it is merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 20)]
    pub approvals: Option<Whole<0, 20>>,
    /// Labels that every pull of a task gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Whose review is asked for, by login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<String>>,
    /// A pull of a task is opened as a draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// A pull of a task is merged by itself once nothing stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
}

impl PullRulesChange {
    /// The rules after this change.
    pub fn apply(self, rules: &PullRules) -> PullRules {
        PullRules {
            approvals: self.approvals.or(rules.approvals).filter(|approvals| approvals.get() > 0),
            labels: self.labels.unwrap_or_else(|| rules.labels.clone()),
            reviewers: self.reviewers.unwrap_or_else(|| rules.reviewers.clone()),
            draft: self.draft.unwrap_or(rules.draft),
            auto_merge: self.auto_merge.unwrap_or(rules.auto_merge),
        }
    }
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RepoView {
    /// Its name.
    pub name: RepoName,
    /// Where it comes from; nothing for one that lives here.
    pub source: Option<RepoSource>,
    /// How far its mirror is.
    pub phase: RepoPhase,
    /// The branch that tasks begin at.
    pub default_branch: Option<Branch>,
    /// Where that branch is.
    pub head: Option<CommitId>,
    /// What is wanted of it.
    #[serde(flatten)]
    pub rules: RepoRules,
    /// Why it is where it is, when that needs a sentence.
    pub note: Option<String>,
    /// When it was last brought up to date.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub synced_at: Option<Timestamp>,
    /// Who added it.
    pub created_by: KeyId,
    /// When it was added.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// It was removed: this entry is the last of it.
    #[serde(default, skip_serializing_if = "super::view::is_false")]
    pub removed: bool,
    /// Counts its changes.
    pub revision: i64,
}

impl From<&Repo> for RepoView {
    fn from(repo: &Repo) -> Self {
        RepoView {
            name: repo.name.clone(),
            source: repo.source.clone(),
            phase: repo.phase,
            default_branch: repo.default_branch.clone(),
            head: repo.head.clone(),
            rules: repo.rules.clone(),
            note: repo.note.clone(),
            synced_at: repo.synced_at,
            created_by: repo.created_by.clone(),
            created_at: repo.created_at,
            updated_at: repo.updated_at,
            removed: false,
            revision: repo.revision,
        }
    }
}

/// Refs that arrived through the gateway, with the verdict on them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PushView {
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
    /// Whether it was accepted.
    pub accepted: bool,
    /// Why it was refused, in the words that the client read.
    pub refusal: Option<String>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl From<&Push> for PushView {
    fn from(push: &Push) -> Self {
        PushView {
            id: push.id.clone(),
            repo: push.repo.clone(),
            task_id: push.task_id,
            sandbox_id: push.sandbox_id.clone(),
            key: push.key.clone(),
            refs: push.refs.clone(),
            accepted: push.refusal.is_none(),
            refusal: push.refusal.clone(),
            at: push.at,
        }
    }
}
