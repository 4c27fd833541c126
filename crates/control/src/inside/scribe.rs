//! The scribe writes down what happens inside sandboxes: behind those who do it, and many notes in one transaction.
//!
//! Whoever must know that a note is kept waits for it. The others go on, and are held up only when the scribe falls behind.

use std::{sync::Arc, time::Duration};

use carrel_model::{audit::AuditLine, exec::Exec};
use carrel_store::{Chunk, Extent, Store, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

/// So many notes may wait.
const WAITING: usize = 1024;
/// So many are written at once.
const AT_ONCE: usize = 64;

pub(crate) struct Scribe {
    notes: mpsc::Sender<Errand>,
    task: TaskTracker,
}

/// What is to be written down.
#[derive(Default)]
pub(crate) struct Note {
    /// An exec as it now stands, with what its transcript has grown by.
    pub(crate) exec: Option<Growth>,
    /// A line of the audit.
    pub(crate) audit: Option<AuditLine>,
}

pub(crate) struct Growth {
    pub(crate) exec: Exec,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) extent: Extent,
    pub(crate) closed: bool,
}

struct Errand {
    note: Note,
    done: Option<oneshot::Sender<()>>,
    last: bool,
}

impl Scribe {
    pub(crate) fn new(store: Store) -> Self {
        let (notes, waiting) = mpsc::channel(WAITING);
        let task = TaskTracker::new();
        task.spawn(write(store, waiting));
        task.close();
        Scribe { notes, task }
    }

    /// Has something written down; what comes back is told when it is kept. Waits while too much is waiting already.
    pub(crate) async fn note(&self, note: Note) -> oneshot::Receiver<()> {
        let (done, kept) = oneshot::channel();
        // Nobody writes any more only when the house is closed.
        let _ = self.notes.send(Errand { note, done: Some(done), last: false }).await;
        kept
    }

    /// Has a line of the audit written down, some time soon.
    pub(crate) async fn audit(&self, line: AuditLine) {
        let note = Note { audit: Some(line), ..Note::default() };
        let _ = self.notes.send(Errand { note, done: None, last: false }).await;
    }

    /// Waits until everything that was noted so far is kept.
    pub(crate) async fn catch_up(&self) {
        let _ = self.note(Note::default()).await.await;
    }

    /// Writes what is waiting, and no more.
    pub(crate) async fn finish(&self) {
        let _ = self.notes.send(Errand { note: Note::default(), done: None, last: true }).await;
        self.task.wait().await;
    }
}

async fn write(store: Store, mut waiting: mpsc::Receiver<Errand>) {
    let mut errands = Vec::with_capacity(AT_ONCE);
    while waiting.recv_many(&mut errands, AT_ONCE).await > 0 {
        let over = errands.iter().any(|errand| errand.last);
        let (mut notes, mut done) = (Vec::new(), Vec::new());
        for errand in errands.drain(..) {
            if errand.note.exec.is_some() || errand.note.audit.is_some() {
                notes.push(errand.note);
            }
            done.extend(errand.done);
        }
        keep(&store, notes).await;
        for done in done {
            let _ = done.send(());
        }
        if over {
            return;
        }
    }
}

/// Writes notes together; when they cannot be written together, one by one. A database that is away is waited for.
async fn keep(store: &Store, notes: Vec<Note>) {
    if notes.is_empty() {
        return;
    }
    let notes = Arc::new(notes);
    if try_long(store, &notes, 0..notes.len()).await.is_ok() {
        return;
    }
    for number in 0..notes.len() {
        if let Err(error) = try_long(store, &notes, number..number + 1).await {
            tracing::error!(error = &error as &dyn std::error::Error, "what happened in a sandbox was not kept");
        }
    }
}

async fn try_long(store: &Store, notes: &Arc<Vec<Note>>, which: std::ops::Range<usize>) -> Result<(), StoreError> {
    for pause in [10, 50, 200, 500, 1000, 2000, 5000, 5000, 5000, 5000, 0] {
        match try_once(store, notes, which.clone()).await {
            Err(error) if error.is_passing() && pause > 0 => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the database does not answer; trying again");
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            other => return other,
        }
    }
    Ok(())
}

async fn try_once(store: &Store, notes: &Arc<Vec<Note>>, which: std::ops::Range<usize>) -> Result<(), StoreError> {
    let notes = Arc::clone(notes);
    let written = store.change(move |tx| {
        Box::pin(async move {
            for note in &notes[which] {
                if let Some(Growth { exec, chunks, extent, closed }) = &note.exec {
                    tx.put_exec(exec).await?;
                    tx.extend_transcript(&exec.id, chunks, *extent, *closed).await?;
                }
                if let Some(line) = &note.audit {
                    tx.audit(line).await?;
                }
            }
            Ok::<_, StoreError>(())
        })
    });
    written.await
}
