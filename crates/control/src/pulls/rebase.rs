//! A branch is put on top of its base, before anybody is asked to do it by hand.

use std::sync::Arc;

use carrel_git::{
    GitError, Identity, Mirror, Move,
    merge::{Integrated, Offer, RungRecord},
};
use carrel_model::{Branch, CommitId, RepoName, TaskId, public::PullView, repo::MergeStyle};

use super::{check, look_at_pulls_of, settled, signer_of};
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
/// was looked at: whoever pushes meanwhile is not overwritten. Whose branch it is counts when the base was rewritten.
/// With a pull, it moves only from the head of that, which stays under a name of its own.
pub(crate) async fn rebase_branch(
    house: &Arc<House>,
    repo: &RepoName,
    branch: &Branch,
    base: &Branch,
    task: Option<TaskId>,
    pull: Option<&PullView>,
) -> Result<Rebased, Error> {
    let repo = find(house, repo).await?;
    let mirror = house.library.mirror(&repo.name).await?;
    let (head, target) = (mirror.head_of(branch).await?, mirror.head_of(base).await?);
    let moved = || Error::Unavailable { why: format!("`{branch}` moved meanwhile; try again"), source: None };
    if pull.is_some_and(|pull| pull.head_commit != head) {
        return Err(moved());
    }
    if mirror.is_ancestor(&target, &head).await? {
        return Ok(Rebased::Already);
    }
    let committer = Identity::house();
    let signer = signer_of(house, &repo.name).await?;
    let author = mirror.author_of(&head).await?;
    let since = began_outside(house, &mirror, task, &target, &head).await?;
    let offer = Offer {
        base: &target,
        head: &head,
        style: MergeStyle::Rebase,
        message: "",
        author: &author,
        committer: &committer,
        signer: signer.as_ref(),
        since: since.as_ref(),
    };
    let (commit, records) = match house.forges.ladder.integrate(&mirror, &offer).await? {
        Integrated::Already => (target, Vec::new()),
        Integrated::Conflicted { paths, at, records } => return Ok(Rebased::Conflicts { paths, at, records }),
        Integrated::Ready { commit, regenerate, records } => {
            match check::make_anew(house, &repo, &mirror, commit, base, task, &regenerate).await? {
                Some(commit) => (commit, records),
                None => {
                    let paths: Vec<String> = regenerate.into_iter().map(|file| file.path).collect();
                    let records = check::unmade(records, &paths);
                    return Ok(Rebased::Conflicts { paths, at: None, records });
                }
            }
        }
    };
    let mut steps = vec![Move { name: branch.full(), from: Some(head.clone()), to: Some(commit.clone()) }];
    if let Some(pull) = pull {
        let name = settled::place(&pull.forge, pull.number, &commit);
        let from = mirror.find(&name).await?;
        steps.push(Move { name, from, to: Some(head) });
    }
    match mirror.move_refs(&steps).await {
        Ok(()) => {}
        Err(GitError::Moved { .. }) => return Err(moved()),
        Err(error) => return Err(error.into()),
    }
    look_at_pulls_of(house, &repo.name, branch).await?;
    Ok(Rebased::Moved { commit, records })
}

/// Where the work of a task began, when its base was rewritten since and does not have that any more: what lies before it
/// is not the task's own.
pub(super) async fn began_outside(
    house: &House,
    mirror: &Mirror,
    task: Option<TaskId>,
    base: &CommitId,
    head: &CommitId,
) -> Result<Option<CommitId>, Error> {
    let Some(task) = task else { return Ok(None) };
    let task = house.store.tasks().find(task).await?;
    // Another attempt may begin at a checkpoint, and has what was done until then as its own.
    let began = task.filter(|task| !task.goes_on()).and_then(|task| task.base_commit);
    let Some(began) = began else { return Ok(None) };
    let is_outside = mirror.has(&began).await?
        && !mirror.is_ancestor(&began, base).await?
        && mirror.is_ancestor(&began, head).await?;
    Ok(is_outside.then_some(began))
}
