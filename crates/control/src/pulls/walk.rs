//! The walk past all pulls: finds what nobody told us, and merges what is to be merged by itself.

use std::{sync::Arc, time::Duration};

use carrel_forge::{Reading, poll};
use carrel_git::Move;
use carrel_model::{
    TaskId,
    public::PullView,
    repo::{Repo, RepoPhase},
};
use carrel_store::PullFilter;

use super::{letters, look_at_pull, tell_of_bases, tend_pull};
use crate::{
    Error,
    forges::{Place, forge_of},
    house::House,
};

/// How often forges that may send nothing are asked.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Gives back the lanes that an earlier life of this node held.
pub(crate) async fn take_up_former_lanes(house: &Arc<House>) -> Result<(), Error> {
    Ok(house.store.lanes().leave_all_of(house.settings.node.as_str()).await?)
}

/// Walks past every repository now and then.
pub(crate) async fn walk(house: Arc<House>) {
    loop {
        // Of several nodes one walks; should it die, another does.
        let walks = super::Hold::try_named(&house, "walk pulls").await.unwrap_or_default();
        let repos = match &walks {
            Some(_) => house.store.repos().list().await.unwrap_or_default(),
            None => Vec::new(),
        };
        for repo in repos.into_iter().filter(|repo| repo.phase == RepoPhase::Ready) {
            if let Err(error) = pass_by(&house, &repo).await {
                tracing::debug!(error = &error as &dyn std::error::Error, repo = %repo.name, "pulls were not looked at");
            }
        }
        drop(walks);
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn pass_by(house: &Arc<House>, repo: &Repo) -> Result<(), Error> {
    tell_of_bases(house, repo).await?;
    look_at_repo(house, repo).await?;
    for pull in open_pulls(house, repo).await? {
        tend_pull(house, repo, &pull).await;
    }
    Ok(())
}

/// Looks at whatever may be new at the pulls of one repository.
pub(crate) async fn look_at_repo(house: &Arc<House>, repo: &Repo) -> Result<(), Error> {
    forget_kept(house, repo).await?;
    if Place::of(house, repo).await? == Place::Embedded {
        for pull in open_pulls(house, repo).await? {
            look_at_pull(house, &repo.name, pull.number).await?;
        }
    } else {
        read_on(house, repo).await?;
    }
    Ok(())
}

/// Lets go of what closed tasks had done, once it was kept long enough. The objects stay for whoever borrows them.
async fn forget_kept(house: &Arc<House>, repo: &Repo) -> Result<(), Error> {
    let mirror = house.library.mirror(&repo.name).await?;
    let now = house.store.now();
    for (name, commit, made_at) in mirror.kept().await? {
        let task = name.as_str().strip_prefix("refs/carrel/kept/task-").and_then(|id| id.parse::<i64>().ok());
        let task = match task.and_then(|id| TaskId::try_from(id).ok()) {
            Some(id) => house.store.tasks().find(id).await?,
            None => None,
        };
        // A task that was taken up again is not over, and keeps what it has.
        let since = match task.map(|task| (task.phase.is_over(), task.ended_at)) {
            Some((false, _)) => continue,
            Some((true, ended_at)) => ended_at.unwrap_or(made_at),
            None => made_at,
        };
        if now.duration_since(since) >= house.settings.retention.kept {
            tracing::info!(repo = %repo.name, %name, %commit, "kept long enough");
            mirror.move_refs(&[Move { name, from: Some(commit), to: None }]).await?;
        }
    }
    Ok(())
}

async fn open_pulls(house: &Arc<House>, repo: &Repo) -> Result<Vec<PullView>, Error> {
    let filter = PullFilter { repo: Some(repo.name.clone()), over: Some(false), ..PullFilter::default() };
    Ok(house.store.seen_pulls().list(&filter, 1000).await?)
}

/// Reads on at a forge outside, from where we were. What it tells is looked at before the reading is written down, so that
/// a crash in between reads it again; what was told before is not told twice.
async fn read_on(house: &Arc<House>, repo: &Repo) -> Result<(), Error> {
    let forge = forge_of(house, repo).await?;
    let written = house.store.seen_pulls().reading(&repo.name).await?;
    let reading = written.and_then(|text| serde_json::from_str(&text).ok());
    // Forges count whole seconds, and by their own clock.
    let begin = repo.created_at - jiff::SignedDuration::from_mins(1);
    let reading: Reading = reading.unwrap_or_else(|| Reading::from(begin));
    let news = poll(&*forge, &reading).await?;
    for notice in news.notices {
        letters::follow(house, &repo.name, notice).await?;
    }
    if news.reading == reading {
        return Ok(());
    }
    let body = serde_json::to_string(&news.reading).map_err(|error| Error::Internal(Box::new(error)))?;
    let name = repo.name.clone();
    let change =
        house.store.change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.put_reading(&name, &body).await?) }));
    change.await
}
