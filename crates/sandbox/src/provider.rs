//! What every place where sandboxes live can do.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use carrel_envd::{Dial, Envd};
use carrel_model::{
    SandboxId, TemplateName, Timestamp, VolumeId,
    sandbox::{Depth, Isolation, Network, Spec, Usage},
};
use secrecy::SecretString;

use crate::{
    template::{LayerId, Progress, Shown, Source, Template},
    volume::VolumeContent,
};

/// Whether a sandbox that is claimed must be called as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Somebody knows the name already.
    Fixed,
    /// Nobody does: what goes by another one since it waits may keep it.
    Free,
}

/// A sandbox that was claimed.
pub struct Claimed {
    /// What it is called.
    pub id: SandboxId,
    /// Its envd, where a command may begin at once. Nothing where `endpoint` waits until that knows whose it is.
    pub open: Option<Envd>,
}

/// How often a sandbox met its limits, since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetLimits {
    /// The kernel ended a process of it for want of memory.
    pub memory: u64,
    /// The kernel refused it a process or thread, since it had too many.
    pub pids: u64,
}

/// A place where sandboxes live. It owns their lives, not their insides.
///
/// The id is the only name: a provider finds its sandbox by id even after both of them restarted.
/// Every call may be repeated, and called off in the middle; the next time finds or finishes the work.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Looks around and says what this host can offer, and what is missing for the rest.
    async fn probe(&self) -> Result<Fitness, ProviderError>;

    /// Somebody is about to ask for this sandbox: what takes long may begin. `create` or `destroy` follows.
    fn expect(&self, id: &SandboxId, spec: &Spec) {
        let _ = (id, spec);
    }

    /// Makes the sandbox, if that is a matter of a moment. Nobody knows of it yet: `confirm` or `destroy` follows, and what
    /// was neither confirmed nor ended is ended by `reap`. Nothing when it takes longer; what was begun goes on, as after
    /// `expect`.
    async fn claim(&self, id: &SandboxId, spec: &Spec, naming: Naming) -> Option<Claimed> {
        let _ = (id, spec, naming);
        None
    }

    /// Somebody knows of what was claimed.
    async fn confirm(&self, id: &SandboxId) {
        let _ = id;
    }

    /// Makes the sandbox, or finds it made.
    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError>;

    /// Looks for one sandbox.
    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError>;

    /// Every sandbox of this house that is here, so that a sweep finds what nobody remembers.
    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError>;

    /// Leaves nothing behind, and is content to find nothing.
    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError>;

    /// Where the envd of a running sandbox answers. `Lost` when the sandbox is not there.
    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError>;

    /// What a sandbox uses now.
    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError>;

    /// How often a sandbox met its limits so far. Nothing where nobody counts. It takes a moment at most.
    async fn met_limits(&self, id: &SandboxId) -> Option<MetLimits> {
        let _ = id;
        None
    }

    /// What one sandbox does not have of what it was promised, each a sentence. Nothing where no account is kept of each:
    /// then all of them lack what the provider's fitness says.
    async fn lacks(&self, id: &SandboxId) -> Option<Vec<String>> {
        let _ = id;
        None
    }

    /// Changes whom a sandbox may talk to, from now on; what is open and not allowed any more is cut. May be repeated.
    async fn set_network(&self, id: &SandboxId, network: &Network) -> Result<(), ProviderError> {
        let _ = (id, network);
        Err(ProviderError::Unfit { why: "this provider chooses the network of a sandbox when it is made".into() })
    }

    /// Hears which sandboxes are wanted awake, and until when. A provider whose sandboxes fall asleep by themselves
    /// prolongs them in time; the others have nothing to do. Asked at every sweep.
    async fn prolong(&self, wanted: &[(SandboxId, Timestamp)]) -> Result<(), ProviderError> {
        let _ = wanted;
        Ok(())
    }

    /// Ends a sandbox that no row knows, if it carries the mark of this house and nobody has kept it awake for long.
    /// Says whether it did. A provider that cannot tell leaves it alone.
    async fn reap(&self, id: &SandboxId) -> Result<bool, ProviderError> {
        let _ = id;
        Ok(false)
    }

    /// Who can reach its sandboxes.
    fn reach(&self) -> Reach;

    /// Why it gives no sandbox a network interface of its own. Nothing when it does.
    fn lacks_interfaces(&self) -> Option<String> {
        Some("this provider gives no sandbox a network interface of its own".into())
    }

    /// Why its sandboxes cannot ask the house for anything. Nothing when they have a gateway of their own.
    fn lacks_gateway(&self) -> Option<String> {
        None
    }

    /// Freezing and thawing, where it can.
    fn pausing(&self) -> Option<&dyn Pausing> {
        None
    }

    /// Snapshots, and sandboxes made from them, where it can.
    fn forking(&self) -> Option<&dyn Forking> {
        None
    }

    /// Laying a working tree under a new sandbox, where it can.
    fn furnishing(&self) -> Option<&dyn Furnishing> {
        None
    }

    /// Keeping volumes, where it can.
    fn stowing(&self) -> Option<&dyn Stowing> {
        None
    }

    /// Making templates, where it can.
    fn templating(&self) -> Option<&dyn Templating> {
        None
    }
}

/// Where an envd answers.
#[derive(Clone)]
pub struct Endpoint {
    /// Opens lines to it.
    pub dial: Arc<dyn Dial>,
    /// What it wants to be shown.
    pub token: Option<SecretString>,
    /// Somebody who speaks with it already, over lines that are open.
    pub open: Option<Envd>,
}

impl Endpoint {
    /// Where lines are opened to when they are needed.
    pub fn new(dial: Arc<dyn Dial>, token: Option<SecretString>) -> Endpoint {
        Endpoint { dial, token, open: None }
    }

    /// The envd itself.
    pub fn envd(self) -> Envd {
        let Endpoint { dial, token, open } = self;
        open.unwrap_or_else(|| Envd::new(dial, token))
    }
}

/// The ability to freeze a sandbox and bring it back.
#[async_trait]
pub trait Pausing: Send + Sync {
    /// Pauses it as deep as asked, or as deep as it can, and says how deep that was. What is paused already may be
    /// asked to go deeper; it never comes up for it.
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError>;
    /// Brings it back, or finds it running. Says from how deep: after `Files` its processes are gone.
    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError>;
}

/// The ability to keep a sandbox as it is now, as a template that others start from.
#[async_trait]
pub trait Forking: Send + Sync {
    /// Makes a template of a sandbox, running or paused, and leaves the sandbox as it was. With `memory` its processes
    /// are kept too, where that can be; the answer says what was kept. A second time finds it made.
    async fn snapshot(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError>;

    /// The same in place of the one of that name, which stays as it is until the new one is whole. A second time makes
    /// another.
    async fn renew(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError>;

    /// The same for copies that are made at once: nobody minds when it does not survive the machine.
    async fn base(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        self.snapshot(id, name, memory).await
    }
}

/// The ability to lay a working tree under a new sandbox: a checkout that others stand on too, and a few files that are
/// its own. Without it a sandbox clones for itself.
#[async_trait]
pub trait Furnishing: Send + Sync {
    /// Makes the sandbox with a working tree, or finds it made.
    async fn create_furnished(&self, id: &SandboxId, spec: &Spec, furniture: &Furniture) -> Result<(), ProviderError>;
    /// The folders of the host that sandboxes and templates stand on, or are shown: they must stay.
    async fn borrowed(&self) -> Result<Vec<PathBuf>, ProviderError>;
    /// Lets go of a folder that is about to go, where nothing but something that waits has it.
    async fn let_go(&self, folder: &Path) -> Result<(), ProviderError>;
}

/// A working tree that is laid under a new sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Furniture {
    /// Names the layer with the checkout.
    pub layer: LayerId,
    /// Where that layer lies on this machine.
    pub folder: PathBuf,
    /// Where the working tree is in it, and inside.
    pub workspace: String,
    /// What is shown beside it, read-only.
    pub shown: Vec<Shown>,
    /// The files that are this sandbox's own.
    pub files: Vec<Laid>,
}

/// A file that is laid into a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    /// Where, below the working tree.
    pub path: String,
    /// What it holds.
    pub content: String,
    /// Whether it is a program.
    pub runs: bool,
}

/// The ability to keep volumes: folders that outlive sandboxes, and that many sandboxes may have at once.
#[async_trait]
pub trait Stowing: Send + Sync {
    /// Makes a volume, or finds it made.
    async fn make_volume(&self, id: &VolumeId) -> Result<(), ProviderError>;
    /// Removes a volume and all that is in it, content to find none. Nobody may have it mounted.
    async fn remove_volume(&self, id: &VolumeId) -> Result<(), ProviderError>;
    /// What is in a volume.
    fn content(&self, id: &VolumeId) -> Result<VolumeContent, ProviderError>;
}

/// The ability to make templates.
#[async_trait]
pub trait Templating: Send + Sync {
    /// All of them, by name.
    async fn templates(&self) -> Result<Vec<Template>, ProviderError>;
    /// Makes one, or replaces the one of that name; sandboxes that live on the old one are not disturbed.
    async fn make(&self, name: &TemplateName, source: &Source, progress: &Progress) -> Result<Template, ProviderError>;
    /// Forgets one; content to find nothing. Its layers go when no sandbox and no other template needs them.
    async fn forget(&self, name: &TemplateName) -> Result<(), ProviderError>;
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
    /// Too often: it is taken after a while, and nothing is wrong.
    #[error("{why}")]
    Throttled {
        /// A sentence.
        why: String,
        /// When to come back, if the provider said so.
        after: Option<Duration>,
    },
    /// Too much: a quota is used up until something ends, or somebody raises it.
    #[error("{why}")]
    Exhausted {
        /// A sentence.
        why: String,
    },
    /// The sandbox it was asked about is not there.
    #[error("the sandbox is not there any more")]
    Lost,
}
