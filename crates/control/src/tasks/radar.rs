//! The overlap radar, in words: who is at the same place. People read it on the timeline; the agent hears with its next turn
//! what it has not heard yet, and is woken by none of it.

use std::{collections::BTreeSet, sync::Arc};

use carrel_model::{
    TaskId,
    task::{Conflict, Task},
};

use super::review::listed;
use crate::{Error, house::House};

/// Under this name a task remembers what its agent has heard.
const HEARD: &str = "radar";

/// What stands on the timeline of a task with a conflict that is new.
pub(super) fn conflict(task: &Task, conflict: &Conflict) -> String {
    let paths = listed(&conflict.paths);
    match conflict.task_id {
        Some(other) => format!("Task {other} changes the same lines: {paths}. Whoever is merged second must rebase."),
        None => format!("`{}` has moved on and conflicts with this branch in {paths}.", task.base),
    }
}

/// The same for others that share files since now; nothing when there are none.
pub(super) fn shared(with: &[Conflict]) -> Option<String> {
    let name = |one: &Conflict| one.task_id.map(|other| format!("task {other} ({})", listed(&one.paths)));
    let names: Vec<String> = with.iter().filter_map(name).collect();
    (!names.is_empty())
        .then(|| format!("The same files are changed by {}; so far they merge by themselves.", names.join(", ")))
}

/// What an agent is told with its next turn, once: who will conflict with it, and who works in the same files. It counts as
/// heard from now on.
pub(super) async fn news(house: &Arc<House>, id: TaskId) -> Result<Option<String>, Error> {
    // Mostly there is nothing, and nothing is locked for that.
    let Some(task) = house.store.tasks().find(id).await? else { return Ok(None) };
    if words(&task).is_none() {
        return Ok(None);
    }
    let told = house.store.change(move |tx| {
        Box::pin(async move {
            let Some((mut task, _)) = tx.lock_task(id).await? else { return Ok(None) };
            let Some((text, heard)) = words(&task) else { return Ok(None) };
            task.told.insert(HEARD.into(), heard);
            tx.put_task(&mut task).await?;
            Ok::<_, Error>(text)
        })
    });
    told.await
}

/// What is to be said, if anything, and what is then remembered; nothing when all is as it was heard.
fn words(task: &Task) -> Option<(Option<String>, String)> {
    let marks = |list: &[Conflict], mark: char| -> Vec<String> {
        list.iter().filter_map(|one| one.task_id).map(|other| format!("{mark}{other}")).collect()
    };
    let now: Vec<String> = [marks(&task.conflicts, '!'), marks(&task.shares, '=')].concat();
    let remembered = task.told.get(HEARD).map(String::as_str).unwrap_or_default();
    let heard: BTreeSet<&str> = remembered.split_whitespace().collect();
    if now.join(" ") == remembered {
        return None;
    }
    let is_new = |mark: char| {
        let heard = &heard;
        move |one: &&Conflict| one.task_id.is_some_and(|other| !heard.contains(format!("{mark}{other}").as_str()))
    };
    let clashes: Vec<Conflict> = task.conflicts.iter().filter(is_new('!')).cloned().collect();
    let beside: Vec<Conflict> = task.shares.iter().filter(is_new('=')).cloned().collect();
    let mut lines: Vec<String> = clashes.iter().map(|clash| conflict(task, clash)).collect();
    lines.extend(shared(&beside));
    let text = (!lines.is_empty()).then(|| {
        let lines: String = lines.iter().map(|line| format!("\n- {line}")).collect();
        format!("From the house, so that you know of the others; there is nothing to answer:{lines}")
    });
    Some((text, now.join(" ")))
}
