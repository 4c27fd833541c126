//! What models were used for, in the database.

use carrel_model::{
    AgentId, SandboxId, TaskId, Timestamp,
    public::{BudgetState, UsageBy, UsageSum},
    usage::{Dollars, Tokens, Usage},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Arg, Row, args},
};

/// The usage of models.
pub struct Usages<'s> {
    pub(crate) store: &'s Store,
}

/// Which requests to add up.
#[derive(Debug, Clone, Default)]
pub struct UsageFilter {
    /// Of this task.
    pub task: Option<TaskId>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this sandbox.
    pub sandbox: Option<SandboxId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// From here on.
    pub since: Option<Timestamp>,
    /// Before this.
    pub until: Option<Timestamp>,
}

const DAY: i64 = 86_400 * 1_000_000;

impl Usages<'_> {
    /// Adds up, at most so many sums. Days newest first, everything else by what it cost.
    pub async fn sums(&self, filter: &UsageFilter, by: UsageBy, most: u32) -> Result<Vec<UsageSum>, StoreError> {
        let column = match by {
            UsageBy::Day => format!("CAST(at / {DAY} AS TEXT)"),
            UsageBy::Task => "CAST(task_id AS TEXT)".to_owned(),
            UsageBy::Session => "session_id".to_owned(),
            UsageBy::Agent => "agent".to_owned(),
            UsageBy::Model => "model".to_owned(),
            UsageBy::Provider => "provider".to_owned(),
        };
        let order = if by == UsageBy::Day { "MAX(at) DESC" } else { "cost DESC, requests DESC, name" };
        let (conditions, mut values) = conditions(filter);
        values.push(i64::from(most).into());
        let sql = format!(
            "SELECT {column} AS name, {SUMS} FROM usage WHERE {conditions} GROUP BY 1 ORDER BY {order} LIMIT ${}",
            values.len()
        );
        let rows = self.store.sql().fetch_all(sql, values).await?;
        rows.iter().map(|row| Ok(UsageSum { name: named(by, row.maybe_text("name")?), ..read(row)? })).collect()
    }

    /// All of it in one.
    pub async fn total(&self, filter: &UsageFilter) -> Result<UsageSum, StoreError> {
        let (conditions, values) = conditions(filter);
        let sql = format!("SELECT {SUMS} FROM usage WHERE {conditions}");
        match self.store.sql().fetch_optional(sql, values).await? {
            Some(row) => read(&row),
            None => Ok(UsageSum::nothing()),
        }
    }

    /// What a task has cost so far.
    pub async fn cost_of_task(&self, task: TaskId) -> Result<Dollars, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost FROM usage WHERE task_id = $1";
        cost(self.store.sql().fetch_optional(sql, args![i64::from(task)]).await?)
    }

    /// What everything has cost from a moment on.
    pub async fn cost_since(&self, since: Timestamp) -> Result<Dollars, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost FROM usage WHERE at >= $1";
        cost(self.store.sql().fetch_optional(sql, args![since]).await?)
    }
}

impl Tx {
    /// Writes down a request to a model.
    pub async fn insert_usage(&mut self, usage: &Usage) -> Result<(), StoreError> {
        let sql = "INSERT INTO usage (at, task_id, session_id, sandbox_id, agent, provider, model, input_tokens,
                       output_tokens, cache_read, cache_write, cost, is_estimated, status, took_ms)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let values = args![
            usage.at,
            usage.task_id.map(i64::from),
            usage.session_id.clone(),
            usage.sandbox_id.as_ref().map(|id| id.as_str()),
            usage.agent.as_ref().map(|id| id.as_str()),
            usage.provider.as_str(),
            usage.model.as_str(),
            count(usage.tokens.input),
            count(usage.tokens.output),
            count(usage.tokens.cache_read),
            count(usage.tokens.cache_write),
            usage.cost.map(Dollars::micros),
            i64::from(usage.is_estimated),
            i64::from(usage.status),
            count(usage.took_ms),
        ];
        self.work.execute(sql, values).await?;
        Ok(())
    }

    /// What a task has cost, with what this change adds.
    pub async fn cost_of_task(&mut self, task: TaskId) -> Result<Dollars, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost FROM usage WHERE task_id = $1";
        cost(self.work.fetch_optional(sql, args![i64::from(task)]).await?)
    }

    /// What a session has cost, with what this change adds.
    pub async fn cost_of_session(&mut self, session: &str) -> Result<Dollars, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost FROM usage WHERE session_id = $1";
        cost(self.work.fetch_optional(sql, args![session]).await?)
    }

    /// What everything has cost from a moment on, with what this change adds.
    pub async fn cost_since(&mut self, since: Timestamp) -> Result<Dollars, StoreError> {
        let sql = "SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost FROM usage WHERE at >= $1";
        cost(self.work.fetch_optional(sql, args![since]).await?)
    }

    /// Remembers that it was told how a budget of this height stands; says whether that is news.
    pub async fn is_news_of_budget(
        &mut self,
        budget: &str,
        height: Dollars,
        state: BudgetState,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO budget_words (budget, height, state, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        Ok(self.work.execute(sql, args![budget, height.micros(), state.word(), self.now()]).await? == 1)
    }
}

/// Sums come as whole numbers in both dialects.
const SUMS: &str = "COUNT(*) AS requests, CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) AS input_tokens,
    CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) AS output_tokens,
    CAST(COALESCE(SUM(cache_read), 0) AS BIGINT) AS cache_read,
    CAST(COALESCE(SUM(cache_write), 0) AS BIGINT) AS cache_write,
    CAST(COALESCE(SUM(cost), 0) AS BIGINT) AS cost, COUNT(*) - COUNT(cost) AS unpriced,
    CAST(COALESCE(SUM(is_estimated), 0) AS BIGINT) AS estimated";

fn conditions(filter: &UsageFilter) -> (String, Vec<Arg>) {
    let mut conditions = vec!["1 = 1".to_owned()];
    let mut values: Vec<Arg> = Vec::new();
    let mut only = |condition: &str, value: Option<Arg>| {
        if let Some(value) = value {
            values.push(value);
            conditions.push(format!("{condition} ${}", values.len()));
        }
    };
    only("task_id =", filter.task.map(|id| i64::from(id).into()));
    only("session_id =", filter.session.as_deref().map(Arg::from));
    only("sandbox_id =", filter.sandbox.as_ref().map(|id| id.as_str().into()));
    only("agent =", filter.agent.as_ref().map(|id| id.as_str().into()));
    only("at >=", filter.since.map(Arg::from));
    only("at <", filter.until.map(Arg::from));
    (conditions.join(" AND "), values)
}

/// A day is written as people write it.
fn named(by: UsageBy, name: Option<String>) -> Option<String> {
    if by != UsageBy::Day {
        return name;
    }
    let day = Timestamp::from_second(name?.parse::<i64>().ok()? * 86_400).ok()?;
    Some(day.to_string().chars().take(10).collect())
}

fn read(row: &Row) -> Result<UsageSum, StoreError> {
    let count = |name| row.int(name).map(i64::unsigned_abs);
    Ok(UsageSum {
        name: None,
        requests: count("requests")?,
        tokens: Tokens {
            input: count("input_tokens")?,
            output: count("output_tokens")?,
            cache_read: count("cache_read")?,
            cache_write: count("cache_write")?,
            cache_write_hour: 0,
        },
        cost_usd: Dollars::from_micros(row.int("cost")?),
        unpriced: count("unpriced")?,
        estimated: count("estimated")?,
    })
}

fn cost(row: Option<Row>) -> Result<Dollars, StoreError> {
    Ok(Dollars::from_micros(row.map(|row| row.int("cost")).transpose()?.unwrap_or_default()))
}
