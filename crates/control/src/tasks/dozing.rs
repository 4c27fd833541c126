//! The phase of a session follows its desk: `idle` while that sleeps, however it fell asleep, and `open` when it is awake.
//!
//! What is heard is a hint. The row of the desk is looked at each time, so that two nodes that hear the same at different
//! times come to the same end. The conversations of tasks are left out: they are shown with their tasks.

use std::{sync::Arc, time::Duration};

use carrel_model::{
    SandboxId, SessionId,
    public::Happening,
    sandbox::{Phase, Sandbox, Want},
    session::{Session, SessionPhase},
};
use carrel_store::{News, SessionFilter};

use crate::{Error, house::House};

/// So many sessions are looked at in one go.
const AT_ONCE: u32 = 200;

/// Walks until the house closes.
pub(crate) async fn walk(house: Arc<House>) {
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    // What happened while nobody listened is not told again.
    let mut missed = true;
    loop {
        let followed = match std::mem::take(&mut missed) {
            true => look_at_all(&house).await,
            false => match follower.next().await {
                Ok(News::Entries(entries)) => {
                    let mut followed = Ok(());
                    for written in entries {
                        if let Happening::Sandbox { sandbox } = &written.entry().happening
                            && sandbox.agent_id.is_some()
                            && sandbox.task_id.is_none()
                            && matches!(sandbox.phase, Phase::Ready | Phase::Paused)
                        {
                            followed = followed.and(look_at(&house, &sandbox.id).await);
                        }
                    }
                    followed
                }
                Ok(News::Reset(_)) => {
                    missed = true;
                    Ok(())
                }
                Err(error) => Err(error.into()),
            },
        };
        if let Err(error) = followed {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "sessions cannot follow their desks; trying again"
            );
            missed = true;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

async fn look_at_all(house: &House) -> Result<(), Error> {
    let mut filter = SessionFilter { alone: true, ..SessionFilter::default() };
    loop {
        let sessions = house.store.sessions().list(&filter, AT_ONCE).await?;
        let Some(last) = sessions.last() else { return Ok(()) };
        filter.before = Some((last.created_at, last.id.clone()));
        for session in &sessions {
            follow(house, session).await?;
        }
    }
}

async fn look_at(house: &House, desk: &SandboxId) -> Result<(), Error> {
    match house.store.sessions().of_sandbox(desk).await? {
        Some(session) if session.task_id.is_none() => follow(house, &session).await,
        _ => Ok(()),
    }
}

/// Where a session is, by its desk; nothing when that says nothing about it.
pub(crate) async fn phase_of(house: &House, session: &Session) -> Result<Option<SessionPhase>, Error> {
    let Some(desk) = session.sandbox_id.as_ref().filter(|_| session.phase != SessionPhase::Closed) else {
        return Ok(None);
    };
    let Some(desk) = house.store.sandboxes().find(desk).await? else { return Ok(None) };
    Ok(Some(if is_asleep(&desk, house.store.now()) { SessionPhase::Idle } else { SessionPhase::Open }))
}

/// It sleeps, or is about to because somebody wants it to. One that is being woken does not count, nor one that only seems
/// idle.
fn is_asleep(desk: &Sandbox, now: carrel_model::Timestamp) -> bool {
    let paused = desk.phase == Phase::Paused || desk.phase == Phase::Ready && desk.want == Want::Paused;
    paused && desk.want_at(now) == Want::Paused
}

async fn follow(house: &House, session: &Session) -> Result<(), Error> {
    match phase_of(house, session).await? {
        Some(phase) if phase != session.phase => write(house, &session.id, session.sandbox_id.clone(), phase).await,
        _ => Ok(()),
    }
}

async fn write(house: &House, id: &SessionId, desk: Option<SandboxId>, phase: SessionPhase) -> Result<(), Error> {
    let id = id.clone();
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            if let Some(mut session) = tx.lock_session(&id).await?
                && session.phase != SessionPhase::Closed
                && session.phase != phase
                && session.sandbox_id == desk
            {
                session.phase = phase;
                tx.put_session(&mut session).await?;
            }
            Ok::<_, Error>(())
        })
    });
    written.await
}
