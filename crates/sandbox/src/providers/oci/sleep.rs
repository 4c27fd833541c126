//! Pausing: how deep a sandbox can sleep here, and how it wakes.
//!
//! Memory goes to disk by the runtime's own means, where it has any (gVisor). Nothing inside may hold what is the
//! host's at that moment, so envd closes its lines for a while first. A runtime that refuses has ended the sandbox all the
//! same: then its files are kept, and the answer says so.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use carrel_model::{SandboxId, sandbox::Depth};

use super::{
    Inner, Oci, aside,
    desk::{Desk, Place},
    finish,
    slot::{KERNEL_PATIENCE, unavailable},
};
use crate::{Pausing, ProviderError};

/// How long envd is deaf: until the runtime, which has yet to start, has stopped everything inside. What is left of it
/// passes after the restore.
const HOLD: Duration = Duration::from_millis(1000);

#[async_trait]
impl Pausing for Oci {
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
            Some(Depth::Stored) => {
                self.give_memory_up(desk).await?;
                return Ok(Depth::Files);
            }
            // Its processes were lost: only its files are left, and they sleep already.
            _ if !desk.record.is_alive() => return self.note(desk, Some(Depth::Files)).map(|()| Depth::Files),
            now => now,
        };
        desk.record.falls = Some(depth);
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember that it falls asleep", &error))?;
        match self.sink(desk, now, depth).await {
            Ok(reached) => self.note(desk, Some(reached)).map(|()| reached),
            Err(error) => {
                // It stays as it was, and the next start has nothing to go on with.
                self.note(desk, now)?;
                Err(error)
            }
        }
    }

    async fn sink(self: &Arc<Self>, desk: &mut Desk, now: Option<Depth>, depth: Depth) -> Result<Depth, ProviderError> {
        match depth {
            Depth::Frozen => self.set_frozen(desk, true).await.map(|()| Depth::Frozen),
            Depth::PagedOut => {
                if now.is_none() {
                    self.set_frozen(desk, true).await?;
                }
                Ok(self.page_out(desk).await)
            }
            Depth::Stored => self.store(desk, now).await,
            Depth::Files => self.keep_files(desk).await,
        }
    }

    async fn wake(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) -> Result<Depth, ProviderError> {
        let from = match desk.record.asleep {
            None if desk.record.is_alive() => return Ok(Depth::Frozen),
            // Its processes were lost without anybody putting it to sleep.
            None => Depth::Files,
            Some(from) => from,
        };
        let from = match from {
            Depth::Frozen | Depth::PagedOut if desk.record.is_alive() => {
                self.set_frozen(desk, false).await?;
                from
            }
            Depth::Stored => self.restore(desk, place).await?,
            Depth::Frozen | Depth::PagedOut | Depth::Files => {
                self.launch(desk, place).await?;
                Depth::Files
            }
        };
        self.note(desk, None)?;
        if from == Depth::Stored {
            let (inner, record) = (Arc::clone(self), desk.record.clone());
            let _ = aside(move || inner.yard.forget_memory(&record)).await;
        }
        self.introduce(desk).await?;
        Ok(from)
    }

    /// Goes on with a pause in the middle of which the server was killed. What the runtime had stored by then is not to be
    /// relied on, and it may still be at it: the files are, and keeping them ends it.
    pub(crate) async fn fall_asleep(self: &Arc<Self>, desk: &mut Desk, depth: Depth) -> Result<(), ProviderError> {
        let reached = match depth {
            _ if !desk.record.is_alive() => Depth::Files,
            Depth::Frozen | Depth::PagedOut => self.set_frozen(desk, true).await.map(|()| Depth::Frozen)?,
            Depth::Stored | Depth::Files => self.keep_files(desk).await?,
        };
        self.note(desk, Some(reached))
    }

    pub(crate) async fn set_frozen(self: &Arc<Self>, desk: &Desk, frozen: bool) -> Result<(), ProviderError> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let done = aside(move || inner.yard.cgroup(&record).set_frozen(frozen, KERNEL_PATIENCE)).await;
        done.map_err(|error| unavailable(if frozen { "freeze it" } else { "thaw it" }, &error))
    }

    /// Moves the memory of a frozen sandbox to swap. Where there is no swap, or nothing went there, it stays frozen.
    async fn page_out(self: &Arc<Self>, desk: &Desk) -> Depth {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        match aside(move || inner.yard.cgroup(&record).page_out()).await {
            Ok(bytes) if bytes > 0 => Depth::PagedOut,
            Ok(_) | Err(_) => Depth::Frozen,
        }
    }

    /// Lets the processes go and keeps the files, safe on disk first.
    async fn keep_files(self: &Arc<Self>, desk: &mut Desk) -> Result<Depth, ProviderError> {
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let kept = aside(move || {
            // Nothing more is written after the sync.
            if record.is_alive() {
                inner.yard.cgroup(&record).set_frozen(true, KERNEL_PATIENCE)?;
            }
            inner.yard.sync(&record)?;
            inner.yard.stop(&record)
        });
        kept.await.map_err(|error| unavailable("keep its files", &error))?;
        desk.let_go();
        desk.record.first = None;
        desk.record.ready = false;
        Ok(Depth::Files)
    }

    /// Stores memory and files, or files alone where the runtime cannot, or refuses.
    async fn store(self: &Arc<Self>, desk: &mut Desk, now: Option<Depth>) -> Result<Depth, ProviderError> {
        let runtime = self.runtime().await?;
        if !runtime.stores_memory() {
            return self.keep_files(desk).await;
        }
        if now.is_some() {
            self.set_frozen(desk, false).await?;
        }
        // Whatever the envd says: what cannot be stored is seen by trying.
        let quiet = desk.envd(self).hibernate(HOLD).await;
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let stored = match quiet {
            Ok(()) => aside(move || inner.yard.store(&record, &runtime)).await,
            Err(error) => Err(std::io::Error::other(error.to_string())),
        };
        match stored {
            Ok(()) => {
                desk.let_go();
                desk.record.first = None;
                Ok(Depth::Stored)
            }
            Err(error) => {
                tracing::warn!(sandbox = ?desk.record.id, %error, "its memory could not be stored; its files are kept");
                self.keep_files(desk).await
            }
        }
    }

    /// Brings memory back, or the files alone when it does not come.
    async fn restore(self: &Arc<Self>, desk: &mut Desk, place: &Arc<Place>) -> Result<Depth, ProviderError> {
        let runtime = self.runtime().await?;
        desk.let_go();
        let (inner, mut record) = (Arc::clone(self), desk.record.clone());
        let restored = aside(move || inner.yard.restore(&mut record, &runtime).map(|()| record)).await;
        match restored {
            Ok(record) => {
                desk.record = record;
                self.open_gateway(desk, place);
                self.await_envd(desk).await?;
                Ok(Depth::Stored)
            }
            Err(error) => {
                tracing::warn!(sandbox = ?desk.record.id, %error, "its memory did not come back; its files did");
                self.launch(desk, place).await?;
                Ok(Depth::Files)
            }
        }
    }

    async fn give_memory_up(self: &Arc<Self>, desk: &mut Desk) -> Result<(), ProviderError> {
        desk.record.ready = false;
        self.note(desk, Some(Depth::Files))?;
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let gone = aside(move || inner.yard.forget_memory(&record)).await;
        gone.map_err(|error| unavailable("give its memory up", &error))
    }

    fn note(&self, desk: &mut Desk, asleep: Option<Depth>) -> Result<(), ProviderError> {
        (desk.record.asleep, desk.record.falls) = (asleep, None);
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember how it sleeps", &error))
    }
}
