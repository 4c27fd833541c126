//! A look at a pull request: whatever is new there is written down and told, once.

use std::sync::Arc;

use carrel_forge::{Forge, Pull, PullNumber};
use carrel_model::{
    Branch, CommitId, RepoName,
    public::{PullNews, PullView},
    repo::Repo,
};

use super::{
    by_itself,
    view::{Seen, checks_of, comment_of, review_of},
};
use crate::{
    Error,
    desks::repos::find,
    forges::{Place, forge_of},
    house::House,
};

/// Looks at a pull where it is, and shows it. One that is to be merged by itself is brought nearer to that.
pub(crate) async fn look_at_pull(house: &Arc<House>, repo: &RepoName, number: u64) -> Result<PullView, Error> {
    let repo = find(house, repo).await?;
    let pull = glance_at_pull(house, &repo, number).await?;
    match by_itself::tend(house, &repo, &pull).await {
        true => glance_at_pull(house, &repo, number).await,
        false => Ok(pull),
    }
}

/// Only looks.
pub(super) async fn glance_at_pull(house: &Arc<House>, repo: &Repo, number: u64) -> Result<PullView, Error> {
    let forge = forge_of(house, repo).await?;
    // One after another: who looked earlier must not write later.
    let _turn = house.forges.turn(&format!("look {}#{number}", repo.name)).await;
    let pull = forge.get(PullNumber(number)).await?;
    see(house, repo, &*forge, &pull).await
}

/// Looks at the open pulls that have a branch at either end, after it moved.
pub(crate) async fn look_at_pulls_of(house: &Arc<House>, repo: &RepoName, branch: &Branch) -> Result<(), Error> {
    let pulls = house.store.seen_pulls().touching(repo, branch).await?;
    if pulls.len() > 1 {
        learn_conflicts(house, repo, branch, &pulls).await;
    }
    for pull in pulls {
        look_at_pull(house, repo, pull.number).await?;
    }
    Ok(())
}

/// The same beside everything else. However many ask meanwhile, it is one more round.
pub(crate) fn look_at_pulls_soon(house: &Arc<House>, repo: &RepoName, branch: &Branch) {
    let wish = format!("pulls of {repo}/{branch}");
    if !house.task_keeper.looks().insert(wish.clone()) {
        return;
    }
    let (house, repo, branch) = (Arc::clone(house), repo.clone(), branch.clone());
    let (tasks, stop) = (house.tasks().clone(), house.stop().clone());
    tasks.spawn(async move {
        let round = async {
            let _turn = house.forges.turn(&format!("look at pulls of {repo}")).await;
            house.task_keeper.looks().remove(&wish);
            look_at_pulls_of(&house, &repo, &branch).await
        };
        // What is missed here is seen by the next walk.
        if let Some(Err(error)) = Box::pin(stop.run_until_cancelled(round)).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "pulls were not looked at after a merge");
        }
    });
}

/// Merges all heads with the base for a try, in one run of git, so that each look finds the answer.
async fn learn_conflicts(house: &Arc<House>, repo: &RepoName, base: &Branch, pulls: &[PullView]) {
    let learned = async {
        let mirror = house.library.mirror(repo).await?;
        let refs = mirror.refs().await?;
        let Some(tip) = refs.get(&base.full()) else { return Ok(()) };
        let on_it = pulls.iter().filter(|pull| pull.base == *base);
        let heads = on_it.filter_map(|pull| refs.get(&pull.head.full()));
        let pairs = heads.map(|head| (tip.clone(), head.clone())).collect();
        house.forges.forecaster(repo).conflicts(&mirror, pairs).await?;
        Ok::<_, Error>(())
    };
    if let Err(error) = learned.await {
        tracing::debug!(error = &error as &dyn std::error::Error, "conflicts were not learned together");
    }
}

/// Something that was said, with what it is known by and in which version.
struct Word {
    name: String,
    version: String,
    news: PullNews,
}

/// Writes down what is seen of a pull.
async fn see(house: &Arc<House>, repo: &Repo, forge: &dyn Forge, pull: &Pull) -> Result<PullView, Error> {
    let (number, head) = (pull.number, &pull.head_commit);
    let comments: Vec<_> = forge.comments(number, None).await?.into_iter().map(comment_of).collect();
    let reviews: Vec<_> = forge.reviews(number).await?.into_iter().map(review_of).collect();
    let checks = checks_of(forge.checks(head).await?);
    let place = Place::of(house, repo).await?;
    let view = Seen { repo, place: &place, pull, checks: &checks, reviews: &reviews }.view();

    let said = comments.into_iter().map(|comment| Word {
        name: format!("comment {}", comment.id),
        version: comment.updated_at.to_string(),
        news: PullNews::Comment { head: comment.commit.clone().unwrap_or_else(|| head.clone()), comment },
    });
    let judged = reviews.into_iter().map(|review| Word {
        name: format!("review {}", review.id),
        version: format!("{} {}", review.verdict.word(), review.at),
        news: PullNews::Review { head: review.commit.clone().unwrap_or_else(|| head.clone()), review },
    });
    let checked = checks.into_iter().map(|check| Word {
        name: format!("check {head} {}", check.name),
        version: format!("{} {}", check.state.word(), check.at.map(|at| at.to_string()).unwrap_or_default()),
        news: PullNews::Check { check, head: CommitId::clone(head) },
    });
    let heard = house.store.seen_pulls().heard(&repo.name, number.0).await?;
    let is_new = |word: &Word| heard.get(&word.name) != Some(&word.version);
    let words: Vec<Word> = said.chain(judged).chain(checked).filter(is_new).collect();
    let before = house.store.seen_pulls().find(&repo.name, number.0).await?;
    if let Some(before) = before.filter(|before| words.is_empty() && before.is_as(&view)) {
        return Ok(before);
    }
    write_down(house, view, words).await
}

async fn write_down(house: &Arc<House>, view: PullView, words: Vec<Word>) -> Result<PullView, Error> {
    let change = house.store.change(move |tx| {
        Box::pin(async move {
            let mut news = Vec::new();
            for word in words {
                // Another node may have heard it a moment ago.
                if tx.hear(&view.repo, view.number, &word.name, &word.version).await? {
                    news.push(word.news);
                }
            }
            Ok::<_, Error>(tx.see_pull(view, news).await?)
        })
    });
    change.await
}
