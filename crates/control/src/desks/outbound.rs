//! The desk of secrets for requests on their way out: set by people, put into headers by the gateways of sandboxes.
//!
//! They are none of the house's own secrets: whoever may make a sandbox may have them sent to any host.

use std::{collections::BTreeMap, sync::Arc};

use carrel_model::{
    Action, Grant, SandboxId, Subject,
    audit::{AuditLine, Outcome},
    public::SecretText,
    volume::OutboundSecret,
};
use carrel_store::{SealedValue, Tx};
use carrel_vault::Sealed;
use secrecy::SecretString;

use crate::{Error, house::House, secret::new_uuid};

/// Sets, lists and removes them. Nobody reads one here.
pub struct OutboundDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl OutboundDesk<'_> {
    /// Tells whoever works at a desk of a host that it was not let through to.
    pub async fn turned_back(
        &self,
        sandbox: &SandboxId,
        host: &str,
        port: Option<u16>,
        why: &str,
    ) -> Result<(), Error> {
        self.house.tell_unreached(sandbox, host, port, why).await
    }

    /// Sets a new one.
    pub async fn create(
        &self,
        grant: &Grant,
        name: String,
        value: SecretText,
        metadata: BTreeMap<String, String>,
    ) -> Result<OutboundSecret, Error> {
        self.house.admit(grant, Action::SecretSet, Subject::House).await?;
        check(&name, &metadata)?;
        let now = self.house.store.now();
        let secret = OutboundSecret { id: new_uuid(), name, metadata, version: 1, created_at: now, updated_at: now };
        let sealed = seal(self.house, &secret.id, &value.into_secret());
        let (written, grant) = (secret.clone(), grant.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                if !tx.insert_outbound(&written, &sealed, &grant.key).await? {
                    return Err(Error::Conflict { why: format!("there is a secret `{}` already", written.name) });
                }
                audit(tx, &grant, Action::SecretSet, &written.name).await
            })
        });
        change.await?;
        Ok(secret)
    }

    /// Gives one a new value, which counts from the next request on.
    pub async fn update(
        &self,
        grant: &Grant,
        key: &str,
        value: SecretText,
        metadata: Option<BTreeMap<String, String>>,
    ) -> Result<OutboundSecret, Error> {
        self.house.admit(grant, Action::SecretSet, Subject::House).await?;
        let mut secret = self.find(key).await?;
        secret.metadata = metadata.unwrap_or(secret.metadata);
        check(&secret.name, &secret.metadata)?;
        let sealed = seal(self.house, &secret.id, &value.into_secret());
        let grant = grant.clone();
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                let updated = tx.update_outbound(&secret, &sealed, &grant.key).await?;
                audit(tx, &grant, Action::SecretSet, &secret.name).await?;
                updated.ok_or_else(|| no_secret(&secret.name))
            })
        });
        change.await
    }

    /// Shows that there is one.
    pub async fn get(&self, grant: &Grant, key: &str) -> Result<OutboundSecret, Error> {
        self.house.admit(grant, Action::SecretRead, Subject::House).await?;
        self.find(key).await
    }

    /// A page of them by name, after this one.
    pub async fn list(&self, grant: &Grant, after: &str, most: u32) -> Result<Vec<OutboundSecret>, Error> {
        self.house.admit(grant, Action::SecretRead, Subject::House).await?;
        Ok(self.house.store.outbound_secrets().list(after, most).await?)
    }

    /// Removes one.
    pub async fn remove(&self, grant: &Grant, key: &str) -> Result<(), Error> {
        self.house.admit(grant, Action::SecretRemove, Subject::House).await?;
        let (secret, grant) = (self.find(key).await?, grant.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                if !tx.remove_outbound(&secret.id).await? {
                    return Err(no_secret(&secret.name));
                }
                audit(tx, &grant, Action::SecretRemove, &secret.name).await
            })
        });
        change.await
    }

    /// The value of one, for the gateway of a sandbox that puts it into a header.
    pub async fn reveal(&self, name: &str) -> Result<Option<SecretString>, Error> {
        let found = self.house.store.outbound_secrets().find(name).await?;
        found.map(|(secret, sealed)| open(self.house, &secret.id, &sealed)).transpose()
    }

    async fn find(&self, key: &str) -> Result<OutboundSecret, Error> {
        let found = self.house.store.outbound_secrets().find(key).await?;
        found.map(|(secret, _)| secret).ok_or_else(|| no_secret(key))
    }
}

/// Seals anew what a former master key sealed.
pub(crate) async fn take_up_former_keys(house: &Arc<House>) -> Result<(), Error> {
    let print = house.settings.keychain.current();
    for (secret, sealed) in house.store.outbound_secrets().sealed_otherwise(print.as_str()).await? {
        let Ok(value) = open(house, &secret.id, &sealed) else { continue };
        let sealed = seal(house, &secret.id, &value);
        let change = house
            .store
            .change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.reseal_outbound(&secret, &sealed).await?) }));
        change.await?;
    }
    Ok(())
}

fn check(name: &str, metadata: &BTreeMap<String, String>) -> Result<(), Error> {
    let odd = |c: char| c.is_control() || c == '{' || c == '}';
    if name.is_empty() || name.len() > 128 || name.contains(odd) {
        return Err(Error::field(
            "name",
            "the name of a secret is 1 to 128 bytes without `{`, `}` and control characters",
        ));
    }
    let modest = |(key, value): (&String, &String)| (1..=128).contains(&key.len()) && value.len() <= 4096;
    if metadata.len() > 64 || !metadata.iter().all(modest) {
        return Err(Error::field(
            "metadata",
            "at most 64 entries, keys of 1 to 128 bytes, values of at most 4096 bytes",
        ));
    }
    Ok(())
}

fn seal(house: &House, id: &str, value: &SecretString) -> SealedValue {
    let Sealed { print, bytes } = house.settings.keychain.seal(&format!("outbound/{id}"), value);
    SealedValue { sealed_by: print.to_string(), bytes }
}

fn open(house: &House, id: &str, sealed: &SealedValue) -> Result<SecretString, Error> {
    let sealed = Sealed { print: sealed.sealed_by.clone().into(), bytes: sealed.bytes.clone() };
    house.settings.keychain.open(&format!("outbound/{id}"), &sealed).map_err(|error| Error::Unavailable {
        why: format!("the secret cannot be opened: {error}; bring the master key back, or set the secret again"),
        source: None,
    })
}

fn no_secret(key: &str) -> Error {
    let shown: String = key.chars().take(128).collect();
    Error::NotFound { what: format!("secret {shown}") }
}

async fn audit(tx: &mut Tx, grant: &Grant, action: Action, name: &str) -> Result<(), Error> {
    let line = AuditLine::by(grant, action.word(), Some(name.to_owned()), Outcome::Done, tx.now());
    Ok(tx.audit(&line).await?)
}
