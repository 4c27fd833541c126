//! What a process said lately, kept for somebody whose line broke: they say how far they heard, and hear the rest.
//!
//! Bytes are counted over all outputs together, from the first on. Of one process at most [`MOST`] are kept; whoever was
//! away for longer than that learns where the rest begins.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::wire::process::DataEvent;

/// So much is kept of one process.
const MOST: usize = 128 << 10;
/// So much is next to nothing.
const SMALL: usize = 4 << 10;
/// What keeping one piece costs beside its bytes.
const PIECE: usize = 128;

#[derive(Default)]
pub(super) struct Recent {
    pieces: VecDeque<DataEvent>,
    /// What the pieces cost.
    held: usize,
    /// How many bytes were said in all.
    said: u64,
}

impl Recent {
    /// Takes note of something that was said.
    pub(super) fn note(&mut self, data: &DataEvent) {
        let length = bytes(data).len();
        self.said += length as u64;
        self.held += length + PIECE;
        self.pieces.push_back(data.clone());
        while self.held > MOST {
            let Some(oldest) = self.pieces.pop_front() else { return };
            self.held -= bytes(&oldest).len() + PIECE;
        }
    }

    /// What was said after the first `heard` bytes, as far as it is kept, and how many had been said before it.
    pub(super) fn since(&self, heard: u64) -> (u64, VecDeque<DataEvent>) {
        let (mut at, mut from, mut rest) = (self.said, self.said, VecDeque::new());
        for piece in self.pieces.iter().rev() {
            if at <= heard {
                break;
            }
            let length = bytes(piece).len() as u64;
            at -= length;
            // Within this piece there may be something that was heard.
            let skip = heard.saturating_sub(at).min(length);
            rest.push_front(after(piece, skip as usize));
            from = at + skip;
        }
        (from, rest)
    }

    /// What keeping it costs.
    pub(super) fn cost(&self) -> usize {
        self.held
    }

    /// Lets go of it unless it is next to nothing.
    pub(super) fn forget_unless_small(&mut self) {
        if self.held > SMALL {
            self.forget();
        }
    }

    /// Lets go of everything but the count.
    pub(super) fn forget(&mut self) {
        self.pieces = VecDeque::new();
        self.held = 0;
    }
}

fn bytes(data: &DataEvent) -> &[u8] {
    [&data.stdout, &data.stderr, &data.pty].into_iter().flatten().next().map_or(&[], Bytes::as_ref)
}

fn after(data: &DataEvent, skip: usize) -> DataEvent {
    let rest = |bytes: &Option<Bytes>| bytes.as_ref().map(|bytes| bytes.slice(skip..));
    DataEvent { stdout: rest(&data.stdout), stderr: rest(&data.stderr), pty: rest(&data.pty) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(text: &str) -> DataEvent {
        DataEvent { stdout: Some(text.to_owned().into()), ..DataEvent::default() }
    }

    fn text(rest: &VecDeque<DataEvent>) -> String {
        rest.iter().map(|piece| String::from_utf8_lossy(bytes(piece)).into_owned()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn the_rest_begins_with_the_first_byte_that_was_not_heard() {
        let mut recent = Recent::default();
        for word in ["one", "two", "three"] {
            recent.note(&out(word));
        }
        for (heard, from, rest) in
            [(0, 0, "one|two|three"), (3, 3, "two|three"), (4, 4, "wo|three"), (11, 11, ""), (99, 11, "")]
        {
            let (began, said) = recent.since(heard);
            assert_eq!((began, text(&said).as_str()), (from, rest), "{heard} heard");
        }
    }

    #[test]
    fn what_is_too_long_ago_is_not_kept_and_that_is_told() {
        let mut recent = Recent::default();
        let line = "x".repeat(1000);
        for _ in 0..1000 {
            recent.note(&out(&line));
        }
        let (from, rest) = recent.since(10);
        assert_eq!(from + 1000 * rest.len() as u64, 1_000_000, "it reaches to the end without a hole");
        assert!(from > 10 && recent.held <= MOST && rest.len() > 100);
        recent.forget();
        assert_eq!(recent.since(10), (1_000_000, VecDeque::new()));
        recent.note(&out("more"));
        assert_eq!(recent.since(1_000_001).0, 1_000_001);
    }
}
