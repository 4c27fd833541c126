//! A repository that is only pretended: commits that say which text stands in which file, and nothing more.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Mutex, MutexGuard},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{BranchName, CommitId, ForgeError, MergeWay, Repository, Weave, Woven};

/// A repository in memory, or in one small file. Its first branch is `main`.
#[derive(Debug)]
pub struct Pretend {
    shelf: Mutex<Shelf>,
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Shelf {
    branches: BTreeMap<BranchName, CommitId>,
    commits: BTreeMap<CommitId, Commit>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Commit {
    parents: Vec<CommitId>,
    files: BTreeMap<String, String>,
    message: String,
}

impl Default for Pretend {
    fn default() -> Pretend {
        let mut shelf = Shelf { branches: BTreeMap::new(), commits: BTreeMap::new() };
        let files = BTreeMap::from([("README.md".to_owned(), "A repository that is only pretended.\n".to_owned())]);
        let first = shelf.add(Commit { parents: vec![], files, message: "chore: begin".into() });
        shelf.branches.insert(main(), first);
        Pretend { shelf: Mutex::new(shelf), file: None }
    }
}

impl Pretend {
    /// Opens the file, or begins a new one.
    pub fn in_file(file: PathBuf) -> Result<Pretend, ForgeError> {
        let mut pretend = Pretend::default();
        match std::fs::read(&file) {
            Ok(bytes) => {
                let shelf = serde_json::from_slice(&bytes);
                let wrong = |error| ForgeError::unavailable(format!("the pretended commits cannot be read: {error}"));
                pretend.shelf = Mutex::new(shelf.map_err(wrong)?);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(ForgeError::unavailable(format!("the pretended commits are away: {error}"))),
        }
        pretend.file = Some(file);
        Ok(pretend)
    }

    /// Pushes a commit that writes one file. A branch that is not there begins at `main`.
    pub fn push(&self, branch: &BranchName, path: &str, text: &str) -> Result<CommitId, ForgeError> {
        self.change(|shelf| {
            let tip = shelf.branches.get(branch).or_else(|| shelf.branches.get(&main())).cloned();
            let mut files = tip.as_ref().map(|tip| shelf.files(tip)).unwrap_or_default();
            files.insert(path.to_owned(), text.to_owned());
            let commit =
                shelf.add(Commit { parents: tip.into_iter().collect(), files, message: format!("feat: {path}") });
            shelf.branches.insert(branch.clone(), commit.clone());
            commit
        })
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().expect("nobody panics over pretended commits")
    }

    fn change<T>(&self, write: impl FnOnce(&mut Shelf) -> T) -> Result<T, ForgeError> {
        let mut shelf = self.shelf();
        let mut after = shelf.clone();
        let result = write(&mut after);
        if let Some(file) = &self.file {
            let draft = file.with_extension("draft");
            let kept = serde_json::to_vec(&after)
                .map_err(std::io::Error::other)
                .and_then(|text| std::fs::write(&draft, text))
                .and_then(|()| std::fs::rename(&draft, file));
            kept.map_err(|error| ForgeError::unavailable(format!("the pretended commits are away: {error}")))?;
        }
        *shelf = after;
        Ok(result)
    }
}

impl Shelf {
    /// Commits have names as git's do: the same content is the same commit.
    fn add(&mut self, commit: Commit) -> CommitId {
        let text = serde_json::to_vec(&commit).expect("plain text can be written");
        let name = hex::encode(&Sha256::digest(text)[..20]);
        let id: CommitId = name.parse().expect("20 bytes are 40 digits");
        self.commits.insert(id.clone(), commit);
        id
    }

    fn files(&self, id: &CommitId) -> BTreeMap<String, String> {
        self.commits.get(id).map(|commit| commit.files.clone()).unwrap_or_default()
    }

    /// A commit and all that came before it.
    fn ancestry(&self, id: &CommitId) -> BTreeSet<CommitId> {
        let (mut seen, mut ahead) = (BTreeSet::new(), vec![id.clone()]);
        while let Some(id) = ahead.pop() {
            if let Some(commit) = self.commits.get(&id)
                && seen.insert(id)
            {
                ahead.extend(commit.parents.iter().cloned());
            }
        }
        seen
    }

    /// The newest commit that both have.
    fn fork_point(&self, one: &CommitId, other: &CommitId) -> Option<CommitId> {
        let both: BTreeSet<_> = self.ancestry(one).intersection(&self.ancestry(other)).cloned().collect();
        both.iter().max_by_key(|id| self.ancestry(id).len()).cloned()
    }

    fn changed_paths(&self, from: &CommitId, to: &CommitId) -> BTreeSet<String> {
        let (before, after) = (self.files(from), self.files(to));
        let paths: BTreeSet<_> = before.keys().chain(after.keys()).cloned().collect();
        paths.into_iter().filter(|path| before.get(path) != after.get(path)).collect()
    }

    /// Paths that both sides changed, and not to the same text.
    fn conflicts(&self, base: &CommitId, head: &CommitId) -> Vec<String> {
        let Some(fork) = self.fork_point(base, head) else { return vec![] };
        let (ours, theirs) = (self.changed_paths(&fork, base), self.changed_paths(&fork, head));
        let (base, head) = (self.files(base), self.files(head));
        ours.intersection(&theirs).filter(|path| base.get(*path) != head.get(*path)).cloned().collect()
    }

    fn merged_files(&self, base: &CommitId, head: &CommitId) -> BTreeMap<String, String> {
        let mut files = self.files(base);
        let theirs = self.files(head);
        for path in self.fork_point(base, head).map(|fork| self.changed_paths(&fork, head)).unwrap_or_default() {
            match theirs.get(&path) {
                Some(text) => files.insert(path, text.clone()),
                None => files.remove(&path),
            };
        }
        files
    }
}

#[async_trait]
impl Repository for Pretend {
    async fn default_branch(&self) -> Result<BranchName, ForgeError> {
        Ok(main())
    }

    async fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, ForgeError> {
        Ok(self.shelf().branches.get(branch).cloned())
    }

    async fn contains(&self, branch: &BranchName, commit: &CommitId) -> Result<bool, ForgeError> {
        let shelf = self.shelf();
        Ok(shelf.branches.get(branch).is_some_and(|tip| shelf.ancestry(tip).contains(commit)))
    }

    async fn diff(&self, base: &CommitId, head: &CommitId) -> Result<String, ForgeError> {
        let shelf = self.shelf();
        let Some(fork) = shelf.fork_point(base, head) else { return Ok(String::new()) };
        let (before, after) = (shelf.files(&fork), shelf.files(head));
        let mut diff = String::new();
        for path in shelf.changed_paths(&fork, head) {
            let lines = |files: &BTreeMap<String, String>| -> Vec<String> {
                files.get(&path).map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_default()
            };
            let (old, new) = (lines(&before), lines(&after));
            let at = |lines: &[String]| if lines.is_empty() { "0,0".into() } else { format!("1,{}", lines.len()) };
            let name =
                |lines: &[String], side| if lines.is_empty() { "/dev/null".into() } else { format!("{side}/{path}") };
            diff.push_str(&format!("diff --git a/{path} b/{path}\n--- {}\n+++ {}\n", name(&old, 'a'), name(&new, 'b')));
            diff.push_str(&format!("@@ -{} +{} @@\n", at(&old), at(&new)));
            old.iter().for_each(|line| diff.push_str(&format!("-{line}\n")));
            new.iter().for_each(|line| diff.push_str(&format!("+{line}\n")));
        }
        Ok(diff)
    }

    async fn conflicts(&self, base: &CommitId, head: &CommitId) -> Result<Vec<String>, ForgeError> {
        Ok(self.shelf().conflicts(base, head))
    }

    async fn weave(&self, weave: &Weave) -> Result<Woven, ForgeError> {
        let conflicts = self.shelf().conflicts(&weave.base, &weave.head);
        if !conflicts.is_empty() {
            return Ok(Woven::Conflicted(conflicts));
        }
        self.change(|shelf| {
            let files = shelf.merged_files(&weave.base, &weave.head);
            let parents = match weave.way {
                MergeWay::Merge => vec![weave.base.clone(), weave.head.clone()],
                MergeWay::Squash | MergeWay::Rebase => vec![weave.base.clone()],
            };
            Woven::Clean(shelf.add(Commit { parents, files, message: weave.message.clone() }))
        })
    }

    async fn advance(&self, branch: &BranchName, from: &CommitId, to: &CommitId) -> Result<bool, ForgeError> {
        self.change(|shelf| {
            let stands = shelf.branches.get(branch) == Some(from);
            if stands {
                shelf.branches.insert(branch.clone(), to.clone());
            }
            stands
        })
    }

    async fn delete(&self, branch: &BranchName) -> Result<(), ForgeError> {
        self.change(|shelf| drop(shelf.branches.remove(branch)))
    }
}

fn main() -> BranchName {
    "main".parse().expect("a good name")
}
