//! Checkouts under sandboxes: git's layer is one more layer of the root, and what is a sandbox's own is laid over it.
//!
//! The layer lies elsewhere and is on the shelf by a link, so that everything that knows layers (records, snapshots, the
//! pool, memory) knows this one too. A slot that waits for a template with a checkout is as warm as any other.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use carrel_envd::Envd;
use carrel_model::{SandboxId, sandbox::Spec};
use futures::{StreamExt, stream};

use super::{
    Inner, Local, aside, finish,
    record::Record,
    slot::{User, unavailable},
};
use crate::{
    Furnishing, Furniture, ProviderError,
    providers::common::{seeds, silent},
    template::Template,
};

#[async_trait]
impl Furnishing for Local {
    async fn create_furnished(&self, id: &SandboxId, spec: &Spec, furniture: &Furniture) -> Result<(), ProviderError> {
        let (inner, id, spec, furniture) = (Arc::clone(&self.inner), id.clone(), spec.clone(), furniture.clone());
        finish(tokio::spawn(async move { inner.create(&id, &spec, Some(&furniture)).await })).await
    }

    async fn borrowed(&self) -> Result<Vec<PathBuf>, ProviderError> {
        let trouble = |error: std::io::Error| unavailable("find out what is borrowed", &error);
        // What the last one has left makes room first.
        self.inner.collect_layers().await?;
        let inner = Arc::clone(&self.inner);
        let looked = aside(move || {
            let mut borrowed = inner.yard.shelves.borrowed()?;
            let configs = Record::all(inner.yard.slots())?.into_iter().map(|record| record.config);
            let configs = configs.chain(inner.yard.shelves.templates()?.into_iter().map(|template| template.config));
            borrowed.extend(configs.flat_map(|config| config.shown).map(|shown| shown.from));
            borrowed.sort();
            borrowed.dedup();
            Ok(borrowed)
        });
        looked.await.map_err(trouble)
    }

    async fn let_go(&self, folder: &Path) -> Result<(), ProviderError> {
        let _still = self.inner.pool.stand_still().await;
        for record in self.inner.pool.forget_shown(folder) {
            self.inner.end_slot(record).await?;
        }
        Ok(())
    }
}

impl Inner {
    /// The template with a checkout on top. Its layer is spared until a record has it.
    pub(crate) async fn furnish(
        self: &Arc<Self>,
        mut template: Template,
        furniture: &Furniture,
    ) -> Result<Template, ProviderError> {
        let (inner, layer, folder) = (Arc::clone(self), furniture.layer.clone(), furniture.folder.clone());
        let linked = aside(move || inner.yard.shelves.link(&folder, &layer)).await;
        linked.map_err(|error| unavailable("lay its checkout under it", &error))?;
        template.layers.push(furniture.layer.clone());
        // Processes that were kept know nothing of another layer.
        template.memory = false;
        let config = &mut template.config;
        config.shown.extend(furniture.shown.iter().cloned());
        config.workdir = Some(furniture.workspace.clone());
        config.env.insert("CARREL_WORKSPACE".into(), furniture.workspace.clone());
        // Whoever is not the owner of the tree is told by git to go away.
        if config.user.as_deref() != Some("user") && !config.env.contains_key("GIT_CONFIG_COUNT") {
            let own = [("COUNT", "1"), ("KEY_0", "safe.directory"), ("VALUE_0", furniture.workspace.as_str())];
            config.env.extend(own.map(|(name, value)| (format!("GIT_CONFIG_{name}"), value.to_owned())));
        }
        Ok(template)
    }

    /// Lays the files down that are a sandbox's own, through its envd: nothing that runs inside can lead them astray.
    pub(crate) async fn lay_down(
        &self,
        envd: &Envd,
        record: &Record,
        furniture: &Furniture,
    ) -> Result<(), ProviderError> {
        let owner = match self.yard.user {
            User::Root => record.config.user.as_deref().unwrap_or("user"),
            User::Plain(..) => "root",
        };
        let archive = seeds(&furniture.files).map_err(|error| unavailable("pack its checkout", &error))?;
        let content = stream::iter([Ok(archive.into())]).boxed();
        envd.upload_tar(&furniture.workspace, Some(owner), content).await.map_err(silent)
    }
}
