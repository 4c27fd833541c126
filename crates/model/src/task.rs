//! Tasks: cards on the board, each a wish for a change in a repository.
//!
//! ```text
//! Backlog ─► Queued ─► Preparing ─► Working ─► Publishing ─► InReview ─► Merged | Closed
//!                          └───────────┴───────────┴─────────────┴──► NeedsYou ─► Working | Closed   (or Failed)
//! ```
//!
//! People write `want`, the keeper writes `phase`. Each step can be repeated: a crash between a step and its fact is
//! harmless.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentId, Branch, CommitId, KeyId, ProviderName, RepoName, SandboxId, SessionId, TaskId,
    area::Claim,
    clock::is_from_the_future,
    number::Whole,
    public::{CheckState, PullPhase, PullView},
    sandbox::{Isolation, Network},
};

/// Where `told` remembers how the budget of a task stands, in a word of `BudgetState`.
pub const BUDGET_MARK: &str = "budget";

/// A task, as its row remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// Where the change is wanted.
    pub repo: RepoName,
    /// In a few words.
    pub title: String,
    /// In as many words as it takes.
    pub prompt: String,
    /// Who does it.
    pub agent: AgentId,
    /// The branch that it begins at and goes back to.
    pub base: Branch,
    /// The commit that it began at.
    pub base_commit: Option<CommitId>,
    /// Its own branch.
    pub branch: Branch,
    /// The higher, the sooner.
    pub priority: i32,
    /// When it is to be done: of those that are equally urgent, who is due sooner begins first.
    #[serde(default)]
    pub due: Option<Timestamp>,
    /// Files and directories that it has claimed, each for a time.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What people stuck on it.
    pub labels: Vec<String>,
    /// What must happen first.
    pub depends_on: Vec<Dependency>,
    /// How strongly its desk is kept apart; the provider's own way when left out.
    pub isolation: Option<Isolation>,
    /// Where its desk is to be made; where desks usually are when left out.
    #[serde(default)]
    pub provider: Option<ProviderName>,
    /// Whom its desk may talk to.
    pub network: Network,
    /// How much may be spent, in millionths of a dollar.
    pub budget_micros: Option<i64>,
    /// Where people want it.
    pub want: TaskWant,
    /// Where it is.
    pub phase: TaskPhase,
    /// Its conversation.
    pub session_id: SessionId,
    /// Its desk.
    pub sandbox_id: Option<SandboxId>,
    /// Where its branch is, as the mirror has it.
    pub head: Option<CommitId>,
    /// How many commits its branch has that the base has not.
    pub ahead: u32,
    /// How many commits the base has that its branch has not.
    pub behind: u32,
    /// Its pull request.
    pub pull: Option<TaskPull>,
    /// With whom it will conflict.
    #[serde(default)]
    pub conflicts: Vec<Conflict>,
    /// Who changes the same files, as far as they merge by themselves.
    #[serde(default)]
    pub shares: Vec<Conflict>,
    /// Why somebody must look.
    pub needs: Option<Needs>,
    /// What it has spent, in millionths of a dollar.
    #[serde(default)]
    pub spent_micros: i64,
    /// That was counted by the house, which carried the questions to the models.
    #[serde(default)]
    pub counted: bool,
    /// What goes on, in a few words.
    #[serde(default)]
    pub doing: Option<String>,
    /// How often it was told that nothing is committed.
    #[serde(default)]
    pub nudges: u32,
    /// How often conflicts went back to its agent.
    #[serde(default)]
    pub rebases: u32,
    /// What the agent was already told, so that it is not told twice: each with the head that it spoke of.
    #[serde(default)]
    pub told: BTreeMap<String, String>,
    /// The task that it is another attempt of.
    #[serde(default)]
    pub fork_of: Option<TaskId>,
    /// The session whose work it goes on with.
    #[serde(default)]
    pub from_session: Option<SessionId>,
    /// What the judge gave it.
    #[serde(default)]
    pub score: Option<f64>,
    /// Who wrote the card.
    pub created_by: KeyId,
    /// When the card was written.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// When it was last started.
    pub started_at: Option<Timestamp>,
    /// When it was merged or closed.
    pub ended_at: Option<Timestamp>,
    /// How often the present step has failed so far.
    #[serde(default)]
    pub attempts: u32,
    /// How many turns in a row broke off. Only a turn that came to its end clears it, or a person: each try goes through
    /// several steps, of which the others may well succeed.
    #[serde(default)]
    pub failures: u32,
    /// When it is tried again.
    #[serde(default)]
    pub next_attempt_at: Option<Timestamp>,
    /// Counts the changes of the row.
    pub revision: i64,
}

/// Where a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPhase {
    /// Written down; nobody was asked to do it.
    Backlog,
    /// It waits for room, or for another task.
    Queued,
    /// Its desk is made.
    Preparing,
    /// The agent works.
    Working,
    /// Its work is committed, pushed, and a pull request is opened.
    Publishing,
    /// People look at its pull request.
    InReview,
    /// It cannot go on without a person, and says why.
    NeedsYou,
    /// It is in the base.
    Merged,
    /// It will not be merged.
    Closed,
    /// It broke beyond repair, and says why.
    Failed,
}

/// Where people want a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskWant {
    /// At rest.
    Rest,
    /// Worked on, up to an open pull request.
    Review,
    /// In the base.
    Merged,
    /// Over.
    Closed,
}

/// Something that must happen before a task starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    /// The other task.
    pub task_id: TaskId,
    /// How far it must be: `merged` when left out.
    #[serde(default)]
    pub until: Until,
}

/// How far another task must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Somebody works on it, or did.
    Started,
    /// It has a pull request.
    InReview,
    /// It is in the base.
    #[default]
    Merged,
}

/// The pull request of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskPull {
    /// Its number.
    pub number: u64,
    /// Where people look at it.
    pub url: String,
    /// Where it is.
    pub phase: PullPhase,
    /// What its checks come to together, when it has any.
    #[serde(default)]
    pub checks: Option<CheckState>,
}

impl From<&PullView> for TaskPull {
    fn from(pull: &PullView) -> TaskPull {
        TaskPull { number: pull.number, url: pull.url.clone(), phase: pull.phase, checks: pull.checks }
    }
}

/// A task with which this one will conflict, or with which it shares files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Conflict {
    /// The other; nothing for the base itself.
    pub task_id: Option<TaskId>,
    /// The paths.
    pub paths: Vec<String>,
}

/// Why somebody must look at a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Needs {
    /// In a word.
    pub reason: NeedsReason,
    /// In a sentence.
    pub detail: String,
}

/// Why somebody must look, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedsReason {
    /// The agent asks something.
    Question,
    /// The agent stopped and nothing is committed.
    NothingChanged,
    /// The agent could not go on.
    AgentFailed,
    /// The desk could not be made, or was lost too often.
    DeskFailed,
    /// The work could not be pushed.
    PushRefused,
    /// The pull request could not be opened or looked at.
    ForgeFailed,
    /// It conflicts, and nobody resolved it.
    Conflict,
    /// The checks fail.
    ChecksFailed,
    /// It spent what it may spend.
    Budget,
    /// It waits for another task that was closed.
    Dependency,
    /// Its repository cannot be worked on.
    Repo,
}

/// A priority from −100 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct Priority(i32);

impl TryFrom<i32> for Priority {
    type Error = &'static str;
    fn try_from(number: i32) -> Result<Self, Self::Error> {
        if (-100..=100).contains(&number) { Ok(Self(number)) } else { Err("a priority is from -100 to 100") }
    }
}

impl From<Priority> for i32 {
    fn from(priority: Priority) -> i32 {
        priority.0
    }
}

/// How many attempts a fork makes.
pub type Attempts = Whole<1, 20>;

impl TaskPhase {
    /// All of them, in the order of a life.
    pub const ALL: [TaskPhase; 10] = [
        TaskPhase::Backlog,
        TaskPhase::Queued,
        TaskPhase::Preparing,
        TaskPhase::Working,
        TaskPhase::Publishing,
        TaskPhase::InReview,
        TaskPhase::NeedsYou,
        TaskPhase::Merged,
        TaskPhase::Closed,
        TaskPhase::Failed,
    ];

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            TaskPhase::Backlog => "backlog",
            TaskPhase::Queued => "queued",
            TaskPhase::Preparing => "preparing",
            TaskPhase::Working => "working",
            TaskPhase::Publishing => "publishing",
            TaskPhase::InReview => "in_review",
            TaskPhase::NeedsYou => "needs_you",
            TaskPhase::Merged => "merged",
            TaskPhase::Closed => "closed",
            TaskPhase::Failed => "failed",
        }
    }

    /// The phase that a word names.
    pub fn from_word(word: &str) -> Option<TaskPhase> {
        TaskPhase::ALL.into_iter().find(|phase| phase.word() == word)
    }

    /// Nothing that people want can move it any more.
    pub fn is_over(self) -> bool {
        matches!(self, TaskPhase::Merged | TaskPhase::Closed)
    }

    /// It takes up room: somebody or something works on it.
    pub fn is_busy(self) -> bool {
        matches!(self, TaskPhase::Preparing | TaskPhase::Working | TaskPhase::Publishing)
    }

    /// It waits for a person: nothing happens by itself.
    pub fn rests(self) -> bool {
        matches!(self, TaskPhase::Backlog | TaskPhase::InReview | TaskPhase::NeedsYou | TaskPhase::Failed)
    }
}

impl TaskWant {
    /// The word used in SQL.
    pub fn word(self) -> &'static str {
        match self {
            TaskWant::Rest => "rest",
            TaskWant::Review => "review",
            TaskWant::Merged => "merged",
            TaskWant::Closed => "closed",
        }
    }
}

impl Until {
    /// Whether a task in this phase is far enough.
    pub fn is_reached(self, phase: TaskPhase) -> bool {
        match self {
            Until::Started => !matches!(phase, TaskPhase::Backlog | TaskPhase::Queued | TaskPhase::Closed),
            Until::InReview => matches!(phase, TaskPhase::InReview | TaskPhase::Merged),
            Until::Merged => phase == TaskPhase::Merged,
        }
    }
}

impl Task {
    /// Whether its work begins at what somebody else saved, and not at its base: all of that is its own.
    pub fn goes_on(&self) -> bool {
        self.fork_of.is_some() || self.from_session.is_some()
    }

    /// Whether a keeper has something to do now.
    pub fn is_due(&self) -> bool {
        match (self.phase, self.want) {
            (TaskPhase::Merged | TaskPhase::Closed, _) => self.sandbox_id.is_some(),
            (_, TaskWant::Closed) => true,
            (phase, TaskWant::Rest) => phase.is_busy() || phase == TaskPhase::Queued,
            (phase, TaskWant::Review) => phase.is_busy(),
            (TaskPhase::InReview, TaskWant::Merged) => true,
            (phase, TaskWant::Merged) => phase.is_busy(),
        }
    }

    /// When a keeper should look again, if nothing else happens.
    pub fn look_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.is_due().then(|| self.next_try(now).map_or(now, |next| next.max(now)))
    }

    /// Until when it rests before it is tried again.
    pub fn next_try(&self, now: Timestamp) -> Option<Timestamp> {
        self.next_attempt_at.filter(|_| !is_from_the_future(self.updated_at, now))
    }

    /// It cannot go on without a person.
    pub fn ask_for_help(&mut self, reason: NeedsReason, detail: impl Into<String>) {
        self.phase = TaskPhase::NeedsYou;
        self.needs = Some(Needs { reason, detail: detail.into() });
        (self.attempts, self.next_attempt_at, self.doing) = (0, None, None);
        if self.want == TaskWant::Merged {
            self.want = TaskWant::Review;
        }
    }

    /// It goes on to another phase.
    pub fn go_to(&mut self, phase: TaskPhase) {
        (self.phase, self.needs, self.attempts, self.next_attempt_at) = (phase, None, 0, None);
        if !phase.is_busy() {
            self.doing = None;
        }
    }
}

/// Whether these edges lead back to where they began: who waits for whom.
pub fn closes_a_circle(edges: &BTreeMap<TaskId, Vec<TaskId>>, from: TaskId) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut open: Vec<TaskId> = edges.get(&from).cloned().unwrap_or_default();
    while let Some(next) = open.pop() {
        if next == from {
            return true;
        }
        if seen.insert(next) {
            open.extend(edges.get(&next).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> TaskId {
        TaskId::try_from(number).unwrap()
    }

    #[test]
    fn who_waits_for_himself_is_found_however_long_the_way() {
        let edges = BTreeMap::from([(id(1), vec![id(2)]), (id(2), vec![id(3), id(4)]), (id(4), vec![id(1)])]);
        assert!(closes_a_circle(&edges, id(1)));
        assert!(closes_a_circle(&edges, id(2)));
        assert!(!closes_a_circle(&edges, id(3)));
    }

    #[test]
    fn another_task_is_far_enough_when_it_is_there_or_past_it() {
        assert!(Until::Started.is_reached(TaskPhase::NeedsYou));
        assert!(!Until::Started.is_reached(TaskPhase::Queued));
        assert!(Until::InReview.is_reached(TaskPhase::Merged));
        assert!(!Until::InReview.is_reached(TaskPhase::Closed), "what was closed gives nobody what they wait for");
        assert!(!Until::Merged.is_reached(TaskPhase::InReview));
    }

    #[test]
    fn every_phase_has_its_word_and_back() {
        for phase in TaskPhase::ALL {
            assert_eq!(TaskPhase::from_word(phase.word()), Some(phase));
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.word());
        }
    }
}
