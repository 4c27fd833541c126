//! Refs of a repository: read, and moved in one transaction that knows where each was.

use std::{collections::BTreeMap, path::Path};

use carrel_model::{CommitId, RefName};

use crate::{Git, GitError};

/// Refs by name, each with what it names.
pub type Refs = BTreeMap<RefName, CommitId>;

/// Where a ref is to go, and where it must be before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The ref.
    pub name: RefName,
    /// Where it must be; nothing when it must not exist.
    pub from: Option<CommitId>,
    /// Where it goes; nothing when it goes away.
    pub to: Option<CommitId>,
}

/// The refs below some folders. Those whose names nobody can write down are left out.
pub(crate) async fn list(git: &Git, repository: &Path, below: &[&'static str]) -> Result<Refs, GitError> {
    let call = git.at(repository, "for-each-ref").arg("--format=%(objectname) %(refname)");
    let output = call.args(below.iter().copied()).run().await?;
    let text = String::from_utf8_lossy(&output);
    let pair = |line: &str| {
        let (id, name) = line.split_once(' ')?;
        Some((name.parse().ok()?, id.parse().ok()?))
    };
    Ok(text.lines().filter_map(pair).collect())
}

/// What a ref names, if it is there.
pub(crate) async fn find(git: &Git, repository: &Path, name: &RefName) -> Result<Option<CommitId>, GitError> {
    let call = git.at(repository, "rev-parse").arg("--verify").arg("--quiet").arg("--end-of-options").arg(name);
    let answer = call.answer().await?;
    if !answer.status.success() {
        return Ok(None);
    }
    Ok(String::from_utf8_lossy(&answer.output).lines().last().and_then(|line| line.trim().parse().ok()))
}

/// Moves refs, all or none. The files of the refs are safe on disk when this returns; their folder is the caller's.
pub(crate) async fn transact(git: &Git, repository: &Path, moves: &[Move]) -> Result<(), GitError> {
    let mut input = Vec::new();
    let mut field = |text: &str| {
        input.extend_from_slice(text.as_bytes());
        input.push(0);
    };
    for step in moves {
        let from = step.from.as_ref().map_or(CommitId::NONE, CommitId::as_str);
        match &step.to {
            Some(to) => {
                field(&format!("update {}", step.name));
                field(to.as_str());
                field(from);
            }
            None => {
                field(&format!("delete {}", step.name));
                field(from);
            }
        }
    }
    if input.is_empty() {
        return Ok(());
    }
    let call = git.at(repository, "update-ref").arg("--no-deref").arg("--stdin").arg("-z").input(input);
    let answer = call.config("core.fsync", "committed,reference").answer().await?;
    if answer.status.success() {
        return Ok(());
    }
    let said = answer.said;
    let moved = ["is at ", "but expected", "reference already exists", "unable to resolve reference"];
    if said.contains("cannot lock ref") && moved.iter().any(|word| said.contains(word)) {
        let name = moves.iter().map(|step| step.name.as_str()).find(|name| said.contains(name));
        return Err(GitError::Moved { name: name.unwrap_or("a ref").to_owned() });
    }
    Err(GitError::understand("update-ref", &said))
}
