//! What a piece of work changes: all of it as a patch, its files alone, or the lines of some of them.

use carrel_git::{Change, Mirror, Renames};
use carrel_model::{
    CommitId,
    public::{DiffFileView, FileStatus},
};

use crate::Error;

/// How many files can be asked for by name at once.
const MOST_PATHS: usize = 100;
/// No path is longer where files live.
const LONGEST_PATH: usize = 4096;

/// Which part of a change is wanted.
#[derive(Debug, Clone, Default)]
pub struct Extract {
    /// From this checkpoint on; from the base when left out.
    pub from: Option<i64>,
    /// Up to this checkpoint; up to the newest work when left out.
    pub to: Option<i64>,
    /// Only these files, when there are any.
    pub paths: Vec<String>,
    /// Whether a file that went and one that came are told as one that was moved.
    pub renames: Renames,
}

impl Extract {
    /// Refuses what names no file.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.paths.len() > MOST_PATHS {
            return Err(Error::field("path", format!("at most {MOST_PATHS} files at once")));
        }
        let is_path = |path: &String| !path.is_empty() && path.len() <= LONGEST_PATH && !path.contains('\0');
        match self.paths.iter().all(is_path) {
            true => Ok(()),
            false => Err(Error::field("path", "expected the path of a file in the repository")),
        }
    }
}

/// Two commits, and where to compare them.
pub(super) struct Span {
    pub(super) mirror: Mirror,
    pub(super) from: CommitId,
    pub(super) to: CommitId,
}

impl Span {
    /// What is different, as a patch: of all files, or of those that were named.
    pub(super) async fn patch(&self, extract: &Extract) -> Result<Vec<u8>, Error> {
        Ok(match extract.paths.as_slice() {
            [] => self.mirror.patch(&self.from, &self.to).await?,
            paths => self.mirror.patch_of(&self.from, &self.to, paths, extract.renames).await?,
        })
    }

    /// The files that are different.
    pub(super) async fn files(&self) -> Result<Vec<DiffFileView>, Error> {
        Ok(self.mirror.changes(&self.from, &self.to).await?.into_iter().map(shown).collect())
    }
}

fn shown(change: Change) -> DiffFileView {
    let status = match (&change.old, &change.new, &change.old_path) {
        (_, _, Some(_)) => FileStatus::Renamed,
        (None, _, None) => FileStatus::Added,
        (_, None, None) => FileStatus::Removed,
        (Some(_), Some(_), None) => FileStatus::Modified,
    };
    let (additions, deletions) = change.lines.unwrap_or_default();
    let (old_mode, old_id) = change.old.map(|leaf| (leaf.mode, leaf.id)).unzip();
    let (new_mode, new_id) = change.new.map(|leaf| (leaf.mode, leaf.id)).unzip();
    DiffFileView {
        path: change.path,
        old_path: change.old_path,
        status,
        additions,
        deletions,
        binary: change.lines.is_none(),
        old_id,
        new_id,
        old_mode,
        new_mode,
    }
}
