//! The files of a checkout that are a sandbox's own, as an archive.

use std::{collections::BTreeSet, io, path::Path};

use crate::Laid;

/// Packs files, each with the folders above it.
pub(crate) fn seeds(files: &[Laid]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = |path: &Path, kind: tar::EntryType, mode: u32, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, path, content)
    };
    let above = |file: &Laid| Path::new(&file.path).ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>();
    let folders: BTreeSet<_> = files.iter().flat_map(above).filter(|path| !path.as_os_str().is_empty()).collect();
    for folder in folders {
        header(&folder, tar::EntryType::Directory, 0o755, b"")?;
    }
    for file in files {
        let mode = if file.runs { 0o755 } else { 0o644 };
        header(Path::new(&file.path), tar::EntryType::Regular, mode, file.content.as_bytes())?;
    }
    archive.into_inner()
}
