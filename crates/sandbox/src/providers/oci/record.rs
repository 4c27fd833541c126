//! What is remembered of a slot, in a file beside it: the owner record of everything the slot is made of.
//!
//! ```text
//! slots/NAME.json     this record; written before anything of the slot exists, removed after everything is gone
//! slots/NAME/upper    what was changed inside
//! slots/NAME/work     the overlay's own
//! slots/NAME/bundle   what the runtime is told
//! slots/NAME/state    what the runtime remembers
//! slots/NAME/run      the sockets between inside and outside
//! slots/NAME/memory   the processes, when they are stored
//! trash/NAME          a slot on its way out
//! ```

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use carrel_linux::Living;
use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Depth, Limits, Network},
};
use serde::{Deserialize, Serialize};

use crate::{
    providers::common::paper::{self, Survives},
    template::{Config, LayerId},
};

/// A slot as it is remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Names its folder, its cgroups and its container.
    pub(crate) name: String,
    /// The sandbox that lives in it; nobody when the runtime is only tried out.
    pub(crate) id: Option<SandboxId>,
    /// The process that everything inside ends with, once it was launched: the second kernel, or the first program.
    pub(crate) first: Option<Living>,
    /// How deep it sleeps; awake when absent.
    pub(crate) asleep: Option<Depth>,
    /// How deep it is being put to sleep just now. A server that finds this was killed meanwhile.
    #[serde(default)]
    pub(crate) falls: Option<Depth>,
    /// Whether its envd was told who it is, and its start command ran.
    pub(crate) ready: bool,
    /// The first of its users on the host.
    pub(crate) base: u32,
    pub(crate) template: TemplateName,
    /// Lowest first.
    pub(crate) layers: Vec<LayerId>,
    pub(crate) config: Config,
    pub(crate) limits: Limits,
    pub(crate) network: Network,
    /// What its envd wants to be shown.
    pub(crate) token: String,
    pub(crate) env: BTreeMap<String, String>,
    /// The folder with the daemon it runs. What is restored from memory needs the very same.
    pub(crate) guest: PathBuf,
}

impl Record {
    /// Keeps it. What sleeps on disk must survive the machine; what runs does not anyway.
    pub(crate) fn keep(&self, slots: &Path) -> io::Result<()> {
        let on_disk = matches!(self.asleep, Some(Depth::Stored | Depth::Files));
        let survives = if on_disk { Survives::Machine } else { Survives::Process };
        paper::keep(slots, &self.name, self, survives)
    }

    /// All records in a folder.
    pub(crate) fn all(slots: &Path) -> io::Result<Vec<Record>> {
        paper::all(slots)
    }

    /// Removes what an earlier life did not finish writing.
    pub(crate) fn forget_drafts(slots: &Path) -> io::Result<()> {
        paper::forget_drafts(slots)
    }

    pub(crate) fn forget(&self, slots: &Path) -> io::Result<()> {
        paper::forget(slots, &self.name)
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.first.is_some_and(|first| first.is_alive())
    }
}
