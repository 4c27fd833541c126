//! The ladder: how a conflict is resolved, each rung tried after the one before, each try recorded.
//!
//! clean → rerere → mergiraf → lock files → the agent → a person. The last two are not ours: what is left when we are at
//! the end goes to them.

use std::collections::BTreeMap;

use carrel_model::CommitId;

use super::{
    lock_files::{Regenerate, lock_rule},
    mergiraf::Mergiraf,
    tree::{Conflict, Merged, Side},
};
use crate::{GitError, Mirror};

/// A way to resolve a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// Git merges by itself.
    Clean,
    /// It was resolved before.
    Rerere,
    /// By syntax.
    Mergiraf,
    /// The file is made by a program.
    LockFile,
    /// Back to the agent.
    Agent,
    /// A person decides.
    Person,
}

impl Rung {
    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Rung::Clean => "clean",
            Rung::Rerere => "rerere",
            Rung::Mergiraf => "mergiraf",
            Rung::LockFile => "lock_file",
            Rung::Agent => "agent",
            Rung::Person => "person",
        }
    }
}

/// What one rung came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RungRecord {
    /// Which.
    pub rung: Rung,
    /// The paths that it was given.
    pub given: Vec<String>,
    /// Those that it settled.
    pub settled: Vec<String>,
}

/// What a merge came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is settled.
    Merged {
        /// The tree.
        tree: CommitId,
        /// Files that a program must make anew, in a sandbox, before it is whole.
        regenerate: Vec<Regenerate>,
    },
    /// These paths are for the agent, or a person.
    Conflicted {
        /// The paths.
        paths: Vec<String>,
    },
}

/// A merge, and how it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Each rung that was stood on.
    pub records: Vec<RungRecord>,
    /// How it ended.
    pub outcome: Outcome,
}

/// The rungs that this house has.
#[derive(Debug, Clone, Default)]
pub struct Ladder {
    /// Merging by syntax, where it is installed.
    pub mergiraf: Option<Mergiraf>,
}

/// How far a merge is.
struct Climb {
    open: BTreeMap<String, Conflict>,
    settled: BTreeMap<String, Side>,
    regenerate: Vec<Regenerate>,
    records: Vec<RungRecord>,
}

impl Climb {
    fn record(&mut self, rung: Rung, settled: BTreeMap<String, Side>) {
        let given = self.open.keys().cloned().collect();
        self.open.retain(|path, _| !settled.contains_key(path));
        self.records.push(RungRecord { rung, given, settled: settled.keys().cloned().collect() });
        self.settled.extend(settled);
    }
}

impl Ladder {
    /// Merges two commits, and climbs as far as it takes. With a base of one's own, what is between it and `theirs` is
    /// put onto `ours`.
    pub async fn merge(
        &self,
        mirror: &Mirror,
        ours: &CommitId,
        theirs: &CommitId,
        base: Option<&CommitId>,
    ) -> Result<Attempt, GitError> {
        let merged = mirror.merge_trees(ours, theirs, base).await?;
        let mut climb = Climb {
            open: merged.conflicts.clone(),
            settled: BTreeMap::new(),
            regenerate: Vec::new(),
            records: Vec::new(),
        };
        if climb.open.is_empty() {
            let record = RungRecord { rung: Rung::Clean, given: Vec::new(), settled: Vec::new() };
            let outcome = Outcome::Merged { tree: merged.tree, regenerate: Vec::new() };
            return Ok(Attempt { records: vec![record], outcome });
        }
        climb.record(Rung::Clean, BTreeMap::new());
        // What a program makes is not merged line by line, whoever could.
        let by_hand = Merged { tree: merged.tree.clone(), conflicts: without_locks(&climb.open) };
        let recalled = mirror.recall(&by_hand).await?;
        climb.record(Rung::Rerere, recalled);
        if let Some(mergiraf) = self.mergiraf.as_ref().filter(|_| !without_locks(&climb.open).is_empty()) {
            let settled = by_syntax(mirror, mergiraf, &without_locks(&climb.open)).await?;
            climb.record(Rung::Mergiraf, settled);
        }
        if climb.open.keys().any(|path| lock_rule(path).is_some()) {
            let settled = take_locks(&climb.open, &mut climb.regenerate);
            climb.record(Rung::LockFile, settled);
        }
        let outcome = if climb.open.is_empty() {
            let tree = mirror.replace(&merged.tree, &climb.settled).await?;
            Outcome::Merged { tree, regenerate: climb.regenerate }
        } else {
            Outcome::Conflicted { paths: climb.open.into_keys().collect() }
        };
        Ok(Attempt { records: climb.records, outcome })
    }
}

fn without_locks(open: &BTreeMap<String, Conflict>) -> BTreeMap<String, Conflict> {
    open.iter().filter(|(path, _)| lock_rule(path).is_none()).map(|(path, it)| (path.clone(), it.clone())).collect()
}

async fn by_syntax(
    mirror: &Mirror,
    mergiraf: &Mergiraf,
    open: &BTreeMap<String, Conflict>,
) -> Result<BTreeMap<String, Side>, GitError> {
    let mut settled = BTreeMap::new();
    for (path, conflict) in open {
        let (Some((ours, theirs)), Some(base)) = (conflict.both_files(), &conflict.base) else { continue };
        let base = mirror.content(&base.blob).await?;
        let (left, right) = (mirror.content(&ours.blob).await?, mirror.content(&theirs.blob).await?);
        if let Some(content) = mergiraf.merge(path, &base, &left, &right).await? {
            settled.insert(path.clone(), Side { mode: ours.mode.clone(), blob: mirror.keep(content).await? });
        }
    }
    Ok(settled)
}

fn take_locks(open: &BTreeMap<String, Conflict>, regenerate: &mut Vec<Regenerate>) -> BTreeMap<String, Side> {
    let mut settled = BTreeMap::new();
    for (path, conflict) in open {
        if let (Some(rule), Some((ours, _))) = (lock_rule(path), conflict.both_files()) {
            settled.insert(path.clone(), ours.clone());
            regenerate.push(rule.at(path));
        }
    }
    settled
}
