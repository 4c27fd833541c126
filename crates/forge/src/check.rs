//! Checks: what programs found out about a commit.

use carrel_model::Timestamp;
use serde::{Deserialize, Serialize};

/// What one program found out about a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What it calls itself.
    pub name: String,
    /// What it comes to.
    pub state: CheckState,
    /// A sentence about it.
    pub summary: Option<String>,
    /// Where its log can be read.
    pub url: Option<String>,
    /// When it last changed.
    pub at: Option<Timestamp>,
}

/// What a check comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It has nothing to say about this commit.
    Skipped,
    /// It is content.
    Passed,
    /// It is not done yet.
    Pending,
    /// It is not content, or broke off.
    Failed,
}

/// All checks of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    /// The newest word of each program, by name.
    pub all: Vec<Check>,
}

impl Checks {
    /// What they come to together: the worst of them. `None` while nothing has checked it at all.
    pub fn verdict(&self) -> Option<CheckState> {
        self.all.iter().map(|check| check.state).max()
    }

    /// Those that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.all.iter().filter(|check| check.state == CheckState::Failed)
    }
}

impl FromIterator<Check> for Checks {
    /// Keeps the newest word of each program.
    fn from_iter<I: IntoIterator<Item = Check>>(checks: I) -> Checks {
        let mut all: Vec<Check> = Vec::new();
        for check in checks {
            match all.iter_mut().find(|known| known.name == check.name) {
                Some(known) if known.at <= check.at => *known = check,
                Some(_) => {}
                None => all.push(check),
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Checks { all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_check_decides_and_a_newer_word_replaces_an_older_one() {
        let check = |name: &str, state, second| Check {
            name: name.into(),
            state,
            summary: None,
            url: None,
            at: Timestamp::from_second(second).ok(),
        };
        let checks: Checks = [
            check("test", CheckState::Failed, 1),
            check("lint", CheckState::Skipped, 1),
            check("test", CheckState::Passed, 2),
            check("test", CheckState::Pending, 0),
        ]
        .into_iter()
        .collect();
        assert_eq!(checks.all.len(), 2);
        assert_eq!(checks.verdict(), Some(CheckState::Passed));
        assert_eq!(Checks::default().verdict(), None);
    }
}
