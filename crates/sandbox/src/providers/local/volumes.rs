//! Volumes on this machine: folders beside the slots, which sandboxes have mounted and which stay when they end.
//!
//! ```text
//! volumes/ID          what is in it; on disk its owners are the users inside, from zero on
//! trash/volume-ID     one on its way out
//! ```

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, chown},
    path::PathBuf,
    sync::Arc,
};

use async_trait::async_trait;
use carrel_model::VolumeId;

use super::{Inner, Local, aside, slot::unavailable};
use crate::{ProviderError, Stowing, volume::VolumeContent};

/// How much one may hold, where the filesystem keeps count.
const MOST_BYTES: u64 = 64 << 30;
/// Who owns what nobody else owns: the user that templates have.
const USER: u32 = 1000;

/// Where the volumes lie.
#[derive(Debug)]
pub(crate) struct Volumes(PathBuf);

impl Volumes {
    pub(crate) fn new(folder: PathBuf) -> Volumes {
        Volumes(folder)
    }

    pub(crate) fn folder(&self, id: &VolumeId) -> PathBuf {
        self.0.join(id.as_str())
    }
}

impl Inner {
    /// Makes a volume, or finds it made. Half made ones are not seen: it is made beside and renamed.
    pub(crate) async fn make_volume(self: &Arc<Self>, id: &VolumeId) -> Result<(), ProviderError> {
        let (inner, id) = (Arc::clone(self), id.clone());
        let made = aside(move || {
            let place = inner.yard.volumes.folder(&id);
            if place.is_dir() {
                return Ok(());
            }
            let draft = inner.yard.drafts.join(format!("volume-{}", hex::encode(super::slot::random::<8>())));
            inner.yard.disk().make(&draft, MOST_BYTES)?;
            // Everybody inside may write to it, whoever the template's users are.
            fs::set_permissions(&draft, fs::Permissions::from_mode(0o777))?;
            // A plain user cannot give away what it owns; inside it is root's then.
            let _ = chown(&draft, Some(USER), Some(USER));
            match fs::rename(&draft, &place) {
                Err(_) if place.is_dir() => inner.yard.disk().erase(&draft),
                renamed => renamed,
            }
        });
        made.await.map_err(|error: io::Error| unavailable("make a volume", &error))
    }
}

#[async_trait]
impl Stowing for Local {
    async fn make_volume(&self, id: &VolumeId) -> Result<(), ProviderError> {
        self.inner.make_volume(id).await
    }

    async fn remove_volume(&self, id: &VolumeId) -> Result<(), ProviderError> {
        let (inner, id) = (Arc::clone(&self.inner), id.clone());
        let removed = aside(move || {
            match fs::rename(inner.yard.volumes.folder(&id), inner.yard.trash.join(format!("volume-{id}"))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            inner.yard.empty_trash()
        });
        removed.await.map_err(|error| unavailable("remove a volume", &error))
    }

    fn content(&self, id: &VolumeId) -> Result<VolumeContent, ProviderError> {
        Ok(VolumeContent::new(self.inner.yard.volumes.folder(id)))
    }
}
