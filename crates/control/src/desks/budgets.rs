//! Budgets: what a task may cost, and what the house may cost in a day.
//!
//! Four fifths are worth a word in the journal; when all of it is spent no model is asked any more. What is under way then
//! still ends: a budget is overshot by no more than that.

use std::sync::Arc;

use carrel_model::{
    TaskId, Timestamp,
    public::{BudgetState, BudgetView, Happening},
    usage::Dollars,
};
use carrel_store::Tx;

use crate::{Error, house::House};

/// The share that is worth a warning, in hundredths.
const WARNS_AT: i64 = 80;

/// An amount that may be spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Purse {
    of: Whose,
    budget: Dollars,
}

/// Whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Task(TaskId),
    /// The house's, from the beginning of a day.
    Day(Timestamp),
}

/// Everything that a request of this task is paid from.
pub(crate) async fn purses(house: &Arc<House>, task: Option<TaskId>) -> Result<Vec<Purse>, Error> {
    let mut purses = Vec::new();
    if let Some(task) = task
        && let Some(budget) = budget_of(house, task).await?
    {
        purses.push(Purse { of: Whose::Task(task), budget });
    }
    if let Some(budget) = house.settings.models.day_budget {
        purses.push(Purse { of: Whose::Day(beginning_of_day(house.store.now())), budget });
    }
    Ok(purses)
}

/// What a task may cost: what it says itself, else what is usual.
async fn budget_of(house: &Arc<House>, task: TaskId) -> Result<Option<Dollars>, Error> {
    let own = house.store.tasks().find(task).await?.and_then(|task| task.budget_micros).map(Dollars::from_micros);
    Ok(own.or(house.settings.models.task_budget))
}

/// Lets a request pass while something is left in every purse.
pub(crate) async fn admit(house: &Arc<House>, purses: &[Purse]) -> Result<(), Error> {
    for purse in purses {
        let usage = house.store.usage();
        let spent = match purse.of {
            Whose::Task(task) => usage.cost_of_task(task).await?,
            Whose::Day(since) => usage.cost_since(since).await?,
        };
        if spent >= purse.budget {
            return Err(Error::Spent { why: purse.sentence(spent) });
        }
    }
    Ok(())
}

/// Tells of a purse that is nearly or wholly empty, once for each height of it.
pub(crate) async fn tell(tx: &mut Tx, purse: &Purse) -> Result<(), Error> {
    let spent = match purse.of {
        Whose::Task(task) => tx.cost_of_task(task).await?,
        Whose::Day(since) => tx.cost_since(since).await?,
    };
    let state = match spent {
        spent if spent >= purse.budget => BudgetState::Spent,
        spent if spent >= purse.budget.percent(WARNS_AT) => BudgetState::Warning,
        _ => return Ok(()),
    };
    if tx.is_news_of_budget(&purse.name(), purse.budget, state).await? {
        let (task_id, since) = match purse.of {
            Whose::Task(task) => (Some(task), None),
            Whose::Day(since) => (None, Some(since)),
        };
        let note = purse.sentence(spent);
        tracing::warn!("{note}");
        let budget = BudgetView { task_id, state, spent_usd: spent, budget_usd: purse.budget, note, since };
        tx.tell(Happening::Budget { budget });
    }
    Ok(())
}

impl Purse {
    fn name(&self) -> String {
        match self.of {
            Whose::Task(task) => format!("task {task}"),
            Whose::Day(since) => format!("day {}", day(since)),
        }
    }

    fn sentence(&self, spent: Dollars) -> String {
        let budget = self.budget;
        match self.of {
            Whose::Task(task) => format!(
                "task {task} has spent {spent} of its budget of {budget} on models; \
                 `carrel task set {task} --budget USD` raises it"
            ),
            Whose::Day(since) => format!(
                "the house has spent {spent} of its budget of {budget} on models for {}; \
                 `budgets.day_usd` in carrel.toml raises it, and it begins anew at midnight UTC",
                day(since)
            ),
        }
    }
}

fn beginning_of_day(now: Timestamp) -> Timestamp {
    let second = now.as_second();
    Timestamp::from_second(second - second.rem_euclid(86_400)).unwrap_or(now)
}

fn day(since: Timestamp) -> String {
    since.to_string().chars().take(10).collect()
}
