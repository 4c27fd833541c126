//! What a jail is to be, and what came of it.

use std::{os::fd::OwnedFd, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::Living;

/// A jail that is to be made. Paths are the host's unless they say otherwise.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Jail {
    /// The house whose cgroups these are.
    pub house: String,
    /// Names its cgroups.
    pub name: String,
    /// How much it may use.
    pub bounds: crate::Bounds,
    /// The layers of its root, lowest first: read-only, owned by root on disk.
    pub layers: Vec<PathBuf>,
    /// Where its own changes go. Must exist and be empty or a former upper.
    pub upper: PathBuf,
    /// The overlay's own folder, on the same filesystem. Must exist.
    pub work: PathBuf,
    /// Folders of the host that are shown at the same place inside, read-only.
    pub host_folders: Vec<PathBuf>,
    /// Other folders of the host, each with where it is shown inside, read-only.
    #[serde(default)]
    pub shown: Vec<(PathBuf, PathBuf)>,
    /// Folders of the host that are written to, each with where it is inside. Their owners on disk are the users inside.
    #[serde(default)]
    pub volumes: Vec<(PathBuf, PathBuf)>,
    /// A folder that is shown inside, read-only, at `/run/carrel`. It holds the first program.
    pub guest: PathBuf,
    /// Which users of the host the users inside are.
    pub mapping: Mapping,
    /// Its host name.
    pub hostname: String,
    /// The first program, as seen inside, and its arguments. Its standard input is a unix socket that listens.
    pub program: Vec<String>,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// The abstract name of that socket.
    pub socket: String,
    /// Where that socket lies among the host's files instead. For a plain user, who cannot go into the jail's network.
    pub socket_path: Option<PathBuf>,
    /// A port of the loopback inside on which the host listens.
    pub gateway: Option<u16>,
    /// No file inside grows larger.
    pub largest_file: Option<u64>,
}

impl Jail {
    /// Where the first process of a plain user's jail is noted before it begins: beside its socket.
    pub fn first_note(&self) -> Option<PathBuf> {
        self.socket_path.as_deref().map(Living::note_beside)
    }
}

/// Which users of the host the users inside are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mapping {
    /// Users 0 to 65535 inside are these of the host, from this one on. Needs root.
    Range(u32),
    /// Root inside is this user and group, and there is nobody else.
    Alone(u32, u32),
}

impl Mapping {
    /// How many users there are inside a range.
    pub const WIDTH: u32 = 65_536;
}

/// A jail that was made.
#[derive(Debug)]
pub struct Launched {
    /// Its first process.
    pub first: Living,
    /// A descriptor of that process: readable when it has ended.
    pub pidfd: OwnedFd,
    /// Its network namespace.
    pub network: OwnedFd,
    /// The host's listener inside, when one was asked for.
    pub gateway: Option<OwnedFd>,
    /// What could not be applied, each a sentence.
    pub unfit: Vec<String>,
}

/// Why a jail was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{step}: {why}")]
pub struct Mishap {
    /// What was being done, such as `mount the root`.
    pub step: String,
    /// What the kernel said.
    pub why: String,
}

impl Mishap {
    pub(crate) fn at(step: &str) -> impl FnOnce(std::io::Error) -> Mishap {
        move |error| Mishap { step: step.to_owned(), why: error.to_string() }
    }
}
