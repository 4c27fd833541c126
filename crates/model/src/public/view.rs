//! How things look from outside.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Cursor, Executed};
use crate::{
    AgentId, Grant, KeyId, NodeId, ProviderName, RepoName, Role, SandboxId, TaskId, TemplateName,
    audit::{AuditLine, Outcome},
    breaker::{Breaker, State},
    key::Key,
    sandbox::{
        AtEnd, Depth, Ended, Isolation, Limits, Network, Phase, PortAccess, PortHost, Sandbox, VolumeMount, Want,
    },
};

/// A sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxView {
    /// Its name, for good.
    pub id: SandboxId,
    /// Where it is.
    pub phase: Phase,
    /// Where people want it.
    pub want: Want,
    /// Where it is, in four words known from elsewhere, and `starting`.
    pub status: Status,
    /// Why it is where it is, when that needs a sentence.
    pub note: Option<String>,
    /// What it starts from.
    pub template: TemplateName,
    /// Where it lives.
    pub provider: ProviderName,
    /// The server that it lives on; absent where it lives on none of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// How strongly it is kept apart.
    pub isolation: Isolation,
    /// The agent it belongs to.
    pub agent_id: Option<AgentId>,
    /// The task it belongs to.
    pub task_id: Option<TaskId>,
    /// The repository that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoName>,
    /// The names of its environment variables. Their values are never shown.
    pub env_names: Vec<String>,
    /// What the user wrote on it.
    pub metadata: BTreeMap<String, String>,
    /// How much it may use.
    pub limits: Limits,
    /// Whom it may talk to.
    pub network: Network,
    /// How long it lives after it was asked for, resumed or extended.
    pub timeout_s: u64,
    /// Whether it is paused, not ended, when its lifetime has passed.
    pub auto_pause: bool,
    /// The key that asked for it.
    pub created_by: KeyId,
    /// When it was asked for.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// When it was first ready.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ready_at: Option<Timestamp>,
    /// When its lifetime has passed; absent once it is over.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Whether it comes back by itself when somebody wants something inside.
    #[serde(default, skip_serializing_if = "is_false")]
    pub auto_resume: bool,
    /// It is paused when nothing was active for so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<u64>,
    /// When it counts as idle, if nothing happens until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub idle_at: Option<Timestamp>,
    /// Who may call its ports by its own host name, when not only those with a key.
    #[serde(default, skip_serializing_if = "PortAccess::is_usual")]
    pub ports: PortAccess,
    /// The host that requests to its ports name, as they arrive inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_host: Option<PortHost>,
    /// The ports on which what listens inside speaks TLS itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tls_ports: Vec<u16>,
    /// The volumes that are mounted in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeMount>,
    /// How it sleeps, while it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PausedView>,
    /// Who ended it.
    pub ended: Option<EndedView>,
    /// How often the present step has failed so far.
    pub attempts: u32,
    /// When it is tried again.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_attempt_at: Option<Timestamp>,
    /// Counts its changes: of two views, the one with the higher number is newer.
    pub revision: i64,
}

/// How a paused sandbox sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PausedView {
    /// How deep it sleeps.
    pub depth: Depth,
    /// How deep people want it to sleep. Where that cannot be had, `depth` stays less.
    pub wanted: Depth,
}

/// One sandbox with what only a look at it alone tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxDetail {
    /// The sandbox.
    #[serde(flatten)]
    #[schema(value_type = SandboxView)]
    pub sandbox: Arc<SandboxView>,
    /// What its provider could not give it on this host, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitness: Vec<String>,
}

/// A sandbox that was asked for, with how its first command went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxCreated {
    /// The sandbox.
    #[serde(flatten)]
    #[schema(value_type = SandboxView)]
    pub sandbox: Arc<SandboxView>,
    /// How the command went that was asked for together with it. Absent when none was, when the sandbox is not ready in
    /// time, and when the request was made before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Executed>,
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// Where a sandbox is, in words known from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not ready yet.
    Starting,
    /// It works.
    Running,
    /// Frozen.
    Paused,
    /// It broke.
    Error,
    /// It ended, or is about to.
    Stopped,
}

/// Who ended a sandbox, why and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndedView {
    /// A key id, or `lifetime`.
    pub by: String,
    /// A sentence.
    pub why: String,
    /// The moment.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

impl From<&Sandbox> for SandboxView {
    fn from(sandbox: &Sandbox) -> Self {
        let spec = &sandbox.spec;
        SandboxView {
            id: sandbox.id.clone(),
            phase: sandbox.phase,
            want: sandbox.want,
            status: sandbox.phase.into(),
            note: sandbox.note.clone(),
            template: spec.template.clone(),
            provider: spec.provider.clone(),
            node: sandbox.home.clone(),
            isolation: spec.isolation,
            agent_id: spec.agent_id.clone(),
            task_id: spec.task_id,
            repo: spec.repo.clone(),
            env_names: spec.env.keys().map(|name| name.as_str().to_owned()).collect(),
            metadata: spec.metadata.entries().clone(),
            limits: spec.limits,
            network: spec.network.shown(),
            timeout_s: spec.lifetime.get(),
            auto_pause: spec.at_end == AtEnd::Pause,
            created_by: sandbox.created_by.clone(),
            created_at: sandbox.created_at,
            updated_at: sandbox.updated_at,
            ready_at: sandbox.ready_at,
            expires_at: (!sandbox.phase.is_over()).then_some(sandbox.expires_at),
            auto_resume: sandbox.manners.auto_resume,
            idle_s: sandbox.manners.idle.map(|idle| idle.get()),
            idle_at: sandbox.idle_at.filter(|_| !sandbox.phase.is_over()),
            ports: spec.ports,
            port_host: spec.port_host.clone(),
            tls_ports: spec.tls_ports.clone(),
            volumes: spec.volumes.clone(),
            paused: sandbox
                .sleep
                .filter(|_| sandbox.phase == Phase::Paused)
                .map(|sleep| PausedView { depth: sleep.reached, wanted: sandbox.depth }),
            ended: sandbox.ended.as_ref().map(EndedView::from),
            attempts: sandbox.attempts,
            next_attempt_at: sandbox.next_attempt_at,
            revision: sandbox.revision,
        }
    }
}

impl From<&Ended> for EndedView {
    fn from(ended: &Ended) -> Self {
        EndedView { by: ended.by.clone(), why: ended.why.clone(), at: ended.at }
    }
}

impl From<Phase> for Status {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Requested | Phase::Preparing => Status::Starting,
            Phase::Ready => Status::Running,
            Phase::Paused => Status::Paused,
            Phase::Failed => Status::Error,
            Phase::Closing | Phase::Gone => Status::Stopped,
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Asks for the next page, when there is one.
    pub next: Option<String>,
}

/// A page of sandboxes, with the place in the journal to follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxPage {
    /// What is on it, newest first.
    pub items: Vec<SandboxView>,
    /// Asks for the next page, when there is one.
    pub next: Option<String>,
    /// Follow the events after this cursor and nothing is missed.
    pub as_of: Cursor,
}

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderView {
    /// Its name.
    pub name: ProviderName,
    /// The levels of isolation it offers.
    pub isolation: Vec<Isolation>,
    /// The templates it knows.
    pub templates: Vec<TemplateName>,
    /// What it can do beyond create and destroy.
    pub abilities: Vec<String>,
    /// `node` when its sandboxes live on one node, `anywhere` when every node reaches them.
    pub reach: String,
    /// What is missing for more, as sentences.
    pub missing: Vec<String>,
    /// Whether it is asked at all.
    pub breaker: BreakerView,
}

/// A provider's circuit breaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BreakerView {
    /// How it stands.
    pub state: BreakerState,
    /// Failures in a row so far.
    pub failures: u32,
    /// When it is tried again.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub retry_at: Option<Timestamp>,
    /// What the last failure said.
    pub last_error: Option<String>,
}

/// How a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Everything passes.
    Closed,
    /// Nothing passes for a while.
    Open,
    /// One trial is out.
    HalfOpen,
}

impl From<&Breaker> for BreakerView {
    fn from(breaker: &Breaker) -> Self {
        let (state, retry_at) = match breaker.state() {
            State::Closed => (BreakerState::Closed, None),
            State::Open(until) => (BreakerState::Open, Some(until)),
            State::HalfOpen(until) => (BreakerState::HalfOpen, Some(until)),
        };
        let last_error = breaker.last_error().map(str::to_owned);
        BreakerView { state, failures: breaker.failures(), retry_at, last_error }
    }
}

/// A key. Its secret is shown once, when it is minted or rotated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// Its name, for good.
    pub id: KeyId,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The agent it is bound to.
    pub agent_id: Option<AgentId>,
    /// The sandbox it is bound to.
    pub sandbox_id: Option<SandboxId>,
    /// The beginning of its secret.
    pub prefix: String,
    /// When it was minted.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Who minted it; nobody minted the first.
    pub created_by: Option<KeyId>,
    /// When it was last shown, to the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
    /// From when on it is void.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// When it was ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
    /// Counts its changes.
    pub revision: i64,
}

impl From<&Key> for KeyView {
    fn from(key: &Key) -> Self {
        KeyView {
            id: key.id.clone(),
            name: key.name.clone(),
            role: key.authority.role(),
            agent_id: key.authority.agent().cloned(),
            sandbox_id: key.authority.sandbox().cloned(),
            prefix: key.prefix.clone(),
            created_at: key.created_at,
            created_by: key.created_by.clone(),
            last_used_at: key.last_used_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            revision: key.revision,
        }
    }
}

/// A key with its secret: the only time it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Minted {
    /// The key.
    pub key: KeyView,
    /// Its secret, `crl_` and 40 hexadecimal digits. Absent when the request was repeated: it was shown the first time.
    pub secret: Option<String>,
}

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bearer {
    /// The key that was shown.
    pub key_id: KeyId,
    /// Its name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The agent it is bound to.
    pub agent_id: Option<AgentId>,
    /// The sandbox it is bound to.
    pub sandbox_id: Option<SandboxId>,
}

impl From<&Grant> for Bearer {
    fn from(grant: &Grant) -> Self {
        Bearer {
            key_id: grant.key.clone(),
            name: grant.name.clone(),
            role: grant.authority.role(),
            agent_id: grant.authority.agent().cloned(),
            sandbox_id: grant.authority.sandbox().cloned(),
        }
    }
}

/// The answer to a sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignedIn {
    /// Who is signed in now.
    pub bearer: Bearer,
}

/// One line of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    /// Its number.
    pub id: i64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What, such as `sandbox.create`.
    pub action: String,
    /// To what.
    pub subject: Option<String>,
    /// From where.
    pub origin: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// More, when there is more to say.
    pub detail: Option<String>,
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Actor {
    /// The key, when it was known.
    pub key_id: Option<KeyId>,
    /// Its name, or `nobody`, or `carrel`.
    pub name: String,
    /// Its role, when it was known.
    pub role: Option<Role>,
}

impl AuditView {
    /// A line with its number.
    pub fn new(id: i64, line: AuditLine) -> Self {
        AuditView {
            id,
            at: line.at,
            actor: Actor { key_id: line.key, name: line.name, role: line.role },
            action: line.action,
            subject: line.subject,
            origin: line.origin,
            outcome: line.outcome,
            detail: line.detail,
        }
    }
}

/// Whether the server can work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadinessView {
    /// In one word.
    pub status: Readiness,
    /// The database: `ok`, or what is wrong with it.
    pub database: String,
    /// The providers and their breakers.
    pub providers: Vec<ProviderView>,
}

/// Whether the server can work, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// Yes.
    Ready,
    /// Yes, but a provider is not asked at present.
    Degraded,
    /// It is about to end.
    Draining,
    /// No.
    Unavailable,
}
