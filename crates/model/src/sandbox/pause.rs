//! How deep a sandbox sleeps.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How deep a paused sandbox sleeps. Each depth frees more than the one before and takes longer to come back from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Its processes stand still; memory is kept where it is. Comes back in a moment, not after a reboot.
    #[default]
    Frozen,
    /// As frozen, with its memory moved to swap as far as there is any.
    PagedOut,
    /// Files and memory are on disk; its processes go on where they were, also after a reboot.
    Stored,
    /// Only its files are kept; its processes are gone.
    Files,
}

/// How a paused sandbox sleeps: what was asked of its provider, and what that came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep {
    /// How deep it was asked to go.
    pub asked: Depth,
    /// How deep it went.
    pub reached: Depth,
}

/// How a sandbox behaves while nobody looks: what is decided in the house, and no business of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manners {
    /// Whether it comes back by itself when somebody wants something inside.
    pub auto_resume: bool,
    /// It is paused when nothing was active for so long.
    pub idle: Option<super::Lifetime>,
}

impl Depth {
    /// Whether it is what is asked for when nobody says otherwise.
    pub fn is_usual(&self) -> bool {
        *self == Depth::default()
    }

    /// All of them, from the lightest sleep to the deepest.
    pub const ALL: [Depth; 4] = [Depth::Frozen, Depth::PagedOut, Depth::Stored, Depth::Files];

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Depth::Frozen => "frozen",
            Depth::PagedOut => "paged_out",
            Depth::Stored => "stored",
            Depth::Files => "files",
        }
    }

    /// The depth that a word names.
    pub fn from_word(word: &str) -> Option<Depth> {
        Depth::ALL.into_iter().find(|depth| depth.word() == word)
    }
}
