//! The fake: sandboxes that are only remembered. Nothing runs in them.
//!
//! It ships, because a house can be tried, shown and tested with it. It keeps state like a real one: a file for each
//! sandbox, so that it finds them after a restart, and it can be told to fail.

mod weather;

pub use weather::Weather;

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Isolation, Spec, Usage},
};

use crate::{Endpoint, Fitness, Pausing, Provider, ProviderError, Reach, Sighting};

/// How the fake behaves.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where its sandboxes are remembered.
    pub folder: PathBuf,
    /// How long creating one takes.
    pub create_takes: Duration,
    /// Whether several nodes look at the same folder.
    pub reach: Reach,
}

/// A provider whose sandboxes are only remembered.
#[derive(Debug, Clone)]
pub struct Fake {
    config: Config,
    weather: Arc<Mutex<Weather>>,
}

impl Config {
    /// Opens the folder, which is made when it is missing.
    pub fn build(self) -> io::Result<Fake> {
        std::fs::create_dir_all(&self.folder)?;
        Ok(Fake { config: self, weather: Arc::default() })
    }
}

impl Fake {
    /// The weather over it: clear unless somebody changes it.
    pub fn weather(&self) -> Arc<Mutex<Weather>> {
        Arc::clone(&self.weather)
    }

    /// The folder in which it remembers.
    pub fn folder(&self) -> &Path {
        &self.config.folder
    }

    fn place(&self, id: &SandboxId) -> PathBuf {
        self.config.folder.join(id.as_str())
    }

    fn endure(&self) -> Result<(), ProviderError> {
        self.weather.lock().expect("nobody panics in the weather").strike()
    }

    /// Writes beside, then renames: a sandbox is there whole or not at all, whenever the process dies.
    fn remember(&self, id: &SandboxId, state: &str) -> Result<(), ProviderError> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let draft = format!(".{id}.{}.{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let draft = self.config.folder.join(draft);
        std::fs::write(&draft, state).map_err(unavailable)?;
        std::fs::rename(&draft, self.place(id)).map_err(unavailable)
    }

    fn recall(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        match std::fs::read_to_string(self.place(id)) {
            Ok(state) if state == "paused" => Ok(Sighting::Paused),
            Ok(_) => Ok(Sighting::Running),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Sighting::Missing),
            Err(error) => Err(unavailable(error)),
        }
    }
}

#[async_trait]
impl Provider for Fake {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        Ok(Fitness {
            isolation: vec![Isolation::None],
            templates: ["host", "base"].map(|name| name.parse().expect("a good name")).to_vec(),
            missing: vec!["Nothing runs in a fake sandbox: it is for trying Carrel out.".into()],
        })
    }

    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        self.endure()?;
        let fitness = self.probe().await?;
        if !fitness.templates.contains(&spec.template) {
            return Err(ProviderError::Unfit { why: format!("there is no template `{}`", spec.template) });
        }
        if self.recall(id)? != Sighting::Missing {
            return Ok(());
        }
        if !self.config.create_takes.is_zero() {
            tokio::time::sleep(self.config.create_takes).await;
        }
        self.remember(id, "running")
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        self.endure()?;
        self.recall(id)
    }

    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        self.endure()?;
        let mut found = Vec::new();
        for file in std::fs::read_dir(&self.config.folder).map_err(unavailable)? {
            let name = file.map_err(unavailable)?.file_name();
            if let Some(id) = name.to_str().and_then(|name| name.parse().ok()) {
                match self.recall(&id)? {
                    Sighting::Missing => {}
                    sighting => found.push((id, sighting)),
                }
            }
        }
        Ok(found)
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.endure()?;
        // Drafts of a process that died go with the sandbox they were for.
        let draft = format!(".{id}.");
        for file in std::fs::read_dir(&self.config.folder).map_err(unavailable)? {
            let name = file.map_err(unavailable)?.file_name();
            if name.to_str().is_some_and(|name| name == id.as_str() || name.starts_with(&draft)) {
                match std::fs::remove_file(self.config.folder.join(name)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(unavailable(error)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        self.endure()?;
        match self.recall(id)? {
            Sighting::Missing => Err(ProviderError::Lost),
            _ => Err(ProviderError::Unfit { why: "nothing runs in a fake sandbox".into() }),
        }
    }

    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        self.endure()?;
        match self.recall(id)? {
            Sighting::Missing => Err(ProviderError::Lost),
            _ => Ok(Usage::default()),
        }
    }

    fn reach(&self) -> Reach {
        self.config.reach
    }

    fn pausing(&self) -> Option<&dyn Pausing> {
        Some(self)
    }
}

#[async_trait]
impl Pausing for Fake {
    /// Whatever depth is asked for: it has nothing that could be lost.
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        self.endure()?;
        match self.recall(id)? {
            Sighting::Missing => return Err(ProviderError::Lost),
            Sighting::Paused => {}
            Sighting::Running => self.remember(id, "paused")?,
        }
        Ok(depth)
    }

    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError> {
        self.endure()?;
        match self.recall(id)? {
            Sighting::Missing => return Err(ProviderError::Lost),
            Sighting::Running => {}
            Sighting::Paused => self.remember(id, "running")?,
        }
        Ok(Depth::Frozen)
    }
}

fn unavailable(error: io::Error) -> ProviderError {
    ProviderError::Unavailable { why: format!("the fake provider's folder does not answer: {error}") }
}
