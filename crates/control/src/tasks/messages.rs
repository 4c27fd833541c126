//! Messages of commits that an agent wrote itself: reported where they are not conventional, never rewritten.

use std::sync::Arc;

use carrel_git::message::check;
use carrel_model::{CommitId, task::Task};

use crate::{Error, house::House};

/// Under this name a task remembers what was reported of it.
pub(super) const TOLD: &str = "messages";
/// So many commits of a branch are looked at.
const MOST: u32 = 50;

/// A commit whose message is not a conventional one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Odd {
    commit: CommitId,
    subject: String,
    why: String,
}

impl Odd {
    fn line(&self) -> String {
        format!("`{}` \u{201c}{}\u{201d}: {}", self.commit.short(), self.subject, self.why)
    }
}

/// The commits of a task's branch whose messages are not conventional.
pub(super) async fn odd(house: &Arc<House>, task: &Task) -> Result<Vec<Odd>, Error> {
    let mirror = house.library.mirror(&task.repo).await?;
    let messages = mirror.messages(&task.base, &task.branch, MOST).await?;
    let judge = |(commit, message): (CommitId, String)| {
        let why = check(&message).err()?.to_string();
        let subject = message.lines().next().unwrap_or_default();
        // A subject is the agent's word: it must neither end the quote nor fill the page.
        let subject = subject.chars().filter(|c| !c.is_control() && *c != '`').take(100).collect();
        Some(Odd { commit, subject, why })
    };
    Ok(messages.into_iter().filter_map(judge).collect())
}

/// What is to be said of them on the timeline, each commit once, and what the task then remembers.
pub(super) fn report(task: &Task, odd: &[Odd]) -> (Option<String>, Option<String>) {
    let told = task.told.get(TOLD).map(String::as_str).unwrap_or_default();
    let fresh: Vec<&Odd> = odd.iter().filter(|odd| !told.contains(odd.commit.short())).collect();
    if fresh.is_empty() {
        return (None, None);
    }
    let now: Vec<&str> = odd.iter().map(|odd| odd.commit.short()).collect();
    let lines: String = fresh.iter().map(|odd| format!("\n- {}", odd.line())).collect();
    (Some(now.join(" ")), Some(format!("Messages that are not conventional commits; they stay as they are:{lines}")))
}

/// The part of a pull request's text that tells of them; nothing when there are none.
pub(super) fn section(odd: &[Odd]) -> String {
    if odd.is_empty() {
        return String::new();
    }
    let lines: String = odd.iter().map(|odd| format!("- {}\n", odd.line())).collect();
    format!("## Messages that are not conventional commits\n\n{lines}\n")
}
