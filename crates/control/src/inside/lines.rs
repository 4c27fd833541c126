//! The lines to the envds that were asked lately. Opening one costs a question to the provider.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use carrel_envd::Envd;
use carrel_model::SandboxId;
use tokio_util::sync::CancellationToken;

/// More than these are not kept.
const ROOM: usize = 4096;

#[derive(Default)]
pub(crate) struct Lines {
    held: Mutex<HashMap<SandboxId, Line>>,
    /// Counts the uses, so that the one used longest ago makes room.
    clock: AtomicU64,
    /// Rings for those who wait for an answer from inside.
    sleeps: Mutex<HashMap<SandboxId, CancellationToken>>,
}

struct Line {
    envd: Envd,
    cut: CancellationToken,
    used: u64,
}

impl Lines {
    pub(crate) fn find(&self, id: &SandboxId) -> Option<(Envd, CancellationToken)> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut held = self.held.lock().expect("nobody panics while holding the lines");
        let line = held.get_mut(id)?;
        line.used = now;
        Some((line.envd.clone(), line.cut.clone()))
    }

    /// Keeps a line, unless somebody else has just opened one.
    pub(crate) fn keep(&self, id: &SandboxId, envd: Envd) -> (Envd, CancellationToken) {
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut held = self.held.lock().expect("nobody panics while holding the lines");
        if held.len() >= ROOM && !held.contains_key(id) {
            let oldest = held.iter().min_by_key(|(_, line)| line.used).map(|(id, _)| id.clone());
            if let Some(line) = oldest.and_then(|oldest| held.remove(&oldest)) {
                line.envd.hang_up();
            }
        }
        let line = held.entry(id.clone()).or_insert_with(|| Line { envd, cut: CancellationToken::new(), used });
        (line.envd.clone(), line.cut.clone())
    }

    /// Forgets a line that does not answer. What still goes over it is left alone.
    pub(crate) fn forget(&self, id: &SandboxId) {
        if let Some(line) = self.held.lock().expect("nobody panics while holding the lines").remove(id) {
            line.envd.hang_up();
        }
    }

    /// Rings when this sandbox is put to sleep the next time, or ends.
    pub(crate) fn next_sleep(&self, id: &SandboxId) -> CancellationToken {
        self.sleeps.lock().expect("nobody panics while holding the bells").entry(id.clone()).or_default().clone()
    }

    /// Tells everybody who waits for an answer from inside that it sleeps.
    pub(crate) fn tell_of_sleep(&self, id: &SandboxId) {
        if let Some(bell) = self.sleeps.lock().expect("nobody panics while holding the bells").remove(id) {
            bell.cancel();
        }
    }

    /// Cuts a line and everything that goes over it: nobody may hold one when a sandbox is stored or ends.
    pub(crate) fn cut(&self, id: &SandboxId) {
        if let Some(line) = self.held.lock().expect("nobody panics while holding the lines").remove(id) {
            line.cut.cancel();
            line.envd.hang_up();
        }
    }
}
