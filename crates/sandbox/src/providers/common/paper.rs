//! Records on paper: one small file each, there whole or not at all, for their owner alone.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

/// Whether what was written must survive the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survives {
    /// The machine: it is safe on disk when it is kept.
    Machine,
    /// Only the process.
    Process,
}

/// Writes a record beside, then renames it.
pub(crate) fn keep(folder: &Path, name: &str, record: &impl Serialize, survives: Survives) -> io::Result<()> {
    let draft = folder.join(format!(".{name}.json"));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&serde_json::to_vec(record)?)?;
    if survives == Survives::Machine {
        file.sync_all()?;
    }
    fs::rename(&draft, place(folder, name))?;
    if survives == Survives::Machine { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

/// All records in a folder. One that goes meanwhile is left out, and a draft is somebody's who is writing just now: a
/// look removes nothing.
pub(crate) fn all<T: DeserializeOwned>(folder: &Path) -> io::Result<Vec<T>> {
    let mut records = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !name.ends_with(".json") || name.starts_with('.') {
            continue;
        }
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        match serde_json::from_slice(&text) {
            Ok(record) => records.push(record),
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}"))),
        }
    }
    Ok(records)
}

/// Removes the drafts that an earlier life did not finish. Only before anybody writes.
pub(crate) fn forget_drafts(folder: &Path) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with('.')) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Removes a record, content to find none.
pub(crate) fn forget(folder: &Path, name: &str) -> io::Result<()> {
    match fs::remove_file(place(folder, name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_all_records_disturbs_nobody_who_writes_one() {
        let folder = tempfile::tempdir().unwrap();
        let (written, place) = (std::sync::atomic::AtomicBool::new(false), folder.path());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !written.load(std::sync::atomic::Ordering::Relaxed) {
                    all::<u32>(place).unwrap();
                }
            });
            for number in 0..2000_u32 {
                keep(place, &format!("slot-{}", number % 5), &number, Survives::Process).unwrap();
                forget(place, &format!("slot-{}", (number + 2) % 5)).unwrap();
            }
            written.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        fs::write(place.join(".half.json"), "{").unwrap();
        forget_drafts(place).unwrap();
        assert!(!place.join(".half.json").exists());
    }
}
