//! Layers: a commit checked out once, read-only, for every sandbox that begins there.
//!
//! ```text
//! layers/TREE-UID/root/workspace/…         the files, and a `.git` that borrows the mirror's objects
//! layers/TREE-UID/used                     touched whenever somebody asks for it
//! layers/….draft                           unfinished
//! ```
//!
//! A layer is stacked under the root of a sandbox; what is different for each sandbox is in its [`Seed`](crate::Seed).
//! A layer is named by its tree, because nothing in it depends on the commit.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use carrel_model::CommitId;
use rustix::fs::{AtFlags, CWD, Gid, Timespec, Timestamps, Uid, chownat, utimensat};

use crate::{Git, GitError, Mirror, index, mirror::sync_folder};

/// Where the working tree is, as a sandbox sees it.
pub const WORKSPACE: &str = "/workspace";
/// Where the mirror's objects are shown, read-only, as a sandbox sees it.
pub const BORROWED: &str = "/run/carrel-objects";
/// Files are older than anything that is done in a sandbox, so that git never has to wonder.
const AGE: Duration = Duration::from_secs(60);
/// How long a checkout of a huge repository may take.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Whose the files of a layer are, as numbers of the sandbox's users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

/// The layers of this node, in one folder that belongs to one server.
#[derive(Debug, Clone)]
pub struct Layers(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    git: Git,
    folder: PathBuf,
    owner: Option<Owner>,
    /// Each layer is made by one at a time.
    making: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// A commit checked out, to be stacked under a sandbox's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The tree that it holds.
    pub tree: CommitId,
    /// The folder to stack. The working tree is at [`WORKSPACE`] in it.
    pub folder: PathBuf,
}

impl Layers {
    /// Opens the folder and sweeps what was left unfinished. Without an owner, files are the server's own: for a plain
    /// user, who is root inside.
    pub fn open(git: Git, folder: &Path, owner: Option<Owner>) -> Result<Layers, GitError> {
        let open = "open the folder of layers";
        fs::create_dir_all(folder).map_err(GitError::io(open))?;
        let folder = folder.canonicalize().map_err(GitError::io(open))?;
        for entry in fs::read_dir(&folder).map_err(GitError::io(open))? {
            let path = entry.map_err(GitError::io(open))?.path();
            if path.extension().is_some_and(|extension| extension == "draft") {
                fs::remove_dir_all(&path).map_err(GitError::io("sweep an unfinished layer"))?;
            }
        }
        Ok(Layers(Arc::new(Inside { git, folder, owner, making: Mutex::default() })))
    }

    /// The layer of a commit: found, or made.
    pub async fn prepare(&self, mirror: &Mirror, commit: &CommitId) -> Result<Layer, GitError> {
        let call = self.0.git.at(&mirror.path(), "rev-parse").args(["--verify", "--quiet", "--end-of-options"]);
        let tree = call.arg((commit, "^{tree}")).id().await;
        let tree = tree.map_err(|_| GitError::Missing { what: format!("commit {}", commit.short()) })?;
        let name = match self.0.owner {
            Some(owner) => format!("{tree}-{}", owner.user),
            None => tree.to_string(),
        };
        let place = self.0.folder.join(&name);
        let lock = Arc::clone(self.making().entry(name.clone()).or_default());
        let made = {
            let _alone = lock.lock().await;
            if place.join("root").is_dir() { Ok(()) } else { self.make(mirror, commit, &tree, &place).await }
        };
        drop(lock);
        self.making().retain(|_, lock| Arc::strong_count(lock) > 1);
        made?;
        let _ = fs::write(place.join("used"), "");
        Ok(Layer { tree, folder: place.join("root") })
    }

    fn making(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<()>>>> {
        self.0.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn make(&self, mirror: &Mirror, commit: &CommitId, tree: &CommitId, place: &Path) -> Result<(), GitError> {
        mirror.check_fit(commit).await?;
        let draft = place.with_extension("draft");
        let _ = fs::remove_dir_all(&draft);
        let made = self.fill(mirror, tree, &draft).await;
        if let Err(error) = &made {
            let _ = fs::remove_dir_all(&draft);
            if matches!(error, GitError::Broken { .. }) {
                self.0.git.suspect(&mirror.path());
            }
            return made;
        }
        let put = || {
            sync_folder(&draft)?;
            fs::rename(&draft, place)?;
            sync_folder(&self.0.folder)
        };
        put().map_err(GitError::io("put a layer in its place"))
    }

    async fn fill(&self, mirror: &Mirror, tree: &CommitId, draft: &Path) -> Result<(), GitError> {
        let workspace = draft.join("root").join(&WORKSPACE[1..]);
        fs::create_dir_all(&workspace).map_err(GitError::io("make a layer"))?;
        let git = &self.0.git;
        git.call("init").args(["--quiet", "--template=", "--shared=0644"]).arg(workspace.as_path()).run().await?;
        let dot_git = workspace.join(".git");
        let call = git
            .at(&dot_git, "read-tree")
            .env("GIT_WORK_TREE", &workspace)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", mirror.objects())
            .folder(&workspace)
            .config("index.version", "2")
            .config("index.threads", "1")
            .config("checkout.workers", "0")
            .args(["--reset", "-u"]);
        call.arg(tree).patience(PATIENCE).run().await?;
        let owner = self.0.owner;
        let finish = tokio::task::spawn_blocking(move || finish(&workspace, owner));
        let finished =
            finish.await.map_err(|_| GitError::io("finish a layer")(io::Error::other("it was broken off")))?;
        finished.map_err(GitError::io("finish a layer"))
    }

    /// Removes layers that no sandbox stands on, but for the ones that were asked for last. Says how many went.
    pub fn collect(&self, in_use: &[PathBuf], spare: usize) -> Result<usize, GitError> {
        let look = "look at the layers";
        let mut idle = Vec::new();
        for entry in fs::read_dir(&self.0.folder).map_err(GitError::io(look))? {
            let path = entry.map_err(GitError::io(look))?.path();
            let unfinished = path.extension().is_some_and(|extension| extension == "draft");
            if unfinished || in_use.iter().any(|used| used.starts_with(&path)) {
                continue;
            }
            let used = fs::metadata(path.join("used")).and_then(|meta| meta.modified()).unwrap_or(UNIX_EPOCH);
            idle.push((used, path));
        }
        idle.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        let gone = idle.split_off(spare.min(idle.len()));
        for (_, path) in &gone {
            // By another name first: a half-removed layer is never found.
            let aside = path.with_extension("draft");
            fs::rename(path, &aside)
                .and_then(|()| fs::remove_dir_all(&aside))
                .map_err(GitError::io("remove a layer"))?;
        }
        Ok(gone.len())
    }
}

/// Gives every file its owner and its age, and tells the index.
fn finish(workspace: &Path, owner: Option<Owner>) -> io::Result<()> {
    let dot_git = workspace.join(".git");
    fs::create_dir_all(dot_git.join("objects/info"))?;
    fs::write(dot_git.join("objects/info/alternates"), format!("{BORROWED}\n"))?;
    let then = SystemTime::now() - AGE;
    let seconds = then.duration_since(UNIX_EPOCH).map_err(io::Error::other)?.as_secs();
    let time = Timespec { tv_sec: i64::try_from(seconds).map_err(io::Error::other)?, tv_nsec: 0 };
    settle(workspace, owner, &Timestamps { last_access: time, last_modification: time })?;
    let path = dot_git.join("index");
    match fs::read(&path) {
        Ok(mut bytes) => {
            index::set_facts(&mut bytes, |name| fs::symlink_metadata(workspace.join(name)))?;
            fs::write(&path, bytes)?;
        }
        // A tree without files.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // A power cut must not leave a layer with its name and without its content.
    rustix::fs::syncfs(fs::File::open(workspace)?)?;
    Ok(())
}

/// Links are never followed: a repository may have one to anywhere.
fn settle(path: &Path, owner: Option<Owner>, times: &Timestamps) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            settle(&entry?.path(), owner, times)?;
        }
    }
    if let Some(owner) = owner
        && (meta.uid(), meta.gid()) != (owner.user, owner.group)
    {
        let (user, group) = (Uid::from_raw(owner.user), Gid::from_raw(owner.group));
        chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    if !meta.is_symlink() {
        // As after an ordinary clone, whatever the server's own files are like.
        let mode = if meta.is_dir() || meta.mode() & 0o100 != 0 { 0o755 } else { 0o644 };
        if meta.mode() & 0o7777 != mode {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
    }
    utimensat(CWD, path, times, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}
