//! What forges tell, in the published language.

use carrel_forge as forge;
use carrel_model::{
    CommitId,
    public::{CheckState, CheckView, CommentView, PullPhase, PullView, ReviewView, Side, Verdict},
    repo::Repo,
};

use crate::forges::{Place, style_of};

/// The check that the merge lane itself reports. It judges a merged result, and stands in nobody's way.
pub(crate) const LANE_CHECK: &str = "carrel/merge";

/// A pull with what programs and people think of it.
pub(crate) struct Seen<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) place: &'a Place,
    pub(crate) pull: &'a forge::Pull,
    pub(crate) checks: &'a [CheckView],
    pub(crate) reviews: &'a [ReviewView],
}

impl Seen<'_> {
    pub(crate) fn view(&self) -> PullView {
        let pull = self.pull;
        let (checks, verdict) = (together(self.checks), judged(self.reviews));
        let approvals = approvals(self.reviews, &pull.head_commit);
        let lacks_approvals = approvals < self.repo.rules.pulls.approvals();
        let format = self.repo.rules.branch_format.clone().unwrap_or_default();
        let merge_commit = match &pull.state {
            forge::PullState::Merged { commit } => commit.clone(),
            _ => None,
        };
        PullView {
            repo: self.repo.name.clone(),
            number: pull.number.0,
            forge: self.place.word().into(),
            url: pull.url.clone(),
            title: pull.title.clone(),
            body: pull.body.clone(),
            author: pull.author.clone(),
            task_id: format.task(&pull.head),
            head: pull.head.clone(),
            head_commit: pull.head_commit.clone(),
            base: pull.base.clone(),
            phase: match phase_of(pull, checks, verdict) {
                PullPhase::Mergeable if lacks_approvals => PullPhase::Open,
                phase => phase,
            },
            draft: pull.draft,
            labels: pull.labels.clone(),
            reviewers: pull.reviewers.clone(),
            auto_merge: pull.auto_merge.map(style_of),
            checks,
            verdict,
            approvals,
            merge_commit,
            created_at: pull.created_at,
            updated_at: pull.updated_at,
            revision: 0,
        }
    }
}

fn phase_of(pull: &forge::Pull, checks: Option<CheckState>, verdict: Option<Verdict>) -> PullPhase {
    match (&pull.state, pull.mergeable) {
        (forge::PullState::Merged { .. }, _) => PullPhase::Merged,
        (forge::PullState::Closed, _) => PullPhase::Closed,
        (forge::PullState::Open, forge::Mergeable::Conflicted) => PullPhase::Conflicted,
        (forge::PullState::Open, forge::Mergeable::Unknown) => PullPhase::Open,
        (forge::PullState::Open, forge::Mergeable::Clean) => match checks {
            Some(CheckState::Pending) => PullPhase::Checking,
            Some(CheckState::Failed) => PullPhase::Open,
            _ if pull.draft || verdict == Some(Verdict::ChangesRequested) => PullPhase::Open,
            _ => PullPhase::Mergeable,
        },
    }
}

/// What checks come to together: the worst of them.
pub(crate) fn together(checks: &[CheckView]) -> Option<CheckState> {
    checks.iter().filter(|check| check.name != LANE_CHECK).map(|check| check.state).max()
}

/// How many approve a head: the last word of each reviewer counts, and only what was said of this very commit. Whoever
/// approved what stood there before has not seen what came since.
pub(crate) fn approvals(reviews: &[ReviewView], head: &CommitId) -> u64 {
    let last = last_words(reviews);
    let approves = |review: &&&ReviewView| {
        review.verdict == Verdict::Approved && review.commit.as_ref().is_none_or(|commit| commit == head)
    };
    last.iter().filter(approves).count() as u64
}

fn last_words(reviews: &[ReviewView]) -> Vec<&ReviewView> {
    let mut last: Vec<&ReviewView> = Vec::new();
    for review in reviews.iter().filter(|review| review.verdict != Verdict::Commented) {
        last.retain(|earlier| earlier.author != review.author);
        last.push(review);
    }
    last
}

/// What reviews come to together: the last word of each reviewer counts, and one who wants changes is enough.
pub(crate) fn judged(reviews: &[ReviewView]) -> Option<Verdict> {
    let last = last_words(reviews);
    let has = |wanted| last.iter().any(|review| review.verdict == wanted);
    [Verdict::ChangesRequested, Verdict::Approved].into_iter().find(|verdict| has(*verdict))
}

pub(crate) fn checks_of(checks: forge::Checks) -> Vec<CheckView> {
    checks.all.into_iter().map(check_of).collect()
}

fn check_of(check: forge::Check) -> CheckView {
    let state = match check.state {
        forge::CheckState::Skipped => CheckState::Skipped,
        forge::CheckState::Passed => CheckState::Passed,
        forge::CheckState::Pending => CheckState::Pending,
        forge::CheckState::Failed => CheckState::Failed,
    };
    CheckView { name: check.name, state, summary: check.summary, url: check.url, at: check.at }
}

pub(crate) fn comment_of(comment: forge::Comment) -> CommentView {
    let (path, line, side) = match comment.place {
        Some(forge::Place { path, line, side: forge::Side::Old }) => (Some(path), line, Some(Side::Old)),
        Some(forge::Place { path, line, side: forge::Side::New }) => (Some(path), line, Some(Side::New)),
        None => (None, None, None),
    };
    CommentView {
        id: comment.id,
        author: comment.author,
        body: comment.body,
        path,
        line,
        side,
        commit: comment.commit,
        stamp: comment.stamp.map(|stamp| stamp.to_string()),
        url: comment.url,
        created_at: comment.created_at,
        updated_at: comment.updated_at,
    }
}

pub(crate) fn review_of(review: forge::Review) -> ReviewView {
    let verdict = match review.verdict {
        forge::Verdict::Approved => Verdict::Approved,
        forge::Verdict::ChangesRequested => Verdict::ChangesRequested,
        forge::Verdict::Commented => Verdict::Commented,
        forge::Verdict::Dismissed => Verdict::Dismissed,
    };
    let commit: Option<CommitId> = review.commit;
    ReviewView { id: review.id, author: review.author, verdict, body: review.body, commit, at: review.at }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(author: &str, verdict: Verdict) -> ReviewView {
        let at = carrel_model::Timestamp::UNIX_EPOCH;
        ReviewView { id: "1".into(), author: author.into(), verdict, body: String::new(), commit: None, at }
    }

    #[test]
    fn the_last_word_of_each_reviewer_counts_and_one_who_wants_changes_is_enough() {
        use Verdict::*;
        assert_eq!(judged(&[]), None);
        assert_eq!(judged(&[review("a", Commented)]), None);
        assert_eq!(judged(&[review("a", Approved), review("b", ChangesRequested)]), Some(ChangesRequested));
        assert_eq!(judged(&[review("a", ChangesRequested), review("a", Approved)]), Some(Approved));
        assert_eq!(judged(&[review("a", ChangesRequested), review("a", Commented)]), Some(ChangesRequested));
        assert_eq!(judged(&[review("a", ChangesRequested), review("a", Dismissed)]), None);
    }

    #[test]
    fn an_approval_counts_once_for_each_reviewer_and_only_for_the_commit_it_was_given_to() {
        use Verdict::*;
        let (head, before): (CommitId, CommitId) = ("a".repeat(40).parse().unwrap(), "b".repeat(40).parse().unwrap());
        let of =
            |author: &str, commit: &CommitId| ReviewView { commit: Some(commit.clone()), ..review(author, Approved) };
        assert_eq!(approvals(&[], &head), 0);
        assert_eq!(approvals(&[of("a", &head), of("a", &head), of("b", &before)], &head), 1);
        assert_eq!(
            approvals(&[of("a", &head), review("b", Approved)], &head),
            2,
            "a forge may not say of which commit"
        );
        assert_eq!(approvals(&[of("a", &head), review("a", ChangesRequested)], &head), 0);
        assert_eq!(approvals(&[of("a", &head), review("a", Commented)], &head), 1);
    }
}
