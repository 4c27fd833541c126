//! What every place where sandboxes live can do.

use async_trait::async_trait;
use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Isolation, Spec},
};

/// A place where sandboxes live. It owns their lives, not their insides.
///
/// The id is the only name: a provider finds its sandbox by id even after both of them restarted.
/// Every call may be repeated, and called off in the middle; the next time finds or finishes the work.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Looks around and says what this host can offer, and what is missing for the rest.
    async fn probe(&self) -> Result<Fitness, ProviderError>;

    /// Makes the sandbox, or finds it made.
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError>;

    /// Looks for one sandbox.
    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError>;

    /// Every sandbox of this house that is here, so that a sweep finds what nobody remembers.
    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError>;

    /// Leaves nothing behind, and is content to find nothing.
    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError>;

    /// Who can reach its sandboxes.
    fn reach(&self) -> Reach;

    /// Freezing and thawing, where it can.
    fn pausing(&self) -> Option<&dyn Pausing> {
        None
    }
}

/// The ability to freeze a sandbox and bring it back.
#[async_trait]
pub trait Pausing: Send + Sync {
    /// Freezes it, or finds it frozen.
    async fn pause(&self, id: &SandboxId) -> Result<(), ProviderError>;
    /// Thaws it, or finds it running.
    async fn resume(&self, id: &SandboxId) -> Result<(), ProviderError>;
}

/// What a provider offers on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitness {
    /// The levels of isolation, the usual one first.
    pub isolation: Vec<Isolation>,
    /// The templates it knows.
    pub templates: Vec<TemplateName>,
    /// What is missing for more, each a sentence with what would give it.
    pub missing: Vec<String>,
}

/// What was seen of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting {
    /// It is there and works.
    Running,
    /// It is there, frozen.
    Paused,
    /// It is not there.
    Missing,
}

/// Who can reach a provider's sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only the node that made them.
    Node,
    /// Every node.
    Anywhere,
}

impl Reach {
    /// The word used in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Reach::Node => "node",
            Reach::Anywhere => "anywhere",
        }
    }
}

/// Why a provider could not do it, by what the caller can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Not now: try again later.
    #[error("{why}")]
    Unavailable {
        /// A sentence.
        why: String,
    },
    /// Never like this: the request asks for what cannot be had here.
    #[error("{why}")]
    Unfit {
        /// A sentence.
        why: String,
    },
    /// The sandbox it was asked about is not there.
    #[error("the sandbox is not there any more")]
    Lost,
}
