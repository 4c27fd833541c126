//! The embedded forge over a real bare repository, asked with the git command line.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use carrel_forge::{
    BranchName, CommitId, Forge, ForgeError, Ledger, Merge, MergeWay, NewPull, Notebook, PullState, Repository, Weave,
    Woven,
    contract::{World, broken_promises},
    forges::embedded::{Config, Embedded},
};

/// A bare repository, asked with the git command line.
#[derive(Clone)]
struct Bare {
    folder: PathBuf,
    /// Dies where a killed process would: after the base has moved and before anybody wrote it down.
    dies_after_advance: Arc<AtomicBool>,
}

impl Bare {
    fn make(folder: &Path) -> Bare {
        let bare = Bare { folder: folder.join("bare.git"), dies_after_advance: Arc::default() };
        std::fs::create_dir_all(&bare.folder).unwrap();
        bare.git(&["init", "-q", "--bare", "-b", "main", "."]).unwrap();
        let tree = bare.tree(None, "README.md", "hello\n");
        let commit = bare.git(&["commit-tree", "-m", "chore: begin", &tree]).unwrap();
        bare.git(&["update-ref", "refs/heads/main", &commit]).unwrap();
        bare
    }

    fn git(&self, arguments: &[&str]) -> Result<String, ForgeError> {
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

    fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        let parent = self.find(branch.as_str()).or_else(|| self.find("main")).unwrap();
        let tree = self.tree(Some(parent.as_str()), path, text);
        let commit = self.git(&["commit-tree", "-p", parent.as_str(), "-m", &format!("feat: {path}"), &tree]).unwrap();
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &commit]).unwrap();
        commit.parse().unwrap()
    }

    fn find(&self, branch: &str) -> Option<CommitId> {
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

struct EmbeddedWorld {
    bare: Bare,
    folder: tempfile::TempDir,
}

impl EmbeddedWorld {
    fn make() -> EmbeddedWorld {
        let folder = tempfile::tempdir().unwrap();
        EmbeddedWorld { bare: Bare::make(folder.path()), folder }
    }

    fn forge(&self) -> Embedded {
        self.forge_over(Arc::new(Notebook::in_file(self.folder.path().join("pulls.json")).unwrap()))
    }

    fn forge_over(&self, ledger: Arc<dyn Ledger>) -> Embedded {
        let url = "http://127.0.0.1:7070/app/repos/hello/pulls".into();
        Config { ledger, repository: Arc::new(self.bare.clone()), login: "carrel".into(), url }.build()
    }
}

/// One forge for everybody, as in one house.
struct OneHouse(EmbeddedWorld, Embedded);

#[async_trait]
impl World for OneHouse {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(self.1.clone())
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(self.1.acting_as("mona"))
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.0.bare.push(branch, path, text)
    }
}

fn new_pull(head: &str) -> NewPull {
    NewPull {
        title: "feat: x".into(),
        body: "y".into(),
        head: head.parse().unwrap(),
        base: "main".parse().unwrap(),
        draft: false,
    }
}

#[tokio::test]
async fn the_embedded_forge_keeps_the_contract_over_a_real_repository() {
    let world = EmbeddedWorld::make();
    let forge = world.forge();
    assert_eq!(broken_promises(&OneHouse(world, forge)).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_merge_that_died_half_way_is_finished_by_whoever_looks_next() {
    for way in [MergeWay::Merge, MergeWay::Squash, MergeWay::Rebase] {
        let world = EmbeddedWorld::make();
        let head = world.bare.push(&"task-1".parse().unwrap(), "x.txt", "x\n");
        let pull = world.forge().open(&new_pull("task-1")).await.unwrap();
        world.bare.dies_after_advance.store(true, Ordering::Relaxed);
        let merge = Merge { way, head, title: None, message: None };
        assert!(world.forge().merge(pull.number, &merge).await.is_err());
        let base = world.bare.find("main").unwrap();

        // A new house over the same files: the base has moved once, and that is known.
        let state = world.forge().get(pull.number).await.unwrap().state;
        assert_eq!(state, PullState::Merged { commit: Some(base.clone()) }, "{way:?}");
        assert_eq!(world.forge().merge(pull.number, &merge).await.unwrap().commit, Some(base.clone()));
        assert_eq!(world.bare.find("main").unwrap(), base, "it was merged twice");
    }
}

#[tokio::test]
async fn two_that_merge_at_once_merge_once_and_the_base_never_moves_back() {
    let world = EmbeddedWorld::make();
    let forge = world.forge();
    let mut merges = Vec::new();
    for number in 0..8 {
        let branch = format!("task-{number}");
        let head = world.bare.push(&branch.parse().unwrap(), &format!("{number}.txt"), "x\n");
        let pull = forge.open(&new_pull(&branch)).await.unwrap();
        merges.push((pull.number, Merge { way: MergeWay::Merge, head, title: None, message: None }));
    }
    // Each is asked for twice, by two houses that share the ledger.
    let all = merges.iter().chain(&merges).map(|(number, merge)| forge.merge(*number, merge));
    for merged in futures::future::join_all(all).await {
        merged.unwrap();
    }
    let merged = world.bare.git(&["rev-list", "--count", "--merges", "main"]).unwrap();
    assert_eq!(merged, "8");
    for (_, merge) in &merges {
        assert!(world.bare.contains(&"main".parse().unwrap(), &merge.head).await.unwrap());
    }
}

#[tokio::test]
async fn a_pull_whose_commits_were_pushed_to_the_base_is_merged() {
    let world = EmbeddedWorld::make();
    let head = world.bare.push(&"task-1".parse().unwrap(), "x.txt", "x\n");
    let pull = world.forge().open(&new_pull("task-1")).await.unwrap();
    world.bare.git(&["update-ref", "refs/heads/main", head.as_str()]).unwrap();
    assert_eq!(world.forge().get(pull.number).await.unwrap().state, PullState::Merged { commit: Some(head) });
}
