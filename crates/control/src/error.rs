//! What a desk can answer instead of doing what was asked.

use carrel_model::{Denied, public::FieldProblem, sandbox::OutOfOrder};
use carrel_sandbox::ProviderError;
use carrel_store::StoreError;
use jiff::SignedDuration;

/// A quota that is used up is worth another look after so many seconds.
const QUOTA_RESTS: i64 = 60;

/// What there can be too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooMuch {
    /// Questions: it passes by itself.
    Haste,
    /// What one may have: somebody has to give something up, or to raise the number.
    Quota,
}

/// Why a desk did not do it. Few kinds: each door translates them in one `match`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such thing.
    #[error("there is no {what}")]
    NotFound {
        /// A noun and its name.
        what: String,
    },
    /// The name of this request is that of another one.
    #[error("the Idempotency-Key `{key}` was used for another request")]
    AskedOtherwise {
        /// The name.
        key: String,
    },
    /// It is not in a state for that.
    #[error("{why}")]
    Conflict {
        /// A sentence.
        why: String,
    },
    /// Others are still at what it is about.
    #[error("{why}")]
    TooSoon {
        /// A sentence.
        why: String,
        /// What to do meanwhile, or instead.
        hint: String,
    },
    /// The request asks for what cannot be.
    #[error("{}", sentence(.fields))]
    Invalid {
        /// What is wrong, field by field.
        fields: Vec<FieldProblem>,
    },
    /// The grant does not cover it.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The rules of a desk do not let it by.
    #[error("{why}")]
    Refused {
        /// A sentence.
        why: String,
        /// What would allow it.
        hint: String,
    },
    /// Too much at once.
    #[error("{why}")]
    Limited {
        /// A sentence.
        why: String,
        /// When to come back.
        retry_after: SignedDuration,
        /// What there is too much of.
        of: TooMuch,
    },
    /// What may be spent is spent.
    #[error("{why}")]
    Spent {
        /// A sentence that says how to raise it.
        why: String,
    },
    /// Not now.
    #[error("{why}")]
    Unavailable {
        /// A sentence.
        why: String,
        /// What is behind it.
        #[source]
        source: Option<StoreError>,
    },
    /// Something inside a sandbox did not work.
    #[error("{why}")]
    Inside {
        /// A sentence.
        why: String,
    },
    /// A fault of ours.
    #[error("something in the house is broken")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// One field that is wrong.
    pub fn field(field: &str, detail: impl Into<String>) -> Error {
        Error::Invalid { fields: vec![FieldProblem { field: field.into(), detail: detail.into() }] }
    }

    /// What a provider's refusal means to whoever asked a desk, with a sentence that names what was asked.
    pub(crate) fn of_provider(error: &ProviderError, why: String) -> Error {
        match error {
            ProviderError::Unavailable { .. } => Error::Unavailable { why, source: None },
            ProviderError::Throttled { after, .. } => {
                let after = after.and_then(|after| SignedDuration::try_from(after).ok());
                let retry_after = after.unwrap_or(SignedDuration::from_secs(1));
                Error::Limited { why, retry_after, of: TooMuch::Haste }
            }
            ProviderError::Exhausted { .. } => {
                Error::Limited { why, retry_after: SignedDuration::from_secs(QUOTA_RESTS), of: TooMuch::Quota }
            }
            ProviderError::Unfit { .. } | ProviderError::Lost => Error::Conflict { why },
        }
    }

    /// There is no sandbox with this id.
    pub(crate) fn no_sandbox(id: &carrel_model::SandboxId) -> Error {
        Error::NotFound { what: format!("sandbox {id}") }
    }
}

fn sentence(fields: &[FieldProblem]) -> String {
    let complaints: Vec<_> = fields.iter().map(|problem| format!("{}: {}", problem.field, problem.detail)).collect();
    complaints.join("; ")
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        if error.is_passing() {
            let why = match error {
                StoreError::Full => "the disk of the database is full; somebody has to make room on it",
                StoreError::Astray => {
                    "the file of the database was removed or replaced; put it back, or stop the server and restore a backup"
                }
                _ => "the database does not answer at the moment",
            };
            return Error::Unavailable { why: why.into(), source: Some(error) };
        }
        Error::Internal(Box::new(error))
    }
}

impl From<OutOfOrder> for Error {
    fn from(error: OutOfOrder) -> Self {
        Error::Internal(Box::new(error))
    }
}
