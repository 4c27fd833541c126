//! Snapshots: a sandbox's own layer becomes a layer that others start from.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use carrel_model::{SandboxId, TemplateName, sandbox::Depth};
use jiff::Timestamp;

use super::{
    Inner, Local, aside,
    desk::Desk,
    finish,
    slot::{KERNEL_PATIENCE, random, unavailable},
};
use crate::{
    Forking, ProviderError,
    template::{LayerId, Template},
};

/// How a snapshot is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// For good; a second time finds it.
    Once,
    /// For good, in place of the one of that name.
    Anew,
    /// For copies that are made at once.
    ForNow,
}

#[async_trait]
impl Forking for Local {
    async fn snapshot(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        self.keep_copy(id, name, memory, Keeping::Once).await
    }

    async fn renew(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let before = self.inner.yard.shelves.find(name).map_err(|error| unavailable("take a snapshot", &error))?;
        let made = self.keep_copy(id, name, memory, Keeping::Anew).await?;
        // What waits on the one before it is not given to anybody any more.
        if let Some(before) = before.filter(|before| before.layers != made.layers)
            && let Err(error) = self.inner.let_go_of(name, Some(before)).await
        {
            tracing::warn!(template = %name, %error, "what is left of the snapshot before it stays until the next start");
        }
        Ok(made)
    }

    async fn base(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        self.keep_copy(id, name, memory, Keeping::ForNow).await
    }
}

impl Local {
    async fn keep_copy(
        &self,
        id: &SandboxId,
        name: &TemplateName,
        memory: bool,
        keeping: Keeping,
    ) -> Result<Template, ProviderError> {
        let (inner, id, name) = (Arc::clone(&self.inner), id.clone(), name.clone());
        finish(tokio::spawn(async move {
            let place = inner.place(&id).ok_or(ProviderError::Lost)?;
            let mut desk = place.desk().await;
            let desk = desk.as_mut().ok_or(ProviderError::Lost)?;
            inner.snapshot(desk, &id, name, memory, keeping).await
        }))
        .await
    }
}

impl Inner {
    async fn snapshot(
        self: &Arc<Self>,
        desk: &mut Desk,
        id: &SandboxId,
        name: TemplateName,
        memory: bool,
        keeping: Keeping,
    ) -> Result<Template, ProviderError> {
        let trouble = |error: std::io::Error| unavailable("take a snapshot", &error);
        let lasting = keeping != Keeping::ForNow;
        if keeping != Keeping::Anew
            && let Some(made) = self.yard.shelves.find(&name).map_err(trouble)?
        {
            return Ok(made);
        }
        let alive = desk.is_alive();
        // What has a volume open remembers a place that a copy may not have.
        let memory = memory && desk.record.volumes.is_empty();
        let written = if memory && alive { self.write_memory(desk).await } else { None };
        let (inner, mut record) = (Arc::clone(self), desk.record.clone());
        let origin = format!("a snapshot of sandbox {id}");
        let taken = aside(move || {
            let layer = LayerId::snapshot(random());
            let cgroup = inner.yard.cgroup(&record);
            if alive {
                // The copy is of one moment, the one of its memory when that was written.
                if !cgroup.is_frozen() && inner.yard.hierarchies.can_freeze() {
                    cgroup.set_frozen(true, KERNEL_PATIENCE)?;
                }
                let copied = inner.yard.copy_upper(&record, &layer, lasting);
                if record.asleep.is_none() && inner.yard.hierarchies.can_freeze() {
                    cgroup.set_frozen(false, KERNEL_PATIENCE)?;
                }
                copied?;
            } else {
                inner.yard.give_upper(&mut record, &layer)?;
            }
            let mut layers = record.layers.clone();
            if alive {
                layers.push(layer.clone());
            }
            // Memory remembers files by the layers they lie in.
            let keeps_memory = memory && (written.is_some() || record.asleep == Some(Depth::Stored));
            if !keeps_memory {
                inner.yard.flatten(&mut layers)?;
                if !layers.contains(&layer) {
                    inner.yard.shelves.release(&layer);
                }
                if record.asleep == Some(Depth::Files) && layers.len() < record.layers.len() {
                    record.layers.clone_from(&layers);
                    inner.yard.keep(&record)?;
                }
            }
            let kept = match written {
                Some(draft) => inner.yard.place_memory(&draft, layer.as_str()).map(|()| true)?,
                None => memory && record.asleep == Some(Depth::Stored) && inner.yard.share_memory(&record, &layer)?,
            };
            let template = Template {
                name,
                layers,
                config: record.config.clone(),
                origin,
                bytes: 0,
                made_at: Timestamp::now(),
                memory: kept,
            };
            if lasting {
                inner.yard.shelves.keep(&template)?;
            } else {
                inner.pool.let_pass(&template.name);
                inner.yard.shelves.keep_for_now(&template)?;
            }
            Ok((template, record))
        });
        let (template, record) = taken.await.map_err(trouble)?;
        desk.record = record;
        Ok(template)
    }

    /// Writes the memory of a sandbox beside and leaves it frozen. Nothing where that cannot be: the files are kept, and
    /// the template says so.
    async fn write_memory(self: &Arc<Self>, desk: &Desk) -> Option<PathBuf> {
        match self.dump(desk).await {
            Ok(draft) => Some(draft),
            Err(why) => {
                tracing::warn!(sandbox = ?desk.record.id, "the snapshot has files alone: {why}");
                None
            }
        }
    }
}
