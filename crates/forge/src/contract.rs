//! The contract: what every forge promises, checked the same way for all of them.
//!
//! A forge's own tests call `broken_promises` and expect none. The suite is itself tested with forges that break their
//! word, so that a promise that cannot fail is noticed.

use async_trait::async_trait;
use carrel_model::Timestamp;

use crate::{
    BranchName, Check, CheckState, CommitId, Forge, ForgeError, Merge, MergeWay, Mergeable, NewComment, NewPull,
    NewReview, Notice, Place, PullChange, PullMove, PullNumber, PullState, Reading, Side, Verdict, poll,
};

/// A repository at a forge, and the people around it. Its default branch is `main`.
#[async_trait]
pub trait World: Send + Sync {
    /// Opens the forge over the same state each time it is asked, as a restart would.
    fn open(&self) -> Box<dyn Forge>;

    /// The forge as somebody else sees it: `mona`.
    fn mona(&self) -> Box<dyn Forge>;

    /// Somebody pushes a commit that writes one file of one line. A branch that is not there begins at `main`.
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId;
}

/// Tries everything a forge promises and lists, as sentences, what it did not keep.
pub async fn broken_promises(world: &dyn World) -> Vec<String> {
    let mut ledger = Promises::default();
    ledger.opening(world).await;
    ledger.talking(world).await;
    ledger.judging(world).await;
    ledger.settings(world).await;
    ledger.merging(world).await;
    ledger.closing(world).await;
    ledger.polling(world).await;
    ledger.broken
}

#[derive(Default)]
struct Promises {
    broken: Vec<String>,
}

/// Says what stood in the way when an answer was hoped for.
fn good<T>(result: Result<T, ForgeError>) -> Result<T, String> {
    result.map_err(|error| format!("{error:?}"))
}

impl Promises {
    fn promise(&mut self, sentence: &str, kept: bool) {
        if !kept {
            self.broken.push(sentence.to_owned());
        }
    }

    /// A promise whose answer is needed for those that follow.
    fn hoped<T>(&mut self, sentence: &str, result: Result<T, ForgeError>) -> Option<T> {
        match good(result) {
            Ok(value) => Some(value),
            Err(why) => {
                self.broken.push(format!("{sentence} ({why})"));
                None
            }
        }
    }

    async fn opening(&mut self, world: &dyn World) {
        let (here, head) = (world.open(), branch("task-1"));
        let fitness = self.hoped("probe looks around", here.probe().await);
        self.promise("probe finds the default branch", fitness.as_ref().is_some_and(|f| f.default_branch == main()));
        self.promise("a good credential lacks nothing", fitness.is_some_and(|f| f.missing.is_empty()));
        self.promise("the default branch is named", here.default_branch().await == Ok(main()));
        self.promise("a branch without a pull has none", here.find(&head).await == Ok(None));
        let refused = matches!(here.open(&asked(&head)).await, Err(ForgeError::Invalid { .. }));
        self.promise("a pull of a branch that is not there is refused as invalid", refused);
        let stranger = PullNumber(987_654);
        self.promise("a stranger is not found", is_not_found(&here.get(stranger).await));
        self.promise("a stranger has no comments", is_not_found(&here.comments(stranger, None).await));
        self.promise("a stranger cannot be changed", is_not_found(&here.update(stranger, &retitled("x")).await));

        let tip = world.push(&head, "one.txt", "one\n").await;
        let Some(pull) = self.hoped("open makes a pull", here.open(&asked(&head)).await) else { return };
        self.promise("a new pull is open", pull.state == PullState::Open && !pull.draft);
        self.promise("a pull has the title and text that were asked for", {
            pull.title == "feat: task-1" && pull.body == "What was asked.\n\nWhat changed."
        });
        self.promise("a pull knows its branches and its commit", {
            (&pull.head, &pull.base, &pull.head_commit) == (&head, &main(), &tip)
        });
        let again = here.open(&NewPull { title: "another title".into(), ..asked(&head) }).await;
        self.promise("open may be repeated, and changes nothing", {
            again.as_ref().is_ok_and(|again| again.number == pull.number && again.title == pull.title)
        });
        let later = world.open();
        let found = later.find(&head).await;
        self.promise("a restart finds the pull by its branch", {
            matches!(&found, Ok(Some(found)) if found.number == pull.number)
        });
        self.promise(
            "a pull that merges cleanly is seen so",
            soon_is(later.as_ref(), pull.number, Mergeable::Clean).await,
        );
        let moved = world.push(&head, "one.txt", "one, and more\n").await;
        self.promise("a push moves the pull's commit", {
            later.get(pull.number).await.is_ok_and(|pull| pull.head_commit == moved)
        });
        let diff = later.diff(pull.number).await.unwrap_or_default();
        self.promise("the diff shows what changes", diff.contains("+one, and more") && diff.contains("+++ b/one.txt"));
        let updated = later.update(pull.number, &retitled("feat: better")).await;
        self.promise("update changes the title and leaves the text", {
            updated.is_ok_and(|pull| pull.title == "feat: better" && pull.body.starts_with("What was asked."))
        });
    }

    async fn talking(&mut self, world: &dyn World) {
        let (here, mona, head) = (world.open(), world.mona(), branch("task-talk"));
        world.push(&head, "talk.txt", "a line\n").await;
        let Some(pull) = self.hoped("a pull to talk at", here.open(&asked(&head)).await) else { return };
        let number = pull.number;
        let said = NewComment { body: "Working on it.".into(), place: None, stamp: "turn-1".parse().ok() };
        let Some(first) = self.hoped("a comment can be made", here.comment(number, &said).await) else { return };
        self.promise("a comment is what was said", first.body == "Working on it." && first.place.is_none());
        self.promise("a comment keeps its stamp", first.stamp == said.stamp);
        let again = world.open().comment(number, &said).await;
        self.promise("a stamped comment is said once", again.is_ok_and(|again| again.id == first.id));
        let plain = NewComment { stamp: None, ..said.clone() };
        self.promise("without a stamp it is said again", {
            here.comment(number, &plain).await.is_ok_and(|again| again.id != first.id)
        });
        let place = Place { path: "talk.txt".into(), line: Some(1), side: Side::New };
        let on_line = NewComment { body: "Why?".into(), place: Some(place.clone()), stamp: None };
        let on_line = self.hoped("a line can be commented on", mona.comment(number, &on_line).await);
        self.promise("a comment on a line knows its place", on_line.is_some_and(|c| c.place == Some(place)));
        let nowhere = Place { path: "nowhere.txt".into(), line: Some(1), side: Side::New };
        let nowhere = NewComment { body: "Hm.".into(), place: Some(nowhere), stamp: None };
        let refused = matches!(here.comment(number, &nowhere).await, Err(ForgeError::Invalid { .. }));
        self.promise("a line that the diff does not show is refused as invalid", refused);
        let all = here.comments(number, None).await.unwrap_or_default();
        self.promise("all comments are listed, on lines and in general", all.len() == 3);
        self.promise("comments say who made them", {
            let us = &pull.author;
            all.iter().filter(|c| c.author == *us).count() == 2
                && all.iter().filter(|c| c.author == "mona").count() == 1
        });
        let future = Timestamp::now() + jiff::SignedDuration::from_hours(1);
        self.promise("comments can be asked for since a time", {
            here.comments(number, Some(future)).await == Ok(vec![])
                && here.comments(number, Some(pull.created_at)).await.is_ok_and(|since| since.len() == 3)
        });
    }

    async fn judging(&mut self, world: &dyn World) {
        let (here, mona, head) = (world.open(), world.mona(), branch("task-judge"));
        let tip = world.push(&head, "judge.txt", "a line\n").await;
        let Some(pull) = self.hoped("a pull to judge", here.open(&asked(&head)).await) else { return };
        let number = pull.number;
        self.promise("a new pull has no reviews", here.reviews(number).await == Ok(vec![]));
        let own = NewReview { verdict: Verdict::Approved, body: String::new() };
        let refused = matches!(here.review(number, &own).await, Err(ForgeError::Invalid { .. }));
        self.promise("nobody approves their own pull", refused);
        let wish = NewReview { verdict: Verdict::ChangesRequested, body: "Please test it.".into() };
        self.hoped("a review can ask for changes", mona.review(number, &wish).await);
        self.hoped("a review can approve", mona.review(number, &own).await);
        let reviews = here.reviews(number).await.unwrap_or_default();
        let verdicts: Vec<_> = reviews.iter().map(|review| (review.author.as_str(), review.verdict)).collect();
        self.promise("reviews are listed in order", {
            verdicts == [("mona", Verdict::ChangesRequested), ("mona", Verdict::Approved)]
        });
        self.promise("a review says what it says", reviews.first().is_some_and(|r| r.body == "Please test it."));

        self.promise("nothing was checked at first", here.checks(&tip).await.is_ok_and(|c| c.verdict().is_none()));
        let report = |name: &str, state| Check {
            name: name.into(),
            state,
            summary: Some("12 tests".into()),
            url: Some("https://ci.example/1".into()),
            at: None,
        };
        self.hoped("a check can begin", here.report(&tip, &report("carrel/test", CheckState::Pending)).await);
        self.promise("a check that runs is pending", verdict(here.as_ref(), &tip).await == Some(CheckState::Pending));
        self.hoped("a check can end", here.report(&tip, &report("carrel/test", CheckState::Passed)).await);
        self.promise("a check's newest word counts", verdict(here.as_ref(), &tip).await == Some(CheckState::Passed));
        self.hoped("a second check can fail", mona.report(&tip, &report("lint", CheckState::Failed)).await);
        let checks = here.checks(&tip).await.unwrap_or_default();
        self.promise("one failure decides", checks.verdict() == Some(CheckState::Failed));
        self.promise("checks are listed with what they say", {
            checks.all.len() == 2
                && checks.failed().all(|c| c.name == "lint" && c.summary.as_deref() == Some("12 tests"))
        });
    }

    async fn settings(&mut self, world: &dyn World) {
        let (here, head) = (world.open(), branch("feature/task-set"));
        world.push(&head, "set.txt", "a line\n").await;
        let new = NewPull { draft: true, ..asked(&head) };
        let Some(pull) = self.hoped("a pull can be opened as a draft", here.open(&new).await) else { return };
        let number = pull.number;
        self.promise("a draft is one, and its title is what was asked for", pull.draft && pull.title == new.title);
        let labels = ["carrel".to_owned(), "needs review".to_owned()];
        self.hoped("labels can be added", here.label(number, &labels).await);
        self.hoped("labels may be added again", here.label(number, &labels[..1]).await);
        self.hoped("reviewers can be asked", here.request_reviewers(number, &["mona".to_owned()]).await);
        self.hoped("reviewers may be asked again", here.request_reviewers(number, &["mona".to_owned()]).await);
        self.hoped("a draft becomes ready", here.set_draft(number, false).await);
        self.hoped("ready may be said again", here.set_draft(number, false).await);
        let seen = here.get(number).await;
        self.promise("labels are seen once each", {
            let mut names = seen.as_ref().map(|pull| pull.labels.clone()).unwrap_or_default();
            names.sort();
            names == labels
        });
        self.promise("reviewers are seen", seen.as_ref().is_ok_and(|pull| pull.reviewers == ["mona"]));
        self.promise("what is ready is no draft", seen.is_ok_and(|pull| !pull.draft && pull.title == new.title));
        self.hoped("what is ready can become a draft again", here.set_draft(number, true).await);
        self.promise("a draft again is seen", here.get(number).await.is_ok_and(|pull| pull.draft));
        self.hoped("and ready once more", here.set_draft(number, false).await);
        // Forges refuse the wish when nothing stands in the way: then there is nothing to wait for.
        let tip = here.get(number).await.map(|pull| pull.head_commit);
        if let Some(tip) = self.hoped("the pull is still there", tip) {
            let waits = Check { name: "slow".into(), state: CheckState::Pending, summary: None, url: None, at: None };
            self.hoped("a check makes it wait", here.report(&tip, &waits).await);
        }
        self.hoped("merging by itself can be asked for", here.auto_merge(number, Some(MergeWay::Squash)).await);
        self.hoped("it may be asked for again", here.auto_merge(number, Some(MergeWay::Squash)).await);
        if here.shows_auto_merge() {
            let seen = here.get(number).await.is_ok_and(|pull| pull.auto_merge == Some(MergeWay::Squash));
            self.promise("the wish is seen", seen);
        }
        self.hoped("the wish can be taken back", here.auto_merge(number, None).await);
        self.hoped("it may be taken back again", here.auto_merge(number, None).await);
        self.promise("the wish is gone", here.get(number).await.is_ok_and(|pull| pull.auto_merge.is_none()));
        let stranger = PullNumber(987_654);
        self.promise("a stranger cannot be labelled", is_not_found(&here.label(stranger, &labels).await));
        self.promise("a stranger is no draft", is_not_found(&here.set_draft(stranger, true).await));
    }

    async fn merging(&mut self, world: &dyn World) {
        let here = world.open();
        for (way, name) in [(MergeWay::Merge, "m"), (MergeWay::Squash, "s"), (MergeWay::Rebase, "r")] {
            let head = branch(&format!("task-{name}"));
            let old = world.push(&head, &format!("{name}.txt"), "first\n").await;
            let Some(pull) = self.hoped("a pull to merge", here.open(&asked(&head)).await) else { return };
            let tip = world.push(&head, &format!("{name}.txt"), "second\n").await;
            let ask = |head: &CommitId| Merge { way, head: head.clone(), title: None, message: None };
            let stale = matches!(here.merge(pull.number, &ask(&old)).await, Err(ForgeError::Conflict { .. }));
            self.promise(&format!("a head that moved is not merged ({name})"), stale);
            let merged = here.merge(pull.number, &ask(&tip)).await;
            let merged = self.hoped(&format!("merge works ({name})"), merged);
            let seen = here.get(pull.number).await;
            self.promise(&format!("what was merged is seen merged ({name})"), {
                seen.is_ok_and(|pull| matches!(pull.state, PullState::Merged { .. }))
            });
            let again = world.open().merge(pull.number, &ask(&tip)).await.ok();
            self.promise(&format!("merge may be repeated ({name})"), again == merged);
            self.hoped("a branch can be deleted", here.delete_branch(&head).await);
            self.hoped("a branch may be deleted again", here.delete_branch(&head).await);
            self.promise("a branch that is gone still tells of its pull", {
                matches!(here.find(&head).await, Ok(Some(found)) if found.number == pull.number)
            });
            let reopened = here.update(pull.number, &PullChange { open: Some(true), ..PullChange::default() }).await;
            self.promise("what is merged stays merged", matches!(reopened, Err(ForgeError::Conflict { .. })));
        }
        let kept = here.delete_branch(&main()).await;
        self.promise("the default branch cannot be deleted", kept.is_err());

        let (ours, theirs) = (branch("task-ours"), branch("task-theirs"));
        world.push(&ours, "same.txt", "ours\n").await;
        let tip = world.push(&theirs, "same.txt", "theirs\n").await;
        let Some(one) = self.hoped("one of two", here.open(&asked(&ours)).await) else { return };
        let Some(two) = self.hoped("two of two", here.open(&asked(&theirs)).await) else { return };
        let first = Merge { way: MergeWay::Squash, head: one.head_commit, title: None, message: None };
        self.hoped("the first of two merges", here.merge(one.number, &first).await);
        self.promise("the second is seen to conflict", soon_is(here.as_ref(), two.number, Mergeable::Conflicted).await);
        let second = Merge { way: MergeWay::Squash, head: tip, title: None, message: None };
        let refused = matches!(here.merge(two.number, &second).await, Err(ForgeError::Conflict { .. }));
        self.promise("what conflicts is not merged", refused);
    }

    async fn closing(&mut self, world: &dyn World) {
        let (here, head) = (world.open(), branch("task-close"));
        let tip = world.push(&head, "close.txt", "a line\n").await;
        let Some(pull) = self.hoped("a pull to close", here.open(&asked(&head)).await) else { return };
        let shut = PullChange { open: Some(false), ..PullChange::default() };
        let open = PullChange { open: Some(true), ..PullChange::default() };
        let is = |result: Result<crate::Pull, ForgeError>, state| result.is_ok_and(|pull| pull.state == state);
        self.promise("a pull can be closed", is(here.update(pull.number, &shut).await, PullState::Closed));
        self.promise("it may be closed again", is(here.update(pull.number, &shut).await, PullState::Closed));
        let merge = Merge { way: MergeWay::Merge, head: tip, title: None, message: None };
        let refused = matches!(here.merge(pull.number, &merge).await, Err(ForgeError::Conflict { .. }));
        self.promise("what is closed is not merged", refused);
        let second = here.open(&asked(&head)).await;
        self.promise("after a closed pull, open makes another", second.as_ref().is_ok_and(|s| s.number != pull.number));
        self.promise("of two the open one is found", {
            let found = here.find(&head).await;
            matches!((found, &second), (Ok(Some(found)), Ok(second)) if found.number == second.number)
        });
        if let Ok(second) = second {
            self.promise("the second can be closed", is(here.update(second.number, &shut).await, PullState::Closed));
        }
        self.promise("a closed pull can be opened again", is(here.update(pull.number, &open).await, PullState::Open));
    }

    async fn polling(&mut self, world: &dyn World) {
        let (here, mona, head) = (world.open(), world.mona(), branch("task-poll"));
        let Some(newest) = self.hoped("what changed is listed", here.changed(Timestamp::UNIX_EPOCH).await) else {
            return;
        };
        let sorted = newest.is_sorted_by_key(|pull| pull.updated_at);
        self.promise("what changed is listed with the oldest change first", sorted && !newest.is_empty());
        let start = newest.last().map_or(Timestamp::UNIX_EPOCH, |pull| pull.updated_at);
        let Some(quiet) = self.hoped("polling works", poll(here.as_ref(), &Reading::from(start)).await) else { return };
        let tip = world.push(&head, "poll.txt", "a line\n").await;
        let Some(pull) = self.hoped("a pull to hear of", mona.open(&asked(&head)).await) else { return };
        let said = NewComment { body: "Hear, hear.".into(), place: None, stamp: None };
        self.hoped("a comment to hear of", mona.comment(pull.number, &said).await);
        let failed = Check { name: "ci".into(), state: CheckState::Failed, summary: None, url: None, at: None };
        self.hoped("a check to hear of", mona.report(&tip, &failed).await);
        let Some(news) = self.hoped("polling works again", poll(here.as_ref(), &quiet.reading).await) else { return };
        let has = |test: &dyn Fn(&Notice) -> bool| news.notices.iter().filter(|notice| test(notice)).count() == 1;
        self.promise("a new pull is heard of once", {
            has(&|n| matches!(n, Notice::Pull { pull: p, moved: PullMove::Opened } if p.number == pull.number))
        });
        self.promise("a comment is heard of once", {
            has(&|n| matches!(n, Notice::Comment { comment, .. } if comment.body == "Hear, hear."))
        });
        self.promise("a failed check is heard of once", {
            has(&|n| matches!(n, Notice::Check { commit, check } if *commit == tip && check.state == CheckState::Failed))
        });
        let still = poll(world.open().as_ref(), &news.reading).await;
        self.promise("what was heard is not told again", still.is_ok_and(|still| still.notices.is_empty()));
        let moved = world.push(&head, "poll.txt", "another line\n").await;
        let after = poll(here.as_ref(), &news.reading).await.map(|news| news.notices).unwrap_or_default();
        self.promise("a push is heard of", {
            let pushed =
                |n: &Notice| matches!(n, Notice::Pull { pull, moved: PullMove::Pushed } if pull.head_commit == moved);
            after.iter().any(pushed)
        });
    }
}

/// Forges find out in their own time whether something merges; the question makes them look.
async fn soon_is(forge: &dyn Forge, number: PullNumber, wanted: Mergeable) -> bool {
    for _ in 0..50 {
        match forge.get(number).await.map(|pull| pull.mergeable) {
            Ok(Mergeable::Unknown) => tokio::task::yield_now().await,
            Ok(seen) => return seen == wanted,
            Err(_) => return false,
        }
    }
    false
}

async fn verdict(forge: &dyn Forge, commit: &CommitId) -> Option<CheckState> {
    forge.checks(commit).await.ok()?.verdict()
}

fn is_not_found<T>(result: &Result<T, ForgeError>) -> bool {
    matches!(result, Err(ForgeError::NotFound { .. }))
}

fn branch(name: &str) -> BranchName {
    name.parse().expect("a good name")
}

fn main() -> BranchName {
    branch("main")
}

fn asked(head: &BranchName) -> NewPull {
    NewPull {
        title: format!("feat: {head}"),
        body: "What was asked.\n\nWhat changed.".into(),
        head: head.clone(),
        base: main(),
        draft: false,
    }
}

fn retitled(title: &str) -> PullChange {
    PullChange { title: Some(title.into()), ..PullChange::default() }
}
