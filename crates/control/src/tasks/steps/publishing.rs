//! From what an agent left to a pull request that is merged: commit, push, publish, pull, merge.

use carrel_agent::Turn as Asked;
use carrel_git::merge::{Rung, RungRecord};
use carrel_model::{
    SandboxId,
    public::NewExec,
    task::{NeedsReason, TaskPhase, TaskWant},
};
use jiff::SignedDuration;

use super::{Hand, NUDGES, seen, tail, try_later};
use crate::{
    Error, ExecsDesk, MergeRefused, MergeWish,
    desks::repos,
    pulls::{self, PullWish, Rebased},
    tasks::{
        desk::{self, Found},
        ladder, messages, review, stray,
    },
    work,
};

/// How often what changes is committed, before something at the desk is taken to be still at it.
const COMMITS: u32 = 3;
/// How often conflicts go back to the agent, before a person is asked.
const REBASES: u32 = 3;
/// What the card says while an upstream or a forge does not answer.
const UNPUBLISHED: &str = "is not published yet";
/// How long a forge is left alone that has not judged a new head yet. What is heard of it meanwhile comes first.
const FORGE_RESTS: SignedDuration = SignedDuration::from_secs(15);

impl Hand<'_> {
    /// Everything that is done is committed, pushed, and at a pull request.
    pub(super) async fn publish(&self) -> Result<(), Error> {
        let (house, task) = (self.house, self.task);
        let Some(sandbox) = &task.sandbox_id else { return self.back_to_preparing().await };
        match desk::look(house, sandbox).await? {
            Found::There | Found::Asleep => desk::wait_for(house, &self.grant, sandbox).await?,
            Found::Missing | Found::Lost(_) => return self.back_to_preparing().await,
        }
        let mut found = work::look_at_work(house, sandbox).await?;
        if found.head.is_none() {
            self.end_desk(sandbox).await?;
            let detail = "The repository on its desk is gone or broken. `retry` makes a new desk from the last save.";
            self.record(move |task| {
                task.told.remove("desk");
                task.ask_for_help(NeedsReason::DeskFailed, detail);
            })
            .await?;
            return Ok(());
        }
        if let Some(middle) = &found.in_progress {
            let missing = format!("git is in the middle of a {middle}. Finish or abort it.");
            return self.nudge(missing, NeedsReason::Conflict).await;
        }
        if let Some(missing) = stray::elsewhere(task, &found) {
            return self.nudge(missing, NeedsReason::NothingChanged).await;
        }
        for tries in 0.. {
            if !found.dirty {
                break;
            }
            if tries == COMMITS {
                let missing = "something at the desk still changes files that are committed. End it, or have git ignore \
                               what it writes.";
                return self.nudge(missing.to_owned(), NeedsReason::PushRefused).await;
            }
            let committed = match work::commit_work(house, sandbox, &task.title, &[]).await {
                Ok(committed) => committed,
                Err(Error::Conflict { why }) => return self.nudge(why, NeedsReason::PushRefused).await,
                Err(error) => return Err(error),
            };
            found = work::look_at_work(house, sandbox).await?;
            // What git will not commit does not become less.
            if committed.is_none() {
                break;
            }
        }
        if let Some(missing) = stray::nothing_new(task, &found) {
            // The base may have got it meanwhile.
            let phase = match &task.pull {
                Some(pull) => Some(pulls::look_at_pull(house, &task.repo, pull.number).await?.phase),
                None => None,
            };
            if phase.is_none_or(|phase| !phase.is_over()) {
                return self.nudge(missing, NeedsReason::NothingChanged).await;
            }
        }
        // A push of the agent's own may have come in between: it is tried once more before anybody is told.
        let pushed = match work::push_work(house, sandbox).await {
            Err(Error::Conflict { .. }) => work::push_work(house, sandbox).await,
            pushed => pushed,
        };
        let head = match pushed {
            Ok(head) => head,
            Err(Error::Conflict { why }) => return self.nudge(why, NeedsReason::PushRefused).await,
            Err(error) => return Err(error),
        };
        if task.told.contains_key("rebase_wanted") && !self.rebase(sandbox).await? {
            return Ok(());
        }
        let mirror = house.library.mirror(&task.repo).await?;
        let head = mirror.find(&task.branch.full()).await?.unwrap_or(head);
        let learnt = ladder::learn(house, task, &head, Rung::Agent).await?;
        if let Err(error) = pulls::publish(house, &task.repo, &task.branch).await {
            return self.hand_on_later(UNPUBLISHED, error).await;
        }
        let odd = messages::odd(house, task).await?;
        let pull = match pulls::open_pull(house, &self.wish(sandbox, &odd).await?).await {
            Ok(pull) => pull,
            Err(error) => return self.hand_on_later(UNPUBLISHED, error).await,
        };
        let (ahead, behind) = mirror.distance(&task.base, &task.branch).await?;
        let unchanged = |what: &str| task.told.get(what).is_some_and(|told| *told == head.to_string());
        let (unchecked, unsettled) = (unchanged("checks"), unchanged("conflict"));
        let opened = task.pull.is_none().then(|| format!("Pull request {} is open: {}", pull.number, pull.url));
        let (reported, said) = messages::report(task, &odd);
        let settled = ladder::in_words(learnt.as_slice());
        let notes: Vec<String> = settled.into_iter().chain(opened).chain(said).collect();
        let note = (!notes.is_empty()).then(|| notes.join("\n\n"));
        let shown = pull.clone();
        self.record_and_say(note, move |task| {
            if let Some(reported) = reported {
                task.told.insert(messages::TOLD.into(), reported);
            }
            (task.head, task.ahead, task.behind) = (Some(head), ahead, behind);
            task.told.remove("rebase_wanted");
            if learnt.is_some() {
                task.told.remove(ladder::ASKED);
            }
            // It was published before that was heard.
            if task.want == TaskWant::Rest {
                task.want = TaskWant::Review;
            }
            seen(task, &pull);
            if task.phase.is_over() {
            } else if unchecked {
                let detail = "The check of the merged result fails, and its agent changed nothing about it.";
                task.ask_for_help(NeedsReason::ChecksFailed, detail);
            } else if unsettled {
                let detail = format!("It conflicts with `{}`, and its agent changed nothing about it.", task.base);
                task.ask_for_help(NeedsReason::Conflict, detail);
            } else {
                task.nudges = 0;
                task.go_to(TaskPhase::InReview);
            }
        })
        .await?;
        // From here on it may be merged by itself.
        let repo = repos::find(house, &task.repo).await?;
        pulls::tend_pull(house, &repo, &shown).await;
        Ok(())
    }

    /// An upstream or a forge that does not answer is asked again for as long as it takes, and the card says so: what was
    /// done is safe here meanwhile.
    pub(super) async fn hand_on_later(&self, what: &str, error: Error) -> Result<(), Error> {
        let rests = match &error {
            Error::Unavailable { source: None, .. } => self.pause_after(self.task.attempts),
            Error::Limited { retry_after, .. } => *retry_after,
            _ => return Err(error),
        };
        let (attempts, next) = (self.task.attempts + 1, self.house.store.now() + rests);
        let words = format!("{what} and tried again: {}", tail(&error.to_string(), 300));
        let wanted = self.task.want;
        self.record(move |task| {
            task.doing = Some(words);
            try_later(task, wanted, attempts, Some(next));
        })
        .await?;
        Ok(())
    }

    /// Puts the branch onto the newest base; false when that is for the agent now.
    async fn rebase(&self, sandbox: &SandboxId) -> Result<bool, Error> {
        let (house, task) = (self.house, self.task);
        match pulls::rebase_branch(house, &task.repo, &task.branch, &task.base, Some(task.id), None).await? {
            Rebased::Already => Ok(true),
            Rebased::Moved { records, .. } => {
                if let Some(words) = ladder::in_words(&records) {
                    self.record_and_say(Some(words), |_| {}).await?;
                }
                work::refresh(house, sandbox).await?;
                self.follow_branch(sandbox).await?;
                Ok(true)
            }
            Rebased::Conflicts { paths, records, .. } => {
                self.conflicts(&paths, &records).await?;
                Ok(false)
            }
        }
    }

    /// The desk follows its branch, which the house has moved.
    pub(super) async fn follow_branch(&self, sandbox: &SandboxId) -> Result<(), Error> {
        let line = format!("git fetch -q origin '{0}' && git reset -q --hard FETCH_HEAD", self.task.branch);
        let follow = NewExec { command: Some(line), cwd: Some(carrel_git::WORKSPACE.to_owned()), ..NewExec::default() };
        let mut running = ExecsDesk { house: self.house }.start_own(&self.grant, sandbox, follow).await?;
        while running.output.next().await?.is_some() {}
        Ok(())
    }

    /// Conflicts go to the agent a few times, then to a person.
    async fn conflicts(&self, paths: &[String], records: &[RungRecord]) -> Result<(), Error> {
        let (list, base) = (review::listed(paths), self.task.base.clone());
        let tried = ladder::tried_in_words(paths, records);
        if self.task.rebases >= REBASES {
            let detail = format!("It conflicts with `{base}` in {list}, and its agent did not settle it.");
            self.record_and_say(Some(tried), move |task| {
                task.told.remove("rebase_wanted");
                task.ask_for_help(NeedsReason::Conflict, detail);
            })
            .await?;
            return Ok(());
        }
        let text = format!(
            "`{base}` has moved on, and your branch conflicts with it in: {list}.\n\nRun `git fetch origin && git rebase \
             origin/{base}`, settle the conflicts so that both changes keep their meaning, finish the rebase, and check \
             your work again."
        );
        let asked = ladder::question(self.house, self.task, paths).await?;
        self.record_and_say(Some(tried), |_| {}).await?;
        self.back_to_agent(text, |task| {
            if let Some(asked) = asked {
                task.told.insert(ladder::ASKED.into(), asked);
            }
            let head = task.head.as_ref().map(ToString::to_string).unwrap_or_default();
            task.told.insert("conflict".into(), head);
            task.rebases += 1;
            task.told.remove("rebase_wanted");
        })
        .await
    }

    /// Something is missing that the agent can mend; told so often, then a person is asked.
    async fn nudge(&self, missing: String, reason: NeedsReason) -> Result<(), Error> {
        if self.task.nudges >= NUDGES {
            let detail = format!("The agent says that it has finished, but {missing}");
            self.record(move |task| task.ask_for_help(reason, detail)).await?;
            return Ok(());
        }
        self.back_to_agent(Asked::nudge(&missing), |task| task.nudges += 1).await
    }

    /// The pull request that this task wants.
    async fn wish(&self, sandbox: &SandboxId, odd: &[messages::Odd]) -> Result<PullWish, Error> {
        let task = self.task;
        let mirror = self.house.library.mirror(&task.repo).await?;
        let log = mirror.subjects(&task.base, &task.branch, 50).await?;
        let changes: String = log.iter().map(|subject| format!("- {subject}\n")).collect();
        let repo = repos::find(self.house, &task.repo).await?;
        let checked = match &repo.rules.check_command {
            Some(command) => format!("`{command}` is run on the merged result before it is merged."),
            None => "The repository names no check command.".to_owned(),
        };
        let body = format!(
            "## What was asked\n\n{}\n\n## What changed\n\n{changes}\n## How it is checked\n\n{checked}\n\n{}Made by the \
             agent `{}` at desk `{sandbox}`.\n\nCarrel-Task: {}\n",
            task.prompt.trim(),
            messages::section(odd),
            task.agent,
            task.id
        );
        let rules = &repo.rules.pulls;
        let mut labels = task.labels.clone();
        labels.extend(rules.labels.iter().filter(|label| !task.labels.contains(label)).cloned());
        Ok(PullWish {
            repo: task.repo.clone(),
            head: task.branch.clone(),
            base: task.base.clone(),
            title: task.title.clone(),
            body,
            draft: rules.draft,
            draft_at_opening: true,
            auto_merge: rules.auto_merge.then_some(repo.rules.merge),
            labels,
            reviewers: rules.reviewers.clone(),
        })
    }

    /// Puts it into the base, through the lane.
    pub(super) async fn merge(&self) -> Result<(), Error> {
        let task = self.task;
        let Some(pull) = &task.pull else {
            self.record(|task| task.go_to(TaskPhase::Publishing)).await?;
            return Ok(());
        };
        // Its agent would have said so when it was published: whoever settled it since is a person.
        if let Some(head) = &task.head
            && let Some(record) = ladder::learn(self.house, task, head, Rung::Person).await?
        {
            let words = ladder::in_words(&[record]);
            self.record_and_say(words, |task| {
                task.told.remove(ladder::ASKED);
            })
            .await?;
        }
        let wish = MergeWish {
            repo: task.repo.clone(),
            number: pull.number,
            style: None,
            expected_head: task.head.clone(),
            by: self.grant.clone(),
        };
        match pulls::merge_pull(self.house, wish).await {
            Ok(merged) => {
                let settled = ladder::in_words(&merged.records).map(|words| format!(" {words}")).unwrap_or_default();
                let note = format!("Merged into `{}`.{settled}", task.base);
                self.record_and_say(Some(note), move |task| {
                    seen(task, &merged.pull);
                    task.ended_at.get_or_insert(merged.pull.updated_at);
                    task.conflicts.clear();
                    task.shares.clear();
                    task.go_to(TaskPhase::Merged);
                })
                .await?;
                // The repository's own row shows where its branch is now.
                let _ = repos::bring_up_to_date(self.house, &task.repo).await;
                Ok(())
            }
            Err(MergeRefused::Conflicts { paths, records, .. }) => self.conflicts(&paths, &records).await,
            Err(MergeRefused::ChecksFailed { log }) => self.checks_failed(log).await,
            Err(MergeRefused::Waits { why }) => {
                let (next, wanted) = (self.house.store.now() + FORGE_RESTS, task.want);
                self.record(move |task| {
                    task.doing = Some(why);
                    try_later(task, wanted, 0, Some(next));
                })
                .await?;
                Ok(())
            }
            Err(MergeRefused::HeadMoved { head }) => {
                let note = format!("Its branch moved to {} before it was merged.", head.short());
                self.record_and_say(Some(note), move |task| {
                    task.head = Some(head);
                    task.ask_for_help(NeedsReason::ForgeFailed, "Its branch moved after it was looked at; look again.");
                })
                .await?;
                Ok(())
            }
            Err(MergeRefused::Closed) => {
                self.record(|task| task.want = TaskWant::Closed).await?;
                Ok(())
            }
            Err(refused @ (MergeRefused::NotApproved { .. } | MergeRefused::Upstream { .. })) => {
                let detail = format!("It cannot be merged: {refused}");
                self.record(move |task| task.ask_for_help(NeedsReason::ForgeFailed, detail)).await?;
                Ok(())
            }
            Err(MergeRefused::Failed(error)) => Err(error),
        }
    }

    /// What a check printed goes back to the agent, once for each head.
    async fn checks_failed(&self, log: String) -> Result<(), Error> {
        let head = self.task.head.as_ref().map(ToString::to_string).unwrap_or_default();
        if self.task.told.get("checks") == Some(&head) || self.task.nudges >= NUDGES {
            let detail = format!("The check of the merged result fails:\n{}", tail(&log, 2000));
            self.record(move |task| task.ask_for_help(NeedsReason::ChecksFailed, detail)).await?;
            return Ok(());
        }
        let printed = match log.trim() {
            "" => "It printed nothing.".to_owned(),
            log => format!("What it printed:\n\n```\n{}\n```", tail(log, 8000)),
        };
        let repo = repos::find(self.house, &self.task.repo).await?;
        let command = repo.rules.check_command.map(|command| format!(": `{command}`")).unwrap_or_default();
        let text = format!(
            "The check of the merged result fails{command}. {printed}\n\nMend it, run the check yourself, and commit."
        );
        self.back_to_agent(text, move |task| {
            task.nudges += 1;
            task.told.insert("checks".into(), head);
        })
        .await
    }
}
