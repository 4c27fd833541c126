//! Pausing: how deep a sandbox can sleep here, and how it wakes.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Spec},
};

use super::{
    Inner, Local, aside,
    desk::{Desk, Place},
    finish,
    record::Record,
    slot::{Held, KERNEL_PATIENCE, unavailable},
};
use crate::{Pausing, ProviderError, template::Template};

#[async_trait]
impl Pausing for Local {
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        finish(tokio::spawn(async move {
            let place = inner.place(&id).ok_or(ProviderError::Lost)?;
            let mut desk = place.desk().await;
            let desk = desk.as_mut().ok_or(ProviderError::Lost)?;
            inner.lull(desk, depth).await
        }))
        .await
    }

    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        finish(tokio::spawn(async move {
            let place = inner.place(&id).ok_or(ProviderError::Lost)?;
            let mut desk = place.desk().await;
            let desk = desk.as_mut().ok_or(ProviderError::Lost)?;
            inner.wake(desk, &place).await
        }))
        .await
    }
}

impl Inner {
    /// Puts a sandbox to sleep, as deep as asked and possible.
    async fn lull(self: &Arc<Self>, desk: &mut Desk, depth: Depth) -> Result<Depth, ProviderError> {
        // Where nothing can be frozen, only files can be kept.
        let depth = if self.yard.hierarchies.can_freeze() { depth } else { Depth::Files };
        let now = match desk.record.asleep {
            Some(now) if now >= depth => return Ok(now),
            // Its processes were lost: only its files are left, and they sleep already.
            _ if !desk.is_alive() => {
                self.note(desk, Some(Depth::Files))?;
                self.forget_memory(desk).await?;
                return Ok(Depth::Files);
            }
            now => now,
        };
        let reached = match depth {
            Depth::Frozen => self.freeze(desk).await.map(|()| Depth::Frozen)?,
            Depth::PagedOut => {
                if now.is_none() {
                    self.freeze(desk).await?;
                }
                // Where there is no swap, or nothing went there, it stays frozen.
                if self.page_out(desk).await.is_ok_and(|bytes| bytes > 0) { Depth::PagedOut } else { Depth::Frozen }
            }
            Depth::Stored => self.store(desk).await?,
            Depth::Files => self.keep_files(desk).await?,
        };
        self.note(desk, Some(reached))?;
        Ok(reached)
    }

    async fn wake(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) -> Result<Depth, ProviderError> {
        let from = match desk.record.asleep {
            None if desk.is_alive() => return Ok(Depth::Frozen),
            // Its processes were lost without anybody putting it to sleep.
            None => Depth::Files,
            Some(from) => from,
        };
        let from = match from {
            Depth::Frozen | Depth::PagedOut if desk.is_alive() => {
                let (inner, record) = (Arc::clone(self), desk.record.clone());
                let thawed = aside(move || inner.yard.cgroup(&record).set_frozen(false, KERNEL_PATIENCE));
                thawed.await.map_err(|error| unavailable("thaw it", &error))?;
                from
            }
            Depth::Stored => self.restore(desk, place).await?,
            Depth::Frozen | Depth::PagedOut | Depth::Files => {
                self.launch(desk, place).await?;
                Depth::Files
            }
        };
        self.note(desk, None)?;
        self.forget_memory(desk).await?;
        self.introduce(desk).await?;
        Ok(from)
    }

    pub(crate) async fn freeze(self: &Arc<Self>, desk: &Desk) -> Result<(), ProviderError> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let frozen = aside(move || inner.yard.cgroup(&record).set_frozen(true, KERNEL_PATIENCE));
        frozen.await.map_err(|error| unavailable("freeze it", &error))
    }

    /// Moves the memory of a frozen sandbox to swap, and says how many bytes went there.
    pub(crate) async fn page_out(self: &Arc<Self>, desk: &Desk) -> io::Result<u64> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        aside(move || inner.yard.cgroup(&record).page_out()).await
    }

    /// Lets the processes go and keeps the files, safe on disk first.
    async fn keep_files(self: &Arc<Self>, desk: &mut Desk) -> Result<Depth, ProviderError> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let kept = aside(move || {
            // Nothing more is written after the sync.
            if inner.yard.hierarchies.can_freeze() {
                inner.yard.cgroup(&record).set_frozen(true, KERNEL_PATIENCE)?;
            }
            inner.yard.sync(&record)?;
            inner.yard.stop(&record)
        });
        if let Err(error) = kept.await {
            // What ran runs on: nobody else would let it.
            if desk.record.asleep.is_none() {
                let (inner, record) = (Arc::clone(self), desk.record.clone());
                let _ = aside(move || inner.yard.cgroup(&record).set_frozen(false, KERNEL_PATIENCE)).await;
            }
            return Err(unavailable("keep its files", &error));
        }
        desk.let_go();
        desk.record.first = None;
        desk.record.ready = false;
        Ok(Depth::Files)
    }

    /// Writes memory and files to disk and lets the processes go; only files, where CRIU is missing or refuses.
    async fn store(self: &Arc<Self>, desk: &mut Desk) -> Result<Depth, ProviderError> {
        let draft = match self.dump(desk).await {
            Ok(draft) => draft,
            Err(why) => {
                let why = format!("its memory could not be stored: {why}");
                tracing::warn!(sandbox = ?desk.record.id, "{why}");
                desk.record.unfit.push(why);
                return self.keep_files(desk).await;
            }
        };
        // All of it stands still and is safe on disk. The record comes next, and only then do the processes go.
        desk.record.asleep = None;
        let mut record = desk.record.clone();
        (record.asleep, record.remembers) = (Some(Depth::Stored), true);
        let inner = Arc::clone(self);
        let stored = aside(move || {
            inner.yard.sync(&record)?;
            inner.yard.place_memory(&draft, &record.name)?;
            inner.yard.keep(&record)?;
            inner.yard.stop(&record)?;
            record.first = None;
            Ok(record)
        });
        match stored.await {
            Ok(record) => desk.record = record,
            Err(error) => {
                // It runs on, and is remembered so.
                let (inner, record) = (Arc::clone(self), desk.record.clone());
                let thawed = aside(move || {
                    inner.yard.keep(&record)?;
                    inner.yard.cgroup(&record).set_frozen(false, KERNEL_PATIENCE)
                });
                let _ = thawed.await;
                return Err(unavailable("store it", &error));
            }
        }
        desk.let_go();
        Ok(Depth::Stored)
    }

    /// Writes the memory of a sandbox to a folder beside and leaves it frozen as it was written. Says why not, and then
    /// it runs on.
    pub(crate) async fn dump(self: &Arc<Self>, desk: &Desk) -> Result<PathBuf, String> {
        /// Somebody who calls while it is being written is in the way.
        const TRIES: u32 = 2;
        if let Some(why) = self.yard.criu.missing() {
            return Err(why);
        }
        if desk.record.network.interface {
            return Err("it has an interface of its own, whose other end cannot be written down".into());
        }
        if desk.record.asleep.is_some() {
            let (inner, record) = (Arc::clone(self), desk.record.clone());
            let thawed = aside(move || inner.yard.cgroup(&record).set_frozen(false, KERNEL_PATIENCE)).await;
            thawed.map_err(|error| error.to_string())?;
        }
        let envd = desk.envd(self).map_err(|error| error.to_string())?;
        // Callers wait until it is written.
        let _shut = desk.gate.shut();
        desk.kept.hang_up();
        if let Some(envd) = &desk.envd {
            envd.hang_up();
        }
        let mut refused = String::new();
        for _ in 0..TRIES {
            // Nothing inside may lead outside.
            match tokio::time::timeout(KERNEL_PATIENCE, envd.hibernate(Duration::ZERO)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(error.to_string()),
                Err(_) => return Err("its envd does not answer".into()),
            }
            let (inner, record) = (Arc::clone(self), desk.record.clone());
            match aside(move || inner.yard.dump(&record)).await {
                Ok(draft) => return Ok(draft),
                Err(error) => refused = error.to_string(),
            }
        }
        Err(refused)
    }

    /// Brings a stored sandbox back; when its memory does not come back, its files do.
    async fn restore(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) -> Result<Depth, ProviderError> {
        desk.let_go();
        let (inner, mut record) = (Arc::clone(self), desk.record.clone());
        let restored = aside(move || {
            // What is left of an attempt that was broken off.
            inner.yard.stop(&record)?;
            inner.yard.restore(&mut record).map(|held| (record, held))
        });
        match restored.await {
            Ok((record, held)) => {
                desk.record = record;
                self.hold(desk, place, held);
                self.reopen_gateway(desk, place).await;
                Ok(Depth::Stored)
            }
            Err(error) => {
                let why = format!("its memory did not come back: {error}");
                tracing::warn!(sandbox = ?desk.record.id, "{why}");
                // The memory stays until something runs again.
                self.launch(desk, place).await?;
                desk.record.unfit.push(why);
                Ok(Depth::Files)
            }
        }
    }

    /// A slot with a copy of the processes of a snapshot. Without them where they do not come back, and then why.
    pub(crate) async fn revive(
        self: &Arc<Self>,
        template: &Template,
        spec: &Spec,
    ) -> Result<Result<(Record, Held), Option<String>>, ProviderError> {
        let (inner, template, limits) = (Arc::clone(self), template.clone(), spec.limits);
        let revived = aside(move || {
            let mut record = inner.yard.plan(&template, limits, Vec::new(), false)?;
            match inner.yard.revive(&template, &mut record) {
                Ok(held) => {
                    inner.yard.forget_memory(&record)?;
                    Ok(Ok((record, held)))
                }
                Err(error) => {
                    inner.yard.end(&record)?;
                    Ok(Err(error))
                }
            }
        });
        let revived = revived.await.map_err(|error| unavailable("make a slot", &error))?;
        let inner = Arc::clone(self);
        tokio::task::spawn_blocking(move || inner.yard.empty_trash());
        Ok(revived.map_err(|error| {
            let why = format!("the memory of `{}` did not come back: {error}", spec.template);
            tracing::warn!("{why}");
            Some(why)
        }))
    }

    async fn forget_memory(self: &Arc<Self>, desk: &Desk) -> Result<(), ProviderError> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let forgotten = aside(move || inner.yard.forget_memory(&record)).await;
        forgotten.map_err(|error| unavailable("let its memory go", &error))?;
        let inner = Arc::clone(self);
        tokio::task::spawn_blocking(move || inner.yard.empty_trash());
        Ok(())
    }

    pub(crate) fn note(&self, desk: &mut Desk, asleep: Option<Depth>) -> Result<(), ProviderError> {
        desk.record.asleep = asleep;
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember how it sleeps", &error))
    }
}
