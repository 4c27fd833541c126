//! How long sandboxes are kept: laid aside without an end, taken up again, and what their owner shows to get in.

use std::time::{Duration, Instant};

use carrel_model::{
    Action, Grant, SandboxId, Subject, Timestamp,
    public::{Happening, SandboxView},
    sandbox::{AtEnd, Depth, Lifetime, Phase, Want},
};
use carrel_sandbox::ProviderError;
use carrel_store::News;
use jiff::SignedDuration;
use secrecy::SecretString;
use std::sync::Arc;

use crate::{Error, SandboxesDesk};

/// What is laid aside is kept for longer than anybody asks.
const FOR_GOOD: SignedDuration = SignedDuration::from_hours(24 * 365 * 100);

/// Who says nothing inside for so long does not answer.
const ANSWERS: Duration = Duration::from_secs(5);

/// A row that was let go of without a word is looked at again after so long.
const LOOKS_AGAIN: Duration = Duration::from_millis(250);

impl SandboxesDesk<'_> {
    /// Pauses a sandbox and lets its lifetime stand still: it waits until somebody takes it up or ends it.
    pub async fn lay_aside(&self, grant: &Grant, id: &SandboxId, depth: Depth) -> Result<Arc<SandboxView>, Error> {
        self.refuse_without_pausing(grant, id, Action::SandboxPause).await?;
        self.want(grant, id, Action::SandboxPause, move |sandbox, tx| {
            sandbox.want = Want::Paused;
            sandbox.depth = if sandbox.phase == Phase::Paused { sandbox.depth.max(depth) } else { depth };
            sandbox.expires_at = tx.now().checked_add(FOR_GOOD).unwrap_or(Timestamp::MAX);
        })
        .await
    }

    /// Lets a sandbox work from now on for at least so long: one that sleeps is woken, one that works is never given less.
    /// One that is woken may be told anew what happens at its end.
    pub async fn take_up(
        &self,
        grant: &Grant,
        id: &SandboxId,
        lifetime: Lifetime,
        at_end: Option<AtEnd>,
    ) -> Result<Arc<SandboxView>, Error> {
        self.want(grant, id, Action::SandboxResume, move |sandbox, tx| {
            let now = tx.now();
            let sleeps = sandbox.phase == Phase::Paused || sandbox.want_at(now) == Want::Paused;
            let until = now.checked_add(SignedDuration::from_secs(lifetime.get() as i64)).unwrap_or(Timestamp::MAX);
            if sleeps {
                sandbox.spec.lifetime = lifetime;
                sandbox.spec.at_end = at_end.unwrap_or(sandbox.spec.at_end);
                sandbox.wake(now);
            } else if until > sandbox.expires_at {
                sandbox.extend(lifetime, now);
            }
        })
        .await
    }

    /// Whether somebody answers inside.
    pub async fn answers(&self, grant: &Grant, id: &SandboxId) -> Result<bool, Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxRead, subject).await?;
        let Ok(endpoint) = self.house.post(&view.provider)?.provider.endpoint(id).await else { return Ok(false) };
        let asked = endpoint.envd();
        Ok(matches!(tokio::time::timeout(ANSWERS, asked.metrics()).await, Ok(Ok(_))))
    }

    /// What the owner of a sandbox shows to its envd. Whoever has it may do everything inside.
    pub async fn token(&self, grant: &Grant, id: &SandboxId) -> Result<Option<SecretString>, Error> {
        let view = self.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxExec, subject).await?;
        let post = self.house.post(&view.provider)?;
        match post.provider.endpoint(id).await {
            Ok(endpoint) => Ok(endpoint.token),
            // It sleeps, or a step that is under way has just let it.
            Err(ProviderError::Lost) => {
                Err(Error::Conflict { why: format!("sandbox {id} is {}: nobody answers inside", view.phase.word()) })
            }
            Err(ProviderError::Unfit { why }) => Err(Error::Inside { why }),
            Err(error) => Err(Error::of_provider(&error, error.to_string())),
        }
    }

    /// Waits until nobody has a sandbox in hand, if not for ever. What a keeper began before somebody wanted something else
    /// is carried out first: until then a sandbox that is taken up may still be on its way to sleep.
    pub async fn until_let_go(&self, grant: &Grant, id: &SandboxId, most: Duration) -> Result<(), Error> {
        let end = Instant::now() + most;
        loop {
            // Seen before it is asked who has it: what is written in between ends the wait.
            let seen = self.get(grant, id).await?.revision;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.house.store.sandboxes().is_in_hand(id).await? {
                return Ok(());
            }
            self.until(grant, id, left.min(LOOKS_AGAIN), |now| now.revision != seen).await?;
        }
    }

    /// Looks whether a sandbox is where its row says, as the sweep does: a step whose end could not be written down is
    /// found out now, and not by and by.
    pub async fn settle(&self, grant: &Grant, id: &SandboxId) -> Result<(), Error> {
        let view = self.get(grant, id).await?;
        let row = self.house.store.sandboxes().find(id).await?;
        // What is on another node is not to be seen from here.
        if row.is_none_or(|row| row.home.is_some_and(|home| home != self.house.settings.node)) {
            return Ok(());
        }
        crate::sweep::settle(self.house, self.house.post(&view.provider)?, id).await
    }

    /// Waits until a sandbox is as somebody wants to see it, and shows it; as it is when the time is over.
    pub async fn until(
        &self,
        grant: &Grant,
        id: &SandboxId,
        most: Duration,
        is_so: impl Fn(&SandboxView) -> bool,
    ) -> Result<Arc<SandboxView>, Error> {
        let journal = self.house.store.journal();
        let mut follower = journal.follow(journal.head());
        let mut view = self.get(grant, id).await?;
        let end = tokio::time::sleep(most);
        tokio::pin!(end);
        while !is_so(&view) {
            let news = tokio::select! {
                news = follower.next() => news?,
                () = &mut end => break,
            };
            match news {
                News::Reset(_) => view = self.look(id).await?,
                News::Entries(entries) => {
                    for written in entries {
                        if let Happening::Sandbox { sandbox } = &written.entry().happening
                            && sandbox.id == *id
                            && !is_so(&view)
                        {
                            view = Arc::new((**sandbox).clone());
                        }
                    }
                }
            }
        }
        Ok(view)
    }
}
