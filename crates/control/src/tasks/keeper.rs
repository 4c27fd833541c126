//! The walk of the keeper of tasks: hears the journal, gives out room, claims what is due and tends it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use carrel_model::{
    TaskId,
    public::Happening,
    task::{TaskPhase, TaskWant},
};
use carrel_store::{LeasedTask, News};
use tokio::{sync::Notify, time::Instant};

use super::{queue, review, steps};
use crate::{Error, house::House, keeper::is_lost_lease};

/// How many rows are claimed at once.
const CLAIM: u32 = 64;

/// What is in hand at the moment; each with a bell that is rung when people want something else of it.
#[derive(Default)]
pub(crate) struct TaskKeeper {
    hands: Mutex<HashMap<TaskId, Arc<Notify>>>,
    /// What will be looked at anew as soon as it is its turn.
    looks: Mutex<HashSet<String>>,
}

impl TaskKeeper {
    pub(crate) fn looks(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.looks.lock().expect("nobody panics while holding the list")
    }

    fn hands(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, Arc<Notify>>> {
        self.hands.lock().expect("nobody panics while holding the list")
    }
}

/// Walks until the house closes.
pub(crate) async fn walk(house: Arc<House>) {
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    let mut wake = Instant::now();
    loop {
        tokio::select! {
            news = follower.next() => match news {
                Ok(News::Entries(entries)) => {
                    for written in entries {
                        if hear(&house, &written.entry().happening) {
                            wake = Instant::now();
                        }
                    }
                }
                Ok(News::Reset(_)) => wake = Instant::now(),
                Err(error) => {
                    wake = trouble(&error.into());
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            },
            () = tokio::time::sleep_until(wake) => match take_what_is_due(&house).await {
                Ok(next) => wake = next,
                Err(error) => wake = trouble(&error),
            },
        }
    }
}

/// Prolongs the leases in hand.
pub(crate) async fn heartbeat(house: Arc<House>) {
    let mut beat = tokio::time::interval(house.settings.patience.lease / 3);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let in_hand: Vec<_> = house.task_keeper.hands().keys().copied().collect();
        let until = house.keeper.lease_end(house.store.now());
        if let Err(error) = house.store.tasks().renew(house.keeper.owner(), &in_hand, until).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "the heartbeat of tasks failed; trying again");
        }
    }
}

/// Whether something that was heard is worth a look at the rows.
fn hear(house: &Arc<House>, happening: &Happening) -> bool {
    match happening {
        Happening::Task { task } => {
            let wants_other =
                matches!(task.want, TaskWant::Closed | TaskWant::Rest) || task.phase == TaskPhase::InReview;
            if wants_other && let Some(bell) = house.task_keeper.hands().get(&task.id) {
                bell.notify_one();
            }
            if task.phase.is_over() {
                review::over(house, task);
            }
            // Every change may make room for somebody, or let somebody go on.
            true
        }
        Happening::Push { push } if push.refusal.is_none() => {
            review::pushed(house, push);
            false
        }
        happening => review::heard(house, happening),
    }
}

fn trouble(error: &Error) -> Instant {
    tracing::warn!(error = error as &dyn std::error::Error, "the keeper of tasks cannot go on; trying again");
    Instant::now() + Duration::from_secs(1)
}

async fn take_what_is_due(house: &Arc<House>) -> Result<Instant, Error> {
    queue::give_room(house).await?;
    loop {
        let until = house.keeper.lease_end(house.store.now());
        let in_hand: Vec<_> = house.task_keeper.hands().keys().copied().collect();
        let (owner, node) = (house.keeper.owner(), &house.settings.node);
        let claimed = house.store.tasks().claim(owner, node, house.nodes.claims(), until, &in_hand, CLAIM).await?;
        let full = claimed.len() == CLAIM as usize;
        for leased in claimed {
            tend(house, leased);
        }
        if !full {
            break;
        }
    }
    let next = house.store.tasks().next_due(&house.settings.node, house.nodes.claims()).await?;
    let soon = Instant::now() + Duration::from_millis(50);
    let round = Instant::now() + house.settings.patience.sweep;
    let due = next.map(|due| Duration::try_from(due.duration_since(house.store.now())).unwrap_or_default());
    Ok(due.map_or(round, |due| (Instant::now() + due).clamp(soon, round)))
}

/// Takes steps with a task until it rests, in a task of its own.
fn tend(house: &Arc<House>, leased: LeasedTask) {
    let id = leased.task.id;
    let bell = Arc::new(Notify::new());
    house.task_keeper.hands().insert(id, Arc::clone(&bell));
    let hand = Hand { house: Arc::clone(house), id, bell };
    house.tasks().spawn(async move {
        let (house, bell) = (&hand.house, &hand.bell);
        let stop = house.stop().clone();
        // What the house's end cuts off is taken up at the next start.
        match stop.run_until_cancelled(Box::pin(steps::tend(house, leased, bell))).await {
            Some(Err(Error::Internal(error))) if is_lost_lease(&*error) => {
                tracing::info!(task = %id, "somebody else has taken this task over");
            }
            Some(Err(error)) => {
                tracing::warn!(task = %id, error = &error as &dyn std::error::Error, "a step was not recorded");
            }
            Some(Ok(())) | None => {}
        }
    });
}

/// A task in hand. However that ends, its lease is not prolonged any more.
struct Hand {
    house: Arc<House>,
    id: TaskId,
    bell: Arc<Notify>,
}

impl Drop for Hand {
    fn drop(&mut self) {
        let mut hands = self.house.task_keeper.hands();
        if hands.get(&self.id).is_some_and(|held| Arc::ptr_eq(held, &self.bell)) {
            hands.remove(&self.id);
        }
    }
}
