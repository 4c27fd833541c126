//! A three-way merge as `git merge-tree` makes it: a tree, and the files in it that are not settled.

use std::collections::BTreeMap;

use carrel_model::CommitId;

use crate::{GitError, Mirror};

/// A file on one side: its mode and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) mode: String,
    pub(super) blob: CommitId,
}

/// A file that is not settled, as the common ancestor and both sides have it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Conflict {
    pub(super) base: Option<Side>,
    pub(super) ours: Option<Side>,
    pub(super) theirs: Option<Side>,
}

impl Conflict {
    /// Both sides, when both have a plain file there.
    pub(super) fn both_files(&self) -> Option<(&Side, &Side)> {
        let plain = |side: &Side| side.mode == "100644" || side.mode == "100755";
        let base = self.base.as_ref().is_none_or(plain);
        match (&self.ours, &self.theirs) {
            (Some(ours), Some(theirs)) if base && plain(ours) && plain(theirs) => Some((ours, theirs)),
            _ => None,
        }
    }
}

/// What a merge came to.
#[derive(Debug, Clone)]
pub(super) struct Merged {
    /// The tree; files that are not settled have marks in it.
    pub(super) tree: CommitId,
    pub(super) conflicts: BTreeMap<String, Conflict>,
}

impl Mirror {
    /// Merges two commits; with a base of one's own, what is between it and the second is put onto the first.
    pub(super) async fn merge_trees(
        &self,
        ours: &CommitId,
        theirs: &CommitId,
        base: Option<&CommitId>,
    ) -> Result<Merged, GitError> {
        let mut call = self.git().at(&self.path(), "merge-tree").args(["--write-tree", "-z", "--no-messages"]);
        call = match base {
            Some(base) => call.arg(("--merge-base=", base)),
            None => call.arg("--allow-unrelated-histories"),
        };
        let answer = call.config("merge.conflictStyle", "merge").arg(ours).arg(theirs).answer().await?;
        if !matches!(answer.status.code(), Some(0 | 1)) {
            return Err(GitError::understand("merge-tree", &answer.said));
        }
        read(&answer.output).ok_or(GitError::Failed { what: "merge-tree", why: "its answer is not understood".into() })
    }

    /// A tree with some of its files replaced.
    pub(super) async fn replace(&self, tree: &CommitId, files: &BTreeMap<String, Side>) -> Result<CommitId, GitError> {
        if files.is_empty() {
            return Ok(tree.clone());
        }
        let scratch = tempfile::tempdir().map_err(GitError::io("make a place for an index"))?;
        let repository = self.path();
        let call = |command| self.git().at(&repository, command).env("GIT_INDEX_FILE", scratch.path().join("index"));
        call("read-tree").arg(tree).run().await?;
        let mut input = Vec::new();
        for (path, side) in files {
            input.extend_from_slice(format!("{} {}\t{path}", side.mode, side.blob).as_bytes());
            input.push(0);
        }
        call("update-index").args(["-z", "--index-info"]).input(input).run().await?;
        call("write-tree").id().await
    }

    /// What a file holds.
    pub(super) async fn content(&self, blob: &CommitId) -> Result<Vec<u8>, GitError> {
        self.git().at(&self.path(), "cat-file").arg("blob").arg(blob).run().await
    }

    /// Keeps a file's content.
    pub(super) async fn keep(&self, content: Vec<u8>) -> Result<CommitId, GitError> {
        // An empty input would be no input at all.
        let call = self.git().at(&self.path(), "hash-object").args(["-w", "--stdin"]);
        call.input(content).id().await
    }
}

fn read(output: &[u8]) -> Option<Merged> {
    let mut fields = output.split(|byte| *byte == 0);
    let tree = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let mut conflicts: BTreeMap<String, Conflict> = BTreeMap::new();
    for field in fields.take_while(|field| !field.is_empty()) {
        let text = String::from_utf8_lossy(field);
        let (facts, path) = text.split_once('\t')?;
        if std::str::from_utf8(field).is_err() {
            // Its name cannot be said to git again: no rung of ours settles it, and whoever works on it does.
            conflicts.entry(path.to_owned()).or_default();
            continue;
        }
        let mut facts = facts.split(' ');
        let side = Side { mode: facts.next()?.to_owned(), blob: facts.next()?.parse().ok()? };
        let conflict = conflicts.entry(path.to_owned()).or_default();
        match facts.next()? {
            "1" => conflict.base = Some(side),
            "2" => conflict.ours = Some(side),
            "3" => conflict.theirs = Some(side),
            _ => return None,
        }
    }
    Some(Merged { tree, conflicts })
}
