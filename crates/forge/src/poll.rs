//! News from a forge that sends none: looks at what changed since the last reading.
//!
//! Forges count time in seconds and clocks differ, so the reading goes by the forge's own times and looks at a little
//! more than it must; what is known already is left out by id and state.

use std::collections::BTreeMap;

use carrel_model::Timestamp;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::{CheckState, CommitId, Forge, ForgeError, Notice, Pull, PullMove, PullNumber, PullState};

/// How far back each reading looks again: things that were written in the same moment may show themselves late.
const OVERLAP: SignedDuration = SignedDuration::from_secs(60);

/// How far a forge was read. It is written down by whoever polls, so that a restart misses nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The newest change that was seen, by the forge's clock.
    since: Timestamp,
    pulls: BTreeMap<PullNumber, Seen>,
    /// Comments and reviews that were told of, and in which version.
    said: BTreeMap<String, Timestamp>,
    checks: BTreeMap<CommitId, BTreeMap<String, CheckState>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    state: PullState,
    head: CommitId,
    updated_at: Timestamp,
}

/// What a reading brought.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// What happened, in order as far as it can be known.
    pub notices: Vec<Notice>,
    /// Where to go on.
    pub reading: Reading,
}

impl Reading {
    /// Begins at a time: what was before is not told.
    pub fn from(since: Timestamp) -> Reading {
        Reading { since, pulls: BTreeMap::new(), said: BTreeMap::new(), checks: BTreeMap::new() }
    }
}

/// Finds out what happened since a reading.
pub async fn poll<F: Forge + ?Sized>(forge: &F, reading: &Reading) -> Result<News, ForgeError> {
    let mut news = News { notices: Vec::new(), reading: reading.clone() };
    let from = reading.since.checked_sub(OVERLAP).unwrap_or(reading.since);
    for pull in forge.changed(from).await? {
        if pull.updated_at < reading.since && !reading.pulls.contains_key(&pull.number) {
            continue;
        }
        news.look_at(&pull, reading.since);
        if pull.updated_at >= reading.since {
            news.listen(forge, pull.number, reading.since, from).await?;
        }
    }
    news.check(forge).await?;
    news.forget();
    Ok(news)
}

impl News {
    fn look_at(&mut self, pull: &Pull, since: Timestamp) {
        let seen = Seen { state: pull.state.clone(), head: pull.head_commit.clone(), updated_at: pull.updated_at };
        let before = self.reading.pulls.insert(pull.number, seen.clone());
        self.reading.since = self.reading.since.max(pull.updated_at);
        let moved = match (&before, &pull.state) {
            (Some(before), _) if *before == seen => return,
            (None, PullState::Open) if pull.created_at >= since => PullMove::Opened,
            (Some(Seen { state: PullState::Closed, .. }), PullState::Open) => PullMove::Reopened,
            (Some(before), PullState::Open) if before.head != seen.head => PullMove::Pushed,
            (_, PullState::Open) => PullMove::Changed,
            (Some(before), state) if before.state == *state => PullMove::Changed,
            (_, PullState::Closed) => PullMove::Closed,
            (_, PullState::Merged { .. }) => PullMove::Merged,
        };
        self.notices.push(Notice::Pull { pull: Box::new(pull.clone()), moved });
    }

    async fn listen<F: Forge + ?Sized>(
        &mut self,
        forge: &F,
        number: PullNumber,
        since: Timestamp,
        from: Timestamp,
    ) -> Result<(), ForgeError> {
        for comment in forge.comments(number, Some(from)).await? {
            if comment.updated_at >= since && self.is_new(&format!("comment {}", comment.id), comment.updated_at) {
                self.notices.push(Notice::Comment { number, comment });
            }
        }
        for review in forge.reviews(number).await? {
            if review.at >= since && self.is_new(&format!("review {}", review.id), review.at) {
                self.notices.push(Notice::Review { number, review });
            }
        }
        Ok(())
    }

    fn is_new(&mut self, id: &str, at: Timestamp) -> bool {
        self.reading.said.insert(id.to_owned(), at) != Some(at)
    }

    /// A check changes no pull, so the head of each open pull is looked at.
    async fn check<F: Forge + ?Sized>(&mut self, forge: &F) -> Result<(), ForgeError> {
        let open = self.reading.pulls.values().filter(|seen| seen.state == PullState::Open);
        let heads: Vec<_> = open.map(|seen| seen.head.clone()).collect();
        self.reading.checks.retain(|commit, _| heads.contains(commit));
        for commit in heads {
            let known = self.reading.checks.entry(commit.clone()).or_default();
            for check in forge.checks(&commit).await?.all {
                if known.insert(check.name.clone(), check.state) != Some(check.state) {
                    self.notices.push(Notice::Check { commit: commit.clone(), check });
                }
            }
        }
        Ok(())
    }

    /// What is over and too old to be seen again need not be remembered.
    fn forget(&mut self) {
        let oldest = self.reading.since.checked_sub(OVERLAP).unwrap_or(self.reading.since);
        self.reading.pulls.retain(|_, seen| seen.state == PullState::Open || seen.updated_at >= oldest);
        self.reading.said.retain(|_, at| *at >= oldest);
    }
}
