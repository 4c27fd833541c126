//! The files that are different between two commits, without their lines; and the lines of some of them.
//!
//! A change of thousands of files is listed at once this way, and read file by file.

use std::time::Duration;

use carrel_model::CommitId;

use crate::{GitError, Mirror};

/// How long a large difference may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// One file that is different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where it is, or was when it is gone.
    pub path: String,
    /// Where it was, when it was moved.
    pub old_path: Option<String>,
    /// How many lines came and went; nothing when it is no text.
    pub lines: Option<(u64, u64)>,
    /// What it was; nothing when it is new.
    pub old: Option<Leaf>,
    /// What it is; nothing when it is gone.
    pub new: Option<Leaf>,
}

/// What stands at a path of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Its mode, such as `100644`.
    pub mode: String,
    /// Its name in git.
    pub id: String,
}

/// Whether a file that went and one that came are told as one that was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Renames {
    /// They are, where they are alike.
    #[default]
    Found,
    /// Each stands for itself.
    Apart,
}

impl Mirror {
    /// The files that are different between two commits, in the order of a patch.
    pub async fn changes(&self, from: &CommitId, to: &CommitId) -> Result<Vec<Change>, GitError> {
        let options = ["--raw", "--numstat", "-z", "--abbrev=64", "--find-renames", "--no-ext-diff", "--no-textconv"];
        let call = self.git().at(&self.path(), "diff").args(options).arg(from).arg(to);
        let told = call.patience(PATIENCE).run().await?;
        read(&told).ok_or(GitError::Failed { what: "diff", why: "the list of files is not as it should be".into() })
    }

    /// What is different in some files, as a patch. Bytes that are no text are only said to differ.
    pub async fn patch_of(
        &self,
        from: &CommitId,
        to: &CommitId,
        paths: &[String],
        renames: Renames,
    ) -> Result<Vec<u8>, GitError> {
        let options = ["--full-index", "--no-ext-diff", "--no-textconv", "--no-color"];
        let renames = match renames {
            Renames::Found => "--find-renames",
            Renames::Apart => "--no-renames",
        };
        let call = self.git().at(&self.path(), "diff").args(options).arg(renames).arg(from).arg(to).arg("--");
        paths.iter().fold(call, |call, path| call.path_in_tree(path)).patience(PATIENCE).run().await
    }
}

/// First all files with what they were and are, then all of them again with their lines, in the same order.
fn read(told: &[u8]) -> Option<Vec<Change>> {
    let text = |piece: &[u8]| String::from_utf8_lossy(piece).into_owned();
    let mut pieces = told.split(|byte| *byte == 0).filter(|piece| !piece.is_empty()).peekable();
    let mut changes = Vec::new();
    while let Some(head) = pieces.next_if(|piece| piece.starts_with(b":")) {
        let head = text(&head[1..]);
        let mut words = head.split(' ');
        let (old_mode, new_mode) = (words.next()?, words.next()?);
        let (old_id, new_id) = (words.next()?, words.next()?);
        let moved = words.next()?.starts_with(['R', 'C']);
        let first = text(pieces.next()?);
        let (path, old_path) = if moved { (text(pieces.next()?), Some(first)) } else { (first, None) };
        let (old, new) = (leaf(old_mode, old_id), leaf(new_mode, new_id));
        changes.push(Change { path, old_path, lines: None, old, new });
    }
    for change in &mut changes {
        let counts = text(pieces.next()?);
        let mut words = counts.splitn(3, '\t');
        let (added, removed) = (words.next()?, words.next()?);
        if words.next()?.is_empty() {
            pieces.nth(1)?;
        }
        change.lines = added.parse().ok().zip(removed.parse().ok());
    }
    pieces.next().is_none().then_some(changes)
}

fn leaf(mode: &str, id: &str) -> Option<Leaf> {
    (mode != "000000").then(|| Leaf { mode: mode.to_owned(), id: id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_files_is_read_with_odd_names_moves_and_bytes_that_are_no_text() {
        let told = b":100644 000000 aa 00 D\0gone\ttab\0:000000 100755 00 bb A\0:new\n\0:100644 100644 cc dd R090\0old\0d/new\0\
            :100644 100644 ee ff M\0pic.png\x000\t3\tgone\ttab\x007\t0\t:new\n\x001\t1\t\0old\0d/new\0-\t-\tpic.png\0";
        let changes = read(told).unwrap();
        let names: Vec<_> = changes.iter().map(|it| (it.path.as_str(), it.old_path.as_deref(), it.lines)).collect();
        let moved = ("d/new", Some("old"), Some((1, 1)));
        assert_eq!(
            names,
            [("gone\ttab", None, Some((0, 3))), (":new\n", None, Some((7, 0))), moved, ("pic.png", None, None)]
        );
        assert_eq!((&changes[0].new, &changes[1].old), (&None, &None));
        assert_eq!(changes[1].new, Some(Leaf { mode: "100755".into(), id: "bb".into() }));
        assert_eq!(read(b""), Some(vec![]));
        assert_eq!(read(b":100644 100644 ee ff M\0cut"), None);
    }
}
