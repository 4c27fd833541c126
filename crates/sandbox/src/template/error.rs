//! Why a template could not be made, by what the caller can do.

use std::io;

use crate::ProviderError;

/// Why a template could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// This machine cannot do it as it is; the sentence says what would help.
    #[error("{why}")]
    Unfit {
        /// A sentence.
        why: String,
    },
    /// What it was to be made from is wrong: a recipe, an archive, an image. Asking again gives the same.
    #[error("{why}")]
    Invalid {
        /// A sentence.
        why: String,
    },
    /// Not now: a registry or a mirror did not answer. Try again later.
    #[error("{why}")]
    Unavailable {
        /// A sentence.
        why: String,
    },
    /// A command of a recipe ended badly.
    #[error("step {step} (line {line}): `{command}` ended with exit code {code}")]
    Step {
        /// Which step, counted from 1.
        step: usize,
        /// The line of the recipe where it begins.
        line: usize,
        /// What was run.
        command: String,
        /// How it ended.
        code: i32,
    },
    /// The disk would not.
    #[error("could not {what}")]
    Io {
        /// What was being done, to what.
        what: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl TemplateError {
    pub(crate) fn unfit(why: impl Into<String>) -> Self {
        TemplateError::Unfit { why: tidy(&why.into()) }
    }

    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        TemplateError::Invalid { why: tidy(&why.into()) }
    }

    pub(crate) fn unavailable(why: impl Into<String>) -> Self {
        TemplateError::Unavailable { why: tidy(&why.into()) }
    }
}

impl From<TemplateError> for ProviderError {
    fn from(error: TemplateError) -> Self {
        match error {
            TemplateError::Unfit { why } | TemplateError::Invalid { why } => ProviderError::Unfit { why },
            TemplateError::Unavailable { why } => ProviderError::Unavailable { why },
            step @ TemplateError::Step { .. } => ProviderError::Unfit { why: step.to_string() },
            TemplateError::Io { what, source } => {
                ProviderError::Unavailable { why: format!("could not {what}: {source}") }
            }
        }
    }
}

/// Names the operation and the subject of a failed call.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, TemplateError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, TemplateError> {
        self.map_err(|source| TemplateError::Io { what: what(), source: source.into() })
    }
}

/// Runs what blocks on a thread that may.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TemplateError> + Send + 'static,
) -> Result<T, TemplateError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(gone) => match gone.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(TemplateError::unavailable("Carrel is closing")),
        },
    }
}

/// A sentence for people: what quotes bytes that nobody can read, or a whole file, is cleaned and cut in the middle.
pub(crate) fn tidy(sentence: &str) -> String {
    const LONGEST: usize = 400;
    let letters: Vec<char> = sentence.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if letters.len() <= LONGEST {
        return letters.into_iter().collect();
    }
    let (begin, end) = (&letters[..LONGEST / 2], &letters[letters.len() - LONGEST / 4..]);
    begin.iter().chain(&[' ', '…', ' ']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_stays_one_whatever_it_quotes() {
        assert_eq!(tidy("line 1: `x` is no word"), "line 1: `x` is no word");
        assert_eq!(tidy("`\u{1b}[31m\0`"), "`\u{fffd}[31m\u{fffd}`");
        let long = tidy(&format!("`{}` is not the name of an image", "x".repeat(100_000)));
        assert!(long.chars().count() < 310 && long.ends_with("is not the name of an image"), "{long}");
    }
}
