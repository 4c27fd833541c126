//! Error codes of the Connect protocol.

use serde::{Deserialize, Serialize};

/// What went wrong, in Connect's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The caller gave up.
    Canceled,
    /// Nobody knows.
    Unknown,
    /// It cannot be asked like this.
    InvalidArgument,
    /// The time it was given has passed.
    DeadlineExceeded,
    /// What was named is not there.
    NotFound,
    /// It is there already.
    AlreadyExists,
    /// This user may not.
    PermissionDenied,
    /// A limit was reached.
    ResourceExhausted,
    /// Not in this state.
    FailedPrecondition,
    /// Something else came between.
    Aborted,
    /// Past the end.
    OutOfRange,
    /// Not offered here.
    Unimplemented,
    /// A mistake inside.
    Internal,
    /// Not now.
    Unavailable,
    /// Something was lost.
    DataLoss,
    /// Nobody we know.
    Unauthenticated,
}

impl Code {
    /// The HTTP status that a unary answer has.
    pub fn status(self) -> u16 {
        match self {
            Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => 400,
            Code::Unauthenticated => 401,
            Code::PermissionDenied => 403,
            Code::NotFound => 404,
            Code::AlreadyExists | Code::Aborted => 409,
            Code::ResourceExhausted => 429,
            Code::Canceled => 499,
            Code::Unimplemented => 501,
            Code::Unavailable => 503,
            Code::DeadlineExceeded => 504,
            Code::Unknown | Code::Internal | Code::DataLoss => 500,
        }
    }

    /// What a status means when the body does not say.
    pub fn of_status(status: u16) -> Code {
        match status {
            400 => Code::InvalidArgument,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::NotFound,
            409 => Code::AlreadyExists,
            429 => Code::ResourceExhausted,
            408 | 499 => Code::Canceled,
            501 => Code::Unimplemented,
            502 | 503 => Code::Unavailable,
            504 => Code::DeadlineExceeded,
            _ => Code::Unknown,
        }
    }
}

/// An error as it travels: a code and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The code.
    pub code: Code,
    /// The sentence.
    #[serde(default)]
    pub message: String,
}

impl Fault {
    /// A fault with its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Fault { code, message: message.into() }
    }
}
