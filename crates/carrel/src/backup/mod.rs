//! A house in one file, and back: `carrel backup` beside a running server, `carrel restore` into an empty place.
//!
//! ```text
//! carrel.db              the database, as it was at one moment; not with PostgreSQL
//! node, admin.key        who this house is
//! carrel.toml            its configuration, when it has one
//! master.key             only when asked for: it opens every secret
//! mirrors/NAME.bundle    a repository: every branch, every save, everything that was kept
//! manifest.json          the last entry: what there must be, with digests
//! ```
//!
//! Sandboxes are not in it. Their work is: it is saved in the mirrors, and tasks go on from there at new desks.

mod make;
mod restore;

pub(crate) use make::{BackupArgs, backup};
pub(crate) use restore::{RestoreArgs, restore};

use std::{
    collections::BTreeMap,
    io::{Read, Write},
};

use carrel_git::Refs;
use carrel_model::{Branch, RepoName};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The shape of the archive. Another number is refused.
const FORMAT: u32 = 1;
const DATABASE: &str = "carrel.db";
const MASTER_KEY: &str = "master.key";
const MANIFEST: &str = "manifest.json";
/// Small files of the data directory that are kept as they are.
const PLAIN: [&str; 3] = ["node", "admin.key", "carrel.toml"];

/// What an archive holds.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    carrel: String,
    made_at: jiff::Timestamp,
    /// The newest migration of the database; nothing when the database is elsewhere.
    schema: Option<i64>,
    files: BTreeMap<String, Kept>,
    repos: BTreeMap<RepoName, Repository>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    size: u64,
    sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Repository {
    head: Option<Branch>,
    refs: Refs,
}

fn bundle_name(repo: &RepoName) -> String {
    format!("mirrors/{repo}.bundle")
}

/// Passes bytes on and remembers what they were.
struct Weighed<T> {
    inner: T,
    digest: Sha256,
    size: u64,
}

impl<T> Weighed<T> {
    fn new(inner: T) -> Self {
        Weighed { inner, digest: Sha256::new(), size: 0 }
    }

    fn kept(self) -> Kept {
        Kept { size: self.size, sha256: hex::encode(self.digest.finalize()) }
    }

    fn count(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.size += bytes.len() as u64;
    }
}

impl<T: Read> Read for Weighed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count(&buffer[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for Weighed<T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
