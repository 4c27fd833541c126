//! What is remembered of a slot, in a file beside it: the owner record of everything the slot is made of.
//!
//! ```text
//! slots/NAME.json     this record; written before anything of the slot exists, removed after everything is gone
//! slots/NAME/upper    what was changed inside
//! slots/NAME/work     the overlay's own
//! memory/NAME         the processes, when they are stored (see `criu`)
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
    sandbox::{Depth, Limits, Network, Spec, VolumeMount},
};
use serde::{Deserialize, Serialize};

use crate::{
    egress::Authority,
    providers::common::paper::{self, Survives},
    template::{Config, LayerId},
};

/// A slot as it is remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Names its folder and its cgroups.
    pub(crate) name: String,
    /// The sandbox that lives in it; nobody while it waits in the pool.
    pub(crate) id: Option<SandboxId>,
    /// It was claimed, and nobody has said yet that its sandbox is known.
    #[serde(default)]
    pub(crate) claimed: bool,
    /// It is a bench for the step of a recipe: its upper is to become a layer by its content.
    #[serde(default)]
    pub(crate) bench: bool,
    /// Its processes came from a snapshot, and what the start command began is among them.
    #[serde(default)]
    pub(crate) remembers: bool,
    /// Its first process, once it was launched.
    pub(crate) first: Option<Living>,
    /// How deep it sleeps; awake when absent.
    pub(crate) asleep: Option<Depth>,
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
    /// The folder with the daemon it runs.
    pub(crate) guest: PathBuf,
    /// What could not be applied, each a sentence.
    pub(crate) unfit: Vec<String>,
    /// The volumes that are mounted in it.
    #[serde(default)]
    pub(crate) volumes: Vec<VolumeMount>,
    /// Whom its programs believe when they are shown a host that has headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authority: Option<Authority>,
    /// Whether the files of its checkout that are its own were laid down; nothing when it has none.
    #[serde(default)]
    pub(crate) furnished: Option<bool>,
}

impl Record {
    /// Gives it to a sandbox. It is remembered so when it is kept.
    pub(crate) fn belong_to(&mut self, id: &SandboxId, spec: &Spec) {
        self.id = Some(id.clone());
        self.network = spec.network.clone();
        self.env = spec.env.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect();
    }

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
}
