//! The newest part of the journal, kept in memory, so that a thousand readers cost one query.

use std::{
    collections::VecDeque,
    sync::{Arc, RwLock, atomic::AtomicBool},
    time::Duration,
};

use carrel_model::public::{Cursor, Entry};
use tokio::sync::{Notify, watch};

use crate::StoreError;

/// How many entries are kept.
const KEPT: usize = 4096;
/// How many bytes of them are kept.
const KEPT_BYTES: usize = 32 * 1024 * 1024;

/// An entry with its JSON, written once for all readers.
#[derive(Debug, PartialEq)]
pub struct Written {
    entry: Entry,
    json: String,
}

impl Written {
    pub(crate) fn new(entry: Entry) -> Result<Self, StoreError> {
        let json = serde_json::to_string(&entry).map_err(|_| StoreError::Corrupt { what: "an entry".into() })?;
        Ok(Self { entry, json })
    }

    /// The entry.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Its place.
    pub fn cursor(&self) -> Cursor {
        self.entry.cursor
    }

    /// The entry as JSON.
    pub fn json(&self) -> &str {
        &self.json
    }
}

pub(crate) struct Tail {
    ring: RwLock<Ring>,
    head: watch::Sender<Cursor>,
    /// Asks the pump to read what the ring lacks.
    pub(crate) behind: Notify,
    /// The bell of other nodes cannot be heard at the moment.
    pub(crate) deaf: AtomicBool,
}

/// The entries in memory, the oldest first.
#[derive(Default)]
struct Ring {
    entries: VecDeque<Arc<Written>>,
    bytes: usize,
}

impl Ring {
    fn push(&mut self, entry: Arc<Written>) {
        self.bytes += entry.json.len();
        self.entries.push_back(entry);
        while self.entries.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some(oldest) = self.entries.pop_front() else { return };
            self.bytes -= oldest.json.len();
        }
    }
}

impl Tail {
    pub(crate) fn new(head: Cursor) -> Self {
        Self {
            ring: RwLock::default(),
            head: watch::Sender::new(head),
            behind: Notify::new(),
            deaf: AtomicBool::new(false),
        }
    }

    /// The newest entry this node has seen.
    pub(crate) fn head(&self) -> Cursor {
        *self.head.borrow()
    }

    /// Rings when there is a newer entry.
    pub(crate) fn bell(&self) -> watch::Receiver<Cursor> {
        self.head.subscribe()
    }

    /// Takes entries that were just committed; asks the pump when others are missing in between.
    pub(crate) fn offer(&self, entries: Vec<Arc<Written>>) {
        let Some(last) = entries.last().map(|entry| entry.cursor()) else { return };
        if self.push(entries) < last {
            self.behind.notify_one();
        }
    }

    /// Puts the entries that follow the head into the ring, and says where the head is now.
    pub(crate) fn push(&self, entries: Vec<Arc<Written>>) -> Cursor {
        let mut ring = self.ring.write().expect("nobody panics while holding the ring");
        let mut head = self.head();
        for entry in entries {
            if entry.cursor().0 == head.0 + 1 {
                head = entry.cursor();
                ring.push(entry);
            }
        }
        // Told while the ring is held, so that two pushes cannot tell in the wrong order.
        self.head.send_if_modified(|known| std::mem::replace(known, head) != head);
        head
    }

    /// The entries after a cursor, when the ring still has them all.
    pub(crate) fn after(&self, cursor: Cursor, most: usize) -> Option<Vec<Arc<Written>>> {
        let ring = self.ring.read().expect("nobody panics while holding the ring");
        let first = ring.entries.front()?.cursor().0;
        // A reader may bring any number as its cursor.
        let skip = usize::try_from(cursor.0.saturating_add(1).saturating_sub(first)).ok()?;
        Some(ring.entries.iter().skip(skip).take(most).cloned().collect())
    }

    /// Waits until this node has seen a cursor. Gives up after a while: then the pump is in trouble, not the caller.
    pub(crate) async fn reach(&self, cursor: Cursor) {
        if self.head() >= cursor {
            return;
        }
        let mut bell = self.bell();
        let seen = bell.wait_for(|head| *head >= cursor);
        if tokio::time::timeout(Duration::from_secs(5), seen).await.is_err() {
            tracing::warn!(cursor = cursor.0, "the journal's tail lags behind its commits");
        }
    }
}

impl Tail {
    /// Starts the ring anew after a cursor: what lies before it is no longer kept anywhere.
    pub(crate) fn leap(&self, head: Cursor) {
        let mut ring = self.ring.write().expect("nobody panics while holding the ring");
        *ring = Ring::default();
        self.head.send_replace(head);
    }
}
