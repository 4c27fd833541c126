//! The letter box: what forges send by themselves. A letter is a hint; then we look.

use std::sync::{Arc, PoisonError};

use carrel_forge::{
    Notice,
    hooks::{Dialect, HookError},
};
use carrel_model::{CommitId, RepoName};
use carrel_store::PullFilter;
use secrecy::SecretString;

use super::look_at_pull;
use crate::{
    Error,
    desks::repos::{bring_up_to_date, find},
    forges::Place,
    house::House,
};

/// What became of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// It was believed, and whatever it is about is looked at.
    Taken,
    /// It came before.
    Again,
    /// It is about nothing that concerns us.
    Nothing,
}

/// Takes a letter in, if it is signed with what the repository and its forge agreed on. Without such a secret nothing is
/// believed. An unknown repository answers like a letter that is not believed: nobody learns which ones there are.
pub(crate) async fn take_letter(
    house: &Arc<House>,
    dialect: Dialect,
    repo: &RepoName,
    headers: &http::HeaderMap,
    body: &[u8],
) -> Result<Posted, LetterRefused> {
    let secret: Option<SecretString> = match house.store.repos().find(repo).await.map_err(Error::from)? {
        Some(_) => house.reveal(Some(repo), &"webhook-secret".parse().expect("a good name")).await?,
        None => None,
    };
    let secrets: Vec<SecretString> = secret.into_iter().collect();
    let letter = dialect.read(&secrets, headers, body)?;
    let repo = find(house, repo).await?;
    let slug = match Place::of(house, &repo).await? {
        Place::GitHub { slug, .. } | Place::Gitea { slug, .. } => Some(slug),
        Place::Embedded => None,
    };
    // A secret may be shared by many repositories: a letter about another one is not ours.
    let about_us = letter
        .repository
        .as_ref()
        .is_none_or(|about| slug.as_ref().is_some_and(|slug| slug.as_str().eq_ignore_ascii_case(about.as_str())));
    if !about_us {
        return Err(
            HookError::Malformed { why: format!("the letter is not about the repository of `{}`", repo.name) }.into()
        );
    }
    let now = house.store.now();
    if !house.forges.replays.lock().unwrap_or_else(PoisonError::into_inner).is_new(&letter, now) {
        return Ok(Posted::Again);
    }
    let Some(notice) = letter.notice else { return Ok(Posted::Nothing) };
    // The forge waits for an answer, and not for long.
    let (house, name) = (Arc::clone(house), repo.name);
    let tasks = house.tasks().clone();
    tasks.spawn(async move {
        if let Err(error) = follow(&house, &name, notice).await {
            tracing::warn!(error = &error as &dyn std::error::Error, repo = %name, "a letter was not followed");
        }
    });
    Ok(Posted::Taken)
}

/// Why a letter was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LetterRefused {
    /// It is not believed, or makes no sense.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// It could not be looked at.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Looks at whatever a notice is about.
pub(crate) async fn follow(house: &Arc<House>, repo: &RepoName, notice: Notice) -> Result<(), Error> {
    match notice {
        Notice::Pull { pull, .. } => look_at_pull(house, repo, pull.number.0).await.map(drop),
        Notice::Comment { number, .. } | Notice::Review { number, .. } => {
            look_at_pull(house, repo, number.0).await.map(drop)
        }
        Notice::Check { commit, .. } => look_at_head(house, repo, &commit).await,
        Notice::Push { .. } => bring_up_to_date(house, repo).await.map(drop),
    }
}

/// Looks at the open pulls whose head is a commit.
async fn look_at_head(house: &Arc<House>, repo: &RepoName, commit: &CommitId) -> Result<(), Error> {
    let filter = PullFilter { repo: Some(repo.clone()), over: Some(false), ..PullFilter::default() };
    for pull in house.store.seen_pulls().list(&filter, 1000).await? {
        if pull.head_commit == *commit {
            look_at_pull(house, repo, pull.number).await?;
        }
    }
    Ok(())
}
