//! The trial: which runtime works here is found out by using it, once for each server.
//!
//! A runtime that is installed may still not run (a kernel that refuses, a machine without virtualization), so a whole
//! sandbox is made, asked whether it lives, and ended. A runtime that works but lacks what common programs need is offered
//! with a warning.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use carrel_envd::{Envd, Event, Start};
use carrel_model::sandbox::{Isolation, Limits, Network, Spec};
use futures::StreamExt;

use super::{
    HOST, Inner, aside,
    desk::Desk,
    runtime::{Kind, Runtime},
    slot::unavailable,
};
use crate::{ProviderError, providers::common::silent};

/// What was found out.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The best one that works.
    pub(crate) runtime: Option<Runtime>,
    /// What is missing for it, or for better, each a sentence with what would give it.
    pub(crate) missing: Vec<String>,
}

/// A runtime that works, and what it lacks.
type Worked = (Runtime, Vec<String>);

/// The runtimes that have worked in this process, with how. What worked once need not be tried again.
static WORKED: Mutex<BTreeMap<PathBuf, Worked>> = Mutex::new(BTreeMap::new());

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
                Ok((runtime, lacks)) => {
                    works = Some(runtime);
                    missing.extend(lacks);
                    break;
                }
                Err(error) => missing.push(format!("{} does not work here: {error}", runtime.program.display())),
            }
        }
        Ok(Arc::clone(trial.insert(Arc::new(Trial { runtime: works, missing }))))
    }

    /// Makes a sandbox with a runtime in each of its ways until one lives.
    async fn try_out(self: &Arc<Self>, runtime: &Runtime) -> Result<Worked, ProviderError> {
        if let Some(known) = worked().get(&runtime.program) {
            return Ok(known.clone());
        }
        let mut last = ProviderError::Lost;
        for platform in runtime.kind.platforms() {
            let runtime = Runtime { platform: *platform, ..runtime.clone() };
            match self.try_once(&runtime).await {
                Ok(lacks) => {
                    let worked_now = (runtime, lacks);
                    worked().insert(worked_now.0.program.clone(), worked_now.clone());
                    return Ok(worked_now);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Makes a sandbox and says what it lacks.
    async fn try_once(self: &Arc<Self>, runtime: &Runtime) -> Result<Vec<String>, ProviderError> {
        let template = self.find_template(&HOST.parse().expect("a good name")).await?;
        let limits = serde_json::json!({"cpus": 1, "memory_mb": 128, "disk_mb": 64, "pids": 64});
        let limits: Limits = serde_json::from_value(limits).expect("in range");
        let (inner, tried) = (Arc::clone(self), runtime.clone());
        let (record, launched) = aside(move || {
            let mut record = inner.yard.plan(None, &template, limits, Network::default(), BTreeMap::new())?;
            let launched = inner.yard.launch(&mut record, &tried);
            Ok((record, launched))
        })
        .await
        .map_err(|error| unavailable("try it", &error))?;
        let desk = Desk::of(record.clone());
        let lives = match launched {
            Ok(()) => match self.await_envd(&desk).await {
                Ok(envd) => lacks(&envd, runtime).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(ProviderError::Unavailable { why: error.to_string() }),
        };
        self.end_slot(record).await?;
        lives
    }
}

/// What programs of this host miss in it. An older gVisor does not know how `ls` and `stat` of today ask.
async fn lacks(envd: &Envd, runtime: &Runtime) -> Result<Vec<String>, ProviderError> {
    let args = vec!["/".into()];
    let look = Start { program: "/usr/bin/stat".into(), args, user: Some("root".into()), ..Start::default() };
    let mut events = envd.start(&look).await.map_err(silent)?;
    while let Some(event) = events.next().await {
        if let Event::Ended(ended) = event.map_err(silent)?
            && ended.exit_code != 0
        {
            let program = runtime.program.display();
            return Ok(vec![format!(
                "`ls -l` and `stat` fail in {program}, which is older than they are; install a newer one"
            )]);
        }
    }
    Ok(Vec::new())
}

fn worked() -> std::sync::MutexGuard<'static, BTreeMap<PathBuf, Worked>> {
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
