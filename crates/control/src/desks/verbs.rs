//! What one word does to a task.

use carrel_model::task::{Task, TaskPhase, TaskWant};

use crate::Error;

/// What is asked of a task by one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Let somebody work on it.
    Start,
    /// Stop; what was done stays.
    Stop,
    /// Try again what did not work.
    Retry,
    /// Put its branch onto the newest base.
    Rebase,
    /// Put it into the base.
    Merge,
    /// It will not be merged.
    Close,
}

/// What a word does to a task.
pub(super) fn apply(task: &mut Task, verb: Verb, now: carrel_model::Timestamp) -> Result<(), Error> {
    let wrong = |why: &str| Error::Conflict { why: format!("task {} is {}: {why}", task.id, task.phase.word()) };
    if task.phase.is_over() && !(verb == Verb::Close && task.phase == TaskPhase::Closed) {
        return Err(wrong("it is over; write a new card"));
    }
    if task.want == TaskWant::Closed && verb != Verb::Close {
        return Err(wrong("it is being closed"));
    }
    match verb {
        Verb::Start => match task.phase {
            TaskPhase::Backlog | TaskPhase::NeedsYou | TaskPhase::Failed => take_up(task, now),
            _ if task.want == TaskWant::Rest => task.want = TaskWant::Review,
            // Started already: asking again changes nothing.
            _ => {}
        },
        Verb::Retry => match task.phase {
            TaskPhase::NeedsYou | TaskPhase::Failed | TaskPhase::Backlog => take_up(task, now),
            TaskPhase::InReview => return Err(wrong("nothing failed; say something to its agent")),
            // It works: what waits for its next try is tried now.
            _ => (task.failures, task.next_attempt_at) = (0, None),
        },
        Verb::Stop => match task.phase {
            TaskPhase::Backlog => {}
            TaskPhase::Queued => {
                task.want = TaskWant::Rest;
                task.go_to(TaskPhase::Backlog);
            }
            TaskPhase::Publishing => return Err(wrong("its work is being published; that takes a moment")),
            phase if phase.is_busy() => {
                task.want = TaskWant::Rest;
                (task.attempts, task.next_attempt_at) = (0, None);
            }
            _ => return Err(wrong("nobody works on it")),
        },
        Verb::Rebase => match task.phase {
            TaskPhase::InReview | TaskPhase::NeedsYou if task.pull.is_some() => {
                task.told.remove("rebase");
                task.told.insert("rebase_wanted".into(), "yes".into());
                task.want = TaskWant::Review;
                task.go_to(TaskPhase::Publishing);
            }
            _ => return Err(wrong("there is nothing to rebase at the moment")),
        },
        Verb::Merge => match task.phase {
            TaskPhase::InReview => {
                task.want = TaskWant::Merged;
                (task.attempts, task.next_attempt_at) = (0, None);
            }
            TaskPhase::NeedsYou if task.pull.is_some() => {
                task.want = TaskWant::Merged;
                task.go_to(TaskPhase::InReview);
            }
            _ => return Err(wrong("only what is in review can be merged")),
        },
        Verb::Close => {
            task.want = TaskWant::Closed;
            // It does not wait for the next try of what went wrong before.
            (task.attempts, task.next_attempt_at) = (0, None);
            if !task.phase.is_over() {
                task.doing = Some("it is being closed".into());
            }
        }
    }
    Ok(())
}

/// Somebody shall work on it: it waits for room.
pub(crate) fn take_up(task: &mut Task, now: carrel_model::Timestamp) {
    task.want = TaskWant::Review;
    task.go_to(TaskPhase::Queued);
    (task.nudges, task.failures, task.ended_at) = (0, 0, None);
    task.started_at.get_or_insert(now);
}
