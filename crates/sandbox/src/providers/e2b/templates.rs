//! Templates: what the team has at E2B, under our names.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use carrel_model::{TemplateName, Timestamp, sandbox::Isolation, template::SNAPSHOT};
use http::Method;

use super::{
    E2b, Inner,
    api::{Trouble, percent},
    names::known_as,
    wire::{Offered, Snapshot},
};
use crate::{
    Fitness, ProviderError, Templating,
    template::{Progress, Source, Template},
};

/// What E2B offers is asked for so often at most.
const GOOD_FOR: Duration = Duration::from_secs(60);
/// What everybody has at E2B, whether or not a list names it.
pub(super) const ALWAYS: [&str; 2] = ["base", "code-interpreter-v1"];

/// What E2B offered when it was last asked.
pub(super) struct Offer {
    asked_at: Instant,
    fitness: Fitness,
}

impl Inner {
    pub(super) async fn offer(&self) -> Result<Fitness, Trouble> {
        let mut offer = self.offer.lock().await;
        if let Some(offer) = offer.as_ref().filter(|offer| offer.asked_at.elapsed() < GOOD_FOR) {
            return Ok(offer.fitness.clone());
        }
        let templates: Vec<Offered> = where_there_are_any(self.api.get("/templates").await)?;
        let snapshots: Vec<Snapshot> = where_there_are_any(self.api.list("/snapshots").await)?;
        let mut names: Vec<TemplateName> = ALWAYS.iter().filter_map(|name| name.parse().ok()).collect();
        names.extend(self.renamed.keys().cloned());
        for template in templates {
            let told = template.names.into_iter().chain(template.aliases).chain([template.id]);
            // Snapshots of other houses are templates of the team too.
            let told = told.filter(|name| !name.contains("carrel-"));
            names.extend(told.filter_map(|name| name.parse().ok()));
        }
        let told = snapshots.iter().flat_map(|snapshot| &snapshot.names);
        names.extend(told.filter_map(|name| known_as(&self.house, name)));
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let fitness = Fitness { isolation: vec![Isolation::E2b], templates: names, missing: missing() };
        *offer = Some(Offer { asked_at: Instant::now(), fitness: fitness.clone() });
        Ok(fitness)
    }

    pub(super) async fn forget_offer(&self) {
        *self.offer.lock().await = None;
    }

    /// How E2B calls a template.
    pub(super) async fn template(&self, name: &TemplateName) -> Result<String, ProviderError> {
        if let Some(told) = self.renamed.get(name) {
            return Ok(told.clone());
        }
        if !name.as_str().starts_with(SNAPSHOT) {
            return Ok(name.to_string());
        }
        let found = self.find_snapshot(name).await?;
        let nobody = || ProviderError::Unfit { why: format!("E2B has no snapshot `{name}` of this house") };
        Ok(found.ok_or_else(nobody)?.id)
    }
}

/// A cluster may have no such thing at all.
pub(super) fn where_there_are_any<T>(listed: Result<Vec<T>, Trouble>) -> Result<Vec<T>, Trouble> {
    match listed {
        Err(trouble) if matches!(trouble.status(), Some(404 | 405 | 501)) => Ok(Vec::new()),
        listed => listed,
    }
}

/// What is not to be had at E2B, honestly.
fn missing() -> Vec<String> {
    [
        "Processors, memory, disk and processes are those of the E2B template: limits of a request are not sent.",
        "Ports are reached through E2B's proxy: HTTP and WebSocket, no other protocol.",
        "There is no gateway inside: git and model APIs are reached as far as the network policy allows.",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[async_trait]
impl Templating for E2b {
    async fn templates(&self) -> Result<Vec<Template>, ProviderError> {
        if !self.inner.api.has_key() {
            return Ok(Vec::new());
        }
        let shown = |(name, snapshot): (TemplateName, Snapshot)| Template {
            name,
            layers: Vec::new(),
            config: Default::default(),
            origin: format!("a snapshot at E2B, {}", snapshot.id),
            bytes: 0,
            made_at: Timestamp::now(),
            memory: false,
        };
        Ok(self.inner.snapshots().await?.into_iter().map(shown).collect())
    }

    async fn make(&self, name: &TemplateName, source: &Source, progress: &Progress) -> Result<Template, ProviderError> {
        self.inner.build(name, source, progress).await
    }

    /// Forgets a snapshot of this house, or a template of the team. What everybody has is not ours to remove.
    async fn forget(&self, name: &TemplateName) -> Result<(), ProviderError> {
        let inner = &self.inner;
        if ALWAYS.contains(&name.as_str()) || inner.renamed.contains_key(name) {
            return Err(ProviderError::Unfit { why: format!("the template `{name}` is E2B's own") });
        }
        let told = match name.as_str().starts_with(SNAPSHOT) {
            true => match inner.find_snapshot(name).await? {
                Some(snapshot) => snapshot.id,
                None => return Ok(()),
            },
            false => name.to_string(),
        };
        let path = format!("/templates/{}", percent(&told));
        let asked = inner.api.ask(Method::DELETE, &path, None::<&()>).await;
        inner.forget_offer().await;
        match asked {
            // Somebody was quicker, or the cluster cannot do it at all.
            Err(trouble)
                if trouble.is_missing()
                    && name.as_str().starts_with(SNAPSHOT)
                    && inner.find_snapshot(name).await?.is_some() =>
            {
                Err(ProviderError::Unfit { why: format!("{} forgets no templates", inner.api.place()) })
            }
            Err(trouble) if !trouble.is_missing() => Err(inner.explain(trouble)),
            _ => Ok(()),
        }
    }
}
