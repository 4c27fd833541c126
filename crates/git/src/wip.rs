//! Work in progress: a working tree saved as a commit, with everything that is not ignored, while nobody is disturbed.
//!
//! The agent's own index is not touched: the tree is made with a copy of it. The same is done inside a sandbox by
//! [`inside::SAVE`](crate::inside::SAVE), which pushes through the gateway.

use std::{fs, path::Path, time::Duration};

use carrel_model::{CommitId, Holder, RefName, TaskId, Timestamp};

use crate::{Git, GitError, Identity, Mirror, commit::Draft, program::Call, refs::Move};

/// How long saving a large tree may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Saves the working tree of a folder of this host under a task's name in a mirror. The folder's repository borrows the
/// mirror's objects, or has its own. Nothing when nothing is different from what was saved before.
pub async fn save_folder(
    git: &Git,
    folder: &Path,
    mirror: &Mirror,
    task: TaskId,
) -> Result<Option<CommitId>, GitError> {
    let dot_git = folder.join(".git");
    let scratch = tempfile::tempdir().map_err(GitError::io("make a place for an index"))?;
    let index = scratch.path().join("index");
    match fs::copy(dot_git.join("index"), &index) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(GitError::io("copy an index")(error)),
        _ => {}
    }
    let call = |command: &'static str| -> Call {
        git.at(&dot_git, command)
            .env("GIT_WORK_TREE", folder)
            .env("GIT_INDEX_FILE", &index)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", mirror.objects())
            .folder(folder)
            .patience(PATIENCE)
    };
    call("add").args(["--all", "--ignore-errors"]).answer().await?;
    let tree = call("write-tree").id().await?;
    let name = RefName::wip(task);
    let before = mirror.find(&name).await?;
    let head = call("rev-parse").args(["--verify", "--quiet", "HEAD"]).id().await.ok();
    if let Some(before) = &before
        && mirror.tree_of(before).await? == tree
        && mirror.parent_of(before).await? == head
    {
        return Ok(None);
    }
    let house = Identity::house();
    let message = format!("wip: task {task}\n");
    let parents: Vec<CommitId> = head.into_iter().collect();
    let draft = Draft {
        tree: &tree,
        parents: &parents,
        message: &message,
        author: &house,
        date: None,
        committer: &house,
        signer: None,
    };
    let commit = draft.make_by(call("commit-tree")).await?;
    // What the mirror does not have goes over as a pack; then the ref moves.
    let known = mirror.refs().await?;
    let mut wanted = format!("{commit}\n");
    for id in known.values().chain(&before) {
        if call("cat-file").arg("-e").arg(id).answer().await?.status.success() {
            wanted.push_str(&format!("^{id}\n"));
        }
    }
    let pack = call("pack-objects").args(["--revs", "--stdout", "-q", "--thin", "--delta-base-offset"]);
    let pack = pack.input(wanted).run().await?;
    let call = git.at(&mirror.path(), "index-pack").args(["--stdin", "--fix-thin"]).config("core.fsync", "committed");
    call.input(pack).patience(PATIENCE).run().await?;
    mirror.move_refs(&[Move { name, from: before, to: Some(commit.clone()) }]).await?;
    Ok(Some(commit))
}

impl Mirror {
    /// What a task saved last.
    pub async fn wip(&self, task: TaskId) -> Result<Option<CommitId>, GitError> {
        self.find(&RefName::wip(task)).await
    }

    /// What somebody saved last.
    pub async fn saved(&self, holder: &Holder) -> Result<Option<CommitId>, GitError> {
        self.find(&holder.saves()).await
    }

    /// Forgets what somebody saved, when nobody will go on from it. Its objects stay.
    pub async fn forget_saved(&self, holder: &Holder) -> Result<(), GitError> {
        let name = holder.saves();
        match self.find(&name).await? {
            None => Ok(()),
            Some(commit) => self.move_refs(&[Move { name, from: Some(commit), to: None }]).await,
        }
    }

    /// Forgets what a task saved, when nobody will go on from it. Its objects stay.
    pub async fn forget_wip(&self, task: TaskId) -> Result<(), GitError> {
        match self.wip(task).await? {
            None => Ok(()),
            Some(commit) => self.move_refs(&[Move { name: RefName::wip(task), from: Some(commit), to: None }]).await,
        }
    }

    /// What is kept of tasks that were closed, each with when it was made.
    pub async fn kept(&self) -> Result<Vec<(RefName, CommitId, Timestamp)>, GitError> {
        let call = self.git().at(&self.path(), "for-each-ref");
        let call = call.arg("--format=%(objectname) %(committerdate:unix) %(refname)").arg("refs/carrel/kept");
        let told = call.text().await?;
        let read = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let (id, at) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some((words.next()?.parse().ok()?, id, Timestamp::from_second(at).ok()?))
        };
        Ok(told.lines().filter_map(read).collect())
    }

    /// The first parent of a commit.
    pub async fn parent_of(&self, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        let call = self.git().at(&self.path(), "rev-parse").args(["--verify", "--quiet"]).arg((commit, "^1"));
        let answer = call.answer().await?;
        Ok(String::from_utf8_lossy(&answer.output).trim().parse().ok())
    }

    /// When a commit was made, as whoever made it says.
    pub async fn made_at(&self, commit: &CommitId) -> Result<Option<Timestamp>, GitError> {
        let call = self.git().at(&self.path(), "log").args(["-1", "--no-show-signature", "--format=%ct"]).arg(commit);
        Ok(call.text().await?.trim().parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok()))
    }
}
