//! Budgets: what a task may cost, and what the house may cost in a day.
//!
//! Four fifths are worth a word in the journal; when all of it is spent no model is asked any more. What is under way then
//! still ends, and towards the end little is under way at once ([`till`](super::till)).

use std::sync::Arc;

use carrel_model::{
    KeyId, RepoName, TaskId, Timestamp,
    agent::Voice,
    public::{BudgetState, BudgetView, Happening},
    session::MomentKind,
    task::BUDGET_MARK,
    usage::{Dollars, Usage},
};
use carrel_store::Tx;

use super::cards::moment;
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
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whose {
    Task(TaskId),
    /// The house's, from the beginning of a day.
    Day(Timestamp),
    /// A member's, from the beginning of a day.
    Member(KeyId, Timestamp),
    /// A repository's, from the beginning of a day.
    Repo(RepoName, Timestamp),
}

/// For whom a model is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payer {
    pub(crate) task: Option<TaskId>,
    pub(crate) member: Option<KeyId>,
    pub(crate) repo: Option<RepoName>,
}

/// Everything that a request is paid from.
pub(crate) async fn purses(house: &Arc<House>, payer: Payer) -> Result<Vec<Purse>, Error> {
    let mut purses = Vec::new();
    let (today, quotas) = (beginning_of_day(house.store.now()), &house.settings.work.quotas);
    if let Some(task) = payer.task
        && let Some(budget) = budget_of(house, task).await?
    {
        purses.push(Purse { of: Whose::Task(task), budget });
    }
    if let Some(budget) = house.settings.models.day_budget {
        purses.push(Purse { of: Whose::Day(today), budget });
    }
    if let (Some(budget), Some(member)) = (quotas.member_day, payer.member) {
        purses.push(Purse { of: Whose::Member(member, today), budget });
    }
    if let (Some(budget), Some(repo)) = (quotas.repo_day, payer.repo) {
        purses.push(Purse { of: Whose::Repo(repo, today), budget });
    }
    Ok(purses)
}

/// What a task may cost: what it says itself, else what is usual.
async fn budget_of(house: &Arc<House>, task: TaskId) -> Result<Option<Dollars>, Error> {
    let own = house.store.tasks().find(task).await?.and_then(|task| task.budget_micros).map(Dollars::from_micros);
    Ok(own.or(house.settings.models.task_budget))
}

/// Lets a request pass while something is left in every purse, and says how much.
pub(crate) async fn admit(house: &Arc<House>, purses: &[Purse]) -> Result<Vec<(String, Dollars)>, Error> {
    let mut left = Vec::new();
    for purse in purses {
        let (usage, holdings) = (house.store.usage(), house.store.holdings());
        let spent = match &purse.of {
            Whose::Task(task) => usage.cost_of_task(*task).await?,
            Whose::Day(since) => usage.cost_since(*since).await?,
            Whose::Member(member, since) => holdings.cost_of(member, *since).await?,
            Whose::Repo(repo, since) => holdings.cost_in(repo, *since).await?,
        };
        if spent >= purse.budget {
            return Err(Error::Spent { why: purse.sentence(spent) });
        }
        left.push((purse.name(), Dollars::from_micros(purse.budget.micros() - spent.micros())));
    }
    Ok(left)
}

/// Tells of a purse that is nearly or wholly empty, once for each height of it.
pub(crate) async fn tell(tx: &mut Tx, purse: &Purse) -> Result<(), Error> {
    let spent = match &purse.of {
        Whose::Task(task) => tx.cost_of_task(*task).await?,
        Whose::Day(since) => tx.cost_since(*since).await?,
        Whose::Member(member, since) => tx.cost_of_member(member, *since).await?,
        Whose::Repo(repo, since) => tx.cost_in_repo(repo, *since).await?,
    };
    let state = match spent {
        spent if spent >= purse.budget => BudgetState::Spent,
        spent if spent >= purse.budget.percent(WARNS_AT) => BudgetState::Warning,
        _ => return Ok(()),
    };
    if tx.is_news_of_budget(&purse.name(), purse.budget, state).await? {
        let (task_id, since) = match purse.of.clone() {
            Whose::Task(task) => (Some(task), None),
            Whose::Day(since) | Whose::Member(_, since) | Whose::Repo(_, since) => (None, Some(since)),
        };
        let note = purse.sentence(spent);
        tracing::warn!("{note}");
        if let Whose::Task(task) = purse.of {
            write_on_card(tx, task, state, &note).await?;
        }
        let budget = BudgetView { task_id, state, spent_usd: spent, budget_usd: purse.budget, note, since };
        tx.tell(Happening::Budget { budget });
    }
    Ok(())
}

/// Says on the timeline how the budget of a task stands, and marks its card: whoever reviews it must learn that the model
/// was cut off in the middle.
async fn write_on_card(tx: &mut Tx, id: TaskId, state: BudgetState, sentence: &str) -> Result<(), Error> {
    let Some((mut task, _)) = tx.lock_task(id).await? else { return Ok(()) };
    let Some(mut session) = tx.lock_session(&task.session_id).await? else { return Ok(()) };
    let text = match state {
        BudgetState::Warning => format!("The budget is nearly spent: {sentence}."),
        BudgetState::Spent => format!("The budget is spent, and models are not asked any more: {sentence}."),
    };
    let mut note = moment(MomentKind::Note, Voice::House, text);
    note.turn = session.turns;
    tx.say(&mut session, note).await?;
    tx.put_session(&mut session).await?;
    task.told.insert(BUDGET_MARK.into(), state.word().into());
    tx.put_task(&mut task).await?;
    Ok(())
}

/// Says on the timeline that a budget does not count a model, once for each model and session: nothing stops it.
pub(crate) async fn tell_unpriced(tx: &mut Tx, usage: &Usage) -> Result<(), Error> {
    // The task first, as everybody locks them.
    let session = match usage.task_id {
        Some(task) => tx.lock_task(task).await?.map(|(task, _)| task.session_id),
        None => usage.session_id.as_ref().and_then(|id| id.parse().ok()),
    };
    let Some(id) = session else { return Ok(()) };
    let Some(mut session) = tx.lock_session(&id).await? else { return Ok(()) };
    let name = format!("unpriced {id} {}", usage.model);
    if !tx.is_news_of_budget(&name, Dollars::ZERO, BudgetState::Warning).await? {
        return Ok(());
    }
    // What an answer calls its model stands between marks of ours, in one line.
    let model: String = usage.model.chars().filter(|c| !c.is_control() && *c != '`').collect();
    let text = format!(
        "There is no price for `{model}`: the budget cannot count what it costs, and does not stop it. Add \
         `[prices.\"{model}\"]` with `input` and `output` (dollars for a million tokens) to carrel.toml."
    );
    let mut note = moment(MomentKind::Note, Voice::House, text);
    note.turn = session.turns;
    tx.say(&mut session, note).await?;
    tx.put_session(&mut session).await?;
    Ok(())
}

impl Purse {
    pub(super) fn name(&self) -> String {
        match &self.of {
            Whose::Task(task) => format!("task {task}"),
            Whose::Day(since) => format!("day {}", day(*since)),
            Whose::Member(member, since) => format!("member {member} {}", day(*since)),
            Whose::Repo(repo, since) => format!("repo {repo} {}", day(*since)),
        }
    }

    fn sentence(&self, spent: Dollars) -> String {
        let budget = self.budget;
        match &self.of {
            Whose::Task(task) => format!(
                "task {task} has spent {spent} of its budget of {budget} on models; \
                 `carrel task set {task} --budget USD` raises it"
            ),
            Whose::Day(since) => format!(
                "the house has spent {spent} of its budget of {budget} on models for {}; \
                 `budgets.day_usd` in carrel.toml raises it, and it begins anew at midnight UTC",
                day(*since)
            ),
            Whose::Member(_, since) => format!(
                "the work of one member has cost {spent} of {budget} for {}; `quotas.member_day_usd` in carrel.toml \
                 raises it, and it begins anew at midnight UTC",
                day(*since)
            ),
            Whose::Repo(repo, since) => format!(
                "the work in repo `{repo}` has cost {spent} of {budget} for {}; `quotas.repo_day_usd` in carrel.toml \
                 raises it, and it begins anew at midnight UTC",
                day(*since)
            ),
        }
    }
}

pub(crate) fn beginning_of_day(now: Timestamp) -> Timestamp {
    let second = now.as_second();
    Timestamp::from_second(second - second.rem_euclid(86_400)).unwrap_or(now)
}

fn day(since: Timestamp) -> String {
    since.to_string().chars().take(10).collect()
}
