//! The work desk: what there is in a sandbox's checkout, for people who look after it by hand. Tasks go the same ways.

use std::sync::Arc;

use carrel_model::{Action, CommitId, Grant, RepoName, SandboxId, Subject, TaskId};

use crate::{
    Error, SandboxesDesk, Work,
    house::House,
    work::{
        self,
        furnish::{Saved, find_saved},
    },
};

/// Looks at work in checkouts, saves it, commits it and pushes it.
pub struct WorkDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl WorkDesk<'_> {
    /// Looks at what there is.
    pub async fn look(&self, grant: &Grant, id: &SandboxId) -> Result<Work, Error> {
        self.admit(grant, id).await?;
        work::look_at_work(self.house, id).await
    }

    /// Saves the working tree under the task's name; nothing when nothing is new.
    pub async fn save(&self, grant: &Grant, id: &SandboxId) -> Result<Option<CommitId>, Error> {
        self.admit(grant, id).await?;
        work::save_work(self.house, id).await
    }

    /// Goes on from saved work.
    pub async fn restore(&self, grant: &Grant, id: &SandboxId, commit: &CommitId) -> Result<(), Error> {
        self.admit(grant, id).await?;
        work::restore_work(self.house, id, commit).await
    }

    /// Commits everything that is not ignored; nothing when there is nothing.
    pub async fn commit(
        &self,
        grant: &Grant,
        id: &SandboxId,
        message: &str,
        trailers: &[(&str, &str)],
    ) -> Result<Option<CommitId>, Error> {
        self.admit(grant, id).await?;
        work::commit_work(self.house, id, message, trailers).await
    }

    /// Pushes what is checked out to the task's branch.
    pub async fn push(&self, grant: &Grant, id: &SandboxId) -> Result<CommitId, Error> {
        self.admit(grant, id).await?;
        work::push_work(self.house, id).await
    }

    /// What was saved last of a task.
    pub async fn saved(&self, grant: &Grant, repo: &RepoName, task: TaskId) -> Result<Option<Saved>, Error> {
        self.house.admit(grant, Action::RepoRead, Subject::Repo(repo)).await?;
        find_saved(self.house, repo, task).await
    }

    async fn admit(&self, grant: &Grant, id: &SandboxId) -> Result<(), Error> {
        let view = SandboxesDesk { house: self.house }.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxExec, subject).await
    }
}
