//! The volumes desk: folders that outlive sandboxes. Whoever has a volume's token reads and writes it from outside.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, Subject, VolumeId, VolumeName,
    audit::{AuditLine, Outcome},
    public::NewVolumeMount,
    sandbox::{MOST_VOLUMES, Spec, VolumeMount},
    volume::Volume,
};
use carrel_sandbox::{ProviderError, volume::VolumeContent};
use carrel_store::{SealedValue, Tx};
use carrel_vault::Sealed;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::{
    Error,
    house::House,
    secret::{new_ticket, new_volume_id},
};

/// Makes, lists and removes volumes, and opens what is in them.
pub struct VolumesDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl VolumesDesk<'_> {
    /// Makes a volume, and the token that opens it.
    pub async fn create(&self, grant: &Grant, name: VolumeName) -> Result<(Volume, SecretString), Error> {
        self.house.admit(grant, Action::VolumeMake, Subject::House).await?;
        let provider = self.house.settings.defaults.provider.clone();
        let post = self.house.post(&provider)?;
        let stowing = post.provider.stowing().ok_or_else(|| keeps_none(&provider))?;
        let volume = Volume {
            id: new_volume_id(),
            name,
            provider,
            home: self.house.settings.node.clone(),
            removed: false,
            created_by: grant.key.clone(),
            created_at: self.house.store.now(),
        };
        let token = SecretString::from(format!("vol_{}", new_ticket()));
        let sealed = seal(self.house, &volume.id, &token);
        let (written, grant) = (volume.clone(), grant.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                if !tx.insert_volume(&written, &sealed).await? {
                    return Err(Error::Conflict { why: format!("there is a volume `{}` already", written.name) });
                }
                audit(tx, &grant, Action::VolumeMake, &written.id).await
            })
        });
        change.await?;
        // Whoever needs it and does not find it makes it: a server that ends here has promised nothing it cannot keep.
        stowing.make_volume(&volume.id).await.map_err(trouble)?;
        Ok((volume, token))
    }

    /// All of them, by name.
    pub async fn list(&self, grant: &Grant) -> Result<Vec<Volume>, Error> {
        self.house.admit(grant, Action::VolumeUse, Subject::House).await?;
        Ok(self.house.store.volumes().list().await?)
    }

    /// One of them, and the token that opens it.
    pub async fn get(&self, grant: &Grant, id: &VolumeId) -> Result<(Volume, SecretString), Error> {
        self.house.admit(grant, Action::VolumeUse, Subject::House).await?;
        let (volume, sealed) = self.find(id).await?;
        let token = open(self.house, id, &sealed)?;
        Ok((volume, token))
    }

    /// Removes a volume and all that is in it, unless a sandbox has it.
    pub async fn remove(&self, grant: &Grant, id: &VolumeId) -> Result<(), Error> {
        self.house.admit(grant, Action::VolumeRemove, Subject::House).await?;
        let (id, grant) = (id.clone(), grant.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                let volume = tx.lock_volume(&id).await?.ok_or_else(|| no_volume(&id))?;
                if let Some(sandbox) = tx.user_of_volume(&id).await? {
                    let why = format!("volume {id} is mounted in sandbox {sandbox}: end that one first");
                    return Err(Error::Conflict { why });
                }
                tx.dismiss_volume(&id).await?;
                audit(tx, &grant, Action::VolumeRemove, &id).await?;
                Ok::<_, Error>(volume)
            })
        });
        let volume = change.await?;
        take_away(self.house, volume).await
    }

    /// What is in a volume, for whoever shows its token.
    pub async fn content(&self, id: &VolumeId, token: &str) -> Result<Option<VolumeContent>, Error> {
        let (volume, sealed) = self.find(id).await?;
        let kept = open(self.house, id, &sealed)?;
        // Compared by their sums: how much of it is right shows nowhere.
        if Sha256::digest(kept.expose_secret()) != Sha256::digest(token) {
            return Ok(None);
        }
        let post = self.house.post(&volume.provider)?;
        let stowing = post.provider.stowing().ok_or_else(|| keeps_none(&volume.provider))?;
        self.refuse_elsewhere(&volume)?;
        stowing.make_volume(id).await.map_err(trouble)?;
        Ok(Some(stowing.content(id).map_err(trouble)?))
    }

    /// The volumes that a new sandbox is to have.
    pub(crate) async fn mounts(
        &self,
        grant: &Grant,
        spec: &Spec,
        asked: Vec<NewVolumeMount>,
    ) -> Result<Vec<VolumeMount>, Error> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        self.house.admit(grant, Action::VolumeUse, Subject::House).await?;
        let wrong = |detail: String| Error::field("volumes", detail);
        if asked.len() > MOST_VOLUMES {
            return Err(wrong(format!("at most {MOST_VOLUMES} volumes")));
        }
        let mut mounts: Vec<VolumeMount> = Vec::new();
        for NewVolumeMount { name, path } in asked {
            let found = self.house.store.volumes().find_named(&name).await?;
            let volume = found.ok_or_else(|| wrong(format!("there is no volume `{name}`")))?;
            self.refuse_elsewhere(&volume)?;
            if volume.provider != spec.provider {
                return Err(wrong(format!(
                    "the volume `{name}` is for sandboxes of the provider `{}`",
                    volume.provider
                )));
            }
            let covers = |one: &str, other: &str| {
                other.strip_prefix(one).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let place = path.as_str();
            if mounts.iter().any(|it| covers(it.path.as_str(), place) || covers(place, it.path.as_str())) {
                return Err(wrong(format!("two volumes are to be at `{place}`, or one inside another")));
            }
            mounts.push(VolumeMount { volume: volume.id, name, path });
        }
        Ok(mounts)
    }

    async fn find(&self, id: &VolumeId) -> Result<(Volume, SealedValue), Error> {
        let found = self.house.store.volumes().find(id).await?;
        found.filter(|(volume, _)| !volume.removed).ok_or_else(|| no_volume(id))
    }

    fn refuse_elsewhere(&self, volume: &Volume) -> Result<(), Error> {
        if volume.home == self.house.settings.node {
            return Ok(());
        }
        Err(Error::Conflict {
            why: format!("the volume `{}` lies on the node {}: ask there", volume.name, volume.home),
        })
    }
}

/// Sees that the volumes of a sandbox are still there when its row is written, and stay until it is.
pub(crate) async fn hold(tx: &mut Tx, mounts: &[VolumeMount]) -> Result<(), Error> {
    for mount in mounts {
        if tx.lock_volume(&mount.volume).await?.is_none() {
            return Err(Error::field("volumes", format!("there is no volume `{}` any more", mount.name)));
        }
    }
    Ok(())
}

/// Finishes what an earlier life began: volumes on their way out, and tokens that a former master key sealed.
pub(crate) async fn take_up_former_lives(house: &Arc<House>) -> Result<(), Error> {
    for volume in house.store.volumes().leaving().await? {
        if volume.home != house.settings.node {
            continue;
        }
        let id = volume.id.clone();
        if let Err(error) = take_away(house, volume).await {
            tracing::warn!(volume = %id, "a volume stays until the next start: {error}");
        }
    }
    let print = house.settings.keychain.current();
    for (volume, sealed) in house.store.volumes().sealed_otherwise(print.as_str()).await? {
        let Ok(token) = open(house, &volume.id, &sealed) else { continue };
        let sealed = seal(house, &volume.id, &token);
        let change = house
            .store
            .change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.reseal_volume(&volume.id, &sealed).await?) }));
        change.await?;
    }
    Ok(())
}

/// The folder goes first, then the row: whoever is cut off in between does it again.
async fn take_away(house: &Arc<House>, volume: Volume) -> Result<(), Error> {
    if let Some(stowing) = house.post(&volume.provider)?.provider.stowing() {
        stowing.remove_volume(&volume.id).await.map_err(trouble)?;
    }
    let change =
        house.store.change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.forget_volume(&volume.id).await?) }));
    change.await
}

fn seal(house: &House, id: &VolumeId, token: &SecretString) -> SealedValue {
    let Sealed { print, bytes } = house.settings.keychain.seal(&format!("volume/{id}"), token);
    SealedValue { sealed_by: print.to_string(), bytes }
}

fn open(house: &House, id: &VolumeId, sealed: &SealedValue) -> Result<SecretString, Error> {
    let sealed = Sealed { print: sealed.sealed_by.clone().into(), bytes: sealed.bytes.clone() };
    house.settings.keychain.open(&format!("volume/{id}"), &sealed).map_err(|error| Error::Unavailable {
        why: format!("the token of volume {id} cannot be opened: {error}; bring the master key back"),
        source: None,
    })
}

fn keeps_none(provider: &carrel_model::ProviderName) -> Error {
    Error::Conflict { why: format!("the provider `{provider}` keeps no volumes") }
}

fn no_volume(id: &VolumeId) -> Error {
    Error::NotFound { what: format!("volume {id}") }
}

fn trouble(error: ProviderError) -> Error {
    Error::Unavailable { why: format!("a volume cannot be had: {error}"), source: None }
}

async fn audit(tx: &mut Tx, grant: &Grant, action: Action, id: &VolumeId) -> Result<(), Error> {
    let line = AuditLine::by(grant, action.word(), Some(id.to_string()), Outcome::Done, tx.now());
    Ok(tx.audit(&line).await?)
}
