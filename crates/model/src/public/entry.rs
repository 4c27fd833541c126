//! The journal's entries, as the outside hears them. Each carries its subject as it now is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    AgentView, BaseView, BudgetView, KeyView, ProviderView, PullNews, PullView, PushView, RepoView, SandboxView,
    SessionView, TaskView, TemplateView,
};
use crate::{AgentId, SessionId, TaskId, session::Moment};

/// A place in the journal. Entries have the cursors 1, 2, 3, … without a gap, in the order of their commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = i64, minimum = 0)]
pub struct Cursor(pub i64);

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Entry {
    /// Its place.
    pub cursor: Cursor,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub happening: Happening,
}

/// What happened: the kind, and the subject as it now is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Happening {
    /// A sandbox changed.
    Sandbox {
        /// As it now is.
        sandbox: Box<SandboxView>,
    },
    /// A key changed.
    Key {
        /// As it now is.
        key: KeyView,
    },
    /// A provider opened or closed its circuit breaker.
    Provider {
        /// As it now is.
        provider: ProviderView,
    },
    /// A template changed.
    Template {
        /// As it now is.
        template: TemplateView,
    },
    /// A repository changed.
    Repo {
        /// As it now is.
        repo: Box<RepoView>,
    },
    /// Somebody pushed.
    Push {
        /// What, and the verdict on it.
        push: PushView,
    },
    /// A task changed.
    Task {
        /// As it now is.
        task: Box<TaskView>,
    },
    /// A session changed.
    Session {
        /// As it now is.
        session: Box<SessionView>,
    },
    /// Something was said or done at a desk.
    Moment {
        /// The conversation.
        session_id: SessionId,
        /// Whose desk it is.
        agent: AgentId,
        /// The task, when it is a task's.
        task_id: Option<TaskId>,
        /// What. One that was told before with the same `seq` is told again when it is complete.
        moment: Box<Moment>,
    },
    /// An agent changed.
    Agent {
        /// As it now is.
        agent: Box<AgentView>,
    },
    /// A pull request changed, or somebody said something there.
    Pull {
        /// As it now is.
        pull: Box<PullView>,
        /// What is new beside it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        news: Vec<PullNews>,
    },
    /// A branch that others are merged into moved.
    Base {
        /// Where it is, and where it was.
        base: BaseView,
    },
    /// A budget is running out, or has.
    Budget {
        /// As it now is.
        budget: BudgetView,
    },
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Sandboxes.
    Sandbox,
    /// Keys.
    Key,
    /// Providers.
    Provider,
    /// Templates.
    Template,
    /// Repositories.
    Repo,
    /// Pushes.
    Push,
    /// Tasks.
    Task,
    /// Sessions.
    Session,
    /// What is said and done at desks.
    Moment,
    /// Agents.
    Agent,
    /// Pull requests.
    Pull,
    /// Branches that others are merged into.
    Base,
    /// Budgets.
    Budget,
}

/// Told to a reader whose cursor the journal cannot continue from: read the lists again, then follow from `head`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reset {
    /// The oldest entry that is still kept.
    pub oldest: Cursor,
    /// The newest entry.
    pub head: Cursor,
}

/// Told to every reader when the server is about to end: come back after a moment, with your cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Drain {
    /// How long to wait before coming back.
    pub retry_ms: u64,
}

impl Happening {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Happening::Sandbox { .. } => Kind::Sandbox,
            Happening::Key { .. } => Kind::Key,
            Happening::Provider { .. } => Kind::Provider,
            Happening::Template { .. } => Kind::Template,
            Happening::Repo { .. } => Kind::Repo,
            Happening::Push { .. } => Kind::Push,
            Happening::Task { .. } => Kind::Task,
            Happening::Session { .. } => Kind::Session,
            Happening::Moment { .. } => Kind::Moment,
            Happening::Agent { .. } => Kind::Agent,
            Happening::Pull { .. } => Kind::Pull,
            Happening::Base { .. } => Kind::Base,
            Happening::Budget { .. } => Kind::Budget,
        }
    }
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 13] = [
        Kind::Sandbox,
        Kind::Key,
        Kind::Provider,
        Kind::Template,
        Kind::Repo,
        Kind::Push,
        Kind::Task,
        Kind::Session,
        Kind::Moment,
        Kind::Agent,
        Kind::Pull,
        Kind::Base,
        Kind::Budget,
    ];

    /// The word used in JSON, SQL and as the SSE event.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Sandbox => "sandbox",
            Kind::Key => "key",
            Kind::Provider => "provider",
            Kind::Template => "template",
            Kind::Repo => "repo",
            Kind::Push => "push",
            Kind::Task => "task",
            Kind::Session => "session",
            Kind::Moment => "moment",
            Kind::Agent => "agent",
            Kind::Pull => "pull",
            Kind::Base => "base",
            Kind::Budget => "budget",
        }
    }
}
