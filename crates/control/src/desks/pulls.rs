//! The pulls desk: pull requests of every repository, at whatever forge they are.

use std::sync::Arc;

use carrel_forge::{self as forge, Forge, PullChange, PullNumber, hooks::Dialect};
use carrel_model::{
    Action, Branch, Grant, RepoName, Subject,
    audit::{AuditLine, Outcome},
    public::{
        CheckView, CommentView, DiffFileView, NewAutoMerge, NewMerge, NewPull, NewPullComment, NewPullReview, Page,
        PullPhase, PullView, ReviewView, Side, Verdict,
    },
};
use carrel_store::PullFilter;

use super::{
    diffs::{Extract, Span},
    repos::find,
};
use crate::{
    Error, Foreseen, LetterRefused, Live, MergeRefused, MergeWish, Merged, Moved, Paging, Posted,
    forges::forge_as,
    house::House,
    pulls::{
        PullWish, checks_of, comment_of, forecast, look_at_pull, merge_pull, merge_pull_by_itself, open_pull, publish,
        review_of, take_letter, watch_base,
    },
};

/// Shows pull requests, speaks at them, and merges them.
pub struct PullsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// Which pulls are asked for.
#[derive(Debug, Clone, Default)]
pub struct PullQuery {
    /// Of this repository.
    pub repo: Option<RepoName>,
    /// In this phase.
    pub phase: Option<PullPhase>,
    /// Whether they are over, in whatever way.
    pub over: Option<bool>,
    /// Of this branch.
    pub head: Option<Branch>,
    /// How much of the list.
    pub paging: Paging,
}

impl PullsDesk<'_> {
    /// A page of pulls as they were last seen, newest first.
    pub async fn list(&self, grant: &Grant, query: PullQuery) -> Result<Page<PullView>, Error> {
        let subject = query.repo.as_ref().map_or(Subject::House, Subject::Repo);
        self.house.admit(grant, Action::RepoRead, subject).await?;
        let limit = query.paging.limit();
        let filter = PullFilter {
            repo: query.repo,
            phase: query.phase,
            over: query.over,
            head: query.head,
            before: query.paging.after()?,
        };
        let mut items = self.house.store.seen_pulls().list(&filter, limit + 1).await?;
        let place = |pull: &PullView| Paging::place(pull.created_at, &format!("{}/{}", pull.repo, pull.number));
        let next = Paging::cut(&mut items, limit, place);
        Ok(Page { items, next })
    }

    /// Opens a pull, or finds the open one of the same branch and changes it. A branch that follows an upstream is
    /// published first.
    pub async fn open(&self, grant: &Grant, new: NewPull) -> Result<PullView, Error> {
        self.house.admit(grant, Action::PullTalk, Subject::Repo(&new.repo)).await?;
        if new.title.trim().is_empty() {
            return Err(Error::field("title", "a pull has a title"));
        }
        let repo = find(self.house, &new.repo).await?;
        let empty = || Error::field("base", "the repo has no default branch yet; say which one");
        let base = new.base.or(repo.default_branch).ok_or_else(empty)?;
        publish(self.house, &new.repo, &new.head).await?;
        let wish = PullWish {
            repo: new.repo,
            head: new.head,
            base,
            title: new.title,
            body: new.body,
            draft: new.draft,
            draft_at_opening: false,
            auto_merge: None,
            labels: new.labels,
            reviewers: new.reviewers,
        };
        let pull = open_pull(self.house, &wish).await?;
        self.note(grant, Action::PullTalk, &pull, "opened").await?;
        Ok(pull)
    }

    /// One pull as it now is; as it was last seen when its forge does not answer.
    pub async fn get(&self, grant: &Grant, repo: &RepoName, number: u64) -> Result<PullView, Error> {
        self.house.admit(grant, Action::RepoRead, Subject::Repo(repo)).await?;
        match look_at_pull(self.house, repo, number).await {
            Err(error @ (Error::Unavailable { .. } | Error::Limited { .. })) => {
                self.house.store.seen_pulls().find(repo, number).await?.ok_or(error)
            }
            looked => looked,
        }
    }

    /// What a pull changes, as a unified diff: of all files as its forge tells it, or of those that were named.
    pub async fn diff(&self, grant: &Grant, repo: &RepoName, number: u64, extract: &Extract) -> Result<Vec<u8>, Error> {
        extract.check()?;
        let forge = self.reach(grant, Action::RepoRead, repo).await?;
        if extract.paths.is_empty() {
            return Ok(forge.diff(PullNumber(number)).await?.into_bytes());
        }
        // One file after another is asked for: its forge is not asked each time where its branch is.
        let seen = self.house.store.seen_pulls().find(repo, number).await?;
        let pull = match seen {
            Some(pull) => pull,
            None => self.get(grant, repo, number).await?,
        };
        self.span(&pull).await?.patch(extract).await
    }

    /// The files that a pull changes, without their lines. Only those of what was fetched can be told.
    pub async fn diff_files(&self, grant: &Grant, repo: &RepoName, number: u64) -> Result<Vec<DiffFileView>, Error> {
        let pull = self.get(grant, repo, number).await?;
        self.span(&pull).await?.files().await
    }

    async fn span(&self, pull: &PullView) -> Result<Span, Error> {
        let mirror = self.house.library.mirror(&pull.repo).await?;
        let away = || Error::Conflict {
            why: format!("what pull request {} changes was not fetched: read its whole diff", pull.number),
        };
        if !mirror.has(&pull.head_commit).await? {
            return Err(away());
        }
        let task = match pull.task_id {
            Some(id) => self.house.store.tasks().find(id).await?,
            None => None,
        };
        let ahead = task.map_or(0, |task| u64::from(task.ahead));
        let from = mirror.left_at(&pull.base, &pull.head_commit, ahead).await?.ok_or_else(away)?;
        Ok(Span { mirror, from, to: pull.head_commit.clone() })
    }

    /// What was said at a pull, the oldest first.
    pub async fn comments(&self, grant: &Grant, repo: &RepoName, number: u64) -> Result<Vec<CommentView>, Error> {
        let forge = self.reach(grant, Action::RepoRead, repo).await?;
        Ok(forge.comments(PullNumber(number), None).await?.into_iter().map(comment_of).collect())
    }

    /// Says something at a pull, in the name of the key.
    pub async fn comment(
        &self,
        grant: &Grant,
        repo: &RepoName,
        number: u64,
        new: NewPullComment,
    ) -> Result<CommentView, Error> {
        let forge = self.reach(grant, Action::PullTalk, repo).await?;
        let place = match (new.path, new.line) {
            (None, None) => None,
            (Some(path), Some(line)) if line > 0 => {
                let side = match new.side.unwrap_or_default() {
                    Side::Old => forge::Side::Old,
                    Side::New => forge::Side::New,
                };
                Some(forge::Place { path, line: Some(line), side })
            }
            _ => return Err(Error::field("line", "a comment on a line names a path and a line from 1 on")),
        };
        if new.body.trim().is_empty() {
            return Err(Error::field("body", "a comment says something"));
        }
        let stamp = new.stamp.map(|stamp| stamp.parse::<forge::Stamp>()).transpose();
        let stamp = stamp.map_err(|error| Error::field("stamp", error.to_string()))?;
        let said = forge.comment(PullNumber(number), &forge::NewComment { body: new.body, place, stamp }).await?;
        let pull = look_at_pull(self.house, repo, number).await?;
        self.note(grant, Action::PullTalk, &pull, "commented").await?;
        Ok(comment_of(said))
    }

    /// What people think of a pull, the oldest first.
    pub async fn reviews(&self, grant: &Grant, repo: &RepoName, number: u64) -> Result<Vec<ReviewView>, Error> {
        let forge = self.reach(grant, Action::RepoRead, repo).await?;
        Ok(forge.reviews(PullNumber(number)).await?.into_iter().map(review_of).collect())
    }

    /// Judges a pull, in the name of the key.
    pub async fn review(
        &self,
        grant: &Grant,
        repo: &RepoName,
        number: u64,
        new: NewPullReview,
    ) -> Result<ReviewView, Error> {
        let forge = self.reach(grant, Action::PullTalk, repo).await?;
        let verdict = match new.verdict {
            Verdict::Approved => forge::Verdict::Approved,
            Verdict::ChangesRequested => forge::Verdict::ChangesRequested,
            Verdict::Commented => forge::Verdict::Commented,
            Verdict::Dismissed => return Err(Error::field("verdict", "a review cannot be given as dismissed")),
        };
        let given = forge.review(PullNumber(number), &forge::NewReview { verdict, body: new.body }).await?;
        let pull = look_at_pull(self.house, repo, number).await?;
        self.note(grant, Action::PullTalk, &pull, "reviewed").await?;
        Ok(review_of(given))
    }

    /// What programs found out about the head of a pull.
    pub async fn checks(&self, grant: &Grant, repo: &RepoName, number: u64) -> Result<Vec<CheckView>, Error> {
        let forge = self.reach(grant, Action::RepoRead, repo).await?;
        let head = forge.get(PullNumber(number)).await?.head_commit;
        Ok(checks_of(forge.checks(&head).await?))
    }

    /// Merges a pull through the lane of its base.
    pub async fn merge(
        &self,
        grant: &Grant,
        repo: &RepoName,
        number: u64,
        new: NewMerge,
    ) -> Result<Merged, MergeRefused> {
        self.house.admit(grant, Action::PullMerge, Subject::Repo(repo)).await?;
        let wish =
            MergeWish { repo: repo.clone(), number, style: new.style, expected_head: new.head, by: grant.clone() };
        merge_pull(self.house, wish).await
    }

    /// Closes a pull without merging it, or opens it again.
    pub async fn set_open(&self, grant: &Grant, repo: &RepoName, number: u64, open: bool) -> Result<PullView, Error> {
        let forge = self.reach(grant, Action::PullTalk, repo).await?;
        let change = PullChange { open: Some(open), ..PullChange::default() };
        forge.update(PullNumber(number), &change).await?;
        let pull = look_at_pull(self.house, repo, number).await?;
        self.note(grant, Action::PullTalk, &pull, if open { "opened again" } else { "closed" }).await?;
        Ok(pull)
    }

    /// Gives a pull another base.
    pub(crate) async fn set_base(
        &self,
        grant: &Grant,
        repo: &RepoName,
        number: u64,
        base: &Branch,
    ) -> Result<PullView, Error> {
        let forge = self.reach(grant, Action::PullTalk, repo).await?;
        let change = PullChange { base: Some(base.clone()), ..PullChange::default() };
        forge.update(PullNumber(number), &change).await?;
        watch_base(self.house, repo, base).await?;
        let pull = look_at_pull(self.house, repo, number).await?;
        self.note(grant, Action::PullTalk, &pull, "given another base").await?;
        Ok(pull)
    }

    /// Says that a pull is still being worked on, or that it is ready to be reviewed and merged.
    pub async fn set_draft(&self, grant: &Grant, repo: &RepoName, number: u64, draft: bool) -> Result<PullView, Error> {
        let forge = self.reach(grant, Action::PullTalk, repo).await?;
        refuse_if_over(&forge.get(PullNumber(number)).await?)?;
        forge.set_draft(PullNumber(number), draft).await?;
        let pull = look_at_pull(self.house, repo, number).await?;
        self.note(grant, Action::PullTalk, &pull, if draft { "made a draft" } else { "made ready" }).await?;
        Ok(pull)
    }

    /// Asks that a pull be merged by itself once nothing stands in the way, as the repository merges or in the style that
    /// is named.
    pub async fn set_auto_merge(
        &self,
        grant: &Grant,
        repo: &RepoName,
        number: u64,
        new: NewAutoMerge,
    ) -> Result<PullView, Error> {
        let forge = self.reach(grant, Action::PullMerge, repo).await?;
        let found = find(self.house, repo).await?;
        refuse_if_over(&forge.get(PullNumber(number)).await?)?;
        let style = new.style.unwrap_or(found.rules.merge);
        merge_pull_by_itself(self.house, &found, &*forge, number, Some(style)).await?;
        let pull = look_at_pull(self.house, repo, number).await?;
        self.note(grant, Action::PullMerge, &pull, "to be merged by itself").await?;
        Ok(pull)
    }

    /// Takes it back that a pull is to be merged by itself.
    pub async fn unset_auto_merge(&self, grant: &Grant, repo: &RepoName, number: u64) -> Result<PullView, Error> {
        let forge = self.reach(grant, Action::PullMerge, repo).await?;
        let found = find(self.house, repo).await?;
        merge_pull_by_itself(self.house, &found, &*forge, number, None).await?;
        let pull = look_at_pull(self.house, repo, number).await?;
        self.note(grant, Action::PullMerge, &pull, "not to be merged by itself").await?;
        Ok(pull)
    }

    /// Who would conflict with whom, after something moved.
    pub async fn forecast(
        &self,
        grant: &Grant,
        repo: &RepoName,
        live: &[Live],
        moved: &Moved,
    ) -> Result<Vec<Foreseen>, Error> {
        self.house.admit(grant, Action::RepoRead, Subject::Repo(repo)).await?;
        find(self.house, repo).await?;
        Ok(forecast(self.house, repo, live, moved).await?.conflicts)
    }

    /// Takes a letter that a forge sent by itself. It shows no key: what it is signed with is what is believed.
    pub async fn take_letter(
        &self,
        dialect: Dialect,
        repo: &RepoName,
        headers: &http::HeaderMap,
        body: &[u8],
    ) -> Result<Posted, LetterRefused> {
        take_letter(self.house, dialect, repo, headers, body).await
    }

    /// The forge of a repository, in the name of a key that may do this there.
    async fn reach(&self, grant: &Grant, action: Action, repo: &RepoName) -> Result<Arc<dyn Forge>, Error> {
        self.house.admit(grant, action, Subject::Repo(repo)).await?;
        let repo = find(self.house, repo).await?;
        forge_as(self.house, &repo, &grant.name, None).await
    }

    async fn note(&self, grant: &Grant, action: Action, pull: &PullView, what: &str) -> Result<(), Error> {
        let subject = Some(format!("{}/{}", pull.repo, pull.number));
        let line = AuditLine::by(grant, action.word(), subject, Outcome::Done, self.house.store.now());
        Ok(self.house.store.write_audit(&line.with_detail(what.to_owned())).await?)
    }
}

/// What is over is neither a draft nor merged by itself.
fn refuse_if_over(pull: &forge::Pull) -> Result<(), Error> {
    let over = match pull.state {
        forge::PullState::Open => return Ok(()),
        forge::PullState::Merged { .. } => "merged",
        forge::PullState::Closed => "closed; open it again first",
    };
    Err(Error::Conflict { why: format!("pull request {} is {over}", pull.number) })
}
