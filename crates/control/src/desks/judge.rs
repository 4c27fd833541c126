//! Best of several: a command scores the attempts at a task, one is promoted, the others are archived with their scores.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, TaskId,
    agent::Voice,
    public::{NewJudgement, ScoreView},
    session::MomentKind,
    task::{Task, TaskPhase, TaskWant},
};

use super::{cards::moment, repos, tasks::no_task};
use crate::{Error, TasksDesk, house::House, pulls};

/// So much of the end of what the judge printed is shown.
const SHOWN: usize = 2000;

impl TasksDesk<'_> {
    /// Lets a command score every attempt at a task that has something to show, one after the other, each in a sandbox of
    /// its own. May be repeated; the newest score counts.
    pub async fn judge(&self, grant: &Grant, id: TaskId, new: NewJudgement) -> Result<Vec<ScoreView>, Error> {
        if new.command.trim().is_empty() || new.command.len() > 16_384 || new.command.contains('\0') {
            return Err(Error::field("command", "1 byte to 16 KiB, without NUL"));
        }
        let attempts = self.attempts(grant, id).await?;
        if new.promote {
            expect_rest(&attempts)?;
        }
        let (mut scores, mut content) = (Vec::new(), Vec::new());
        for task in &attempts {
            let (view, is_content) = score(self.house, task, &new.command).await?;
            if is_content {
                content.push(view.task_id);
            }
            scores.push(view);
        }
        if new.promote {
            let better = |one: &&ScoreView, two: &&ScoreView| {
                one.score.unwrap_or(f64::NEG_INFINITY).total_cmp(&two.score.unwrap_or(f64::NEG_INFINITY))
            };
            // Among equals the first attempt: it has waited longest.
            let best = scores.iter().rev().filter(|view| content.contains(&view.task_id)).max_by(better);
            let Some(best) = best.map(|view| view.task_id) else {
                let end = scores.iter().find_map(|view| view.log.lines().rev().find(|line| !line.trim().is_empty()));
                let end = end.map(|line| format!(" ({})", line.trim())).unwrap_or_default();
                let why = format!("the judge was content with no attempt, so none was promoted and none closed{end}");
                return Err(Error::Conflict { why });
            };
            // Somebody may have gone on while it was judged.
            expect_rest(&self.attempts(grant, id).await?)?;
            self.promote(grant, best).await?;
            scores.iter_mut().for_each(|view| view.promoted = view.task_id == best);
        }
        Ok(scores)
    }

    /// Chooses one of several attempts: the others are closed, and what they did is kept.
    pub async fn promote(&self, grant: &Grant, id: TaskId) -> Result<Vec<TaskId>, Error> {
        let attempts = self.attempts(grant, id).await?;
        let chosen = attempts.iter().find(|task| task.id == id).ok_or_else(|| no_task(id))?;
        if chosen.phase.is_over() && chosen.phase != TaskPhase::Merged {
            return Err(Error::Conflict { why: format!("task {id} is {}", chosen.phase.word()) });
        }
        let mut archived = Vec::new();
        for task in attempts.iter().filter(|task| task.id != id && !task.phase.is_over()) {
            let (owned, by) = (task.id, chosen.score);
            self.edit(grant, owned, Action::TaskClose, move |tx, task, session| {
                Box::pin(async move {
                    let scores = match (by, task.score) {
                        (Some(best), Some(own)) => format!(" ({best} against {own})"),
                        _ => String::new(),
                    };
                    let text = format!("Task {id} was chosen{scores}; this attempt is archived.");
                    tx.say(session, moment(MomentKind::Note, Voice::House, text)).await?;
                    task.want = TaskWant::Closed;
                    Ok(())
                })
            })
            .await?;
            archived.push(task.id);
        }
        let others: Vec<String> = archived.iter().map(ToString::to_string).collect();
        self.edit(grant, id, Action::TaskDrive, move |tx, task, session| {
            Box::pin(async move {
                let beside = match others.is_empty() {
                    true => String::new(),
                    false => format!(" over {}", others.join(", ")),
                };
                let score = task.score.map(|score| format!(" with {score}")).unwrap_or_default();
                let text = format!("This attempt was chosen{beside}{score}.");
                tx.say(session, moment(MomentKind::Note, Voice::House, text)).await?;
                Ok(())
            })
        })
        .await?;
        Ok(archived)
    }

    /// All attempts at the same card, the first one first.
    async fn attempts(&self, grant: &Grant, id: TaskId) -> Result<Vec<Task>, Error> {
        let task = self.look(grant, id, Action::TaskDrive).await?;
        let attempts = self.house.store.tasks().attempts(&task).await?;
        for attempt in &attempts {
            self.look(grant, attempt.id, Action::TaskDrive).await?;
        }
        Ok(attempts)
    }
}

/// Refuses to choose as long as an attempt is at work, or about to be: it would lose unseen.
fn expect_rest(attempts: &[Task]) -> Result<(), Error> {
    let at_work: Vec<_> =
        attempts.iter().filter(|task| task.phase.is_busy() || task.phase == TaskPhase::Queued).collect();
    let why = match at_work.as_slice() {
        [] => return Ok(()),
        [one] => format!("task {} is {}, so none was promoted and none closed", one.id, one.phase.word()),
        many => {
            let told: Vec<_> = many.iter().map(|task| format!("{} is {}", task.id, task.phase.word())).collect();
            format!("attempts are still to come (task {}), so none was promoted and none closed", told.join(", "))
        }
    };
    let first = at_work[0].id;
    let hint = format!(
        "wait until it rests, stop it (`carrel task stop {first}`), judge without `--promote`, or choose by hand: `carrel \
         task promote`"
    );
    Err(Error::TooSoon { why, hint })
}

/// Judges one attempt, and writes its score on its card. Says too whether the judge was content with it.
async fn score(house: &Arc<House>, task: &Task, command: &str) -> Result<(ScoreView, bool), Error> {
    let none = |why: &str| ScoreView { task_id: task.id, score: None, head: None, log: why.into(), promoted: false };
    if task.phase == TaskPhase::Closed {
        return Ok((none("It is closed."), false));
    }
    let mirror = house.library.mirror(&task.repo).await?;
    let Some(head) = mirror.find(&task.branch.full()).await? else {
        return Ok((none("It has pushed nothing yet."), false));
    };
    let repo = repos::find(house, &task.repo).await?;
    let tried = pulls::try_out(house, &repo, &mirror, &head, task, command).await?;
    let Some(score) = score_of(&tried) else {
        let end = tail(&tried.log);
        return Ok((ScoreView { head: Some(head), ..none(&format!("The judge could not be run. {end}")) }, false));
    };
    let (id, short) = (task.id, head.short().to_owned());
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            let (mut task, _) = tx.lock_task(id).await?.ok_or_else(|| no_task(id))?;
            task.score = Some(score);
            if let Some(mut session) = tx.lock_session(&task.session_id).await? {
                let text = format!("The judge gave {score} to {short}.");
                tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
                tx.put_session(&mut session).await?;
            }
            tx.put_task(&mut task).await?;
            Ok::<_, Error>(())
        })
    });
    written.await?;
    let log = tail(&tried.log);
    Ok((ScoreView { task_id: task.id, score: Some(score), head: Some(head), log, promoted: false }, tried.passed))
}

/// The end of what a judge printed.
fn tail(log: &str) -> String {
    let mut from = log.len().saturating_sub(SHOWN);
    while !log.is_char_boundary(from) {
        from += 1;
    }
    log[from..].to_owned()
}

/// What a judge that ran came to: the last number of its standard output when it succeeded, one when it printed none; none
/// at all when it failed. Nothing when the shell did not find it, or may not run it.
fn score_of(tried: &pulls::Checked) -> Option<f64> {
    match tried.code {
        Some(0) => Some(last_number(&tried.said).unwrap_or(1.0)),
        Some(126 | 127) => None,
        _ => Some(0.0),
    }
}

/// The last number in a text, when its last line that is not empty has one.
fn last_number(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let words = line.split(|letter: char| letter.is_whitespace() || letter == ':' || letter == '=');
    words.rev().find_map(|word| word.parse().ok()).filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_the_score() {
        assert_eq!(last_number("running\nscore: 0.75\n\n"), Some(0.75));
        assert_eq!(last_number("7 tests, 42"), Some(42.0));
        assert_eq!(last_number("points=3"), Some(3.0));
        assert_eq!(last_number("3\nall good"), None, "an earlier line does not count");
        assert_eq!(last_number("nan"), None);
        assert_eq!(last_number(""), None);
    }

    #[test]
    fn only_a_judge_that_succeeded_is_asked_for_its_number() {
        let tried = |code, said: &str| pulls::Checked {
            passed: code == 0,
            log: format!("{said}\n/bin/sh: 1: judge: not found"),
            said: said.to_owned(),
            code: Some(code),
        };
        assert_eq!(score_of(&tried(0, "score 7")), Some(7.0));
        assert_eq!(score_of(&tried(0, "")), Some(1.0), "what it says of errors is no score");
        assert_eq!(score_of(&tried(2, "12 tests failed: 12")), Some(0.0));
        assert_eq!(score_of(&tried(127, "")), None, "it was not there");
        assert_eq!(score_of(&tried(126, "3")), None, "it may not be run");
    }
}
