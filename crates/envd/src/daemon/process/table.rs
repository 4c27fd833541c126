//! The table of processes: those that run, and those that ended in the last half minute.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::process::WaitStatus;
use tokio::sync::{mpsc, oneshot};

use super::{
    input::Input,
    pump::{Heard, Hearing, Reader},
    recent::Recent,
};
use crate::wire::{
    Code, Fault,
    process::{EndEvent, ProcessConfig, ProcessInfo, ProcessSelector, PtySize},
};

const REMEMBERED: Duration = Duration::from_secs(30);
const MOST_REMEMBERED: usize = 256;
/// So much of what they said last is kept of all that ended, together.
const LAST_WORDS: usize = 256 << 10;

/// A process that envd started.
pub(in crate::daemon) struct Process {
    pub(super) pid: u32,
    pub(super) tag: Option<String>,
    pub(super) config: Mutex<ProcessConfig>,
    pub(in crate::daemon) input: Input,
    pub(super) readers: mpsc::UnboundedSender<Reader>,
    pub(super) signalled: AtomicBool,
    pub(super) exited: AtomicBool,
    pub(super) timed_out: AtomicBool,
    pub(super) end: Mutex<Option<EndEvent>>,
    pub(super) recent: Mutex<Recent>,
}

impl Process {
    /// Whether it has not been waited for yet, so that its number is still its own.
    pub(super) fn is_running(&self) -> bool {
        !self.exited.load(Ordering::Relaxed)
    }

    pub(super) fn note_signal(&self) {
        self.signalled.store(true, Ordering::Relaxed);
    }

    /// Attaches somebody who hears everything from now on, or from what they heard already.
    pub(super) fn hear(self: &Arc<Self>, heard: Option<u64>) -> Hearing {
        let (reader, hearing) = Hearing::new(self.clone(), heard);
        let end = lock(&self.end).clone();
        match end {
            Some(end) => {
                let mut reader = reader;
                reader.catch_up(&lock(&self.recent));
                reader.tell_alone(Heard::End(end));
            }
            // The pump lets go of its end of this only after it noted the end.
            None => drop(self.readers.send(reader)),
        }
        hearing
    }

    pub(super) fn resize(&self, size: PtySize) -> Result<(), Fault> {
        self.input.resize(size)
    }
}

/// Whether those that ended count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Also {
    Ended,
    Nobody,
}

/// All processes.
#[derive(Default)]
pub(in crate::daemon) struct Table {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    running: HashMap<u32, Arc<Process>>,
    waited_for: HashMap<u32, oneshot::Sender<WaitStatus>>,
    ended: VecDeque<(Instant, Arc<Process>)>,
}

impl Table {
    /// Notes a process that was just spawned; whoever holds the receiver hears how it ends.
    pub(super) fn expect(&self, pid: u32) -> oneshot::Receiver<WaitStatus> {
        let (sender, receiver) = oneshot::channel();
        self.lock().waited_for.insert(pid, sender);
        receiver
    }

    pub(super) fn add(&self, process: &Arc<Process>) {
        self.lock().running.insert(process.pid, process.clone());
    }

    /// A child was reaped: one of ours, or an orphan that nobody asks for.
    pub(in crate::daemon) fn ended(&self, pid: u32, status: WaitStatus) {
        let mut inner = self.lock();
        if let Some(process) = inner.running.get(&pid) {
            process.exited.store(true, Ordering::Relaxed);
        }
        if let Some(waiting) = inner.waited_for.remove(&pid) {
            let _ = waiting.send(status);
        }
    }

    /// A process ended and has said everything.
    pub(super) fn finish(&self, process: &Arc<Process>, end: EndEvent) {
        *lock(&process.end) = Some(end);
        *lock(&process.config) = ProcessConfig::default();
        let mut inner = self.lock();
        // Its number may already be another's.
        if inner.running.get(&process.pid).is_some_and(|running| Arc::ptr_eq(running, process)) {
            inner.running.remove(&process.pid);
        }
        inner.ended.push_back((Instant::now(), process.clone()));
        inner.forget();
        let mut kept = 0;
        for (_, process) in inner.ended.iter().rev() {
            let mut recent = lock(&process.recent);
            kept += recent.cost();
            if kept > LAST_WORDS {
                recent.forget();
            }
        }
    }

    pub(super) fn find(&self, selector: Option<&ProcessSelector>, also: Also) -> Result<Arc<Process>, Fault> {
        let mut inner = self.lock();
        inner.forget();
        let name = match selector {
            Some(ProcessSelector { pid: Some(pid), .. }) => format!("pid {pid}"),
            Some(ProcessSelector { tag: Some(tag), .. }) => format!("tag {tag}"),
            _ => return Err(Fault::new(Code::InvalidArgument, "no process was named")),
        };
        let is_it = |process: &Process| match selector {
            Some(ProcessSelector { pid: Some(pid), .. }) => process.pid == *pid,
            Some(ProcessSelector { tag, .. }) => process.tag == *tag,
            None => false,
        };
        let running = inner.running.values().find(|process| is_it(process));
        let ended = || {
            let last = inner.ended.iter().rev().find(|(_, process)| is_it(process));
            last.filter(|_| also == Also::Ended).map(|(_, process)| process)
        };
        running
            .or_else(ended)
            .cloned()
            .ok_or_else(|| Fault::new(Code::NotFound, format!("process with {name} not found")))
    }

    pub(super) fn list(&self) -> Vec<ProcessInfo> {
        let mut inner = self.lock();
        inner.forget();
        let mut processes: Vec<_> = inner
            .running
            .values()
            .map(|process| ProcessInfo {
                config: Some(lock(&process.config).clone()),
                pid: process.pid,
                tag: process.tag.clone(),
            })
            .collect();
        processes.sort_by_key(|process| process.pid);
        processes
    }

    /// The numbers of those that run.
    pub(in crate::daemon) fn pids(&self) -> Vec<u32> {
        self.lock().waited_for.keys().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

impl Inner {
    fn forget(&mut self) {
        while self.ended.len() > MOST_REMEMBERED
            || self.ended.front().is_some_and(|(since, _)| since.elapsed() > REMEMBERED)
        {
            self.ended.pop_front();
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
