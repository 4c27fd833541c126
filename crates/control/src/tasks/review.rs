//! What happens around a task's branch: pushes, bases that move, words and checks at its pull request.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use carrel_model::{
    Branch, CommitId, RepoName, TaskId,
    agent::Voice,
    public::{Happening, PullNews, PullPhase, PullView, PushView},
    session::MomentKind,
    task::{Conflict, Task, TaskPhase, TaskWant},
};
use carrel_store::Tx;

use super::steps::seen;
use crate::{
    Error,
    desks::tasks::{moment, take_up},
    house::House,
    pulls::{ForeseenWith, LANE_CHECK, Live, Moved, forecast},
};

/// How much of what is said elsewhere is passed on.
const LONGEST: usize = 16 * 1024;

/// A push arrived: the branch of its task is looked at anew, in the background.
pub(super) fn pushed(house: &Arc<House>, push: &PushView) {
    let Some(task) = push.task_id else { return };
    let moved = push.refs.iter().any(|pushed| pushed.moved && pushed.name.branch().is_some());
    if moved {
        beside(house, push.repo.clone(), Moved::Task(task));
    }
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
    let foreseen = forecast(house, repo, &live, moved).await?;
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
        let head = refs.get(&task.branch.full()).cloned();
        let distance = distances.get(&task.base).and_then(|known| known.get(&task.branch)).copied();
        let look = Look { mine, moved: moved.clone(), head, distance, others: Arc::clone(&others) };
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
    moved: Moved,
    head: Option<CommitId>,
    distance: Option<(u32, u32)>,
    /// Those that are under way.
    others: Arc<BTreeSet<TaskId>>,
}

impl Look {
    /// Writes what was seen into a task. Nothing when it is as it was; else the conflicts that are new.
    fn changes(&self, task: &mut Task) -> Option<Vec<Conflict>> {
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
        let is_new = |one: &&Conflict| !before.conflicts.iter().any(|known| known.task_id == one.task_id);
        let fresh: Vec<Conflict> = conflicts.iter().filter(is_new).cloned().collect();
        task.conflicts = conflicts;
        if let Some(head) = &self.head {
            task.head = Some(head.clone());
        }
        if let Some((ahead, behind)) = self.distance {
            (task.ahead, task.behind) = (ahead, behind);
        }
        (*task != before).then_some(fresh)
    }
}

/// Writes what is to be expected of a task, and tells its agent and the other's when that is news.
async fn put(house: &Arc<House>, id: TaskId, look: Look) -> Result<(), Error> {
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            let Some((mut task, _)) = tx.lock_task(id).await? else { return Ok(()) };
            if task.phase.is_over() {
                return Ok(());
            }
            let Some(fresh) = look.changes(&mut task) else { return Ok(()) };
            for conflict in fresh {
                warn(tx, &mut task, &conflict).await?;
            }
            tx.put_task(&mut task).await?;
            Ok::<_, Error>(())
        })
    });
    written.await
}

/// A line on the timeline, so that both sides hear of it.
async fn warn(tx: &mut Tx, task: &mut Task, conflict: &Conflict) -> Result<(), Error> {
    let paths = conflict.paths.join(", ");
    let text = match conflict.task_id {
        Some(other) => format!("Task {other} changes the same lines: {paths}. Whoever is merged second must rebase."),
        None => format!("`{}` has moved on and conflicts with this branch in {paths}.", task.base),
    };
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
                let Some((name, text)) = words_of(word, &pull) else { continue };
                if task.told.contains_key(&name) {
                    continue;
                }
                task.told.insert(name, pull.head_commit.to_string());
                if let Some(mut session) = tx.lock_session(&task.session_id).await? {
                    tx.say(&mut session, moment(MomentKind::Message, Voice::House, text)).await?;
                    tx.put_session(&mut session).await?;
                }
                if task.phase == TaskPhase::InReview && task.want == TaskWant::Review {
                    take_up(&mut task, tx.now());
                }
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

/// What the agent is told of a word, with a name under which it is not told again. Praise and what speaks of another
/// head are left out.
fn words_of(word: &PullNews, pull: &PullView) -> Option<(String, String)> {
    use carrel_model::public::{CheckState, Verdict};
    let cut = |text: &str| text.chars().take(LONGEST).collect::<String>();
    match word {
        PullNews::Comment { comment, .. } => {
            // What Carrel said itself is nothing new.
            if comment.stamp.is_some() {
                return None;
            }
            let place = match (&comment.path, comment.line) {
                (Some(path), Some(line)) => format!(" on `{path}` line {line}"),
                (Some(path), None) => format!(" on `{path}`"),
                _ => String::new(),
            };
            let text = format!(
                "{} commented{place} on the pull request:\n\n{}\n\nAnswer by changing the work, and commit.",
                comment.author,
                cut(&comment.body)
            );
            Some((format!("comment {} {}", comment.id, comment.updated_at), text))
        }
        PullNews::Review { review, head } if *head == pull.head_commit => match review.verdict {
            Verdict::ChangesRequested => {
                let text = format!("{} asks for changes:\n\n{}", review.author, cut(&review.body));
                Some((format!("review {}", review.id), text))
            }
            Verdict::Commented if !review.body.trim().is_empty() => {
                let text = format!("{} reviewed the pull request:\n\n{}", review.author, cut(&review.body));
                Some((format!("review {}", review.id), text))
            }
            _ => None,
        },
        // The lane tells of its own check itself.
        PullNews::Check { check, .. } if check.name == LANE_CHECK => None,
        PullNews::Check { check, head } if *head == pull.head_commit && check.state == CheckState::Failed => {
            let summary = check.summary.as_deref().unwrap_or("it does not say why");
            let text = format!(
                "The check `{}` fails for {}: {}\n\nMend it and commit.",
                check.name,
                head.short(),
                cut(summary)
            );
            Some((format!("check {} {head}", check.name), text))
        }
        _ => None,
    }
}
