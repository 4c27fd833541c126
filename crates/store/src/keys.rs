//! Keys and sign-ins in the database. Only hashes of secrets come here.

use carrel_model::{
    Authority, KeyId, Role, Timestamp,
    key::Key,
    public::{Happening, KeyView},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The keys and sign-ins.
pub struct Keys<'s> {
    pub(crate) store: &'s Store,
}

/// What a sign-in secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInKind {
    /// The code of a link; works once.
    Link,
    /// The cookie of a browser that signed in.
    Visit,
}

impl SignInKind {
    fn word(self) -> &'static str {
        match self {
            SignInKind::Link => "link",
            SignInKind::Visit => "visit",
        }
    }
}

impl Keys<'_> {
    /// The key whose secret has this hash.
    pub async fn find_by_hash(&self, hash: &str) -> Result<Option<Key>, StoreError> {
        let row = self.store.sql().fetch_optional("SELECT * FROM keys WHERE hash = $1", args![hash]).await?;
        row.as_ref().map(read).transpose()
    }

    /// The key with this id.
    pub async fn find(&self, id: &KeyId) -> Result<Option<Key>, StoreError> {
        let row = self.store.sql().fetch_optional("SELECT * FROM keys WHERE id = $1", args![id.as_str()]).await?;
        row.as_ref().map(read).transpose()
    }

    /// Whether a secret with this hash was rotated away.
    pub async fn is_spent(&self, hash: &str) -> Result<bool, StoreError> {
        let row = self.store.sql().fetch_optional("SELECT 1 AS one FROM spent_secrets WHERE hash = $1", args![hash]);
        Ok(row.await?.is_some())
    }

    /// Whether such a sign-in is there. A look that costs no write, for those who only guess.
    pub async fn has_sign_in(&self, hash: &str, kind: SignInKind) -> Result<bool, StoreError> {
        let sql = "SELECT 1 AS one FROM sign_ins WHERE hash = $1 AND kind = $2 AND expires_at > $3";
        let row = self.store.sql().fetch_optional(sql, args![hash, kind.word(), self.store.now()]);
        Ok(row.await?.is_some())
    }

    /// A page of keys, newest first.
    pub async fn list(&self, before: Option<(Timestamp, KeyId)>, most: u32) -> Result<Vec<Key>, StoreError> {
        let (at, id) = before.map_or((Timestamp::MAX, None), |(at, id)| (at, Some(id)));
        let sql = "SELECT * FROM keys WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3";
        let id = id.as_ref().map_or("", |id| id.as_str());
        let rows = self.store.sql().fetch_all(sql, args![at, id, i64::from(most)]).await?;
        rows.iter().map(read).collect()
    }

    /// The key behind the cookie of a visit.
    pub async fn find_by_visit(&self, hash: &str) -> Result<Option<Key>, StoreError> {
        let sql = "SELECT keys.* FROM keys JOIN sign_ins ON sign_ins.key_id = keys.id
                   WHERE sign_ins.hash = $1 AND sign_ins.kind = 'visit' AND sign_ins.expires_at > $2";
        let row = self.store.sql().fetch_optional(sql, args![hash, self.store.now()]).await?;
        row.as_ref().map(read).transpose()
    }

    /// Remembers that keys were shown. Not a change worth telling.
    pub async fn touch(&self, mut used: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        // In the order of their ids, as everybody locks keys: two nodes must not wait for each other.
        used.sort();
        let mut work = self.store.sql().begin().await?;
        for (id, at) in used {
            work.execute("UPDATE keys SET last_used_at = $2 WHERE id = $1", args![id.as_str(), at]).await?;
        }
        work.commit().await
    }

    /// Forgets sign-ins that are over.
    pub async fn forget_sign_ins(&self) -> Result<u64, StoreError> {
        let mut work = self.store.sql().begin().await?;
        let forgotten = work.execute("DELETE FROM sign_ins WHERE expires_at <= $1", args![self.store.now()]).await?;
        work.commit().await?;
        Ok(forgotten)
    }
}

impl Tx {
    /// Writes a new key and tells of it.
    pub async fn insert_key(&mut self, key: &Key, hash: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO keys (id, name, role, agent_id, sandbox_id, hash, prefix, created_at, created_by,
                       last_used_at, expires_at, revoked_at, revision)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
        let values = args![
            key.id.as_str(),
            key.name.as_str(),
            key.authority.role().word(),
            key.authority.agent().map(|id| id.as_str()),
            key.authority.sandbox().map(|id| id.as_str()),
            hash,
            key.prefix.as_str(),
            key.created_at,
            key.created_by.as_ref().map(|id| id.as_str()),
            key.last_used_at,
            key.expires_at,
            key.revoked_at,
            key.revision,
        ];
        self.work.execute(sql, values).await?;
        self.tell_of_key(key);
        Ok(())
    }

    /// Reads a key and keeps others from changing it until this change is over.
    pub async fn lock_key(&mut self, id: &KeyId) -> Result<Option<Key>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let row =
            self.work.fetch_optional(format!("SELECT * FROM keys WHERE id = $1{lock}"), args![id.as_str()]).await?;
        row.as_ref().map(read).transpose()
    }

    /// The key whose secret has this hash, kept from changing until this change is over.
    pub async fn lock_key_by_hash(&mut self, hash: &str) -> Result<Option<Key>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let row = self.work.fetch_optional(format!("SELECT * FROM keys WHERE hash = $1{lock}"), args![hash]).await?;
        row.as_ref().map(read).transpose()
    }

    /// The admin keys that are good at this moment. Locks them, so that two revocations cannot leave nobody; and with
    /// them, in the order in which everybody locks keys, the one that is to be revoked.
    pub async fn lock_admins(&mut self, and: Option<&KeyId>) -> Result<Vec<Key>, StoreError> {
        let lock = if self.work.is_postgres() { " ORDER BY id FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM keys WHERE (role = 'admin' AND revoked_at IS NULL) OR id = $1{lock}");
        let rows = self.work.fetch_all(sql, args![and.map(|id| id.as_str())]).await?;
        let keys: Vec<Key> = rows.iter().map(read).collect::<Result<_, _>>()?;
        let is_admin = |key: &Key| key.authority == Authority::Admin && key.is_good_at(self.now);
        Ok(keys.into_iter().filter(is_admin).collect())
    }

    /// Gives a key another secret. Its visits and links end with the old one.
    pub async fn rotate_key(&mut self, key: &mut Key, hash: &str) -> Result<(), StoreError> {
        key.revision += 1;
        let spent = "INSERT INTO spent_secrets (hash, key_id, at) SELECT hash, id, $2 FROM keys WHERE id = $1";
        self.work.execute(spent, args![key.id.as_str(), self.now]).await?;
        let sql = "UPDATE keys SET hash = $2, prefix = $3, revision = $4 WHERE id = $1";
        self.work.execute(sql, args![key.id.as_str(), hash, key.prefix.as_str(), key.revision]).await?;
        self.end_visits(&key.id).await?;
        self.tell_of_key(key);
        Ok(())
    }

    /// Writes down another name or authority of a key. Its secret and its visits stay.
    pub async fn change_key(&mut self, key: &mut Key) -> Result<(), StoreError> {
        key.revision += 1;
        let sql = "UPDATE keys SET name = $2, role = $3, revision = $4 WHERE id = $1";
        let values = args![key.id.as_str(), key.name.as_str(), key.authority.role().word(), key.revision];
        self.work.execute(sql, values).await?;
        self.tell_of_key(key);
        Ok(())
    }

    /// Ends a key, its visits and its links.
    pub async fn revoke_key(&mut self, key: &mut Key) -> Result<(), StoreError> {
        key.revision += 1;
        key.revoked_at = Some(self.now);
        let sql = "UPDATE keys SET revoked_at = $2, revision = $3 WHERE id = $1";
        self.work.execute(sql, args![key.id.as_str(), key.revoked_at, key.revision]).await?;
        self.end_visits(&key.id).await?;
        self.tell_of_key(key);
        Ok(())
    }

    /// Remembers the hash of a sign-in secret.
    pub async fn insert_sign_in(
        &mut self,
        hash: &str,
        key: &KeyId,
        kind: SignInKind,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO sign_ins (hash, key_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)";
        self.work.execute(sql, args![hash, key.as_str(), kind.word(), self.now, until]).await?;
        Ok(())
    }

    /// Takes a sign-in out; at most one caller gets it. This is what makes a link work once, and signs a browser out.
    pub async fn take_sign_in(&mut self, hash: &str, kind: SignInKind) -> Result<Option<Key>, StoreError> {
        let sql = "SELECT key_id FROM sign_ins WHERE hash = $1";
        let Some(row) = self.work.fetch_optional(sql, args![hash]).await? else { return Ok(None) };
        // The key before its sign-ins, as those do who end them: else each would wait for the other.
        let key = self.lock_key(&row.name("key_id")?).await?;
        let sql = "DELETE FROM sign_ins WHERE hash = $1 AND kind = $2 AND expires_at > $3";
        let taken = self.work.execute(sql, args![hash, kind.word(), self.now]).await?;
        Ok(key.filter(|_| taken == 1))
    }

    async fn end_visits(&mut self, key: &KeyId) -> Result<(), StoreError> {
        self.work.execute("DELETE FROM sign_ins WHERE key_id = $1", args![key.as_str()]).await?;
        Ok(())
    }

    fn tell_of_key(&mut self, key: &Key) {
        self.tell(Happening::Key { key: KeyView::from(key) });
    }
}

fn read(row: &Row) -> Result<Key, StoreError> {
    let role = understood("keys.role", Role::from_word(&row.text("role")?))?;
    let authority = Authority::from_parts(role, row.maybe_name("agent_id")?, row.maybe_name("sandbox_id")?);
    Ok(Key {
        id: row.name("id")?,
        name: row.text("name")?,
        authority: understood("keys.role", authority.ok())?,
        prefix: row.text("prefix")?,
        created_at: row.time("created_at")?,
        created_by: row.maybe_name("created_by")?,
        last_used_at: row.maybe_time("last_used_at")?,
        expires_at: row.maybe_time("expires_at")?,
        revoked_at: row.maybe_time("revoked_at")?,
        revision: row.int("revision")?,
    })
}
