//! Why a command did not succeed: a sentence, a hint and an exit code that scripts can rely on.

use std::process::ExitCode;

use carrel_model::public::Problem;
use carrel_store::StoreError;

/// The exit codes of INTERFACE.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    NotAllowed = 5,
    Limit = 6,
    TimedOut = 7,
    /// As shells say it.
    NoSuchProgram = 127,
    Interrupted = 130,
}

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    sentence: String,
    hint: Option<String>,
    exit: Exit,
    /// What ran inside ended like this: that is passed on, and nothing is said.
    passed_on: Option<u8>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Failure {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Failure { sentence: sentence.into(), hint: None, exit: Exit::Failed, passed_on: None }
    }

    /// Not a failure of ours: passes the exit code of a command on.
    pub(crate) fn pass_on(code: i32) -> Self {
        let code = u8::try_from(code & 0xff).unwrap_or(1).max(1);
        Failure { passed_on: Some(code), ..Failure::new("") }
    }

    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, and what was not found is the program that was to run.
    pub(crate) fn of_program(self) -> Self {
        if self.exit == Exit::NotFound { self.exit(Exit::NoSuchProgram) } else { self }
    }

    /// The server understood and said no: asking again would only annoy.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.exit, Exit::NotAllowed | Exit::Usage | Exit::NotFound)
    }

    pub(crate) fn report(self) -> ExitCode {
        if let Some(code) = self.passed_on {
            return ExitCode::from(code);
        }
        crate::say::aside(format_args!("carrel: {}", crate::say::printable(&self.sentence)));
        if let Some(hint) = self.hint {
            crate::say::aside(format_args!("  hint: {}", crate::say::printable(&hint)));
        }
        ExitCode::from(self.exit as u8)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let exit = match problem.status {
            400 | 405 | 413 | 415 | 422 => Exit::Usage,
            401 | 403 => Exit::NotAllowed,
            404 => Exit::NotFound,
            409 => Exit::Conflict,
            429 => Exit::Limit,
            _ => Exit::Failed,
        };
        Failure { sentence: problem.detail, hint: problem.hint, exit, passed_on: None }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (hint, exit) = match &error {
            StoreError::Address { .. } => {
                ("set it with --database, or leave it out for SQLite in the data directory", Exit::Usage)
            }
            StoreError::Unreachable { .. } => ("is the server running, and are user and password right?", Exit::Failed),
            StoreError::Missing { .. } => ("create it, or give the right address with --database", Exit::NotFound),
            StoreError::Locked { .. } => ("stop the other program, then start Carrel again", Exit::Conflict),
            StoreError::ReadOnly { .. } => {
                ("give this user the right to write it; nothing was changed", Exit::NotAllowed)
            }
            StoreError::Newer { .. } => {
                ("start the newer Carrel, or restore a backup; nothing was changed", Exit::Conflict)
            }
            StoreError::Foreign { .. } => {
                ("give another place with --data or --database; nothing was changed", Exit::Conflict)
            }
            StoreError::Redis { .. } => {
                ("is it running, and is the password right? Nothing needs it: leave --redis out", Exit::Failed)
            }
            StoreError::Astray => ("put the file back, or restore a backup", Exit::Failed),
            StoreError::Full => ("make room, then start Carrel again; `carrel df` says what takes it", Exit::Failed),
            StoreError::LeaseLost { .. } | StoreError::Corrupt { .. } | StoreError::Busy | StoreError::Failed(_) => {
                ("the log says more", Exit::Failed)
            }
        };
        let mut sentence = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            sentence = format!("{sentence}: {error}");
            cause = error.source();
        }
        Failure::new(sentence).hint(hint).exit(exit)
    }
}

impl From<carrel_control::Error> for Failure {
    fn from(error: carrel_control::Error) -> Self {
        Failure::new(error.to_string())
    }
}
