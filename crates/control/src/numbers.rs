//! Numbers that nobody counts while working: taken with every sweep, for whoever watches over the house.

use std::{collections::HashMap, sync::Arc};

use carrel_model::{
    CommitId, RepoName, TaskId,
    task::{Task, TaskPhase},
};
use carrel_store::TaskFilter;

use crate::house::House;

/// So many tasks are looked at.
const MOST: u32 = 10_000;

/// Takes the numbers. One that cannot be taken is left as it was.
pub(crate) async fn take(house: &Arc<House>) {
    weigh_disk(house);
    let Ok((tasks, _)) = house.store.tasks().list(&TaskFilter::default(), MOST).await else { return };
    count(&tasks);
    look_for_lost_work(house, tasks).await;
}

/// How many tasks are in each phase.
fn count(tasks: &[Task]) {
    for phase in TaskPhase::ALL {
        let count = tasks.iter().filter(|task| task.phase == phase).count();
        metrics::gauge!("carrel_tasks", "phase" => phase.word()).set(count as f64);
    }
}

/// How much room there is where mirrors and layers are kept.
fn weigh_disk(house: &House) {
    let Ok(about) = rustix::fs::statvfs(&house.settings.library) else { return };
    let bytes = |blocks: u64| (blocks as f64) * (about.f_frsize as f64);
    metrics::gauge!("carrel_disk_bytes", "kind" => "total").set(bytes(about.f_blocks));
    metrics::gauge!("carrel_disk_bytes", "kind" => "free").set(bytes(about.f_bavail));
}

/// Saved work that is not where it was saved to. This is zero, or somebody has to be woken.
async fn look_for_lost_work(house: &Arc<House>, tasks: Vec<Task>) {
    let mut saved: HashMap<RepoName, Vec<(TaskId, CommitId)>> = HashMap::new();
    for task in tasks.into_iter().filter(|task| !task.phase.is_over()) {
        if let Some(head) = task.head {
            saved.entry(task.repo).or_default().push((task.id, head));
        }
    }
    let mut lost = 0_u32;
    for (repo, heads) in saved {
        let Ok(mirror) = house.library.mirror(&repo).await else { continue };
        let commits: Vec<CommitId> = heads.iter().map(|(_, head)| head.clone()).collect();
        let Ok(missing) = mirror.missing(&commits).await else { continue };
        for (task, head) in heads.iter().filter(|(_, head)| missing.contains(head)) {
            lost += 1;
            tracing::error!(%task, %head, %repo, "saved work is not in the mirror any more");
        }
    }
    metrics::gauge!("carrel_lost_work").set(f64::from(lost));
}
