//! Credentials for forges, out of the house's secrets. They are taken out each time: a new value counts at once.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_forge::{AppKey, ForgeError, Key, Keyring, hooks::Dialect};
use carrel_model::{RepoName, SecretName};
use secrecy::{ExposeSecret, SecretString};

use crate::{Control, Error, house::House};

/// The key of one repository at its forge.
pub struct ForgeKeys {
    house: Arc<House>,
    repo: Option<RepoName>,
    dialect: Dialect,
}

impl Control {
    /// The keys that a repository shows to its forge: its own, else the house's.
    pub fn forge_keys(&self, repo: Option<RepoName>, dialect: Dialect) -> ForgeKeys {
        ForgeKeys { house: Arc::clone(&self.house), repo, dialect }
    }

    /// What a repository and its forge sign webhooks with.
    pub async fn webhook_secret(&self, repo: &RepoName) -> Result<Option<SecretString>, Error> {
        self.house.reveal(Some(repo), &name("webhook-secret")).await
    }
}

impl ForgeKeys {
    async fn reveal(&self, secret: &str) -> Result<Option<SecretString>, ForgeError> {
        let found = self.house.reveal(self.repo.as_ref(), &name(secret)).await;
        found.map_err(|error| ForgeError::Unavailable { why: error.to_string() })
    }

    fn lacks(&self, how: &str) -> ForgeError {
        let whose = self.repo.as_ref().map(|repo| format!(" for the repo {repo}")).unwrap_or_default();
        ForgeError::Denied { why: format!("there is no credential{whose}; {how}"), missing: vec![] }
    }
}

#[async_trait]
impl Keyring for ForgeKeys {
    /// An app before a token, because its tokens are short-lived and its rights are its own.
    async fn key(&self) -> Result<Key, ForgeError> {
        match self.dialect {
            Dialect::Gitea => match self.reveal("gitea-token").await? {
                Some(token) => Ok(Key::Token(token)),
                None => Err(self.lacks("set one with `carrel secret set gitea-token`")),
            },
            Dialect::GitHub => {
                if let (Some(id), Some(pem)) =
                    (self.reveal("github-app-id").await?, self.reveal("github-app-key").await?)
                {
                    return Ok(Key::App(AppKey { id: id.expose_secret().trim().to_owned(), pem: in_lines(pem) }));
                }
                match self.reveal("github-token").await? {
                    Some(token) => Ok(Key::Token(token)),
                    None => Err(self.lacks("set one with `carrel secret set github-token`")),
                }
            }
        }
    }
}

/// A key that came through a variable may have its line ends spelled out.
fn in_lines(pem: SecretString) -> SecretString {
    if pem.expose_secret().contains('\n') { pem } else { pem.expose_secret().replace("\\n", "\n").into() }
}

fn name(text: &str) -> SecretName {
    text.parse().expect("a good name")
}
