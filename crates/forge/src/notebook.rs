//! A ledger in memory, or in one small file. For tests, for trying things out, and for the fake.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard},
};

use async_trait::async_trait;
use carrel_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{BranchName, Check, Comment, CommitId, ForgeError, Ledger, PullNumber, PullRow, PullState, Review};

/// A ledger in memory, or in a file that is written anew with each change.
#[derive(Debug, Default)]
pub struct Notebook {
    pages: Mutex<Pages>,
    file: Option<PathBuf>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct Pages {
    pulls: BTreeMap<PullNumber, PullRow>,
    comments: BTreeMap<PullNumber, Vec<Comment>>,
    reviews: BTreeMap<PullNumber, Vec<Review>>,
    checks: BTreeMap<CommitId, Vec<Check>>,
    /// The last id that was given to a comment or a review.
    last_id: u64,
}

impl Notebook {
    /// Opens the file, or begins a new one.
    pub fn in_file(file: PathBuf) -> Result<Notebook, ForgeError> {
        let pages = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| ForgeError::unavailable(format!("the notebook cannot be read: {error}")))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Pages::default(),
            Err(error) => return Err(ForgeError::unavailable(format!("the notebook cannot be opened: {error}"))),
        };
        Ok(Notebook { pages: Mutex::new(pages), file: Some(file) })
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().expect("nobody panics over a notebook")
    }

    /// Changes the pages and the file, or neither.
    fn change<T>(&self, write: impl FnOnce(&mut Pages) -> T) -> Result<T, ForgeError> {
        let mut pages = self.pages();
        let mut after = pages.clone();
        let result = write(&mut after);
        if let Some(file) = &self.file {
            // Beside, then renamed: the file is there whole or as it was, whenever the process dies.
            let draft = file.with_extension("draft");
            let kept = serde_json::to_vec(&after)
                .map_err(std::io::Error::other)
                .and_then(|text| std::fs::write(&draft, text))
                .and_then(|()| std::fs::rename(&draft, file));
            kept.map_err(|error| ForgeError::unavailable(format!("the notebook cannot be written: {error}")))?;
        }
        *pages = after;
        Ok(result)
    }
}

impl Pages {
    fn new_id(&mut self, kind: &str) -> String {
        self.last_id += 1;
        format!("{kind}-{}", self.last_id)
    }
}

#[async_trait]
impl Ledger for Notebook {
    async fn add_pull(&self, mut row: PullRow) -> Result<PullRow, ForgeError> {
        self.change(|pages| {
            let same = |known: &&PullRow| {
                known.pull.state == PullState::Open
                    && known.pull.head == row.pull.head
                    && known.pull.base == row.pull.base
            };
            if let Some(found) = pages.pulls.values().find(same) {
                return found.clone();
            }
            let number = PullNumber(pages.pulls.keys().last().map_or(0, |last| last.0) + 1);
            row.pull.number = number;
            row.pull.url = format!("{}/{number}", row.pull.url);
            row.revision = 1;
            pages.pulls.insert(number, row.clone());
            row
        })
    }

    async fn pull(&self, number: PullNumber) -> Result<Option<PullRow>, ForgeError> {
        Ok(self.pages().pulls.get(&number).cloned())
    }

    async fn pull_of(&self, head: &BranchName) -> Result<Option<PullRow>, ForgeError> {
        let pages = self.pages();
        let of_it = || pages.pulls.values().rev().filter(|row| row.pull.head == *head);
        Ok(of_it().find(|row| row.pull.state == PullState::Open).or_else(|| of_it().next()).cloned())
    }

    async fn pulls_since(&self, since: Timestamp) -> Result<Vec<PullRow>, ForgeError> {
        let pages = self.pages();
        let wanted = |row: &&PullRow| row.pull.updated_at >= since || row.pull.state == PullState::Open;
        Ok(pages.pulls.values().filter(wanted).cloned().collect())
    }

    async fn put_pull(&self, row: PullRow) -> Result<bool, ForgeError> {
        self.change(|pages| match pages.pulls.get_mut(&row.pull.number) {
            Some(known) if known.revision == row.revision => {
                *known = PullRow { revision: row.revision + 1, ..row };
                true
            }
            _ => false,
        })
    }

    async fn add_comment(&self, number: PullNumber, mut comment: Comment) -> Result<Comment, ForgeError> {
        self.change(|pages| {
            let said = pages.comments.entry(number).or_default();
            if let Some(known) = said.iter().find(|known| known.stamp.is_some() && known.stamp == comment.stamp) {
                return known.clone();
            }
            comment.id = pages.new_id("comment");
            comment.url = format!("{}#{}", comment.url, comment.id);
            pages.comments.entry(number).or_default().push(comment.clone());
            comment
        })
    }

    async fn comments(&self, number: PullNumber) -> Result<Vec<Comment>, ForgeError> {
        Ok(self.pages().comments.get(&number).cloned().unwrap_or_default())
    }

    async fn add_review(&self, number: PullNumber, mut review: Review) -> Result<Review, ForgeError> {
        self.change(|pages| {
            review.id = pages.new_id("review");
            pages.reviews.entry(number).or_default().push(review.clone());
            review
        })
    }

    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError> {
        Ok(self.pages().reviews.get(&number).cloned().unwrap_or_default())
    }

    async fn put_check(&self, commit: &CommitId, check: Check) -> Result<(), ForgeError> {
        self.change(|pages| {
            let checks = pages.checks.entry(commit.clone()).or_default();
            checks.retain(|known| known.name != check.name);
            checks.push(check);
        })
    }

    async fn checks(&self, commit: &CommitId) -> Result<Vec<Check>, ForgeError> {
        Ok(self.pages().checks.get(commit).cloned().unwrap_or_default())
    }
}
