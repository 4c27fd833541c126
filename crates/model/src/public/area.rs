//! Claims, questions and what is missing: what an agent reports of its own task.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentId, CommitId, TaskId,
    area::{AreaPath, Claim},
    number::Whole,
};

/// Claims files or directories for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewClaim {
    /// What is claimed: 1 to 64 paths.
    pub paths: Vec<AreaPath>,
    /// For how many seconds: 3600 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 86_400)]
    pub for_s: Option<Whole<1, 86_400>>,
    /// The token of an earlier claim that this one takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renews: Option<i64>,
}

/// A claim, with whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AreaView {
    /// The task.
    pub task_id: TaskId,
    /// What it is called.
    pub title: String,
    /// Who works on it.
    pub agent: AgentId,
    /// What is claimed, until when.
    #[serde(flatten)]
    pub claim: Claim,
}

/// Asks a person something on behalf of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewQuestion {
    /// In one to a few sentences.
    pub question: String,
}

/// Whether a task is done, as the house sees it: computed, not claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DoneView {
    /// Nothing is missing on the agent's side: it may end its turn.
    pub done: bool,
    /// What is missing, a sentence each.
    pub missing: Vec<String>,
    /// The commit that is checked out.
    pub head: Option<CommitId>,
    /// How many commits the base has not.
    pub ahead: u32,
    /// When this was looked at.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// Lets a command judge between the attempts at a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJudgement {
    /// A line for `sh -c` in a sandbox with the attempt's head checked out. The last number that it prints is the score;
    /// without one, an exit code of 0 counts 1 and any other 0.
    pub command: String,
    /// Promote the best one at once: the others are closed.
    #[serde(default)]
    pub promote: bool,
}

/// What the judge gave an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreView {
    /// The attempt.
    pub task_id: TaskId,
    /// Its score; nothing when it could not be judged.
    pub score: Option<f64>,
    /// The head that was judged.
    pub head: Option<CommitId>,
    /// The end of what the judge printed, or why there is no score.
    pub log: String,
    /// Whether it was promoted.
    pub promoted: bool,
}
