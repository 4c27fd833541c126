//! What rows are about to say.
//!
//! When a provider has done what was asked of it, the fact is on its way to the disk, and whoever waits for it need not
//! wait for the disk too: should the process end in between, the step is repeated, finds itself done, and the same fact
//! is written. So those who wait, and those who look, are told at once; whoever reads rows waits until the rows have
//! caught up. Only where one process has the database to itself: others see the rows alone.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use carrel_model::{SandboxId, public::SandboxView};
use tokio::sync::{broadcast, watch};

/// More than so many at the same moment are heard of by the journal.
const ROOM: usize = 256;

/// Tells, and remembers until the rows say so themselves.
pub(crate) struct Foretold {
    state: watch::Sender<State>,
    news: broadcast::Sender<Arc<SandboxView>>,
}

#[derive(Default)]
struct State {
    /// Counts what was ever told.
    next: u64,
    open: BTreeMap<u64, SandboxId>,
    views: HashMap<SandboxId, (u64, Arc<SandboxView>)>,
}

/// Something that was told. When this is dropped the row says it, or never will.
pub(crate) struct Told {
    number: u64,
    state: watch::Sender<State>,
}

impl Default for Foretold {
    fn default() -> Self {
        Foretold { state: watch::Sender::default(), news: broadcast::Sender::new(ROOM) }
    }
}

impl Foretold {
    /// Tells how a sandbox now is.
    pub(crate) fn tell(&self, view: Arc<SandboxView>) -> Told {
        let mut number = 0;
        self.state.send_modify(|state| {
            number = state.next;
            state.next += 1;
            state.open.insert(number, view.id.clone());
            state.views.insert(view.id.clone(), (number, Arc::clone(&view)));
        });
        let _ = self.news.send(view);
        Told { number, state: self.state.clone() }
    }

    /// How a sandbox is, when its row does not say so yet.
    pub(crate) fn find(&self, id: &SandboxId) -> Option<Arc<SandboxView>> {
        self.state.borrow().views.get(id).map(|(_, view)| Arc::clone(view))
    }

    /// Waits until a row says what was told of it, and is out of the hands that wrote it.
    pub(crate) async fn written(&self, id: &SandboxId) {
        if self.find(id).is_some() {
            // We hold the sender.
            let _ = self.state.subscribe().wait_for(|state| !state.views.contains_key(id)).await;
        }
    }

    /// Hears what is told from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<SandboxView>> {
        self.news.subscribe()
    }

    /// Waits until the rows say everything that was told so far.
    pub(crate) async fn settled(&self) {
        let so_far = self.state.borrow().next;
        let caught_up = |state: &State| state.open.first_key_value().is_none_or(|(number, _)| *number >= so_far);
        // We hold the sender.
        let _ = self.state.subscribe().wait_for(caught_up).await;
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.state.send_modify(|state| {
            let Some(id) = state.open.remove(&self.number) else { return };
            if state.views.get(&id).is_some_and(|(number, _)| *number == self.number) {
                state.views.remove(&id);
            }
        });
    }
}
