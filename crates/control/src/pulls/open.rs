//! Opening a pull request: found by its branch, else made.

use std::sync::Arc;

use carrel_forge::{Forge, ForgeError, NewPull, Pull, PullChange, PullState};
use carrel_model::{Branch, RepoName, public::PullView, repo::MergeStyle};

use super::{by_itself::wish_here, look_at_pull, watch_base};
use crate::{
    Error,
    desks::repos::find,
    forges::{Place, forge_of},
    house::House,
};

/// A pull request that is wanted.
#[derive(Debug, Clone)]
pub(crate) struct PullWish {
    /// In which repository.
    pub(crate) repo: RepoName,
    /// The branch that is to be merged.
    pub(crate) head: Branch,
    /// The branch it is to be merged into.
    pub(crate) base: Branch,
    /// What it is called: one line.
    pub(crate) title: String,
    /// What it says of itself.
    pub(crate) body: String,
    /// Whether it is still being worked on.
    pub(crate) draft: bool,
    /// That is said when it is opened, and people decide from then on.
    pub(crate) draft_at_opening: bool,
    /// How it is merged by itself once nothing stands in the way; left as it is when absent.
    pub(crate) auto_merge: Option<MergeStyle>,
    /// Labels that it has at least.
    pub(crate) labels: Vec<String>,
    /// Whose review is asked for.
    pub(crate) reviewers: Vec<String>,
}

/// Opens a pull, or finds it by its branch and brings it to what is wanted. One that was merged or closed with the same
/// commits is found as it is: nobody opens again what a person closed.
pub(crate) async fn open_pull(house: &Arc<House>, wish: &PullWish) -> Result<PullView, Error> {
    let repo = find(house, &wish.repo).await?;
    let (place, forge) = (Place::of(house, &repo).await?, forge_of(house, &repo).await?);
    let mirror = house.library.mirror(&repo.name).await?;
    let tip = mirror.find(&wish.head.full()).await?;
    let found = forge.find(&wish.head).await?;
    let is_over = |pull: &Pull| pull.state != PullState::Open;
    if let Some(pull) = found.as_ref().filter(|pull| is_over(pull))
        && tip.as_ref().is_none_or(|tip| *tip == pull.head_commit)
    {
        return look_at_pull(house, &repo.name, pull.number.0).await;
    }
    let pull = match found.filter(|pull| !is_over(pull)) {
        Some(pull) => pull,
        None => {
            let new = NewPull {
                title: wish.title.clone(),
                body: wish.body.clone(),
                head: wish.head.clone(),
                base: wish.base.clone(),
                draft: wish.draft,
            };
            forge.open(&new).await?
        }
    };
    bring_to(&*forge, &pull, wish).await?;
    if let Some(style) = wish.auto_merge.filter(|_| place == Place::Embedded) {
        wish_here(house, &*forge, &repo, &pull, style).await?;
    }
    watch_base(house, &repo.name, &wish.base).await?;
    look_at_pull(house, &repo.name, pull.number.0).await
}

async fn bring_to(forge: &dyn Forge, pull: &Pull, wish: &PullWish) -> Result<(), Error> {
    let other = |wanted: &String, is: &String| (wanted.trim() != is.trim()).then(|| wanted.clone());
    let change = PullChange {
        title: other(&wish.title, &pull.title),
        body: other(&wish.body, &pull.body),
        base: (wish.base != pull.base).then(|| wish.base.clone()),
        open: None,
    };
    if change != PullChange::default() {
        forge.update(pull.number, &change).await?;
    }
    if wish.draft != pull.draft && !wish.draft_at_opening {
        forge.set_draft(pull.number, wish.draft).await?;
    }
    let missing: Vec<String> = wish.labels.iter().filter(|label| !pull.labels.contains(label)).cloned().collect();
    if !missing.is_empty() {
        content(forge.label(pull.number, &missing).await, "labels")?;
    }
    let missing: Vec<String> = wish.reviewers.iter().filter(|login| !pull.reviewers.contains(login)).cloned().collect();
    if !missing.is_empty() {
        content(forge.request_reviewers(pull.number, &missing).await, "reviewers")?;
    }
    Ok(())
}

/// A pull without its labels or reviewers is still a pull: what the forge will never take is said and left.
fn content(asked: Result<(), ForgeError>, what: &str) -> Result<(), Error> {
    match asked {
        Err(error @ (ForgeError::Invalid { .. } | ForgeError::Denied { .. } | ForgeError::NotFound { .. })) => {
            tracing::warn!(error = &error as &dyn std::error::Error, what, "a pull is without them");
            Ok(())
        }
        asked => Ok(asked?),
    }
}
