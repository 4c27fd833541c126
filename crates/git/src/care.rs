//! Care for a mirror: it is checked, packed without dropping anything, and made anew when it is damaged.

use std::{
    fs,
    path::Path,
    sync::PoisonError,
    time::{Duration, Instant},
};

use carrel_model::{CommitId, RefName};

use crate::{GitError, Mirror, Upstream, refs};

/// From how many packs on they are put together.
const MANY_PACKS: usize = 40;
/// How long a check or a repack of a large repository may take.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// A mirror that was read through and found whole is not read through again for a while.
const READ_THROUGH_RESTS: Duration = Duration::from_secs(600);

/// What cannot be had in a repository yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Obstacle {
    Lfs(String),
    Submodule(String),
}

impl Obstacle {
    fn sentence(&self) -> String {
        match self {
            Obstacle::Lfs(path) => format!(
                "`{path}` keeps files in Git LFS, which Carrel does not support yet: a checkout would hold pointers instead of files"
            ),
            Obstacle::Submodule(path) => format!(
                "`{path}` is a submodule, which Carrel does not support yet: a checkout would hold an empty folder instead"
            ),
        }
    }
}

impl Mirror {
    /// Reads every object and finds what is damaged or missing.
    pub async fn check(&self) -> Result<(), GitError> {
        let call =
            self.git().at(&self.path(), "fsck").args(["--full", "--no-dangling", "--no-progress", "--no-reflogs"]);
        // Old sins of history (wrong modes, odd dates) are no damage.
        let call = call.config("fsck.zeroPaddedFilemode", "ignore").config("fsck.badTimezone", "ignore");
        let answer = call.patience(PATIENCE).answer().await?;
        if answer.status.success() {
            return Ok(());
        }
        let first = String::from_utf8_lossy(&answer.output).lines().next().map(str::to_owned);
        let said = answer.said.lines().find(|line| !line.is_empty()).map(str::to_owned);
        Err(GitError::Broken { why: said.or(first).unwrap_or_else(|| "git fsck says so".into()) })
    }

    /// Reads every object, if a git of ours said since the last time that something here is damaged. Whoever asks for what
    /// was never here may make git say so too: so it is not done again and again.
    pub async fn check_if_suspect(&self) -> Result<(), GitError> {
        if !self.git().take_suspicion(&self.path()) {
            return Ok(());
        }
        {
            let mut last = self.0.read_through.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|last| last.elapsed() < READ_THROUGH_RESTS) {
                return Ok(());
            }
            *last = Some(Instant::now());
        }
        tracing::warn!(repo = %self.name(), "something in a mirror seems damaged; it is read through");
        self.check().await
    }

    /// Puts packs together when there are many. Nothing is ever dropped: a sandbox may borrow it. Says whether it did.
    pub async fn tend(&self) -> Result<bool, GitError> {
        let _care = self.0.care.lock().await;
        self.sweep(Duration::from_secs(3600));
        let packs = fs::read_dir(self.objects().join("pack")).map_err(GitError::io("look at the packs"))?;
        let is_pack = |path: &Path| path.extension().is_some_and(|extension| extension == "pack");
        let count = packs.flatten().filter(|entry| is_pack(&entry.path())).count();
        if count < MANY_PACKS {
            return Ok(false);
        }
        self.repack().await?;
        Ok(true)
    }

    /// Puts packs and loose objects together, each as it is, reachable or not.
    pub async fn repack(&self) -> Result<(), GitError> {
        let repository = self.path();
        let call = self.git().at(&repository, "repack").args(["-d", "-q", "--geometric=2", "--write-midx"]);
        call.config("pack.allowPackReuse", "true").patience(PATIENCE).run().await?;
        let call =
            self.git().at(&repository, "commit-graph").args(["write", "--reachable", "--split", "--no-progress"]);
        call.patience(PATIENCE).run().await.map(drop)
    }

    /// Makes the mirror anew from its upstream, and saves what is ours from the old one. Says what could not be saved.
    /// The old one stays for those who borrow from it, until [`Mirror::tidy`].
    pub async fn rebuild(&self, upstream: &Upstream) -> Result<Vec<RefName>, GitError> {
        let _care = self.0.care.lock().await;
        let old = self.path();
        let draft = self.draft_generation().await?;
        self.fetch_into(&draft, upstream).await?;
        let below = ["refs/heads", "refs/carrel/wip", "refs/carrel/kept", "refs/carrel/pulls", "refs/carrel/published"];
        let ours = refs::list(self.git(), &old, &below).await.unwrap_or_default();
        let mut lost = Vec::new();
        for (name, id) in ours {
            let is_ours = name.is_below("refs/carrel")
                || name.branch().is_some_and(|branch| upstream.format.task(&branch).is_some());
            if is_ours && self.save(&old, &draft, &name, &id).await.is_err() {
                lost.push(name);
            }
        }
        let rerere = old.join("rr-cache");
        if rerere.is_dir() {
            let _ = fs::rename(&rerere, draft.join("rr-cache"));
        }
        self.adopt_generation(&draft)?;
        // The new one is whole; should it break at once, that is worth another look.
        *self.0.read_through.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(lost)
    }

    /// Brings one ref over from a repository that may be damaged.
    async fn save(&self, old: &Path, new: &Path, name: &RefName, id: &CommitId) -> Result<(), GitError> {
        // What is damaged there and came anew is read from where it came.
        let there = |command| self.git().at(old, command).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", new.join("objects"));
        let pack = there("pack-objects").args(["--revs", "--stdout", "-q", "--delta-base-offset"]);
        let has = refs::list(self.git(), new, &["refs"]).await?;
        let mut wanted = format!("{id}\n");
        for known in has.values() {
            wanted.push_str(&format!("^{known}\n"));
        }
        let packed = pack.input(wanted).patience(PATIENCE).run().await?;
        let call = self.git().at(new, "index-pack").args(["--stdin", "--fix-thin", "--strict"]).input(packed);
        call.patience(PATIENCE).run().await?;
        let call = self.git().at(new, "rev-list").args(["--objects", "--quiet"]).arg(id);
        call.patience(PATIENCE).run().await?;
        let step = refs::Move { name: name.clone(), from: None, to: Some(id.clone()) };
        refs::transact(self.git(), new, &[step]).await
    }

    /// Refuses a commit that cannot be checked out whole.
    pub async fn check_fit(&self, commit: &CommitId) -> Result<(), GitError> {
        match self.obstacle(commit).await? {
            Some(obstacle) => Err(GitError::unfit(obstacle.sentence())),
            None => Ok(()),
        }
    }

    async fn obstacle(&self, commit: &CommitId) -> Result<Option<Obstacle>, GitError> {
        let repository = self.path();
        let call = self.git().at(&repository, "ls-tree").args(["-r", "-z", "--full-tree"]).arg(commit);
        let listing = call.run().await?;
        let mut attributes = Vec::new();
        for entry in listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let text = String::from_utf8_lossy(entry);
            let Some((facts, path)) = text.split_once('\t') else { continue };
            if facts.starts_with("160000 ") {
                return Ok(Some(Obstacle::Submodule(path.to_owned())));
            }
            if path == ".gitattributes" || path.ends_with("/.gitattributes") {
                let id: Option<CommitId> = facts.rsplit(' ').next().and_then(|id| id.parse().ok());
                attributes.extend(id.map(|id| (path.to_owned(), id)));
            }
        }
        for (path, id) in attributes {
            let content = self.git().at(&repository, "cat-file").arg("blob").arg(&id).run().await?;
            let asks = |line: &[u8]| {
                !line.trim_ascii_start().starts_with(b"#") && line.windows(10).any(|word| word == b"filter=lfs")
            };
            if content.split(|byte| *byte == b'\n').any(asks) {
                return Ok(Some(Obstacle::Lfs(path)));
            }
        }
        Ok(None)
    }
}
