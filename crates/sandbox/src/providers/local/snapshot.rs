//! Snapshots: a sandbox's own layer becomes a layer that others start from.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_model::{SandboxId, TemplateName};
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

#[async_trait]
impl Forking for Local {
    async fn snapshot(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let (inner, id, name) = (Arc::clone(&self.inner), id.clone(), name.clone());
        // Where memory is asked for and cannot be kept, the answer says so.
        let _ = memory;
        finish(tokio::spawn(async move {
            let place = inner.place(&id).ok_or(ProviderError::Lost)?;
            let mut desk = place.desk().await;
            let desk = desk.as_mut().ok_or(ProviderError::Lost)?;
            inner.snapshot(desk, &id, name).await
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
    ) -> Result<Template, ProviderError> {
        let trouble = |error: std::io::Error| unavailable("take a snapshot", &error);
        if let Some(made) = self.yard.shelves.find(&name).map_err(trouble)? {
            return Ok(made);
        }
        let (inner, mut record, alive) = (Arc::clone(self), desk.record.clone(), desk.is_alive());
        let origin = format!("a snapshot of sandbox {id}");
        let taken = aside(move || {
            let layer = LayerId::snapshot(random());
            let cgroup = inner.yard.cgroup(&record);
            if alive {
                // The copy is of one moment.
                let was_frozen = cgroup.is_frozen() || !inner.yard.hierarchies.can_freeze();
                if !was_frozen {
                    cgroup.set_frozen(true, KERNEL_PATIENCE)?;
                }
                let copied = inner.yard.copy_upper(&record, &layer);
                if !was_frozen {
                    cgroup.set_frozen(false, KERNEL_PATIENCE)?;
                }
                copied?;
            } else {
                inner.yard.give_upper(&mut record, &layer)?;
            }
            let mut layers = record.layers.clone();
            if alive {
                layers.push(layer);
            }
            let template = Template {
                name,
                layers,
                config: record.config.clone(),
                origin,
                bytes: 0,
                made_at: Timestamp::now(),
                memory: false,
            };
            inner.yard.shelves.keep(&template)?;
            Ok((template, record))
        });
        let (template, record) = taken.await.map_err(trouble)?;
        desk.record = record;
        Ok(template)
    }
}
