//! `filesystem.Filesystem`: looking at files, moving them, and watching folders.
//!
//! envd is root inside and does this as root, as E2B's does: whoever may call it may name root as well. What it makes
//! belongs to the user that was named.

mod change;
mod descent;
mod entry;
mod list;
mod watch;

use std::{io, path::Path, sync::Arc};

use super::{guest::Guest, paths};
use crate::wire::{
    Code, Empty, Fault,
    filesystem::{EntryResponse, ListDirRequest, ListDirResponse, MoveRequest, PathRequest},
};

pub(super) use change::make_parents;
pub(super) use descent::{Descent, Found};
pub(super) use entry::{describe, metadata_of, note_name};
pub(super) use watch::{Watch, Watcher, create_watcher, remove_watcher, watch, watcher_events};

/// Looks at one path.
pub(super) fn stat(guest: &Guest, user: Option<&str>, request: PathRequest) -> Result<EntryResponse, Fault> {
    let path = paths::resolve(&request.path, &guest.user(user)?, None)?;
    entry(guest, &path)
}

/// Makes a folder.
pub(super) fn make_dir(guest: &Guest, user: Option<&str>, request: PathRequest) -> Result<EntryResponse, Fault> {
    let user = guest.user(user)?;
    let path = paths::resolve(&request.path, &user, None)?;
    change::make_dir(&path, &user)?;
    entry(guest, &path)
}

/// Moves something.
pub(super) async fn rename(
    guest: &Arc<Guest>,
    user: Option<&str>,
    request: MoveRequest,
) -> Result<EntryResponse, Fault> {
    let user = guest.user(user)?;
    let from = paths::resolve(&request.source, &user, None)?;
    let to = paths::resolve(&request.destination, &user, None)?;
    let guest = guest.clone();
    aside(move || {
        change::rename(&from, &to, &user)?;
        entry(&guest, &to)
    })
    .await
}

/// Lists a folder.
pub(super) async fn list(
    guest: &Arc<Guest>,
    user: Option<&str>,
    request: ListDirRequest,
) -> Result<ListDirResponse, Fault> {
    let path = paths::resolve(&request.path, &guest.user(user)?, None)?;
    let everybody = guest.users.everybody();
    let depth = request.depth.max(1) as usize;
    aside(move || Ok(ListDirResponse { entries: list::list(&path, depth, &everybody)? })).await
}

/// Removes something, with all that is in it.
pub(super) async fn remove(guest: &Arc<Guest>, user: Option<&str>, request: PathRequest) -> Result<Empty, Fault> {
    let path = paths::resolve(&request.path, &guest.user(user)?, None)?;
    aside(move || change::remove(&path).map(|()| Empty {})).await
}

fn entry(guest: &Guest, path: &Path) -> Result<EntryResponse, Fault> {
    let everybody = guest.users.everybody();
    let entry = describe(path, &everybody).map_err(|error| fault(&error, path))?;
    Ok(EntryResponse { entry: Some(entry) })
}

/// Does what may take long on a thread beside.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Fault::new(Code::Internal, format!("the work was not done: {error}"))),
    }
}

/// What a failed call means to the caller.
pub(super) fn fault(error: &io::Error, path: &Path) -> Fault {
    use io::ErrorKind as Kind;
    let path = path.display();
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Fault::new(Code::FailedPrecondition, format!("path leads in circles: {path}"));
    }
    match error.kind() {
        Kind::NotFound => Fault::new(Code::NotFound, format!("path not found: {path}")),
        Kind::AlreadyExists => Fault::new(Code::AlreadyExists, format!("path already exists: {path}")),
        Kind::NotADirectory => Fault::new(Code::InvalidArgument, format!("path is not a directory: {path}")),
        Kind::IsADirectory => Fault::new(Code::InvalidArgument, format!("path is a directory: {path}")),
        Kind::InvalidFilename | Kind::InvalidInput => Fault::new(Code::InvalidArgument, format!("{path}: {error}")),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            Fault::new(Code::PermissionDenied, format!("{path}: {error}"))
        }
        Kind::StorageFull | Kind::QuotaExceeded => Fault::new(Code::ResourceExhausted, format!("{path}: {error}")),
        _ => Fault::new(Code::Internal, format!("{path}: {error}")),
    }
}
