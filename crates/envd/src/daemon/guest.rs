//! What envd knows: its settings, its users, its processes and its watchers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    filesystem::Watcher,
    metrics::Meter,
    process::Table,
    users::{Register, User},
};
use crate::wire::{Code, Fault};

/// Everything that outlives a request.
#[derive(Default)]
pub(super) struct Guest {
    settings: Mutex<Settings>,
    pub(super) users: Register,
    pub(super) processes: Table,
    pub(super) watchers: Mutex<HashMap<String, Watcher>>,
    pub(super) meter: Mutex<Meter>,
}

/// What the host told.
#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) env: BTreeMap<String, String>,
    pub(super) token: Option<String>,
    pub(super) default_user: Option<String>,
    pub(super) default_workdir: Option<String>,
}

impl Guest {
    pub(super) fn new() -> Arc<Guest> {
        Arc::default()
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The user of this name; without a name the default one: as told, else `user` if there is one, else root.
    pub(super) fn user(&self, name: Option<&str>) -> Result<User, Fault> {
        let everybody = self.users.everybody();
        let told = name.map(str::to_owned).or_else(|| self.settings().default_user.clone());
        let found = match &told {
            Some(name) => everybody.find(name),
            None => everybody.find("user").or_else(|| everybody.find("root")).or_else(|| everybody.find("0")),
        };
        found.cloned().ok_or_else(|| match told {
            Some(name) => Fault::new(Code::Unauthenticated, format!("invalid username: '{name}'")),
            None => Fault::new(Code::Unauthenticated, "no user specified"),
        })
    }
}
