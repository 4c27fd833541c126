//! The queue: who may begin now. The most urgent first, then who is due soonest, then the oldest; nobody waits behind somebody who cannot go.

use std::{collections::HashMap, sync::Arc};

use carrel_model::{
    AgentId, RepoName,
    task::{NeedsReason, TaskPhase},
};

use crate::{Error, house::House};

/// So many of those that wait are read at a time.
const LOOKED_AT: u32 = 500;

/// Lets as many begin as there is room for. Says how many.
pub(crate) async fn give_room(house: &Arc<House>) -> Result<usize, Error> {
    if !house.store.tasks().is_anybody_queued().await? {
        return Ok(0);
    }
    let agents: HashMap<AgentId, usize> = {
        let added = house.store.agents().list().await?;
        added.into_iter().filter_map(|agent| Some((agent.name, agent.at_once?.get() as usize))).collect()
    };
    let work = house.settings.work.clone();
    let begun = house.store.change(move |tx| {
        Box::pin(async move {
            tx.lock_queue().await?;
            let busy = tx.busy().await?;
            let (mut all, mut by_repo, mut by_agent) = (busy.len(), HashMap::new(), HashMap::new());
            for (repo, agent) in busy {
                *by_repo.entry(repo).or_insert(0_usize) += 1;
                *by_agent.entry(agent).or_insert(0_usize) += 1;
            }
            let (mut begun, mut last) = (0, None);
            // As long as there is room, however many before them cannot go.
            loop {
                let queued = tx.queued(last.as_ref(), LOOKED_AT).await?;
                let is_the_end = queued.len() < LOOKED_AT as usize;
                last = queued.last().cloned();
                let others: Vec<_> = queued.iter().flat_map(|task| &task.depends_on).map(|edge| edge.task_id).collect();
                let phases = tx.phases_of(&others).await?;
                for mut task in queued {
                    let waits = task
                        .depends_on
                        .iter()
                        .find(|edge| phases.get(&edge.task_id).is_none_or(|phase| !edge.until.is_reached(*phase)))
                        .map(|edge| edge.task_id);
                    if let Some(other) = waits
                        && phases.get(&other) == Some(&TaskPhase::Closed)
                    {
                        let detail =
                            format!("It waits for task {other}, which was closed. Change `depends_on`, or close it.");
                        task.ask_for_help(NeedsReason::Dependency, detail);
                        tx.put_task(&mut task).await?;
                        continue;
                    }
                    let repo: &mut usize = by_repo.entry(RepoName::clone(&task.repo)).or_default();
                    let agent: &mut usize = by_agent.entry(AgentId::clone(&task.agent)).or_default();
                    let most = agents.get(&task.agent).copied().unwrap_or(work.at_once);
                    let why = match waits {
                        Some(other) => Some(format!("waits for task {other}")),
                        None if all >= work.at_once => Some("waits for room".to_owned()),
                        None if *repo >= work.per_repo => Some(format!("waits for room in {}", task.repo)),
                        None if *agent >= most => Some(format!("waits for room with {}", task.agent)),
                        None => None,
                    };
                    if why.is_some() {
                        if task.doing != why {
                            task.doing = why;
                            tx.put_task(&mut task).await?;
                        }
                        continue;
                    }
                    (*repo, *agent, all, begun) = (*repo + 1, *agent + 1, all + 1, begun + 1);
                    task.doing = None;
                    task.go_to(TaskPhase::Preparing);
                    task.started_at.get_or_insert(tx.now());
                    tx.put_task(&mut task).await?;
                }
                if is_the_end || all >= work.at_once {
                    break;
                }
            }
            Ok::<_, Error>(begun)
        })
    });
    begun.await
}
