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

/// All records in a folder. A draft that was not finished is removed.
pub(crate) fn all<T: DeserializeOwned>(folder: &Path) -> io::Result<Vec<T>> {
    let mut records = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !name.ends_with(".json") {
            continue;
        }
        if name.starts_with('.') {
            fs::remove_file(&path)?;
            continue;
        }
        match serde_json::from_slice(&fs::read(&path)?) {
            Ok(record) => records.push(record),
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}"))),
        }
    }
    Ok(records)
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
