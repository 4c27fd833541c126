//! The fake: an embedded forge over a notebook and a repository that is only pretended.
//!
//! It ships, because a house can be tried, shown and tested with it. It keeps state like a real one, finds it after a
//! restart when it has a folder, and can be told to fail.

mod pretend;
mod weather;

pub use pretend::Pretend;
pub use weather::Weather;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use carrel_model::Timestamp;

use crate::{
    BranchName, Check, Checks, Comment, CommitId, Fitness, Forge, ForgeError, Merge, MergeWay, Merged, NewComment,
    NewPull, NewReview, Notebook, Pull, PullChange, PullNumber, Review,
    forges::embedded::{self, Embedded},
};

/// How the fake behaves.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it remembers. `None` forgets when it goes.
    pub folder: Option<PathBuf>,
    /// Who acts through it.
    pub login: String,
}

/// A forge whose repository is only pretended.
#[derive(Clone)]
pub struct Fake {
    forge: Embedded,
    repository: Arc<Pretend>,
    weather: Arc<Mutex<Weather>>,
}

impl Config {
    /// Opens the folder, which is made when it is missing.
    pub fn build(self) -> Result<Fake, ForgeError> {
        let (notebook, repository) = match &self.folder {
            None => (Notebook::default(), Pretend::default()),
            Some(folder) => {
                std::fs::create_dir_all(folder)
                    .map_err(|error| ForgeError::unavailable(format!("the fake has no folder: {error}")))?;
                (Notebook::in_file(folder.join("pulls.json"))?, Pretend::in_file(folder.join("commits.json"))?)
            }
        };
        let repository = Arc::new(repository);
        let forge = embedded::Config {
            ledger: Arc::new(notebook),
            repository: Arc::clone(&repository) as _,
            login: self.login,
            url: "https://fake.invalid/pulls".into(),
        };
        Ok(Fake { forge: forge.build(), repository, weather: Arc::default() })
    }
}

impl Fake {
    /// The repository, to push to.
    pub fn repository(&self) -> &Arc<Pretend> {
        &self.repository
    }

    /// The weather over it: clear unless somebody changes it.
    pub fn weather(&self) -> Arc<Mutex<Weather>> {
        Arc::clone(&self.weather)
    }

    /// The same forge, for somebody else.
    pub fn acting_as(&self, login: impl Into<String>) -> Fake {
        Fake { forge: self.forge.acting_as(login), ..self.clone() }
    }

    fn endure(&self) -> Result<&Embedded, ForgeError> {
        self.weather.lock().expect("nobody panics in the weather").strike()?;
        Ok(&self.forge)
    }
}

#[async_trait]
impl Forge for Fake {
    async fn probe(&self) -> Result<Fitness, ForgeError> {
        self.endure()?.probe().await
    }
    async fn default_branch(&self) -> Result<BranchName, ForgeError> {
        self.endure()?.default_branch().await
    }
    async fn open(&self, new: &NewPull) -> Result<Pull, ForgeError> {
        self.endure()?.open(new).await
    }
    async fn find(&self, head: &BranchName) -> Result<Option<Pull>, ForgeError> {
        self.endure()?.find(head).await
    }
    async fn get(&self, number: PullNumber) -> Result<Pull, ForgeError> {
        self.endure()?.get(number).await
    }
    async fn changed(&self, since: Timestamp) -> Result<Vec<Pull>, ForgeError> {
        self.endure()?.changed(since).await
    }
    async fn update(&self, number: PullNumber, change: &PullChange) -> Result<Pull, ForgeError> {
        self.endure()?.update(number, change).await
    }
    async fn diff(&self, number: PullNumber) -> Result<String, ForgeError> {
        self.endure()?.diff(number).await
    }
    async fn comment(&self, number: PullNumber, new: &NewComment) -> Result<Comment, ForgeError> {
        self.endure()?.comment(number, new).await
    }
    async fn comments(&self, number: PullNumber, since: Option<Timestamp>) -> Result<Vec<Comment>, ForgeError> {
        self.endure()?.comments(number, since).await
    }
    async fn review(&self, number: PullNumber, new: &NewReview) -> Result<Review, ForgeError> {
        self.endure()?.review(number, new).await
    }
    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError> {
        self.endure()?.reviews(number).await
    }
    async fn label(&self, number: PullNumber, labels: &[String]) -> Result<(), ForgeError> {
        self.endure()?.label(number, labels).await
    }
    async fn request_reviewers(&self, number: PullNumber, logins: &[String]) -> Result<(), ForgeError> {
        self.endure()?.request_reviewers(number, logins).await
    }
    async fn set_draft(&self, number: PullNumber, draft: bool) -> Result<(), ForgeError> {
        self.endure()?.set_draft(number, draft).await
    }
    async fn auto_merge(&self, number: PullNumber, way: Option<MergeWay>) -> Result<(), ForgeError> {
        self.endure()?.auto_merge(number, way).await
    }
    async fn checks(&self, commit: &CommitId) -> Result<Checks, ForgeError> {
        self.endure()?.checks(commit).await
    }
    async fn report(&self, commit: &CommitId, check: &Check) -> Result<(), ForgeError> {
        self.endure()?.report(commit, check).await
    }
    async fn merge(&self, number: PullNumber, merge: &Merge) -> Result<Merged, ForgeError> {
        self.endure()?.merge(number, merge).await
    }
    async fn delete_branch(&self, branch: &BranchName) -> Result<(), ForgeError> {
        self.endure()?.delete_branch(branch).await
    }
}
