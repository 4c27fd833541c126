//! What is run for one turn.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

/// One exec in the sandbox: everything that a turn of an agent needs at its start.
///
/// It runs as the sandbox's user in [`Place::workspace`](crate::Place). Files are laid down first. Standard input is
/// written and then closed; an agent that is still running when nobody watches any more goes on by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables, on top of the sandbox's own.
    pub env: BTreeMap<String, String>,
    /// What it reads; with nothing, its standard input is empty.
    pub stdin: Option<Vec<u8>>,
    /// Whether it wants a terminal: a person sits down at it.
    pub terminal: bool,
    /// Files that have to lie there before it starts. Each may be written again at every turn.
    pub files: Vec<File>,
}

/// A file that is laid into the sandbox for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where, from the root.
    pub path: String,
    /// Its permissions.
    pub mode: u32,
    /// What is in it.
    pub bytes: Cow<'static, [u8]>,
}

impl File {
    pub(crate) fn text(path: String, text: String) -> File {
        File { path, mode: 0o600, bytes: Cow::Owned(text.into_bytes()) }
    }
}

/// How to end an agent without breaking what it holds: the signal, and how long it may take before it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// What is sent to its process group first.
    pub signal: Signal,
    /// How long it may take to end; then it is killed.
    pub grace: Duration,
}

/// The signals that agents are asked to end with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// As Ctrl-C does.
    Interrupt,
    /// As `kill` does.
    Terminate,
    /// As a terminal that is closed does.
    HangUp,
}

impl Signal {
    /// Its number on Linux.
    pub fn number(self) -> i32 {
        match self {
            Signal::HangUp => 1,
            Signal::Interrupt => 2,
            Signal::Terminate => 15,
        }
    }

    /// Its name, as `kill -s` takes it.
    pub fn word(self) -> &'static str {
        match self {
            Signal::HangUp => "HUP",
            Signal::Interrupt => "INT",
            Signal::Terminate => "TERM",
        }
    }
}

/// The longest text that goes into a variable or an argument. The kernel takes 128 KiB with its name, a sandbox 32 KiB.
const LONGEST_ARGUMENT: usize = 32_000;

/// A text that fits into a variable or an argument. What is cut is said, with where the whole stands.
pub(crate) fn fit(text: &str, whole: &str) -> String {
    // A NUL would end it early, or make the kernel refuse it.
    let text = text.replace('\0', "\u{fffd}");
    if text.len() <= LONGEST_ARGUMENT {
        return text;
    }
    let mut end = LONGEST_ARGUMENT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[cut here; {whole}]", &text[..end])
}
