//! Tools about the task of a desk, and where it stands with others. At a desk of one's own its pull request is known, so
//! nobody names one, and no other can be named.

use axum::http::Method;
use serde_json::json;

use super::{Audience, Does, Gives, Nature, Row};

const fn asks(path: &'static str) -> Does {
    Does::Asks { method: Method::GET, path, query: &[], always: "" }
}

macro_rules! own {
    ($name:literal, $title:literal, $about:literal, $audience:ident, $gives:ident, $path:literal) => {
        Row {
            name: $name,
            title: $title,
            about: $about,
            nature: Nature::Reads,
            audience: Audience::$audience,
            takes: || json!({"task_id": {"type": "integer", "minimum": 1, "description": "The number of the task."}}),
            needs: &["task_id"],
            gives: Gives::$gives,
            does: asks($path),
        }
    };
}

pub(super) static ROWS: [Row; 4] = [
    own!(
        "pull_show",
        "Show your pull request",
        "Shows the pull request of this task: whether it can be merged, its checks and its reviews in short. You do not \
         open it: the house does when your turn ends and nothing is missing (task_done).",
        OwnTask,
        Thing,
        "/tasks/{task_id}/pull"
    ),
    own!(
        "pull_comments",
        "Read the comments of your pull request",
        "Lists what people said at the pull request of this task, the oldest first.",
        OwnTask,
        List,
        "/tasks/{task_id}/pull/comments"
    ),
    own!(
        "pull_checks",
        "The checks of your pull request",
        "Lists the checks of the pull request of this task and how they went.",
        OwnTask,
        List,
        "/tasks/{task_id}/pull/checks"
    ),
    own!(
        "task_overlap",
        "Who else is at the same place",
        "Shows with which tasks, or with the base, this one will conflict and in which files, and what others have \
         claimed. Look before you begin, and before you end your turn.",
        Everybody,
        Thing,
        "/tasks/{task_id}/overlap"
    ),
];
