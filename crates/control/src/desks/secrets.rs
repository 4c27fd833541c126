//! The secrets desk: credentials that the house keeps sealed, and takes out only to show them to a forge or an API.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, RepoName, SecretName, Subject,
    audit::{AuditLine, Outcome},
    public::{NewSecret, Page, SecretView},
    secret::{KNOWN, Secret},
};
use carrel_store::SealedValue;
use carrel_vault::{Keychain, Sealed};
use secrecy::SecretString;

use crate::{Error, house::House};

/// Sets, lists and removes secrets. Nobody reads one here.
pub struct SecretsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl SecretsDesk<'_> {
    /// Sets a secret, or gives it a new value, which counts from the next time that anybody needs it.
    pub async fn set(&self, grant: &Grant, new: NewSecret) -> Result<SecretView, Error> {
        let NewSecret { name, repo, value } = new;
        self.house.admit(grant, Action::SecretSet, Subject::Secret(&name)).await?;
        let sealed = seal(&self.house.settings.keychain, repo.as_ref(), &name, &value.into_secret());
        let grant = grant.clone();
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                let secret = tx.put_secret(repo.as_ref(), &name, &sealed, &grant.key).await?;
                tx.audit(&line(&grant, Action::SecretSet, repo.as_ref(), &name, tx.now())).await?;
                Ok::<_, Error>(secret)
            })
        });
        Ok(SecretView::from(&change.await?))
    }

    /// All secrets, by name.
    pub async fn list(&self, grant: &Grant) -> Result<Page<SecretView>, Error> {
        self.house.admit(grant, Action::SecretRead, Subject::House).await?;
        let secrets = self.house.store.secrets().list().await?;
        Ok(Page { items: secrets.iter().map(SecretView::from).collect(), next: None })
    }

    /// Shows that there is one.
    pub async fn get(&self, grant: &Grant, repo: Option<&RepoName>, name: &SecretName) -> Result<SecretView, Error> {
        self.house.admit(grant, Action::SecretRead, Subject::Secret(name)).await?;
        let found = self.house.store.secrets().find(repo, name).await?;
        found.map(|(secret, _)| SecretView::from(&secret)).ok_or_else(|| no_secret(name))
    }

    /// Removes a secret.
    pub async fn remove(&self, grant: &Grant, repo: Option<&RepoName>, name: &SecretName) -> Result<(), Error> {
        self.house.admit(grant, Action::SecretRemove, Subject::Secret(name)).await?;
        let (grant, repo, name) = (grant.clone(), repo.cloned(), name.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                if !tx.remove_secret(repo.as_ref(), &name).await? {
                    return Err(no_secret(&name));
                }
                Ok::<_, Error>(tx.audit(&line(&grant, Action::SecretRemove, repo.as_ref(), &name, tx.now())).await?)
            })
        });
        change.await
    }
}

impl House {
    /// The value of a secret that is a repository's own.
    pub(crate) async fn reveal_own(&self, repo: &RepoName, name: &SecretName) -> Result<Option<SecretString>, Error> {
        match self.store.secrets().find(Some(repo), name).await? {
            Some((_, sealed)) => open(&self.settings.keychain, Some(repo), name, &sealed).map(Some),
            None => Ok(None),
        }
    }

    /// The value of a secret: the repository's own, else the house's, else what a known variable holds.
    pub(crate) async fn reveal(
        &self,
        repo: Option<&RepoName>,
        name: &SecretName,
    ) -> Result<Option<SecretString>, Error> {
        for scope in [repo, None].into_iter().take(if repo.is_some() { 2 } else { 1 }) {
            if let Some((_, sealed)) = self.store.secrets().find(scope, name).await? {
                return open(&self.settings.keychain, scope, name, &sealed).map(Some);
            }
        }
        let variable = KNOWN.iter().find(|(known, _)| *known == name.as_str()).and_then(|(_, variable)| *variable);
        let value = variable.and_then(|variable| std::env::var(variable).ok());
        Ok(value.filter(|value| !value.is_empty()).map(SecretString::from))
    }
}

/// Seals anew what a former master key sealed, so that the former one can go. What does not open is left as it is.
pub(crate) async fn take_up_former_keys(house: &Arc<House>) -> Result<(), Error> {
    let keychain = &house.settings.keychain;
    for (secret, sealed) in house.store.secrets().sealed_otherwise(keychain.current().as_str()).await? {
        let value = match open(keychain, secret.repo.as_ref(), &secret.name, &sealed) {
            Ok(value) => value,
            Err(error) => {
                tracing::warn!(secret = %secret.name, "a secret cannot be opened, set it again: {error}");
                continue;
            }
        };
        let sealed = seal(keychain, secret.repo.as_ref(), &secret.name, &value);
        let change = house
            .store
            .change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.reseal_secret(&secret, &sealed).await?) }));
        change.await?;
    }
    Ok(())
}

pub(super) fn seal(
    keychain: &Keychain,
    repo: Option<&RepoName>,
    name: &SecretName,
    value: &SecretString,
) -> SealedValue {
    let Sealed { print, bytes } = keychain.seal(&Secret::seal_name(repo, name), value);
    SealedValue { sealed_by: print.to_string(), bytes }
}

fn open(
    keychain: &Keychain,
    repo: Option<&RepoName>,
    name: &SecretName,
    sealed: &SealedValue,
) -> Result<SecretString, Error> {
    let sealed = Sealed { print: sealed.sealed_by.clone().into(), bytes: sealed.bytes.clone() };
    keychain.open(&Secret::seal_name(repo, name), &sealed).map_err(|error| Error::Unavailable {
        why: format!("the secret {name} cannot be opened: {error}; bring the master key back, or set the secret again"),
        source: None,
    })
}

fn line(
    grant: &Grant,
    action: Action,
    repo: Option<&RepoName>,
    name: &SecretName,
    now: carrel_model::Timestamp,
) -> AuditLine {
    let line = AuditLine::by(grant, action.word(), Some(name.to_string()), Outcome::Done, now);
    match repo {
        Some(repo) => line.with_detail(format!("for the repo {repo}")),
        None => line,
    }
}

fn no_secret(name: &SecretName) -> Error {
    Error::NotFound { what: format!("secret {name}") }
}
