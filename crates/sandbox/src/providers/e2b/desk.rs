//! One sandbox at E2B: found, made, entered, ended.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use carrel_model::{
    SandboxId, Timestamp,
    sandbox::{NetworkMode, Spec},
};
use http::Method;
use serde_json::json;

use super::{
    Inner,
    api::{Trouble, metadata_filter, patiently},
    lease,
    line::Access,
    wire::{E2bId, NewNetwork, NewSandbox, Opened, Seen, State},
};
use crate::{ProviderError, Sighting};

/// Under these names the metadata says whose a sandbox is.
pub(super) const ID: &str = "carrel_id";
pub(super) const HOUSE: &str = "carrel_house";
/// What is known here of a sandbox. It spares questions and decides nothing.
#[derive(Default)]
pub(super) struct Place {
    /// What is done to a sandbox is done one after the other, in the order in which it was asked for.
    turn: Arc<tokio::sync::Mutex<()>>,
    known: Mutex<Option<Known>>,
}

#[derive(Clone)]
pub(super) struct Known {
    pub(super) e2b: E2bId,
    pub(super) end_at: Timestamp,
    access: Option<Access>,
}

/// The right to change a sandbox. It goes along with the work, also when nobody waits for that any more.
pub(super) struct Turn {
    pub(super) place: Arc<Place>,
    _held: tokio::sync::OwnedMutexGuard<()>,
}

impl Place {
    pub(super) fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what was seen. The way in stays good for as long as it is the same sandbox and awake.
    pub(super) fn note(&self, seen: &Seen) {
        let mut known = self.known();
        let same = known.take().filter(|known| known.e2b == seen.id && seen.state == State::Running);
        let access = same.and_then(|known| known.access);
        *known = Some(Known { e2b: seen.id.clone(), end_at: seen.end_at, access });
    }

    fn open(&self, opened: Opened, end_at: Timestamp) -> Access {
        let access = Access { token: opened.token, traffic: opened.traffic, domain: opened.domain };
        *self.known() = Some(Known { e2b: opened.id, end_at, access: Some(access.clone()) });
        access
    }
}

impl Inner {
    /// Waits for the others who are at work on a sandbox.
    pub(super) async fn turn(&self, id: &SandboxId) -> Turn {
        let place = self.place(id);
        let held = Arc::clone(&place.turn).lock_owned().await;
        Turn { place, _held: held }
    }

    /// Looks at a sandbox: by the name E2B has for it if that is known here, else by its metadata.
    pub(super) async fn look(&self, id: &SandboxId) -> Result<Option<Seen>, ProviderError> {
        self.find(id).await.map_err(|trouble| self.explain(trouble))
    }

    async fn find(&self, id: &SandboxId) -> Result<Option<Seen>, Trouble> {
        let place = self.places().get(id).cloned();
        let known = place.as_ref().and_then(|place| place.known().as_ref().map(|known| known.e2b.clone()));
        if let Some(e2b) = known {
            match self.api.get::<Seen>(&format!("/sandboxes/{e2b}")).await {
                Ok(seen) => {
                    self.place(id).note(&seen);
                    return Ok(Some(seen));
                }
                Err(trouble) if trouble.is_missing() => *self.place(id).known() = None,
                Err(trouble) => return Err(trouble),
            }
        }
        let Some(seen) = self.find_all(id).await?.into_iter().next() else { return Ok(None) };
        self.place(id).note(&seen);
        // A list does not say how it sleeps.
        if seen.state == State::Paused {
            match self.api.get::<Seen>(&format!("/sandboxes/{}", seen.id)).await {
                Ok(seen) => return Ok(Some(seen)),
                Err(trouble) if trouble.is_missing() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(Some(seen))
    }

    /// Everything that carries this id, the eldest first. There is more than one only where a cluster did twice what it
    /// was asked twice.
    async fn find_all(&self, id: &SandboxId) -> Result<Vec<Seen>, Trouble> {
        let filter = metadata_filter(&[(HOUSE, &self.house), (ID, id.as_str())]);
        let mut found: Vec<Seen> =
            self.api.list(&format!("/v2/sandboxes?state=running%2Cpaused&metadata={filter}")).await?;
        // Whoever does not know the filter lists everybody's.
        found.retain(|seen| self.name_of(seen).as_ref() == Some(id));
        found.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        Ok(found)
    }

    fn name_of(&self, seen: &Seen) -> Option<SandboxId> {
        let metadata = seen.metadata.as_ref()?;
        metadata.get(HOUSE).filter(|house| **house == self.house)?;
        metadata.get(ID)?.parse().ok()
    }

    pub(super) fn sighting(&self, seen: &Seen) -> Result<Sighting, ProviderError> {
        match seen.state {
            State::Running => Ok(Sighting::Running),
            State::Paused => Ok(Sighting::Paused),
            State::Other => {
                Err(ProviderError::Unavailable { why: format!("sandbox {} at E2B is in between two states", seen.id) })
            }
        }
    }

    /// Every sandbox of this house. Of doubles the eldest stays.
    pub(super) async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        let filter = metadata_filter(&[(HOUSE, &self.house)]);
        let path = format!("/v2/sandboxes?state=running%2Cpaused&metadata={filter}");
        let mut all: Vec<Seen> = self.api.list(&path).await.map_err(|trouble| self.explain(trouble))?;
        all.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        let mut listed: HashMap<SandboxId, Sighting> = Default::default();
        for seen in all {
            let Some(id) = self.name_of(&seen) else { continue };
            if listed.contains_key(&id) {
                self.end_double(&id, &seen.id).await;
                continue;
            }
            let Ok(sighting) = self.sighting(&seen) else { continue };
            self.place(&id).note(&seen);
            listed.insert(id, sighting);
        }
        self.places()
            .retain(|id, place| listed.contains_key(id) || Arc::strong_count(place) > 1 || place.known().is_some());
        Ok(listed.into_iter().collect())
    }

    async fn end_double(&self, id: &SandboxId, double: &E2bId) {
        tracing::warn!(sandbox = %id, %double, "E2B has this sandbox twice; the younger one is taken down");
        if let Err(trouble) = self.kill(double).await {
            tracing::warn!(%double, error = %self.explain(trouble), "the double stays until the next sweep");
        }
    }

    /// Makes the sandbox, or finds it made. Looks anew before each try: the one before may have come through.
    pub(super) async fn create(&self, id: &SandboxId, spec: &Spec, turn: Turn) -> Result<(), ProviderError> {
        let template = self.template(&spec.template).await?;
        let new = self.asked(id, spec, &template)?;
        let lasts = new.timeout;
        let made = patiently(|| async {
            match self.find(id).await {
                Ok(Some(_)) => Ok(Ok(None)),
                Ok(None) => self.make(id, &new).await.map(|opened| Ok(Some(opened))),
                // Looking was patient by itself.
                Err(trouble) => Ok(Err(trouble)),
            }
        });
        match made.await.flatten() {
            Ok(Some(opened)) => {
                turn.place.open(opened, lease::end_of(lasts));
                Ok(())
            }
            Ok(None) => Ok(()),
            // What is not there is the template: nothing else was named.
            Err(trouble) if trouble.is_missing() => {
                Err(ProviderError::Unfit { why: format!("E2B has no template `{template}`") })
            }
            Err(trouble) => Err(self.explain(trouble)),
        }
    }

    async fn make(&self, id: &SandboxId, new: &NewSandbox<'_>) -> Result<Opened, Trouble> {
        let name = format!("carrel-{}-{id}", self.house);
        let ask = |path: &'static str, name: Option<String>| async move {
            self.api.ask_once(Method::POST, path, Some(new), name.as_deref()).await?.read::<Opened>()
        };
        if !self.is_old.load(Ordering::Relaxed) {
            match ask("/v2/sandboxes", Some(name)).await {
                // The name is spoken for by a question that was put otherwise, or whose end nobody knows. Nothing was
                // found under the id, so this is a question of its own.
                Err(Trouble::Refused(refused))
                    if matches!(
                        refused.code.as_deref(),
                        Some("idempotency_request_mismatch" | "idempotency_outcome_unknown")
                    ) =>
                {
                    return ask("/v2/sandboxes", None).await;
                }
                Err(trouble) if is_unknown_path(&trouble) => self.is_old.store(true, Ordering::Relaxed),
                other => return other,
            }
        }
        ask("/sandboxes", None).await
    }

    fn asked<'a>(
        &'a self,
        id: &'a SandboxId,
        spec: &'a Spec,
        template: &'a str,
    ) -> Result<NewSandbox<'a>, ProviderError> {
        let mut metadata: BTreeMap<&str, &str> =
            spec.metadata.entries().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        metadata.insert(ID, id.as_str());
        metadata.insert(HOUSE, &self.house);
        let mut env: BTreeMap<&str, &str> =
            spec.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        env.insert("CARREL_SANDBOX_ID", id.as_str());
        if !spec.volumes.is_empty() {
            let why = "volumes of this house are not at E2B: make the sandbox elsewhere, or without them";
            return Err(ProviderError::Unfit { why: why.into() });
        }
        if !spec.tls_ports.is_empty() {
            let why = "ports that speak TLS themselves are reached at the provider `local`: make the sandbox there";
            return Err(ProviderError::Unfit { why: why.into() });
        }
        let network = NewNetwork::of(&spec.network)?;
        Ok(NewSandbox {
            template,
            timeout: self.first_lease(spec.lifetime.get()),
            auto_pause: true,
            secure: true,
            allow_internet_access: spec.network.mode != NetworkMode::None,
            network,
            metadata,
            env,
        })
    }

    /// The way into a sandbox that is awake. Known here, or asked for; one that sleeps is not woken for it.
    pub(super) async fn access(&self, id: &SandboxId) -> Result<(E2bId, Access), ProviderError> {
        let known = self.places().get(id).and_then(|place| place.known().clone());
        if let Some(Known { e2b, access: Some(access), .. }) = known {
            return Ok((e2b, access));
        }
        let turn = self.turn(id).await;
        let seen = self.look(id).await?.ok_or(ProviderError::Lost)?;
        match self.sighting(&seen)? {
            Sighting::Running => {}
            Sighting::Paused => return Err(ProviderError::Unavailable { why: "it is paused".into() }),
            Sighting::Missing => return Err(ProviderError::Lost),
        }
        // Joining never shortens a life.
        let left = seen.end_at.duration_since(Timestamp::now()).as_secs().max(1);
        let access = self.join(&turn.place, &seen, json!({ "timeout": left })).await?;
        Ok((seen.id, access))
    }

    /// Joins a sandbox, which wakes it if it sleeps.
    pub(super) async fn join(
        &self,
        place: &Place,
        seen: &Seen,
        body: serde_json::Value,
    ) -> Result<Access, ProviderError> {
        let lasts = body["timeout"].as_u64().unwrap_or_default();
        let mut joined = Err(Trouble::NoKey);
        if !self.is_old.load(Ordering::Relaxed) {
            joined = self.api.post(&format!("/v2/sandboxes/{}/connect", seen.id), &body).await;
            if joined.as_ref().is_err_and(is_unknown_path) {
                self.is_old.store(true, Ordering::Relaxed);
            }
        }
        if self.is_old.load(Ordering::Relaxed) {
            joined = self.api.post(&format!("/sandboxes/{}/connect", seen.id), &body).await;
        }
        let opened = joined.and_then(|answer| answer.read::<Opened>()).map_err(|trouble| self.explain(trouble))?;
        Ok(place.open(opened, seen.end_at.max(lease::end_of(lasts))))
    }

    /// Ends it, and every double of it.
    pub(super) async fn destroy(&self, id: &SandboxId, turn: Turn) -> Result<(), ProviderError> {
        let known = turn.place.known().as_ref().map(|known| known.e2b.clone());
        let ended = async {
            let mut all: Vec<E2bId> = self.find_all(id).await?.into_iter().map(|seen| seen.id).collect();
            all.extend(known.filter(|known| !all.contains(known)));
            for one in all {
                self.kill(&one).await?;
            }
            Ok(())
        };
        ended.await.map_err(|trouble| self.explain(trouble))?;
        *turn.place.known() = None;
        Ok(())
    }

    pub(super) async fn kill(&self, id: &E2bId) -> Result<(), Trouble> {
        match self.api.ask(Method::DELETE, &format!("/sandboxes/{id}"), None::<&()>).await {
            Ok(_) => Ok(()),
            Err(trouble) if trouble.is_missing() => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }
}

/// Whether a router, and not the control plane, said that there is nothing here.
fn is_unknown_path(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Refused(refused) => match refused.status.as_u16() {
            405 | 501 => true,
            404 => !refused.is_spoken,
            _ => false,
        },
        _ => false,
    }
}
