//! A repository as one file, and back: how backups carry it.
//!
//! Making one only looks: the repository may belong to a server that runs and goes on receiving pushes.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use carrel_model::{Branch, RefName, RepoName};

use crate::{Git, GitError, Mirror, Refs, refs};

/// How long a large repository may take.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// What a bundle was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundled {
    /// Every ref, people's and ours.
    pub refs: Refs,
    /// The default branch.
    pub head: Option<Branch>,
}

/// The newest generation of each mirror in a folder that may be in use.
pub fn mirrors_in(folder: &Path) -> Result<Vec<(RepoName, PathBuf)>, GitError> {
    let names = match fs::read_dir(folder) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(GitError::io("look into the folder of mirrors")(error)),
    };
    let mut found = Vec::new();
    for entry in names {
        let entry = entry.map_err(GitError::io("look into the folder of mirrors"))?;
        let Some(name) = entry.file_name().to_str().and_then(|name| name.parse::<RepoName>().ok()) else { continue };
        let generations = fs::read_dir(entry.path()).map_err(GitError::io("look into the folder of a mirror"))?;
        let number = |path: &Path| path.file_name()?.to_str()?.strip_suffix(".git")?.parse::<u32>().ok();
        let newest = generations.flatten().filter_map(|one| Some((number(&one.path())?, one.path()))).max();
        found.extend(newest.map(|(_, path)| (name, path)));
    }
    found.sort();
    Ok(found)
}

impl Git {
    /// Writes everything that the refs of a repository name into one file; nothing when it has no refs.
    pub async fn bundle(&self, repository: &Path, file: &Path) -> Result<Option<Bundled>, GitError> {
        if refs::list(self, repository, &["refs/"]).await?.is_empty() {
            return Ok(None);
        }
        let call = self.at(repository, "bundle").arg("create").arg("--quiet").arg(file).arg("--all");
        call.patience(PATIENCE).run().await?;
        // What is in the file, not what the repository has come to since.
        let listed = self.call("bundle").arg("list-heads").arg(file).text().await?;
        let pair = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some((name.parse().ok()?, id.parse().ok()?))
        };
        let refs = listed.lines().filter_map(pair).collect();
        let head = self.at(repository, "symbolic-ref").arg("--quiet").arg("HEAD").answer().await?;
        let head: Option<RefName> = String::from_utf8_lossy(&head.output).trim().parse().ok();
        Ok(Some(Bundled { refs, head: head.and_then(|name| name.branch()) }))
    }
}

impl Mirror {
    /// Takes everything from a bundle that a backup made, into a mirror that is new.
    pub async fn unbundle(&self, file: &Path, bundled: &Bundled) -> Result<(), GitError> {
        let call = self.git().at(&self.path(), "fetch").arg("--quiet").arg("--no-tags").arg("--no-write-fetch-head");
        call.arg(file).arg("+refs/*:refs/*").patience(PATIENCE).run().await?;
        if let Some(head) = &bundled.head {
            self.set_default_branch(head).await?;
        }
        let found = refs::list(self.git(), &self.path(), &["refs/"]).await?;
        match found == bundled.refs {
            true => Ok(()),
            false => Err(GitError::unfit(format!("the bundle of `{}` does not hold what it should", self.name()))),
        }
    }
}
