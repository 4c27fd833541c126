//! The digest of a layer: one SHA-256 over a walk in fixed order of all that makes the layer what it is.
//!
//! Told are names, types, permissions, owners, the targets of links, extended attributes and contents; overlayfs's marks
//! (whiteouts are devices, opaque folders have an attribute) are among them. Not told are times, the sharing of one file
//! by several names, and what overlayfs notes down for itself about the disk it lies on: two layers that differ only
//! there are the same to everybody inside.

use std::{
    collections::{HashMap, HashSet},
    ffi::CStr,
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, FileType, OFlags, Stat},
    io::Errno,
};
use sha2::{Digest, Sha256};

use super::{
    LayerId,
    beneath::{names, open_entry, open_root},
};

/// Folders within folders, at most. Each costs a descriptor during the walk.
const DEEPEST: usize = 256;

/// What a walk found.
pub(super) struct Reading {
    pub(super) id: LayerId,
    /// Of all files, each once.
    pub(super) bytes: u64,
}

/// Reads a whole folder.
pub(super) fn read(folder: &Path) -> io::Result<Reading> {
    let root = open_root(folder)?;
    let mut walk = Walk { hash: Sha256::new(), bytes: 0, shared: HashMap::new(), buffer: vec![0; 128 * 1024] };
    walk.hash.update(b"carrel layer 1\n");
    let stat = rustix::fs::fstat(&root)?;
    walk.tell(b"", b'd', &stat);
    walk.attributes(&root)?;
    walk.folder(&root, 0)?;
    Ok(Reading { id: LayerId::of_digest(walk.hash.finalize().into()), bytes: walk.bytes })
}

/// Bytes of all files in a folder, each once, without reading them.
pub(super) fn measure(folder: &Path) -> io::Result<u64> {
    fn add(folder: &OwnedFd, depth: usize, seen: &mut HashSet<(u64, u64)>) -> io::Result<u64> {
        let mut bytes = 0;
        for (name, _) in names(folder)? {
            let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth < DEEPEST => {
                    let child = open_entry(folder, &name, OFlags::RDONLY | OFlags::DIRECTORY)?;
                    bytes += add(&child, depth + 1, seen)?;
                }
                FileType::RegularFile if stat.st_nlink == 1 || seen.insert((stat.st_dev, stat.st_ino)) => {
                    bytes += u64::try_from(stat.st_size).unwrap_or(0);
                }
                _ => {}
            }
        }
        Ok(bytes)
    }
    add(&open_root(folder)?, 0, &mut HashSet::new())
}

struct Walk {
    hash: Sha256,
    bytes: u64,
    /// Contents of files with several names, so that each is read once.
    shared: HashMap<(u64, u64), [u8; 32]>,
    buffer: Vec<u8>,
}

impl Walk {
    fn folder(&mut self, folder: &OwnedFd, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("folders lie more than {DEEPEST} deep")));
        }
        for (name, _) in names(folder)? {
            self.entry(folder, &name, depth)?;
        }
        // The end of a folder, which no name can be: names are told with their length, at least 1.
        self.hash.update([b'.'; 1]);
        Ok(())
    }

    fn entry(&mut self, folder: &OwnedFd, name: &CStr, depth: usize) -> io::Result<()> {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        match kind {
            FileType::Directory => {
                let child = open_entry(folder, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
                self.tell(name.to_bytes(), b'd', &stat);
                self.attributes(&child)?;
                self.folder(&child, depth + 1)?;
            }
            FileType::RegularFile => {
                let file = open_entry(folder, name, OFlags::RDONLY | OFlags::NONBLOCK)?;
                self.tell(name.to_bytes(), b'f', &stat);
                self.attributes(&file)?;
                self.content(file, &stat)?;
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
                self.tell(name.to_bytes(), b'l', &stat);
                self.piece(target.to_bytes());
            }
            _ => {
                let letter = match kind {
                    FileType::CharacterDevice => b'c',
                    FileType::BlockDevice => b'b',
                    FileType::Fifo => b'p',
                    _ => b's',
                };
                self.tell(name.to_bytes(), letter, &stat);
                self.hash.update(stat.st_rdev.to_le_bytes());
            }
        }
        Ok(())
    }

    fn tell(&mut self, name: &[u8], letter: u8, stat: &Stat) {
        self.hash.update([b'/']);
        self.piece(name);
        self.hash.update([letter]);
        // The permissions of a link say nothing.
        let mode = if letter == b'l' { 0 } else { stat.st_mode & 0o7777 };
        self.hash.update(mode.to_le_bytes());
        self.hash.update(stat.st_uid.to_le_bytes());
        self.hash.update(stat.st_gid.to_le_bytes());
    }

    fn content(&mut self, file: OwnedFd, stat: &Stat) -> io::Result<()> {
        let place = (stat.st_dev, stat.st_ino);
        if stat.st_nlink > 1
            && let Some(content) = self.shared.get(&place)
        {
            self.hash.update(content);
            return Ok(());
        }
        let mut file = File::from(file);
        let mut content = Sha256::new();
        let mut bytes = 0;
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(read) => {
                    content.update(&self.buffer[..read]);
                    bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let content: [u8; 32] = content.finalize().into();
        self.hash.update(content);
        self.bytes += bytes;
        if stat.st_nlink > 1 {
            self.shared.insert(place, content);
        }
        Ok(())
    }

    fn attributes(&mut self, file: impl AsFd) -> io::Result<()> {
        let mut list = Vec::with_capacity(1024);
        match grow(&mut list, |list| rustix::fs::flistxattr(&file, list)) {
            Err(Errno::OPNOTSUPP) => return Ok(()),
            done => done?,
        }
        let mut told: Vec<&[u8]> =
            list.split(|byte| *byte == 0).filter(|name| !name.is_empty() && is_told(name)).collect();
        told.sort_unstable();
        for name in told {
            let mut value = Vec::with_capacity(256);
            match grow(&mut value, |value| rustix::fs::fgetxattr(&file, name, value)) {
                Err(Errno::NODATA) => continue,
                done => done?,
            }
            self.hash.update([b'x']);
            self.piece(name);
            self.piece(&value);
        }
        Ok(())
    }

    fn piece(&mut self, bytes: &[u8]) {
        self.hash.update((bytes.len() as u64).to_le_bytes());
        self.hash.update(bytes);
    }
}

/// Whether an attribute belongs to what a layer is.
fn is_told(name: &[u8]) -> bool {
    let own_notes = [".overlay.origin", ".overlay.impure", ".overlay.nlink", ".overlay.upper", ".overlay.uuid"];
    let of_the_host: [&[u8]; 3] = [b"security.selinux", b"security.ima", b"security.evm"];
    !own_notes.iter().any(|note| name.ends_with(note.as_bytes())) && !of_the_host.contains(&name)
}

/// Asks again with more room until all of it fits.
fn grow(buffer: &mut Vec<u8>, ask: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<(), Errno> {
    let mut room = buffer.capacity().max(64);
    loop {
        buffer.resize(room, 0);
        match ask(buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(());
            }
            Err(Errno::RANGE) if room < 1 << 20 => room *= 4,
            Err(error) => return Err(error),
        }
    }
}
