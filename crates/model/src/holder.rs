//! Whose work lies on a desk: a task's, or a session's. It says under which refs that work is saved and kept.

use std::{fmt, str::FromStr};

use crate::{Malformed, RefName, SessionId, TaskId};

/// Whose work it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A task's.
    Task(TaskId),
    /// A conversation's that is no task's.
    Session(SessionId),
}

impl Holder {
    /// Where its newest save is.
    pub fn saves(&self) -> RefName {
        match self {
            Holder::Task(task) => RefName::wip(*task),
            Holder::Session(session) => {
                let word = word(session);
                format!("refs/carrel/wip/session-{word}").parse().expect("a session's word is plain")
            }
        }
    }

    /// Where what it had done is kept for a while after it was closed.
    pub fn kept(&self) -> RefName {
        format!("refs/carrel/kept/{self}").parse().expect("both names are plain")
    }

    /// Whose work a ref keeps.
    pub fn of_kept(name: &RefName) -> Option<Holder> {
        name.as_str().strip_prefix("refs/carrel/kept/")?.parse().ok()
    }
}

/// The part of a session's id that stands in names of branches and refs.
fn word(session: &SessionId) -> &str {
    session.as_str().trim_start_matches("ses_")
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Task(task) => write!(f, "task-{task}"),
            Holder::Session(session) => write!(f, "session-{}", word(session)),
        }
    }
}

impl FromStr for Holder {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Holder, Malformed> {
        let bad = Malformed { rule: "whose work it is reads `task-42` or `session-` and 16 hexadecimal digits" };
        match text.split_once('-') {
            Some(("task", number)) => number.parse().map(Holder::Task).map_err(|_| bad),
            Some(("session", word)) => format!("ses_{word}").parse().map(Holder::Session).map_err(|_| bad),
            _ => Err(bad),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_known_by_the_ref_that_keeps_its_work() {
        let session: SessionId = "ses_0123456789abcdef".parse().unwrap();
        let (task, session) = (Holder::Task(TaskId::try_from(7).unwrap()), Holder::Session(session));
        assert_eq!(task.saves().as_str(), "refs/carrel/wip/7");
        assert_eq!(session.saves().as_str(), "refs/carrel/wip/session-0123456789abcdef");
        for holder in [task, session] {
            assert_eq!(Holder::of_kept(&holder.kept()), Some(holder));
        }
        for other in
            ["refs/carrel/kept/x", "refs/carrel/kept/task-x", "refs/heads/task-7", "refs/carrel/kept/session-1"]
        {
            assert_eq!(Holder::of_kept(&other.parse().unwrap()), None, "{other}");
        }
    }
}
