//! Publishing: a branch of ours goes upstream, so that a forge there can show it.

use std::sync::Arc;

use carrel_git::{GitError, Publication};
use carrel_model::{Branch, CommitId, RepoName};

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
