//! Why a forge could not do it.

use carrel_model::Timestamp;

/// Why a forge could not do it, by what the caller can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// It is not there: ask for something else, or make it.
    #[error("{what} is not there")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// Our credential does not allow it: somebody has to give it more, or give another one.
    #[error("{why}")]
    Denied {
        /// A sentence.
        why: String,
        /// The permissions that are lacking, in the forge's own words, where it names them.
        missing: Vec<String>,
    },
    /// The thing has changed, or is in a state that does not allow it: look again and decide anew.
    #[error("{why}")]
    Conflict {
        /// A sentence.
        why: String,
    },
    /// Too much was asked for: ask again at that time, and not before.
    #[error("the forge asks for patience until {until}")]
    Limited {
        /// When to ask again.
        until: Timestamp,
    },
    /// Not now: try again later. What was asked may have been done all the same; asking again finds it.
    #[error("{why}")]
    Unavailable {
        /// A sentence.
        why: String,
    },
    /// Never like this: what was asked makes no sense to the forge.
    #[error("{why}")]
    Invalid {
        /// A sentence.
        why: String,
    },
}

impl ForgeError {
    pub(crate) fn not_found(what: impl Into<String>) -> ForgeError {
        ForgeError::NotFound { what: what.into() }
    }

    pub(crate) fn conflict(why: impl Into<String>) -> ForgeError {
        ForgeError::Conflict { why: why.into() }
    }

    pub(crate) fn unavailable(why: impl Into<String>) -> ForgeError {
        ForgeError::Unavailable { why: why.into() }
    }

    pub(crate) fn invalid(why: impl Into<String>) -> ForgeError {
        ForgeError::Invalid { why: why.into() }
    }
}
