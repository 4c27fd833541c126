//! The scribe writes down what happens inside sandboxes: behind those who do it, and many notes in one transaction.
//!
//! Whoever must know that a note is kept waits for it. The others go on, and are held up only when the scribe falls behind.

use std::{collections::HashMap, sync::Arc, time::Duration};

use carrel_model::{SandboxId, audit::AuditLine, exec::Exec};
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

/// What became of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is written down.
    Here,
    /// Another node writes down what this exec does by now.
    ByAnother,
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
    done: Option<oneshot::Sender<Kept>>,
    last: bool,
}

impl Scribe {
    /// A scribe that keeps at most so many bytes of what the execs of one sandbox printed, all together.
    pub(crate) fn new(store: Store, most: u64) -> Self {
        let (notes, waiting) = mpsc::channel(WAITING);
        let task = TaskTracker::new();
        task.spawn(write(store, waiting, most));
        task.close();
        Scribe { notes, task }
    }

    /// Has something written down; what comes back is told when it is kept. Waits while too much is waiting already.
    pub(crate) async fn note(&self, note: Note) -> oneshot::Receiver<Kept> {
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

async fn write(store: Store, mut waiting: mpsc::Receiver<Errand>, most: u64) {
    let mut errands = Vec::with_capacity(AT_ONCE);
    let mut printed = Printed { most, since: HashMap::new() };
    while waiting.recv_many(&mut errands, AT_ONCE).await > 0 {
        let over = errands.iter().any(|errand| errand.last);
        let (mut notes, mut done) = (Vec::new(), Vec::new());
        for errand in errands.drain(..) {
            let number = notes.len();
            if errand.note.exec.is_some() || errand.note.audit.is_some() {
                notes.push(errand.note);
            }
            done.extend(errand.done.map(|done| (number, done)));
        }
        let grown = printed.count(&notes);
        let kept = keep(&store, notes).await;
        for sandbox in grown {
            if let Err(error) = store.transcripts().thin(&sandbox, most).await {
                tracing::warn!(error = &error as &dyn std::error::Error, %sandbox, "its transcripts were not thinned out");
            }
        }
        for (number, done) in done {
            let _ = done.send(kept.get(number).copied().unwrap_or(Kept::Here));
        }
        if over {
            return;
        }
    }
}

/// What sandboxes printed since their transcripts were last looked at.
struct Printed {
    most: u64,
    since: HashMap<SandboxId, u64>,
}

impl Printed {
    /// Counts, and names those that printed so much that all they ever printed is worth a look. None is looked at for
    /// each of its execs.
    fn count(&mut self, notes: &[Note]) -> Vec<SandboxId> {
        let mut grown = Vec::new();
        for Growth { exec, chunks, closed, .. } in notes.iter().filter_map(|note| note.exec.as_ref()) {
            let since = self.since.entry(exec.sandbox.clone()).or_default();
            *since += chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum::<u64>();
            // Only what is over can be forgotten.
            if *closed && *since > self.most / 8 {
                grown.push(exec.sandbox.clone());
                self.since.remove(&exec.sandbox);
            }
        }
        // Those that are long gone make room; at worst one is looked at a little later.
        if self.since.len() > 10_000 {
            self.since.retain(|_, since| *since > self.most / 64);
        }
        grown
    }
}

/// Writes notes together; when they cannot be written together, one by one. A database that is away is waited for.
async fn keep(store: &Store, notes: Vec<Note>) -> Vec<Kept> {
    if notes.is_empty() {
        return Vec::new();
    }
    let notes = Arc::new(notes);
    if let Ok(kept) = try_long(store, &notes, 0..notes.len()).await {
        return kept;
    }
    let mut all = Vec::with_capacity(notes.len());
    for number in 0..notes.len() {
        match try_long(store, &notes, number..number + 1).await {
            Ok(kept) => all.extend(kept),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "what happened in a sandbox was not kept");
                all.push(Kept::Here);
            }
        }
    }
    all
}

async fn try_long(
    store: &Store,
    notes: &Arc<Vec<Note>>,
    which: std::ops::Range<usize>,
) -> Result<Vec<Kept>, StoreError> {
    for pause in [10, 50, 200, 500, 1000, 2000, 5000, 5000, 5000, 5000] {
        match try_once(store, notes, which.clone()).await {
            Err(error) if error.is_passing() => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the database does not answer; trying again");
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            other => return other,
        }
    }
    try_once(store, notes, which).await
}

async fn try_once(
    store: &Store,
    notes: &Arc<Vec<Note>>,
    which: std::ops::Range<usize>,
) -> Result<Vec<Kept>, StoreError> {
    let notes = Arc::clone(notes);
    let written = store.change(move |tx| {
        Box::pin(async move {
            let mut all = Vec::with_capacity(which.len());
            for note in &notes[which] {
                let mut kept = Kept::Here;
                if let Some(Growth { exec, chunks, extent, closed }) = &note.exec {
                    match tx.put_exec(exec).await? {
                        true => tx.extend_transcript(&exec.id, chunks, *extent, *closed).await?,
                        false => kept = Kept::ByAnother,
                    }
                }
                if let Some(line) = &note.audit {
                    tx.audit(line).await?;
                }
                all.push(kept);
            }
            Ok::<_, StoreError>(all)
        })
    });
    written.await
}
