//! The trial: which runtime works here is found out by using it, once for each server.
//!
//! A runtime that is installed may still not run (a kernel that refuses, a machine without virtualization), so a whole
//! sandbox is made, asked whether it lives, and ended.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use carrel_model::sandbox::{Isolation, Limits, Network, Spec};

use super::{
    HOST, Inner, aside,
    desk::Desk,
    runtime::{Kind, Runtime},
    slot::unavailable,
};
use crate::ProviderError;

/// What was found out.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The best one that works.
    pub(crate) runtime: Option<Runtime>,
    /// What is missing for it, or for better, each a sentence with what would give it.
    pub(crate) missing: Vec<String>,
}

/// The runtimes that have worked in this process, with how. What worked once need not be tried again.
static WORKED: Mutex<BTreeMap<PathBuf, Runtime>> = Mutex::new(BTreeMap::new());

impl Inner {
    /// The runtime that sandboxes are made with.
    pub(crate) async fn runtime(self: &Arc<Self>) -> Result<Runtime, ProviderError> {
        let trial = self.trial().await?;
        trial.runtime.clone().ok_or_else(|| ProviderError::Unavailable { why: trial.missing.join("; ") })
    }

    /// Refuses what the runtime cannot give.
    pub(crate) async fn suits(self: &Arc<Self>, spec: &Spec) -> Result<(), ProviderError> {
        let given = self.runtime().await?.kind.isolation();
        if strength(spec.isolation) <= strength(given) {
            return Ok(());
        }
        let why = format!("the runtime of this host gives isolation `{given:?}`, not `{:?}`", spec.isolation);
        Err(ProviderError::Unfit { why: why.to_lowercase() })
    }

    /// Tries the runtimes of this host, unless that was done. One that failed is tried again the next time.
    pub(crate) async fn trial(self: &Arc<Self>) -> Result<Arc<Trial>, ProviderError> {
        let mut trial = self.trial.lock().await;
        if let Some(done) = trial.as_ref().filter(|trial| trial.runtime.is_some()) {
            return Ok(Arc::clone(done));
        }
        let found = Runtime::find(self.asked.as_deref()).map_err(|error| unavailable("find a runtime", &error))?;
        let mut missing = Vec::new();
        if found.is_empty() {
            missing.push("no container runtime was found; for gVisor: apt-get install runsc".to_owned());
        } else if self.asked.is_none() && found.iter().all(|runtime| runtime.kind != Kind::Runsc) {
            missing.push("gVisor was not found: apt-get install runsc".to_owned());
        }
        let mut works = None;
        for runtime in found {
            match self.try_out(&runtime).await {
                Ok(runtime) => {
                    works = Some(runtime);
                    break;
                }
                Err(error) => missing.push(format!("{} does not work here: {error}", runtime.program.display())),
            }
        }
        Ok(Arc::clone(trial.insert(Arc::new(Trial { runtime: works, missing }))))
    }

    /// Makes a sandbox with a runtime in each of its ways until one lives.
    async fn try_out(self: &Arc<Self>, runtime: &Runtime) -> Result<Runtime, ProviderError> {
        if let Some(known) = worked().get(&runtime.program) {
            return Ok(known.clone());
        }
        let mut last = ProviderError::Lost;
        for platform in runtime.kind.platforms() {
            let runtime = Runtime { platform: *platform, ..runtime.clone() };
            match self.try_once(&runtime).await {
                Ok(()) => {
                    worked().insert(runtime.program.clone(), runtime.clone());
                    return Ok(runtime);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn try_once(self: &Arc<Self>, runtime: &Runtime) -> Result<(), ProviderError> {
        let template = self.find_template(&HOST.parse().expect("a good name")).await?;
        let limits = serde_json::json!({"cpus": 1, "memory_mb": 128, "disk_mb": 64, "pids": 64});
        let limits: Limits = serde_json::from_value(limits).expect("in range");
        let (inner, runtime) = (Arc::clone(self), runtime.clone());
        let (record, launched) = aside(move || {
            let mut record = inner.yard.plan(None, &template, limits, Network::default(), BTreeMap::new())?;
            let launched = inner.yard.launch(&mut record, &runtime);
            Ok((record, launched))
        })
        .await
        .map_err(|error| unavailable("try it", &error))?;
        let desk = Desk::of(record.clone());
        let lives = match launched {
            Ok(()) => self.await_envd(&desk).await.map(drop),
            Err(error) => Err(ProviderError::Unavailable { why: error.to_string() }),
        };
        self.end_slot(record).await?;
        lives
    }
}

fn worked() -> std::sync::MutexGuard<'static, BTreeMap<PathBuf, Runtime>> {
    WORKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How far apart each level keeps a guest and its host. Nothing here is as far as a machine of somebody else.
fn strength(isolation: Isolation) -> u8 {
    match isolation {
        Isolation::None => 0,
        Isolation::Namespace => 1,
        Isolation::Gvisor => 2,
        Isolation::Microvm => 3,
        Isolation::E2b => 4,
    }
}
