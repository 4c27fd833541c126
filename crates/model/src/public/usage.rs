//! What models were used for and what it cost, as the outside hears it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    TaskId,
    usage::{Dollars, Tokens},
};

/// What usage is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// Days, in UTC.
    #[default]
    Day,
    /// Tasks.
    Task,
    /// Sessions.
    Session,
    /// Agents.
    Agent,
    /// Models.
    Model,
    /// Those who answered.
    Provider,
}

/// Requests to models, added up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageSum {
    /// What they have in common: a day as `2026-11-16`, a task's number, a name. Absent for those that have none.
    pub name: Option<String>,
    /// How many there were.
    pub requests: u64,
    /// What they took.
    pub tokens: Tokens,
    /// What they cost, as far as prices are known.
    pub cost_usd: Dollars,
    /// How many of them have no known price: they are not in `cost_usd`.
    pub unpriced: u64,
    /// For how many of them the tokens were guessed.
    pub estimated: u64,
}

/// Usage, added up by one thing, and all of it together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// What it is added up by.
    pub by: UsageBy,
    /// The sums; days newest first, everything else by what it cost.
    pub items: Vec<UsageSum>,
    /// Everything that was asked for, in one.
    pub total: UsageSum,
}

/// A budget that is running out, or has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetView {
    /// The task whose budget it is; the whole house's for one day when there is none.
    pub task_id: Option<TaskId>,
    /// How it stands.
    pub state: BudgetState,
    /// What was spent.
    pub spent_usd: Dollars,
    /// What may be spent.
    pub budget_usd: Dollars,
    /// A sentence about it, with what can be done.
    pub note: String,
    /// From when on it counts, for the budget of a day.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
}

/// How a budget stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetState {
    /// Four fifths are spent.
    Warning,
    /// All of it is: models are not asked any more.
    Spent,
}

impl UsageSum {
    /// Nothing at all.
    pub fn nothing() -> UsageSum {
        UsageSum {
            name: None,
            requests: 0,
            tokens: Tokens::default(),
            cost_usd: Dollars::ZERO,
            unpriced: 0,
            estimated: 0,
        }
    }

    /// Adds another to it.
    pub fn add(&mut self, other: &UsageSum) {
        self.requests += other.requests;
        self.tokens = self.tokens + other.tokens;
        self.cost_usd = self.cost_usd + other.cost_usd;
        self.unpriced += other.unpriced;
        self.estimated += other.estimated;
    }
}

impl BudgetState {
    /// The word used in JSON and SQL.
    pub fn word(self) -> &'static str {
        match self {
            BudgetState::Warning => "warning",
            BudgetState::Spent => "spent",
        }
    }

    /// The state that a word means.
    pub fn from_word(word: &str) -> Option<BudgetState> {
        [BudgetState::Warning, BudgetState::Spent].into_iter().find(|state| state.word() == word)
    }
}
