//! A file as a listing shows it.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use super::super::users::Everybody;
use crate::wire::{
    Timestamp,
    filesystem::{DIRECTORY, EntryInfo, FILE, UNSPECIFIED},
};

/// The namespace of what callers note with their files.
const NOTES: &str = "user.e2b.";

/// Describes a path. Of a link the kind and mode are its target's; size, time and permissions are its own.
pub(in crate::daemon) fn describe(path: &Path, everybody: &Everybody) -> io::Result<EntryInfo> {
    let own = fs::symlink_metadata(path)?;
    let mut entry = EntryInfo {
        name: path.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned()),
        kind: kind(&own),
        path: path.to_string_lossy().into_owned(),
        size: own.len() as i64,
        mode: own.mode() & 0o777,
        permissions: permissions(&own),
        owner: everybody.owner(own.uid()),
        group: everybody.group(own.gid()),
        modified_time: Some(Timestamp { seconds: own.mtime(), nanos: own.mtime_nsec() as i32 }),
        ..Default::default()
    };
    if own.is_symlink() {
        entry.is_symlink = Some(true);
        let target = fs::canonicalize(path).and_then(|target| Ok((fs::metadata(path)?, target)));
        match target {
            Ok((found, target)) => {
                entry.kind = kind(&found);
                entry.mode = found.mode() & 0o777;
                entry.symlink_target = Some(target.to_string_lossy().into_owned());
            }
            Err(_) => {
                entry.kind = UNSPECIFIED;
                entry.symlink_target = Some(entry.path.clone());
            }
        }
    } else if own.is_file() {
        entry.metadata = metadata_of(path);
    }
    Ok(entry)
}

/// What was noted with a file.
pub(in crate::daemon) fn metadata_of(path: &Path) -> BTreeMap<String, String> {
    let mut notes = BTreeMap::new();
    let mut names = Vec::new();
    // Most files have none, and the question costs one call.
    match rustix::fs::llistxattr_query(path) {
        Ok(0) | Err(_) => return notes,
        Ok(length) => names.resize(length, 0u8),
    }
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return notes };
    for name in names[..length].split(|byte| *byte == 0) {
        let Some(name) = std::str::from_utf8(name).ok() else { continue };
        let Some(key) = name.strip_prefix(NOTES) else { continue };
        let mut value = [0u8; 4096];
        if let Ok(length) = rustix::fs::lgetxattr(path, name, &mut value[..]) {
            notes.insert(key.to_owned(), String::from_utf8_lossy(&value[..length]).into_owned());
        }
    }
    notes
}

/// The whole name of a note.
pub(in crate::daemon) fn note_name(key: &str) -> String {
    format!("{NOTES}{key}")
}

fn kind(found: &Metadata) -> i32 {
    match found.file_type() {
        kind if kind.is_file() => FILE,
        kind if kind.is_dir() => DIRECTORY,
        _ => UNSPECIFIED,
    }
}

/// Kind and permissions in the letters of Go, whose first letters differ from those of `ls`.
fn permissions(found: &Metadata) -> String {
    let kind = found.file_type();
    let mode = found.mode();
    let mut text = String::with_capacity(12);
    for (is_it, letter) in [
        (kind.is_dir(), 'd'),
        (kind.is_symlink(), 'L'),
        (kind.is_block_device() || kind.is_char_device(), 'D'),
        (kind.is_fifo(), 'p'),
        (kind.is_socket(), 'S'),
        (mode & 0o4000 != 0, 'u'),
        (mode & 0o2000 != 0, 'g'),
        (kind.is_char_device(), 'c'),
        (mode & 0o1000 != 0, 't'),
    ] {
        if is_it {
            text.push(letter);
        }
    }
    if text.is_empty() {
        text.push('-');
    }
    for (bit, letter) in (0..9).rev().zip("rwxrwxrwx".chars()) {
        text.push(if mode & (1 << bit) != 0 { letter } else { '-' });
    }
    text
}
