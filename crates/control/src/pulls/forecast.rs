//! Forecasts: who would conflict with whom, before anybody merges.

use std::{collections::HashMap, sync::Arc};

use carrel_git::merge::{Head, Whom};
use carrel_model::{Branch, RefName, RepoName, TaskId};

use super::watch_base;
use crate::{Error, house::House};

/// A task that is being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// The task.
    pub task: TaskId,
    /// Its branch.
    pub branch: Branch,
    /// The branch that it is to be merged into.
    pub base: Branch,
}

/// What moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// The branch of a task: it is looked at against its base and all others.
    Task(TaskId),
    /// A base: everybody who is to be merged into it is looked at against it.
    Base(Branch),
}

/// Whom a task would conflict with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeseenWith {
    /// Another task.
    Task(TaskId),
    /// Its base.
    Base,
}

/// A conflict that is to be expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreseen {
    /// Whose.
    pub task: TaskId,
    /// With whom.
    pub with: ForeseenWith,
    /// In which files.
    pub paths: Vec<String>,
}

/// What is to be expected after something moved.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    /// Who would conflict with whom.
    pub(crate) conflicts: Vec<Foreseen>,
    /// Which others change the same files as the task that moved, whether or not they conflict.
    pub(crate) shared: Vec<(TaskId, Vec<String>)>,
}

/// What is to be expected after something moved. After a task: everything that this task conflicts with. After a base:
/// everything that conflicts with this base. What is not in the answer, of that kind, is no conflict any more. A task is where
/// its newest save is, unless its branch has moved past that; those that have neither yet are left out.
pub(crate) async fn forecast(
    house: &Arc<House>,
    repo: &RepoName,
    live: &[Live],
    moved: &Moved,
) -> Result<Outlook, Error> {
    let mirror = house.library.mirror(repo).await?;
    let (refs, saves) = (mirror.refs().await?, mirror.saves().await?);
    let mut heads: HashMap<TaskId, (&Live, Head)> = HashMap::new();
    for live in live {
        let (branch, saved) = (refs.get(&live.branch.full()), saves.get(&RefName::wip(live.task)));
        let is_newer = match (branch, saved) {
            (Some(branch), Some(saved)) => mirror.is_ancestor(branch, saved).await?,
            (None, _) => true,
            (Some(_), None) => false,
        };
        let commit = if is_newer { saved } else { branch };
        if let (Some(commit), Some(base)) = (commit, refs.get(&live.base.full())) {
            let head = Head { task: live.task, commit: commit.clone(), base: base.clone() };
            heads.insert(live.task, (live, head));
        }
    }
    let forecaster = house.forges.forecaster(repo);
    match moved {
        Moved::Task(task) => {
            let Some((live, one)) = heads.get(task) else { return Ok(Outlook::default()) };
            watch_base(house, repo, &live.base).await?;
            let others: Vec<Head> = heads.values().map(|(_, head)| head.clone()).collect();
            let clashes = forecaster.forecast(&mirror, one, &others).await?;
            let foreseen = clashes.into_iter().map(|clash| Foreseen {
                task: *task,
                with: match clash.whom {
                    Whom::Base => ForeseenWith::Base,
                    Whom::Task(other) => ForeseenWith::Task(other),
                },
                paths: clash.paths,
            });
            let shared = forecaster.shared(&mirror, one, &others).await?;
            Ok(Outlook { conflicts: foreseen.collect(), shared })
        }
        Moved::Base(branch) => {
            watch_base(house, repo, branch).await?;
            let on_it: Vec<Head> =
                heads.values().filter(|(live, _)| live.base == *branch).map(|(_, head)| head.clone()).collect();
            let paths = forecaster.against_bases(&mirror, &on_it).await?;
            let clashes = on_it.iter().zip(paths).filter(|(_, paths)| !paths.is_empty());
            let foreseen = clashes.map(|(head, paths)| Foreseen { task: head.task, with: ForeseenWith::Base, paths });
            Ok(Outlook { conflicts: foreseen.collect(), shared: Vec::new() })
        }
    }
}
