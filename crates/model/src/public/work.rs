//! Agents, sessions and tasks, as the outside asks for them and sees them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BudgetState, Field, NewNetwork, ask::an_object};
use crate::{
    AgentId, Branch, CommitId, KeyId, ProviderName, RepoName, SandboxId, SessionId, TaskId, TemplateName,
    agent::{Agent, DialectName, Voice},
    area::Claim,
    command::CommandRules,
    number::Whole,
    sandbox::{EnvName, EnvValue, Isolation, Lifetime, MOST_ALLOWED, MOST_HEADERS, Network, NetworkMode},
    session::{Moment, Session, SessionPhase},
    task::{Attempts, BUDGET_MARK, Conflict, Dependency, Needs, Priority, Task, TaskPhase, TaskPull, TaskWant},
};

/// Adds an agent, or changes one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// What people call it.
    pub name: AgentId,
    /// How it is started and read: `shell`, `demo`, `acp`, `claude`, `codex`, `opencode`, …
    pub dialect: DialectName,
    /// What is run, when it is not the dialect's own program. With `shell`: a line for `sh -c` in the working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub env: Option<BTreeMap<EnvName, EnvValue>>,
    /// The model that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its sandboxes start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateName>,
    /// How many of its tasks may work at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 10_000)]
    pub at_once: Option<Whole<1, 10_000>>,
    /// How an agent of dialect `custom` is run and read, as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub phrases: Option<serde_json::Value>,
    /// Whether the tools of its desk are offered to it.
    #[serde(default, skip_serializing_if = "super::view::is_false")]
    pub mcp: bool,
    /// What may be run at its desks when somebody asks for it from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<CommandRules>,
    /// Whom its desks may talk to when a card or a session does not say. Headers name their secrets; no proxy.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub network: Option<NewNetwork>,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// Its name.
    pub name: AgentId,
    /// How it is started and read.
    pub dialect: DialectName,
    /// What it is, in a sentence.
    pub about: String,
    /// What is run, when it is not the dialect's own program.
    pub command: Option<String>,
    /// The names of its environment variables. Their values are never shown.
    pub env_names: Vec<String>,
    /// The model that it asks for.
    pub model: Option<String>,
    /// What its sandboxes start from.
    pub template: Option<TemplateName>,
    /// How many of its tasks may work at the same time.
    #[schema(value_type = Option<u64>)]
    pub at_once: Option<Whole<1, 10_000>>,
    /// How an agent of dialect `custom` is run and read, as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub phrases: Option<serde_json::Value>,
    /// Whether the tools of its desk are offered to it.
    #[serde(default, skip_serializing_if = "super::view::is_false")]
    pub mcp: bool,
    /// What may be run at its desks when somebody asks for it from outside.
    #[serde(default, skip_serializing_if = "CommandRules::is_open")]
    pub commands: CommandRules,
    /// Whom its desks may talk to when a card or a session does not say.
    #[serde(default, skip_serializing_if = "Network::is_none")]
    pub network: Network,
    /// It came with the house.
    pub built_in: bool,
    /// Whether its program is installed on this host.
    pub found: bool,
    /// How to get it, when it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// A recipe for a template with its program in it, on top of `host`; nothing when we do not know how to install it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// It was removed: this entry is the last of it.
    #[serde(default, skip_serializing_if = "super::view::is_false")]
    pub removed: bool,
}

impl AgentView {
    /// How an agent looks from outside, with what its dialect says of itself.
    pub fn of(agent: &Agent, about: String, found: bool, hint: Option<String>) -> AgentView {
        AgentView {
            name: agent.name.clone(),
            dialect: agent.dialect.clone(),
            about,
            command: agent.command.clone(),
            env_names: agent.env.keys().map(|name| name.as_str().to_owned()).collect(),
            model: agent.model.clone(),
            template: agent.template.clone(),
            at_once: agent.at_once,
            phrases: agent.phrases.clone(),
            mcp: agent.mcp,
            commands: agent.commands.clone(),
            network: agent.network.clone(),
            built_in: agent.built_in,
            found,
            hint,
            recipe: None,
            removed: false,
        }
    }
}

/// Begins a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewSession {
    /// Who answers; the house's usual agent when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The repository on the desk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoName>,
    /// What to call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How many seconds nothing may happen before its desk is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 2_592_000)]
    pub idle_s: Option<Lifetime>,
    /// Whatever else belongs to it: at most 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub meta: Option<serde_json::Map<String, serde_json::Value>>,
    /// Whom its desk may talk to.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub network: Option<NewNetwork>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
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
    /// The desk.
    pub sandbox_id: Option<SandboxId>,
    /// The session whose checkpoint it goes on from.
    pub fork_of: Option<SessionId>,
    /// How long nothing may happen before the desk is paused.
    #[schema(value_type = Option<u64>)]
    pub idle_s: Option<Lifetime>,
    /// Whatever else belongs to it.
    #[schema(value_type = Object)]
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// The agent works on an answer, or the session is being closed.
    pub busy: bool,
    /// How many turns there were.
    pub turns: u32,
    /// The place of the newest moment.
    pub last_seq: i64,
    /// What the agent has spent, in dollars.
    pub cost_usd: f64,
    /// Why it is where it is, when that needs a sentence.
    pub note: Option<String>,
    /// Who began it.
    pub created_by: KeyId,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Counts its changes.
    pub revision: i64,
}

impl From<&Session> for SessionView {
    fn from(session: &Session) -> Self {
        SessionView {
            id: session.id.clone(),
            agent: session.agent.clone(),
            repo: session.repo.clone(),
            task_id: session.task_id,
            title: session.title.clone(),
            phase: session.phase,
            sandbox_id: session.sandbox_id.clone(),
            fork_of: session.fork_of.clone(),
            idle_s: session.idle,
            meta: session.meta.clone(),
            busy: session.is_busy(),
            turns: session.turns,
            last_seq: session.last_seq,
            cost_usd: dollars(session.spent_micros),
            note: session.note.clone(),
            created_by: session.created_by.clone(),
            created_at: session.created_at,
            updated_at: session.updated_at,
            revision: session.revision,
        }
    }
}

/// Says something at a desk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMessage {
    /// Who says it: `user` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Voice>,
    /// What: 1 byte to 256 KiB.
    #[schema(min_length = 1, max_length = 262_144)]
    pub text: String,
}

/// Breaks off what the agent is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewInterruption {
    /// What it shall read instead, at once: 1 byte to 256 KiB; nothing when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 262_144)]
    pub text: Option<String>,
}

/// Asks for another session that goes on from a checkpoint of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewSessionFork {
    /// The moment of the timeline to go on from, which is a checkpoint; the newest one when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Another agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What to call it; the same when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Asks for a task that goes on from a checkpoint of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewSessionTask {
    /// The moment of the timeline to go on from, which is a checkpoint; the newest one when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// In a few words: 1 to 200 characters; what the session is called when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub title: Option<String>,
    /// What is left to do; to finish what was begun when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Another agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Begins at once.
    #[serde(skip_serializing_if = "super::view::is_false")]
    pub start: bool,
}

/// A page of a timeline, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    /// The moments.
    pub items: Vec<Moment>,
    /// Where the next page begins; nothing at the end.
    pub next: Option<String>,
}

/// Asks for a change in a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// Where.
    pub repo: RepoName,
    /// In a few words: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub title: String,
    /// In as many words as it takes; the title when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Who does it; the house's usual agent when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The branch that it begins at; the repo's default branch when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Branch>,
    /// Begins at once.
    #[serde(default, skip_serializing_if = "super::view::is_false")]
    pub start: bool,
    /// The higher, the sooner: from -100 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i32>, minimum = -100, maximum = 100)]
    pub priority: Option<Priority>,
    /// When it is to be done: of those that are equally urgent, who is due sooner begins first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub due: Option<Timestamp>,
    /// What to stick on it: at most 32 labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What must happen first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// How strongly its desk is kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Whom its desk may talk to.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub network: Option<NewNetwork>,
    /// How much may be spent, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
}

/// Changes a card; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskChange {
    /// In a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// In as many words as it takes. Only before it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Who does it. Only before it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The higher, the sooner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i32>, minimum = -100, maximum = 100)]
    pub priority: Option<Priority>,
    /// When it is to be done; `null` takes that away.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub due: Option<Option<Timestamp>>,
    /// What to stick on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// What must happen first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<Dependency>>,
    /// The branch that it is merged into.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub base: Option<Branch>,
    /// How much may be spent, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
}

/// Tells `null` from what is left out.
fn said<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<Timestamp>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Asks for other attempts at a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewAttempts {
    /// How many: one when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 20)]
    pub count: Option<Attempts>,
    /// The moment of the timeline to begin at, which is a checkpoint; the base when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Another agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
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
    /// When it is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub due: Option<Timestamp>,
    /// What people stuck on it.
    pub labels: Vec<String>,
    /// What must happen first.
    pub depends_on: Vec<Dependency>,
    /// How strongly its desk is kept apart, when somebody said so.
    pub isolation: Option<Isolation>,
    /// Where its desk is made, when it was moved there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// Whom its desk may talk to.
    pub network: Network,
    /// How much may be spent, in dollars.
    pub budget_usd: Option<f64>,
    /// Its budget is nearly spent, or spent; nothing while enough is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_state: Option<BudgetState>,
    /// Where people want it.
    pub want: TaskWant,
    /// Where it is.
    pub phase: TaskPhase,
    /// Its conversation.
    pub session_id: SessionId,
    /// Its desk.
    pub sandbox_id: Option<SandboxId>,
    /// Where its branch is.
    pub head: Option<CommitId>,
    /// How many commits its branch has that the base has not.
    pub ahead: u32,
    /// How many commits the base has that its branch has not.
    pub behind: u32,
    /// Its pull request.
    pub pull: Option<TaskPull>,
    /// With whom it will conflict.
    pub conflicts: Vec<Conflict>,
    /// Who changes the same files, as far as they merge by themselves; at most twenty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Conflict>,
    /// Files and directories that it has claimed, each until a moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Why somebody must look.
    pub needs: Option<Needs>,
    /// What it has spent, in dollars.
    pub cost_usd: f64,
    /// What goes on, in a few words.
    pub doing: Option<String>,
    /// The task that it is another attempt of.
    pub fork_of: Option<TaskId>,
    /// The session whose work it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_session: Option<SessionId>,
    /// What the judge gave it.
    pub score: Option<f64>,
    /// Who wrote the card.
    pub created_by: KeyId,
    /// When the card was written.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// When it was last started.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it was merged or closed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// How often in a row the present step, or a turn of the agent, has failed so far.
    pub attempts: u32,
    /// When it is tried again.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_attempt_at: Option<Timestamp>,
    /// Counts its changes.
    pub revision: i64,
}

impl From<&Task> for TaskView {
    fn from(task: &Task) -> Self {
        TaskView {
            id: task.id,
            repo: task.repo.clone(),
            title: task.title.clone(),
            prompt: task.prompt.clone(),
            agent: task.agent.clone(),
            base: task.base.clone(),
            base_commit: task.base_commit.clone(),
            branch: task.branch.clone(),
            priority: task.priority,
            due: task.due,
            labels: task.labels.clone(),
            depends_on: task.depends_on.clone(),
            isolation: task.isolation,
            provider: task.provider.clone(),
            network: task.network.clone(),
            budget_usd: task.budget_micros.map(dollars),
            budget_state: task.told.get(BUDGET_MARK).and_then(|word| BudgetState::from_word(word)),
            want: task.want,
            phase: task.phase,
            session_id: task.session_id.clone(),
            sandbox_id: task.sandbox_id.clone(),
            head: task.head.clone(),
            ahead: task.ahead,
            behind: task.behind,
            pull: task.pull.clone(),
            conflicts: task.conflicts.clone(),
            shares: task.shares.clone(),
            claims: task.claims.clone(),
            needs: task.needs.clone(),
            cost_usd: dollars(task.spent_micros),
            doing: task.doing.clone(),
            fork_of: task.fork_of,
            from_session: task.from_session.clone(),
            score: task.score,
            created_by: task.created_by.clone(),
            created_at: task.created_at,
            updated_at: task.updated_at,
            started_at: task.started_at,
            ended_at: task.ended_at,
            attempts: task.attempts.max(task.failures),
            next_attempt_at: task.next_attempt_at,
            revision: task.revision,
        }
    }
}

/// A page of tasks, and the place in the journal from which on changes to them are told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    /// The tasks.
    pub items: Vec<TaskView>,
    /// Where the next page begins; nothing at the end.
    pub next: Option<String>,
    /// What changes later is an entry after this one.
    pub as_of: super::Cursor,
}

fn dollars(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// Millionths of a dollar, of an amount that makes sense.
pub fn micros(dollars: f64) -> Option<i64> {
    (dollars.is_finite() && (0.0..=1e6).contains(&dollars)).then(|| (dollars * 1e6).round() as i64)
}

impl NewNetwork {
    /// The same as a rule of a repository or an agent, which is shown: what is secret in it is named, not written.
    pub fn rule(self) -> Result<Network, Vec<Field>> {
        let wrong = |field: &str, detail: &str| vec![Field { field: field.into(), detail: detail.into() }];
        if self.proxy.is_some() {
            return Err(wrong("network.proxy", "a proxy is said with each card or session"));
        }
        let is_open = |text: &&crate::sandbox::HeaderText| !text.as_str().contains("${");
        if self.headers.values().flat_map(BTreeMap::values).any(|text| is_open(&text)) {
            let detail = "a header of a rule names its secret: `${e2b.secrets.NAME}`";
            return Err(wrong("network.headers", detail));
        }
        self.policy()
    }

    /// The policy that is asked for, or what is wrong with it.
    pub fn policy(self) -> Result<Network, Vec<Field>> {
        let mut wrong = Vec::new();
        let mut complain = |field: &str, detail: String| wrong.push(Field { field: field.into(), detail });
        let denies = self.mode == NetworkMode::Open && !self.deny.is_empty();
        if self.mode != NetworkMode::Allow && !denies && !self.allow.is_empty() {
            complain("network.allow", "a list of hosts goes with the mode `allow`, or with `deny`".into());
        }
        if self.mode != NetworkMode::Open && !self.deny.is_empty() {
            complain("network.deny", "a list of denied addresses goes with the mode `open` only".into());
        }
        if self.interface && denies {
            complain("network.deny", "whoever has an interface of its own cannot be denied addresses".into());
        }
        if self.deny.len() > MOST_ALLOWED {
            complain("network.deny", format!("at most {MOST_ALLOWED} ranges; there are {}", self.deny.len()));
        }
        if self.interface && self.mode != NetworkMode::Open {
            complain("network.interface", "an interface of its own goes with the mode `open` only".into());
        }
        if self.allow.len() > MOST_ALLOWED {
            complain("network.allow", format!("at most {MOST_ALLOWED} hosts; there are {}", self.allow.len()));
        }
        let (hosts, each) = MOST_HEADERS;
        if self.headers.len() > hosts || self.headers.values().any(|headers| headers.len() > each) {
            complain("network.headers", format!("at most {hosts} hosts with {each} headers each"));
        }
        if self.headers.keys().any(|host| host.as_str().contains([':', '/'])) {
            complain("network.headers", "headers are for a host, without a port".into());
        }
        if self.interface && !self.headers.is_empty() {
            complain("network.headers", "what leaves by an interface of its own passes no proxy".into());
        }
        if self.interface && self.proxy.is_some() {
            complain("network.proxy", "what leaves by an interface of its own passes no proxy".into());
        }
        if self.proxy.as_ref().is_some_and(|proxy| proxy.password.is_some() && proxy.username.is_none()) {
            complain("network.proxy", "a password goes with a username".into());
        }
        if wrong.is_empty() {
            Ok(Network {
                mode: self.mode,
                allow: self.allow,
                deny: self.deny,
                headers: self.headers,
                interface: self.interface,
                proxy: self.proxy,
            })
        } else {
            Err(wrong)
        }
    }
}

impl NewTask {
    /// What is wrong with it, field by field.
    pub fn check(&self) -> Result<(), Vec<Field>> {
        let mut wrong = Vec::new();
        check_card(Some(&self.title), self.prompt.as_deref(), Some(&self.labels), self.budget_usd, &mut wrong);
        if self.depends_on.len() > 64 {
            wrong.push(Field { field: "depends_on".into(), detail: "at most 64".into() });
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

impl TaskChange {
    /// What is wrong with it, field by field.
    pub fn check(&self) -> Result<(), Vec<Field>> {
        let mut wrong = Vec::new();
        let labels = self.labels.as_deref();
        check_card(self.title.as_deref(), self.prompt.as_deref(), labels, self.budget_usd, &mut wrong);
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

fn check_card(
    title: Option<&str>,
    prompt: Option<&str>,
    labels: Option<&[String]>,
    budget: Option<f64>,
    wrong: &mut Vec<Field>,
) {
    let mut complain = |field: &str, detail: &str| wrong.push(Field { field: field.into(), detail: detail.into() });
    let is_title = |title: &str| {
        !title.trim().is_empty() && title.chars().count() <= 200 && !title.contains(|letter: char| letter.is_control())
    };
    if title.is_some_and(|title| !is_title(title)) {
        complain("title", "1 to 200 characters on one line");
    }
    if prompt.is_some_and(|prompt| prompt.trim().is_empty() || prompt.len() > 262_144 || prompt.contains('\0')) {
        complain("prompt", "1 byte to 256 KiB, without NUL");
    }
    let is_label =
        |label: &String| (1..=50).contains(&label.chars().count()) && !label.contains(|c: char| c.is_control());
    if labels.is_some_and(|labels| labels.len() > 32 || !labels.iter().all(is_label)) {
        complain("labels", "at most 32, each of 1 to 50 characters");
    }
    if budget.is_some_and(|budget| micros(budget).is_none()) {
        complain("budget_usd", "dollars, from 0 to 1000000");
    }
}

/// Where a task is to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMove {
    /// The provider.
    pub provider: ProviderName,
}
