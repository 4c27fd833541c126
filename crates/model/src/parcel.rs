//! Parcels: a task on its way to another house, as the first page in its wrapping says it.
//!
//! Absent on purpose: secrets, headers for requests, passwords of proxies, whom it depended on and who wrote it. Numbers
//! and keys are those of one house.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CommitId, TaskId, public::NewTask, task::TaskPhase};

/// How parcels are wrapped today. One that is wrapped otherwise is refused.
pub const WRAPPING: u32 = 1;

/// A task on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parcel {
    /// How it is wrapped: [`WRAPPING`].
    pub carrel_parcel: u32,
    /// What its number was.
    pub number: TaskId,
    /// Where it was.
    pub phase: TaskPhase,
    /// The card.
    pub card: NewTask,
    /// The commit that it began at.
    pub base_commit: Option<CommitId>,
    /// Where its branch was.
    pub head: Option<CommitId>,
    /// What was saved last.
    pub saved: Option<CommitId>,
    /// What was kept when it was closed.
    pub kept: Option<CommitId>,
    /// Its checkpoints.
    pub checkpoints: Vec<CommitId>,
    /// The receiver must have this commit: only what was done since then is in the parcel. Nothing when all is in it.
    pub needs: Option<CommitId>,
    /// Where people looked at its pull request.
    pub pull: Option<String>,
    /// What it has spent, in millionths of a dollar.
    pub spent_micros: i64,
    /// How many turns its agent took.
    pub turns: u32,
    /// The last message that the agent was given.
    pub delivered: i64,
    /// The newest message to the agent.
    pub asked: i64,
    /// When the card was written.
    pub created_at: Timestamp,
    /// When it was last started.
    pub started_at: Option<Timestamp>,
    /// When it was merged or closed.
    pub ended_at: Option<Timestamp>,
}

impl Parcel {
    /// Every commit whose content is in the parcel, each once.
    pub fn commits(&self) -> Vec<CommitId> {
        let mut all: Vec<CommitId> =
            [&self.head, &self.saved, &self.kept].into_iter().flatten().chain(&self.checkpoints).cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    /// The newest of what was done.
    pub fn newest(&self) -> Option<&CommitId> {
        self.saved.as_ref().or(self.head.as_ref()).or(self.kept.as_ref())
    }
}
