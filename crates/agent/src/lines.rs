//! Cuts a stream of bytes into lines, the same ones however it arrives.

/// The longest line that is read. What is longer is left out as a whole: half a JSON object says nothing.
const LONGEST: usize = 8 * 1024 * 1024;

/// A stream on its way to lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: Vec<u8>,
    /// How much of the present line was thrown away because it is too long.
    lost: usize,
}

/// A line, or the place of one that was too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its end; what is not UTF-8 is replaced.
    Text(String),
    /// Its length.
    TooLong(usize),
}

impl Lines {
    /// The lines that these bytes complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.take(&bytes[..end]);
            lines.push(self.close());
            bytes = &bytes[end + 1..];
        }
        self.take(bytes);
        lines
    }

    /// What was begun and not ended.
    pub(crate) fn rest(&mut self) -> Option<Line> {
        (!self.open.is_empty() || self.lost > 0).then(|| self.close())
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.lost > 0 || self.open.len() + bytes.len() > LONGEST {
            self.lost += self.open.len() + bytes.len();
            self.open = Vec::new();
        } else {
            self.open.extend_from_slice(bytes);
        }
    }

    fn close(&mut self) -> Line {
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            return Line::TooLong(lost);
        }
        let mut open = std::mem::take(&mut self.open);
        if open.last() == Some(&b'\r') {
            open.pop();
        }
        Line::Text(String::from_utf8(open).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_next_is_whole() {
        let mut lines = Lines::default();
        let mut bytes = vec![b'x'; LONGEST + 1];
        bytes.extend_from_slice(b"\nnext\n");
        let mut seen = Vec::new();
        for piece in bytes.chunks(1_000_003) {
            seen.extend(lines.feed(piece));
        }
        assert_eq!(seen, [Line::TooLong(LONGEST + 1), Line::Text("next".into())]);
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn letters_that_arrive_in_halves_are_whole() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for byte in "größe\r\nrest".bytes() {
            seen.extend(lines.feed(&[byte]));
        }
        assert_eq!(seen, [Line::Text("größe".into())]);
        assert_eq!(lines.rest(), Some(Line::Text("rest".into())));
    }
}
