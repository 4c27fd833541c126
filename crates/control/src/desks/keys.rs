//! The keys desk: who may come in. And the doorman, who remembers the faces of the last minutes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use carrel_model::{
    Action, Authority, Grant, KeyId, Subject, Timestamp,
    audit::{AuditLine, Outcome},
    key::{Key, KeySecret},
    public::{Cursor, Happening, KeyView, Minted, NewKey, Page},
};
use carrel_store::{Journal, SignInKind, Store, Tx};
use jiff::SignedDuration;

use super::see_request;
use crate::{
    Error, Idempotency, Paging,
    house::House,
    secret::{hash, hash_key, new_key_id, new_key_secret, new_ticket},
};

/// How long a sign-in link can be used.
pub(super) const LINK_LASTS: SignedDuration = SignedDuration::from_hours(1);
/// How long a browser stays signed in.
const VISIT_LASTS: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Mints, rotates and revokes keys; signs browsers in.
pub struct KeysDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// A link that signs one browser in, once.
pub struct Link {
    /// The secret of the link.
    pub code: String,
    /// When it is void.
    pub expires_at: Timestamp,
}

/// A browser that was signed in.
pub struct Visit {
    /// The secret of its cookie.
    pub cookie: String,
    /// How long it lasts.
    pub lasts: SignedDuration,
    /// What it may do.
    pub grant: Grant,
}

impl KeysDesk<'_> {
    /// The grant of whoever shows this key, if it is good.
    pub async fn recognise(&self, secret: &KeySecret, origin: Option<String>) -> Result<Option<Grant>, Error> {
        let face = hash_key(secret);
        let store = &self.house.store;
        let key =
            self.house.doorman.recognise(store, face.clone(), async || store.keys().find_by_hash(&face).await).await?;
        Ok(key.map(|key| grant_of(&key, origin)))
    }

    /// The grant of the browser that shows this cookie, if it is signed in.
    pub async fn recognise_visit(&self, cookie: &str, origin: Option<String>) -> Result<Option<Grant>, Error> {
        let face = hash(cookie);
        let store = &self.house.store;
        let find = async || store.keys().find_by_visit(&face).await;
        let key = self.house.doorman.recognise(store, format!("visit {face}"), find).await?;
        Ok(key.map(|key| grant_of(&key, origin)))
    }

    /// Makes sure that a secret kept outside (in `admin.key`) opens the house. A key that was revoked stays
    /// revoked, and a secret that was rotated away does not come back.
    pub async fn adopt_admin(&self, secret: &KeySecret, name: &str) -> Result<Option<Grant>, Error> {
        let face = hash_key(secret);
        if let Some(key) = self.house.store.keys().find_by_hash(&face).await? {
            return Ok(key.is_good_at(self.house.store.now()).then(|| grant_of(&key, None)));
        }
        if self.house.store.keys().is_spent(&face).await? {
            return Ok(None);
        }
        let key = new_key(name.to_owned(), Authority::Admin, secret, None, None, self.house.store.now());
        let adopted = grant_of(&key, None);
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                tx.insert_key(&key, &face).await?;
                let line = AuditLine {
                    at: tx.now(),
                    key: None,
                    name: "carrel".into(),
                    role: None,
                    action: Action::KeyCreate.word().into(),
                    subject: Some(key.id.to_string()),
                    origin: None,
                    outcome: Outcome::Done,
                    detail: Some("The admin key of this data directory.".into()),
                };
                Ok::<_, Error>(tx.audit(&line).await?)
            })
        });
        change.await?;
        Ok(Some(adopted))
    }

    /// A new secret for an admin key, not yet known to the house.
    pub fn draw_secret() -> KeySecret {
        new_key_secret()
    }

    /// Mints a key. Its secret is in the answer and nowhere else.
    pub async fn create(&self, grant: &Grant, new: NewKey, idempotency: Option<Idempotency>) -> Result<Minted, Error> {
        self.house.admit(grant, Action::KeyCreate, Subject::House).await?;
        let name = good_name(&new.name)?;
        let authority = Authority::from_parts(new.role, new.agent_id, new.sandbox_id);
        let authority = authority.map_err(|detail| Error::field("role", detail))?;
        let now = self.house.store.now();
        let expires_at = new.expires_in_s.map(|lasts| now + SignedDuration::from_secs(lasts.get() as i64));
        let secret = new_key_secret();
        let key = new_key(name, authority, &secret, Some(grant.key.clone()), expires_at, now);
        let (grant, hash) = (grant.clone(), hash_key(&secret));
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                // A key that was revoked a moment ago mints no other.
                lock_good_key(tx, &grant.key).await?;
                if let Some(earlier) = see_request(tx, &grant, idempotency, key.id.as_str()).await? {
                    return Ok::<_, Error>(Err(earlier));
                }
                tx.insert_key(&key, &hash).await?;
                audit(tx, &grant, Action::KeyCreate, &key).await?;
                Ok(Ok(key))
            })
        });
        match change.await? {
            Ok(key) => Ok(Minted { key: KeyView::from(&key), secret: Some(secret.reveal()) }),
            Err(earlier) => {
                let id = earlier.parse().map_err(|_| no_key(&earlier))?;
                let key = self.house.store.keys().find(&id).await?.ok_or_else(|| no_key(&earlier))?;
                Ok(Minted { key: KeyView::from(&key), secret: None })
            }
        }
    }

    /// A page of keys, newest first.
    pub async fn list(&self, grant: &Grant, paging: Paging) -> Result<Page<KeyView>, Error> {
        self.house.admit(grant, Action::KeyRead, Subject::House).await?;
        let limit = paging.limit();
        let mut keys = self.house.store.keys().list(paging.after()?, limit + 1).await?;
        let next = Paging::cut(&mut keys, limit, |key| Paging::place(key.created_at, key.id.as_str()));
        Ok(Page { items: keys.iter().map(KeyView::from).collect(), next })
    }

    /// Shows a key.
    pub async fn get(&self, grant: &Grant, id: &KeyId) -> Result<KeyView, Error> {
        self.house.admit(grant, Action::KeyRead, Subject::Key(id)).await?;
        let key = self.house.store.keys().find(id).await?.ok_or_else(|| no_key(id.as_str()))?;
        Ok(KeyView::from(&key))
    }

    /// Gives a key a new secret. The old one is void at once, and with it every browser that it signed in.
    pub async fn rotate(&self, grant: &Grant, id: &KeyId) -> Result<Minted, Error> {
        self.house.admit(grant, Action::KeyRotate, Subject::Key(id)).await?;
        let secret = new_key_secret();
        let (hash, prefix) = (hash_key(&secret), secret.prefix());
        let (grant, id) = (grant.clone(), id.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut key = lock_good_key(tx, &id).await?;
                key.prefix = prefix;
                tx.rotate_key(&mut key, &hash).await?;
                audit(tx, &grant, Action::KeyRotate, &key).await?;
                Ok::<_, Error>(key)
            })
        });
        let key = change.await?;
        self.house.doorman.forget(&key.id);
        Ok(Minted { key: KeyView::from(&key), secret: Some(secret.reveal()) })
    }

    /// Ends a key at once. Asking again changes nothing; the last good admin key stays.
    pub async fn revoke(&self, grant: &Grant, id: &KeyId) -> Result<KeyView, Error> {
        self.house.admit(grant, Action::KeyRevoke, Subject::Key(id)).await?;
        let (grant, id) = (grant.clone(), id.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                let admins = tx.lock_admins(Some(&id)).await?;
                let mut key = tx.lock_key(&id).await?.ok_or_else(|| no_key(id.as_str()))?;
                if key.revoked_at.is_some() {
                    return Ok::<_, Error>(key);
                }
                if admins.len() == 1 && admins[0].id == key.id {
                    let why = "this is the last good admin key: create another before you revoke it".into();
                    return Err(Error::Conflict { why });
                }
                tx.revoke_key(&mut key).await?;
                audit(tx, &grant, Action::KeyRevoke, &key).await?;
                Ok(key)
            })
        });
        let key = change.await?;
        self.house.doorman.forget(&key.id);
        Ok(KeyView::from(&key))
    }

    /// A link that signs one browser in, once, as the bearer of the grant.
    pub async fn link(&self, grant: &Grant) -> Result<Link, Error> {
        self.house.admit(grant, Action::SignInLink, Subject::House).await?;
        let code = new_ticket();
        let expires_at = self.house.store.now() + LINK_LASTS;
        let (ticket, grant) = (hash(&code), grant.clone());
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                lock_good_key(tx, &grant.key).await?;
                tx.insert_sign_in(&ticket, &grant.key, SignInKind::Link, expires_at).await?;
                let subject = Some(grant.key.to_string());
                let line = AuditLine::by(&grant, Action::SignInLink.word(), subject, Outcome::Done, tx.now());
                Ok::<_, Error>(tx.audit(&line).await?)
            })
        });
        change.await?;
        Ok(Link { code, expires_at })
    }

    /// Signs a browser in by the code of a link. Nobody can do it twice.
    pub async fn redeem(&self, code: &str, origin: Option<String>) -> Result<Option<Visit>, Error> {
        let ticket = hash(code);
        // A guess costs a look, not a turn of the one writer.
        if !self.house.store.keys().has_sign_in(&ticket, SignInKind::Link).await? {
            return Ok(None);
        }
        self.admit_browser(origin, move |tx| {
            Box::pin(async move { Ok(tx.take_sign_in(&ticket, SignInKind::Link).await?) })
        })
        .await
    }

    /// Signs a browser in by a key.
    pub async fn sign_in(&self, secret: &KeySecret, origin: Option<String>) -> Result<Option<Visit>, Error> {
        let face = hash_key(secret);
        if self.house.store.keys().find_by_hash(&face).await?.is_none() {
            return Ok(None);
        }
        // Found again inside: it may have been rotated in between.
        self.admit_browser(origin, move |tx| Box::pin(async move { Ok(tx.lock_key_by_hash(&face).await?) })).await
    }

    /// Signs a browser out.
    pub async fn sign_out(&self, cookie: &str, origin: Option<String>) -> Result<(), Error> {
        let ticket = hash(cookie);
        let gone = ticket.clone();
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                let Some(key) = tx.take_sign_in(&ticket, SignInKind::Visit).await? else { return Ok(None) };
                let subject = Some(key.id.to_string());
                let line = AuditLine::by(&grant_of(&key, origin), "sign_out", subject, Outcome::Done, tx.now());
                tx.audit(&line).await?;
                Ok::<_, Error>(Some(key))
            })
        });
        if let Some(key) = change.await? {
            self.house.doorman.forget(&key.id);
        }
        // Nobody may be listening.
        let _ = self.house.sign_outs.send(gone);
        Ok(())
    }

    async fn admit_browser<F>(&self, origin: Option<String>, find: F) -> Result<Option<Visit>, Error>
    where
        F: for<'t> FnOnce(&'t mut Tx) -> futures::future::BoxFuture<'t, Result<Option<Key>, Error>> + Send + 'static,
    {
        let cookie = new_ticket();
        let ticket = hash(&cookie);
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                let Some(key) = find(tx).await?.filter(|key| key.is_good_at(tx.now())) else { return Ok(None) };
                let until = tx.now() + VISIT_LASTS;
                tx.insert_sign_in(&ticket, &key.id, SignInKind::Visit, until).await?;
                let grant = grant_of(&key, origin);
                let line = AuditLine::by(&grant, "sign_in", Some(key.id.to_string()), Outcome::Done, tx.now());
                tx.audit(&line).await?;
                Ok::<_, Error>(Some(grant))
            })
        });
        Ok(change.await?.map(|grant| Visit { cookie, lasts: VISIT_LASTS, grant }))
    }
}

/// A name that people can read in a list.
pub(super) fn good_name(name: &str) -> Result<String, Error> {
    let name = name.trim().to_owned();
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        return Err(Error::field("name", "expected 1 to 64 printable characters"));
    }
    Ok(name)
}

fn new_key(
    name: String,
    authority: Authority,
    secret: &KeySecret,
    created_by: Option<KeyId>,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Key {
    Key {
        id: new_key_id(),
        name,
        authority,
        prefix: secret.prefix(),
        created_at: now,
        created_by,
        last_used_at: None,
        expires_at,
        revoked_at: None,
        revision: 1,
    }
}

fn grant_of(key: &Key, origin: Option<String>) -> Grant {
    Grant { key: key.id.clone(), name: key.name.clone(), authority: key.authority.clone(), origin }
}

fn no_key(name: &str) -> Error {
    Error::NotFound { what: format!("key {name}") }
}

pub(super) async fn lock_good_key(tx: &mut Tx, id: &KeyId) -> Result<Key, Error> {
    let key = tx.lock_key(id).await?.ok_or_else(|| no_key(id.as_str()))?;
    if !key.is_good_at(tx.now()) {
        return Err(Error::Conflict { why: format!("the key {id} is revoked or expired and cannot come back") });
    }
    Ok(key)
}

pub(super) async fn audit(tx: &mut Tx, grant: &Grant, action: Action, key: &Key) -> Result<(), Error> {
    let line = AuditLine::by(grant, action.word(), Some(key.id.to_string()), Outcome::Done, tx.now());
    Ok(tx.audit(&line.with_detail(format!("{} ({})", key.name, key.authority))).await?)
}

/// Remembers who was let in lately, so that a request costs no query.
#[derive(Default)]
pub(crate) struct Doorman {
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// How far the journal was heard.
    heard: Cursor,
    faces: HashMap<String, (Arc<Key>, Timestamp)>,
    /// Grows whenever keys change: what was read before a change is not remembered after it.
    changes: u64,
    used: HashMap<KeyId, Timestamp>,
}

impl Doorman {
    /// After this time a face is looked up again, in case the bell was not heard.
    const REMEMBERS: SignedDuration = SignedDuration::from_secs(5);
    const ROOM: usize = 10_000;

    async fn recognise(
        &self,
        store: &Store,
        face: String,
        find: impl AsyncFnOnce() -> Result<Option<Key>, carrel_store::StoreError>,
    ) -> Result<Option<Arc<Key>>, Error> {
        let now = store.now();
        let changes = {
            let mut memory = self.memory();
            memory.catch_up(&store.journal());
            if let Some((key, since)) = memory.faces.get(&face)
                && now.duration_since(*since) < Self::REMEMBERS
                && !store.journal().is_deaf()
            {
                let key = Arc::clone(key);
                memory.note_use(&key, now);
                return Ok(key.is_good_at(now).then_some(key));
            }
            memory.changes
        };
        let Some(key) = find().await?.filter(|key| key.is_good_at(now)).map(Arc::new) else { return Ok(None) };
        let mut memory = self.memory();
        memory.note_use(&key, now);
        if memory.changes == changes {
            if memory.faces.len() >= Self::ROOM {
                memory.faces.clear();
            }
            memory.faces.insert(face, (Arc::clone(&key), now));
        }
        Ok(Some(key))
    }

    pub(crate) fn forget(&self, id: &KeyId) {
        self.memory().forget(id);
    }

    /// Writes down when keys were last used.
    pub(crate) async fn flush(&self, store: &Store) {
        let used: Vec<_> = self.memory().used.drain().collect();
        if !used.is_empty()
            && let Err(error) = store.keys().touch(used).await
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "cannot write down when keys were used");
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().expect("the doorman does not panic")
    }
}

impl Memory {
    /// Hears of keys that were rotated or revoked, here or at another node, before anybody is let in.
    fn catch_up(&mut self, journal: &Journal<'_>) {
        let head = journal.head();
        if self.heard == head {
            return;
        }
        let Some(missed) = journal.recent_after(self.heard) else {
            // Too far behind to know what changed: everybody is looked up again.
            self.changes += 1;
            self.faces.clear();
            self.heard = head;
            return;
        };
        for written in missed {
            self.heard = written.cursor();
            if let Happening::Key { key } = &written.entry().happening {
                self.forget(&key.id);
            }
        }
    }

    fn forget(&mut self, id: &KeyId) {
        self.changes += 1;
        self.faces.retain(|_, (key, _)| key.id != *id);
    }

    fn note_use(&mut self, key: &Key, now: Timestamp) {
        self.used.insert(key.id.clone(), now);
    }
}
