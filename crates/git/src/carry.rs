//! Carrying: what a sandbox that can ask nobody is brought, and how what it made is handed in.
//!
//! Such a sandbox has a box beside its working tree: a bare repository that stands for `origin`. The house fills it with
//! packs and takes packs out of it. What comes out is judged like any push.

use std::{path::Path, process::Stdio, time::Duration};

use carrel_model::{CommitId, RefName, push::RefCommand};
use tokio::io::AsyncWriteExt;

use crate::{GitError, Mirror, packet, program::hear_out};

/// How long a pack of a large repository may take.
const PATIENCE: Duration = Duration::from_secs(1800);

/// What is to be packed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// Everything that these need.
    pub wanted: Vec<CommitId>,
    /// Whoever gets it has these, with all that they need.
    pub has: Vec<CommitId>,
    /// History ends here: nothing before these goes along.
    pub ends: Vec<CommitId>,
}

impl Mirror {
    /// Writes a pack to a file.
    pub async fn pack_into(&self, file: &Path, load: &Load) -> Result<(), GitError> {
        let mut wishes = String::new();
        load.ends.iter().for_each(|end| wishes.push_str(&format!("--shallow {end}\n")));
        load.wanted.iter().for_each(|commit| wishes.push_str(&format!("{commit}\n")));
        load.has.iter().for_each(|commit| wishes.push_str(&format!("^{commit}\n")));
        let mut call = self.git().at(&self.path(), "pack-objects").args(["--revs", "--stdout", "-q"]);
        call = call.arg("--delta-base-offset");
        if !load.has.is_empty() {
            call = call.arg("--thin");
        }
        if !load.ends.is_empty() {
            call = call.arg("--shallow");
        }
        let packing = async {
            let mut running = call.start(Stdio::piped())?;
            let missing = || GitError::Failed { what: "pack-objects", why: "it has no pipes".into() };
            let (mut stdin, mut stdout) = (running.stdin().ok_or_else(missing)?, running.stdout().ok_or_else(missing)?);
            let hearing = hear_out(running.child.stderr.take(), None);
            let mut target = tokio::fs::File::create(file).await.map_err(GitError::io("make a file for a pack"))?;
            let moving = async {
                let _ = stdin.write_all(wishes.as_bytes()).await;
                drop(stdin);
                tokio::io::copy(&mut stdout, &mut target).await?;
                target.flush().await
            };
            let (moved, said) = tokio::join!(moving, hearing);
            moved.map_err(GitError::io("write a pack"))?;
            let status = running.child.wait().await.map_err(GitError::io("wait for git"))?;
            if status.success() { Ok(()) } else { Err(GitError::understand("pack-objects", &said)) }
        };
        let packed = tokio::time::timeout(PATIENCE, packing).await;
        packed.unwrap_or(Err(GitError::TimedOut { what: "pack-objects", after: PATIENCE }))
    }

    /// Where two commits parted; nothing when they have nothing in common.
    pub async fn parting(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>, GitError> {
        let answer = self.git().at(&self.path(), "merge-base").arg(one).arg(other).answer().await?;
        Ok(String::from_utf8_lossy(&answer.output).lines().next().and_then(|line| line.trim().parse().ok()))
    }
}

/// What a client writes before the pack of a push that moves one ref.
pub fn push_request(command: &RefCommand) -> Vec<u8> {
    let id = |id: &Option<CommitId>| id.as_ref().map_or(CommitId::NONE, CommitId::as_str).to_owned();
    let line = format!("{} {} {}\0 report-status quiet agent=carrel", id(&command.old), id(&command.new), command.name);
    let mut out = Vec::new();
    packet::write(&mut out, line.as_bytes());
    packet::flush(&mut out);
    out
}

/// Where a box remembers what the house and it last agreed on about a ref.
pub fn agreed(name: &RefName) -> Option<RefName> {
    let rest = name.as_str().strip_prefix("refs/")?;
    format!("refs/carrel/brought/{}", rest.strip_prefix("carrel/").unwrap_or(rest)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_agreed_on_has_a_place_of_its_own() {
        let place = |name: &str| agreed(&name.parse().unwrap()).unwrap().to_string();
        assert_eq!(place("refs/heads/task-7"), "refs/carrel/brought/heads/task-7");
        assert_eq!(place("refs/carrel/wip/7"), "refs/carrel/brought/wip/7");
    }

    #[test]
    fn a_push_that_is_carried_begins_like_any_other() {
        let command = RefCommand {
            name: "refs/heads/task-7".parse().unwrap(),
            old: None,
            new: Some("a".repeat(40).parse().unwrap()),
        };
        let written = String::from_utf8(push_request(&command)).unwrap();
        assert!(written.ends_with("0000"), "{written}");
        let expected = format!("{} {} refs/heads/task-7\0", "0".repeat(40), "a".repeat(40));
        assert!(written[4..].starts_with(&expected), "{written}");
    }
}
