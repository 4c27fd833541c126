//! A desk that somebody pauses while its agent works: the agent stands still, and the card says so.

use std::sync::Arc;

use carrel_model::{SandboxId, SessionId, agent::Voice, public::Happening, sandbox::Phase, session::MomentKind};
use carrel_store::{Follower, News};

use super::turn::At;
use crate::{
    Error, SandboxesDesk,
    desks::{cards::moment, sessions::no_session},
    house::House,
};

/// What the card says meanwhile.
const STANDS_STILL: &str = "its desk is paused";

/// Watches whether a desk sleeps.
pub(super) struct Sleep<'a> {
    house: &'a Arc<House>,
    session: &'a SessionId,
    sandbox: &'a SandboxId,
    follower: Follower,
    /// It sleeps, as far as was told.
    pub(super) asleep: bool,
}

impl<'a> Sleep<'a> {
    /// Watches the desk at which a turn is taken.
    pub(super) fn watch(house: &'a Arc<House>, at: &At<'a>) -> Sleep<'a> {
        let journal = house.store.journal();
        let follower = journal.follow(journal.head());
        Sleep { house, session: at.session, sandbox: at.sandbox, follower, asleep: false }
    }

    /// Comes back when the desk fell asleep (true) or woke up. May be called off.
    pub(super) async fn turned(&mut self) -> Result<bool, Error> {
        loop {
            let phase = match self.follower.next().await? {
                News::Reset(_) => Some((SandboxesDesk { house: self.house }).look(self.sandbox).await?.phase),
                News::Entries(entries) => entries.iter().rev().find_map(|written| match &written.entry().happening {
                    Happening::Sandbox { sandbox } if sandbox.id == *self.sandbox => Some(sandbox.phase),
                    _ => None,
                }),
            };
            let asleep = match phase {
                Some(Phase::Paused) => true,
                Some(Phase::Ready) => false,
                _ => continue,
            };
            if asleep != std::mem::replace(&mut self.asleep, asleep) {
                return Ok(asleep);
            }
        }
    }

    /// Says so.
    pub(super) async fn tell(&self, asleep: bool) -> Result<(), Error> {
        let id = self.session.clone();
        let told = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
                let text = if asleep {
                    "The desk was paused: the agent stands still. A message, `retry` or `carrel sandbox resume` wakes it."
                } else {
                    "The desk is awake again: the agent goes on."
                };
                tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
                tx.put_session(&mut session).await?;
                if let Some(task) = session.task_id
                    && let Some((mut task, _)) = tx.lock_task(task).await?
                {
                    task.doing = asleep.then(|| STANDS_STILL.to_owned());
                    tx.put_task(&mut task).await?;
                }
                Ok::<_, Error>(())
            })
        });
        told.await
    }
}
