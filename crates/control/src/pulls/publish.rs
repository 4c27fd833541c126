//! Publishing: a branch of ours goes upstream, so that a forge there can show it.

use std::sync::Arc;

use carrel_git::{GitError, Move, Publication};
use carrel_model::{Branch, CommitId, Holder, RefName, RepoName, task::Task};

use crate::{Error, desks::repos::find, house::House};

/// What came of publishing a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Published {
    /// The repository lives here: there is nowhere to publish to.
    Here,
    /// The upstream has this commit.
    Upstream {
        /// The commit.
        commit: CommitId,
        /// Whether it was there before.
        already: bool,
    },
}

/// Brings a branch upstream. `Unavailable` may be asked again; a `Conflict` needs somebody to look.
pub(crate) async fn publish(house: &Arc<House>, repo: &RepoName, branch: &Branch) -> Result<Published, Error> {
    let repo = find(house, repo).await?;
    if repo.is_hosted() {
        return Ok(Published::Here);
    }
    // Two who publish one branch at once would be in each other's way.
    let _turn = house.forges.turn(&format!("publish {}/{branch}", repo.name)).await;
    let mirror = house.library.mirror(&repo.name).await?;
    let commit = mirror.head_of(branch).await?;
    let upstream = house.upstream_of(&repo).await?;
    match mirror.publish(&upstream, branch, &commit).await {
        Ok(publication) => Ok(Published::Upstream { commit, already: publication == Publication::Already }),
        Err(GitError::Moved { .. }) => Err(Error::Conflict {
            why: format!("somebody else pushed to `{branch}` upstream; fetch it and put the work on top of it"),
        }),
        Err(GitError::Denied { why }) => Err(Error::Conflict {
            why: format!(
                "`{branch}` cannot be published: {why}; set a credential that may push with `carrel secret set`"
            ),
        }),
        Err(error) => Err(error.into()),
    }
}

/// Takes the branch of a task that is closed away, upstream and here, when what it holds is kept or in its base. A branch
/// upstream that somebody else moved stays, and so do those of a repository that keeps its branches. Can be repeated.
pub(crate) async fn take_back(house: &Arc<House>, task: &Task) -> Result<(), Error> {
    let repo = match find(house, &task.repo).await {
        Err(Error::NotFound { .. }) => return Ok(()),
        found => found?,
    };
    if repo.rules.keep_branches {
        return Ok(());
    }
    let _turn = house.forges.turn(&format!("publish {}/{}", repo.name, task.branch)).await;
    let mirror = house.library.mirror(&repo.name).await?;
    let Some(head) = mirror.find(&task.branch.full()).await? else { return Ok(()) };
    let is_kept = match mirror.find(&Holder::Task(task.id).kept()).await? {
        Some(kept) => mirror.is_ancestor(&head, &kept).await?,
        None => false,
    };
    if !is_kept && !mirror.is_in(&task.base, &head).await? {
        return Ok(());
    }
    // The pull request can be read for as long as it is known, like one that was merged.
    if let Some(pull) = &task.pull
        && let Some(seen) = house.store.seen_pulls().find(&repo.name, pull.number).await?
        && seen.head_commit == head
    {
        mirror.hold(&RefName::pull(&seen.forge, seen.number), &head).await?;
    }
    if !repo.is_hosted() {
        mirror.unpublish(&house.upstream_of(&repo).await?, &task.branch).await?;
    }
    Ok(mirror.move_refs(&[Move { name: task.branch.full(), from: Some(head), to: None }]).await?)
}
