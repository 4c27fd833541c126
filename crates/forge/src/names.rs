//! The names of things at a forge. A name that exists is well formed, so that none of them can leave its place in a
//! path, a query or a command.

use std::{fmt, str::FromStr};

pub use carrel_model::{Branch as BranchName, CommitId};

use carrel_model::Malformed;
use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $rule:literal, $follows:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The rule that every name of this kind follows.
            pub const RULE: &'static str = $rule;

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Malformed;
            fn try_from(text: String) -> Result<Self, Malformed> {
                let follows: fn(&str) -> bool = $follows;
                if follows(&text) { Ok(Self(text)) } else { Err(Malformed { rule: $rule }) }
            }
        }

        impl FromStr for $name {
            type Err = Malformed;
            fn from_str(text: &str) -> Result<Self, Malformed> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

name!(
    /// Names a repository at a forge: `owner/name`.
    Slug,
    "a repository at a forge is named `owner/name`, of letters, digits, `.`, `_` and `-`",
    |text| text.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
);
name!(
    /// What a comment is known by, so that it is said once however often it is asked for.
    Stamp,
    "a stamp is 1 to 80 lower-case letters, digits, `.`, `_` or single `-`",
    |text| {
        (1..=80).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
            && !text.contains("--")
            && !text.starts_with('-')
            && !text.ends_with('-')
    }
);

impl Slug {
    /// Who owns the repository.
    pub fn owner(&self) -> &str {
        self.0.split_once('/').map_or("", |(owner, _)| owner)
    }

    /// The repository's own name.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }
}

/// Numbers a pull request within its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PullNumber(pub u64);

impl fmt::Display for PullNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn is_part(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && !text.starts_with('-')
        && text != "."
        && text != ".."
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mean_something_else_cannot_be_made() {
        for bad in ["", "a", "a/b/c", "../x", "a/..", "-a/b", "a/b?x", "a/b#", "a/ b", "a%2f/b"] {
            assert!(bad.parse::<Slug>().is_err(), "{bad:?}");
        }
        let slug: Slug = "octo-org/Hello.World".parse().unwrap();
        assert_eq!((slug.owner(), slug.name()), ("octo-org", "Hello.World"));
        assert!("a--b".parse::<Stamp>().is_err() && "-->".parse::<Stamp>().is_err());
    }
}
