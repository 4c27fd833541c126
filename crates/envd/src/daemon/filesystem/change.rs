//! Making, moving and removing.

use std::{fs, io, os::unix::fs::lchown, path::Path};

use rustix::fs::{AtFlags, CWD};

use super::{
    super::users::User,
    descent::{Descent, Found},
    fault,
};
use crate::wire::{Code, Fault};

/// Makes a folder and its parents, for a user.
pub(super) fn make_dir(path: &Path, user: &User) -> Result<(), Fault> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(Fault::new(Code::AlreadyExists, format!("directory already exists: {}", path.display())));
        }
        Ok(_) => {
            let message = format!("path already exists but it is not a directory: {}", path.display());
            return Err(Fault::new(Code::InvalidArgument, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(fault(&error, path)),
    }
    make_all(path, user).map_err(|error| fault(&error, path))
}

/// Makes what is missing above a path, for a user.
pub(in crate::daemon) fn make_parents(path: &Path, user: &User) -> io::Result<()> {
    match path.parent() {
        Some(parent) => make_all(parent, user),
        None => Ok(()),
    }
}

/// Gives a path to a user, where that can be done.
fn copy_owner(path: &Path, user: &User) -> io::Result<()> {
    match lchown(path, Some(user.uid), Some(user.gid)) {
        // Someone who is not root makes only what is theirs anyway.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

fn make_all(path: &Path, user: &User) -> io::Result<()> {
    let mut missing = Vec::new();
    for path in path.ancestors() {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => break,
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(path),
            Err(error) => return Err(error),
        }
    }
    for path in missing.into_iter().rev() {
        match fs::create_dir(path) {
            Ok(()) => copy_owner(path, user)?,
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Moves something; parents are made.
pub(super) fn rename(from: &Path, to: &Path, user: &User) -> Result<(), Fault> {
    fs::symlink_metadata(from).map_err(|error| fault(&error, from))?;
    make_parents(to, user).map_err(|error| fault(&error, to))?;
    match fs::rename(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            // Another filesystem, or a folder of a lower layer.
            copy_tree(from, to).map_err(|error| fault(&error, to))?;
            remove(from)
        }
        Err(error) => Err(fault(&error, to)),
    }
}

/// Removes a file or a whole folder. What is not there is removed.
pub(super) fn remove(path: &Path) -> Result<(), Fault> {
    if path.parent().is_none() {
        return Err(Fault::new(Code::InvalidArgument, "/ is the whole sandbox; it cannot be removed"));
    }
    let result = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(fault(&error, path)),
        Ok(()) => Ok(()),
    }
}

fn remove_tree(path: &Path) -> io::Result<()> {
    let mut descent = Descent::begin(path)?;
    let mut levels: Vec<(Option<Found>, std::vec::IntoIter<Found>)> = vec![(None, descent.look()?.into_iter())];
    while let Some((_, level)) = levels.last_mut() {
        match level.next() {
            Some(found) if found.is_folder => {
                descent.enter(&found.name)?;
                let below = descent.look()?.into_iter();
                levels.push((Some(found), below));
            }
            Some(found) => gone(rustix::fs::unlinkat(descent.here(), &found.name, AtFlags::empty()))?,
            None => {
                if let Some((Some(folder), _)) = levels.pop() {
                    descent.leave()?;
                    gone(rustix::fs::unlinkat(descent.here(), &folder.name, AtFlags::REMOVEDIR))?;
                }
            }
        }
    }
    drop(descent);
    gone(rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR))
}

fn gone(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(rustix::io::Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

/// Copies a tree with owners, modes, times and links: through the same tar that carries trees in and out.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    super::super::extension::copy_tree(from, to)
}
