//! The warm pool: slots that are made before anybody asks, per template and size. A used slot never returns.

use std::{
    collections::HashSet,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use carrel_envd::Start;
use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Limits, Spec, VolumeMount},
};
use futures::StreamExt;
use tokio::sync::Notify;

use super::{
    Inner, PoolSize, aside,
    desk::greet,
    kinds::{Kinds, Next},
    record::Record,
    slot::{Held, random, unavailable},
};
use crate::{ProviderError, template::Template};

pub(crate) struct Pool {
    size: PoolSize,
    waiting: Mutex<Kinds<(Record, Held)>>,
    /// Snapshots behind forks: they go when their forks stand, and nobody asks for them again.
    passing: Mutex<HashSet<TemplateName>>,
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
            waiting: Mutex::new(Kinds::new(size)),
            passing: Mutex::default(),
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
        self.kinds().waiting()
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
        records(self.kinds().take_all())
    }

    /// Slots of a template that is forgotten: nobody will ask for them, and they hold its layers.
    pub(crate) fn forget(&self, name: &TemplateName) -> Vec<Record> {
        self.passing().remove(name);
        records(self.kinds().forget(name))
    }

    /// Slots of earlier versions of a template.
    pub(crate) fn forget_earlier(&self, now: &Template) -> Vec<Record> {
        records(self.kinds().forget_earlier(now))
    }

    /// Slots that are shown something beneath a folder, which is to go.
    pub(crate) fn forget_shown(&self, folder: &Path) -> Vec<Record> {
        records(self.kinds().forget_shown(folder))
    }

    /// Nothing is made ahead for a template that is there for a moment, until it is forgotten.
    pub(crate) fn let_pass(&self, name: &TemplateName) {
        self.passing().insert(name.clone());
    }

    fn kinds(&self) -> MutexGuard<'_, Kinds<(Record, Held)>> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn passing(&self) -> MutexGuard<'_, HashSet<TemplateName>> {
        self.passing.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A slot that waits, and remembers that this kind is asked for.
    fn take(&self, template: &Template, limits: Limits) -> Option<(Record, Held)> {
        if self.size.target == 0 || self.passing().contains(&template.name) {
            return None;
        }
        let slot = self.kinds().take(template, limits, Instant::now());
        self.taken.notify_one();
        slot
    }

    /// Waits for a moment in which nobody waits for a sandbox: live work goes first, unless nothing waits and no such moment
    /// comes.
    async fn quiet(&self) {
        let began = Instant::now();
        loop {
            let patience = self.kinds().patience(self.is_busy(), began.elapsed(), Instant::now());
            let Some(patience) = patience else { return };
            tokio::time::sleep(patience).await;
        }
    }

    /// Whether somebody waits for a slot to be made.
    pub(crate) fn is_busy(&self) -> bool {
        self.live.load(Ordering::SeqCst) > 0
    }

    /// How long ago somebody asked for a sandbox, if anybody did.
    pub(crate) fn since_asked(&self) -> Option<Duration> {
        self.kinds().since_asked(Instant::now())
    }
}

fn records(slots: Vec<(Record, Held)>) -> Vec<Record> {
    slots.into_iter().map(|(record, _)| record).collect()
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

    /// Tells its envd by which name it waits, so that it has come up before anybody needs it and knows all that there is to
    /// know when the name is kept, and opens lines for its first callers.
    async fn warm(&self, (record, held): &mut (Record, Held)) {
        /// There in nearly every template; where it is not, the first command finds what it runs for itself.
        const ANYTHING: &str = "/bin/true";
        let envd = self.envd_of(record, held);
        let name = SandboxId::from_random(random());
        // In memory alone: on disk it is nobody's.
        let told = Record { id: Some(name.clone()), ..record.clone() };
        held.name = greet(&envd, &told).await.is_ok().then_some(name);
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
        // What a bench writes is moved away, which the folder of a shell does not let it.
        let shell = if bench { None } else { self.shells.take(limits) };
        let made = aside(move || {
            let fits = shell.as_ref().is_some_and(|shell| shell.limits == limits);
            let planned = match shell {
                Some(shell) => inner.yard.plan_in(shell, &template, limits, volumes),
                None => inner.yard.plan(&template, limits, volumes, bench),
            };
            let mut record = planned?;
            let launched = if fits { inner.yard.launch_there(&mut record) } else { inner.yard.launch(&mut record) };
            match launched {
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
        let next = here.pool.kinds().next(Instant::now());
        let filled = match next {
            Next::Make(wanted) => {
                let (kind, template, limits) = *wanted;
                // Whoever asks for one hears why it failed; the pool tries again when the next one was taken.
                match here.make_slot(template, limits, Vec::new(), false).await {
                    Ok(mut slot) => {
                        here.warm(&mut slot).await;
                        let closed = here.pool.closed.load(Ordering::SeqCst);
                        let unwanted = if closed { Some(slot) } else { here.pool.kinds().put(&kind, slot) };
                        if let Some((record, _)) = unwanted {
                            let _ = here.end_slot(record).await;
                        }
                        false
                    }
                    Err(_) => true,
                }
            }
            Next::End((record, _)) => here.end_slot(record).await.is_err(),
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
