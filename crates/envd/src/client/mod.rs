//! The client: everything the host asks of an envd, over whatever line leads to it.

mod ask;
mod error;
mod files;
mod filesystem;
mod host;
mod line;
mod process;
mod tar;
mod words;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use http::{HeaderMap, HeaderValue};
use secrecy::SecretString;

pub use error::EnvdError;
pub use line::{Dial, Line};
pub use words::{
    Content, Download, Ended, Entry, EntryKind, Event, Events, Init, Metrics, Process, Selector, Size, Start,
    WatchEvent, WatchEvents, WatchKind,
};

use line::Lines;

use crate::wire::Codec;

/// One envd, reached by its lines. Clones share what they have open.
#[derive(Clone)]
pub struct Envd {
    lines: Arc<Lines>,
    token: Option<SecretString>,
    /// What every request carries, for lines that lead past others: `Host`, `E2b-Sandbox-Id` and the like.
    headers: HeaderMap,
    /// Whether it is one of ours, which is known once it has answered.
    is_ours: Arc<AtomicBool>,
    /// Whether it packs folders itself, which is known once somebody wanted it to.
    packs: Arc<OnceLock<bool>>,
}

impl Envd {
    /// An envd at the end of these lines. Nothing is opened yet.
    pub fn new(dial: Arc<dyn Dial>, token: Option<SecretString>) -> Self {
        let mut headers = dial.headers();
        headers.entry(http::header::HOST).or_insert(HeaderValue::from_static("envd"));
        Envd { lines: Lines::new(dial), token, headers, is_ours: Arc::default(), packs: Arc::default() }
    }

    /// A line of its own, for whoever passes on what others say to it.
    pub async fn line(&self) -> Result<Box<dyn Line>, EnvdError> {
        match self.lines.dial_port(crate::wire::PORT).await {
            Some(line) => line,
            None => self.lines.dial().await,
        }
    }

    /// Closes every idle line: before a sandbox is stored, nobody may hold one.
    pub fn hang_up(&self) {
        self.lines.hang_up();
    }

    /// Ours reads the shorter codec; everybody reads JSON.
    fn codec(&self) -> Codec {
        if self.is_ours.load(Ordering::Relaxed) { Codec::Proto } else { Codec::Json }
    }
}
