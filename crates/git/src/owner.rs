//! A folder of somebody else on this machine is read and written as that somebody: what its configuration starts has no more
//! rights than its owner, links in it lead nowhere that its owner could not go, and what is written there is its owner's.

use std::{ffi::OsString, fs, os::unix::fs::MetadataExt, path::Path};

use crate::{
    GitError,
    program::{self, Argument},
};

/// An option that says how git is started in a folder of this machine.
pub(crate) struct InFolder(String);

impl Argument for InFolder {
    fn text(&self) -> OsString {
        self.0.clone().into()
    }
}

impl InFolder {
    /// For a call that reads. Nothing when the folder is our own.
    pub(crate) fn read(path: &Path) -> Result<Option<InFolder>, GitError> {
        let owner = as_owner(path)?;
        Ok(owner.map(|owner| InFolder(format!("--upload-pack={owner} git -c 'safe.directory=*' upload-pack"))))
    }

    /// For a push. A folder somebody works in follows, as long as nothing in it is unsaved; no hook of theirs is run.
    pub(crate) fn write(path: &Path) -> Result<InFolder, GitError> {
        let owner = as_owner(path)?.unwrap_or_default();
        Ok(InFolder(format!(
            "--receive-pack=umask 022; {owner} git -c 'safe.directory=*' -c receive.denyCurrentBranch=updateInstead \
             -c core.hooksPath=/dev/null receive-pack"
        )))
    }
}

/// The words before a program that make it a folder's owner's. Nothing when we are not root and could not, when the folder is
/// root's, or when its owner cannot even come there: then the number it bears is nobody's who works here.
fn as_owner(path: &Path) -> Result<Option<String>, GitError> {
    // What is wrong with the folder is said by git.
    let Some(path) = fs::canonicalize(path).ok().filter(|_| rustix::process::geteuid().is_root()) else {
        return Ok(None);
    };
    let Ok(folder) = fs::metadata(&path) else { return Ok(None) };
    let (user, group) = (folder.uid(), folder.gid());
    let lets_in = |above: &Path| {
        let mode = |meta: fs::Metadata| match (meta.uid() == user, meta.gid() == group) {
            (true, _) => meta.mode() & 0o100,
            (false, true) => meta.mode() & 0o010,
            (false, false) => meta.mode() & 0o001,
        };
        fs::metadata(above).is_ok_and(|meta| mode(meta) != 0)
    };
    if user == 0 || !path.ancestors().all(lets_in) {
        return Ok(None);
    }
    if program::find("setpriv").is_none() {
        return Err(GitError::unfit(
            "this folder belongs to another user of this machine, as whom git is started with `setpriv`: install \
             util-linux, or run the server as that user",
        ));
    }
    // Nothing of ours is theirs to read: neither our folder nor our configuration.
    Ok(Some(format!(
        "cd / && exec setpriv --reuid={user} --regid={group} --clear-groups --no-new-privs env HOME=/nonexistent \
         GIT_CONFIG_GLOBAL=/dev/null"
    )))
}
