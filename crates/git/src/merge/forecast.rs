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

    /// The paths that both changed.
    pub fn common(&self, other: &PathSet) -> Vec<String> {
        self.0.intersection(&other.0).cloned().collect()
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

/// Remembers what each branch changed and who fits whom, so that only what moved is looked at again.
#[derive(Debug, Default)]
pub struct Forecaster {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// What a commit changed since it left a base.
    paths: HashMap<(CommitId, CommitId), Arc<PathSet>>,
    /// In which files two commits conflict.
    pairs: HashMap<(CommitId, CommitId), Arc<Vec<String>>>,
}

/// So many branches, and pairs of them, are remembered.
const MOST_KNOWN: usize = 4096;

impl Forecaster {
    /// What one task would conflict with: its base, and other live tasks.
    pub async fn forecast(&self, mirror: &Mirror, one: &Head, others: &[Head]) -> Result<Vec<Clash>, GitError> {
        let others: Vec<&Head> = others.iter().filter(|other| other.task != one.task).collect();
        self.learn_paths(mirror, others.iter().copied().chain([one])).await?;
        let mine = self.paths(mirror, one).await?;
        let mut asked = vec![(Whom::Base, one.base.clone())];
        for other in others {
            if self.paths(mirror, other).await?.overlaps(&mine) {
                asked.push((Whom::Task(other.task), other.commit.clone()));
            }
        }
        let pairs = asked.iter().map(|(_, commit)| (one.commit.clone(), commit.clone())).collect();
        let merged = self.pairs(mirror, pairs).await?;
        let clashes = asked.into_iter().zip(merged).filter(|(_, paths)| !paths.is_empty());
        Ok(clashes.map(|((whom, _), paths)| Clash { whom, paths: paths.to_vec() }).collect())
    }

    /// Which other live tasks changed the same files as this one, and which those are, whether or not they merge by
    /// themselves.
    pub async fn shared(
        &self,
        mirror: &Mirror,
        one: &Head,
        others: &[Head],
    ) -> Result<Vec<(TaskId, Vec<String>)>, GitError> {
        self.learn_paths(mirror, others.iter().chain([one])).await?;
        let mine = self.paths(mirror, one).await?;
        let mut shared = Vec::new();
        for other in others.iter().filter(|other| other.task != one.task) {
            let common = self.paths(mirror, other).await?.common(&mine);
            if !common.is_empty() {
                shared.push((other.task, common));
            }
        }
        Ok(shared)
    }

    /// In which files each task conflicts with its base; empty for those that fit.
    pub async fn against_bases(&self, mirror: &Mirror, heads: &[Head]) -> Result<Vec<Vec<String>>, GitError> {
        let pairs = heads.iter().map(|head| (head.commit.clone(), head.base.clone())).collect();
        Ok(self.pairs(mirror, pairs).await?.iter().map(|paths| paths.to_vec()).collect())
    }

    /// The conflicted paths of each pair of commits, those that are not known in one run of git.
    pub async fn conflicts(
        &self,
        mirror: &Mirror,
        pairs: Vec<(CommitId, CommitId)>,
    ) -> Result<Vec<Vec<String>>, GitError> {
        Ok(self.pairs(mirror, pairs).await?.iter().map(|paths| paths.to_vec()).collect())
    }

    /// The conflicts of pairs, those that are not known in one run of git.
    async fn pairs(
        &self,
        mirror: &Mirror,
        pairs: Vec<(CommitId, CommitId)>,
    ) -> Result<Vec<Arc<Vec<String>>>, GitError> {
        let unknown: Vec<_> = {
            let known = self.known();
            pairs.iter().filter(|pair| !known.pairs.contains_key(*pair)).cloned().collect()
        };
        let found = mirror.conflicts(&unknown).await?;
        let mut found: HashMap<_, _> = unknown.into_iter().zip(found.into_iter().map(Arc::new)).collect();
        let mut known = self.known();
        for pair in &pairs {
            if let Some(paths) = known.pairs.get(pair) {
                found.entry(pair.clone()).or_insert_with(|| Arc::clone(paths));
            }
        }
        if known.pairs.len() + found.len() > MOST_KNOWN {
            known.pairs.clear();
        }
        known.pairs.extend(found.iter().map(|(pair, paths)| (pair.clone(), Arc::clone(paths))));
        Ok(pairs.iter().map(|pair| found.get(pair).cloned().unwrap_or_default()).collect())
    }

    /// Looks at all branches that are not known in two runs of git for each base, however many they are.
    async fn learn_paths<'h>(
        &self,
        mirror: &Mirror,
        heads: impl IntoIterator<Item = &'h Head>,
    ) -> Result<(), GitError> {
        let mut unknown: HashMap<&CommitId, Vec<&CommitId>> = HashMap::new();
        {
            let known = self.known();
            for head in heads {
                if !known.paths.contains_key(&(head.base.clone(), head.commit.clone())) {
                    unknown.entry(&head.base).or_default().push(&head.commit);
                }
            }
        }
        for (base, commits) in unknown {
            let found = mirror.touched_paths(base, &commits).await?;
            let mut known = self.known();
            if known.paths.len() + found.len() > MOST_KNOWN {
                known.paths.clear();
            }
            let keyed = found.into_iter().map(|(commit, paths)| ((base.clone(), commit), Arc::new(paths)));
            known.paths.extend(keyed);
        }
        Ok(())
    }

    async fn paths(&self, mirror: &Mirror, head: &Head) -> Result<Arc<PathSet>, GitError> {
        let key = (head.base.clone(), head.commit.clone());
        let known = self.known().paths.get(&key).cloned();
        if let Some(paths) = known {
            return Ok(paths);
        }
        let paths = Arc::new(mirror.changed_paths(&head.base, &head.commit).await?);
        self.known().paths.insert(key, Arc::clone(&paths));
        Ok(paths)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The paths that each of many branches touched since it left their base, also those that it put back as they were.
    async fn touched_paths(&self, base: &CommitId, heads: &[&CommitId]) -> Result<Vec<(CommitId, PathSet)>, GitError> {
        let mut wanted = format!("^{base}\n");
        heads.iter().for_each(|head| wanted.push_str(&format!("{head}\n")));
        let call = self.git().at(&self.path(), "rev-list").args(["--first-parent", "--parents", "--stdin"]);
        let listing = call.input(wanted).text().await?;
        let mut parents: HashMap<&str, Option<&str>> = HashMap::new();
        let (mut order, mut steps) = (Vec::new(), String::new());
        for line in listing.lines() {
            let mut ids = line.split(' ');
            let Some(commit) = ids.next() else { continue };
            // Of a merge, what it brought onto the branch.
            let parent = ids.next();
            parents.insert(commit, parent);
            order.push(commit);
            steps.push_str(&format!("{commit} {}\n", parent.unwrap_or_default()));
        }
        let call = self.git().at(&self.path(), "diff-tree");
        let call = call.args(["--stdin", "-r", "-z", "--root", "--name-only", "--no-renames"]);
        let output = if steps.is_empty() { Vec::new() } else { call.input(steps).run().await? };
        let mut touched: HashMap<&str, Vec<String>> = HashMap::new();
        let (mut left, mut at) = (order.as_slice(), None);
        for field in output.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
            // A commit that changes nothing, such as a save of what was just committed, is not named: it is passed over.
            let named = left.iter().take_while(|_| field.len() >= 40).position(|commit| commit.as_bytes() == field);
            if let Some(place) = named {
                at = Some(left[place]);
                left = &left[place + 1..];
            } else if let Some(commit) = at {
                touched.entry(commit).or_default().push(String::from_utf8_lossy(field).into_owned());
            }
        }
        let all_of = |head: &CommitId| {
            let (mut paths, mut commit) = (BTreeSet::new(), Some(head.as_str()));
            while let Some(parent) = commit.and_then(|commit| parents.get(commit)) {
                paths.extend(commit.and_then(|commit| touched.get(commit)).into_iter().flatten().cloned());
                commit = *parent;
            }
            (head.clone(), PathSet(paths))
        };
        Ok(heads.iter().map(|head| all_of(head)).collect())
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
        assert_eq!(set(&["a", "b/c", "d"]).common(&set(&["b/c", "d", "e"])), ["b/c", "d"]);
    }
}
