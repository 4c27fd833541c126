//! Mirrors: one bare repository for each repo, which everybody else borrows from.
//!
//! ```text
//! NAME/1.git          the first generation; a damaged one is left to those who borrow it, and 2.git takes its place
//! NAME/2.git.draft-…  a generation that is being made
//!
//! refs/heads/*                    branches: the upstream's, or our own where there is none; and those of tasks
//! refs/tags/*                     the upstream's tags
//! refs/carrel/upstream/heads/*    where the upstream's branches were when we last looked
//! refs/carrel/wip/*               work in progress of tasks
//! refs/carrel/kept/*              what was done for tasks that were closed, for a while
//! refs/carrel/pulls/FORGE/N       commits of merged pulls that the base took as others, for good
//! refs/carrel/pulls/FORGE/N-before-COMMIT   the head of a pull that was replaced by this commit, for good
//! refs/carrel/published/*         where we last left our branches upstream
//! ```
//!
//! Objects are only ever added: sandboxes borrow them, and cannot be asked.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, Instant, SystemTime},
};

use carrel_model::{Branch, CommitId, RefName, RepoName};
use tokio::sync::watch;

use crate::{
    Git, GitError, Progress,
    refs::{self, Move, Refs},
    sync::Flight,
};

/// Every mirror of this node, in one folder that belongs to one server.
#[derive(Debug, Clone)]
pub struct Mirrors(Arc<Collection>);

#[derive(Debug)]
struct Collection {
    git: Git,
    folder: PathBuf,
    open: Mutex<HashMap<RepoName, Mirror>>,
    /// One is opened at a time: two who make the same one would stand in each other's way.
    opening: tokio::sync::Mutex<()>,
    /// Other servers work in the same folder.
    is_shared: bool,
}

/// The mirror of one repo. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Mirror(pub(crate) Arc<Inside>);

#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) git: Git,
    pub(crate) name: RepoName,
    folder: PathBuf,
    generation: RwLock<u32>,
    pub(crate) flight: Flight,
    pub(crate) progress: watch::Sender<Option<Progress>>,
    /// One who repacks or rebuilds at a time.
    pub(crate) care: tokio::sync::Mutex<()>,
    /// When it was last read through because something in it seemed damaged.
    pub(crate) read_through: Mutex<Option<Instant>>,
    /// Pairs of commits, and whether the first is an ancestor of the second.
    kin: Mutex<HashMap<(CommitId, CommitId), bool>>,
}

/// How many pairs are remembered.
const MOST_KIN: usize = 10_000;

/// A lock of a ref that is older belongs to a git that was killed: none of ours holds one for longer than a moment.
const STALE_LOCK: Duration = Duration::from_secs(30);

/// A new generation that nobody has written to for so long is of a server that died over it.
const STALE_DRAFT: Duration = Duration::from_secs(24 * 3600);

impl Mirrors {
    /// Opens the folder, and makes it where it is missing.
    pub fn open(git: Git, folder: &Path) -> Result<Mirrors, GitError> {
        Mirrors::open_as(git, folder, false)
    }

    /// The same for a folder in which other servers work too.
    pub fn open_shared(git: Git, folder: &Path) -> Result<Mirrors, GitError> {
        Mirrors::open_as(git, folder, true)
    }

    fn open_as(git: Git, folder: &Path, is_shared: bool) -> Result<Mirrors, GitError> {
        fs::create_dir_all(folder).map_err(GitError::io("make the folder of mirrors"))?;
        let folder = folder.canonicalize().map_err(GitError::io("find the folder of mirrors"))?;
        Ok(Mirrors(Arc::new(Collection {
            git,
            folder,
            open: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            is_shared,
        })))
    }

    /// Those that were asked for since the start.
    pub fn opened(&self) -> Vec<Mirror> {
        self.open_ones().values().cloned().collect()
    }

    /// Where the mirror of a repo lies, with all its generations.
    pub fn folder_of(&self, name: &RepoName) -> PathBuf {
        self.0.folder.join(name.as_str())
    }

    /// The mirror of a repo, made empty when there is none.
    pub async fn get(&self, name: &RepoName) -> Result<Mirror, GitError> {
        let known = self.open_ones().get(name).cloned();
        if let Some(mirror) = known {
            if self.0.is_shared {
                mirror.catch_up()?;
            }
            return Ok(mirror);
        }
        let _alone = self.0.opening.lock().await;
        if let Some(mirror) = self.open_ones().get(name) {
            return Ok(mirror.clone());
        }
        let mirror = Mirror::open(&self.0.git, name, &self.0.folder.join(name.as_str()), self.0.is_shared).await?;
        self.open_ones().insert(name.clone(), mirror.clone());
        Ok(mirror)
    }

    /// Removes the mirror of a repo, and is content to find none.
    pub fn remove(&self, name: &RepoName) -> Result<(), GitError> {
        self.open_ones().remove(name);
        let place = self.0.folder.join(name.as_str());
        let gone = self.0.folder.join(format!(".gone-{name}-{:x}", std::process::id()));
        let removed = fs::rename(&place, &gone).and_then(|()| fs::remove_dir_all(&gone));
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::io("remove a mirror")(error)),
            _ => Ok(()),
        }
    }

    fn open_ones(&self) -> MutexGuard<'_, HashMap<RepoName, Mirror>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mirror {
    async fn open(git: &Git, name: &RepoName, folder: &Path, is_shared: bool) -> Result<Mirror, GitError> {
        fs::create_dir_all(folder).map_err(GitError::io("make the folder of a mirror"))?;
        // Drafts that are there when we are alone are of a life that ended in the middle.
        let newest = newest_in(folder, if is_shared { STALE_DRAFT } else { Duration::ZERO })?;
        let mirror = Mirror(Arc::new(Inside {
            git: git.clone(),
            name: name.clone(),
            folder: folder.to_owned(),
            generation: RwLock::new(newest),
            flight: Flight::default(),
            progress: watch::Sender::new(None),
            care: tokio::sync::Mutex::default(),
            read_through: Mutex::default(),
            kin: Mutex::default(),
        }));
        if newest == 0 {
            let draft = mirror.draft_generation().await?;
            mirror.adopt_generation(&draft)?;
        }
        mirror.sweep(STALE_LOCK);
        Ok(mirror)
    }

    /// Goes on with the newest generation, when another server made one.
    fn catch_up(&self) -> Result<(), GitError> {
        let newest = newest_in(&self.0.folder, STALE_DRAFT)?;
        let mut generation = self.0.generation.write().unwrap_or_else(PoisonError::into_inner);
        *generation = newest.max(*generation);
        Ok(())
    }

    /// Whose mirror it is.
    pub fn name(&self) -> &RepoName {
        &self.0.name
    }

    /// The bare repository as it now is.
    pub fn path(&self) -> PathBuf {
        let generation = *self.0.generation.read().unwrap_or_else(PoisonError::into_inner);
        self.0.folder.join(format!("{generation}.git"))
    }

    /// What a sandbox borrows, read-only.
    pub fn objects(&self) -> PathBuf {
        self.path().join("objects")
    }

    /// Bytes of its packs.
    pub fn size(&self) -> u64 {
        let files = fs::read_dir(self.objects().join("pack")).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
    }

    pub(crate) fn git(&self) -> &Git {
        &self.0.git
    }

    /// How far the fetch is that goes on, for whoever wants to watch.
    pub fn progress(&self) -> watch::Receiver<Option<Progress>> {
        self.0.progress.subscribe()
    }

    /// Refs of the repository as people see them: branches and tags.
    pub async fn refs(&self) -> Result<Refs, GitError> {
        refs::list(self.git(), &self.path(), &["refs/heads", "refs/tags"]).await
    }

    /// The newest saves of everybody who works.
    pub async fn saves(&self) -> Result<Refs, GitError> {
        refs::list(self.git(), &self.path(), &["refs/carrel/wip"]).await
    }

    /// What a ref names, if it is there.
    pub async fn find(&self, name: &RefName) -> Result<Option<CommitId>, GitError> {
        refs::find(self.git(), &self.path(), name).await
    }

    /// The commit that a branch is at.
    pub async fn head_of(&self, branch: &Branch) -> Result<CommitId, GitError> {
        let found = self.find(&branch.full()).await?;
        found.ok_or_else(|| GitError::Missing { what: format!("branch `{branch}`") })
    }

    /// The branch that is checked out where nobody says otherwise; nothing while the repository is empty.
    pub async fn default_branch(&self) -> Result<Option<Branch>, GitError> {
        // Asked for with every push: read as git itself reads it.
        let head = fs::read_to_string(self.path().join("HEAD")).map_err(GitError::io("read which branch is usual"))?;
        let name: Option<RefName> = head.strip_prefix("ref:").and_then(|name| name.trim().parse().ok());
        Ok(name.and_then(|name| name.branch()))
    }

    /// Names another default branch.
    pub async fn set_default_branch(&self, branch: &Branch) -> Result<(), GitError> {
        let call = self.git().at(&self.path(), "symbolic-ref").arg("HEAD").arg(&branch.full());
        call.run().await.map(drop)
    }

    /// Whether the first commit is an ancestor of the second. That never changes, so git is asked once.
    pub async fn is_ancestor(&self, first: &CommitId, second: &CommitId) -> Result<bool, GitError> {
        let pair = (first.clone(), second.clone());
        if let Some(known) = self.kin().get(&pair) {
            return Ok(*known);
        }
        let is_one = self.ask_for_ancestor(first, second).await?;
        let mut kin = self.kin();
        if kin.len() >= MOST_KIN {
            kin.clear();
        }
        kin.insert(pair, is_one);
        Ok(is_one)
    }

    /// The same, and one that is not here at all is none.
    pub async fn is_here_before(&self, first: &CommitId, second: &CommitId) -> Result<bool, GitError> {
        let known = self.kin().get(&(first.clone(), second.clone())).copied();
        match known {
            Some(known) => Ok(known),
            None => Ok(self.has(first).await? && self.is_ancestor(first, second).await?),
        }
    }

    fn kin(&self) -> MutexGuard<'_, HashMap<(CommitId, CommitId), bool>> {
        self.0.kin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_for_ancestor(&self, first: &CommitId, second: &CommitId) -> Result<bool, GitError> {
        let call = self.git().at(&self.path(), "merge-base").arg("--is-ancestor").arg(first).arg(second);
        let answer = call.answer().await?;
        match answer.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(GitError::understand("merge-base", &answer.said)),
        }
    }

    /// Moves refs, all or none, each from where it must be. Durable when it returns.
    pub async fn move_refs(&self, moves: &[Move]) -> Result<(), GitError> {
        let mut tries = 0;
        loop {
            match refs::transact(self.git(), &self.path(), moves).await {
                // A git that was killed left its lock; one that lives lets go of it in a moment.
                Err(error) if error.is_passing() && tries < 50 => {
                    tries += 1;
                    self.sweep(STALE_LOCK);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                moved => {
                    moved?;
                    return self.settle_refs(moves);
                }
            }
        }
    }

    /// Makes the names of refs that were moved safe on disk; their content already is.
    fn settle_refs(&self, moves: &[Move]) -> Result<(), GitError> {
        let repository = self.path();
        let mut folders: Vec<PathBuf> = Vec::new();
        for step in moves {
            let mut place = repository.join(step.name.as_str());
            // New folders above it too, up to `refs`.
            while place.pop() && place != repository {
                if !folders.contains(&place) && place.is_dir() {
                    folders.push(place.clone());
                }
            }
        }
        folders.iter().try_for_each(|folder| sync_folder(folder)).map_err(GitError::io("make refs safe on disk"))
    }

    /// A repository that is to be the next generation.
    pub(crate) async fn draft_generation(&self) -> Result<PathBuf, GitError> {
        let next = *self.0.generation.read().unwrap_or_else(PoisonError::into_inner) + 1;
        // A name that no other server draws: two may make the same generation at once.
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| GitError::io("draw a name")(error.into()))?;
        let draft = self.0.folder.join(format!("{next}.git.draft-{}", hex::encode(random)));
        // Readable for all inside sandboxes, whatever the server's own files are like; the folder above is closed.
        let call = self.git().call("init").arg("--quiet").arg("--bare").arg("--shared=0644").arg("--template=");
        call.arg(draft.as_path()).run().await?;
        Ok(draft)
    }

    /// Makes a draft the present generation.
    pub(crate) fn adopt_generation(&self, draft: &Path) -> Result<(), GitError> {
        let mut generation = self.0.generation.write().unwrap_or_else(PoisonError::into_inner);
        let finished = self.0.folder.join(format!("{}.git", *generation + 1));
        // All that is in it: a repository whose HEAD is lost is none, however safe its objects are.
        let safe = fs::File::open(draft).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        let placed = safe.and_then(|()| fs::rename(draft, &finished));
        match placed {
            // Another server was quicker: its one is as good.
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => drop(fs::remove_dir_all(draft)),
            placed => {
                placed.and_then(|()| sync_folder(&self.0.folder)).map_err(GitError::io("put a mirror in its place"))?
            }
        }
        *generation += 1;
        Ok(())
    }

    /// Removes generations that nobody borrows from any more. Says how many went.
    pub fn tidy(&self, borrowed: &[PathBuf]) -> Result<usize, GitError> {
        let (present, look) = (self.path(), "look into the folder of a mirror");
        let mut gone = 0;
        for entry in fs::read_dir(&self.0.folder).map_err(GitError::io(look))? {
            let path = entry.map_err(GitError::io(look))?.path();
            let is_generation = path.extension().is_some_and(|extension| extension == "git");
            if is_generation && path != present && !borrowed.iter().any(|place| place.starts_with(&path)) {
                fs::remove_dir_all(&path).map_err(GitError::io("remove an old mirror"))?;
                gone += 1;
            }
        }
        Ok(gone)
    }

    /// Removes what a git that was killed left behind: locks of refs, and pushes that never arrived.
    pub(crate) fn sweep(&self, older_than: Duration) {
        let repository = self.path();
        let is_old = |path: &Path| is_older(path, older_than);
        let mut folders = vec![repository.join("refs")];
        for name in ["packed-refs.lock", "HEAD.lock", "config.lock", "shallow.lock"] {
            let path = repository.join(name);
            if is_old(&path) {
                let _ = fs::remove_file(path);
            }
        }
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "lock") && is_old(&path) {
                    let _ = fs::remove_file(path);
                }
            }
        }
        for entry in fs::read_dir(repository.join("quarantine")).into_iter().flatten().flatten() {
            if is_old(&entry.path()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The number of the newest generation in a mirror's folder. What a life that ended in the middle left there is removed.
fn newest_in(folder: &Path, stale: Duration) -> Result<u32, GitError> {
    let mut newest = 0;
    for entry in fs::read_dir(folder).map_err(GitError::io("look into the folder of a mirror"))? {
        let path = entry.map_err(GitError::io("look into the folder of a mirror"))?.path();
        match path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('.')) {
            Some((number, "git")) => newest = newest.max(number.parse().unwrap_or(0)),
            Some((_, rest)) if rest.starts_with("git.draft") && is_older(&path, stale) => {
                drop(fs::remove_dir_all(&path));
            }
            _ => {}
        }
    }
    Ok(newest)
}

fn is_older(path: &Path, than: Duration) -> bool {
    let written = fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok();
    written.and_then(|time| SystemTime::now().duration_since(time).ok()).is_some_and(|age| age > than)
}

/// Makes the names in a folder safe on disk.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    fs::File::open(folder)?.sync_all()
}
