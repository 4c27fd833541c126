//! How patient and how forgetful the house is.

use std::{path::PathBuf, time::Duration};

use carrel_model::{AgentId, NodeId, breaker::Rules, public::Defaults, sandbox::Lifetime};
use carrel_vault::Keychain;
use jiff::SignedDuration;

/// What the house is told at its opening.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This node.
    pub node: NodeId,
    /// Where other nodes reach it.
    pub address: String,
    /// What a sandbox gets where a request is silent.
    pub defaults: Defaults,
    /// How keepers wait.
    pub patience: Patience,
    /// How long things are remembered.
    pub retention: Retention,
    /// How work is given out.
    pub work: Workload,
    /// How many steps are taken at once.
    pub steps_at_once: usize,
    /// How many bytes of an exec's output are kept.
    pub transcript_cap: u64,
    /// Where this node keeps what it makes of repositories.
    pub library: PathBuf,
    /// Where the repositories themselves are kept, when all nodes share the place; in the library when not.
    pub shared_library: Option<PathBuf>,
    /// Where what was uploaded for a template lies while it is made. Emptied at the opening.
    pub scratch: PathBuf,
    /// The file that says which tools are for whom; there may be none.
    pub tools: PathBuf,
    /// Opens the secrets of the house.
    pub keychain: Keychain,
    /// Whether hooks may be in private networks and on this host.
    pub private_hooks: bool,
    /// The models that can be asked, and what they may cost.
    pub models: crate::Models,
    /// How browsers are told that a card needs somebody.
    pub notices: Notices,
}

impl Settings {
    /// How many bytes of an exec's output are usually kept.
    pub const TRANSCRIPT_CAP: u64 = 64 * 1024 * 1024;
}

/// How browsers are told that a card needs somebody.
#[derive(Debug, Clone)]
pub struct Notices {
    /// Where those who carry notices may be.
    pub reach: carrel_bell::Reach,
    /// How they find whoever runs this house: an address by `https:` or `mailto:`.
    pub contact: String,
}

impl Default for Notices {
    fn default() -> Self {
        Notices { reach: carrel_bell::Reach::Public, contact: "mailto:carrel@example.com".into() }
    }
}

/// How work is given out.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Who does it when nobody says.
    pub agent: AgentId,
    /// How many tasks may be worked on at the same time.
    pub at_once: usize,
    /// How many of them in one repository.
    pub per_repo: usize,
    /// How long nothing may happen at a desk before it is paused.
    pub idle: Option<Lifetime>,
    /// How often the work of a turn in flight is saved.
    pub save_every: Duration,
    /// After how many failures in a row a person is asked.
    pub tries: u32,
    /// How much one member and one repository may have.
    pub quotas: crate::Quotas,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            agent: "demo".parse().expect("a good name"),
            at_once: 16,
            per_repo: 16,
            idle: Lifetime::new(300),
            save_every: Duration::from_secs(30),
            tries: 5,
            quotas: crate::Quotas::default(),
        }
    }
}

/// How keepers wait.
#[derive(Debug, Clone)]
pub struct Patience {
    /// How long a lease holds without a heartbeat.
    pub lease: Duration,
    /// How often the house is swept.
    pub sweep: Duration,
    /// How long a step may take before it is given up and tried again.
    pub step: Duration,
    /// The first pause after a failure; each further one is twice as long, give or take.
    pub first_retry: Duration,
    /// The longest pause.
    pub longest_retry: Duration,
    /// After how many failures in a row the making of a sandbox is given up.
    pub tries: u32,
    /// When a provider is left alone.
    pub breaker: Rules,
}

/// How long things are remembered.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Entries of the journal.
    pub journal: SignedDuration,
    /// Transcripts, after they ended.
    pub transcripts: SignedDuration,
    /// Requests with an idempotency key.
    pub requests: SignedDuration,
    /// What tasks that were closed had done, after they ended.
    pub kept: SignedDuration,
    /// Rows of sandboxes that are gone; for good when nothing is said.
    pub gone: Option<SignedDuration>,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            lease: Duration::from_secs(15),
            sweep: Duration::from_secs(30),
            step: Duration::from_secs(600),
            first_retry: Duration::from_millis(200),
            longest_retry: Duration::from_secs(60),
            tries: 10,
            breaker: Rules { failures: 5, rest: SignedDuration::from_secs(15) },
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Retention {
            journal: SignedDuration::from_hours(7 * 24),
            transcripts: SignedDuration::from_hours(30 * 24),
            requests: SignedDuration::from_hours(24),
            kept: SignedDuration::from_hours(90 * 24),
            gone: None,
        }
    }
}
