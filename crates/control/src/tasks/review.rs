//! What happens around a task's branch: pushes, bases that move, words and checks at its pull request.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use carrel_model::{
    Branch, CommitId, RepoName, TaskId,
    agent::Voice,
    public::{Happening, PullNews, PullPhase, PullView, PushView, TaskView},
    session::MomentKind,
    task::{Conflict, Task, TaskPhase, TaskWant},
};
use carrel_store::Tx;

use super::{radar, steps::seen};
use crate::{
    Error,
    desks::{cards::moment, verbs::take_up},
    house::House,
    pulls::{ForeseenWith, LANE_CHECK, Live, Moved, Outlook, forecast},
};

/// How much of what is said elsewhere is passed on.
const LONGEST: usize = 16 * 1024;

/// How long after a save it is looked at: a desk that saves often costs no more than this.
const AFTER_SAVE: Duration = Duration::from_secs(2);
/// So many others that share files stand on a card, and so many of their paths.
const SHARES: usize = 20;

/// A push arrived: the branch of its task is looked at anew, in the background.
pub(super) fn pushed(house: &Arc<House>, push: &PushView) {
    let Some(task) = push.task_id else { return };
    let moved = push.refs.iter().any(|pushed| pushed.moved && pushed.name.branch().is_some());
    if moved {
        beside(house, push.repo.clone(), Moved::Task(task));
    }
}

/// The work of a task was saved: it is looked at anew soon. However often it is saved meanwhile, that is one look.
pub(super) fn saved(house: &Arc<House>, repo: &RepoName, task: TaskId) {
    let wish = format!("{repo} saved {task}");
    if !house.task_keeper.looks().insert(wish.clone()) {
        return;
    }
    let (house, repo) = (Arc::clone(house), repo.clone());
    let (tasks, stop) = (house.tasks().clone(), house.stop().clone());
    tasks.spawn(async move {
        stop.run_until_cancelled(tokio::time::sleep(AFTER_SAVE)).await;
        house.task_keeper.looks().remove(&wish);
        if !house.stop().is_cancelled() {
            beside(&house, repo, Moved::Task(task));
        }
    });
}

/// Whether something that was heard is worth a look at the rows.
pub(super) fn heard(house: &Arc<House>, happening: &Happening) -> bool {
    match happening {
        Happening::Base { base } => {
            beside(house, base.repo.clone(), Moved::Base(base.branch.clone()));
            false
        }
        Happening::Pull { pull, news } => {
            let (house, pull, news) = (Arc::clone(house), (**pull).clone(), news.clone());
            let tasks = house.tasks().clone();
            tasks.spawn(async move {
                if let Err(error) = pull_changed(&house, pull, news).await {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a pull was not brought to its task");
                }
            });
            false
        }
        _ => false,
    }
}

/// A task is over: nobody conflicts with it any more.
pub(super) fn over(house: &Arc<House>, task: &TaskView) {
    beside(house, task.repo.clone(), Moved::Task(task.id));
}

/// Predicts conflicts in the background, one repository at a time in the order of what was heard.
fn beside(house: &Arc<House>, repo: RepoName, moved: Moved) {
    // Whoever waits already will see this too.
    let wish = format!("{repo} {moved:?}");
    if !house.task_keeper.looks().insert(wish.clone()) {
        return;
    }
    let house = Arc::clone(house);
    let tasks = house.tasks().clone();
    tasks.spawn(async move {
        let _turn = house.forges.turn(&format!("forecast {repo}")).await;
        house.task_keeper.looks().remove(&wish);
        if let Err(error) = predict(&house, &repo, &moved).await {
            tracing::warn!(%repo, error = &error as &dyn std::error::Error, "conflicts were not predicted");
        }
    });
}

async fn predict(house: &Arc<House>, repo: &RepoName, moved: &Moved) -> Result<(), Error> {
    let tasks = house.store.tasks().live(repo).await?;
    let live: Vec<Live> =
        tasks.iter().map(|task| Live { task: task.id, branch: task.branch.clone(), base: task.base.clone() }).collect();
    let Outlook { conflicts: foreseen, shared } = forecast(house, repo, &live, moved).await?;
    let mirror = house.library.mirror(repo).await?;
    let refs = mirror.refs().await?;
    let mut distances: HashMap<&Branch, HashMap<Branch, (u32, u32)>> = HashMap::new();
    for task in &tasks {
        if !distances.contains_key(&task.base) {
            // An older git cannot say it at once; then it is said when the branch is published.
            distances.insert(&task.base, mirror.distances(&task.base).await.unwrap_or_default());
        }
    }
    let others: Arc<BTreeSet<TaskId>> = Arc::new(tasks.iter().map(|task| task.id).collect());
    for task in &tasks {
        let mine: Vec<Conflict> = foreseen
            .iter()
            .filter_map(|seen| match seen.with {
                ForeseenWith::Base if seen.task == task.id => {
                    Some(Conflict { task_id: None, paths: seen.paths.clone() })
                }
                ForeseenWith::Task(other) if seen.task == task.id => {
                    Some(Conflict { task_id: Some(other), paths: seen.paths.clone() })
                }
                ForeseenWith::Task(other) if other == task.id => {
                    Some(Conflict { task_id: Some(seen.task), paths: seen.paths.clone() })
                }
                _ => None,
            })
            .collect();
        let shares: Vec<Conflict> = match moved {
            Moved::Task(one) if *one == task.id => {
                let with = |(other, paths): &(TaskId, Vec<String>)| Conflict {
                    task_id: Some(*other),
                    paths: paths.iter().take(SHARES).cloned().collect(),
                };
                shared.iter().map(with).collect()
            }
            Moved::Task(one) => {
                let mine = shared.iter().filter(|(other, _)| *other == task.id);
                let paths = mine.map(|(_, paths)| paths.iter().take(SHARES).cloned().collect());
                paths.map(|paths| Conflict { task_id: Some(*one), paths }).collect()
            }
            Moved::Base(_) => Vec::new(),
        };
        let head = refs.get(&task.branch.full()).cloned();
        let distance = distances.get(&task.base).and_then(|known| known.get(&task.branch)).copied();
        let look = Look { mine, shares, moved: moved.clone(), head, distance, others: Arc::clone(&others) };
        // Of hundreds, most are as they were: nothing is locked and written for those.
        if look.changes(&mut task.clone()).is_some() {
            put(house, task.id, look).await?;
        }
    }
    Ok(())
}

/// What was seen of a task.
struct Look {
    mine: Vec<Conflict>,
    shares: Vec<Conflict>,
    moved: Moved,
    head: Option<CommitId>,
    distance: Option<(u32, u32)>,
    /// Those that are under way.
    others: Arc<BTreeSet<TaskId>>,
}

impl Look {
    /// Writes what was seen into a task. Nothing when it is as it was; else the conflicts that are new, and the others that
    /// share files since now.
    fn changes(&self, task: &mut Task) -> Option<(Vec<Conflict>, Vec<Conflict>)> {
        let before = task.clone();
        // What this look said nothing about stays as it was, unless the other is over.
        let stays = |conflict: &Conflict| match (&self.moved, conflict.task_id) {
            (_, Some(other)) if !self.others.contains(&other) => false,
            (Moved::Task(other), _) if *other == before.id => false,
            (Moved::Task(other), with) => with != Some(*other),
            (Moved::Base(base), None) => *base != before.base,
            (Moved::Base(_), Some(_)) => true,
        };
        let mut conflicts: Vec<Conflict> = task.conflicts.iter().filter(|one| stays(one)).cloned().collect();
        conflicts.extend(self.mine.iter().cloned());
        conflicts.sort_by_key(|conflict| conflict.task_id);
        conflicts.dedup_by_key(|conflict| conflict.task_id);
        let knows = |list: &[Conflict], one: &Conflict| list.iter().any(|known| known.task_id == one.task_id);
        let fresh: Vec<Conflict> = conflicts.iter().filter(|one| !knows(&before.conflicts, one)).cloned().collect();
        let mut shares: Vec<Conflict> = task.shares.iter().filter(|one| stays(one)).cloned().collect();
        shares.extend(self.shares.iter().cloned());
        // Who conflicts shares files as well: that is said once.
        shares.retain(|one| !knows(&conflicts, one));
        shares.sort_by_key(|one| one.task_id);
        shares.dedup_by_key(|one| one.task_id);
        shares.truncate(SHARES);
        let beside = |one: &&Conflict| !knows(&before.shares, one) && !knows(&before.conflicts, one);
        let beside: Vec<Conflict> = shares.iter().filter(beside).cloned().collect();
        (task.conflicts, task.shares) = (conflicts, shares);
        if let Some(head) = &self.head {
            task.head = Some(head.clone());
        }
        if let Some((ahead, behind)) = self.distance {
            (task.ahead, task.behind) = (ahead, behind);
        }
        (*task != before).then_some((fresh, beside))
    }
}

/// Writes what is to be expected of a task, and says on its timeline what is news. Its agent hears of it with its next turn.
async fn put(house: &Arc<House>, id: TaskId, look: Look) -> Result<(), Error> {
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            let Some((mut task, _)) = tx.lock_task(id).await? else { return Ok(()) };
            if task.phase.is_over() {
                return Ok(());
            }
            let Some((fresh, beside)) = look.changes(&mut task) else { return Ok(()) };
            for conflict in fresh {
                let text = radar::conflict(&task, &conflict);
                warn(tx, &task, text).await?;
            }
            if let Some(text) = radar::shared(&beside) {
                warn(tx, &task, text).await?;
            }
            tx.put_task(&mut task).await?;
            Ok::<_, Error>(())
        })
    });
    written.await
}

/// Paths in a sentence: the first of them, and how many more there are.
pub(super) fn listed(paths: &[String]) -> String {
    const NAMED: usize = 20;
    let named = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// A line on the timeline of a task.
async fn warn(tx: &mut Tx, task: &Task, text: String) -> Result<(), Error> {
    if let Some(mut session) = tx.lock_session(&task.session_id).await? {
        tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
        tx.put_session(&mut session).await?;
    }
    Ok(())
}

/// What was seen at a pull request reaches its task: its phase, and what people and programs said, each once.
async fn pull_changed(house: &Arc<House>, pull: PullView, news: Vec<PullNews>) -> Result<(), Error> {
    let Some(task) = task_of(house, &pull.repo, &pull.head).await? else { return Ok(()) };
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            let Some((mut task, _)) = tx.lock_task(task).await? else { return Ok(()) };
            if task.phase.is_over() || task.pull.as_ref().is_some_and(|known| known.number != pull.number) {
                return Ok(());
            }
            let before = task.clone();
            match pull.phase {
                // The keeper is about to say so itself.
                PullPhase::Merged if task.want == TaskWant::Merged => {}
                _ => seen(&mut task, &pull),
            }
            if pull.phase == PullPhase::Closed && task.want != TaskWant::Closed && !task.phase.is_over() {
                task.want = TaskWant::Closed;
            }
            for word in &news {
                let Some(Words { name, text, stale }) = words_of(word, &pull.head_commit) else { continue };
                if task.told.contains_key(&name) {
                    continue;
                }
                task.told.insert(name, pull.head_commit.to_string());
                if let Some(mut session) = tx.lock_session(&task.session_id).await? {
                    let kind = if stale { MomentKind::Note } else { MomentKind::Message };
                    tx.say(&mut session, moment(kind, Voice::House, text)).await?;
                    tx.put_session(&mut session).await?;
                }
                if !stale && task.phase == TaskPhase::InReview && task.want == TaskWant::Review {
                    take_up(&mut task, tx.now());
                }
            }
            // Whoever waits for the forge looks at once.
            if !news.is_empty() && task.phase == TaskPhase::InReview && task.want == TaskWant::Merged {
                task.next_attempt_at = None;
            }
            if task != before {
                tx.put_task(&mut task).await?;
            }
            Ok::<_, Error>(())
        })
    });
    written.await
}

async fn task_of(house: &House, repo: &RepoName, branch: &Branch) -> Result<Option<TaskId>, Error> {
    Ok(house.store.tasks().of_branch(repo, branch).await?.map(|task| task.id))
}

/// What is made of a word.
#[derive(Debug, PartialEq, Eq)]
struct Words {
    /// Under this name it is not told again.
    name: String,
    text: String,
    /// It speaks of lines that have changed since: people see it on the timeline, and the agent is not sent after it.
    stale: bool,
}

/// What the agent is told of a word. Praise and verdicts on another head are left out.
fn words_of(word: &PullNews, now: &CommitId) -> Option<Words> {
    use carrel_model::public::{CheckState, Verdict};
    let cut = |text: &str| text.chars().take(LONGEST).collect::<String>();
    let tell = |name: String, text: String| Some(Words { name, text, stale: false });
    match word {
        PullNews::Comment { comment, head } => {
            // What Carrel said itself is nothing new.
            if comment.stamp.is_some() {
                return None;
            }
            let place = match (&comment.path, comment.line) {
                (Some(path), Some(line)) => format!(" on `{path}` line {line}"),
                (Some(path), None) => format!(" on `{path}`"),
                _ => String::new(),
            };
            let (author, body) = (&comment.author, cut(&comment.body));
            let name = format!("comment {} {}", comment.id, comment.updated_at);
            // What is said of the pull as a whole holds for whatever is there; a line is one of a commit.
            if comment.path.is_some() && head != now {
                let text = format!(
                    "{author} commented{place} at {}, which is not the head any more; the agent was not sent after it:\n\n\
                     {body}\n\nSay it again, if it still holds.",
                    head.short()
                );
                return Some(Words { name, text, stale: true });
            }
            let text = format!(
                "{author} commented{place} on the pull request, which is at {}:\n\n{body}\n\nAnswer by changing the \
                 work, and commit.",
                now.short()
            );
            tell(name, text)
        }
        PullNews::Review { review, head } if head == now => match review.verdict {
            Verdict::ChangesRequested => {
                let text = format!("{} asks for changes to {}:\n\n{}", review.author, now.short(), cut(&review.body));
                tell(format!("review {}", review.id), text)
            }
            Verdict::Commented if !review.body.trim().is_empty() => {
                let text = format!("{} reviewed {}:\n\n{}", review.author, now.short(), cut(&review.body));
                tell(format!("review {}", review.id), text)
            }
            _ => None,
        },
        // The lane tells of its own check itself.
        PullNews::Check { check, .. } if check.name == LANE_CHECK => None,
        PullNews::Check { check, head } if head == now && check.state == CheckState::Failed => {
            let summary = check.summary.as_deref().unwrap_or("it does not say why");
            let text = format!(
                "The check `{}` fails for {}: {}\n\nMend it and commit.",
                check.name,
                head.short(),
                cut(summary)
            );
            tell(format!("check {} {head}", check.name), text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use carrel_model::{
        CommitId, Timestamp,
        public::{CommentView, PullNews},
    };

    use super::{listed, words_of};

    #[test]
    fn a_comment_on_a_line_is_for_the_head_it_speaks_of_and_no_other() {
        let commit = |letter: &str| letter.repeat(40).parse::<CommitId>().unwrap();
        let said = |path: Option<&str>, head: &CommitId| PullNews::Comment {
            comment: CommentView {
                id: "comment-1".into(),
                author: "ada".into(),
                body: "Why?".into(),
                path: path.map(str::to_owned),
                line: path.map(|_| 3),
                side: None,
                commit: path.map(|_| head.clone()),
                stamp: None,
                url: String::new(),
                created_at: Timestamp::UNIX_EPOCH,
                updated_at: Timestamp::UNIX_EPOCH,
            },
            head: head.clone(),
        };
        let (old, now) = (commit("a"), commit("b"));
        let fresh = words_of(&said(Some("src/lib.rs"), &now), &now).unwrap();
        assert!(
            !fresh.stale && fresh.text.contains("on `src/lib.rs` line 3") && fresh.text.contains("at bbbb"),
            "{fresh:?}"
        );
        let stale = words_of(&said(Some("src/lib.rs"), &old), &now).unwrap();
        assert!(stale.stale && stale.text.contains("at aaaa") && stale.text.contains("Why?"), "{stale:?}");
        assert_eq!(stale.name, fresh.name, "it is told once, whatever becomes of it");
        let whole = words_of(&said(None, &old), &now).unwrap();
        assert!(!whole.stale && whole.text.contains("at bbbb"), "{whole:?}");
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let paths: Vec<String> = (0..500).map(|number| format!("f{number}")).collect();
        assert_eq!(listed(&paths[..2]), "f0, f1");
        assert!(listed(&paths).ends_with("f18, f19 and 480 more"));
    }
}
