//! The ladder of a conflict, as far as a task is on it: what was settled is said, and what its agent settled is learnt.

use std::sync::Arc;

use carrel_git::merge::{Rung, RungRecord};
use carrel_model::{Branch, CommitId, task::Task};

use crate::{Error, house::House, work::Work};

/// Under this name a task remembers which two commits its agent was asked to bring together.
pub(super) const ASKED: &str = "conflicted";

/// Under this name a task remembers where the house put its branch, and where it was before: first where it is, then all
/// the heads that its desk may still stand at.
const MOVED: &str = "put_on_base";

/// The branch of a task was put onto its base without its desk.
pub(crate) fn put_on_base(task: &mut Task, before: &CommitId, now: CommitId) {
    let heads = with(task.told.remove(MOVED), before, &now);
    task.told.insert(MOVED.into(), heads);
    task.head = Some(now);
}

fn with(known: Option<String>, before: &CommitId, now: &CommitId) -> String {
    let known = known.filter(|known| known.starts_with(before.as_str()));
    format!("{now} {}", known.unwrap_or_else(|| before.to_string()))
}

/// Whether a desk stands where its branch was before the house moved it, and has nothing that would be lost.
pub(super) fn is_behind(task: &Task, found: &Work) -> bool {
    task.told.get(MOVED).is_some_and(|heads| stands_before(heads, &task.branch, found))
}

fn stands_before(heads: &str, branch: &Branch, found: &Work) -> bool {
    let is_clean = !found.dirty && found.in_progress.is_none() && found.branch.as_ref() == Some(branch);
    let at = found.head.as_ref().map(CommitId::as_str);
    is_clean && heads.split(' ').skip(1).any(|head| Some(head) == at)
}

/// Its desk has seen it.
pub(super) fn has_followed(task: &mut Task) {
    task.told.remove(MOVED);
}

/// The two commits that conflict (the base as it now is, and the head of the task), and below them the paths.
pub(super) async fn question(house: &Arc<House>, task: &Task, paths: &[String]) -> Result<Option<String>, Error> {
    let mirror = house.library.mirror(&task.repo).await?;
    let (base, head) = (mirror.find(&task.base.full()).await?, mirror.find(&task.branch.full()).await?);
    Ok(base.zip(head).map(|(base, head)| format!("{base} {head}\n{}", paths.join("\n"))))
}

/// Learns how somebody settled what its agent was asked to settle, so that nobody is asked the same again. The record of
/// it, when that question is answered.
pub(super) async fn learn(
    house: &Arc<House>,
    task: &Task,
    head: &CommitId,
    rung: Rung,
) -> Result<Option<RungRecord>, Error> {
    let Some(asked) = task.told.get(ASKED) else { return Ok(None) };
    let mut lines = asked.lines();
    let commits = lines.next().and_then(|pair| pair.split_once(' '));
    let paths: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let record = RungRecord { rung, given: paths.clone(), settled: paths };
    let Some((Ok(base), Ok(before))) = commits.map(|(base, head)| (base.parse::<CommitId>(), head.parse::<CommitId>()))
    else {
        return Ok(Some(record));
    };
    let mirror = house.library.mirror(&task.repo).await?;
    if !mirror.is_ancestor(&base, head).await? {
        return Ok(None);
    }
    match mirror.learn(&base, &before, head).await {
        Ok(files) => tracing::debug!(task = %task.id, files, "learnt how a conflict was settled"),
        // It is a convenience: without it somebody is asked again.
        Err(error) => tracing::debug!(task = %task.id, error = &error as &dyn std::error::Error, "nothing was learnt"),
    }
    Ok(Some(record))
}

fn way(rung: Rung) -> &'static str {
    match rung {
        Rung::Clean => "by git itself",
        Rung::Rerere => "as it was settled before",
        Rung::Mergiraf => "by syntax",
        Rung::LockFile => "made anew by its program",
        Rung::Agent => "by the agent",
        Rung::Person => "by a person",
    }
}

/// What was tried on paths that nobody could settle, as a sentence.
pub(super) fn tried_in_words(paths: &[String], records: &[RungRecord]) -> String {
    let mut ways: Vec<Rung> =
        records.iter().filter(|record| !record.given.is_empty()).map(|record| record.rung).collect();
    ways.sort();
    ways.dedup();
    let tried: Vec<&str> = ways.into_iter().map(way).collect();
    let tried = if tried.is_empty() { String::new() } else { format!(" Tried: {}.", tried.join(", ")) };
    let settled = in_words(records).map(|words| format!(" {words}")).unwrap_or_default();
    format!("Not settled without an agent or a person: {}.{tried}{settled}", super::review::listed(paths))
}

/// What each rung settled, as a sentence; nothing when there was nothing to settle.
pub(crate) fn in_words(records: &[RungRecord]) -> Option<String> {
    let settled = records.iter().filter(|record| !record.settled.is_empty());
    let parts: Vec<String> =
        settled.map(|record| format!("{} ({})", record.settled.join(", "), way(record.rung))).collect();
    (!parts.is_empty()).then(|| format!("Conflicts were settled: {}.", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_said_once_for_each_rung_and_what_it_settled_on_the_way() {
        let record = |rung, given: &[&str], settled: &[&str]| RungRecord {
            rung,
            given: given.iter().map(|path| (*path).to_owned()).collect(),
            settled: settled.iter().map(|path| (*path).to_owned()).collect(),
        };
        let left = ["notes.txt".to_owned()];
        let records = [
            record(Rung::Clean, &["notes.txt"], &[]),
            record(Rung::Rerere, &["notes.txt"], &[]),
            record(Rung::Clean, &["notes.txt", "b.rs"], &[]),
            record(Rung::Mergiraf, &["notes.txt", "b.rs"], &["b.rs"]),
        ];
        assert_eq!(
            tried_in_words(&left, &records),
            "Not settled without an agent or a person: notes.txt. Tried: by git itself, as it was settled before, by \
             syntax. Conflicts were settled: b.rs (by syntax)."
        );
        assert_eq!(tried_in_words(&left, &[]), "Not settled without an agent or a person: notes.txt.");
    }

    #[test]
    fn a_desk_is_behind_its_branch_only_where_the_house_left_it_and_nothing_would_be_lost() {
        let commit = |letter: &str| letter.repeat(40).parse::<CommitId>().unwrap();
        let branch: Branch = "task-7".parse().unwrap();
        let at = |head: &CommitId| Work { branch: Some(branch.clone()), head: Some(head.clone()), ..Work::default() };
        let (first, second, third) = (commit("a"), commit("b"), commit("c"));
        let once = with(None, &first, &second);
        let twice = with(Some(once), &second, &third);
        let is_behind = |found: &Work| stands_before(&twice, &branch, found);
        assert!(is_behind(&at(&first)) && is_behind(&at(&second)));
        assert!(!is_behind(&at(&third)), "it is there");
        assert!(!is_behind(&at(&commit("d"))), "its agent went on");
        assert!(!is_behind(&Work { dirty: true, ..at(&first) }));
        assert!(!is_behind(&Work { in_progress: Some("rebase".into()), ..at(&first) }));
        assert!(!is_behind(&Work { branch: None, ..at(&first) }));
        // Its agent pushed in between, and the house moved that: what was before is not where this came from.
        let anew = with(Some(twice.clone()), &commit("d"), &commit("e"));
        assert_eq!(anew, format!("{} {}", commit("e"), commit("d")));
    }

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
            record(Rung::Agent, &["d.txt"]),
            record(Rung::Person, &["e.txt"]),
        ];
        assert_eq!(
            in_words(&records).unwrap(),
            "Conflicts were settled: a.txt (as it was settled before); b.rs, c.rs (by syntax); Cargo.lock (made anew by \
             its program); d.txt (by the agent); e.txt (by a person)."
        );
    }
}
