//! Where layers and templates lie.
//!
//! ```text
//! layers/sha256-…      finished layers; a name appears by one rename and its content never changes
//! templates/name.json  what is kept; written beside, synced, renamed
//! notes/…              which layer came of which image blob or recipe step; may be lost at any time
//! drafts/…             everything unfinished or on its way out
//! ```
//!
//! A draft is locked (`flock`) by whoever works on it, so a living builder's draft is told from a dead one's even across
//! process namespaces, and the kernel lets go of it at any kind of death. Everything that could be interrupted happens in
//! a draft: the next `open` sweeps what nobody holds.
//!
//! Layers hold other systems' set-user-id programs, so only the owner may enter the folder.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use carrel_model::TemplateName;

use super::{
    LayerId, Template,
    beneath::{erase, sync_folder},
    digest,
};

/// The layers and templates of one house, in one folder that belongs to one server. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Shelves(Arc<Inside>);

struct Inside {
    folder: PathBuf,
    /// Layers that wait for a template to be kept, each with how many wait.
    spared: Mutex<HashMap<LayerId, usize>>,
    /// Others who live on layers of these shelves.
    others: Mutex<Vec<Need>>,
}

/// Says which layers somebody needs, or nothing when that somebody is gone.
type Need = Box<dyn Fn() -> io::Result<Option<HashSet<LayerId>>> + Send + Sync>;

impl std::fmt::Debug for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inside").field("folder", &self.folder).field("spared", &self.spared).finish_non_exhaustive()
    }
}

impl Shelves {
    /// Opens the shelves, makes them where they are missing, and sweeps the drafts of the dead.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        for name in ["layers", "templates", "notes", "drafts"] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder.join(name))?;
        }
        // Made earlier by somebody more trusting.
        rustix::fs::chmod(&folder, rustix::fs::Mode::RWXU)?;
        let shelves = Shelves(Arc::new(Inside { folder, spared: Mutex::default(), others: Mutex::default() }));
        shelves.sweep()?;
        Ok(shelves)
    }

    /// Every kept template, by name.
    pub fn templates(&self) -> io::Result<Vec<Template>> {
        let mut templates = Vec::new();
        for entry in fs::read_dir(self.place("templates"))? {
            let path = entry?.path();
            if path.extension() == Some(OsStr::new("json"))
                && let Some(template) = read_template(&path)?
            {
                templates.push(template);
            }
        }
        templates.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(templates)
    }

    /// The template of that name, if there is one.
    pub fn find(&self, name: &TemplateName) -> io::Result<Option<Template>> {
        read_template(&self.template(name))
    }

    /// Keeps a template, in place of the one of the same name. When this returns it survives a power cut.
    pub fn keep(&self, template: &Template) -> io::Result<()> {
        self.place_template(template, true)?;
        sync_folder(&self.place("templates"))
    }

    /// The same for a template that need not survive a power cut: it is there whole, or as good as not at all.
    pub fn keep_for_now(&self, template: &Template) -> io::Result<()> {
        self.place_template(template, false)
    }

    fn place_template(&self, template: &Template, lasting: bool) -> io::Result<()> {
        for id in &template.layers {
            if !self.has(id) {
                return Err(io::Error::new(io::ErrorKind::NotFound, format!("layer {id} is not on the shelf")));
            }
        }
        let draft = self.draft()?;
        let beside = draft.scratch("template.json");
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(template)?)?;
        if lasting {
            file.sync_all()?;
        }
        let mut spared = self.spared();
        fs::rename(&beside, self.template(&template.name))?;
        template.layers.iter().for_each(|id| release(&mut spared, id));
        Ok(())
    }

    /// Forgets a template, and is content to find nothing. Its layers stay until they are collected.
    pub fn forget(&self, name: &TemplateName) -> io::Result<()> {
        match fs::remove_file(self.template(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync_folder(&self.place("templates")),
        }
    }

    /// Where a layer lies.
    pub fn layer(&self, id: &LayerId) -> PathBuf {
        self.place("layers").join(id.as_str())
    }

    /// Whether a layer is there.
    pub fn has(&self, id: &LayerId) -> bool {
        self.layer(id).is_dir()
    }

    /// Bytes of a layer's files.
    pub fn measure(&self, id: &LayerId) -> io::Result<u64> {
        digest::measure(&self.layer(id))
    }

    /// An empty folder that becomes a layer by [`Shelves::adopt`], or vanishes.
    pub fn draft(&self) -> io::Result<Draft> {
        loop {
            let path = self.place("drafts").join(format!("{}-{}", std::process::id(), hex::encode(random()?)));
            DirBuilder::new().mode(0o700).create(&path)?;
            let lock = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            // A sweep may come between the making and the locking; then it is as if we had not begun.
            if lock.try_lock().is_err() || !path.is_dir() {
                continue;
            }
            let folder = path.join("layer");
            fs::create_dir(&folder)?;
            // Whatever our umask: this becomes somebody's `/`.
            rustix::fs::chmod(&folder, rustix::fs::Mode::from_raw_mode(0o755))?;
            return Ok(Draft { path, folder, _lock: lock });
        }
    }

    /// Makes a layer of a finished folder by renaming it, and says its name and its bytes. The folder may be that of a
    /// draft or the former upper of a sandbox, on the same filesystem, and nobody may write to it any more. The same
    /// content twice is one layer.
    ///
    /// The layer is spared by [`Shelves::collect`] until a template that has it is kept, or the process ends.
    pub fn adopt(&self, folder: PathBuf) -> io::Result<(LayerId, u64)> {
        let reading = digest::read(&folder)?;
        // Its files first: a name on the shelf promises content, even after a power cut.
        rustix::fs::syncfs(File::open(&folder)?)?;
        self.shelve(&folder, &reading.id, true)?;
        Ok((reading.id, reading.bytes))
    }

    /// Makes a layer of a finished folder at once, without reading it, under a name that the caller chose
    /// ([`LayerId::snapshot`]). A second time finds it made.
    ///
    /// Its files reach the disk when the system likes; [`Shelves::settle`] waits for that.
    pub fn adopt_unread(&self, folder: PathBuf, name: LayerId) -> io::Result<LayerId> {
        let name = self.adopt_for_now(folder, name)?;
        sync_folder(&self.place("layers"))?;
        Ok(name)
    }

    /// The same for a layer that need not survive a power cut.
    pub fn adopt_for_now(&self, folder: PathBuf, name: LayerId) -> io::Result<LayerId> {
        if name.is_digest() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of an unread layer promises no digest"));
        }
        if self.has(&name) && folder.exists() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("there is another layer {name}")));
        }
        self.shelve(&folder, &name, false)?;
        Ok(name)
    }

    /// Puts a layer that lies elsewhere on the shelf, by a link, and spares it as [`Shelves::adopt`] does. It is kept
    /// where it lies for as long as the link is here ([`Shelves::borrowed`]). A second time finds it linked.
    pub fn link(&self, folder: &Path, name: &LayerId) -> io::Result<()> {
        if !name.is_checkout() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "only checkouts lie elsewhere"));
        }
        let place = self.layer(name);
        let mut spared = self.spared();
        if fs::read_link(&place).ok().as_deref() != Some(folder) {
            let draft = self.draft()?;
            std::os::unix::fs::symlink(folder, draft.scratch("link"))?;
            fs::rename(draft.scratch("link"), &place)?;
            sync_folder(&self.place("layers"))?;
        }
        *spared.entry(name.clone()).or_default() += 1;
        Ok(())
    }

    /// Where the layers lie that are here by a link.
    pub fn borrowed(&self) -> io::Result<Vec<PathBuf>> {
        let mut places = Vec::new();
        for entry in fs::read_dir(self.place("layers"))? {
            let entry = entry?;
            if entry.file_type()?.is_symlink() {
                places.push(fs::read_link(entry.path())?);
            }
        }
        Ok(places)
    }

    /// Waits until all that lies on the shelves would survive a power cut.
    pub fn settle(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.0.folder)?)?)
    }

    /// Whether a layer holds what its name promises. One without a digest promises only to be there.
    pub fn verify(&self, id: &LayerId) -> io::Result<bool> {
        if !self.has(id) {
            return Ok(false);
        }
        Ok(!id.is_digest() || digest::read(&self.layer(id))?.id == *id)
    }

    /// Spares layers as [`Shelves::adopt`] does, until a template that has them is kept. `false`, and nothing is spared,
    /// when one of them is not there.
    pub fn spare(&self, layers: &[LayerId]) -> bool {
        let mut spared = self.spared();
        let all = layers.iter().all(|id| self.has(id));
        if all {
            for id in layers {
                *spared.entry(id.clone()).or_default() += 1;
            }
        }
        all
    }

    /// Takes back that a layer is spared: nobody will keep a template that has it.
    pub fn release(&self, id: &LayerId) {
        release(&mut self.spared(), id);
    }

    /// Somebody else lives on layers of these shelves: whoever collects asks them first. They answer nothing when they
    /// are gone.
    pub fn also_needed_by(&self, need: impl Fn() -> io::Result<Option<HashSet<LayerId>>> + Send + Sync + 'static) {
        self.others().push(Box::new(need));
    }

    /// Removes the layers that no template and none of the given users needs, and says which. Never one that this
    /// process adopted and that waits for its template, or that others need.
    pub fn collect(&self, in_use: &HashSet<LayerId>) -> io::Result<Vec<LayerId>> {
        let bin = self.draft()?;
        let mut gone = Vec::new();
        {
            // Locked, so nobody finds a layer that is about to go; renaming is quick, and erasing comes after.
            let spared = self.spared();
            let mut kept: HashSet<LayerId> =
                self.templates()?.into_iter().flat_map(|template| template.layers).collect();
            self.ask_others(&mut kept)?;
            for entry in fs::read_dir(self.place("layers"))? {
                let entry = entry?;
                let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<LayerId>().ok()) else {
                    continue;
                };
                if !kept.contains(&id) && !in_use.contains(&id) && !spared.contains_key(&id) {
                    fs::rename(entry.path(), bin.scratch(id.as_str()))?;
                    gone.push(id);
                }
            }
        }
        gone.sort();
        self.forget_notes_about(&gone)?;
        erase(&bin.path)?;
        Ok(gone)
    }

    /// Which layer came of something, as was noted, with its bytes; it is spared from now on. A note may always be missing.
    pub(super) fn recall(&self, about: &str) -> Option<(LayerId, u64)> {
        let text = fs::read_to_string(self.note_path(about)).ok()?;
        let (id, bytes) = text.trim_end().split_once(' ')?;
        let (id, bytes): (LayerId, u64) = (id.parse().ok()?, bytes.parse().ok()?);
        self.spare(std::slice::from_ref(&id)).then_some((id, bytes))
    }

    /// Notes down which layer came of something.
    pub(super) fn note(&self, about: &str, id: &LayerId, bytes: u64) -> io::Result<()> {
        let draft = self.draft()?;
        let beside = draft.scratch("note");
        fs::write(&beside, format!("{id} {bytes}\n"))?;
        fs::rename(beside, self.note_path(about))
    }

    fn forget_notes_about(&self, gone: &[LayerId]) -> io::Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        for entry in fs::read_dir(self.place("notes"))? {
            let path = entry?.path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let about = text.split(' ').next().unwrap_or_default();
            // A build may just have made the layer again; then the note is true.
            if gone.iter().any(|id| id.as_str() == about && !self.has(id)) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn shelve(&self, folder: &Path, id: &LayerId, lasting: bool) -> io::Result<()> {
        let place = self.layer(id);
        let mut spared = self.spared();
        let known = place.is_dir();
        if !known {
            fs::rename(folder, &place)?;
        }
        *spared.entry(id.clone()).or_default() += 1;
        drop(spared);
        match () {
            () if known => self.discard(folder),
            () if lasting => sync_folder(&self.place("layers")),
            () => Ok(()),
        }
    }

    /// Lets a folder that nobody needs vanish, by way of a draft.
    fn discard(&self, folder: &Path) -> io::Result<()> {
        let bin = self.draft()?;
        match fs::rename(folder, bin.scratch("discarded")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn sweep(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.place("drafts"))? {
            let path = entry?.path();
            let lock = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            if lock.try_lock().is_ok() {
                // What resists (something is mounted there) stays for the next time; it is in nobody's way.
                let _ = erase(&path);
            }
        }
        Ok(())
    }

    fn place(&self, name: &str) -> PathBuf {
        self.0.folder.join(name)
    }

    fn template(&self, name: &TemplateName) -> PathBuf {
        // Neither sign occurs in a template's name, so no two names share a file.
        let file = name.as_str().replace('/', "~").replace(':', "+");
        self.place("templates").join(format!("{file}.json"))
    }

    fn note_path(&self, about: &str) -> PathBuf {
        self.place("notes").join(about)
    }

    /// Adds what others need, and forgets those who are gone.
    fn ask_others(&self, kept: &mut HashSet<LayerId>) -> io::Result<()> {
        let mut failed = None;
        self.others().retain(|need| match need() {
            Ok(Some(needed)) => {
                kept.extend(needed);
                true
            }
            Ok(None) => false,
            Err(error) => {
                failed = Some(error);
                true
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn others(&self) -> MutexGuard<'_, Vec<Need>> {
        self.0.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spared(&self) -> MutexGuard<'_, HashMap<LayerId, usize>> {
        // Each change is a single count, so it is whole even after a panic.
        self.0.spared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something unfinished. When it is dropped, whatever was not adopted vanishes.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    folder: PathBuf,
    _lock: File,
}

impl Draft {
    /// The folder that may become a layer.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A place beside that folder for something that never becomes part of it.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What cannot be removed now is swept later.
        let _ = erase(&self.path);
    }
}

fn release(spared: &mut HashMap<LayerId, usize>, id: &LayerId) {
    if let Some(waiting) = spared.get_mut(id) {
        *waiting -= 1;
        if *waiting == 0 {
            spared.remove(id);
        }
    }
}

fn read_template(path: &Path) -> io::Result<Option<Template>> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    // Kept for now, and the power was cut: the name is there and nothing else.
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&text).map(Some).map_err(|error| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the template in {} cannot be read: {error}", path.display()),
        )
    })
}

fn random() -> io::Result<[u8; 8]> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
