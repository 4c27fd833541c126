//! A merge in the embedded forge, in steps that may end anywhere.
//!
//! 1. The commits are made; no branch moves.
//! 2. The row says which commit the base is about to get.
//! 3. The base moves, if it is still where it was.
//! 4. The row says that it is merged.
//!
//! After a crash between 2 and 4 the next call sees whether the base has the commit: if so it goes on with 4, else
//! it begins anew.

use crate::{
    CommitId, Forge, ForgeError, Merge, MergeWay, Mergeable, Merged, PullNumber, PullRow, PullState, Weave, Woven,
};

use super::{Embedded, now};

/// How often a merge begins anew because the base moved under it.
const TRIES: usize = 8;

pub(super) async fn merge(forge: &Embedded, number: PullNumber, merge: &Merge) -> Result<Merged, ForgeError> {
    let repository = &forge.config.repository;
    for _ in 0..TRIES {
        let row = forge.row(number).await?;
        match &row.pull.state {
            PullState::Merged { commit } => return Ok(Merged { commit: commit.clone() }),
            PullState::Closed => return Err(ForgeError::conflict(format!("pull request {number} is closed"))),
            PullState::Open => {}
        }
        if let Some(commit) = done(forge, &row).await? {
            return finish(forge, row, commit).await;
        }
        // Looking brings the head up to date, and with it the row.
        let pull = forge.get(number).await?;
        if pull.head_commit != merge.head {
            let why = format!("the head of pull request {number} has moved to {}", pull.head_commit);
            return Err(ForgeError::conflict(why));
        }
        if pull.draft {
            return Err(ForgeError::conflict(format!("pull request {number} is a draft")));
        }
        let base = forge.tip(&pull.base).await?;
        let weave = Weave {
            base: base.clone(),
            head: pull.head_commit.clone(),
            way: merge.way,
            message: message_of(merge, &pull),
            author: forge.config.login.clone(),
        };
        let commit = match repository.weave(&weave).await? {
            Woven::Clean(commit) => commit,
            Woven::Conflicted(paths) => {
                let why = format!("pull request {number} conflicts with `{}` in {}", pull.base, paths.join(", "));
                return Err(ForgeError::conflict(why));
            }
        };
        let row = forge.row(number).await?;
        let announced = PullRow { merging: Some(commit.clone()), ..row };
        if !forge.config.ledger.put_pull(announced.clone()).await? {
            continue;
        }
        if repository.advance(&announced.pull.base, &base, &commit).await? {
            return finish(forge, PullRow { revision: announced.revision + 1, ..announced }, commit).await;
        }
    }
    Err(ForgeError::unavailable(format!("the base of pull request {number} does not hold still")))
}

/// The commit that the base has got, when an open pull turns out to be merged: by a call that died before it could say
/// so, or by somebody who pushed its commits to the base.
pub(super) async fn done(forge: &Embedded, row: &PullRow) -> Result<Option<CommitId>, ForgeError> {
    let repository = &forge.config.repository;
    for commit in row.merging.iter().chain([&row.pull.head_commit]) {
        if repository.contains(&row.pull.base, commit).await? {
            return Ok(Some(commit.clone()));
        }
    }
    Ok(None)
}

/// Writes down that it is merged.
pub(super) async fn finish(forge: &Embedded, mut row: PullRow, commit: CommitId) -> Result<Merged, ForgeError> {
    loop {
        row.pull.state = PullState::Merged { commit: Some(commit.clone()) };
        row.pull.mergeable = Mergeable::Unknown;
        row.pull.auto_merge = None;
        row.pull.updated_at = now();
        row.merging = None;
        let number = row.pull.number;
        if forge.config.ledger.put_pull(row).await? {
            return Ok(Merged { commit: Some(commit) });
        }
        row = forge.row(number).await?;
    }
}

fn message_of(merge: &Merge, pull: &crate::Pull) -> String {
    let title = merge.title.clone().unwrap_or_else(|| match merge.way {
        MergeWay::Squash => format!("{} (#{})", pull.title, pull.number),
        MergeWay::Merge | MergeWay::Rebase => format!("Merge pull request #{} from {}", pull.number, pull.head),
    });
    let message = merge.message.clone().unwrap_or_else(|| match merge.way {
        MergeWay::Squash => pull.body.clone(),
        MergeWay::Merge | MergeWay::Rebase => pull.title.clone(),
    });
    format!("{title}\n\n{message}").trim_end().to_owned()
}
