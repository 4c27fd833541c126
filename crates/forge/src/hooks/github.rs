//! GitHub's letters.

use serde::Deserialize;

use super::{HookError, PushWire, parse};
use crate::{
    Check, Comment, CommitId, Notice, Pull, PullMove, PullNumber, PullState,
    forges::github::{CheckRunWire, CommentWire, LineCommentWire, PullWire, ReviewWire, StatusWire},
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
}

#[derive(Deserialize)]
struct IssueWire {
    number: u64,
    /// Only there when the issue is a pull.
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct LineCommentLetter {
    action: String,
    pull_request: NumberWire,
    comment: LineCommentWire,
}

#[derive(Deserialize)]
struct ReviewLetter {
    pull_request: NumberWire,
    review: ReviewWire,
}

#[derive(Deserialize)]
struct NumberWire {
    number: u64,
}

#[derive(Deserialize)]
struct CheckRunLetter {
    check_run: CheckRunWire,
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
        "pull_request" => {
            let PullLetter { action, pull_request } = parse(body)?;
            let pull = Pull::from(pull_request);
            let moved = match (action.as_str(), &pull.state) {
                ("opened", _) => PullMove::Opened,
                ("reopened", _) => PullMove::Reopened,
                ("synchronize", _) => PullMove::Pushed,
                ("closed", PullState::Merged { .. }) => PullMove::Merged,
                ("closed", _) => PullMove::Closed,
                _ => PullMove::Changed,
            };
            Some(Notice::Pull { pull: Box::new(pull), moved })
        }
        "issue_comment" => {
            let CommentLetter { action, issue, comment } = parse(body)?;
            let said = action != "deleted" && issue.pull_request.is_some();
            said.then(|| Notice::Comment { number: PullNumber(issue.number), comment: comment.into() })
        }
        "pull_request_review_comment" => {
            let LineCommentLetter { action, pull_request, comment } = parse(body)?;
            let number = PullNumber(pull_request.number);
            (action != "deleted").then(|| Notice::Comment { number, comment: Comment::from(comment) })
        }
        "pull_request_review" => {
            let ReviewLetter { pull_request, review } = parse(body)?;
            let number = PullNumber(pull_request.number);
            review.understood().map(|review| Notice::Review { number, review })
        }
        "check_run" => {
            let CheckRunLetter { check_run } = parse(body)?;
            Some(Notice::Check { commit: check_run.head_sha.clone(), check: Check::from(check_run) })
        }
        "status" => {
            let StatusLetter { sha, status } = parse(body)?;
            Some(Notice::Check { commit: sha, check: status.into() })
        }
        "push" => parse::<PushWire>(body)?.notice(),
        _ => None,
    })
}
