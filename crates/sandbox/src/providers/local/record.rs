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
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use carrel_linux::Living;
use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Depth, Limits, Network},
};
use serde::{Deserialize, Serialize};

use crate::template::{Config, LayerId};

/// A slot as it is remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Names its folder and its cgroups.
    pub(crate) name: String,
    /// The sandbox that lives in it; nobody while it waits in the pool.
    pub(crate) id: Option<SandboxId>,
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
}

impl Record {
    /// Writes it beside, then renames: it is there whole or not at all. Only its owner may read it.
    pub(crate) fn keep(&self, slots: &Path) -> io::Result<()> {
        let draft = slots.join(format!(".{}.json", self.name));
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        // What sleeps on disk must survive the machine; what runs does not anyway.
        if matches!(self.asleep, Some(Depth::Stored | Depth::Files)) {
            file.sync_all()?;
        }
        fs::rename(&draft, slots.join(format!("{}.json", self.name)))
    }

    /// All records in a folder. A draft that was not finished is removed.
    pub(crate) fn all(slots: &Path) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        for file in fs::read_dir(slots)? {
            let path = file?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if !name.ends_with(".json") {
                continue;
            }
            if name.starts_with('.') {
                fs::remove_file(&path)?;
                continue;
            }
            match serde_json::from_slice(&fs::read(&path)?) {
                Ok(record) => records.push(record),
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}"))),
            }
        }
        Ok(records)
    }

    pub(crate) fn forget(&self, slots: &Path) -> io::Result<()> {
        match fs::remove_file(slots.join(format!("{}.json", self.name))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
