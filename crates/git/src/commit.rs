//! Commits that the house makes itself: by whom, signed or not.

use std::path::Path;

use carrel_model::{CommitId, Malformed, sandbox::Author};
use secrecy::{ExposeSecret, SecretString};

use crate::{Git, GitError, Mirror, Secret};

/// A name and an address, as they stand in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    name: String,
    email: String,
}

impl Identity {
    /// The rule that both follow.
    pub const RULE: &'static str = Author::RULE;

    /// An identity that git takes as it is.
    pub fn new(name: &str, email: &str) -> Result<Identity, Malformed> {
        Author::new(name, email).map(|author| Identity::from(&author))
    }

    /// The house itself.
    pub fn house() -> Identity {
        Identity { name: "Carrel".into(), email: "carrel@localhost".into() }
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

impl From<&Author> for Identity {
    fn from(author: &Author) -> Identity {
        Identity { name: author.name().to_owned(), email: author.email().to_owned() }
    }
}

/// What signs commits.
#[derive(Debug, Clone)]
pub enum Signer {
    /// A private key of ssh.
    Ssh(SecretString),
    /// A key of GPG, by its id, in a keyring of the server.
    Gpg {
        /// Which key.
        key: String,
        /// The folder of the keyring.
        home: std::path::PathBuf,
    },
}

/// A commit that is to be made.
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// Its tree.
    pub tree: &'a CommitId,
    /// What it follows.
    pub parents: &'a [CommitId],
    /// Its message.
    pub message: &'a str,
    /// Who wrote it.
    pub author: &'a Identity,
    /// When, as git writes it (`1700000000 +0100`); now when absent.
    pub date: Option<&'a str>,
    /// Who made it of that.
    pub committer: &'a Identity,
    /// What signs it.
    pub signer: Option<&'a Signer>,
}

impl Mirror {
    /// Makes a commit. No ref moves.
    pub async fn commit(&self, draft: &Draft<'_>) -> Result<CommitId, GitError> {
        draft.make(self.git(), &self.path()).await
    }
}

impl Draft<'_> {
    /// Makes the commit. No ref moves.
    pub(crate) async fn make(&self, git: &Git, repository: &Path) -> Result<CommitId, GitError> {
        let mut call = git
            .at(repository, "commit-tree")
            .env("GIT_AUTHOR_NAME", &self.author.name)
            .env("GIT_AUTHOR_EMAIL", &self.author.email)
            .env("GIT_COMMITTER_NAME", &self.committer.name)
            .env("GIT_COMMITTER_EMAIL", &self.committer.email)
            .config("core.fsync", "committed,loose-object");
        if let Some(date) = self.date {
            call.set_env("GIT_AUTHOR_DATE", date);
        }
        let mut secret = None;
        match self.signer {
            None => {}
            Some(Signer::Ssh(key)) => {
                let mut text = key.expose_secret().trim_end().to_owned();
                text.push('\n');
                let kept = Secret::keep(&text).map_err(GitError::io("keep a key in memory"))?;
                call = call.config("gpg.format", "ssh").config("user.signingKey", kept.path()).arg("-S");
                secret = Some(kept);
            }
            Some(Signer::Gpg { key, home }) => {
                if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(GitError::unfit("a GPG key is named by its hexadecimal id"));
                }
                call = call.env("GNUPGHOME", home).config("user.signingKey", key).arg("-S");
            }
        }
        let parents = self.parents.iter().fold(call.arg(self.tree), |call, parent| call.arg("-p").arg(parent));
        let made = parents.input(self.message).id().await;
        drop(secret);
        made
    }
}
