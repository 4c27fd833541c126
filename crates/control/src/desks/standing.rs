//! How a task stands with others: its own pull request, what was said there, and who else is at the same place.
//!
//! Whoever may look at a task may look at these, also its own desk, which sees nothing else of the repository's pulls.

use carrel_model::{
    Action, Grant, RepoName, TaskId,
    public::{CheckView, CommentView, OverlapView, OverlapWith, PullView},
    task::{Conflict, Task},
};

use super::tasks::TasksDesk;
use crate::{Error, PullsDesk, tasks::desk::grant_of};

impl TasksDesk<'_> {
    /// The pull request of a task, as it now is.
    pub async fn pull(&self, grant: &Grant, id: TaskId) -> Result<PullView, Error> {
        let (house, repo, number) = self.pull_of(grant, id).await?;
        (PullsDesk { house: self.house }).get(&house, &repo, number).await
    }

    /// What was said at the pull request of a task, the oldest first.
    pub async fn pull_comments(&self, grant: &Grant, id: TaskId) -> Result<Vec<CommentView>, Error> {
        let (house, repo, number) = self.pull_of(grant, id).await?;
        (PullsDesk { house: self.house }).comments(&house, &repo, number).await
    }

    /// The checks of the pull request of a task.
    pub async fn pull_checks(&self, grant: &Grant, id: TaskId) -> Result<Vec<CheckView>, Error> {
        let (house, repo, number) = self.pull_of(grant, id).await?;
        (PullsDesk { house: self.house }).checks(&house, &repo, number).await
    }

    /// Who else is at the same place.
    pub async fn overlap(&self, grant: &Grant, id: TaskId) -> Result<OverlapView, Error> {
        let task = self.look(grant, id, Action::TaskRead).await?;
        let conflicts = self.others(&task, &task.conflicts).await?;
        let shares = self.others(&task, &task.shares).await?;
        let claims = self.areas(&grant_of(&task.created_by), &task.repo).await?;
        Ok(OverlapView { conflicts, shares, claims: claims.into_iter().filter(|area| area.task_id != id).collect() })
    }

    /// Who they are.
    async fn others(&self, task: &Task, with: &[Conflict]) -> Result<Vec<OverlapWith>, Error> {
        let mut others = Vec::with_capacity(with.len());
        for one in with {
            let other = match one.task_id {
                Some(other) => self.house.store.tasks().find(other).await?,
                None => None,
            };
            others.push(OverlapWith {
                task_id: one.task_id,
                title: other.as_ref().map_or_else(|| task.base.to_string(), |other| other.title.clone()),
                agent: other.map(|other| other.agent),
                paths: one.paths.clone(),
            });
        }
        Ok(others)
    }

    /// Where the pull request of a task is, and the grant to look at it: the house's own.
    async fn pull_of(&self, grant: &Grant, id: TaskId) -> Result<(Grant, RepoName, u64), Error> {
        let Task { repo, pull, created_by, phase, .. } = self.look(grant, id, Action::TaskRead).await?;
        let Some(pull) = pull else {
            let what =
                if phase.is_over() { "" } else { " yet: the house opens it when a turn ends and nothing is missing" };
            return Err(Error::NotFound { what: format!("pull request of task {id}{what}") });
        };
        Ok((grant_of(&created_by), repo, pull.number))
    }
}
