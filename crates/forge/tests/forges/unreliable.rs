//! The contract notices who does not keep it.

use async_trait::async_trait;
use carrel_forge::{
    BranchName, Check, Checks, Comment, CommitId, Fitness, Forge, ForgeError, Merge, MergeWay, Merged, NewComment,
    NewPull, NewReview, Pull, PullChange, PullNumber, PullState, Review,
    contract::{World, broken_promises},
    forges::fake::{Config, Fake},
};
use carrel_model::Timestamp;

/// A forge that keeps its word except in one way.
struct Unreliable {
    fake: Fake,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    ChangesWhatItFinds,
    FindsNothing,
    RepeatsItself,
    ForgetsLines,
    MergesWhatItDidNotSee,
    ComplainsAboutTheSecondMerge,
    ComplainsAboutTheSecondDelete,
    LosesLabels,
    TakesSilenceForSuccess,
    TellsOfEverythingAsFailed,
    HearsNothing,
    OpensWhatIsMerged,
    LosesReviews,
}

const FAULTS: [Fault; 13] = [
    Fault::ChangesWhatItFinds,
    Fault::FindsNothing,
    Fault::RepeatsItself,
    Fault::ForgetsLines,
    Fault::MergesWhatItDidNotSee,
    Fault::ComplainsAboutTheSecondMerge,
    Fault::ComplainsAboutTheSecondDelete,
    Fault::LosesLabels,
    Fault::TakesSilenceForSuccess,
    Fault::TellsOfEverythingAsFailed,
    Fault::HearsNothing,
    Fault::OpensWhatIsMerged,
    Fault::LosesReviews,
];

impl Unreliable {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

#[async_trait]
impl Forge for Unreliable {
    async fn probe(&self) -> Result<Fitness, ForgeError> {
        self.fake.probe().await
    }
    async fn default_branch(&self) -> Result<BranchName, ForgeError> {
        self.fake.default_branch().await
    }
    async fn open(&self, new: &NewPull) -> Result<Pull, ForgeError> {
        let pull = self.fake.open(new).await?;
        let title = Some(new.title.clone()).filter(|_| self.has(Fault::ChangesWhatItFinds));
        self.fake.update(pull.number, &PullChange { title, ..PullChange::default() }).await
    }
    async fn find(&self, head: &BranchName) -> Result<Option<Pull>, ForgeError> {
        if self.has(Fault::FindsNothing) { Ok(None) } else { self.fake.find(head).await }
    }
    async fn get(&self, number: PullNumber) -> Result<Pull, ForgeError> {
        self.fake.get(number).await
    }
    async fn changed(&self, since: Timestamp) -> Result<Vec<Pull>, ForgeError> {
        if self.has(Fault::HearsNothing) && since > Timestamp::UNIX_EPOCH {
            Ok(vec![])
        } else {
            self.fake.changed(since).await
        }
    }
    async fn update(&self, number: PullNumber, change: &PullChange) -> Result<Pull, ForgeError> {
        let merged = matches!(self.fake.get(number).await?.state, PullState::Merged { .. });
        let lies = self.has(Fault::OpensWhatIsMerged) && merged;
        let change = PullChange { open: change.open.filter(|_| !lies), ..change.clone() };
        self.fake.update(number, &change).await
    }
    async fn diff(&self, number: PullNumber) -> Result<String, ForgeError> {
        self.fake.diff(number).await
    }
    async fn comment(&self, number: PullNumber, new: &NewComment) -> Result<Comment, ForgeError> {
        let stamp = new.stamp.clone().filter(|_| !self.has(Fault::RepeatsItself));
        let place = new.place.clone().filter(|_| !self.has(Fault::ForgetsLines));
        let said = self.fake.comment(number, &NewComment { stamp, place, ..new.clone() }).await?;
        Ok(Comment { stamp: new.stamp.clone(), ..said })
    }
    async fn comments(&self, number: PullNumber, since: Option<Timestamp>) -> Result<Vec<Comment>, ForgeError> {
        self.fake.comments(number, since).await
    }
    async fn review(&self, number: PullNumber, new: &NewReview) -> Result<Review, ForgeError> {
        self.fake.review(number, new).await
    }
    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError> {
        if self.has(Fault::LosesReviews) { Ok(vec![]) } else { self.fake.reviews(number).await }
    }
    async fn label(&self, number: PullNumber, labels: &[String]) -> Result<(), ForgeError> {
        if self.has(Fault::LosesLabels) { Ok(()) } else { self.fake.label(number, labels).await }
    }
    async fn request_reviewers(&self, number: PullNumber, logins: &[String]) -> Result<(), ForgeError> {
        self.fake.request_reviewers(number, logins).await
    }
    async fn set_draft(&self, number: PullNumber, draft: bool) -> Result<(), ForgeError> {
        self.fake.set_draft(number, draft).await
    }
    async fn auto_merge(&self, number: PullNumber, way: Option<MergeWay>) -> Result<(), ForgeError> {
        self.fake.auto_merge(number, way).await
    }
    async fn checks(&self, commit: &CommitId) -> Result<Checks, ForgeError> {
        if self.has(Fault::TakesSilenceForSuccess) { Ok(Checks::default()) } else { self.fake.checks(commit).await }
    }
    async fn report(&self, commit: &CommitId, check: &Check) -> Result<(), ForgeError> {
        let failed = carrel_forge::CheckState::Failed;
        let state = if self.has(Fault::TellsOfEverythingAsFailed) { failed } else { check.state };
        self.fake.report(commit, &Check { state, ..check.clone() }).await
    }
    async fn merge(&self, number: PullNumber, merge: &Merge) -> Result<Merged, ForgeError> {
        let pull = self.fake.get(number).await?;
        if self.has(Fault::ComplainsAboutTheSecondMerge) && matches!(pull.state, PullState::Merged { .. }) {
            return Err(ForgeError::Conflict { why: "again?".into() });
        }
        let stale = self.has(Fault::MergesWhatItDidNotSee);
        let head = if stale { pull.head_commit } else { merge.head.clone() };
        self.fake.merge(number, &Merge { head, ..merge.clone() }).await
    }
    async fn delete_branch(&self, branch: &BranchName) -> Result<(), ForgeError> {
        let gone = carrel_forge::Repository::tip(&**self.fake.repository(), branch).await?.is_none();
        if gone && self.has(Fault::ComplainsAboutTheSecondDelete) {
            return Err(ForgeError::NotFound { what: "the branch".into() });
        }
        self.fake.delete_branch(branch).await
    }
}

#[async_trait]
impl World for Unreliable {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(Unreliable { fake: self.fake.clone(), fault: self.fault })
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(Unreliable { fake: self.fake.acting_as("mona"), fault: self.fault })
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.fake.repository().push(branch, path, text).unwrap()
    }
}

#[tokio::test]
async fn the_contract_notices_every_broken_word() {
    for fault in FAULTS {
        let fake = Config { folder: None, login: "carrel".into() }.build().unwrap();
        let broken = broken_promises(&Unreliable { fake, fault }).await;
        assert_ne!(broken, Vec::<String>::new(), "{fault:?} went unnoticed");
    }
}
