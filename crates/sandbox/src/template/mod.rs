//! Templates: what sandboxes start from. A list of layers on disk, and how to live on them.
//!
//! Layers are directories, owned by root, named by the digest of what they hold, shared by every sandbox and template
//! that needs them, and never written again. They lie on [`Shelves`]. A template is made by one of `make_host`,
//! `make_debian`, `pull_image`, `import_archive` and `recipe::build`; each gives the template and leaves it to the caller
//! to keep it, so a making that fails or is called off changes nothing that anybody can see.
//!
//! Whoever runs Carrel as a plain user owns the layers: then nothing is given to other owners, and overlayfs finds its
//! marks in `user.overlay.*` instead of `trusted.overlay.*`.

mod account;
mod arriving;
pub(crate) mod beneath;
mod debian;
mod digest;
mod error;
mod host;
mod image;
mod layer;
mod meter;
pub mod recipe;
mod shelves;
mod tree;
mod unpack;

pub use account::USER_ID;
pub use debian::{DEBIAN_PACKAGES, make_debian};
pub use error::TemplateError;
pub use host::make_host;
pub use image::{import_archive, pull_image};
pub use layer::LayerId;
pub use shelves::{Draft, Shelves};
pub use unpack::{Limits, Unpacked, unpack};

use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::PathBuf,
    sync::Arc,
};

use carrel_model::TemplateName;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// A template as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Its name.
    pub name: TemplateName,
    /// The layers, lowest first.
    pub layers: Vec<LayerId>,
    /// How to live on them.
    pub config: Config,
    /// What it was made from, as a sentence.
    pub origin: String,
    /// Bytes of all layers.
    pub bytes: u64,
    /// When it was made.
    pub made_at: Timestamp,
    /// Whether the memory of its processes was kept too (snapshots alone).
    #[serde(default)]
    pub memory: bool,
}

/// How to live on a template's layers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Environment of everything that runs inside.
    pub env: BTreeMap<String, String>,
    /// Who commands run as when they name nobody.
    pub user: Option<String>,
    /// Where commands run when they name no folder.
    pub workdir: Option<String>,
    /// Runs in the background from the start.
    pub start_command: Option<String>,
    /// Says by exit code 0 that the start command is ready.
    pub ready_command: Option<String>,
    /// Folders of the host that are shown inside, read-only, at the same place (the `host` template: `/usr`).
    pub host_folders: Vec<PathBuf>,
    /// Folders of the host that are shown inside, read-only, at another place (the objects that a checkout borrows).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Shown>,
}

/// A folder of the host, and where it is shown inside.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shown {
    /// On the host.
    pub from: PathBuf,
    /// Inside.
    pub at: PathBuf,
}

/// What a template is made from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The host's own programs, read-only.
    Host,
    /// Debian, from its packages.
    Debian {
        /// Such as `bookworm`.
        suite: String,
        /// On top of the smallest system.
        packages: Vec<String>,
    },
    /// An image in a registry.
    Image {
        /// Such as `docker.io/library/debian:12`.
        reference: String,
        /// Who asks, when the registry wants to know.
        login: Option<(String, SecretString)>,
    },
    /// A tarball by `docker save`, or one in the OCI layout.
    Archive {
        /// Where it lies.
        path: PathBuf,
    },
    /// Steps on top of another template.
    Recipe {
        /// The text of the recipe.
        text: String,
        /// The folder that `COPY` copies from.
        context: Option<PathBuf>,
    },
    /// The same, already understood.
    Steps {
        /// The steps, and what they stand on.
        recipe: recipe::Recipe,
        /// Who asks the registry, when they stand on an image and the registry wants to know.
        login: Option<(String, SecretString)>,
        /// Whether what was done before is done again.
        caching: recipe::Caching,
    },
}

/// Goes with the making of a template: hears how far it has come, one line of text each time, and can call it off.
#[derive(Clone)]
pub struct Progress {
    listener: Arc<dyn Fn(&str) + Send + Sync>,
    end: CancellationToken,
}

impl Progress {
    /// Tells every line to a listener, which must not block.
    pub fn new(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Progress { listener: Arc::new(listener), end: CancellationToken::new() }
    }

    /// The same, and the making ends early when this is cancelled: by an error, like any other, with all that it began.
    #[must_use]
    pub fn until(self, end: CancellationToken) -> Self {
        Progress { end, ..self }
    }

    /// Tells nobody.
    pub fn silent() -> Self {
        Progress::new(|_| {})
    }

    /// Says one line.
    pub fn say(&self, line: impl AsRef<str>) {
        (self.listener)(line.as_ref());
    }

    /// An error once the making was called off.
    pub(crate) fn go_on(&self) -> Result<(), TemplateError> {
        if self.end.is_cancelled() { Err(called_off()) } else { Ok(()) }
    }

    /// Returns when the making is called off.
    pub(crate) async fn is_called_off(&self) {
        self.end.cancelled().await;
    }

    /// Does something that may take long, and drops it when the making is called off.
    pub(crate) async fn unless_called_off<T>(
        &self,
        work: impl Future<Output = Result<T, TemplateError>>,
    ) -> Result<T, TemplateError> {
        self.end.run_until_cancelled(work).await.unwrap_or_else(|| Err(called_off()))
    }

    /// Reads from a stream until its end, or until the making is called off.
    pub(crate) fn reading<R: Read>(&self, stream: R) -> Reading<R> {
        Reading { stream, end: self.end.clone() }
    }
}

/// A stream that ends with an error when the making that reads it is called off.
pub(crate) struct Reading<R> {
    stream: R,
    end: CancellationToken,
}

impl<R: Read> Read for Reading<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.end.is_cancelled() {
            return Err(io::Error::other(called_off()));
        }
        self.stream.read(buffer)
    }
}

fn called_off() -> TemplateError {
    TemplateError::unavailable("it was called off: Carrel is closing")
}
