//! Credentials for forges, out of the house's secrets. They are taken out each time: a new value counts at once.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_forge::{AppKey, ForgeError, Key, Keyring, hooks::Dialect};
use carrel_git::{Credential, GitError, Held, Turn, Upstream};
use carrel_model::{Authority, RepoName, RepoSource, SecretName, git::Locator, repo::Repo};
use futures::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    Control, Error,
    forges::{Place, git_token},
    house::House,
    nearness,
    pulls::Hold,
};

/// The key of one repository at its forge.
pub struct ForgeKeys {
    house: Arc<House>,
    repo: Option<RepoName>,
    dialect: Dialect,
    /// Whether the house's own count where the repository has none.
    wide: bool,
}

impl Control {
    /// The keys that a repository shows to its forge: its own, else the house's.
    pub fn forge_keys(&self, repo: Option<RepoName>, dialect: Dialect) -> ForgeKeys {
        ForgeKeys::new(&self.house, repo, dialect, true)
    }

    /// What a repository and its forge sign webhooks with.
    pub async fn webhook_secret(&self, repo: &RepoName) -> Result<Option<SecretString>, Error> {
        self.house.reveal(Some(repo), &name("webhook-secret")).await
    }
}

impl ForgeKeys {
    pub(crate) fn new(house: &Arc<House>, repo: Option<RepoName>, dialect: Dialect, wide: bool) -> ForgeKeys {
        ForgeKeys { house: Arc::clone(house), repo, dialect, wide }
    }

    /// Whether there is any.
    pub(crate) async fn is_there(&self) -> Result<bool, Error> {
        match self.key().await {
            Ok(_) => Ok(true),
            Err(ForgeError::Denied { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn reveal(&self, secret: &str) -> Result<Option<SecretString>, ForgeError> {
        let found = match &self.repo {
            Some(repo) if !self.wide => self.house.reveal_own(repo, &name(secret)).await,
            repo => self.house.reveal(repo.as_ref(), &name(secret)).await,
        };
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

impl House {
    /// What the mirror of a repository follows, with what opens it as it is now.
    pub(crate) async fn upstream_of(self: &Arc<Self>, repo: &Repo) -> Result<Upstream, Error> {
        let Some(source) = &repo.source else {
            return Err(Error::Conflict { why: format!("the repo `{}` lives here and follows nobody", repo.name) });
        };
        // The name may lead somewhere else than when it was added.
        if let Locator::Http { host, .. } | Locator::Ssh { host, .. } = source.locator() {
            let by = self.store.keys().find(&repo.created_by).await?.map(|key| key.authority);
            nearness::refuse(&by.unwrap_or(Authority::Member), "source", &host).await?;
        }
        let format = repo.rules.branch_format.clone().unwrap_or_default();
        let turn = self.nodes.has_fellows().then(|| fetch_turn(self, repo));
        Ok(Upstream { format, turn, ..Upstream::new(source.clone(), self.credential(repo, source).await?) })
    }

    /// What opens a source. A token is shown to the host alone that it is for.
    async fn credential(self: &Arc<Self>, repo: &Repo, source: &RepoSource) -> Result<Option<Credential>, Error> {
        match source.locator() {
            Locator::Path(_) => Ok(None),
            // Whoever is asked learns nothing from a key of ssh: the house's own may be tried anywhere.
            Locator::Ssh { .. } => {
                Ok(self.reveal(Some(&repo.name), &name("deploy-key")).await?.map(Credential::DeployKey))
            }
            Locator::Http { .. } | Locator::GitHub { .. } => {
                if let Some(token) = self.reveal_own(&repo.name, &name("git-token")).await? {
                    return Ok(Some(Credential::token(token)));
                }
                let place = Place::of(self, repo).await?;
                match git_token(self, repo, place).await {
                    Ok(token) => Ok(token.map(Credential::token)),
                    // No account there: what is public can be had without.
                    Err(Error::Conflict { .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }
}

/// One node at a time fetches into a mirror that all of them share.
fn fetch_turn(house: &Arc<House>, repo: &Repo) -> Turn {
    let (house, name) = (Arc::clone(house), format!("fetch {}", repo.name));
    Turn(Arc::new(move || {
        let (house, name) = (Arc::clone(&house), name.clone());
        Box::pin(async move {
            let hold = Hold::take_named(&house, &name).await;
            hold.map(|hold| Box::new(hold) as Box<dyn Held>).map_err(not_our_turn)
        })
    }))
}

impl Held for Hold {
    fn still_ours(&self) -> BoxFuture<'_, Result<(), GitError>> {
        Box::pin(async { Hold::still_ours(self).await.map_err(not_our_turn) })
    }
}

fn not_our_turn(error: Error) -> GitError {
    GitError::Failed { what: "fetch", why: error.to_string() }
}

/// A key that came through a variable may have its line ends spelled out.
fn in_lines(pem: SecretString) -> SecretString {
    if pem.expose_secret().contains('\n') { pem } else { pem.expose_secret().replace("\\n", "\n").into() }
}

fn name(text: &str) -> SecretName {
    text.parse().expect("a good name")
}
