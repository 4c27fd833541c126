//! Snapshots: E2B keeps them as templates of the team.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_model::{SandboxId, TemplateName, Timestamp};
use serde_json::json;

use super::{
    E2b, Inner,
    desk::Turn,
    names::{kept_as, known_as},
    wire::Snapshot,
};
use crate::{Forking, ProviderError, providers::common::finish, template::Template};

#[async_trait]
impl Forking for E2b {
    async fn snapshot(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let (inner, id, name, turn) = (Arc::clone(&self.inner), id.clone(), name.clone(), self.inner.turn(id).await);
        finish(tokio::spawn(async move { inner.snapshot(&id, &name, memory, Anew::No, turn).await })).await
    }

    async fn renew(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let (inner, id, name, turn) = (Arc::clone(&self.inner), id.clone(), name.clone(), self.inner.turn(id).await);
        finish(tokio::spawn(async move { inner.snapshot(&id, &name, memory, Anew::Yes, turn).await })).await
    }
}

/// Whether a snapshot takes the place of one of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anew {
    Yes,
    No,
}

impl Inner {
    async fn snapshot(
        &self,
        id: &SandboxId,
        name: &TemplateName,
        memory: bool,
        anew: Anew,
        _turn: Turn,
    ) -> Result<Template, ProviderError> {
        let too_long = || ProviderError::Unfit { why: format!("E2B takes no name as long as `{name}`") };
        let told = kept_as(&self.house, name).ok_or_else(too_long)?;
        let seen = self.look(id).await?.ok_or(ProviderError::Lost)?;
        // Asked a second time, E2B makes a second version.
        if anew == Anew::No
            && let Some(made) = self.find_snapshot(name).await?
        {
            return Ok(shown(name, &made, memory));
        }
        let path = format!("/sandboxes/{}/snapshots", seen.id);
        let mut asked =
            self.api.ask_once(http::Method::POST, &path, Some(&json!({"name": told, "memory": memory})), None).await;
        let mut kept = memory;
        // A cluster that cannot leave the memory out keeps it.
        if !memory && asked.as_ref().is_err_and(|trouble| matches!(trouble.status(), Some(400 | 409 | 422))) {
            asked =
                self.api.ask_once(http::Method::POST, &path, Some(&json!({"name": told, "memory": true})), None).await;
            kept = true;
        }
        let made: Snapshot = asked.and_then(|answer| answer.read()).map_err(|trouble| self.explain(trouble))?;
        self.forget_offer().await;
        Ok(shown(name, &made, kept))
    }

    pub(super) async fn snapshots(&self) -> Result<Vec<(TemplateName, Snapshot)>, ProviderError> {
        let all: Vec<Snapshot> = self.api.list("/snapshots").await.map_err(|trouble| self.explain(trouble))?;
        let ours = |snapshot: Snapshot| {
            let name = snapshot.names.iter().find_map(|told| known_as(&self.house, told))?;
            Some((name, snapshot))
        };
        Ok(all.into_iter().filter_map(ours).collect())
    }

    pub(super) async fn find_snapshot(&self, name: &TemplateName) -> Result<Option<Snapshot>, ProviderError> {
        let found = self.snapshots().await?.into_iter().find(|(known, _)| known == name);
        Ok(found.map(|(_, snapshot)| snapshot))
    }
}

fn shown(name: &TemplateName, made: &Snapshot, memory: bool) -> Template {
    Template {
        name: name.clone(),
        layers: Vec::new(),
        config: Default::default(),
        origin: format!("a snapshot at E2B, {}", made.id),
        bytes: 0,
        made_at: Timestamp::now(),
        memory,
    }
}
