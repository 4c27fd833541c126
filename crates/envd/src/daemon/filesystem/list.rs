//! Listings.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{
    super::users::Everybody,
    descent::{Descent, Found},
    entry::describe,
    fault,
};
use crate::wire::{Fault, filesystem::EntryInfo};

/// What is below a folder, so deep, in the order of a walk. What goes away meanwhile is left out, and so is what lies
/// deeper than a path can say.
pub(super) fn list(path: &Path, depth: usize, everybody: &Everybody) -> Result<Vec<EntryInfo>, Fault> {
    let broken = |error: std::io::Error| fault(&error, path);
    let mut descent = Descent::begin(path).map_err(broken)?;
    let mut entries = Vec::new();
    let mut here = PathBuf::from(path);
    let mut levels: Vec<std::vec::IntoIter<Found>> = vec![descent.look().map_err(broken)?.into_iter()];
    while let Some(level) = levels.last_mut() {
        let Some(found) = level.next() else {
            levels.pop();
            if !levels.is_empty() {
                here.pop();
                descent.leave().map_err(broken)?;
            }
            continue;
        };
        here.push(OsStr::from_bytes(found.name.as_bytes()));
        if let Ok(entry) = describe(&here, everybody) {
            entries.push(entry);
        }
        if found.is_folder && levels.len() < depth && descent.enter(&found.name).is_ok() {
            match descent.look() {
                Ok(below) => {
                    levels.push(below.into_iter());
                    continue;
                }
                Err(_) => descent.leave().map_err(broken)?,
            }
        }
        here.pop();
    }
    Ok(entries)
}
