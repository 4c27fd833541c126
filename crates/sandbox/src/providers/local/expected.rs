//! Slots that are begun, and told whose they are, while the row of their sandbox is still being written.
//!
//! Nobody owns such a slot until its sandbox is created: should the server end before, it is swept like one of the pool.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use carrel_model::{SandboxId, sandbox::Spec};
use tokio::task::JoinHandle;

use super::{Inner, desk::greet, record::Record, slot::Held};

type Slot = (Record, Held);

/// The slots on their way.
#[derive(Default)]
pub(crate) struct Expected(Mutex<HashMap<SandboxId, JoinHandle<Option<Slot>>>>);

impl Expected {
    /// The slot that was begun for a sandbox, when it is made. Nothing when none was, or when it could not be made:
    /// whoever makes another one hears why.
    pub(crate) async fn take(&self, id: &SandboxId) -> Option<Slot> {
        let coming = self.coming().remove(id)?;
        coming.await.ok().flatten()
    }

    /// The same, when it is made by then; else it stays expected.
    pub(crate) async fn take_within(&self, id: &SandboxId, patience: Duration) -> Option<Slot> {
        let mut coming = self.coming().remove(id)?;
        match tokio::time::timeout(patience, &mut coming).await {
            Ok(made) => made.ok().flatten(),
            Err(_) => {
                self.coming().insert(id.clone(), coming);
                None
            }
        }
    }

    fn coming(&self) -> MutexGuard<'_, HashMap<SandboxId, JoinHandle<Option<Slot>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Begins the slot of a sandbox that is about to be created.
    pub(crate) fn expect(self: &Arc<Self>, id: &SandboxId, spec: &Spec) {
        self.begin_slot(id, spec, true);
    }

    /// The same, and tells its envd whose it is, or leaves that to whoever takes it.
    pub(crate) fn begin_slot(self: &Arc<Self>, id: &SandboxId, spec: &Spec, greets: bool) {
        // What it stands on is not known yet.
        if spec.checkout.is_some() || !spec.volumes.is_empty() {
            return;
        }
        /// Whoever announced it and has not come after so long was ended in between.
        const PATIENCE: Duration = Duration::from_secs(60);
        let (inner, whose, wanted) = (Arc::clone(self), id.clone(), spec.clone());
        let mut expected = self.expected.coming();
        if expected.contains_key(id) {
            return;
        }
        let coming = tokio::spawn(async move {
            let template = inner.find_template(&wanted).await.ok()?;
            // Its processes come back from memory, into a slot of their own kind.
            if template.memory {
                return None;
            }
            let (mut record, mut held) = inner.slot(&template, &wanted).await.ok()?;
            // In memory alone: on disk the slot is nobody's until the row of its sandbox is written.
            record.belong_to(&whose, &wanted);
            // Whom it trusts is made with the sandbox itself.
            if greets && wanted.network.headers.is_empty() {
                held.greeted = greet(&inner.envd_of(&record, &mut held), &record).await.is_ok();
            }
            Some((record, held))
        });
        expected.insert(id.clone(), coming);
        drop(expected);
        let (inner, id) = (Arc::downgrade(self), id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            let Some(inner) = inner.upgrade() else { return };
            if let Some((record, _)) = inner.expected.take(&id).await {
                let _ = inner.end_slot(record).await;
            }
        });
    }
}
