//! The guest's daemon, as it was built into this program, laid on disk where jails are shown it.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

static ENVD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/envd"));

/// Where the daemon is seen inside.
pub(crate) const PROGRAM: &str = "/run/carrel/envd";

/// Lays the daemon down in a folder of its own, named by its content: sandboxes that live on with an older one keep it.
pub(crate) fn lay_down(folder: &Path) -> io::Result<PathBuf> {
    let digest = hex::encode(&Sha256::digest(ENVD)[..8]);
    let place = folder.join(&digest);
    let program = place.join("envd");
    if program.exists() {
        return Ok(place);
    }
    let draft = folder.join(format!(".{digest}.{}", std::process::id()));
    let _ = fs::remove_dir_all(&draft);
    fs::create_dir_all(&draft)?;
    fs::write(draft.join("envd"), ENVD)?;
    fs::set_permissions(draft.join("envd"), fs::Permissions::from_mode(0o555))?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755))?;
    match fs::rename(&draft, &place) {
        Err(error) if !place.exists() => Err(error),
        _ => Ok(place),
    }
}
