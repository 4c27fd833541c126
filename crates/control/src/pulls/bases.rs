//! Bases: the branches that others are merged into. When one moves, whoever is to be merged into it must know.
//!
//! What was told is written down, so that a move is told once, and also when everything died right after it.

use std::sync::Arc;

use carrel_model::{Branch, RepoName, public::BaseView, repo::Repo};

use crate::{Error, house::House};

/// Watches a branch from now on.
pub(crate) async fn watch_base(house: &Arc<House>, repo: &RepoName, branch: &Branch) -> Result<(), Error> {
    if house.store.seen_pulls().bases(repo).await?.iter().any(|(known, _)| known == branch) {
        return Ok(());
    }
    let commit = house.library.mirror(repo).await?.find(&branch.full()).await?;
    let (repo, branch) = (repo.clone(), branch.clone());
    let change = house.store.change(move |tx| {
        Box::pin(async move { Ok::<_, Error>(tx.watch_base(&repo, &branch, commit.as_ref()).await?) })
    });
    change.await
}

/// Tells of the bases of a repository that are no longer where they were told to be.
pub(crate) async fn tell_of_bases(house: &Arc<House>, repo: &Repo) -> Result<(), Error> {
    if let Some(branch) = repo.default_branch.as_ref().filter(|_| repo.head.is_some()) {
        watch_base(house, &repo.name, branch).await?;
    }
    let mirror = house.library.mirror(&repo.name).await?;
    for (branch, before) in house.store.seen_pulls().bases(&repo.name).await? {
        let commit = mirror.find(&branch.full()).await?;
        if commit == before {
            continue;
        }
        let rewritten = match (&before, &commit) {
            (Some(before), Some(commit)) => !mirror.is_here_before(before, commit).await?,
            _ => false,
        };
        let base = BaseView { repo: repo.name.clone(), branch, commit, before, rewritten };
        let change = house.store.change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.move_base(base).await?) }));
        change.await?;
    }
    Ok(())
}
