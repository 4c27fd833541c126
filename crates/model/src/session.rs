//! Sessions: a conversation between a person and an agent at one desk.
//!
//! ```text
//! Open ◄─► Idle (its sandbox is paused) ─► Closed
//! ```

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentId, Branch, CommitId, ExecId, KeyId, NodeId, ProviderName, RepoName, SandboxId, SessionId, TaskId,
    TemplateName,
    agent::Voice,
    sandbox::{Isolation, Lifetime, Network, Phase},
};

/// A session, as its row remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// Who answers.
    pub agent: AgentId,
    /// The repository on the desk.
    pub repo: Option<RepoName>,
    /// The task whose conversation this is.
    pub task_id: Option<TaskId>,
    /// What people call it.
    pub title: String,
    /// Where it is.
    pub phase: SessionPhase,
    /// The desk. It stays the same for life, unless it was lost and made anew.
    pub sandbox_id: Option<SandboxId>,
    /// How long nothing may happen before the desk is paused.
    pub idle: Option<Lifetime>,
    /// Whom the desk may talk to.
    #[serde(default)]
    pub network: Network,
    /// Whatever else belongs to it.
    #[serde(default)]
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// The session whose checkpoint it goes on from.
    #[serde(default)]
    pub fork_of: Option<SessionId>,
    /// The commit that its work began at.
    #[serde(default)]
    pub base_commit: Option<CommitId>,
    /// What the agent calls this conversation, so that it can go on with it.
    #[serde(default)]
    pub conversation: Option<String>,
    /// The turn in flight.
    #[serde(default)]
    pub turn: Option<Turn>,
    /// The turn that somebody wants broken off, by its number.
    #[serde(default)]
    pub unwanted: Option<u32>,
    /// How many turns there were.
    #[serde(default)]
    pub turns: u32,
    /// The last moment that was written down.
    #[serde(default)]
    pub last_seq: i64,
    /// The last message that the agent was given.
    #[serde(default)]
    pub delivered: i64,
    /// The newest message of a person or the house to the agent.
    #[serde(default)]
    pub asked: i64,
    /// What was spent, in millionths of a dollar: as the house counted it, or as the agent says itself.
    #[serde(default)]
    pub spent_micros: i64,
    /// That was counted by the house, which carried the questions to the models; what the agent says is not added.
    #[serde(default)]
    pub counted: bool,
    /// The newest save of its work.
    #[serde(default)]
    pub saved: Option<CommitId>,
    /// The desk that has its work: it began there, or what was saved was laid on it.
    #[serde(default)]
    pub laid: Option<SandboxId>,
    /// Files that are too large to be saved, as far as the timeline says so.
    #[serde(default)]
    pub unsaved: Vec<String>,
    /// How its desk was left when it fell asleep, until it wakes.
    #[serde(default)]
    pub left: Option<Left>,
    /// Somebody wants it closed; what was done is kept first.
    #[serde(default)]
    pub closing: bool,
    /// Why it is where it is, when that needs a sentence.
    #[serde(default)]
    pub note: Option<String>,
    /// Who began it.
    pub created_by: KeyId,
    /// When it began.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// Counts the changes of the row.
    pub revision: i64,
}

impl Session {
    /// Whether the agent has something to answer.
    pub fn is_asked(&self) -> bool {
        self.asked > self.delivered
    }

    /// Whether something is left to do in it: an answer, a turn, or its end.
    pub fn is_busy(&self) -> bool {
        self.phase != SessionPhase::Closed && (self.is_asked() || self.turn.is_some() || self.closing)
    }

    /// Whether nobody wants the turn in flight any more: it is to be broken off, or the session to be closed.
    pub fn is_unwanted(&self) -> bool {
        let broken_off = self.turn.as_ref().is_some_and(|turn| self.unwanted == Some(turn.number));
        self.closing || self.phase == SessionPhase::Closed || broken_off
    }
}

/// How a desk was left: what it must come back with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The desk.
    pub sandbox: SandboxId,
    /// The branch that was checked out, unless none was.
    pub branch: Option<Branch>,
    /// The commit that was checked out.
    pub head: CommitId,
}

/// A turn of an agent, while it is in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Counted from one.
    pub number: u32,
    /// Answers the messages up to this one.
    pub upto: i64,
    /// What runs it. Drawn before it begins, so that it is found whatever dies.
    pub exec: ExecId,
    /// It was begun: its transcript is there, or was.
    pub begun: bool,
    /// How many of its moments are written down.
    pub moments: u32,
    /// The moment that is still being said.
    #[serde(default)]
    pub growing: Option<Growing>,
    /// Which node reads it. Whoever read it before writes nothing down any more.
    #[serde(default)]
    pub node: Option<NodeId>,
    /// When it was planned.
    pub at: Timestamp,
}

/// A moment that is on the timeline while it is still being said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growing {
    /// Its place.
    pub seq: i64,
    /// When it began.
    pub at: Timestamp,
}

/// Where a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionPhase {
    /// Somebody can say something.
    Open,
    /// Its desk is paused; the next word wakes it.
    Idle,
    /// It is over.
    Closed,
}

impl SessionPhase {
    /// All of them.
    pub const ALL: [SessionPhase; 3] = [SessionPhase::Open, SessionPhase::Idle, SessionPhase::Closed];

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            SessionPhase::Open => "open",
            SessionPhase::Idle => "idle",
            SessionPhase::Closed => "closed",
        }
    }

    /// The phase that a word names.
    pub fn from_word(word: &str) -> Option<SessionPhase> {
        SessionPhase::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

/// One thing that was said or done at a desk: a line of its timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Moment {
    /// Its place, counted from one without a gap.
    pub seq: i64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The turn that it belongs to; 0 before the first.
    pub turn: u32,
    /// What it is.
    pub kind: MomentKind,
    /// Whose it is.
    pub role: Voice,
    /// What was said, or a sentence about what was done.
    pub text: String,
    /// It is still being said: the same place is told again, with more of it, and at last without this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// The tool, for those of kind `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolUse>,
    /// The commit in which the desk was saved, for checkpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The paths that are different since the checkpoint before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What was spent up to here, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The desk as it then was, for checkpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desk: Option<DeskState>,
}

/// A desk at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeskState {
    /// Which sandbox it was.
    pub sandbox_id: SandboxId,
    /// Where it was in its life.
    pub phase: Phase,
    /// Where it lived.
    pub provider: ProviderName,
    /// What it started from.
    pub template: TemplateName,
    /// How strongly it was kept apart.
    pub isolation: Isolation,
}

/// What a moment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MomentKind {
    /// Something was said.
    Message,
    /// Something was thought aloud.
    Thought,
    /// A tool was used.
    Tool,
    /// A person is asked.
    Question,
    /// The work was saved.
    Checkpoint,
    /// Something happened.
    Note,
}

impl MomentKind {
    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            MomentKind::Message => "message",
            MomentKind::Thought => "thought",
            MomentKind::Tool => "tool",
            MomentKind::Question => "question",
            MomentKind::Checkpoint => "checkpoint",
            MomentKind::Note => "note",
        }
    }
}

/// A tool that an agent used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolUse {
    /// What the agent calls this use of it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// In a few words.
    pub title: String,
    /// What it was given.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub input: serde_json::Value,
    /// What it gave; nothing while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether it worked; nothing while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
}
