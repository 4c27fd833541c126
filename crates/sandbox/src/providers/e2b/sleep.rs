//! Pausing: E2B stores files and memory, or files alone.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_model::{SandboxId, sandbox::Depth};
use serde_json::json;

use super::{
    E2b, Inner,
    desk::Turn,
    wire::{PauseMode, Seen, State},
};
use crate::{Pausing, ProviderError, providers::common::finish};

#[async_trait]
impl Pausing for E2b {
    /// Everything lighter than `stored` is stored too: E2B has nothing in between.
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        let (inner, id, turn) = (Arc::clone(&self.inner), id.clone(), self.inner.turn(id).await);
        finish(tokio::spawn(async move { inner.pause(&id, depth, turn).await })).await
    }

    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError> {
        let (inner, id, turn) = (Arc::clone(&self.inner), id.clone(), self.inner.turn(id).await);
        finish(tokio::spawn(async move { inner.resume(&id, turn).await })).await
    }
}

fn slept(seen: &Seen) -> Depth {
    match seen.pause_mode {
        Some(PauseMode::Filesystem) => Depth::Files,
        Some(PauseMode::Full) | None => Depth::Stored,
    }
}

impl Inner {
    async fn pause(&self, id: &SandboxId, depth: Depth, turn: Turn) -> Result<Depth, ProviderError> {
        let seen = self.look(id).await?.ok_or(ProviderError::Lost)?;
        if seen.state == State::Paused {
            return Ok(slept(&seen));
        }
        let path = format!("/sandboxes/{}/pause", seen.id);
        let memory = depth != Depth::Files;
        let mut asked = self.api.post(&path, &json!({ "memory": memory })).await;
        let mut reached = if memory { Depth::Stored } else { Depth::Files };
        // A cluster that cannot leave the memory out keeps it.
        if !memory && asked.as_ref().is_err_and(|trouble| matches!(trouble.status(), Some(400 | 422))) {
            asked = self.api.post(&path, &json!({ "memory": true })).await;
            reached = Depth::Stored;
        }
        match asked {
            Ok(_) => {
                // The way in changes when it comes back.
                turn.place.note(&Seen { state: State::Paused, ..seen });
                Ok(reached)
            }
            // Somebody else was quicker, or it is in the middle of something.
            Err(trouble) if trouble.status() == Some(409) => match self.look(id).await? {
                Some(seen) if seen.state == State::Paused => Ok(slept(&seen)),
                _ => Err(self.explain(trouble)),
            },
            Err(trouble) => Err(self.explain(trouble)),
        }
    }

    async fn resume(&self, id: &SandboxId, turn: Turn) -> Result<Depth, ProviderError> {
        let seen = self.look(id).await?.ok_or(ProviderError::Lost)?;
        let from = slept(&seen);
        match seen.state {
            State::Running => return Ok(Depth::Stored),
            State::Paused => {}
            State::Other => return self.sighting(&seen).map(|_| from),
        }
        let mut body = json!({ "timeout": self.lease.as_secs() });
        if from == Depth::Files {
            // It has to be said that it may start from its files alone.
            body["memory"] = false.into();
        }
        self.join(&turn.place, &seen, body).await?;
        Ok(from)
    }
}
