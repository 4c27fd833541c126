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
    let pair = |line: &[u8]| {
        let (id, name) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        Some((name.parse().ok()?, id.parse().ok()?))
    };
    Ok(output.split(|byte| *byte == b'\n').filter_map(pair).collect())
}

/// What a ref names, if it is there. It is asked so often that it is read as git itself reads it; what is not plain is
/// left to git.
pub(crate) async fn find(git: &Git, repository: &Path, name: &RefName) -> Result<Option<CommitId>, GitError> {
    if let Some(found) = read_plain(repository, name) {
        return Ok(found);
    }
    let call = git.at(repository, "rev-parse").arg("--verify").arg("--quiet").arg("--end-of-options").arg(name);
    let answer = call.answer().await?;
    if !answer.status.success() {
        return Ok(None);
    }
    Ok(String::from_utf8_lossy(&answer.output).lines().last().and_then(|line| line.trim().parse().ok()))
}

/// Reads a ref from its own file, else from the file of many. Whoever puts refs together writes the second before the first
/// goes, so that it is always in one of them. Nothing when this is not for us to read.
fn read_plain(repository: &Path, name: &RefName) -> Option<Option<CommitId>> {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    match std::fs::read_to_string(repository.join(name.as_str())) {
        Ok(text) => return text.trim_end().parse().ok().map(Some),
        Err(error) if matches!(error.kind(), NotFound | IsADirectory | NotADirectory) => {}
        Err(_) => return None,
    }
    let packed = match std::fs::read_to_string(repository.join("packed-refs")) {
        Ok(text) => text,
        Err(error) if error.kind() == NotFound && repository.join("refs").is_dir() => return Some(None),
        Err(_) => return None,
    };
    let names_it = |line: &&str| line.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with(' '));
    match packed.lines().find(names_it) {
        Some(line) => line.split(' ').next()?.parse().ok().map(Some),
        None => Some(None),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_is_read_from_its_own_file_then_from_the_file_of_many_and_what_is_odd_is_left_to_git() {
        let place = tempfile::tempdir().unwrap();
        let (one, two) = ("a".repeat(40), "b".repeat(40));
        let read = |name: &str| read_plain(place.path(), &name.parse().unwrap());
        let is = |id: &str| Some(Some(id.parse().unwrap()));
        assert_eq!(read("refs/heads/main"), None, "this is no repository");
        std::fs::create_dir_all(place.path().join("refs/heads/folder/below")).unwrap();
        assert_eq!(read("refs/heads/main"), Some(None));
        let packed = format!(
            "# pack-refs with: peeled\n{one} refs/heads/main\n{two} refs/heads/not-main\n{one} refs/tags/v1\n^{two}\n"
        );
        std::fs::write(place.path().join("packed-refs"), packed).unwrap();
        assert_eq!(read("refs/heads/main"), is(&one));
        assert_eq!(read("refs/heads/not-main"), is(&two));
        assert_eq!(read("refs/heads/in"), Some(None), "the end of a name is no name");
        assert_eq!(read("refs/heads/folder"), Some(None));
        std::fs::write(place.path().join("refs/heads/main"), format!("{two}\n")).unwrap();
        assert_eq!(read("refs/heads/main"), is(&two), "its own file is newer");
        assert_eq!(read("refs/heads/main/below"), Some(None));
        std::fs::write(place.path().join("refs/heads/odd"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(read("refs/heads/odd"), None);
    }
}
