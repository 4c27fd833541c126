//! The sandboxes that were looked at lately, as they now are, so that a look costs no query.
//!
//! The journal carries each subject as it now is: before every look the shelf takes in what the journal's tail has
//! that the shelf has not. A look therefore never sees less than this node's own changes.

use std::{
    collections::HashMap,
    sync::{Arc, RwLock},
};

use carrel_model::{
    SandboxId,
    public::{Cursor, Happening, SandboxView},
};
use carrel_store::Journal;

/// More than these are not kept.
const ROOM: usize = 8192;

#[derive(Default)]
pub(crate) struct Shelf {
    held: RwLock<Held>,
}

#[derive(Default)]
struct Held {
    cursor: Cursor,
    views: HashMap<SandboxId, Arc<SandboxView>>,
    /// Grows whenever the shelf is emptied: what was read before is not put on it after.
    emptied: u64,
}

impl Shelf {
    /// The sandbox as it now is, when the shelf has it; and how often the shelf was emptied so far.
    pub(crate) fn look(&self, journal: &Journal<'_>, id: &SandboxId) -> (Option<Arc<SandboxView>>, u64) {
        {
            let held = self.held.read().expect("nobody panics at the shelf");
            if held.cursor == journal.head() {
                return (held.views.get(id).cloned(), held.emptied);
            }
        }
        let mut held = self.held.write().expect("nobody panics at the shelf");
        held.catch_up(journal);
        (held.views.get(id).cloned(), held.emptied)
    }

    /// Puts what was read from the database, unless the shelf has something newer or was emptied since the look.
    pub(crate) fn put(&self, view: Arc<SandboxView>, since: u64) {
        let mut held = self.held.write().expect("nobody panics at the shelf");
        if held.emptied == since {
            held.put(view);
        }
    }
}

impl Held {
    fn catch_up(&mut self, journal: &Journal<'_>) {
        let Some(missed) = journal.recent_after(self.cursor) else {
            // Too far behind to know what changed: everything is looked up again.
            self.empty();
            self.cursor = journal.head();
            return;
        };
        for written in missed {
            self.cursor = written.cursor();
            if let Happening::Sandbox { sandbox } = &written.entry().happening {
                self.put(Arc::new((**sandbox).clone()));
            }
        }
    }

    fn empty(&mut self) {
        self.views.clear();
        self.emptied += 1;
    }

    fn put(&mut self, view: Arc<SandboxView>) {
        if self.views.len() >= ROOM {
            self.empty();
        }
        let newer = self.views.get(&view.id).is_none_or(|held| held.revision < view.revision);
        if newer {
            self.views.insert(view.id.clone(), view);
        }
    }
}
