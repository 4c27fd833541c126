//! Tar streams become folders.
//!
//! An archive is a stranger's: every path in it is resolved by the kernel with the folder as its `/`, devices and pipes
//! are left out, and sizes are bounded. The marks by which image layers remove what lies below (`.wh.name`,
//! `.wh..wh..opq`) become overlayfs's own. Set-user-id bits stay as they are: the engine mounts layers `nosuid`, and only
//! the owner of the shelves can reach them from outside.

use std::{
    io::{self, Read},
    path::Path,
};

use tar::{Archive, Entry, EntryType};

use super::{
    Progress, TemplateError,
    error::Doing,
    meter::Meter,
    tree::{Meta, Tree, show},
};

/// How many things that were left out are named, one line each.
const NAMED: u64 = 5;
/// The owner of what belongs to somebody with no number inside.
const NOBODY: u64 = 65534;

/// How much a stranger's archive may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of one entry's long names and attributes.
    pub header: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { entries: 4_000_000, bytes: 128 << 30, header: 4 << 20 }
    }
}

/// What was unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Devices, pipes and unknown things that were left out.
    pub left_out: u64,
}

/// Unpacks a tar stream into a folder. Blocks; after an error the folder holds some of it.
pub fn unpack(
    stream: impl Read,
    folder: &Path,
    limits: &Limits,
    progress: &Progress,
) -> Result<Unpacked, TemplateError> {
    let mut tree = Tree::open(folder).doing(|| format!("open {}", folder.display()))?;
    let (meter, allowance) = Meter::new(stream, limits.header);
    let mut archive = Archive::new(meter);
    let mut entries = archive.entries().map_err(unreadable)?;
    let mut done = Unpacked::default();
    let mut strangers = 0;
    loop {
        allowance.set(limits.header);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(unreadable)?;
        allowance.unbounded();
        done.entries += 1;
        if done.entries > limits.entries {
            return Err(TemplateError::invalid(format!("the archive has more than {} entries", limits.entries)));
        }
        let name = entry.path_bytes().into_owned();
        let meta = meta(&mut entry, &name, &mut strangers, progress)?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                // An old way to say "folder".
                if name.ends_with(b"/") {
                    tree.folder(&name, &meta)?;
                    continue;
                }
                let size = entry.size();
                if size > limits.bytes - done.bytes {
                    return Err(TemplateError::invalid(format!(
                        "the archive unpacks to more than {} bytes",
                        limits.bytes
                    )));
                }
                done.bytes += tree.file(&name, &meta, size, &mut entry)?;
            }
            EntryType::Directory => tree.folder(&name, &meta)?,
            EntryType::Symlink => tree.symlink(&name, &link(&entry, &name)?, &meta)?,
            EntryType::Link => tree.hard_link(&name, &link(&entry, &name)?)?,
            EntryType::XGlobalHeader => done.entries -= 1,
            _ => {
                let what = match kind {
                    EntryType::Char | EntryType::Block => "a device",
                    EntryType::Fifo => "a pipe",
                    _ => "of an unknown kind",
                };
                done.entries -= 1;
                done.left_out += 1;
                if done.left_out <= NAMED {
                    progress.say(format!("left out {}: it is {what}", show(&name)));
                }
            }
        }
        // Whatever nobody read, so that the next header is looked for within its allowance.
        io::copy(&mut entry, &mut io::sink()).map_err(unreadable)?;
    }
    if done.left_out > NAMED {
        progress.say(format!("left out {} more like these", done.left_out - NAMED));
    }
    if strangers > NAMED {
        progress.say(format!("gave {} more to nobody", strangers - NAMED));
    }
    tree.finish()?;
    Ok(done)
}

fn link(entry: &Entry<'_, impl Read>, name: &[u8]) -> Result<Vec<u8>, TemplateError> {
    match entry.link_name_bytes() {
        Some(target) if !target.is_empty() => Ok(target.into_owned()),
        _ => Err(TemplateError::invalid(format!("{} is a link to nothing", show(name)))),
    }
}

fn meta(
    entry: &mut Entry<'_, impl Read>,
    name: &[u8],
    strangers: &mut u64,
    progress: &Progress,
) -> Result<Meta, TemplateError> {
    let header = entry.header();
    let mut owner = |id: io::Result<u64>| -> Result<u32, TemplateError> {
        let id = id.map_err(unreadable)?;
        let kept = if id <= 65535 {
            id
        } else {
            *strangers += 1;
            if *strangers <= NAMED {
                progress.say(format!("gave {} to nobody: {id} is beyond the owners that a sandbox has", show(name)));
            }
            NOBODY
        };
        Ok(u32::try_from(kept).expect("owners are at most 65535"))
    };
    let mut meta = Meta {
        user: owner(header.uid())?,
        group: owner(header.gid())?,
        mode: header.mode().map_err(unreadable)? & 0o7777,
        changed: i64::try_from(header.mtime().map_err(unreadable)?).unwrap_or(0),
        attributes: Vec::new(),
    };
    if let Some(extensions) = entry.pax_extensions().map_err(unreadable)? {
        for extension in extensions {
            let extension = extension.map_err(unreadable)?;
            if let Some(name) = extension.key_bytes().strip_prefix(b"SCHILY.xattr.")
                && is_kept(name)
            {
                meta.attributes.push((name.to_owned(), extension.value_bytes().to_owned()));
            }
        }
    }
    Ok(meta)
}

/// Only what a user may set. Overlayfs believes its own marks blindly, so a stranger must not bring any.
fn is_kept(attribute: &[u8]) -> bool {
    attribute.starts_with(b"user.") && !attribute.starts_with(b"user.overlay.")
}

fn unreadable(error: io::Error) -> TemplateError {
    TemplateError::invalid(format!("the archive cannot be read: {error}"))
}
