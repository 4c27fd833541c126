//! rerere: a conflict that was resolved once is resolved the same way again.
//!
//! Git keeps what it learnt in `rr-cache` of the mirror. It wants a working tree to look at, so it gets one that holds
//! nothing but the files in question.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use carrel_model::CommitId;
use tempfile::TempDir;

use super::tree::{Conflict, Merged, Side};
use crate::{GitError, Mirror, program::Call};

/// A conflict laid out for git to look at.
struct Stage<'a> {
    mirror: &'a Mirror,
    folder: TempDir,
}

impl Stage<'_> {
    fn call(&self, command: &'static str) -> Call {
        self.mirror
            .git()
            .at(&self.folder.path().join(".git"), command)
            .env("GIT_WORK_TREE", self.folder.path())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.mirror.objects())
            .folder(self.folder.path())
            .config("rerere.enabled", "true")
            .config("rerere.autoUpdate", "false")
    }

    fn file(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }
}

impl Mirror {
    /// Files of a merge that git knows how to resolve from an earlier time.
    pub(super) async fn recall(&self, merged: &Merged) -> Result<BTreeMap<String, Side>, GitError> {
        let Some((stage, paths)) = self.lay_out(merged).await? else { return Ok(BTreeMap::new()) };
        stage.call("rerere").run().await?;
        let remaining = stage.call("rerere").arg("remaining").run().await?;
        let remaining = String::from_utf8_lossy(&remaining);
        let mut settled = BTreeMap::new();
        for (path, mode) in paths {
            let content = fs::read(stage.file(&path)).map_err(GitError::io("read a resolved file"))?;
            if !remaining.lines().any(|line| line == path) && !super::mergiraf::has_marks(&content) {
                settled.insert(path, Side { mode, blob: self.keep(content).await? });
            }
        }
        Ok(settled)
    }

    /// Learns how a merge was resolved, from a commit that has the resolution.
    pub async fn learn(&self, ours: &CommitId, theirs: &CommitId, resolution: &CommitId) -> Result<usize, GitError> {
        let merged = self.merge_trees(ours, theirs, None).await?;
        let Some((stage, paths)) = self.lay_out(&merged).await? else { return Ok(0) };
        // The first time it looks at the question, the second at the answer.
        stage.call("rerere").run().await?;
        let mut learnt = 0;
        for path in paths.keys() {
            let call = self.git().at(&self.path(), "ls-tree").arg("-z").arg(resolution).arg("--");
            let listing = call.path_in_tree(path).run().await?;
            let text = String::from_utf8_lossy(&listing);
            let blob: Option<CommitId> = text.split(['\t', ' ']).nth(2).and_then(|id| id.parse().ok());
            if let Some(blob) = blob {
                let content = self.content(&blob).await?;
                if !super::mergiraf::has_marks(&content) {
                    fs::write(stage.file(path), content).map_err(GitError::io("write a resolved file"))?;
                    learnt += 1;
                }
            }
        }
        stage.call("rerere").run().await?;
        Ok(learnt)
    }

    /// Lays the files that both sides changed out in a working tree, with their marks.
    async fn lay_out(&self, merged: &Merged) -> Result<Option<(Stage<'_>, BTreeMap<String, String>)>, GitError> {
        let fit = |(path, conflict): (&String, &Conflict)| {
            conflict.both_files().map(|(ours, _)| (path.clone(), ours.mode.clone()))
        };
        let paths: BTreeMap<String, String> = merged.conflicts.iter().filter_map(fit).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let folder = tempfile::tempdir().map_err(GitError::io("make a place to merge in"))?;
        let stage = Stage { mirror: self, folder };
        self.git().call("init").args(["--quiet", "--template="]).arg(stage.folder.path()).run().await?;
        let cache = self.path().join("rr-cache");
        let link = |cache: &Path| {
            fs::create_dir_all(cache)?;
            std::os::unix::fs::symlink(cache, stage.folder.path().join(".git/rr-cache"))
        };
        link(&cache).map_err(GitError::io("find what git learnt"))?;
        let mut input = Vec::new();
        for path in paths.keys() {
            let conflict = &merged.conflicts[path];
            for (number, side) in [(1, &conflict.base), (2, &conflict.ours), (3, &conflict.theirs)] {
                if let Some(side) = side {
                    input.extend_from_slice(format!("{} {} {number}\t{path}", side.mode, side.blob).as_bytes());
                    input.push(0);
                }
            }
        }
        stage.call("update-index").args(["-z", "--index-info"]).input(input).run().await?;
        for path in paths.keys() {
            let content = self.git().at(&self.path(), "cat-file").arg("blob").blob_at(&merged.tree, path).run().await?;
            let place = stage.file(path);
            let written = place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&place, content));
            written.map_err(GitError::io("lay out a conflict"))?;
        }
        Ok(Some((stage, paths)))
    }
}
