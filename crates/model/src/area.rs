//! Areas: files and directories of a repository that a task has claimed for a time, so that others keep away.
//!
//! A claim is a word among colleagues, not a lock: it ends by itself, it is seen on the card, and whoever wants the same
//! place is told who has it. Its token tells it apart from every earlier claim, so that who comes back late gives up
//! nobody else's.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Malformed, ids::name};

name!(
    /// A file or a directory of a repository, from its root: `src/lib.rs`, `docs/`, or `.` for all of it.
    AreaPath,
    "a path is written from the root of the repository, without `..`, a leading `/` or control characters, in at most \
     512 bytes; `.` is all of it",
    |text| {
        let plain = text.strip_suffix('/').unwrap_or(text);
        text == "."
            || (!plain.is_empty()
                && text.len() <= 512
                && !text.chars().any(|letter| letter.is_control() || letter == '\\')
                && plain.split('/').all(|part| !part.is_empty() && part != "." && part != ".."))
    }
);

impl AreaPath {
    /// Whether two of them have something in common: the same, or one within the other.
    pub fn overlaps(&self, other: &AreaPath) -> bool {
        let (one, two) = (self.0.trim_end_matches('/'), other.0.trim_end_matches('/'));
        let within = |inner: &str, outer: &str| {
            outer == "." || inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
        };
        within(one, two) || within(two, one)
    }
}

/// A claim of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Claim {
    /// Tells it apart from every other; larger than that of every earlier claim.
    pub token: i64,
    /// What is claimed.
    pub paths: Vec<AreaPath>,
    /// When it ends by itself.
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
}

impl Claim {
    /// Whether it still counts.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until > now
    }

    /// What it has in common with paths that somebody else wants.
    pub fn overlap(&self, wanted: &[AreaPath]) -> Vec<AreaPath> {
        self.paths.iter().filter(|path| wanted.iter().any(|want| want.overlaps(path))).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AreaPath {
        text.parse().unwrap()
    }

    #[test]
    fn a_directory_holds_what_is_in_it_and_not_its_neighbours() {
        for (one, two, together) in [
            ("src", "src/lib.rs", true),
            ("src/", "src", true),
            ("src/lib.rs", "src/lib.rs", true),
            ("src", "srcs/lib.rs", false),
            ("src/a", "src/b", false),
            (".", "anything/at/all", true),
        ] {
            assert_eq!(path(one).overlaps(&path(two)), together, "{one} {two}");
            assert_eq!(path(two).overlaps(&path(one)), together, "{two} {one}");
        }
        for bad in ["", "/etc", "../x", "a/../b", "a//b", "./a", "a\nb", "a\\b", "/"] {
            assert!(bad.parse::<AreaPath>().is_err(), "{bad:?}");
        }
    }
}
