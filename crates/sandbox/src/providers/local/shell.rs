//! Shells: slots without a template, made before anybody asks. Each is a record, a folder, cgroups, and a process in its
//! namespaces that waits for a root.
//!
//! Namespaces and cgroups are the larger half of what a sandbox costs, and the same for every template. So a sandbox of a
//! template that nothing waits for is a shell with a root put into it. A shell belongs to nobody, like a slot of the pool:
//! the next life ends what an earlier one left. It is lost with the launcher, and then made like any other slot.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use carrel_model::sandbox::{Limits, VolumeMount};
use tokio::sync::Notify;

use super::{
    HOST, Inner, aside,
    kinds::patience,
    pool::Pool,
    record::Record,
    slot::{User, Yard},
};
use crate::template::{Config, Template};

/// The shells that wait.
pub(crate) struct Shells {
    /// So many.
    target: usize,
    waiting: Mutex<Vec<Record>>,
    /// What was asked for last, and when: the next ones are made for it.
    asked: Mutex<Option<(Limits, Instant)>>,
    /// Rung when one was taken, or could have been.
    taken: Notify,
    closed: AtomicBool,
    /// Held while one is being made and until it waits.
    making: tokio::sync::Mutex<()>,
}

impl Shells {
    pub(crate) fn new(target: usize) -> Shells {
        Shells {
            target,
            waiting: Mutex::default(),
            asked: Mutex::default(),
            taken: Notify::new(),
            closed: AtomicBool::new(false),
            making: tokio::sync::Mutex::default(),
        }
    }

    /// Keeps so many waiting in the background, once somebody has asked. Only root makes jails in two steps.
    pub(crate) fn start(inner: &Arc<Inner>) {
        if inner.shells.target > 0 && inner.yard.user == User::Root {
            tokio::spawn(refill(Arc::downgrade(inner)));
        }
    }

    /// One that waits. The next are made for these limits.
    pub(crate) fn take(&self, limits: Limits) -> Option<Record> {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some((limits, Instant::now()));
        let taken = self.waiting().pop();
        self.taken.notify_one();
        taken
    }

    pub(crate) fn count(&self) -> usize {
        self.waiting().len()
    }

    /// None waits any more, from now on. Returns when what was being made waits or has ended.
    pub(crate) async fn close(&self) -> Vec<Record> {
        self.closed.store(true, Ordering::SeqCst);
        self.taken.notify_one();
        let _made = self.making.lock().await;
        std::mem::take(&mut *self.waiting())
    }

    /// What the next one is to be made for, when one is missing, and when somebody last asked.
    fn wanted(&self) -> Option<(Limits, Instant)> {
        let asked = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.filter(|_| self.waiting().len() < self.target)
    }

    /// Waits as the pool does: whoever has just taken one, or a slot of the pool, has its first command still to come.
    async fn quiet(&self, pool: &Pool) {
        let began = Instant::now();
        loop {
            let asked = self.wanted().map(|(_, asked)| asked.elapsed());
            let since = asked.into_iter().chain(pool.since_asked()).min();
            let is_dry = self.target > 0 && self.count() == 0;
            let Some(patience) = patience(since, pool.is_busy(), began.elapsed(), is_dry) else { return };
            tokio::time::sleep(patience).await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Record>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Yard {
    /// Makes a shell, for these limits.
    fn make_shell(&self, limits: Limits) -> std::io::Result<Record> {
        let hollow = Template {
            name: HOST.parse().expect("a good name"),
            layers: Vec::new(),
            config: Config::default(),
            origin: String::new(),
            bytes: 0,
            made_at: jiff::Timestamp::now(),
            memory: false,
        };
        let record = self.plan(&hollow, limits, Vec::new(), false)?;
        let made = self
            .make_folder(&record)
            .and_then(|()| self.cgroup(&record).make(&super::slot::bounds(&limits)))
            .and_then(|()| self.launcher.prepare(&self.jail(&record)));
        if let Err(error) = made {
            self.end(&record)?;
            return Err(error);
        }
        Ok(record)
    }

    /// Plans a slot in a shell: its record says what it stands on before anything does.
    pub(crate) fn plan_in(
        &self,
        mut shell: Record,
        template: &Template,
        limits: Limits,
        volumes: Vec<VolumeMount>,
    ) -> std::io::Result<Record> {
        shell.template.clone_from(&template.name);
        shell.layers.clone_from(&template.layers);
        shell.config.clone_from(&template.config);
        shell.volumes = volumes;
        shell.limits = limits;
        self.keep(&shell)?;
        Ok(shell)
    }
}

async fn refill(inner: Weak<Inner>) {
    loop {
        let Some(here) = inner.upgrade() else { return };
        here.shells.quiet(&here.pool).await;
        let making = here.shells.making.lock().await;
        if here.shells.closed.load(Ordering::SeqCst) {
            return;
        }
        let mut is_made = false;
        if let Some((limits, _)) = here.shells.wanted() {
            let yard = Arc::clone(&here);
            if let Ok(shell) = aside(move || yard.yard.make_shell(limits)).await {
                here.shells.waiting().push(shell);
                is_made = true;
            }
        }
        drop(making);
        // What fails is tried again when the next one is asked for, who hears why.
        if !is_made {
            rest(here).await;
        }
    }
}

async fn rest(inner: Arc<Inner>) {
    inner.shells.taken.notified().await;
}
