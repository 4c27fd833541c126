//! The client: everything the host asks of an envd, over whatever line leads to it.

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncWrite};

/// A line to an envd: whatever HTTP/1.1 can be spoken over.
pub trait Line: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Line for T {}

/// Opens lines to one envd. A provider gives one out for each sandbox.
#[async_trait]
pub trait Dial: Send + Sync {
    /// Opens a line.
    async fn dial(&self) -> io::Result<Box<dyn Line>>;
}

/// One envd, reached by its lines. Clones share what they have open.
#[derive(Clone)]
pub struct Envd {
    #[expect(dead_code, reason = "the body comes with the daemon")]
    dial: Arc<dyn Dial>,
    #[expect(dead_code, reason = "the body comes with the daemon")]
    token: Option<SecretString>,
}

/// Why an envd did not do it, by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum EnvdError {
    /// Nobody answers, or the line broke.
    #[error("the sandbox does not answer: {0}")]
    Unreachable(#[source] io::Error),
    /// What was named is not there: a process, a file, a user, a watcher.
    #[error("{0}")]
    NotFound(String),
    /// It is there already.
    #[error("{0}")]
    AlreadyThere(String),
    /// It cannot be done like this.
    #[error("{0}")]
    Invalid(String),
    /// The access token was not accepted, or the user is unknown.
    #[error("{0}")]
    Refused(String),
    /// The disk of the sandbox is full.
    #[error("{0}")]
    DiskFull(String),
    /// The time it was given has passed; what ran was ended.
    #[error("{0}")]
    TimedOut(String),
    /// Something else went wrong inside.
    #[error("{0}")]
    Broken(String),
}

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

#[expect(unused_variables, clippy::todo, reason = "the body comes with the daemon")]
impl Envd {
    /// An envd at the end of these lines. Nothing is opened yet.
    pub fn new(dial: Arc<dyn Dial>, token: Option<SecretString>) -> Self {
        Envd { dial, token }
    }

    /// Closes every idle line: before a sandbox is stored, nobody may hold one.
    pub fn hang_up(&self) {
        todo!()
    }

    /// Whether it answers.
    pub async fn health(&self) -> Result<(), EnvdError> {
        todo!()
    }

    /// Tells it who it is. May be repeated.
    pub async fn init(&self, init: &Init) -> Result<(), EnvdError> {
        todo!()
    }

    /// Starts a command. The first event has been seen when this returns; the stream begins with it again.
    pub async fn start(&self, start: &Start) -> Result<Events, EnvdError> {
        todo!()
    }

    /// Follows a process that runs, from now on.
    pub async fn connect(&self, process: &Selector) -> Result<Events, EnvdError> {
        todo!()
    }

    /// What runs.
    pub async fn processes(&self) -> Result<Vec<Process>, EnvdError> {
        todo!()
    }

    /// Writes to a process: its terminal if it has one, else its standard input.
    pub async fn send_input(&self, process: &Selector, terminal: bool, bytes: Bytes) -> Result<(), EnvdError> {
        todo!()
    }

    /// Says that no more input comes.
    pub async fn close_stdin(&self, process: &Selector) -> Result<(), EnvdError> {
        todo!()
    }

    /// Sends a signal: any number from 1 to 64 (to E2B's envd only 9 and 15 get through).
    pub async fn signal(&self, process: &Selector, signal: u32) -> Result<(), EnvdError> {
        todo!()
    }

    /// Gives a terminal another size.
    pub async fn resize(&self, process: &Selector, size: Size) -> Result<(), EnvdError> {
        todo!()
    }

    /// Looks at one file.
    pub async fn stat(&self, path: &str, user: Option<&str>) -> Result<Entry, EnvdError> {
        todo!()
    }

    /// Lists a folder, so deep.
    pub async fn list(&self, path: &str, depth: u32, user: Option<&str>) -> Result<Vec<Entry>, EnvdError> {
        todo!()
    }

    /// Makes a folder and its parents.
    pub async fn make_dir(&self, path: &str, user: Option<&str>) -> Result<Entry, EnvdError> {
        todo!()
    }

    /// Moves a file or folder.
    pub async fn rename(&self, from: &str, to: &str, user: Option<&str>) -> Result<Entry, EnvdError> {
        todo!()
    }

    /// Removes a file, or a folder with all that is in it. What is not there is removed already.
    pub async fn remove(&self, path: &str, user: Option<&str>) -> Result<(), EnvdError> {
        todo!()
    }

    /// Follows the changes in a folder. Returns when the watch is in place.
    pub async fn watch(&self, path: &str, recursive: bool, user: Option<&str>) -> Result<WatchEvents, EnvdError> {
        todo!()
    }

    /// Reads a file of any size.
    pub async fn download(&self, path: &str, user: Option<&str>) -> Result<Download, EnvdError> {
        todo!()
    }

    /// Writes a file of any size; parents are made.
    pub async fn upload(&self, path: &str, user: Option<&str>, content: Content) -> Result<(), EnvdError> {
        todo!()
    }

    /// Reads a folder as a tar archive.
    pub async fn download_tar(&self, path: &str, user: Option<&str>) -> Result<Download, EnvdError> {
        todo!()
    }

    /// Unpacks a tar archive into a folder, which is made when it is missing.
    pub async fn upload_tar(&self, path: &str, user: Option<&str>, tar: Content) -> Result<(), EnvdError> {
        todo!()
    }

    /// What it uses.
    pub async fn metrics(&self) -> Result<Metrics, EnvdError> {
        todo!()
    }

    /// A raw line to a port that something inside listens on, also when it listens on loopback alone.
    /// `NotFound` when nobody listens there.
    pub async fn port(&self, port: u16) -> Result<Box<dyn Line>, EnvdError> {
        todo!()
    }
}
