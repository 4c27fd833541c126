//! How far the first fetch of a repository is, told in its note while it lasts.
//!
//! Only the first one: later fetches bring what is new since a minute ago, and nobody waits for them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use carrel_git::{Mirror, Progress, Stage};
use carrel_model::{RepoName, repo::RepoPhase};

use crate::{Error, house::House};

/// How often it is told at most: each time is a change of the row and an event.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// Tells how far git is, for as long as it is asked to.
pub(super) async fn tell(house: &Arc<House>, name: &RepoName, mirror: &Mirror) -> Infallible {
    let mut progress = mirror.progress();
    let mut told = String::new();
    while progress.changed().await.is_ok() {
        let step = *progress.borrow_and_update();
        let Some(words) = step.map(|step| words(&step)).filter(|words| *words != told) else { continue };
        if let Err(error) = note(house, name, words.clone()).await {
            tracing::debug!(repo = %name, error = &error as &dyn std::error::Error, "nobody hears how far a fetch is");
        }
        told = words;
        tokio::time::sleep(TELL_EVERY).await;
    }
    std::future::pending().await
}

async fn note(house: &Arc<House>, name: &RepoName, words: String) -> Result<(), Error> {
    let name = name.clone();
    let noted = house.store.change(move |tx| {
        Box::pin(async move {
            if let Some(mut repo) = tx.lock_repo(&name).await?.filter(|repo| repo.phase == RepoPhase::Cloning) {
                repo.note = Some(words);
                tx.put_repo(&mut repo).await?;
            }
            Ok::<_, Error>(())
        })
    });
    noted.await
}

fn words(step: &Progress) -> String {
    let (percent, total) = (step.percent(), step.total);
    match step.stage {
        Stage::Preparing => format!("The upstream puts its objects together: {percent} % of {total}."),
        Stage::Receiving => format!("Objects arrive: {percent} % of {total}."),
        Stage::Resolving => format!("What arrived is put together: {percent} % of {total}."),
        Stage::WritingFiles | Stage::Other => format!("Git is at it: {percent} % of {total}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_is_told_in_words_with_how_much_there_is() {
        let read = |line: &str| words(&Progress::read(line).unwrap());
        assert_eq!(
            read("remote: Counting objects: 100% (4/4), done."),
            "The upstream puts its objects together: 100 % of 4."
        );
        assert_eq!(read("Receiving objects:  45% (450/1000), 1.2 MiB | 3 MiB/s"), "Objects arrive: 45 % of 1000.");
        assert_eq!(read("Resolving deltas:   0% (0/7)"), "What arrived is put together: 0 % of 7.");
    }
}
