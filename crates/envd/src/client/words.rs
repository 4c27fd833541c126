//! What is asked of an envd and what it answers, in the host's own words.

use std::{collections::BTreeMap, io, time::Duration};

use bytes::Bytes;
use futures::stream::BoxStream;
use secrecy::SecretString;

use super::EnvdError;

/// Tells a fresh envd who it is. Not public: only the host may.
#[derive(Debug, Clone, Default)]
pub struct Init {
    /// The environment of everything that runs inside.
    pub env: BTreeMap<String, String>,
    /// The token that every request must show from now on.
    pub token: Option<SecretString>,
    /// The user that commands run as when they name none.
    pub default_user: Option<String>,
    /// Where commands run when they name no folder.
    pub default_workdir: Option<String>,
    /// The host name.
    pub hostname: Option<String>,
}

/// A command to start.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables on top of the sandbox's.
    pub env: BTreeMap<String, String>,
    /// Where; the user's home when absent.
    pub cwd: Option<String>,
    /// As whom; the default user when absent.
    pub user: Option<String>,
    /// With a terminal of this size.
    pub terminal: Option<Size>,
    /// A name to find it by.
    pub tag: Option<String>,
    /// Whether it has a standard input that can be written.
    pub stdin: bool,
    /// It is killed after this long.
    pub timeout: Option<Duration>,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

/// Names a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// By its number inside.
    Pid(u32),
    /// By the tag it was started with.
    Tag(String),
}

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number inside.
    pub pid: u32,
    /// Its tag.
    pub tag: Option<String>,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// What is heard of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It runs; always first.
    Started {
        /// Its number inside.
        pid: u32,
        /// To one who reconnects: how many bytes it had said before those that follow.
        from: Option<u64>,
    },
    /// Standard output.
    Stdout(Bytes),
    /// Standard error.
    Stderr(Bytes),
    /// What its terminal shows.
    Terminal(Bytes),
    /// It ended; always last.
    Ended(Ended),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, when it exited; as shells count, 128 + signal, when it was killed.
    pub exit_code: i32,
    /// Whether it exited by itself.
    pub exited: bool,
    /// A word or two, such as `exit status 1` or `signal: killed`.
    pub status: String,
}

/// What is heard of a process, as it happens. Ends after `Ended`; an error says that the line broke or time ran out.
pub type Events = BoxStream<'static, Result<Event, EnvdError>>;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link that leads nowhere, a device, a socket.
    Other,
}

/// A file, as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its whole path.
    pub path: String,
    /// What it is (of a link: what it leads to).
    pub kind: EntryKind,
    /// Bytes.
    pub size: u64,
    /// The nine permission bits.
    pub mode: u32,
    /// Owner's name.
    pub owner: String,
    /// Group's name.
    pub group: String,
    /// Seconds since 1970 of the last change.
    pub modified_s: i64,
    /// Where it leads, when it is a link.
    pub symlink_target: Option<String>,
}

/// Bytes that come bit by bit.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

/// A file on its way out.
pub struct Download {
    /// How many bytes are promised, when that is known.
    pub size: Option<u64>,
    /// The bytes.
    pub content: Content,
}

/// What changed in a watched folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchKind {
    /// Made.
    Create,
    /// Written.
    Write,
    /// Removed.
    Remove,
    /// Renamed away.
    Rename,
    /// Its mode or owner changed.
    Chmod,
}

/// A change in a watched folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    /// The name, relative to the watched folder.
    pub name: String,
    /// What happened.
    pub kind: WatchKind,
}

/// Changes, as they happen.
pub type WatchEvents = BoxStream<'static, Result<WatchEvent, EnvdError>>;

/// What a sandbox uses, as seen from inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    /// Processors.
    pub cpu_count: u32,
    /// Percent of one processor.
    pub cpu_used_pct: f64,
    /// Bytes of memory there are.
    pub mem_total: u64,
    /// Bytes of memory in use.
    pub mem_used: u64,
    /// Bytes of disk in use.
    pub disk_used: u64,
    /// Bytes of disk there are.
    pub disk_total: u64,
}
