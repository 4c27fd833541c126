//! A branch is put on top of its base, before anybody is asked to do it by hand.

use std::sync::Arc;

use carrel_git::{
    GitError, Identity, Move,
    merge::{Integrated, Offer, RungRecord},
};
use carrel_model::{Branch, CommitId, RepoName, repo::MergeStyle};

use super::{check, look_at_pulls_of, signer_of};
use crate::{Error, desks::repos::find, house::House};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rebased {
    /// It stands on its base already.
    Already,
    /// It stands on its base now.
    Moved {
        /// Where it is.
        commit: CommitId,
        /// How conflicts were settled.
        records: Vec<RungRecord>,
    },
    /// These paths are for the agent, or a person.
    Conflicts {
        /// The paths.
        paths: Vec<String>,
        /// The commit of the branch that does not fit.
        at: Option<CommitId>,
        /// What was tried.
        records: Vec<RungRecord>,
    },
}

/// Puts a branch on top of its base, as far as the ladder goes without the agent. The branch moves only from where it
/// was looked at: whoever pushes meanwhile is not overwritten.
pub(crate) async fn rebase_branch(
    house: &Arc<House>,
    repo: &RepoName,
    branch: &Branch,
    base: &Branch,
) -> Result<Rebased, Error> {
    let repo = find(house, repo).await?;
    let mirror = house.library.mirror(&repo.name).await?;
    let (head, target) = (mirror.head_of(branch).await?, mirror.head_of(base).await?);
    if mirror.is_ancestor(&target, &head).await? {
        return Ok(Rebased::Already);
    }
    let committer = Identity::house();
    let signer = signer_of(house, &repo.name).await?;
    let author = mirror.author_of(&head).await?;
    let offer = Offer {
        base: &target,
        head: &head,
        style: MergeStyle::Rebase,
        message: "",
        author: &author,
        committer: &committer,
        signer: signer.as_ref(),
    };
    let (commit, records) = match house.forges.ladder.integrate(&mirror, &offer).await? {
        Integrated::Already => (target, Vec::new()),
        Integrated::Conflicted { paths, at, records } => return Ok(Rebased::Conflicts { paths, at, records }),
        Integrated::Ready { commit, regenerate, records } => {
            match check::make_anew(house, &repo, &mirror, commit, base, &regenerate).await? {
                Some(commit) => (commit, records),
                None => {
                    let paths = regenerate.into_iter().map(|file| file.path).collect();
                    return Ok(Rebased::Conflicts { paths, at: None, records });
                }
            }
        }
    };
    let step = Move { name: branch.full(), from: Some(head), to: Some(commit.clone()) };
    match mirror.move_refs(&[step]).await {
        Ok(()) => {}
        Err(GitError::Moved { .. }) => {
            return Err(Error::Unavailable { why: format!("`{branch}` moved meanwhile; try again"), source: None });
        }
        Err(error) => return Err(error.into()),
    }
    look_at_pulls_of(house, &repo.name, branch).await?;
    Ok(Rebased::Moved { commit, records })
}
