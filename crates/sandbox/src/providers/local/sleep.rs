//! Pausing: how deep a sandbox can sleep here, and how it wakes.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_model::{SandboxId, sandbox::Depth};

use super::{
    Inner, Local, aside,
    desk::{Desk, Place},
    finish,
    slot::{KERNEL_PATIENCE, unavailable},
};
use crate::{Pausing, ProviderError};

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
        let now = match desk.record.asleep {
            Some(now) if now >= depth => return Ok(now),
            // Its processes were lost: only its files are left, and they sleep already.
            _ if !desk.is_alive() => return self.note(desk, Some(Depth::Files)).map(|()| Depth::Files),
            now => now,
        };
        let reached = match depth {
            Depth::Frozen => self.freeze(desk).await.map(|()| Depth::Frozen)?,
            Depth::PagedOut => {
                if now.is_none() {
                    self.freeze(desk).await?;
                }
                self.page_out(desk).await
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
        self.introduce(desk).await?;
        Ok(from)
    }

    pub(crate) async fn freeze(self: &Arc<Self>, desk: &Desk) -> Result<(), ProviderError> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let frozen = aside(move || inner.yard.cgroup(&record).set_frozen(true, KERNEL_PATIENCE));
        frozen.await.map_err(|error| unavailable("freeze it", &error))
    }

    /// Moves the memory of a frozen sandbox to swap. Where there is no swap it stays frozen.
    async fn page_out(self: &Arc<Self>, desk: &Desk) -> Depth {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let moved = aside(move || {
            for pid in inner.yard.cgroup(&record).processes() {
                carrel_linux::page_out(pid)?;
            }
            Ok(())
        });
        match moved.await {
            Ok(()) => Depth::PagedOut,
            Err(_) => Depth::Frozen,
        }
    }

    /// Lets the processes go and keeps the files, safe on disk first.
    async fn keep_files(self: &Arc<Self>, desk: &mut Desk) -> Result<Depth, ProviderError> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let kept = aside(move || {
            // Nothing more is written after the sync.
            inner.yard.cgroup(&record).set_frozen(true, KERNEL_PATIENCE)?;
            inner.yard.sync(&record)?;
            inner.yard.stop(&record)
        });
        kept.await.map_err(|error| unavailable("keep its files", &error))?;
        desk.let_go();
        desk.record.first = None;
        desk.record.ready = false;
        Ok(Depth::Files)
    }

    async fn store(self: &Arc<Self>, desk: &mut Desk) -> Result<Depth, ProviderError> {
        self.keep_files(desk).await
    }

    async fn restore(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) -> Result<Depth, ProviderError> {
        self.launch(desk, place).await?;
        Ok(Depth::Files)
    }

    fn note(&self, desk: &mut Desk, asleep: Option<Depth>) -> Result<(), ProviderError> {
        desk.record.asleep = asleep;
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember how it sleeps", &error))
    }
}
