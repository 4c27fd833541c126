//! The folder that recipes copy from. Nothing outside of it is ever read, whatever its links say.

use std::{
    ffi::{CString, OsStr},
    fs::File,
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use sha2::{Digest, Sha256};

use super::glob::{Ignore, is_wild, matches};
use crate::template::{
    TemplateError,
    beneath::{names, open_beneath, open_root},
    error::Doing,
    tree::show,
};

/// Files that say what is left out, the first that is there.
const IGNORE_FILES: [&str; 2] = [".carrelignore", ".dockerignore"];
/// Folders within folders, at most.
const DEEPEST: usize = 128;

/// A folder to copy from.
pub(super) struct Context {
    root: OwnedFd,
    ignore: Ignore,
}

/// What is to be copied, with all names filled in.
pub(super) struct Copying {
    pub(super) sources: Vec<String>,
    pub(super) destination: String,
    pub(super) mode: Option<u32>,
}

/// Something to copy: where it lies in the context, and what it is called in the folder that it goes to.
struct Found {
    path: String,
    name: String,
}

impl Context {
    pub(super) fn open(folder: &Path) -> Result<Self, TemplateError> {
        let root = open_root(folder).doing(|| format!("open the context {}", folder.display()))?;
        let mut ignore = Ignore::default();
        for name in IGNORE_FILES {
            if let Ok(file) = open_beneath(&root, name.as_bytes(), OFlags::RDONLY | OFlags::NONBLOCK) {
                let mut text = String::new();
                File::from(file).take(1 << 20).read_to_string(&mut text).doing(|| format!("read {name}"))?;
                ignore = Ignore::parse(&text);
                break;
            }
        }
        Ok(Context { root, ignore })
    }

    /// Packs what is asked for as a tar stream, names seen from the folder where it goes ([`Copying::folder`]), and gives
    /// the digest of all that matters: names, permissions and contents, not times.
    pub(super) fn pack(&self, copying: &Copying, into: impl Write) -> Result<[u8; 32], TemplateError> {
        let mut packing =
            Packing { context: self, tar: tar::Builder::new(into), sum: Sha256::new(), mode: copying.mode };
        for found in self.find(copying)? {
            packing.add(&found)?;
        }
        packing
            .tar
            .finish()
            .and_then(|()| packing.tar.get_mut().flush())
            .doing(|| "pack the files to copy".to_owned())?;
        Ok(packing.sum.finalize().into())
    }

    fn find(&self, copying: &Copying) -> Result<Vec<Found>, TemplateError> {
        let mut found = Vec::new();
        for source in &copying.sources {
            let parts: Vec<&str> = source.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
            if parts.contains(&"..") {
                return Err(TemplateError::invalid(format!("`{source}` leads out of the context")));
            }
            let before = found.len();
            self.expand(String::new(), &parts, &mut found)?;
            if found.len() == before {
                return Err(TemplateError::invalid(format!("the context has no `{source}`")));
            }
        }
        let many = found.len() > 1 || copying.sources.len() > 1 || copying.sources.iter().any(|source| is_wild(source));
        let mut things = Vec::new();
        for path in found {
            let stat = self.stat(&path)?;
            let name = match FileType::from_raw_mode(stat.st_mode) {
                // What a folder has goes there, not the folder.
                FileType::Directory => String::new(),
                FileType::RegularFile if copying.names_a_folder() || many => last(&path).to_owned(),
                FileType::RegularFile => last(&copying.destination).to_owned(),
                _ => return Err(TemplateError::invalid(format!("`{path}` is neither a file nor a folder"))),
            };
            if many && !copying.names_a_folder() && !name.is_empty() {
                return Err(TemplateError::invalid(format!(
                    "several files go into a folder: write `{}/`",
                    copying.destination
                )));
            }
            things.push(Found { path, name });
        }
        Ok(things)
    }

    /// Finds the paths that a source with wildcards stands for.
    fn expand(&self, above: String, parts: &[&str], found: &mut Vec<String>) -> Result<(), TemplateError> {
        let Some((first, rest)) = parts.split_first() else {
            if above.is_empty() || !self.ignore.leaves_out(&above) {
                found.push(above);
            }
            return Ok(());
        };
        let below = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        if !is_wild(first) {
            let path = below(first);
            return match open_beneath(&self.root, path.as_bytes(), OFlags::PATH) {
                Ok(_) => self.expand(path, rest, found),
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
                Err(error) => Err(leaving(&path, error)),
            };
        }
        let Ok(folder) = open_beneath(&self.root, above.as_bytes(), OFlags::RDONLY | OFlags::DIRECTORY) else {
            return Ok(());
        };
        for (name, _) in names(&folder).doing(|| format!("list `{above}` in the context"))? {
            if let Ok(name) = name.to_str()
                && matches(first, name)
            {
                self.expand(below(name), rest, found)?;
            }
        }
        Ok(())
    }

    fn stat(&self, path: &str) -> Result<Stat, TemplateError> {
        let file = open_beneath(&self.root, path.as_bytes(), OFlags::PATH).map_err(|error| leaving(path, error))?;
        rustix::fs::fstat(file).doing(|| format!("look at `{path}` in the context"))
    }
}

impl Copying {
    fn names_a_folder(&self) -> bool {
        self.destination.ends_with('/') || matches!(last(&self.destination), "." | "..")
    }

    /// Whether the things themselves make the destination a folder.
    pub(super) fn folder(&self, context: &Context) -> Result<String, TemplateError> {
        let only_contents = context.find(self)?.iter().all(|found| found.name.is_empty());
        if self.names_a_folder() || only_contents {
            return Ok(self.destination.clone());
        }
        match self.destination.rsplit_once('/') {
            Some(("", _)) => Ok("/".to_owned()),
            Some((folder, _)) => Ok(folder.to_owned()),
            None => Ok(".".to_owned()),
        }
    }
}

struct Packing<'a, W: Write> {
    context: &'a Context,
    tar: tar::Builder<W>,
    sum: Sha256,
    mode: Option<u32>,
}

impl<W: Write> Packing<'_, W> {
    fn add(&mut self, found: &Found) -> Result<(), TemplateError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = open_beneath(&self.context.root, found.path.as_bytes(), flags)
            .map_err(|error| leaving(&found.path, error))?;
        let stat = rustix::fs::fstat(&file).doing(|| format!("look at `{}`", found.path))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            self.folder(&file, found.path.as_bytes(), b"", 0)
        } else {
            self.file(file, &stat, found.name.as_bytes())
        }
    }

    fn folder(&mut self, folder: &OwnedFd, path: &[u8], name: &[u8], depth: usize) -> Result<(), TemplateError> {
        if depth > DEEPEST {
            return Err(TemplateError::invalid(format!("folders of the context lie more than {DEEPEST} deep")));
        }
        let what = || format!("read {} in the context", show(path));
        for (entry, _) in names(folder).doing(what)? {
            let below = |above: &[u8]| {
                if above.is_empty() {
                    entry.to_bytes().to_vec()
                } else {
                    [above, entry.to_bytes()].join(b"/".as_slice())
                }
            };
            let (path, name) = (below(path), below(name));
            let left_out = self.context.ignore.leaves_out(&String::from_utf8_lossy(&path));
            let stat = rustix::fs::statat(folder, &entry, AtFlags::SYMLINK_NOFOLLOW).doing(what)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    if !left_out {
                        self.tell(b'd', &name, self.folder_mode(&stat));
                        let mut header = header(tar::EntryType::Directory, self.folder_mode(&stat), &stat, 0);
                        self.append(&mut header, &name, io::empty())?;
                    }
                    if !left_out || self.context.ignore.takes_back() {
                        let child = self.open(folder, &entry, OFlags::DIRECTORY).doing(what)?;
                        self.folder(&child, &path, &name, depth + 1)?;
                    }
                }
                _ if left_out => {}
                FileType::RegularFile => {
                    let file = self.open(folder, &entry, OFlags::NONBLOCK).doing(what)?;
                    self.file(file, &stat, &name)?;
                }
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(folder, &entry, Vec::new()).doing(what)?;
                    self.tell(b'l', &name, 0);
                    self.piece(target.to_bytes());
                    let mut header = header(tar::EntryType::Symlink, 0o777, &stat, 0);
                    self.tar
                        .append_link(&mut header, OsStr::from_bytes(&name), OsStr::from_bytes(target.to_bytes()))
                        .doing(|| format!("pack {}", show(&name)))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, file: OwnedFd, stat: &Stat, name: &[u8]) -> Result<(), TemplateError> {
        let mode = self.mode.unwrap_or(stat.st_mode & 0o777);
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        self.tell(b'f', name, mode);
        self.sum.update(size.to_le_bytes());
        let mut header = header(tar::EntryType::Regular, mode, stat, size);
        let mut content = Reading { file: File::from(file).take(size), sum: Sha256::new(), read: 0 };
        self.append(&mut header, name, &mut content)?;
        if content.read != size {
            return Err(TemplateError::invalid(format!("{} changed while it was read", show(name))));
        }
        self.sum.update(content.sum.finalize());
        Ok(())
    }

    fn append(&mut self, header: &mut tar::Header, name: &[u8], content: impl Read) -> Result<(), TemplateError> {
        self.tar.append_data(header, OsStr::from_bytes(name), content).doing(|| format!("pack {}", show(name)))
    }

    fn open(&self, folder: &OwnedFd, name: &CString, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::empty())
    }

    /// A folder whose files may be read must be entered.
    fn folder_mode(&self, stat: &Stat) -> u32 {
        self.mode.map_or(stat.st_mode & 0o777, |mode| mode | ((mode & 0o444) >> 2))
    }

    fn tell(&mut self, letter: u8, name: &[u8], mode: u32) {
        self.sum.update([letter]);
        self.piece(name);
        self.sum.update(mode.to_le_bytes());
    }

    fn piece(&mut self, bytes: &[u8]) {
        self.sum.update((bytes.len() as u64).to_le_bytes());
        self.sum.update(bytes);
    }
}

/// Reads a file, and sums it up.
struct Reading {
    file: io::Take<File>,
    sum: Sha256,
    read: u64,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.sum.update(&buffer[..read]);
        self.read += read as u64;
        Ok(read)
    }
}

fn header(kind: tar::EntryType, mode: u32, stat: &Stat, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header
}

fn last(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

fn leaving(path: &str, error: Errno) -> TemplateError {
    match error {
        Errno::XDEV | Errno::LOOP => TemplateError::invalid(format!("`{path}` leads out of the context")),
        error => TemplateError::Io { what: format!("open `{path}` in the context"), source: error.into() },
    }
}
