//! Pulls that are merged by themselves, where that is wanted.
//!
//! Here the wish is on the pull: as soon as nothing stands in the way, its task is asked to merge it, like a person would,
//! so that a check that fails goes back to the agent. A pull without a task goes through the lane alone.
//!
//! At a forge outside, the forge merges. It knows nothing of the rules of the house, so it is asked only once they are
//! kept, and asked to leave it when they are not any more. A wish that it took for a head is not said again for that
//! head: whoever took it back there meant it.

use std::sync::Arc;

use carrel_forge::{Forge, ForgeError, Pull, PullNumber};
use carrel_model::{
    RepoName,
    public::{PullPhase, PullView, Verdict},
    repo::{MergeStyle, Repo},
    task::{TaskPhase, TaskWant},
};
use futures::future::BoxFuture;

use super::{
    MergeRefused, MergeWish, check,
    merge::{merge_pull, way_of},
};
use crate::{Error, forges::forge_of, house::House};

/// What a forge took, and of which head: a word that is remembered with the pull.
const TAKEN: &str = "auto-merge taken";
/// What a forge did not take, and when nothing has changed since it would not.
const ASKED: &str = "auto-merge asked";

/// Does what is next for a pull that is to be merged by itself. Says whether the forge was told something, so that the
/// pull is another one now. What goes wrong is tried again by the next walk.
pub(crate) async fn tend(house: &Arc<House>, repo: &Repo, pull: &PullView) -> bool {
    if pull.phase.is_over() {
        return false;
    }
    let tended = match pull.forge.as_str() {
        "embedded" => merge_here(house, pull).await.map(|()| false),
        _ => wish_there(house, repo, pull).await,
    };
    tended.unwrap_or_else(|error| {
        let (repo, number) = (&repo.name, pull.number);
        tracing::info!(error = &error as &dyn std::error::Error, %repo, number, "a pull is not merged by itself");
        false
    })
}

/// A pull here gets the wish of its repository once, when it is opened: from then on people decide.
pub(super) async fn wish_here(
    house: &Arc<House>,
    forge: &dyn Forge,
    repo: &Repo,
    pull: &Pull,
    style: MergeStyle,
) -> Result<(), Error> {
    let number = pull.number.0;
    if house.store.seen_pulls().heard(&repo.name, number).await?.contains_key(TAKEN) {
        return Ok(());
    }
    forge.auto_merge(pull.number, Some(way_of(style))).await?;
    remember(house, &repo.name, number, TAKEN, pull.head_commit.as_str()).await
}

/// Asks that a pull be merged by itself, or that it is not: the wish of a person, which the house does not turn round for
/// this head.
pub(crate) async fn merge_pull_by_itself(
    house: &Arc<House>,
    repo: &Repo,
    forge: &dyn Forge,
    number: u64,
    style: Option<MergeStyle>,
) -> Result<(), Error> {
    let head = forge.get(PullNumber(number)).await?.head_commit;
    forge.auto_merge(PullNumber(number), style.map(way_of)).await?;
    remember(house, &repo.name, number, TAKEN, head.as_str()).await
}

/// A pull here is merged as soon as nothing stands in the way.
async fn merge_here(house: &Arc<House>, pull: &PullView) -> Result<(), Error> {
    if pull.auto_merge.is_none() || pull.phase != PullPhase::Mergeable {
        return Ok(());
    }
    if let Some(task) = house.store.tasks().of_branch(&pull.repo, &pull.head).await? {
        let id = task.id;
        let asked = house.store.change(move |tx| {
            Box::pin(async move {
                let Some((mut task, _)) = tx.lock_task(id).await? else { return Ok(()) };
                if (task.phase, task.want) != (TaskPhase::InReview, TaskWant::Review) {
                    return Ok(());
                }
                (task.want, task.attempts, task.next_attempt_at) = (TaskWant::Merged, 0, None);
                tx.put_task(&mut task).await?;
                Ok::<_, Error>(())
            })
        });
        return asked.await;
    }
    let base = house.library.mirror(&pull.repo).await?.find(&pull.base.full()).await?;
    if house.forges.is_worth_a_try(pull, base) {
        let wish = MergeWish {
            repo: pull.repo.clone(),
            number: pull.number,
            style: pull.auto_merge,
            expected_head: Some(pull.head_commit.clone()),
            by: check::house_grant(),
        };
        // A check may take its time; whoever looks goes on.
        house.tasks().spawn(merge_soon(Arc::clone(house), wish, pull.clone()));
    }
    Ok(())
}

/// What was refused is tried again when its head or its base has moved; what could not be tried, at the next look.
fn merge_soon(house: Arc<House>, wish: MergeWish, pull: PullView) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        if let Err(refused) = merge_pull(&house, wish).await {
            if matches!(refused, MergeRefused::Failed(_)) {
                house.forges.forget_the_try(&pull);
            }
            tracing::info!(repo = %pull.repo, number = pull.number, "a pull was not merged by itself: {refused}");
        }
    })
}

/// The forge of a task's pull is asked to merge it, or not to.
async fn wish_there(house: &Arc<House>, repo: &Repo, pull: &PullView) -> Result<bool, Error> {
    let rules = &repo.rules.pulls;
    if !rules.auto_merge || pull.task_id.is_none() {
        return Ok(false);
    }
    let head = pull.head_commit.to_string();
    let heard = house.store.seen_pulls().heard(&repo.name, pull.number).await?;
    let kept = !pull.draft && pull.approvals >= rules.approvals() && pull.verdict != Some(Verdict::ChangesRequested);
    if !kept {
        // A forge drops the wish by itself when a pull becomes a draft. Either way it is said again later.
        if heard.get(TAKEN).is_some_and(|taken| !taken.is_empty()) {
            remember(house, &repo.name, pull.number, TAKEN, "").await?;
        }
        if pull.draft || pull.auto_merge.is_none() {
            return Ok(false);
        }
        forge_of(house, repo).await?.auto_merge(PullNumber(pull.number), None).await?;
        return Ok(true);
    }
    // Whether a forge takes it depends on what there is to wait for.
    let facts = format!("{head} {:?} {:?} {}", pull.phase, pull.checks, pull.approvals);
    if pull.auto_merge.is_some() || heard.get(TAKEN) == Some(&head) || heard.get(ASKED) == Some(&facts) {
        return Ok(false);
    }
    let way = way_of(repo.rules.merge);
    match forge_of(house, repo).await?.auto_merge(PullNumber(pull.number), Some(way)).await {
        Ok(()) => {
            remember(house, &repo.name, pull.number, TAKEN, &head).await?;
            Ok(true)
        }
        // Nothing stands in its way, or it is not allowed there: then a person merges it.
        Err(
            error @ (ForgeError::Conflict { .. }
            | ForgeError::Invalid { .. }
            | ForgeError::Denied { .. }
            | ForgeError::NotFound { .. }),
        ) => {
            let (repo, number) = (&repo.name, pull.number);
            tracing::info!(error = &error as &dyn std::error::Error, %repo, number, "a forge does not merge by itself");
            remember(house, repo, number, ASKED, &facts).await?;
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

async fn remember(
    house: &Arc<House>,
    repo: &RepoName,
    number: u64,
    word: &'static str,
    version: &str,
) -> Result<(), Error> {
    let (repo, version) = (repo.clone(), version.to_owned());
    let change = house.store.change(move |tx| {
        Box::pin(async move { Ok::<_, Error>(tx.hear(&repo, number, word, &version).await.map(drop)?) })
    });
    change.await
}
