//! The ladder of a conflict, as far as a task is on it: what was settled is said, and what its agent settled is learnt.

use std::sync::Arc;

use carrel_git::merge::{Rung, RungRecord};
use carrel_model::{CommitId, task::Task};

use crate::{Error, house::House};

/// Under this name a task remembers which two commits its agent was asked to bring together.
pub(super) const ASKED: &str = "conflicted";

/// The two commits that conflict: the base as it now is, and the head of the task.
pub(super) async fn pair(house: &Arc<House>, task: &Task) -> Result<Option<String>, Error> {
    let mirror = house.library.mirror(&task.repo).await?;
    let (base, head) = (mirror.find(&task.base.full()).await?, mirror.find(&task.branch.full()).await?);
    Ok(base.zip(head).map(|(base, head)| format!("{base} {head}")))
}

/// Learns how the agent settled what it was asked to settle, so that nobody is asked the same again. Says whether that
/// question is answered.
pub(super) async fn learn(house: &Arc<House>, task: &Task, head: &CommitId) -> Result<bool, Error> {
    let Some((base, before)) = task.told.get(ASKED).and_then(|pair| pair.split_once(' ')) else { return Ok(false) };
    let (Ok(base), Ok(before)) = (base.parse::<CommitId>(), before.parse::<CommitId>()) else { return Ok(true) };
    let mirror = house.library.mirror(&task.repo).await?;
    if !mirror.is_ancestor(&base, head).await? {
        return Ok(false);
    }
    match mirror.learn(&base, &before, head).await {
        Ok(files) => tracing::debug!(task = %task.id, files, "learnt how a conflict was settled"),
        // It is a convenience: without it somebody is asked again.
        Err(error) => tracing::debug!(task = %task.id, error = &error as &dyn std::error::Error, "nothing was learnt"),
    }
    Ok(true)
}

/// What each rung settled, as a sentence; nothing when there was nothing to settle.
pub(super) fn in_words(records: &[RungRecord]) -> Option<String> {
    let way = |rung: Rung| match rung {
        Rung::Clean => "by git itself",
        Rung::Rerere => "as it was settled before",
        Rung::Mergiraf => "by syntax",
        Rung::LockFile => "made anew by its program",
        Rung::Agent => "by the agent",
        Rung::Person => "by a person",
    };
    let settled = records.iter().filter(|record| !record.settled.is_empty());
    let parts: Vec<String> =
        settled.map(|record| format!("{} ({})", record.settled.join(", "), way(record.rung))).collect();
    (!parts.is_empty()).then(|| format!("Conflicts were settled: {}.", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rung_says_what_it_settled_and_how() {
        let record = |rung, settled: &[&str]| RungRecord {
            rung,
            given: vec![],
            settled: settled.iter().map(|path| (*path).to_owned()).collect(),
        };
        assert_eq!(in_words(&[record(Rung::Clean, &[])]), None);
        let records = [
            record(Rung::Clean, &[]),
            record(Rung::Rerere, &["a.txt"]),
            record(Rung::Mergiraf, &["b.rs", "c.rs"]),
            record(Rung::LockFile, &["Cargo.lock"]),
        ];
        assert_eq!(
            in_words(&records).unwrap(),
            "Conflicts were settled: a.txt (as it was settled before); b.rs, c.rs (by syntax); Cargo.lock (made anew by \
             its program)."
        );
    }
}
