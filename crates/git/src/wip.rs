//! Work in progress: working trees saved as commits, each under the name of whoever works there. They are made inside a
//! sandbox, by [`inside::SAVE`](crate::inside::SAVE), which pushes through the gateway.

use carrel_model::{CommitId, Holder, RefName, TaskId, Timestamp};

use crate::{GitError, Mirror, refs::Move};

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
