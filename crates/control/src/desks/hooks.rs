//! The hooks desk: addresses that hear what happens. The postman carries it there.

use std::{sync::Arc, time::Instant};

use carrel_forge::courier;
use carrel_model::{
    Action, Grant, HookId, Subject, Timestamp,
    audit::{AuditLine, Outcome},
    hook::{Delivery, Hook},
    public::{Cursor, HookAdded, HookLetter, HookView, NewHook, NewReplay, Page},
};
use secrecy::SecretString;

use super::secrets;
use crate::{Error, house::House, secret::new_hook_id};

/// Adds, shows, tries and removes hooks.
pub struct HooksDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// So many hooks there may be.
const MOST: usize = 100;

impl HooksDesk<'_> {
    /// Adds a hook, and draws the secret that its deliveries are signed with.
    pub async fn add(&self, grant: &Grant, new: NewHook) -> Result<HookAdded, Error> {
        self.house.admit(grant, Action::HookWrite, Subject::House).await?;
        new.check().map_err(|fields| Error::Invalid { fields })?;
        self.house.courier()?.look_at(new.url.as_str()).map_err(|error| Error::field("url", error.to_string()))?;
        if self.house.store.hooks().list().await?.len() >= MOST {
            return Err(Error::Conflict { why: format!("there are {MOST} hooks already; remove one first") });
        }
        let cursor = self.place(new.after).await?;
        let usual = || ["task", "pull"].map(|topic| topic.parse().expect("a good topic")).to_vec();
        let mut hook = Hook {
            id: new_hook_id(),
            url: new.url,
            events: if new.events.is_empty() { usual() } else { new.events },
            cursor: cursor.0,
            failures: 0,
            next_attempt_at: None,
            stopped: None,
            last: None,
            delivered: 0,
            created_by: grant.key.clone(),
            created_at: self.house.store.now(),
            revision: 0,
        };
        let secret = courier::new_secret();
        let sealed = secrets::seal(
            &self.house.settings.keychain,
            None,
            &hook.secret_name(),
            &SecretString::from(secret.clone()),
        );
        let grant = grant.clone();
        let added = self.house.store.change(move |tx| {
            Box::pin(async move {
                tx.put_secret(None, &hook.secret_name(), &sealed, &grant.key).await?;
                tx.put_hook(&mut hook).await?;
                tx.audit(&line(&grant, &hook.id, tx.now())).await?;
                Ok::<_, Error>(hook)
            })
        });
        let hook = added.await?;
        self.house.postman.ring();
        Ok(HookAdded { hook: HookView::from(&hook), secret })
    }

    /// All hooks.
    pub async fn list(&self, grant: &Grant) -> Result<Page<HookView>, Error> {
        self.house.admit(grant, Action::HookRead, Subject::House).await?;
        let hooks = self.house.store.hooks().list().await?;
        Ok(Page { items: hooks.iter().map(HookView::from).collect(), next: None })
    }

    /// Shows a hook.
    pub async fn get(&self, grant: &Grant, id: &HookId) -> Result<HookView, Error> {
        self.house.admit(grant, Action::HookRead, Subject::House).await?;
        self.house.store.hooks().find(id).await?.as_ref().map(HookView::from).ok_or_else(|| no_hook(id))
    }

    /// Removes a hook, and its secret with it.
    pub async fn remove(&self, grant: &Grant, id: &HookId) -> Result<(), Error> {
        self.house.admit(grant, Action::HookWrite, Subject::House).await?;
        let (grant, id) = (grant.clone(), id.clone());
        let removed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let hook = tx.lock_hook(&id).await?.ok_or_else(|| no_hook(&id))?;
                tx.remove_hook(&id).await?;
                tx.remove_secret(None, &hook.secret_name()).await?;
                tx.audit(&line(&grant, &id, tx.now())).await?;
                Ok::<_, Error>(())
            })
        });
        removed.await?;
        self.house.postman.ring();
        Ok(())
    }

    /// Delivers a letter that tells of nothing, once and now, and says how that went.
    pub async fn test(&self, grant: &Grant, id: &HookId) -> Result<Delivery, Error> {
        self.house.admit(grant, Action::HookWrite, Subject::House).await?;
        let hook = self.house.store.hooks().find(id).await?.ok_or_else(|| no_hook(id))?;
        let (now, head) = (self.house.store.now(), self.house.store.journal().head());
        let began = Instant::now();
        let name = format!("msg_{}_test_{}", id.as_str().trim_start_matches("hook_"), now.as_microsecond());
        let sent = crate::hooks::carry(self.house, &hook, name, &HookLetter::test(now, head)).await;
        Ok(crate::hooks::delivery(now, None, &sent, began.elapsed()))
    }

    /// Delivers everything after a place once more; without a place, what is stuck is tried now.
    pub async fn replay(&self, grant: &Grant, id: &HookId, replay: NewReplay) -> Result<HookView, Error> {
        self.house.admit(grant, Action::HookWrite, Subject::House).await?;
        let after = match replay.after {
            Some(after) => Some(self.place(Some(after)).await?),
            None => None,
        };
        let (grant, id) = (grant.clone(), id.clone());
        let replayed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut hook = tx.lock_hook(&id).await?.ok_or_else(|| no_hook(&id))?;
                hook.cursor = after.map_or(hook.cursor, |after| after.0);
                (hook.failures, hook.next_attempt_at, hook.stopped) = (0, None, None);
                tx.put_hook(&mut hook).await?;
                tx.audit(&line(&grant, &id, tx.now())).await?;
                Ok::<_, Error>(hook)
            })
        });
        let hook = replayed.await?;
        self.house.postman.ring();
        Ok(HookView::from(&hook))
    }

    /// A place in the journal that can still be read on from.
    async fn place(&self, after: Option<i64>) -> Result<Cursor, Error> {
        let span = self.house.store.journal().span().await?;
        match after {
            None => Ok(span.head),
            Some(after) if after.saturating_add(1) < span.oldest.0 => {
                let why = format!("the journal is kept from {} on; what was before is forgotten", span.oldest.0);
                Err(Error::field("after", why))
            }
            Some(after) if after > span.head.0 => {
                Err(Error::field("after", format!("the journal ends at {}", span.head.0)))
            }
            Some(after) => Ok(Cursor(after)),
        }
    }
}

fn line(grant: &Grant, id: &HookId, now: Timestamp) -> AuditLine {
    AuditLine::by(grant, Action::HookWrite.word(), Some(id.to_string()), Outcome::Done, now)
}

fn no_hook(id: &HookId) -> Error {
    Error::NotFound { what: format!("hook {id}") }
}
