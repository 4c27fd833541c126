//! Work that is not where it belongs when an agent says that it has finished: another branch is checked out, or the branch
//! went back. Publishing it would take away what was published before.

use carrel_model::task::Task;

use crate::work::Work;

/// What is wrong with what is checked out, when that is not the task's to publish: its own commits are elsewhere, or all
/// that is there is somebody else's.
pub(super) fn elsewhere(task: &Task, found: &Work) -> Option<String> {
    let (own, base) = (&task.branch, &task.base);
    let there = found.branch.as_ref().map_or("no branch".to_owned(), |branch| format!("`{branch}`"));
    if found.aside > 0 {
        let commits = if found.aside == 1 { "a commit" } else { "commits" };
        return Some(format!(
            "{there} is checked out, and `{own}` has {commits} that this does not have. Go back with `git checkout {own}`, \
             and bring everything there that belongs to the task."
        ));
    }
    if found.new == Some(0) && found.ahead > 0 {
        return Some(format!(
            "{there} is checked out, and everything on it that `{base}` does not have is somebody else's. Go back with \
             `git checkout {own}`, and do the task there."
        ));
    }
    None
}

/// What is missing when nothing is left that the base does not have. Nothing is missing where the base has got it.
pub(super) fn nothing_new(task: &Task, found: &Work) -> Option<String> {
    if found.ahead > 0 {
        return None;
    }
    let (own, base) = (&task.branch, &task.base);
    match (&task.pull, &task.head) {
        (Some(_), Some(head)) if found.head.as_ref() == Some(head) => None,
        (Some(_), None) => None,
        (_, Some(head)) if found.head.as_ref() != Some(head) => Some(format!(
            "`{own}` at the desk has no commit any more that `{base}` does not have; {} was pushed before. \
             `git reset --hard origin/{own}` brings it back.",
            head.short()
        )),
        _ => Some(format!("there is no commit on `{own}` that `{base}` does not have.")),
    }
}
