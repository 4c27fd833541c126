//! The warm pool: slots that are made before anybody asks, per template and size. A used slot never returns.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use carrel_envd::Start;
use carrel_model::{
    TemplateName,
    sandbox::{Limits, Spec, VolumeMount},
};
use futures::StreamExt;
use tokio::sync::Notify;

use super::{
    Inner, PoolSize, aside,
    record::Record,
    slot::{Held, unavailable},
};
use crate::{
    ProviderError,
    template::{LayerId, Shown, Template},
};

/// What slots are alike in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    layers: Vec<LayerId>,
    shown: Vec<Shown>,
    size: String,
}

struct Waiting {
    template: Template,
    limits: Limits,
    slots: Vec<(Record, Held)>,
    asked: Instant,
}

pub(crate) struct Pool {
    size: PoolSize,
    waiting: Mutex<HashMap<Kind, Waiting>>,
    /// Rung when somebody took a slot.
    taken: Notify,
    closed: AtomicBool,
    /// Somebody waits for a slot to be made: the pool steps back.
    live: AtomicUsize,
    /// Held while a slot is being made and until it waits.
    filling: tokio::sync::Mutex<()>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Pool {
    pub(crate) fn new(size: PoolSize) -> Pool {
        Pool {
            size,
            waiting: Mutex::default(),
            taken: Notify::new(),
            closed: AtomicBool::new(false),
            live: AtomicUsize::new(0),
            filling: tokio::sync::Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Fills the pool in the background for as long as the provider is there.
    pub(crate) fn start(inner: &Arc<Inner>) {
        if inner.pool.size.target > 0 {
            tokio::spawn(refill(Arc::downgrade(inner)));
        }
    }

    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    pub(crate) fn waiting(&self) -> usize {
        self.kinds().values().map(|waiting| waiting.slots.len()).sum()
    }

    /// Nothing waits in it any more, from now on. Returns when what was being made is made, and waits or has ended.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.taken.notify_one();
        drop(self.stand_still().await);
    }

    /// Keeps the pool from making slots for as long as this is held.
    pub(crate) async fn stand_still(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.filling.lock().await
    }

    pub(crate) fn take_all(&self) -> Vec<Record> {
        self.kinds().drain().flat_map(|(_, waiting)| waiting.slots).map(|(record, _)| record).collect()
    }

    /// Slots of a template that is forgotten: nobody will ask for them, and they hold its layers.
    pub(crate) fn forget(&self, name: &TemplateName) -> Vec<Record> {
        let gone: Vec<_> = self.kinds().extract_if(|_, waiting| waiting.template.name == *name).collect();
        gone.into_iter().flat_map(|(_, waiting)| waiting.slots).map(|(record, _)| record).collect()
    }

    /// Slots that are shown something beneath a folder, which is to go.
    pub(crate) fn forget_shown(&self, folder: &Path) -> Vec<Record> {
        let beneath = |kind: &Kind| kind.shown.iter().any(|shown| shown.from.starts_with(folder));
        let gone: Vec<_> = self.kinds().extract_if(|kind, _| beneath(kind)).collect();
        gone.into_iter().flat_map(|(_, waiting)| waiting.slots).map(|(record, _)| record).collect()
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<Kind, Waiting>> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A slot that waits, and remembers that this kind is asked for.
    fn take(&self, template: &Template, limits: Limits) -> Option<(Record, Held)> {
        if self.size.target == 0 {
            return None;
        }
        let kind = Kind::of(template, &limits);
        let mut kinds = self.kinds();
        let fresh = || Waiting { template: template.clone(), limits, slots: Vec::new(), asked: Instant::now() };
        let waiting = kinds.entry(kind).or_insert_with(fresh);
        waiting.asked = Instant::now();
        let slot = waiting.slots.pop();
        drop(kinds);
        self.taken.notify_one();
        slot
    }

    /// Waits for a moment in which nobody waits for a sandbox: live work goes first.
    async fn quiet(&self) {
        /// Whoever has just claimed a slot has its first command still to come.
        const A_MOMENT: Duration = Duration::from_millis(25);
        loop {
            let last = self.kinds().values().map(|waiting| waiting.asked).max();
            let since = last.map_or(A_MOMENT, |last| last.elapsed());
            if since >= A_MOMENT && self.live.load(Ordering::SeqCst) == 0 {
                return;
            }
            tokio::time::sleep(A_MOMENT.saturating_sub(since).max(Duration::from_millis(5))).await;
        }
    }

    /// Lets a slot wait; gives it back when nobody waits for its kind any more.
    fn put(&self, kind: &Kind, slot: (Record, Held)) -> Option<(Record, Held)> {
        let mut kinds = self.kinds();
        match kinds.get_mut(kind) {
            Some(waiting) if !self.closed.load(Ordering::SeqCst) => {
                waiting.slots.push(slot);
                None
            }
            _ => Some(slot),
        }
    }

    /// What is to be made next: the kind that was asked for last and has too few. Kinds that nobody asks for any more make room.
    fn next(&self) -> Next {
        let mut kinds = self.kinds();
        let total: usize = kinds.values().map(|waiting| waiting.slots.len()).sum();
        let wanted = kinds.iter().filter(|(_, waiting)| waiting.slots.len() < self.size.target);
        let Some((kind, wanted)) = wanted.max_by_key(|(_, waiting)| waiting.asked) else { return Next::Rest };
        if total < self.size.cap {
            return Next::Make(kind.clone(), Box::new(wanted.template.clone()), wanted.limits);
        }
        let asked = wanted.asked;
        let others = kinds.values_mut().filter(|other| !other.slots.is_empty() && other.asked < asked);
        match others.min_by_key(|other| other.asked).and_then(|oldest| oldest.slots.pop()) {
            Some((record, _)) => Next::End(Box::new(record)),
            None => Next::Rest,
        }
    }
}

enum Next {
    Make(Kind, Box<Template>, Limits),
    End(Box<Record>),
    Rest,
}

impl Kind {
    fn of(template: &Template, limits: &Limits) -> Kind {
        Kind { layers: template.layers.clone(), shown: template.config.shown.clone(), size: format!("{limits:?}") }
    }
}

impl Inner {
    /// A slot for a sandbox: one that waits, or a new one.
    pub(crate) async fn slot(
        self: &Arc<Self>,
        template: &Template,
        spec: &Spec,
    ) -> Result<(Record, Held), ProviderError> {
        if let Some(slot) = self.waiting_slot(template, spec).await? {
            return Ok(slot);
        }
        self.pool.misses.fetch_add(1, Ordering::Relaxed);
        metrics::counter!("carrel_pool_misses_total").increment(1);
        self.pool.live.fetch_add(1, Ordering::SeqCst);
        let made = self.make_slot(template.clone(), spec.limits, spec.volumes.clone(), false).await;
        if self.pool.live.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.pool.taken.notify_one();
        }
        made
    }

    /// A slot that waits, if one does.
    pub(crate) async fn waiting_slot(
        self: &Arc<Self>,
        template: &Template,
        spec: &Spec,
    ) -> Result<Option<(Record, Held)>, ProviderError> {
        // Nothing waits with a volume that is somebody's.
        let waits = spec.volumes.is_empty();
        while let Some((record, held)) = waits.then(|| self.pool.take(template, spec.limits)).flatten() {
            if !record.first.is_some_and(|first| first.is_alive()) {
                // It was lost while it waited.
                self.end_slot(record).await?;
                continue;
            }
            self.pool.hits.fetch_add(1, Ordering::Relaxed);
            metrics::counter!("carrel_pool_hits_total").increment(1);
            return Ok(Some((record, held)));
        }
        Ok(None)
    }

    /// A slot for one step of a recipe.
    pub(crate) async fn make_bench(
        self: &Arc<Self>,
        template: Template,
        limits: Limits,
    ) -> Result<(Record, Held), ProviderError> {
        self.make_slot(template, limits, Vec::new(), true).await
    }

    /// Asks its envd something, so that it has come up before anybody needs it, and opens lines for its first callers.
    async fn warm(&self, (record, held): &(Record, Held)) {
        /// There in nearly every template; where it is not, the first command finds what it runs for itself.
        const ANYTHING: &str = "/bin/true";
        let envd = self.envd_of(record, held);
        let _ = envd.health().await;
        // The first command in a jail pays for what the kernel looks up and maps once: the slot pays that here.
        let first = Start { program: ANYTHING.into(), timeout: Some(Duration::from_secs(5)), ..Start::default() };
        if let Ok(mut events) = envd.start(&first).await {
            while let Some(Ok(_)) = events.next().await {}
        }
        envd.hang_up();
        if self.yard.socket_path(record).is_none() {
            let caller = self.caller(held);
            // One to be told who it is, one for its first command.
            for _ in 0..2 {
                caller.keep_one().await;
            }
        }
    }

    async fn make_slot(
        self: &Arc<Self>,
        template: Template,
        limits: Limits,
        volumes: Vec<VolumeMount>,
        bench: bool,
    ) -> Result<(Record, Held), ProviderError> {
        let inner = Arc::clone(self);
        let made = aside(move || {
            let mut record = inner.yard.plan(&template, limits, volumes, bench)?;
            match inner.yard.launch(&mut record) {
                Ok(held) => Ok(Ok((record, held))),
                Err(error) => {
                    inner.yard.end(&record)?;
                    inner.yard.empty_trash()?;
                    Ok(Err(error))
                }
            }
        });
        made.await.map_err(|error| unavailable("make a slot", &error))?
    }
}

async fn refill(inner: Weak<Inner>) {
    loop {
        let Some(here) = inner.upgrade() else { return };
        if here.pool.closed.load(Ordering::SeqCst) {
            return;
        }
        metrics::gauge!("carrel_pool_waiting").set(here.pool.waiting() as f64);
        here.pool.quiet().await;
        let filling = here.pool.stand_still().await;
        if here.pool.closed.load(Ordering::SeqCst) {
            return;
        }
        let filled = match here.pool.next() {
            Next::Make(kind, template, limits) => match here.make_slot(*template, limits, Vec::new(), false).await {
                Ok(slot) => {
                    here.warm(&slot).await;
                    if let Some((record, _)) = here.pool.put(&kind, slot) {
                        let _ = here.end_slot(record).await;
                    }
                    false
                }
                // Whoever asks for one hears why; the pool tries again when the next one was taken.
                Err(_) => true,
            },
            Next::End(record) => here.end_slot(*record).await.is_err(),
            Next::Rest => true,
        };
        drop(filling);
        if filled {
            rest(here).await;
        }
    }
}

async fn rest(inner: Arc<Inner>) {
    inner.pool.taken.notified().await;
}
