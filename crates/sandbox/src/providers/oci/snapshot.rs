//! Snapshots: what a sandbox wrote becomes a layer that others start from, here and at the local provider.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_model::{SandboxId, TemplateName, sandbox::Depth};
use jiff::Timestamp;

use super::{
    Inner, Oci, aside,
    desk::Desk,
    finish,
    slot::{KERNEL_PATIENCE, random, unavailable},
};
use crate::{
    Forking, ProviderError,
    template::{LayerId, Template},
};

#[async_trait]
impl Forking for Oci {
    async fn snapshot(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        // Memory belongs to one sandbox and its paths: the answer says that it was not kept.
        let _ = memory;
        if let Some(made) =
            self.inner.yard.shelves.find(name).map_err(|error| unavailable("take a snapshot", &error))?
        {
            return Ok(made);
        }
        self.keep_copy(id, name).await
    }

    async fn renew(&self, id: &SandboxId, name: &TemplateName, _: bool) -> Result<Template, ProviderError> {
        self.keep_copy(id, name).await
    }
}

impl Oci {
    async fn keep_copy(&self, id: &SandboxId, name: &TemplateName) -> Result<Template, ProviderError> {
        let (inner, id, name) = (Arc::clone(&self.inner), id.clone(), name.clone());
        finish(tokio::spawn(async move {
            let place = inner.place(&id).ok_or(ProviderError::Lost)?;
            let desk = place.desk().await;
            inner.snapshot(desk.as_ref().ok_or(ProviderError::Lost)?, &id, name).await
        }))
        .await
    }
}

impl Inner {
    async fn snapshot(
        self: &Arc<Self>,
        desk: &Desk,
        id: &SandboxId,
        name: TemplateName,
    ) -> Result<Template, ProviderError> {
        let trouble = |error: std::io::Error| unavailable("take a snapshot", &error);
        let (inner, record) = (Arc::clone(self), desk.record.clone());
        let origin = format!("a snapshot of sandbox {id}");
        let taken = aside(move || {
            let layer = LayerId::snapshot(random());
            let cgroup = inner.yard.cgroup(&record);
            let stirs = record.is_alive() && !matches!(record.asleep, Some(Depth::Frozen | Depth::PagedOut));
            // The copy is of one moment.
            if stirs {
                cgroup.set_frozen(true, KERNEL_PATIENCE)?;
            }
            let copied = inner.yard.copy_upper(&record, &layer);
            if stirs {
                cgroup.set_frozen(false, KERNEL_PATIENCE)?;
            }
            copied?;
            let mut layers = record.layers.clone();
            layers.push(layer);
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
            Ok(template)
        });
        taken.await.map_err(trouble)
    }
}
