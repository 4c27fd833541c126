//! What the embedded forge remembers, in the store.

use async_trait::async_trait;
use carrel_forge::{BranchName, Check, Comment, CommitId, ForgeError, Ledger, PullNumber, PullRow, PullState, Review};
use carrel_model::{RepoName, Timestamp};
use carrel_store::{PullRecord, Store, StoreError, WordKind};
use serde::{Serialize, de::DeserializeOwned};

/// The ledger of one repository.
pub struct StoreLedger {
    store: Store,
    repo: RepoName,
}

impl StoreLedger {
    /// The ledger of a repository.
    pub fn new(store: Store, repo: RepoName) -> StoreLedger {
        StoreLedger { store, repo }
    }

    /// Numbers stand in columns; the text is written without them.
    fn record(&self, mut row: PullRow) -> Result<PullRecord, ForgeError> {
        let number = row.pull.number;
        if let Some(place) = row.pull.url.strip_suffix(&format!("/{number}")) {
            row.pull.url = place.to_owned();
        }
        Ok(PullRecord {
            number: i64::try_from(number.0).map_err(|_| broken("a number"))?,
            head: row.pull.head.to_string(),
            base: row.pull.base.to_string(),
            is_open: row.pull.state == PullState::Open,
            updated_at: row.pull.updated_at,
            revision: row.revision,
            body: written(&row)?,
        })
    }

    async fn add_word<T: Serialize + Send>(
        &self,
        number: PullNumber,
        kind: WordKind,
        stamp: Option<String>,
        said: &T,
    ) -> Result<carrel_store::Word, ForgeError> {
        let (repo, body) = (self.repo.clone(), written(said)?);
        let number = i64::try_from(number.0).map_err(|_| broken("a number"))?;
        let change = self
            .store
            .change(move |tx| Box::pin(async move { tx.add_word(&repo, number, kind, stamp.as_deref(), &body).await }));
        change.await.map_err(away)
    }

    async fn words(&self, number: PullNumber, kind: WordKind) -> Result<Vec<carrel_store::Word>, ForgeError> {
        let number = i64::try_from(number.0).map_err(|_| broken("a number"))?;
        self.store.pulls(&self.repo).words(number, kind).await.map_err(away)
    }
}

#[async_trait]
impl Ledger for StoreLedger {
    async fn add_pull(&self, row: PullRow) -> Result<PullRow, ForgeError> {
        let (repo, record) = (self.repo.clone(), self.record(row)?);
        let change = self.store.change(move |tx| Box::pin(async move { tx.add_pull(&repo, &record).await }));
        row_of(change.await.map_err(away)?)
    }

    async fn pull(&self, number: PullNumber) -> Result<Option<PullRow>, ForgeError> {
        let Ok(number) = i64::try_from(number.0) else { return Ok(None) };
        self.store.pulls(&self.repo).find(number).await.map_err(away)?.map(row_of).transpose()
    }

    async fn pull_of(&self, head: &BranchName) -> Result<Option<PullRow>, ForgeError> {
        self.store.pulls(&self.repo).find_by_head(head.as_str()).await.map_err(away)?.map(row_of).transpose()
    }

    async fn pulls_since(&self, since: Timestamp) -> Result<Vec<PullRow>, ForgeError> {
        self.store.pulls(&self.repo).list_since(since).await.map_err(away)?.into_iter().map(row_of).collect()
    }

    async fn put_pull(&self, row: PullRow) -> Result<bool, ForgeError> {
        let (repo, record) = (self.repo.clone(), self.record(row)?);
        let change = self.store.change(move |tx| Box::pin(async move { tx.put_pull(&repo, &record).await }));
        change.await.map_err(away)
    }

    async fn add_comment(&self, number: PullNumber, comment: Comment) -> Result<Comment, ForgeError> {
        let stamp = comment.stamp.as_ref().map(ToString::to_string);
        comment_of(self.add_word(number, WordKind::Comment, stamp, &comment).await?)
    }

    async fn comments(&self, number: PullNumber) -> Result<Vec<Comment>, ForgeError> {
        self.words(number, WordKind::Comment).await?.into_iter().map(comment_of).collect()
    }

    async fn add_review(&self, number: PullNumber, review: Review) -> Result<Review, ForgeError> {
        review_of(self.add_word(number, WordKind::Review, None, &review).await?)
    }

    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError> {
        self.words(number, WordKind::Review).await?.into_iter().map(review_of).collect()
    }

    async fn put_check(&self, commit: &CommitId, check: Check) -> Result<(), ForgeError> {
        let (repo, commit, body) = (self.repo.clone(), commit.clone(), written(&check)?);
        let change = self
            .store
            .change(move |tx| Box::pin(async move { tx.put_check(&repo, commit.as_str(), &check.name, &body).await }));
        change.await.map_err(away)
    }

    async fn checks(&self, commit: &CommitId) -> Result<Vec<Check>, ForgeError> {
        let checks = self.store.pulls(&self.repo).checks(commit.as_str()).await.map_err(away)?;
        checks.iter().map(|body| understood(body)).collect()
    }
}

fn row_of(record: PullRecord) -> Result<PullRow, ForgeError> {
    let mut row: PullRow = understood(&record.body)?;
    row.pull.number = PullNumber(u64::try_from(record.number).map_err(|_| broken("a number"))?);
    row.pull.url = format!("{}/{}", row.pull.url, record.number);
    row.revision = record.revision;
    Ok(row)
}

fn comment_of((id, body): carrel_store::Word) -> Result<Comment, ForgeError> {
    let comment: Comment = understood(&body)?;
    let id = format!("comment-{id}");
    Ok(Comment { url: format!("{}#{id}", comment.url), id, ..comment })
}

fn review_of((id, body): carrel_store::Word) -> Result<Review, ForgeError> {
    Ok(Review { id: format!("review-{id}"), ..understood(&body)? })
}

fn written(value: &impl Serialize) -> Result<String, ForgeError> {
    serde_json::to_string(value).map_err(|_| broken("a value"))
}

fn understood<T: DeserializeOwned>(body: &str) -> Result<T, ForgeError> {
    serde_json::from_str(body).map_err(|_| broken("a row"))
}

fn broken(what: &str) -> ForgeError {
    ForgeError::Unavailable { why: format!("{what} of a pull makes no sense") }
}

fn away(error: StoreError) -> ForgeError {
    ForgeError::Unavailable { why: format!("the pulls cannot be read or written: {error}") }
}
