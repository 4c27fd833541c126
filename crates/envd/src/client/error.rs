//! Why it did not work.

use std::io;

use http::StatusCode;
use serde::Deserialize;

use crate::wire::{Code, Fault};

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

impl From<Fault> for EnvdError {
    fn from(Fault { code, message }: Fault) -> EnvdError {
        match code {
            Code::NotFound => EnvdError::NotFound(message),
            Code::AlreadyExists => EnvdError::AlreadyThere(message),
            Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange | Code::Unimplemented => {
                EnvdError::Invalid(message)
            }
            Code::Unauthenticated | Code::PermissionDenied => EnvdError::Refused(message),
            Code::DeadlineExceeded => EnvdError::TimedOut(message),
            Code::Unavailable | Code::Canceled => {
                EnvdError::Unreachable(io::Error::new(io::ErrorKind::ConnectionAborted, message))
            }
            Code::ResourceExhausted if message.contains("No space left") || message.contains("quota exceeded") => {
                EnvdError::DiskFull(message)
            }
            Code::ResourceExhausted | Code::Aborted | Code::Unknown | Code::Internal | Code::DataLoss => {
                EnvdError::Broken(message)
            }
        }
    }
}

impl EnvdError {
    /// What a refusal over plain HTTP means. Its body is JSON with a message, and a code that is a word (Connect) or
    /// the status again (everything else).
    pub(super) fn of_answer(status: StatusCode, body: &[u8]) -> EnvdError {
        #[derive(Deserialize)]
        struct Refusal {
            code: Option<serde_json::Value>,
            message: Option<String>,
        }
        let refusal: Option<Refusal> = serde_json::from_slice(body).ok();
        let word = refusal.as_ref().and_then(|refusal| serde_json::from_value::<Code>(refusal.code.clone()?).ok());
        let message = refusal.and_then(|refusal| refusal.message).unwrap_or_else(|| {
            format!("it answered {status}: {}", String::from_utf8_lossy(&body[..body.len().min(200)]))
        });
        match (word, status) {
            (Some(code), _) => Fault::new(code, message).into(),
            (None, StatusCode::INSUFFICIENT_STORAGE) => EnvdError::DiskFull(message),
            (None, status) => Fault::new(Code::of_status(status.as_u16()), message).into(),
        }
    }

    pub(super) fn of_http(error: hyper::Error) -> EnvdError {
        EnvdError::Unreachable(io::Error::new(io::ErrorKind::ConnectionAborted, error))
    }
}
