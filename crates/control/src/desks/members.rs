//! Members: the people among the keys. A member is a key that a person holds; see
//! `docs/decisions/0085-a-member-is-a-key.md`.

use carrel_model::{
    Action, Authority, Grant, KeyId, Role, Subject,
    audit::{AuditLine, Outcome},
    key::Key,
    public::{KeyChange, KeyView},
};
use carrel_store::SignInKind;

use super::keys::{LINK_LASTS, Link, audit, good_name, lock_good_key};
use crate::{
    Error, KeysDesk,
    secret::{hash, new_ticket},
};

impl KeysDesk<'_> {
    /// Gives a key another name or role. It counts from the next request on; the last good admin key stays one.
    pub async fn change(&self, grant: &Grant, id: &KeyId, change: KeyChange) -> Result<KeyView, Error> {
        self.house.admit(grant, Action::KeyChange, Subject::Key(id)).await?;
        let name = change.name.as_deref().map(good_name).transpose()?;
        let (grant, id) = (grant.clone(), id.clone());
        let changed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let admins = tx.lock_admins(Some(&id)).await?;
                let mut key = lock_good_key(tx, &id).await?;
                let authority = match change.role {
                    Some(role) => promoted(&key, role)?,
                    None => key.authority.clone(),
                };
                if authority != Authority::Admin && admins.len() == 1 && admins[0].id == key.id {
                    let why = "this is the last good admin key: make another admin before you change it".into();
                    return Err(Error::Conflict { why });
                }
                let name = name.unwrap_or_else(|| key.name.clone());
                if name == key.name && authority == key.authority {
                    return Ok::<_, Error>(key);
                }
                (key.name, key.authority) = (name, authority);
                tx.change_key(&mut key).await?;
                audit(tx, &grant, Action::KeyChange, &key).await?;
                Ok(key)
            })
        });
        let key = changed.await?;
        self.house.doorman.forget(&key.id);
        Ok(KeyView::from(&key))
    }

    /// Whether a key is still good, for whoever was let in with it before.
    pub async fn stands(&self, id: &KeyId) -> Result<bool, Error> {
        let now = self.house.store.now();
        Ok(self.house.store.keys().find(id).await?.is_some_and(|key| key.is_good_at(now)))
    }

    /// A link that signs one browser in, once, as the holder of another key.
    pub async fn link_for(&self, grant: &Grant, id: &KeyId) -> Result<Link, Error> {
        self.house.admit(grant, Action::KeyChange, Subject::Key(id)).await?;
        let code = new_ticket();
        let expires_at = self.house.store.now() + LINK_LASTS;
        let (ticket, grant, id) = (hash(&code), grant.clone(), id.clone());
        let made = self.house.store.change(move |tx| {
            Box::pin(async move {
                let key = lock_good_key(tx, &id).await?;
                if !matches!(key.authority, Authority::Admin | Authority::Member) {
                    let why = format!("the key {id} belongs to no person: nobody signs in with it");
                    return Err(Error::Conflict { why });
                }
                tx.insert_sign_in(&ticket, &id, SignInKind::Link, expires_at).await?;
                let subject = Some(id.to_string());
                let line = AuditLine::by(&grant, Action::SignInLink.word(), subject, Outcome::Done, tx.now());
                Ok(tx.audit(&line.with_detail(format!("for {}", key.name))).await?)
            })
        });
        made.await?;
        Ok(Link { code, expires_at })
    }
}

/// What a person may do with another role. Keys of agents and sandboxes are bound to them for life.
fn promoted(key: &Key, role: Role) -> Result<Authority, Error> {
    let is_person = matches!(key.authority, Authority::Admin | Authority::Member);
    match role {
        Role::Admin if is_person => Ok(Authority::Admin),
        Role::Member if is_person => Ok(Authority::Member),
        _ if key.authority.role() == role => Ok(key.authority.clone()),
        Role::Admin | Role::Member => {
            let why = format!("the key {} belongs to no person: make a new one", key.id);
            Err(Error::Conflict { why })
        }
        Role::Agent | Role::Sandbox => Err(Error::field("role", "a person is `admin` or `member`")),
    }
}
