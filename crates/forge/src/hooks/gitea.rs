//! Gitea's and Forgejo's letters.

use serde::Deserialize;

use super::{HookError, PushWire, parse};
use crate::{
    CommitId, Notice, Pull, PullMove, PullNumber, PullState,
    forges::gitea::{CommentWire, PullWire, StatusWire},
};

#[derive(Deserialize)]
struct PullLetter {
    action: String,
    pull_request: PullWire,
}

#[derive(Deserialize)]
struct CommentLetter {
    action: String,
    issue: IssueWire,
    comment: CommentWire,
    #[serde(default)]
    is_pull: bool,
}

#[derive(Deserialize)]
struct IssueWire {
    number: u64,
}

#[derive(Deserialize)]
struct StatusLetter {
    sha: CommitId,
    #[serde(flatten)]
    status: StatusWire,
}

/// What a letter tells, if it is something that concerns us.
pub(super) fn understand(event: &str, body: &[u8]) -> Result<Option<Notice>, HookError> {
    Ok(match event {
        // A letter about a review does not name the review; it only says that one came.
        "pull_request_approved" | "pull_request_rejected" | "pull_request_comment" => {
            let PullLetter { pull_request, .. } = parse(body)?;
            Some(Notice::Pull { pull: Box::new(pull_request.into()), moved: PullMove::Reviewed })
        }
        event if event == "pull_request" || event.starts_with("pull_request_") => {
            let PullLetter { action, pull_request } = parse(body)?;
            let pull = Pull::from(pull_request);
            let moved = match (action.as_str(), &pull.state) {
                ("opened", _) => PullMove::Opened,
                ("reopened", _) => PullMove::Reopened,
                ("synchronized", _) => PullMove::Pushed,
                ("reviewed", _) => PullMove::Reviewed,
                ("closed", PullState::Merged { .. }) => PullMove::Merged,
                ("closed", _) => PullMove::Closed,
                _ => PullMove::Changed,
            };
            Some(Notice::Pull { pull: Box::new(pull), moved })
        }
        "issue_comment" => {
            let CommentLetter { action, issue, comment, is_pull } = parse(body)?;
            let said = is_pull && action != "deleted";
            said.then(|| Notice::Comment { number: PullNumber(issue.number), comment: comment.into() })
        }
        "status" => {
            let StatusLetter { sha, status } = parse(body)?;
            Some(Notice::Check { commit: sha, check: status.into() })
        }
        "push" => parse::<PushWire>(body)?.notice(),
        _ => None,
    })
}
