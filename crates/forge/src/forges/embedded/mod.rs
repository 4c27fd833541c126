//! The embedded forge: pulls of repositories that are hosted here.
//!
//! Rows are kept by a `Ledger`, commits by a `Repository`; what this adds is what a pull means. A pull that is to be
//! merged by itself carries the wish only: the house has a merge lane, and that is where wishes are fulfilled.

mod merging;

use std::sync::Arc;

use async_trait::async_trait;
use carrel_model::Timestamp;

use crate::{
    BranchName, Check, Checks, Comment, CommitId, Fitness, Forge, ForgeError, Ledger, Merge, MergeWay, Mergeable,
    Merged, NewComment, NewPull, NewReview, Pull, PullChange, PullNumber, PullRow, PullState, Repository, Review,
    Verdict, diff, talk,
};

/// What an embedded forge is made of.
#[derive(Clone)]
pub struct Config {
    /// Remembers the rows.
    pub ledger: Arc<dyn Ledger>,
    /// Holds the commits.
    pub repository: Arc<dyn Repository>,
    /// Who acts through it.
    pub login: String,
    /// The address of the repository's pulls; a pull's own adds its number.
    pub url: String,
}

/// Pulls of a repository that is hosted here.
#[derive(Clone)]
pub struct Embedded {
    config: Config,
}

impl Config {
    /// The forge. Nothing is opened or asked.
    pub fn build(self) -> Embedded {
        Embedded { config: self }
    }
}

impl Embedded {
    /// The same forge, for somebody else.
    pub fn acting_as(&self, login: impl Into<String>) -> Embedded {
        Embedded { config: Config { login: login.into(), ..self.config.clone() } }
    }

    async fn row(&self, number: PullNumber) -> Result<PullRow, ForgeError> {
        self.config.ledger.pull(number).await?.ok_or_else(|| ForgeError::not_found(format!("pull request {number}")))
    }

    /// Reads a row, changes it, writes it; again when somebody else was quicker.
    async fn change(
        &self,
        number: PullNumber,
        change: impl Fn(&mut Pull) -> Result<(), ForgeError> + Send + Sync,
    ) -> Result<PullRow, ForgeError> {
        loop {
            let mut row = self.row(number).await?;
            let before = row.pull.clone();
            change(&mut row.pull)?;
            if row.pull == before {
                return Ok(row);
            }
            row.pull.updated_at = now();
            if self.config.ledger.put_pull(row.clone()).await? {
                return Ok(PullRow { revision: row.revision + 1, ..row });
            }
        }
    }

    /// A pull as it now is: where its branch stands, and whether it would merge.
    async fn seen(&self, mut row: PullRow) -> Result<Pull, ForgeError> {
        if row.pull.state != PullState::Open {
            row.pull.mergeable = Mergeable::Unknown;
            return Ok(row.pull);
        }
        let repository = &self.config.repository;
        if let Some(commit) = merging::done(self, &row).await? {
            let number = row.pull.number;
            merging::finish(self, row, commit).await?;
            return Ok(self.row(number).await?.pull);
        }
        // A branch that went back to its base has nothing to merge: that is no merge, and the pull stays what it was.
        if let Some(tip) = repository.tip(&row.pull.head).await?
            && tip != row.pull.head_commit
            && !repository.contains(&row.pull.base, &tip).await?
        {
            row.pull.head_commit = tip;
            row.pull.updated_at = now();
            // Whoever looks first writes it down; when another was quicker, theirs is as good.
            if self.config.ledger.put_pull(row.clone()).await? {
                row.revision += 1;
            }
        }
        row.pull.mergeable = match repository.tip(&row.pull.base).await? {
            None => Mergeable::Unknown,
            Some(base) if repository.conflicts(&base, &row.pull.head_commit).await?.is_empty() => Mergeable::Clean,
            Some(_) => Mergeable::Conflicted,
        };
        Ok(row.pull)
    }

    async fn tip(&self, branch: &BranchName) -> Result<CommitId, ForgeError> {
        let tip = self.config.repository.tip(branch).await?;
        tip.ok_or_else(|| ForgeError::invalid(format!("there is no branch `{branch}`")))
    }

    fn draft_of(&self, new: &NewPull, head_commit: CommitId) -> PullRow {
        let now = now();
        let pull = Pull {
            number: PullNumber(0),
            url: self.config.url.clone(),
            title: talk::title_of(&new.title),
            body: talk::written(&new.body, None),
            author: self.config.login.clone(),
            head: new.head.clone(),
            head_commit,
            base: new.base.clone(),
            state: PullState::Open,
            draft: new.draft,
            mergeable: Mergeable::Unknown,
            labels: vec![],
            reviewers: vec![],
            auto_merge: None,
            created_at: now,
            updated_at: now,
        };
        PullRow { pull, merging: None, revision: 0 }
    }
}

#[async_trait]
impl Forge for Embedded {
    async fn probe(&self) -> Result<Fitness, ForgeError> {
        let default_branch = self.config.repository.default_branch().await?;
        Ok(Fitness { login: self.config.login.clone(), default_branch, missing: vec![] })
    }

    async fn default_branch(&self) -> Result<BranchName, ForgeError> {
        self.config.repository.default_branch().await
    }

    async fn open(&self, new: &NewPull) -> Result<Pull, ForgeError> {
        if new.head == new.base {
            return Err(ForgeError::invalid("a branch cannot be merged into itself"));
        }
        let (head, _) = (self.tip(&new.head).await?, self.tip(&new.base).await?);
        if self.config.repository.contains(&new.base, &head).await? {
            let why = format!("`{}` has no commits that `{}` lacks", new.head, new.base);
            return Err(ForgeError::invalid(why));
        }
        let row = self.config.ledger.add_pull(self.draft_of(new, head)).await?;
        self.seen(row).await
    }

    async fn find(&self, head: &BranchName) -> Result<Option<Pull>, ForgeError> {
        match self.config.ledger.pull_of(head).await? {
            Some(row) => Ok(Some(self.seen(row).await?)),
            None => Ok(None),
        }
    }

    async fn get(&self, number: PullNumber) -> Result<Pull, ForgeError> {
        let row = self.row(number).await?;
        self.seen(row).await
    }

    async fn changed(&self, since: Timestamp) -> Result<Vec<Pull>, ForgeError> {
        let mut pulls = Vec::new();
        for row in self.config.ledger.pulls_since(since).await? {
            pulls.push(self.seen(row).await?);
        }
        pulls.retain(|pull| pull.updated_at >= since);
        pulls.sort_by_key(|pull| (pull.updated_at, pull.number));
        Ok(pulls)
    }

    async fn update(&self, number: PullNumber, change: &PullChange) -> Result<Pull, ForgeError> {
        if let Some(base) = &change.base {
            self.tip(base).await?;
        }
        if change.open == Some(true) {
            let head = self.row(number).await?.pull.head;
            let other = self.config.ledger.pull_of(&head).await?.map(|row| row.pull);
            if let Some(other) = other.filter(|other| other.number != number && other.state == PullState::Open) {
                return Err(ForgeError::conflict(format!("pull request {} of the same branch is open", other.number)));
            }
        }
        let row = self.change(number, |pull| {
            let open = match (&pull.state, change.open) {
                (PullState::Merged { .. }, Some(_)) => {
                    return Err(ForgeError::conflict(format!("pull request {number} is merged")));
                }
                (_, Some(true)) => PullState::Open,
                (_, Some(false)) => PullState::Closed,
                (state, None) => state.clone(),
            };
            pull.state = open;
            if let Some(title) = &change.title {
                pull.title = talk::title_of(title);
            }
            if let Some(body) = &change.body {
                pull.body = talk::written(body, None);
            }
            if let Some(base) = &change.base {
                pull.base = base.clone();
            }
            Ok(())
        });
        self.seen(row.await?).await
    }

    async fn diff(&self, number: PullNumber) -> Result<String, ForgeError> {
        let pull = self.get(number).await?;
        let base = self.tip(&pull.base).await?;
        self.config.repository.diff(&base, &pull.head_commit).await
    }

    async fn comment(&self, number: PullNumber, new: &NewComment) -> Result<Comment, ForgeError> {
        let pull = self.row(number).await?.pull;
        if new.body.trim().is_empty() {
            return Err(ForgeError::invalid("a comment says something"));
        }
        if let Some(place) = &new.place
            && !diff::shows(&self.diff(number).await?, place)
        {
            return Err(ForgeError::invalid(format!("the diff does not show that line of `{}`", place.path)));
        }
        let now = now();
        let comment = Comment {
            id: String::new(),
            author: self.config.login.clone(),
            body: talk::written(&new.body, None),
            place: new.place.clone(),
            commit: Some(self.get(number).await?.head_commit),
            stamp: new.stamp.clone(),
            url: pull.url,
            created_at: now,
            updated_at: now,
        };
        let comment = self.config.ledger.add_comment(number, comment).await?;
        self.touch(number, now).await?;
        Ok(comment)
    }

    async fn comments(&self, number: PullNumber, since: Option<Timestamp>) -> Result<Vec<Comment>, ForgeError> {
        self.row(number).await?;
        let mut comments = self.config.ledger.comments(number).await?;
        comments.retain(|comment| since.is_none_or(|since| comment.updated_at >= since));
        Ok(comments)
    }

    async fn review(&self, number: PullNumber, new: &NewReview) -> Result<Review, ForgeError> {
        let pull = self.get(number).await?;
        match new.verdict {
            Verdict::Dismissed => return Err(ForgeError::invalid("a review cannot be given as dismissed")),
            Verdict::Approved | Verdict::ChangesRequested if pull.author == self.config.login => {
                return Err(ForgeError::invalid("nobody judges a pull request of their own"));
            }
            Verdict::ChangesRequested | Verdict::Commented if new.body.trim().is_empty() => {
                return Err(ForgeError::invalid("only an approval may say nothing"));
            }
            _ => {}
        }
        let now = now();
        let review = Review {
            id: String::new(),
            author: self.config.login.clone(),
            verdict: new.verdict,
            body: talk::written(&new.body, None),
            commit: Some(pull.head_commit),
            at: now,
        };
        let review = self.config.ledger.add_review(number, review).await?;
        let login = &self.config.login;
        self.change(number, |pull| {
            pull.reviewers.retain(|asked| asked != login);
            pull.updated_at = now;
            Ok(())
        })
        .await?;
        Ok(review)
    }

    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError> {
        self.row(number).await?;
        self.config.ledger.reviews(number).await
    }

    async fn label(&self, number: PullNumber, labels: &[String]) -> Result<(), ForgeError> {
        self.change(number, |pull| {
            for label in labels.iter().filter(|label| !label.trim().is_empty()) {
                if !pull.labels.contains(label) {
                    pull.labels.push(label.clone());
                }
            }
            Ok(())
        })
        .await
        .map(drop)
    }

    async fn request_reviewers(&self, number: PullNumber, logins: &[String]) -> Result<(), ForgeError> {
        self.change(number, |pull| {
            for login in logins {
                if *login == pull.author {
                    return Err(ForgeError::invalid("nobody reviews a pull request of their own"));
                }
                if !pull.reviewers.contains(login) {
                    pull.reviewers.push(login.clone());
                }
            }
            Ok(())
        })
        .await
        .map(drop)
    }

    async fn set_draft(&self, number: PullNumber, draft: bool) -> Result<(), ForgeError> {
        self.change(number, |pull| {
            pull.draft = draft;
            Ok(())
        })
        .await
        .map(drop)
    }

    async fn auto_merge(&self, number: PullNumber, way: Option<MergeWay>) -> Result<(), ForgeError> {
        self.change(number, |pull| {
            if pull.state != PullState::Open && way.is_some() {
                return Err(ForgeError::conflict(format!("pull request {number} is not open")));
            }
            pull.auto_merge = way;
            Ok(())
        })
        .await
        .map(drop)
    }

    async fn checks(&self, commit: &CommitId) -> Result<Checks, ForgeError> {
        Ok(self.config.ledger.checks(commit).await?.into_iter().collect())
    }

    async fn report(&self, commit: &CommitId, check: &Check) -> Result<(), ForgeError> {
        let check = Check { at: check.at.or_else(|| Some(now())), ..check.clone() };
        self.config.ledger.put_check(commit, check).await
    }

    async fn merge(&self, number: PullNumber, merge: &Merge) -> Result<Merged, ForgeError> {
        merging::merge(self, number, merge).await
    }

    async fn delete_branch(&self, branch: &BranchName) -> Result<(), ForgeError> {
        if *branch == self.config.repository.default_branch().await? {
            return Err(ForgeError::conflict(format!("`{branch}` is the branch that work starts from")));
        }
        self.config.repository.delete(branch).await
    }
}

impl Embedded {
    async fn touch(&self, number: PullNumber, at: Timestamp) -> Result<(), ForgeError> {
        self.change(number, |pull| {
            pull.updated_at = at;
            Ok(())
        })
        .await
        .map(drop)
    }
}

/// The time, to the microsecond: what every ledger can keep.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
}
