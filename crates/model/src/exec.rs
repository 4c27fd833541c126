//! Execs: commands in a sandbox, as their rows remember them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ExecId, KeyId, NodeId, SandboxId};

/// A command in a sandbox. What it prints is in the transcript of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// Its name, for good; also the tag its process is found by.
    pub id: ExecId,
    /// Where it runs.
    pub sandbox: SandboxId,
    /// What was asked for, as it is shown.
    pub command: String,
    /// As whom, when somebody was named.
    pub user: Option<String>,
    /// Where, when a folder was named.
    pub cwd: Option<String>,
    /// Whether nobody waits for it.
    pub background: bool,
    /// Whether it has a terminal.
    pub terminal: bool,
    /// The number of its process inside, once it runs.
    pub pid: Option<u32>,
    /// How it stands.
    pub status: ExecStatus,
    /// How it ended, as shells count.
    pub exit_code: Option<i32>,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// How it ended, in a word or two.
    pub note: Option<String>,
    /// Who asked for it.
    pub created_by: KeyId,
    /// The node that follows it.
    pub node: NodeId,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended, or was lost.
    pub ended_at: Option<Timestamp>,
}

/// How an exec stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecStatus {
    /// It runs.
    Running,
    /// It ended, and its end was seen.
    Ended,
    /// Its end was not seen: its sandbox went, or nobody was there to look.
    Lost,
}

impl ExecStatus {
    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            ExecStatus::Running => "running",
            ExecStatus::Ended => "ended",
            ExecStatus::Lost => "lost",
        }
    }

    /// The status that a word names.
    pub fn from_word(word: &str) -> Option<ExecStatus> {
        [ExecStatus::Running, ExecStatus::Ended, ExecStatus::Lost].into_iter().find(|status| status.word() == word)
    }
}

impl Exec {
    /// Its process ended by itself, or by a signal.
    pub fn end(&mut self, exit_code: i32, note: String, now: Timestamp) {
        self.status = ExecStatus::Ended;
        self.exit_code = Some(exit_code);
        self.note = Some(note);
        self.ended_at = Some(now);
    }

    /// Its time was up. The code is the one that `timeout` has for it.
    pub fn time_out(&mut self, now: Timestamp) {
        self.end(124, "its time was up".into(), now);
        self.timed_out = true;
    }

    /// Its end was not seen.
    pub fn lose(&mut self, why: String, now: Timestamp) {
        self.status = ExecStatus::Lost;
        self.note = Some(why);
        self.ended_at = Some(now);
    }
}
