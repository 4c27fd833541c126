//! The progress that git prints, understood.

/// What git is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The other side counts or compresses.
    Preparing,
    /// Objects arrive.
    Receiving,
    /// Deltas are resolved.
    Resolving,
    /// Files are written.
    WritingFiles,
    /// Something else that is counted.
    Other,
}

/// How far git is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub stage: Stage,
    /// How much of it is done.
    pub done: u64,
    /// How much there is.
    pub total: u64,
}

impl Progress {
    /// In whole percent.
    pub fn percent(&self) -> u8 {
        match self.total {
            0 => 100,
            total => u8::try_from(self.done.min(total).saturating_mul(100) / total).unwrap_or(100),
        }
    }

    /// Understands one line, such as `Receiving objects:  45% (450/1000), 1.2 MiB | 3 MiB/s`.
    pub fn read(line: &str) -> Option<Progress> {
        let line = line.strip_prefix("remote: ").unwrap_or(line);
        let (title, rest) = line.split_once(':')?;
        let counts = rest.split_once('(')?.1.split_once(')')?.0;
        let (done, total) = counts.split_once('/')?;
        let stage = match title.trim() {
            "Counting objects" | "Compressing objects" | "Enumerating objects" => Stage::Preparing,
            "Receiving objects" | "Unpacking objects" => Stage::Receiving,
            "Resolving deltas" => Stage::Resolving,
            "Updating files" => Stage::WritingFiles,
            _ => Stage::Other,
        };
        Some(Progress { stage, done: done.trim().parse().ok()?, total: total.trim().parse().ok()? })
    }
}

/// Cuts a stream of text into lines at `\n` and `\r`, and keeps its end for sentences.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: Vec<u8>,
    kept: Vec<u8>,
}

/// How much of what git says is kept.
const MOST_KEPT: usize = 64 << 10;

impl Lines {
    pub(crate) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        for &byte in bytes {
            if byte == b'\n' || byte == b'\r' {
                let line = String::from_utf8_lossy(&self.open).into_owned();
                each(&line);
                // Progress is not what went wrong.
                if Progress::read(&line).is_none() {
                    self.kept.extend_from_slice(&self.open);
                    self.kept.push(b'\n');
                }
                self.open.clear();
            } else if self.open.len() < 8192 {
                self.open.push(byte);
            }
        }
        if self.kept.len() > MOST_KEPT {
            let cut = self.kept.len() - MOST_KEPT / 2;
            self.kept.drain(..cut);
        }
    }

    pub(crate) fn end(mut self) -> String {
        self.kept.append(&mut self.open);
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_progress_are_understood_and_others_are_not() {
        let read = |line| Progress::read(line).map(|p| (p.stage, p.done, p.total, p.percent()));
        let receiving = "Receiving objects:  45% (450/1000), 1.20 MiB | 3.00 MiB/s";
        assert_eq!(read(receiving), Some((Stage::Receiving, 450, 1000, 45)));
        assert_eq!(read("remote: Counting objects: 100% (7/7), done."), Some((Stage::Preparing, 7, 7, 100)));
        assert_eq!(read("Resolving deltas:   0% (0/0)"), Some((Stage::Resolving, 0, 0, 100)));
        assert_eq!(read("fatal: early EOF"), None);
        assert_eq!(read("remote: Total 5 (delta 1), reused 0 (delta 0)"), None);
    }

    #[test]
    fn a_line_may_arrive_in_pieces_and_progress_is_not_kept() {
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
        for piece in ["Receiving obj", "ects: 1% (1/9)\rReceiving objects: 2% (2", "/9)\rfatal: ea", "rly EOF"] {
            lines.feed(piece.as_bytes(), |line| seen.push(line.to_owned()));
        }
        assert_eq!(seen.len(), 2);
        assert_eq!(lines.end(), "fatal: early EOF");
    }
}
