//! Checkouts: the working tree that a sandbox begins with.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Branch, CommitId, Malformed};

/// The working tree that a sandbox begins with, of the repository that it works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checkout {
    /// The branch that is checked out, and pushed to.
    pub branch: Branch,
    /// The branch that the work is for.
    pub base: Branch,
    /// The commit that it begins at.
    pub commit: CommitId,
    /// Who commits there.
    pub author: Author,
}

/// A name and an address, as they stand in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "Plain", into = "Plain")]
#[schema(as = CommitAuthor)]
pub struct Author {
    name: String,
    email: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Plain {
    name: String,
    email: String,
}

impl Author {
    /// The rule that both follow.
    pub const RULE: &'static str =
        "a name and an address of a commit are 1 to 200 characters on one line without `<`, `>`, quotes or backslashes";

    /// An author that git takes as it is.
    pub fn new(name: &str, email: &str) -> Result<Author, Malformed> {
        let good = |text: &str| {
            (1..=200).contains(&text.len())
                && !text.chars().any(|c| c.is_control() || "<>\"\\".contains(c))
                && text.trim() == text
                && text.chars().any(char::is_alphanumeric)
        };
        if good(name) && good(email) {
            Ok(Author { name: name.to_owned(), email: email.to_owned() })
        } else {
            Err(Malformed { rule: Self::RULE })
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address.
    pub fn email(&self) -> &str {
        &self.email
    }
}

impl TryFrom<Plain> for Author {
    type Error = Malformed;
    fn try_from(plain: Plain) -> Result<Self, Malformed> {
        Author::new(&plain.name, &plain.email)
    }
}

impl From<Author> for Plain {
    fn from(author: Author) -> Plain {
        Plain { name: author.name, email: author.email }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_one_line_that_git_takes() {
        assert!(Author::new("Scout", "scout@example.org").is_ok());
        for name in ["", " ", "a\nb", "a <b>", "\"x", "back\\slash", " led"] {
            assert!(Author::new(name, "scout@example.org").is_err(), "{name:?}");
        }
        assert!(serde_json::from_str::<Author>(r#"{"name": "x\ny", "email": "a@b"}"#).is_err());
    }
}
