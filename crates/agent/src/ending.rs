//! How a turn ended.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a turn of an agent ended, as far as its words and its exit code tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    /// It says that it has done what it was asked for. Whether that is so is seen in the repository.
    Finished,
    /// It waits for a person's answer.
    Asked {
        /// What it wants to know.
        question: String,
    },
    /// It did not get to an end of its own.
    Failed {
        /// One sentence for people.
        why: String,
        /// What can be done about it.
        failure: Failure,
    },
}

/// What can be done about a turn that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Failure {
    /// Trying again after a while may well help: a connection, an overloaded model, a program that was killed.
    Transient,
    /// The model's provider asks for patience.
    RateLimited {
        /// For how long, when it said so.
        retry_after_s: Option<u64>,
    },
    /// The model's provider does not know the key, or the key may not do this.
    Authentication,
    /// The money for this is spent, here or at the provider.
    Budget,
    /// The program is not in the sandbox.
    Missing,
    /// The conversation cannot be continued; a new one can be begun.
    Conversation,
    /// Something else; trying the same again would most likely fail the same way.
    Other,
}

impl Failure {
    /// Whether the same turn may be tried again without a person.
    pub fn may_pass(self) -> bool {
        matches!(self, Failure::Transient | Failure::RateLimited { .. } | Failure::Conversation)
    }
}
