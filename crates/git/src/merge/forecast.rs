//! Who would conflict with whom, before anybody merges.
//!
//! Only pairs that changed a path in common are merged for the answer, all in one run of git, so that one push among
//! hundreds of tasks stays cheap.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use carrel_model::{CommitId, TaskId};

use crate::{GitError, Mirror};

/// The paths that a branch changed since it left its base.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathSet(BTreeSet<String>);

impl PathSet {
    /// Whether both changed something at the same place: the same path, or a file where the other has a folder.
    pub fn overlaps(&self, other: &PathSet) -> bool {
        let (few, many) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        few.0.iter().any(|path| {
            let above = path.match_indices('/').any(|(at, _)| many.0.contains(&path[..at]));
            above || many.0.contains(path) || many.has_below(path)
        })
    }

    fn has_below(&self, folder: &str) -> bool {
        let first = format!("{folder}/");
        self.0.range(first.clone()..).next().is_some_and(|path| path.starts_with(&first))
    }

    /// The paths, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromIterator<String> for PathSet {
    fn from_iter<I: IntoIterator<Item = String>>(paths: I) -> PathSet {
        PathSet(paths.into_iter().collect())
    }
}

/// A live task, as far as merging is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The task.
    pub task: TaskId,
    /// Where its branch is.
    pub commit: CommitId,
    /// Where its base is.
    pub base: CommitId,
}

/// Whom a task would conflict with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The base that it is to be merged into.
    Base,
    /// Another live task.
    Task(TaskId),
}

/// A conflict that is to be expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// With whom.
    pub whom: Whom,
    /// In which files.
    pub paths: Vec<String>,
}

/// Remembers what each branch changed, so that only what moved is looked at again.
#[derive(Debug, Default)]
pub struct Forecaster {
    known: Mutex<HashMap<(CommitId, CommitId), Arc<PathSet>>>,
}

/// So many branches are remembered.
const MOST_KNOWN: usize = 4096;

impl Forecaster {
    /// What one task would conflict with: its base, and other live tasks.
    pub async fn forecast(&self, mirror: &Mirror, one: &Head, others: &[Head]) -> Result<Vec<Clash>, GitError> {
        let mine = self.paths(mirror, one).await?;
        let mut asked = vec![(Whom::Base, one.base.clone())];
        for other in others.iter().filter(|other| other.task != one.task) {
            if self.paths(mirror, other).await?.overlaps(&mine) {
                asked.push((Whom::Task(other.task), other.commit.clone()));
            }
        }
        let pairs: Vec<_> = asked.iter().map(|(_, commit)| (one.commit.clone(), commit.clone())).collect();
        let merged = mirror.conflicts(&pairs).await?;
        let clashes = asked.into_iter().zip(merged).filter(|(_, paths)| !paths.is_empty());
        Ok(clashes.map(|((whom, _), paths)| Clash { whom, paths }).collect())
    }

    async fn paths(&self, mirror: &Mirror, head: &Head) -> Result<Arc<PathSet>, GitError> {
        let key = (head.base.clone(), head.commit.clone());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(paths) = known {
            return Ok(paths);
        }
        let paths = Arc::new(mirror.changed_paths(&head.base, &head.commit).await?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, Arc::clone(&paths));
        Ok(paths)
    }
}

impl Mirror {
    /// The paths that a branch changed since it left its base.
    pub async fn changed_paths(&self, base: &CommitId, head: &CommitId) -> Result<PathSet, GitError> {
        let call =
            self.git().at(&self.path(), "diff-tree").args(["-r", "-z", "--name-only", "--no-renames", "--merge-base"]);
        let answer = call.arg(base).arg(head).answer().await?;
        if !answer.status.success() {
            // Histories that have nothing in common.
            let call = self.git().at(&self.path(), "ls-tree").args(["-r", "-z", "--name-only"]).arg(head);
            return Ok(split(&call.run().await?).collect());
        }
        Ok(split(&answer.output).collect())
    }

    /// The conflicted paths of each pair of commits; none when they merge by themselves.
    pub async fn conflicts(&self, pairs: &[(CommitId, CommitId)]) -> Result<Vec<Vec<String>>, GitError> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = pairs.iter().map(|(one, other)| format!("{one} {other}\n")).collect();
        let call = self.git().at(&self.path(), "merge-tree");
        let call =
            call.args(["--write-tree", "--stdin", "--name-only", "--no-messages", "--allow-unrelated-histories"]);
        let output = call.input(input).run().await?;
        let mut fields = output.split(|byte| *byte == 0);
        let mut answers = Vec::with_capacity(pairs.len());
        for _ in pairs {
            let odd = || GitError::Failed { what: "merge-tree", why: "its answer is not understood".into() };
            let clean = match fields.next().ok_or_else(odd)? {
                b"1" => true,
                b"0" => false,
                _ => return Err(odd()),
            };
            fields.next().ok_or_else(odd)?;
            let paths = fields.by_ref().take_while(|field| !field.is_empty());
            let paths: Vec<_> = paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
            answers.push(if clean { Vec::new() } else { paths });
        }
        Ok(answers)
    }
}

fn split(listing: &[u8]) -> impl Iterator<Item = String> {
    listing
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_overlap_when_they_are_the_same_or_one_stands_in_the_others_way() {
        let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<PathSet>();
        assert!(set(&["a/b", "c"]).overlaps(&set(&["c", "d"])));
        assert!(set(&["a"]).overlaps(&set(&["a/b/c"])));
        assert!(set(&["a/b/c"]).overlaps(&set(&["a", "x", "y"])));
        assert!(!set(&["a/b"]).overlaps(&set(&["a/c", "a/bc", "ab"])));
        assert!(!set(&[]).overlaps(&set(&["a"])));
    }
}
