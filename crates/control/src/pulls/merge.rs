//! Merging a pull request through the lane of its base.
//!
//! ```text
//! look ─► lane ─► bring up to date ─► ladder ─► check in a sandbox ─► the base moves ─► tidy
//!                        ▲                                                │
//!                        └───────────── somebody else moved the base ◄────┘
//! ```
//!
//! A forge outside merges what its branch has: what only the ladder settles is put into the branch first, published, judged
//! by the checks there, and merged then.
//!
//! Everything before the base moves may be thrown away; everything after it is found and finished by the next call.

use std::sync::Arc;

use carrel_forge::{self as forge, Check, Forge, ForgeError, MergeWay, PullNumber};
use carrel_git::{
    Identity, Mirror, Move,
    merge::{Integrated, Offer, Rung, RungRecord},
};
use carrel_model::{
    Action, Branch, CommitId, Grant, RefName, RepoName,
    audit::{AuditLine, Outcome},
    public::{CheckState, PullPhase, PullView, Verdict},
    repo::{MergeStyle, Repo},
    task::TaskWant,
};
use futures::FutureExt;

use super::{
    check::{self, Checked},
    lane::Hold,
    look::glance_at_pull,
    look_at_pulls_soon, publish,
    rebase::{Rebased, began_outside, rebase_branch},
    settled, signer_of,
    view::LANE_CHECK,
};
use crate::{
    Error,
    desks::repos::{bring_up_to_date, find},
    forges::{Held, LOGIN, MOVED, Place, forge_as, forge_of},
    house::House,
};

/// How often a merge begins anew because the base moved under it.
const TRIES: usize = 8;

/// A merge that is wanted.
#[derive(Debug, Clone)]
pub struct MergeWish {
    /// In which repository.
    pub repo: RepoName,
    /// Which pull.
    pub number: u64,
    /// How it is put onto its base; as the repository says when absent.
    pub style: Option<MergeStyle>,
    /// What was looked at: a head that has moved since is not merged.
    pub expected_head: Option<CommitId>,
    /// Who wants it.
    pub by: Grant,
}

/// A merge that was done.
#[derive(Debug, Clone)]
pub struct Merged {
    /// The pull as it now is.
    pub pull: PullView,
    /// What the base got, where the forge names it.
    pub commit: Option<CommitId>,
    /// How conflicts were settled.
    pub records: Vec<RungRecord>,
}

/// The gate at which a merge was refused.
#[derive(Debug, thiserror::Error)]
pub enum MergeRefused {
    /// Its files conflict, and no rung of the ladder settles them.
    #[error("it conflicts with `{with}` in {}", .paths.join(", "))]
    Conflicts {
        /// In which files.
        paths: Vec<String>,
        /// With what.
        with: Branch,
        /// What was tried.
        records: Vec<RungRecord>,
    },
    /// The check of the merged result is not content.
    #[error("the check of the merged result failed:\n{log}")]
    ChecksFailed {
        /// What it printed, or the end of it.
        log: String,
    },
    /// Somebody has to agree first.
    #[error("{why}")]
    NotApproved {
        /// A sentence.
        why: String,
    },
    /// The head is not the one that was looked at.
    #[error("its head has moved to {}", .head.short())]
    HeadMoved {
        /// Where it is.
        head: CommitId,
    },
    /// Its conflicts were settled, and the forge has not judged yet what was made of it: to be asked again.
    #[error("it {why}")]
    Waits {
        /// What it does, in words that go on a card.
        why: String,
    },
    /// It was closed.
    #[error("it is closed")]
    Closed,
    /// The forge or the upstream does not allow it.
    #[error("{why}")]
    Upstream {
        /// A sentence.
        why: String,
    },
    /// It could not be tried.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<ForgeError> for MergeRefused {
    fn from(error: ForgeError) -> Self {
        match error {
            ForgeError::Denied { why, .. } | ForgeError::Conflict { why } => MergeRefused::Upstream { why },
            error => MergeRefused::Failed(error.into()),
        }
    }
}

impl From<carrel_git::GitError> for MergeRefused {
    fn from(error: carrel_git::GitError) -> Self {
        MergeRefused::Failed(error.into())
    }
}

/// Merges a pull. A second time finds it merged. It goes on when the caller leaves.
pub(crate) async fn merge_pull(house: &Arc<House>, wish: MergeWish) -> Result<Merged, MergeRefused> {
    let (moved, house) = (Arc::clone(house), Arc::clone(house));
    let merging = house.tasks().spawn(async move {
        let stop = moved.stop().clone();
        let merging = async {
            let merging = Merging::begin(moved, wish).await?;
            merging.run().await
        };
        // What is cut off here is found or done anew by whoever asks next.
        let closing = || Error::Unavailable { why: "the server is about to end; ask again".into(), source: None };
        Box::pin(stop.run_until_cancelled(merging)).await.unwrap_or_else(|| Err(closing().into()))
    });
    merging.await.map_err(|ended| Error::Internal(Box::new(ended)))?
}

/// What came of one try.
enum Attempted {
    /// It is merged.
    Merged { pull: Box<PullView>, records: Vec<RungRecord> },
    /// The branch has what the ladder settled; now the forge can merge it.
    Settled,
    /// Somebody else moved the base.
    BaseMoved,
}

struct Merging {
    house: Arc<House>,
    repo: Repo,
    mirror: Mirror,
    place: Place,
    forge: Arc<dyn Forge>,
    wish: MergeWish,
    style: MergeStyle,
}

impl Merging {
    async fn begin(house: Arc<House>, wish: MergeWish) -> Result<Merging, Error> {
        let repo = find(&house, &wish.repo).await?;
        let mirror = house.library.mirror(&repo.name).await?;
        let place = Place::of(&house, &repo).await?;
        let forge = forge_of(&house, &repo).await?;
        let style = wish.style.unwrap_or(repo.rules.merge);
        Ok(Merging { house, repo, mirror, place, forge, wish, style })
    }

    async fn run(self) -> Result<Merged, MergeRefused> {
        let pull = self.look().await?;
        if pull.phase == PullPhase::Merged {
            return self.finish(pull, Vec::new()).await;
        }
        self.gates(&pull).await?;
        let waits = |waits| self.say_it_waits(&pull, waits).boxed();
        let hold = Hold::take(&self.house, &self.repo.name, &pull.base, waits).await?;
        if let Some(left) = hold.left_behind() {
            check::end_sandbox(&self.house, left).await;
            hold.note_sandbox(None).await?;
        }
        for _ in 0..TRIES {
            // Whoever held the lane before may have merged this very pull, or moved what it stands on.
            let pull = self.look().await?;
            if pull.phase == PullPhase::Merged {
                return self.finish(pull, Vec::new()).await;
            }
            self.gates(&pull).await?;
            self.still_wanted(&pull).await?;
            match self.attempt(&hold, &pull).await? {
                Attempted::Merged { pull, records } => return self.finish(*pull, records).await,
                Attempted::Settled | Attempted::BaseMoved => {}
            }
        }
        let why = format!("the base `{}` does not hold still; try again", pull.base);
        Err(Error::Unavailable { why, source: None }.into())
    }

    /// The card of a task says that it waits in the lane, for as long as it does.
    async fn say_it_waits(&self, pull: &PullView, waits: bool) {
        let Some(id) = pull.task_id else { return };
        let (base, head) = (pull.base.clone(), pull.head.clone());
        let said = self.house.store.change(move |tx| {
            Box::pin(async move {
                let words = format!("waits in the merge lane of `{base}`");
                let Some((mut task, _)) = tx.lock_task(id).await? else { return Ok(()) };
                if task.branch != head || task.phase.is_over() || (!waits && task.doing.as_ref() != Some(&words)) {
                    return Ok(());
                }
                task.doing = waits.then_some(words);
                tx.put_task(&mut task).await?;
                Ok::<_, Error>(())
            })
        });
        if let Err(error) = said.await {
            tracing::debug!(error = &error as &dyn std::error::Error, task = %id, "a card does not say that it waits");
        }
    }

    async fn look(&self) -> Result<PullView, Error> {
        glance_at_pull(&self.house, &self.repo, self.wish.number).await
    }

    async fn gates(&self, pull: &PullView) -> Result<(), MergeRefused> {
        let not_approved = |why: &str| Err(MergeRefused::NotApproved { why: why.to_owned() });
        if pull.phase == PullPhase::Closed {
            return Err(MergeRefused::Closed);
        }
        // Here nothing goes into the branch on the way.
        let before = match self.place == Place::Embedded {
            true => Vec::new(),
            false => settled::came_of(&self.mirror, pull, &pull.head_commit).await?,
        };
        self.shows_what_was_made(pull).await?;
        let looked_at = |head: &CommitId| *head == pull.head_commit || before.contains(head);
        if self.wish.expected_head.as_ref().is_some_and(|head| !looked_at(head)) {
            return Err(MergeRefused::HeadMoved { head: pull.head_commit.clone() });
        }
        if pull.draft {
            return not_approved("it is a draft: it is still being worked on");
        }
        if pull.verdict == Some(Verdict::ChangesRequested) {
            return not_approved("a reviewer wants changes first");
        }
        let wanted = self.repo.rules.pulls.approvals();
        if pull.approvals < wanted {
            let why = format!("it has {} of the {wanted} approvals that this repository asks for", pull.approvals);
            let anew = "; its head is another one since conflicts were settled in it, and that has to be approved";
            return not_approved(&format!("{why}{}", if before.is_empty() { "" } else { anew }));
        }
        if pull.checks == Some(CheckState::Failed) {
            let log = format!("A check of {} failed at the forge: {}", pull.head_commit.short(), pull.url);
            return Err(MergeRefused::ChecksFailed { log });
        }
        if before.is_empty() {
            return Ok(());
        }
        settled::judged(&self.house, &self.repo, &self.mirror, &*self.forge, pull, &before).await
    }

    /// A forge may need a moment until it shows a head that was made here; and whoever made it may have died before it was
    /// published.
    async fn shows_what_was_made(&self, pull: &PullView) -> Result<(), MergeRefused> {
        if self.place == Place::Embedded {
            return Ok(());
        }
        let here = match self.mirror.find(&pull.head.full()).await? {
            Some(here) if here != pull.head_commit => here,
            _ => return Ok(()),
        };
        if !settled::came_of(&self.mirror, pull, &here).await?.contains(&pull.head_commit) {
            return Ok(());
        }
        publish(&self.house, &self.repo.name, &pull.head).await?;
        Err(MergeRefused::Waits { why: format!("waits until the forge shows its new head {}", here.short()) })
    }

    /// Somebody may have closed its task while it waited for the lane or for its check.
    async fn still_wanted(&self, pull: &PullView) -> Result<(), MergeRefused> {
        let Some(task) = pull.task_id else { return Ok(()) };
        let task = self.house.store.tasks().find(task).await.map_err(Error::from)?;
        match task.is_some_and(|task| task.want == TaskWant::Closed && task.branch == pull.head) {
            true => Err(MergeRefused::Closed),
            false => Ok(()),
        }
    }

    /// One try.
    async fn attempt(&self, hold: &Hold, pull: &PullView) -> Result<Attempted, MergeRefused> {
        bring_up_to_date(&self.house, &self.repo.name).await?;
        let Some(base) = self.mirror.find(&pull.base.full()).await? else {
            let why = format!(
                "its base `{}` is gone; give it another one with `carrel task set ID --base BRANCH`",
                pull.base
            );
            return Err(MergeRefused::Upstream { why });
        };
        let head = pull.head_commit.clone();
        if !self.mirror.has(&head).await? {
            let why = format!("the commit {} of the pull is not here; publish its branch first", head.short());
            return Err(MergeRefused::Upstream { why });
        }
        let author = self.mirror.author_of(&head).await?;
        let committer = Identity::house();
        let signer = signer_of(&self.house, &self.repo.name).await?;
        let message = message_of(pull, self.style);
        let since = began_outside(&self.house, &self.mirror, pull.task_id, &base, &head).await?;
        if since.is_some() && self.place != Place::Embedded {
            // A forge outside would bring back what was taken back: the branch is put onto the new base first.
            return self.settle_in_branch(pull).await;
        }
        let offer = Offer {
            base: &base,
            head: &head,
            style: self.style,
            message: &message,
            author: &author,
            committer: &committer,
            signer: signer.as_ref(),
            since: since.as_ref(),
        };
        let integrated = self.house.forges.ladder.integrate(&self.mirror, &offer).await?;
        let (commit, regenerate, records) = match integrated {
            Integrated::Ready { commit, regenerate, records } => (commit, regenerate, records),
            Integrated::Conflicted { paths, records, .. } => {
                return Err(MergeRefused::Conflicts { paths, with: pull.base.clone(), records });
            }
            Integrated::Already => {
                let why = format!("`{}` has everything already that it brings; close it", pull.base);
                return Err(MergeRefused::Upstream { why });
            }
        };
        let by_itself = records.iter().all(|record| record.rung == Rung::Clean && record.given.is_empty());
        if self.place != Place::Embedded && !(by_itself && regenerate.is_empty()) {
            // A forge outside knows no ladder: what it settles goes into the branch first.
            return self.settle_in_branch(pull).await;
        }
        let (house, task) = (&self.house, pull.task_id);
        let made = check::make_anew(house, &self.repo, &self.mirror, commit, &pull.base, task, &regenerate).await?;
        let Some(commit) = made else {
            let paths: Vec<String> = regenerate.into_iter().map(|file| file.path).collect();
            let records = check::unmade(records, &paths);
            return Err(MergeRefused::Conflicts { paths, with: pull.base.clone(), records });
        };
        self.check(hold, pull, &commit).await?;
        let merged = if self.place == Place::Embedded {
            let held = Held { lane: hold.lane().clone(), base, head: head.clone(), commit };
            forge_as(&self.house, &self.repo, LOGIN, Some(held)).await?
        } else {
            Arc::clone(&self.forge)
        };
        self.still_wanted(pull).await?;
        // The embedded forge asks once more in the change itself; one outside knows nothing of lanes.
        hold.still_ours().await?;
        let merge = forge::Merge { way: way_of(self.style), head: head.clone(), title: None, message: None };
        match merged.merge(PullNumber(pull.number), &merge).await {
            Ok(_) => {}
            Err(ForgeError::Conflict { why }) if why == MOVED => return Ok(Attempted::BaseMoved),
            Err(error) => {
                // It may have been done all the same; or the head moved under us.
                let seen = self.look().await?;
                if seen.phase != PullPhase::Merged {
                    if seen.head_commit != head {
                        return Err(MergeRefused::HeadMoved { head: seen.head_commit });
                    }
                    if matches!(error, ForgeError::Conflict { .. }) && self.is_news_to_the_forge(pull).await? {
                        let why = format!("waits until the forge can merge its new head {}: {error}", head.short());
                        return Err(MergeRefused::Waits { why });
                    }
                    return Err(error.into());
                }
            }
        }
        let pull = Box::new(self.look().await?);
        Ok(Attempted::Merged { pull, records })
    }

    /// The branch gets what the ladder settled, here and at the forge. Whoever looked at the head before has looked at this
    /// one: nothing else went into it than its base.
    async fn settle_in_branch(&self, pull: &PullView) -> Result<Attempted, MergeRefused> {
        let here = self.mirror.head_of(&pull.head).await?;
        if here != pull.head_commit {
            if self.wish.expected_head.is_some() {
                return Err(MergeRefused::HeadMoved { head: here });
            }
            // What was pushed here is not there yet.
            publish(&self.house, &self.repo.name, &pull.head).await?;
            return Ok(Attempted::Settled);
        }
        let (repo, task) = (&self.repo.name, pull.task_id);
        match rebase_branch(&self.house, repo, &pull.head, &pull.base, task, Some(pull)).await? {
            Rebased::Conflicts { paths, records, .. } => {
                return Err(MergeRefused::Conflicts { paths, with: pull.base.clone(), records });
            }
            Rebased::Already => {}
            Rebased::Moved { commit, records } => settled::say_so(&self.house, pull, &commit, &records).await?,
        }
        publish(&self.house, repo, &pull.head).await?;
        Ok(Attempted::Settled)
    }

    /// Whether its head was made here a moment ago.
    async fn is_news_to_the_forge(&self, pull: &PullView) -> Result<bool, Error> {
        Ok(self.place != Place::Embedded
            && !settled::came_of(&self.mirror, pull, &pull.head_commit).await?.is_empty()
            && settled::is_fresh(&self.house, &self.mirror, &pull.head_commit).await?)
    }

    async fn check(&self, hold: &Hold, pull: &PullView, commit: &CommitId) -> Result<(), MergeRefused> {
        let Some(command) = &self.repo.rules.check_command else { return Ok(()) };
        self.report(pull, forge::CheckState::Pending, "The merged result is being checked.").await;
        let checked = check::check(&self.house, &self.repo, &self.mirror, commit, pull, command, hold).await;
        let (state, sentence) = match &checked {
            Ok(Checked { passed: true, .. }) => (forge::CheckState::Passed, "The merged result is good."),
            Ok(Checked { passed: false, .. }) => (forge::CheckState::Failed, "The merged result is not good."),
            Err(_) => (forge::CheckState::Skipped, "The merged result could not be checked."),
        };
        self.report(pull, state, sentence).await;
        match checked? {
            Checked { passed: true, .. } => Ok(()),
            Checked { log, .. } => {
                // Whoever watches the pull sees it at once.
                self.look().await?;
                Err(MergeRefused::ChecksFailed { log })
            }
        }
    }

    /// Says at the forge how far it is. A forge that does not take it is no reason not to merge.
    async fn report(&self, pull: &PullView, state: forge::CheckState, sentence: &str) {
        let check = Check { name: LANE_CHECK.into(), state, summary: Some(sentence.into()), url: None, at: None };
        if let Err(error) = self.forge.report(&pull.head_commit, &check).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "a check was not reported");
        }
    }

    /// What follows a merge, each step as often as it takes.
    async fn finish(&self, pull: PullView, records: Vec<RungRecord>) -> Result<Merged, MergeRefused> {
        self.keep_commits(&pull).await?;
        if !self.repo.rules.keep_branches {
            self.delete_branch(&pull).await?;
        }
        bring_up_to_date(&self.house, &self.repo.name).await?;
        // Whoever waits for the lane goes first: the others are looked at beside it, once for all who were merged meanwhile.
        look_at_pulls_soon(&self.house, &self.repo.name, &pull.base);
        let (by, subject) = (self.wish.by.clone(), format!("{}#{}", self.repo.name, pull.number));
        let line = AuditLine::by(&by, Action::PullMerge.word(), Some(subject), Outcome::Done, self.house.store.now());
        self.house.store.write_audit(&line).await.map_err(Error::from)?;
        let commit = pull.merge_commit.clone();
        Ok(Merged { pull, commit, records })
    }

    /// What was squashed or rebased is in no branch any more: its commits get a name of their own, so that a backup has
    /// them and the pull can still be read.
    async fn keep_commits(&self, pull: &PullView) -> Result<(), MergeRefused> {
        let (name, head) = (RefName::pull(&pull.forge, pull.number), &pull.head_commit);
        if !self.mirror.has(head).await? || self.mirror.find(&name).await?.as_ref() == Some(head) {
            return Ok(());
        }
        if let Some(base) = self.mirror.find(&pull.base.full()).await?
            && self.mirror.is_ancestor(head, &base).await?
        {
            return Ok(());
        }
        self.mirror.hold(&name, head).await?;
        Ok(())
    }

    /// Only what was merged goes: a branch that has moved on since keeps its new work.
    async fn delete_branch(&self, pull: &PullView) -> Result<(), MergeRefused> {
        let here = self.mirror.find(&pull.head.full()).await?;
        if here.as_ref().is_some_and(|here| *here != pull.head_commit) {
            return Ok(());
        }
        match self.forge.delete_branch(&pull.head).await {
            Ok(()) | Err(ForgeError::NotFound { .. }) => {}
            // A protected branch, or a token that may not: it is merged all the same.
            Err(error @ (ForgeError::Denied { .. } | ForgeError::Conflict { .. } | ForgeError::Invalid { .. })) => {
                tracing::warn!(error = &error as &dyn std::error::Error, branch = %pull.head, "a branch was not deleted");
            }
            Err(error) => return Err(error.into()),
        }
        let still = self.mirror.find(&pull.head.full()).await?;
        if let Some(here) = still.filter(|_| self.place != Place::Embedded) {
            self.mirror.move_refs(&[Move { name: pull.head.full(), from: Some(here), to: None }]).await?;
        }
        Ok(())
    }
}

/// The message of the one commit that is made.
fn message_of(pull: &PullView, style: MergeStyle) -> String {
    let (title, body) = match style {
        MergeStyle::Squash => (
            format!("{} (#{})", carrel_git::message::make_conventional(&pull.title).trim(), pull.number),
            pull.body.as_str(),
        ),
        MergeStyle::Merge | MergeStyle::Rebase => {
            (format!("Merge pull request #{} from {}", pull.number, pull.head), pull.title.as_str())
        }
    };
    format!("{}\n", format!("{title}\n\n{body}").trim_end())
}

pub(super) fn way_of(style: MergeStyle) -> MergeWay {
    match style {
        MergeStyle::Merge => MergeWay::Merge,
        MergeStyle::Squash => MergeWay::Squash,
        MergeStyle::Rebase => MergeWay::Rebase,
    }
}
