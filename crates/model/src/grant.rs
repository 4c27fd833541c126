//! Grants: who asks, and what that covers. Every verb of `control` takes one first.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentId, KeyId, RepoName, SandboxId, SecretName, SessionId, TaskId, TemplateName, sandbox::Sandbox,
    session::Session, task::Task,
};

/// What a bearer may do, once its key was believed. Between nodes it travels in the key's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The key that was shown.
    pub key: KeyId,
    /// The key's name, for sentences.
    pub name: String,
    /// What it may do.
    pub authority: Authority,
    /// Where the request came from.
    pub origin: Option<String>,
}

/// A role together with what it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// Everything.
    Admin,
    /// All the work, but neither keys nor the audit.
    Member,
    /// Its own sandboxes and tasks.
    Agent(AgentId),
    /// Its own branch and gateway.
    Sandbox(SandboxId),
}

/// The name of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Admin,
    /// All the work, but neither keys nor the audit.
    Member,
    /// Only its own sandboxes and tasks.
    Agent,
    /// Only its own branch and gateway.
    Sandbox,
}

/// What is asked for. The word is what the audit remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Ask for a sandbox.
    SandboxCreate,
    /// Look at a sandbox.
    SandboxRead,
    /// Freeze one.
    SandboxPause,
    /// Thaw one.
    SandboxResume,
    /// Change how long one lives.
    SandboxTimeout,
    /// Change whom one may talk to.
    SandboxNetwork,
    /// End one.
    SandboxDestroy,
    /// Run a command in one.
    SandboxExec,
    /// Read files in one.
    SandboxFilesRead,
    /// Write or remove files in one.
    SandboxFilesWrite,
    /// Sit down at a terminal in one.
    SandboxTerminal,
    /// Reach a port that something inside listens on.
    SandboxPort,
    /// See what one uses.
    SandboxStats,
    /// Keep one as it is now, as a template.
    SandboxSnapshot,
    /// Make copies of one.
    SandboxFork,
    /// Look at volumes, read and write them, and mount them.
    VolumeUse,
    /// Make a volume.
    VolumeMake,
    /// Remove a volume and all that is in it.
    VolumeRemove,
    /// Look at templates.
    TemplateRead,
    /// Make a template.
    TemplateMake,
    /// Forget a template.
    TemplateRemove,
    /// Look at repositories and fetch from them.
    RepoRead,
    /// Add a repository.
    RepoAdd,
    /// Change what is wanted of one.
    RepoChange,
    /// Bring one up to date.
    RepoSync,
    /// Push to one.
    RepoPush,
    /// Remove one.
    RepoRemove,
    /// Look at agents.
    AgentRead,
    /// Add or change an agent.
    AgentAdd,
    /// Remove an agent.
    AgentRemove,
    /// Begin a session.
    SessionCreate,
    /// Look at a session.
    SessionRead,
    /// Say something in one.
    SessionMessage,
    /// Pause, resume or close one.
    SessionDrive,
    /// Write a card.
    TaskCreate,
    /// Look at a task.
    TaskRead,
    /// Say something to the agent of one.
    TaskMessage,
    /// Change, start, stop, retry, rebase or fork one.
    TaskDrive,
    /// Report on one: claim areas, ask a person, see what is missing.
    TaskReport,
    /// Merge one.
    TaskMerge,
    /// Close one.
    TaskClose,
    /// Say something at a pull request, judge it, close it or open it again.
    PullTalk,
    /// Merge a pull request.
    PullMerge,
    /// Look at the providers.
    ProviderRead,
    /// Follow the journal; what is not covered is left out.
    EventsFollow,
    /// Mint a key.
    KeyCreate,
    /// Look at keys.
    KeyRead,
    /// Give a key another name or role, or its holder a way in.
    KeyChange,
    /// Give a key a new secret.
    KeyRotate,
    /// End a key.
    KeyRevoke,
    /// Look at the names of secrets.
    SecretRead,
    /// Set a secret.
    SecretSet,
    /// Remove a secret.
    SecretRemove,
    /// Look at hooks.
    HookRead,
    /// Add, try, replay or remove a hook.
    HookWrite,
    /// Look at the nodes.
    NodeRead,
    /// Drain a node, or forget one that is gone.
    NodeDrive,
    /// Read the audit.
    AuditRead,
    /// Carry out what nobody needs any more.
    HousePrune,
    /// Ask a model, with a key of the house.
    ModelUse,
    /// See what models were used for, and what it cost.
    UsageRead,
    /// Make a link that signs a browser in as the bearer.
    SignInLink,
}

/// What it is asked of.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// The house as a whole.
    House,
    /// A sandbox that exists, or is about to.
    Sandbox {
        /// Its id, when it has one already.
        id: Option<&'a SandboxId>,
        /// The agent it belongs to.
        agent: Option<&'a AgentId>,
    },
    /// A key.
    Key(&'a KeyId),
    /// A template.
    Template(&'a TemplateName),
    /// A secret.
    Secret(&'a SecretName),
    /// A repository.
    Repo(&'a RepoName),
    /// A named way to run an agent.
    Agent(&'a AgentId),
    /// A session that exists, or is about to.
    Session {
        /// Its id, when it has one already.
        id: Option<&'a SessionId>,
        /// Who answers.
        agent: &'a AgentId,
        /// Its desk.
        sandbox: Option<&'a SandboxId>,
    },
    /// A task that exists, or is about to.
    Task {
        /// Its number, when it has one already.
        id: Option<TaskId>,
        /// Who does it.
        agent: &'a AgentId,
        /// Its desk.
        sandbox: Option<&'a SandboxId>,
    },
}

/// A grant that does not cover what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key `{name}` ({bound}) may not {action}{subject}")]
pub struct Denied {
    name: String,
    bound: String,
    action: &'static str,
    subject: String,
}

impl Grant {
    /// Whether this grant covers an action on a subject.
    pub fn covers(&self, action: Action, subject: Subject<'_>) -> Result<(), Denied> {
        use Action::*;
        let covered = match &self.authority {
            Authority::Admin => true,
            Authority::Member => match action {
                SandboxCreate | SandboxRead | SandboxPause | SandboxResume | SandboxTimeout | SandboxNetwork
                | SandboxDestroy | VolumeUse | VolumeMake | VolumeRemove | SandboxExec | SandboxFilesRead
                | SandboxFilesWrite | SandboxTerminal | SandboxPort | SandboxStats | SandboxSnapshot | SandboxFork
                | TemplateRead | TemplateMake | TemplateRemove | RepoRead | RepoAdd | RepoChange | RepoSync
                | RepoPush | RepoRemove | PullTalk | PullMerge | ProviderRead | NodeRead | EventsFollow
                | SignInLink | SecretRead | AgentRead | AgentAdd | AgentRemove | SessionCreate | SessionRead
                | SessionMessage | SessionDrive | TaskCreate | TaskRead | TaskMessage | TaskDrive | TaskReport
                | TaskMerge | TaskClose | ModelUse | UsageRead => true,
                KeyCreate | KeyRead | KeyChange | KeyRotate | KeyRevoke | SecretSet | SecretRemove | AuditRead
                | HousePrune | HookRead | HookWrite | NodeDrive => false,
            },
            Authority::Agent(me) => match (action, subject) {
                (
                    SandboxCreate | SandboxRead | SandboxPause | SandboxResume | SandboxTimeout | SandboxNetwork
                    | SandboxDestroy | SandboxExec | SandboxFilesRead | SandboxFilesWrite | SandboxTerminal
                    | SandboxPort | SandboxStats | SandboxSnapshot | SandboxFork,
                    Subject::Sandbox { agent, .. },
                ) => agent == Some(me),
                (SessionCreate | SessionRead | SessionMessage | SessionDrive, Subject::Session { agent, .. })
                | (
                    TaskCreate | TaskRead | TaskMessage | TaskDrive | TaskClose | TaskReport,
                    Subject::Task { agent, .. },
                ) => agent == me,
                (SandboxRead | SessionRead | TaskRead, Subject::House) | (AgentRead, _) => true,
                (ProviderRead | TemplateRead | RepoRead | RepoSync | EventsFollow | SignInLink, _) => true,
                (ModelUse | UsageRead, _) => true,
                _ => false,
            },
            Authority::Sandbox(me) => match (action, subject) {
                (SandboxRead | SandboxFilesRead | SandboxStats, Subject::Sandbox { id, .. }) => id == Some(me),
                (SessionRead, Subject::Session { sandbox, .. })
                | (TaskRead | TaskReport, Subject::Task { sandbox, .. }) => sandbox == Some(me),
                (SandboxRead, Subject::House) | (EventsFollow | ModelUse | UsageRead, _) => true,
                _ => false,
            },
        };
        if covered {
            return Ok(());
        }
        Err(Denied {
            name: self.name.clone(),
            bound: self.authority.to_string(),
            action: action.sentence(),
            subject: match subject {
                Subject::House => action.objects().to_owned(),
                subject => subject.to_string(),
            },
        })
    }
}

impl Authority {
    /// Its role.
    pub fn role(&self) -> Role {
        match self {
            Authority::Admin => Role::Admin,
            Authority::Member => Role::Member,
            Authority::Agent(_) => Role::Agent,
            Authority::Sandbox(_) => Role::Sandbox,
        }
    }

    /// The agent it is bound to.
    pub fn agent(&self) -> Option<&AgentId> {
        if let Authority::Agent(agent) = self { Some(agent) } else { None }
    }

    /// The sandbox it is bound to.
    pub fn sandbox(&self) -> Option<&SandboxId> {
        if let Authority::Sandbox(sandbox) = self { Some(sandbox) } else { None }
    }

    /// Puts a role together with what it is bound to.
    pub fn from_parts(
        role: Role,
        agent: Option<AgentId>,
        sandbox: Option<SandboxId>,
    ) -> Result<Authority, &'static str> {
        match (role, agent, sandbox) {
            (Role::Admin, None, None) => Ok(Authority::Admin),
            (Role::Member, None, None) => Ok(Authority::Member),
            (Role::Agent, Some(agent), None) => Ok(Authority::Agent(agent)),
            (Role::Sandbox, None, Some(sandbox)) => Ok(Authority::Sandbox(sandbox)),
            (Role::Agent, ..) => Err("a key with the role `agent` names an agent_id and nothing else"),
            (Role::Sandbox, ..) => Err("a key with the role `sandbox` names a sandbox_id and nothing else"),
            (Role::Admin | Role::Member, ..) => {
                Err("only the roles `agent` and `sandbox` are bound to an agent_id or sandbox_id")
            }
        }
    }
}

impl Role {
    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Member => "member",
            Role::Agent => "agent",
            Role::Sandbox => "sandbox",
        }
    }

    /// The role that a word names.
    pub fn from_word(word: &str) -> Option<Role> {
        [Role::Admin, Role::Member, Role::Agent, Role::Sandbox].into_iter().find(|role| role.word() == word)
    }
}

impl Action {
    /// The word the audit remembers.
    pub fn word(self) -> &'static str {
        match self {
            Action::SandboxCreate => "sandbox.create",
            Action::SandboxRead => "sandbox.read",
            Action::SandboxPause => "sandbox.pause",
            Action::SandboxResume => "sandbox.resume",
            Action::SandboxTimeout => "sandbox.timeout",
            Action::SandboxNetwork => "sandbox.network",
            Action::SandboxDestroy => "sandbox.destroy",
            Action::VolumeUse => "volume.use",
            Action::VolumeMake => "volume.make",
            Action::VolumeRemove => "volume.remove",
            Action::SandboxExec => "sandbox.exec",
            Action::SandboxFilesRead => "sandbox.files.read",
            Action::SandboxFilesWrite => "sandbox.files.write",
            Action::SandboxTerminal => "sandbox.terminal",
            Action::SandboxPort => "sandbox.port",
            Action::SandboxStats => "sandbox.stats",
            Action::SandboxSnapshot => "sandbox.snapshot",
            Action::SandboxFork => "sandbox.fork",
            Action::TemplateRead => "template.read",
            Action::TemplateMake => "template.make",
            Action::TemplateRemove => "template.remove",
            Action::RepoRead => "repo.read",
            Action::RepoAdd => "repo.add",
            Action::RepoChange => "repo.change",
            Action::RepoSync => "repo.sync",
            Action::RepoPush => "repo.push",
            Action::RepoRemove => "repo.remove",
            Action::AgentRead => "agent.read",
            Action::AgentAdd => "agent.add",
            Action::AgentRemove => "agent.remove",
            Action::SessionCreate => "session.create",
            Action::SessionRead => "session.read",
            Action::SessionMessage => "session.message",
            Action::SessionDrive => "session.drive",
            Action::TaskCreate => "task.create",
            Action::TaskRead => "task.read",
            Action::TaskMessage => "task.message",
            Action::TaskDrive => "task.drive",
            Action::TaskReport => "task.report",
            Action::TaskMerge => "task.merge",
            Action::TaskClose => "task.close",
            Action::PullTalk => "pull.talk",
            Action::PullMerge => "pull.merge",
            Action::ProviderRead => "provider.read",
            Action::EventsFollow => "events.follow",
            Action::KeyCreate => "key.create",
            Action::KeyRead => "key.read",
            Action::KeyChange => "key.change",
            Action::KeyRotate => "key.rotate",
            Action::KeyRevoke => "key.revoke",
            Action::SecretRead => "secret.read",
            Action::SecretSet => "secret.set",
            Action::SecretRemove => "secret.remove",
            Action::HookRead => "hook.read",
            Action::HookWrite => "hook.write",
            Action::NodeRead => "node.read",
            Action::NodeDrive => "node.drive",
            Action::AuditRead => "audit.read",
            Action::HousePrune => "house.prune",
            Action::ModelUse => "model.use",
            Action::UsageRead => "usage.read",
            Action::SignInLink => "sign_in.link",
        }
    }

    /// What a sentence about the whole house is about, where its verb alone does not say so.
    fn objects(self) -> &'static str {
        match self.word().split('.').next() {
            Some("sandbox") => " sandboxes",
            Some("template") => " templates",
            Some("repo") => " repos",
            Some("agent") => " agents",
            Some("session") => " sessions",
            Some("task") => " tasks",
            Some("pull") => " repos",
            Some("secret") => " secrets",
            _ => "",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Action::SandboxCreate => "create",
            Action::SandboxRead => "look at",
            Action::SandboxPause => "pause",
            Action::SandboxResume => "resume",
            Action::SandboxTimeout => "change the lifetime of",
            Action::SandboxNetwork => "change the network of",
            Action::SandboxDestroy => "destroy",
            Action::VolumeUse => "use volumes",
            Action::VolumeMake => "make volumes",
            Action::VolumeRemove => "remove volumes",
            Action::SandboxExec => "run commands in",
            Action::SandboxFilesRead => "read files in",
            Action::SandboxFilesWrite => "write files in",
            Action::SandboxTerminal => "open a terminal in",
            Action::SandboxPort => "reach ports of",
            Action::SandboxStats => "see what is used by",
            Action::SandboxSnapshot => "keep a snapshot of",
            Action::SandboxFork => "fork",
            Action::TemplateRead => "look at",
            Action::TemplateMake => "make",
            Action::TemplateRemove => "remove",
            Action::RepoRead => "look at",
            Action::RepoAdd => "add",
            Action::RepoChange => "change",
            Action::RepoSync => "bring up to date",
            Action::RepoPush => "push to",
            Action::RepoRemove => "remove",
            Action::AgentRead | Action::SessionRead | Action::TaskRead => "look at",
            Action::AgentAdd => "add",
            Action::AgentRemove => "remove",
            Action::SessionCreate => "begin",
            Action::SessionMessage | Action::TaskMessage => "say something to",
            Action::SessionDrive | Action::TaskDrive => "drive",
            Action::TaskCreate => "write",
            Action::TaskReport => "report on",
            Action::TaskMerge => "merge",
            Action::TaskClose => "close",
            Action::PullTalk => "speak at the pulls of",
            Action::PullMerge => "merge the pulls of",
            Action::ProviderRead => "look at the providers",
            Action::EventsFollow => "follow the events",
            Action::KeyCreate => "create keys",
            Action::KeyRead => "look at keys",
            Action::KeyChange => "change",
            Action::KeyRotate => "rotate",
            Action::KeyRevoke => "revoke",
            Action::SecretRead => "look at",
            Action::SecretSet => "set",
            Action::SecretRemove => "remove",
            Action::HookRead => "look at the hooks",
            Action::HookWrite => "change the hooks",
            Action::NodeRead => "look at the nodes",
            Action::NodeDrive => "drain or remove nodes",
            Action::AuditRead => "read the audit",
            Action::HousePrune => "carry out what nobody needs",
            Action::ModelUse => "use models",
            Action::UsageRead => "see the usage of models",
            Action::SignInLink => "make a sign-in link",
        }
    }
}

impl<'a> From<&'a Sandbox> for Subject<'a> {
    fn from(sandbox: &'a Sandbox) -> Self {
        Subject::Sandbox { id: Some(&sandbox.id), agent: sandbox.spec.agent_id.as_ref() }
    }
}

impl<'a> From<&'a Session> for Subject<'a> {
    fn from(session: &'a Session) -> Self {
        Subject::Session { id: Some(&session.id), agent: &session.agent, sandbox: session.sandbox_id.as_ref() }
    }
}

impl<'a> From<&'a Task> for Subject<'a> {
    fn from(task: &'a Task) -> Self {
        Subject::Task { id: Some(task.id), agent: &task.agent, sandbox: task.sandbox_id.as_ref() }
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Authority::Admin => f.write_str("admin"),
            Authority::Member => f.write_str("member"),
            Authority::Agent(agent) => write!(f, "agent {agent}"),
            Authority::Sandbox(sandbox) => write!(f, "sandbox {sandbox}"),
        }
    }
}

impl fmt::Display for Subject<'_> {
    /// As the end of a sentence: `… may not destroy{subject}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::House => Ok(()),
            Subject::Sandbox { id: Some(id), .. } => write!(f, " sandbox {id}"),
            Subject::Sandbox { id: None, agent: Some(agent) } => write!(f, " a sandbox for the agent {agent}"),
            Subject::Sandbox { id: None, agent: None } => f.write_str(" a sandbox that belongs to no agent"),
            Subject::Key(id) => write!(f, " {id}"),
            Subject::Template(name) => write!(f, " the template {name}"),
            Subject::Secret(name) => write!(f, " the secret {name}"),
            Subject::Repo(name) => write!(f, " the repo {name}"),
            Subject::Agent(name) => write!(f, " the agent {name}"),
            Subject::Session { id: Some(id), .. } => write!(f, " session {id}"),
            Subject::Session { id: None, agent, .. } => write!(f, " a session with the agent {agent}"),
            Subject::Task { id: Some(id), .. } => write!(f, " task {id}"),
            Subject::Task { id: None, agent, .. } => write!(f, " a task for the agent {agent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(authority: Authority) -> Grant {
        Grant { key: KeyId::from_random([0; 8]), name: "test".into(), authority, origin: None }
    }

    #[test]
    fn an_agent_reaches_its_own_sandboxes_and_no_others() {
        let (me, other): (AgentId, AgentId) = ("me".parse().unwrap(), "other".parse().unwrap());
        let id = SandboxId::from_random([3; 16]);
        let agent = grant(Authority::Agent(me.clone()));
        let mine = Subject::Sandbox { id: Some(&id), agent: Some(&me) };
        for action in [Action::SandboxCreate, Action::SandboxRead, Action::SandboxPause, Action::SandboxDestroy] {
            assert!(agent.covers(action, mine).is_ok());
            assert!(agent.covers(action, Subject::Sandbox { id: Some(&id), agent: Some(&other) }).is_err());
            assert!(agent.covers(action, Subject::Sandbox { id: Some(&id), agent: None }).is_err());
        }
        assert!(agent.covers(Action::KeyCreate, Subject::House).is_err());
        assert!(agent.covers(Action::AuditRead, Subject::House).is_err());
    }

    #[test]
    fn a_sandbox_may_look_at_itself_and_nothing_else() {
        let (me, other) = (SandboxId::from_random([1; 16]), SandboxId::from_random([2; 16]));
        let sandbox = grant(Authority::Sandbox(me.clone()));
        assert!(sandbox.covers(Action::SandboxRead, Subject::Sandbox { id: Some(&me), agent: None }).is_ok());
        assert!(sandbox.covers(Action::SandboxRead, Subject::Sandbox { id: Some(&other), agent: None }).is_err());
        assert!(sandbox.covers(Action::SandboxDestroy, Subject::Sandbox { id: Some(&me), agent: None }).is_err());
        assert!(sandbox.covers(Action::SandboxCreate, Subject::Sandbox { id: None, agent: None }).is_err());
        assert!(sandbox.covers(Action::SignInLink, Subject::House).is_err());
    }

    #[test]
    fn what_runs_inside_is_for_its_agent_and_a_sandbox_only_reads_itself() {
        let (me, id): (AgentId, _) = ("me".parse().unwrap(), SandboxId::from_random([3; 16]));
        let agent = grant(Authority::Agent(me.clone()));
        let inside = grant(Authority::Sandbox(id.clone()));
        let mine = Subject::Sandbox { id: Some(&id), agent: Some(&me) };
        let nobodys = Subject::Sandbox { id: Some(&id), agent: None };
        for action in [
            Action::SandboxExec,
            Action::SandboxFilesRead,
            Action::SandboxFilesWrite,
            Action::SandboxTerminal,
            Action::SandboxPort,
            Action::SandboxStats,
            Action::SandboxSnapshot,
            Action::SandboxFork,
        ] {
            assert!(agent.covers(action, mine).is_ok(), "{action:?}");
            assert!(agent.covers(action, nobodys).is_err(), "{action:?}");
            let reads = matches!(action, Action::SandboxFilesRead | Action::SandboxStats);
            assert_eq!(inside.covers(action, mine).is_ok(), reads, "{action:?}");
        }
        let name = "base".parse().unwrap();
        assert!(agent.covers(Action::TemplateRead, Subject::House).is_ok());
        assert!(agent.covers(Action::TemplateMake, Subject::Template(&name)).is_err());
        assert!(inside.covers(Action::TemplateRead, Subject::House).is_err());
    }

    #[test]
    fn a_member_does_the_work_but_never_touches_keys_or_audit() {
        let member = grant(Authority::Member);
        assert!(member.covers(Action::SandboxDestroy, Subject::Sandbox { id: None, agent: None }).is_ok());
        for action in [
            Action::KeyCreate,
            Action::KeyRead,
            Action::KeyChange,
            Action::KeyRotate,
            Action::KeyRevoke,
            Action::SecretSet,
            Action::SecretRemove,
            Action::AuditRead,
            Action::HousePrune,
        ] {
            assert!(member.covers(action, Subject::House).is_err());
        }
    }

    #[test]
    fn a_refusal_names_the_key_the_verb_and_the_subject() {
        let id = SandboxId::from_random([2; 16]);
        let denied = grant(Authority::Agent("scout".parse().unwrap()))
            .covers(Action::SandboxDestroy, Subject::Sandbox { id: Some(&id), agent: None })
            .unwrap_err();
        assert_eq!(denied.to_string(), format!("the key `test` (agent scout) may not destroy sandbox {id}"));
        let denied = grant(Authority::Member).covers(Action::SecretSet, Subject::House).unwrap_err();
        assert_eq!(denied.to_string(), "the key `test` (member) may not set secrets");
    }

    #[test]
    fn a_role_is_bound_to_what_it_needs() {
        assert!(Authority::from_parts(Role::Agent, None, None).is_err());
        assert!(Authority::from_parts(Role::Admin, Some("a".parse().unwrap()), None).is_err());
        assert!(Authority::from_parts(Role::Sandbox, None, Some(SandboxId::from_random([0; 16]))).is_ok());
    }
}
