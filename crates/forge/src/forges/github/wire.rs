//! GitHub's language: as much of each answer as we understand, and what it means in ours.

use carrel_model::Timestamp;
use serde::Deserialize;

use crate::{
    BranchName, Check, CheckState, Comment, CommitId, ForgeError, MergeWay, Mergeable, Place, Pull, PullNumber,
    PullState, Review, Side, Verdict, talk,
};

#[derive(Debug, Deserialize)]
pub(crate) struct RepositoryWire {
    pub(crate) default_branch: BranchName,
    #[serde(default)]
    pub(crate) archived: bool,
    pub(crate) permissions: Option<PermissionsWire>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PermissionsWire {
    pub(crate) push: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct UserWire {
    pub(crate) login: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NamedWire {
    pub(crate) name: String,
}

/// A pull as lists tell of it, and, with more fields, by itself.
#[derive(Debug, Deserialize)]
pub(crate) struct PullWire {
    pub(crate) node_id: String,
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    user: Option<UserWire>,
    head: RefWire,
    base: RefWire,
    state: String,
    #[serde(default)]
    draft: Option<bool>,
    mergeable: Option<bool>,
    merged_at: Option<Timestamp>,
    merge_commit_sha: Option<CommitId>,
    #[serde(default)]
    labels: Vec<NamedWire>,
    #[serde(default)]
    requested_reviewers: Option<Vec<UserWire>>,
    auto_merge: Option<AutoMergeWire>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Deserialize)]
struct RefWire {
    #[serde(rename = "ref")]
    name: BranchName,
    sha: CommitId,
}

#[derive(Debug, Deserialize)]
struct AutoMergeWire {
    merge_method: String,
}

impl PullWire {
    pub(crate) fn is_merged(&self) -> bool {
        self.merged_at.is_some()
    }

    pub(crate) fn is_draft(&self) -> bool {
        self.draft.unwrap_or_default()
    }

    pub(crate) fn updated_at(&self) -> Timestamp {
        self.updated_at
    }
}

impl From<PullWire> for Pull {
    fn from(wire: PullWire) -> Pull {
        let state = match wire.state.as_str() {
            _ if wire.merged_at.is_some() => PullState::Merged { commit: wire.merge_commit_sha.clone() },
            "open" => PullState::Open,
            _ => PullState::Closed,
        };
        Pull {
            number: PullNumber(wire.number),
            url: wire.html_url,
            title: wire.title,
            body: wire.body.unwrap_or_default(),
            author: login(wire.user),
            head: wire.head.name,
            head_commit: wire.head.sha,
            base: wire.base.name,
            draft: wire.draft.unwrap_or_default(),
            mergeable: match wire.mergeable {
                Some(true) if state == PullState::Open => Mergeable::Clean,
                Some(false) if state == PullState::Open => Mergeable::Conflicted,
                _ => Mergeable::Unknown,
            },
            state,
            labels: wire.labels.into_iter().map(|label| label.name).collect(),
            reviewers: wire.requested_reviewers.into_iter().flatten().map(|user| user.login).collect(),
            auto_merge: wire.auto_merge.and_then(|wish| MergeWay::from_word(&wish.merge_method)),
            created_at: wire.created_at,
            updated_at: wire.updated_at,
        }
    }
}

/// A comment on the pull as a whole.
#[derive(Debug, Deserialize)]
pub(crate) struct CommentWire {
    id: u64,
    user: Option<UserWire>,
    body: Option<String>,
    html_url: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<CommentWire> for Comment {
    fn from(wire: CommentWire) -> Comment {
        let (body, stamp) = talk::read(&wire.body.unwrap_or_default());
        Comment {
            id: format!("issue-{}", wire.id),
            author: login(wire.user),
            body,
            place: None,
            commit: None,
            stamp,
            url: wire.html_url,
            created_at: wire.created_at,
            updated_at: wire.updated_at,
        }
    }
}

/// A comment on a line.
#[derive(Debug, Deserialize)]
pub(crate) struct LineCommentWire {
    path: String,
    line: Option<u32>,
    side: Option<String>,
    /// Moves along with the branch for as long as the line is in the diff.
    commit_id: Option<String>,
    #[serde(flatten)]
    comment: CommentWire,
}

impl From<LineCommentWire> for Comment {
    fn from(wire: LineCommentWire) -> Comment {
        let side = if wire.side.as_deref() == Some("LEFT") { Side::Old } else { Side::New };
        let id = format!("line-{}", wire.comment.id);
        let place = Some(Place { path: wire.path, line: wire.line, side });
        let commit = wire.commit_id.and_then(|commit| commit.parse().ok());
        Comment { id, place, commit, ..wire.comment.into() }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReviewWire {
    id: u64,
    user: Option<UserWire>,
    body: Option<String>,
    state: String,
    commit_id: Option<CommitId>,
    submitted_at: Option<Timestamp>,
}

impl ReviewWire {
    /// A review that was given and says something. A comment on a line comes with an empty review around it.
    pub(crate) fn understood(self) -> Option<Review> {
        // Answers shout, webhooks do not.
        let verdict = match self.state.to_lowercase().as_str() {
            "approved" => Verdict::Approved,
            "changes_requested" => Verdict::ChangesRequested,
            "commented" => Verdict::Commented,
            "dismissed" => Verdict::Dismissed,
            _ => return None,
        };
        let body = self.body.unwrap_or_default();
        if verdict == Verdict::Commented && body.is_empty() {
            return None;
        }
        Some(Review {
            id: self.id.to_string(),
            author: login(self.user),
            verdict,
            body,
            commit: self.commit_id,
            at: self.submitted_at?,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct CheckRunsWire {
    pub(crate) check_runs: Vec<CheckRunWire>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CheckRunWire {
    pub(crate) head_sha: CommitId,
    name: String,
    status: String,
    conclusion: Option<String>,
    details_url: Option<String>,
    output: Option<OutputWire>,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
struct OutputWire {
    title: Option<String>,
    summary: Option<String>,
}

impl From<CheckRunWire> for Check {
    fn from(wire: CheckRunWire) -> Check {
        let state = match (wire.status.as_str(), wire.conclusion.as_deref()) {
            ("completed", Some("success")) => CheckState::Passed,
            ("completed", Some("neutral" | "skipped")) => CheckState::Skipped,
            // It will never end by itself, but it says nothing against the commit.
            ("completed", Some("stale") | None) => CheckState::Pending,
            ("completed", Some(_)) => CheckState::Failed,
            _ => CheckState::Pending,
        };
        let summary = wire.output.and_then(|output| output.title.or(output.summary)).filter(|text| !text.is_empty());
        Check { name: wire.name, state, summary, url: wire.details_url, at: wire.completed_at.or(wire.started_at) }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct StatusesWire {
    pub(crate) statuses: Vec<StatusWire>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StatusWire {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
    updated_at: Option<Timestamp>,
}

impl From<StatusWire> for Check {
    fn from(wire: StatusWire) -> Check {
        let state = match wire.state.as_str() {
            "success" => CheckState::Passed,
            "pending" => CheckState::Pending,
            _ => CheckState::Failed,
        };
        Check {
            name: wire.context,
            state,
            summary: wire.description.filter(|text| !text.is_empty()),
            url: wire.target_url.filter(|url| !url.is_empty()),
            at: wire.updated_at,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct MergedWire {
    pub(crate) sha: Option<CommitId>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct InstallationWire {
    pub(crate) id: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AppWire {
    pub(crate) slug: Option<String>,
    pub(crate) name: String,
}

/// The word for a check's state, as statuses have it.
pub(crate) fn status_word(state: CheckState) -> &'static str {
    match state {
        CheckState::Passed | CheckState::Skipped => "success",
        CheckState::Pending => "pending",
        CheckState::Failed => "failure",
    }
}

/// Whom a comment or pull is by; GitHub forgets people who leave.
fn login(user: Option<UserWire>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |user| user.login)
}

/// An `Invalid` that turns out to be about a state becomes what the caller can act on.
pub(crate) fn as_conflict(error: ForgeError) -> ForgeError {
    match error {
        ForgeError::Invalid { why } => ForgeError::Conflict { why },
        other => other,
    }
}
