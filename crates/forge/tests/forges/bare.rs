//! A real bare repository, asked with the git command line.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use carrel_forge::{BranchName, CommitId, ForgeError, MergeWay, Repository, Weave, Woven};

/// A bare repository, asked with the git command line.
#[derive(Clone)]
pub(crate) struct Bare {
    pub(crate) folder: PathBuf,
    /// Dies where a killed process would: after the base has moved and before anybody wrote it down.
    pub(crate) dies_after_advance: Arc<AtomicBool>,
}

impl Bare {
    pub(crate) fn make(folder: &Path) -> Bare {
        let bare = Bare { folder: folder.join("bare.git"), dies_after_advance: Arc::default() };
        std::fs::create_dir_all(&bare.folder).unwrap();
        bare.git(&["init", "-q", "--bare", "-b", "main", "."]).unwrap();
        let tree = bare.tree(None, "README.md", "hello\n");
        let commit = bare.git(&["commit-tree", "-m", "chore: begin", &tree]).unwrap();
        bare.git(&["update-ref", "refs/heads/main", &commit]).unwrap();
        bare
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String, ForgeError> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(arguments).stdin(Stdio::null());
        for (name, value) in [("NAME", "Carrel"), ("EMAIL", "carrel@localhost")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap().trim_end().to_owned()),
            false => Err(ForgeError::Unavailable { why: String::from_utf8_lossy(&output.stderr).into_owned() }),
        }
    }

    /// A tree with one file written, made in an index of its own.
    fn tree(&self, from: Option<&str>, path: &str, text: &str) -> String {
        let file = self.folder.join("incoming");
        std::fs::write(&file, text).unwrap();
        let blob = self.git(&["hash-object", "-w", "incoming"]).unwrap();
        let index = self.folder.join("scratch-index");
        let _ = std::fs::remove_file(&index);
        let with_index = |arguments: &[&str]| {
            let output = Command::new("git")
                .arg("-C")
                .arg(&self.folder)
                .env("GIT_INDEX_FILE", &index)
                .args(arguments)
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        if let Some(from) = from {
            with_index(&["read-tree", from]);
        }
        with_index(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")]);
        with_index(&["write-tree"])
    }

    pub(crate) fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        let parent = self.find(branch.as_str()).or_else(|| self.find("main")).unwrap();
        let tree = self.tree(Some(parent.as_str()), path, text);
        let commit = self.git(&["commit-tree", "-p", parent.as_str(), "-m", &format!("feat: {path}"), &tree]).unwrap();
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &commit]).unwrap();
        commit.parse().unwrap()
    }

    pub(crate) fn find(&self, branch: &str) -> Option<CommitId> {
        self.git(&["rev-parse", "--verify", "-q", &format!("refs/heads/{branch}^{{commit}}")]).ok()?.parse().ok()
    }

    /// The tree of a three-way merge, or the paths that conflict.
    fn merge_tree(&self, fork: &str, ours: &str, theirs: &str) -> Result<String, Vec<String>> {
        let fork = format!("--merge-base={fork}");
        let output = Command::new("git")
            .arg("-C")
            .arg(&self.folder)
            .args(["merge-tree", "--write-tree", "--name-only", "--no-messages", &fork, ours, theirs])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        let tree = lines.next().unwrap_or_default();
        if output.status.success() { Ok(tree) } else { Err(lines.collect()) }
    }
}

#[async_trait]
impl Repository for Bare {
    async fn default_branch(&self) -> Result<BranchName, ForgeError> {
        Ok(self.git(&["symbolic-ref", "--short", "HEAD"])?.parse().unwrap())
    }
    async fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, ForgeError> {
        Ok(self.find(branch.as_str()))
    }
    async fn contains(&self, branch: &BranchName, commit: &CommitId) -> Result<bool, ForgeError> {
        Ok(self.git(&["merge-base", "--is-ancestor", commit.as_str(), &format!("refs/heads/{branch}")]).is_ok())
    }
    async fn diff(&self, base: &CommitId, head: &CommitId) -> Result<String, ForgeError> {
        self.git(&["diff", &format!("{base}...{head}")])
    }
    async fn conflicts(&self, base: &CommitId, head: &CommitId) -> Result<Vec<String>, ForgeError> {
        let fork = self.git(&["merge-base", base.as_str(), head.as_str()])?;
        Ok(self.merge_tree(&fork, base.as_str(), head.as_str()).err().unwrap_or_default())
    }
    async fn weave(&self, weave: &Weave) -> Result<Woven, ForgeError> {
        let (base, head) = (weave.base.as_str(), weave.head.as_str());
        let fork = self.git(&["merge-base", base, head])?;
        let commit = |tree: &str, parents: &[&str], message: &str| {
            let parents: Vec<_> = parents.iter().flat_map(|parent| ["-p", parent]).collect();
            self.git(&[&["commit-tree"], parents.as_slice(), &["-m", message, tree]].concat())
        };
        let made = match weave.way {
            MergeWay::Rebase => {
                let mut tip = base.to_owned();
                for one in self.git(&["rev-list", "--reverse", &format!("{base}..{head}")])?.lines() {
                    match self.merge_tree(&format!("{one}^"), &tip, one) {
                        Ok(tree) => tip = commit(&tree, &[&tip], &self.git(&["log", "-1", "--format=%B", one])?)?,
                        Err(paths) => return Ok(Woven::Conflicted(paths)),
                    }
                }
                tip
            }
            way => match self.merge_tree(&fork, base, head) {
                Ok(tree) if way == MergeWay::Merge => commit(&tree, &[base, head], &weave.message)?,
                Ok(tree) => commit(&tree, &[base], &weave.message)?,
                Err(paths) => return Ok(Woven::Conflicted(paths)),
            },
        };
        Ok(Woven::Clean(made.parse().unwrap()))
    }
    async fn advance(&self, branch: &BranchName, from: &CommitId, to: &CommitId) -> Result<bool, ForgeError> {
        let moved = self.git(&["update-ref", &format!("refs/heads/{branch}"), to.as_str(), from.as_str()]).is_ok();
        if moved && self.dies_after_advance.swap(false, Ordering::Relaxed) {
            return Err(ForgeError::Unavailable { why: "killed".into() });
        }
        Ok(moved)
    }
    async fn delete(&self, branch: &BranchName) -> Result<(), ForgeError> {
        self.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]).map(drop)
    }
}
