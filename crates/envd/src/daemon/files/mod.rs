//! `/files`: files in and out over plain HTTP, of any size in constant memory.

mod compose;
mod download;
mod multipart;
mod sink;
mod upload;

pub(super) use compose::compose;
pub(super) use download::download;
pub(super) use sink::Inflater;
pub(super) use upload::upload;

use std::{fs::File, io, path::Path};

use super::{body::Refusal, users::User};
use http::StatusCode;

/// Chunks that move between the network and the disk.
pub(super) const CHUNK: usize = 256 << 10;
/// What is small is done at once; what is larger gets a thread for its disk work, so that nobody waits for a slow disk.
pub(super) const SMALL: u64 = 64 << 10;
/// Chunks that wait between the two.
pub(super) const WAITING: usize = 4;

/// Refuses what is not a plain file: pipes and devices have no end, and some never begin.
fn plain_file(file: File, path: &Path) -> Result<File, Refusal> {
    let found = file.metadata().map_err(|error| Refusal::of_io(&error, path))?;
    if found.is_dir() {
        let message = format!("path '{}' is a directory", path.display());
        return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
    }
    if !found.is_file() {
        let message = format!("path '{}' is not a plain file", path.display());
        return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
    }
    Ok(file)
}

/// Opens a file to be written anew, with its parents, for a user.
pub(super) fn create(path: &Path, user: &User) -> Result<File, Refusal> {
    use rustix::fs::{Mode, OFlags};
    let refuse = |error: io::Error| Refusal::of_io(&error, path);
    super::filesystem::make_parents(path, user).map_err(refuse)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o666)).map_err(|error| refuse(error.into()))?;
    let file = plain_file(file.into(), path)?;
    if file.metadata().map_err(refuse)?.len() > 0 {
        file.set_len(0).map_err(refuse)?;
    }
    let (uid, gid) = (rustix::process::Uid::from_raw(user.uid), rustix::process::Gid::from_raw(user.gid));
    match rustix::fs::fchown(&file, Some(uid), Some(gid)) {
        // Someone who is not root writes only what is theirs anyway.
        Ok(()) | Err(rustix::io::Errno::PERM) => Ok(file),
        Err(error) => Err(refuse(error.into())),
    }
}

/// Keeps the line usable after a refusal: what the caller still sends is read and thrown away, up to a point.
pub(super) async fn drain(body: &mut hyper::body::Incoming) {
    use http_body_util::BodyExt;
    let mut left: usize = 64 << 20;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, bytes::Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
