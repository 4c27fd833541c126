//! The beginning of a push: which refs it moves, and how the client wants to be answered.

use carrel_model::{CommitId, RefName, push::RefCommand};
use tokio::io::AsyncRead;

use crate::{
    GitError,
    packet::{self, Packet},
};

/// More refs than this are not even read.
const MOST_COMMANDS: usize = 4096;

/// What stands before the pack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Request {
    pub(crate) commands: Vec<RefCommand>,
    /// Names that are no names; they are answered as they came.
    pub(crate) odd: Vec<String>,
    pub(crate) wants: Wants,
}

/// How the client wants to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wants {
    pub(crate) report: bool,
    pub(crate) bands: bool,
    pub(crate) atomic: bool,
    pub(crate) quiet: bool,
}

impl Request {
    /// Whether there is a pack to follow: not when refs only go away.
    pub(crate) fn has_pack(&self) -> bool {
        self.commands.iter().any(|command| command.new.is_some())
    }

    /// Reads it. Nothing at all, or only the end of a list, is a client that tries the door.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Request>, GitError> {
        let mut request = Request::default();
        let mut first = true;
        loop {
            match packet::read(stream).await? {
                Packet::Flush if first => return Ok(None),
                Packet::End if first => return Ok(None),
                Packet::End => return Err(GitError::unfit("the push broke off before its refs were told")),
                Packet::Flush => return Ok(Some(request)),
                Packet::Line(line) => {
                    let mut parts = line.splitn(2, |byte| *byte == 0);
                    let command = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
                    let is_first = request.commands.is_empty() && request.odd.is_empty();
                    if let Some(words) = parts.next().filter(|_| is_first) {
                        request.wants.read(&String::from_utf8_lossy(words))?;
                    }
                    request.take(command.trim_end_matches('\n'))?;
                    first = false;
                }
            }
        }
    }

    fn take(&mut self, line: &str) -> Result<(), GitError> {
        // A shallow clone tells where its history ends. Ours does not end there: whether all is here is seen later.
        if line.starts_with("shallow ") {
            return Ok(());
        }
        if self.commands.len() + self.odd.len() >= MOST_COMMANDS {
            return Err(GitError::unfit("far too many refs in one push"));
        }
        let malformed = || GitError::unfit("this is not git's protocol");
        let mut words = line.splitn(3, ' ');
        let (old, new, name) = (words.next(), words.next(), words.next());
        let id = |word: Option<&str>| -> Result<Option<CommitId>, GitError> {
            match word.ok_or_else(malformed)? {
                CommitId::NONE => Ok(None),
                text => text.parse().map(Some).map_err(|_| malformed()),
            }
        };
        let (old, new) = (id(old)?, id(new)?);
        let name = name.ok_or_else(malformed)?;
        match name.parse::<RefName>() {
            Ok(name) => self.commands.push(RefCommand { name, old, new }),
            Err(_) => self.odd.push(name.chars().filter(|c| !c.is_control()).take(250).collect()),
        }
        Ok(())
    }
}

impl Wants {
    fn read(&mut self, words: &str) -> Result<(), GitError> {
        for word in words.split_whitespace() {
            match word {
                "report-status" => self.report = true,
                "side-band-64k" => self.bands = true,
                "atomic" => self.atomic = true,
                "quiet" => self.quiet = true,
                "push-options" => return Err(GitError::unfit("push options are not taken")),
                "object-format=sha256" => return Err(GitError::unfit("objects are named by SHA-1 here")),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(lines: &[&str]) -> Result<Option<Request>, GitError> {
        let mut bytes = Vec::new();
        lines.iter().for_each(|line| packet::write(&mut bytes, line.as_bytes()));
        packet::flush(&mut bytes);
        Request::read(&mut bytes.as_slice()).await
    }

    #[tokio::test]
    async fn the_refs_and_the_wishes_stand_before_the_pack() {
        let (none, id) = (CommitId::NONE, "a".repeat(40));
        let first = format!("{none} {id} refs/heads/task-1\0 report-status side-band-64k agent=git/2.47.3");
        let second = format!("{id} {none} refs/heads/old");
        let request = read(&[&first, &second]).await.unwrap().unwrap();
        assert!(request.wants.report && request.wants.bands && !request.wants.atomic && request.has_pack());
        assert_eq!(request.commands.len(), 2);
        assert_eq!(request.commands[1].new, None);
    }

    #[tokio::test]
    async fn a_client_that_tries_the_door_asks_for_nothing() {
        assert_eq!(read(&[]).await.unwrap(), None);
        assert_eq!(Request::read(&mut &b""[..]).await.unwrap(), None);
    }

    #[tokio::test]
    async fn nonsense_is_refused_and_odd_names_are_kept_for_the_answer() {
        let (none, id) = (CommitId::NONE, "a".repeat(40));
        assert!(read(&["hello"]).await.is_err());
        assert!(read(&[&format!("{none} xyz refs/heads/a")]).await.is_err());
        assert!(read(&[&format!("{none} {id} refs/heads/a\0push-options")]).await.is_err());
        let odd =
            read(&[&format!("{none} {id} refs/heads/a..b"), &format!("{none} {id} HEAD")]).await.unwrap().unwrap();
        assert_eq!(odd.odd, ["refs/heads/a..b", "HEAD"]);
    }
}
