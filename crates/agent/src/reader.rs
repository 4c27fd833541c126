//! Reads what an agent prints.

use serde_json::Value;

use crate::{
    Ending, Moment,
    dialects::Grammar,
    heard::Heard,
    lines::{Line, Lines},
};

/// Reads one turn of an agent: bytes in, moments out.
///
/// It depends on nothing but the bytes: the same ones, however they are cut, give the same moments.
pub struct Reader {
    grammar: Box<dyn Grammar>,
    heard: Heard,
    stdout: Lines,
    stderr: Lines,
    hint: String,
}

/// The end of a turn: what was still on its way, and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// Moments that only the end could tell.
    pub moments: Vec<Moment>,
    /// How it ended.
    pub ending: Ending,
}

impl Reader {
    pub(crate) fn new(grammar: Box<dyn Grammar>, hint: String) -> Reader {
        Reader { grammar, heard: Heard::default(), stdout: Lines::default(), stderr: Lines::default(), hint }
    }

    /// Reads what came on standard output.
    pub fn stdout(&mut self, bytes: &[u8]) -> Vec<Moment> {
        for line in self.stdout.feed(bytes) {
            self.hear(line);
        }
        self.heard.take()
    }

    /// Reads what came on standard error. It counts only for how the turn ended.
    pub fn stderr(&mut self, bytes: &[u8]) -> Vec<Moment> {
        for line in self.stderr.feed(bytes) {
            self.overhear(line);
        }
        self.heard.take()
    }

    /// How many bytes there are of a message or a thought that comes in pieces and is still going on; 0 when none is.
    pub fn grown(&self) -> usize {
        self.heard.grown()
    }

    /// A message or a thought that is still going on, as it is so far. When it is whole it is the next one of its kind among
    /// the moments.
    pub fn growing(&self) -> Option<Moment> {
        self.heard.growing()
    }

    /// The process has ended: with this code, by a signal (128 and its number), or without anybody seeing it.
    pub fn end(&mut self, exit_code: Option<i32>) -> End {
        if let Some(line) = self.stdout.rest() {
            self.hear(line);
        }
        if let Some(line) = self.stderr.rest() {
            self.overhear(line);
        }
        self.grammar.end(&mut self.heard);
        let ending = self.heard.ending(exit_code, self.grammar.says_when_it_is_done(), &self.hint);
        End { moments: self.heard.take(), ending }
    }

    fn hear(&mut self, line: Line) {
        match line {
            Line::TooLong(bytes) => self.heard.noted(&format!("A line of {bytes} bytes was too long to be read.")),
            Line::Text(line) => match json(&line) {
                Some(value) => self.grammar.object(&value, &line, &mut self.heard),
                None => self.grammar.text(&line, &mut self.heard),
            },
        }
    }

    fn overhear(&mut self, line: Line) {
        if let Line::Text(line) = line {
            self.heard.aside(&line);
        }
    }
}

/// A line that is a JSON object.
fn json(line: &str) -> Option<Value> {
    line.trim_start().starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}
