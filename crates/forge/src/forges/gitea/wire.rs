//! Gitea's language: as much of each answer as we understand, and what it means in ours.

use carrel_model::Timestamp;
use serde::Deserialize;

use crate::{
    BranchName, Check, CheckState, Comment, CommitId, Mergeable, Place, Pull, PullNumber, PullState, Review, Side,
    Verdict, talk,
};

#[derive(Debug, Deserialize)]
pub(crate) struct RepositoryWire {
    pub(crate) default_branch: BranchName,
    #[serde(default)]
    pub(crate) archived: bool,
    #[serde(default = "yes")]
    pub(crate) has_pull_requests: bool,
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
pub(crate) struct LabelWire {
    pub(crate) id: u64,
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PullWire {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    user: Option<UserWire>,
    head: BranchWire,
    base: BranchWire,
    state: String,
    /// Not told by older ones; the title always does.
    draft: Option<bool>,
    #[serde(default)]
    mergeable: bool,
    #[serde(default)]
    merged: bool,
    merge_commit_sha: Option<String>,
    labels: Option<Vec<LabelWire>>,
    requested_reviewers: Option<Vec<UserWire>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Deserialize)]
struct BranchWire {
    /// The branch, also when it is gone; `ref` is then that of the pull.
    label: BranchName,
    sha: CommitId,
}

impl PullWire {
    pub(crate) fn updated_at(&self) -> Timestamp {
        self.updated_at
    }
}

impl From<PullWire> for Pull {
    fn from(wire: PullWire) -> Pull {
        let (title, marked) = unmarked(&wire.title);
        let draft = wire.draft.unwrap_or(marked);
        let state = match wire.state.as_str() {
            _ if wire.merged => {
                PullState::Merged { commit: wire.merge_commit_sha.and_then(|commit| commit.parse().ok()) }
            }
            "open" => PullState::Open,
            _ => PullState::Closed,
        };
        // It says false of a draft, and of a pull that is merged, whatever their files are like.
        let mergeable = match wire.mergeable {
            true => Mergeable::Clean,
            false if draft || state != PullState::Open => Mergeable::Unknown,
            false => Mergeable::Conflicted,
        };
        Pull {
            number: PullNumber(wire.number),
            url: wire.html_url,
            title: title.to_owned(),
            body: wire.body.unwrap_or_default(),
            author: login(wire.user),
            head: wire.head.label,
            head_commit: wire.head.sha,
            base: wire.base.label,
            state,
            draft,
            mergeable,
            labels: wire.labels.into_iter().flatten().map(|label| label.name).collect(),
            reviewers: wire.requested_reviewers.into_iter().flatten().map(|user| user.login).collect(),
            auto_merge: None,
            created_at: wire.created_at,
            updated_at: wire.updated_at,
        }
    }
}

/// A title without the mark of a draft, and whether it had one.
pub(crate) fn unmarked(title: &str) -> (&str, bool) {
    for mark in ["WIP:", "[WIP]"] {
        if title.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark)) {
            return (title[mark.len()..].trim_start(), true);
        }
    }
    (title, false)
}

/// A title with the mark of a draft, or without.
pub(crate) fn marked(title: &str, draft: bool) -> String {
    let (plain, _) = unmarked(title);
    if draft { format!("WIP: {plain}") } else { plain.to_owned() }
}

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

/// A comment on a line, which belongs to a review.
#[derive(Debug, Deserialize)]
pub(crate) struct LineCommentWire {
    path: String,
    /// The line as it is to be, or zero.
    #[serde(default)]
    position: u32,
    /// The line as it was, or zero.
    #[serde(default)]
    original_position: u32,
    commit_id: Option<String>,
    #[serde(flatten)]
    comment: CommentWire,
}

impl From<LineCommentWire> for Comment {
    fn from(wire: LineCommentWire) -> Comment {
        let (line, side) = match (wire.position, wire.original_position) {
            (0, 0) => (None, Side::New),
            (0, old) => (Some(old), Side::Old),
            (new, _) => (Some(new), Side::New),
        };
        let id = format!("line-{}", wire.comment.id);
        let (place, commit) = (Some(Place { path: wire.path, line, side }), wire.commit_id);
        Comment { id, place, commit: commit.and_then(|commit| commit.parse().ok()), ..wire.comment.into() }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReviewWire {
    pub(crate) id: u64,
    user: Option<UserWire>,
    body: Option<String>,
    state: String,
    #[serde(default)]
    dismissed: bool,
    commit_id: Option<String>,
    #[serde(default)]
    pub(crate) comments_count: u64,
    submitted_at: Timestamp,
}

impl ReviewWire {
    /// A review that was given and says something. A request for one is told in the same list.
    pub(crate) fn understood(self) -> Option<Review> {
        let body = self.body.unwrap_or_default();
        let verdict = match self.state.as_str() {
            "APPROVED" | "REQUEST_CHANGES" if self.dismissed => Verdict::Dismissed,
            "APPROVED" => Verdict::Approved,
            "REQUEST_CHANGES" => Verdict::ChangesRequested,
            "COMMENT" if !body.is_empty() => Verdict::Commented,
            _ => return None,
        };
        let commit = self.commit_id.and_then(|commit| commit.parse().ok());
        Some(Review { id: self.id.to_string(), author: login(self.user), verdict, body, commit, at: self.submitted_at })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct StatusWire {
    context: String,
    /// `status` in answers, `state` in letters.
    #[serde(alias = "state")]
    status: String,
    description: Option<String>,
    target_url: Option<String>,
    updated_at: Option<Timestamp>,
}

impl From<StatusWire> for Check {
    fn from(wire: StatusWire) -> Check {
        let state = match wire.status.as_str() {
            // A warning does not stand in the way.
            "success" | "warning" => CheckState::Passed,
            "skipped" => CheckState::Skipped,
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

fn login(user: Option<UserWire>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |user| user.login)
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_a_draft_is_set_and_taken_off_once() {
        assert_eq!(unmarked("WIP: feat: x"), ("feat: x", true));
        assert_eq!(unmarked("[wip] x"), ("x", true));
        assert_eq!(unmarked("wipe the table"), ("wipe the table", false));
        assert_eq!(marked("wip: x", true), "WIP: x");
        assert_eq!(marked("WIP: x", false), "x");
        assert_eq!(unmarked("äöü"), ("äöü", false));
    }
}
