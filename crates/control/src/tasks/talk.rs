//! Conversations that are no task's: each question gets its answer, one turn after the other.

use std::{collections::HashSet, sync::Arc, sync::Mutex, time::Duration};

use carrel_agent::{DeskRules, Ending};
use carrel_model::{
    Holder, SessionId,
    agent::Voice,
    public::Happening,
    session::{MomentKind, Session, SessionPhase},
};
use carrel_store::News;

use super::{
    desk::{self, Found},
    turn::{self, At, Went},
};
use crate::{
    Error, SandboxesDesk,
    desks::{repos, sessions::no_session, tasks::moment},
    house::House,
    work,
};

/// Walks until the house closes: whoever is asked something answers.
pub(crate) async fn walk(house: Arc<House>) {
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    let busy: Arc<Mutex<HashSet<SessionId>>> = Arc::default();
    let mut look = true;
    loop {
        if look {
            match house.store.sessions().asked().await {
                Ok(asked) => asked.into_iter().for_each(|session| answer(&house, &busy, session.id)),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "sessions cannot be looked at");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
            }
        }
        look = match tokio::time::timeout(house.settings.patience.sweep, follower.next()).await {
            Ok(Ok(News::Entries(entries))) => entries.iter().any(|written| {
                matches!(&written.entry().happening,
                    Happening::Session { session } if session.task_id.is_none() && session.busy)
            }),
            Ok(Ok(News::Reset(_))) | Err(_) => true,
            Ok(Err(_)) => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                true
            }
        };
    }
}

/// Answers in a session until nothing is asked any more, unless somebody does already.
fn answer(house: &Arc<House>, busy: &Arc<Mutex<HashSet<SessionId>>>, id: SessionId) {
    let taken = |busy: &Mutex<HashSet<SessionId>>| {
        busy.lock().expect("nobody panics while holding the list").insert(id.clone())
    };
    if !taken(busy) {
        return;
    }
    let (house, busy) = (Arc::clone(house), Arc::clone(busy));
    house.tasks().clone().spawn(async move {
        let guard = Answering { busy, id: id.clone() };
        let stop = house.stop().clone();
        if let Some(Err(error)) = stop.run_until_cancelled(Box::pin(converse(&house, &id))).await {
            tracing::warn!(session = %id, error = &error as &dyn std::error::Error, "a session could not go on");
            // One that is being closed is tried again by the next look.
            let closing = house.store.sessions().find(&id).await.is_ok_and(|found| found.is_some_and(|it| it.closing));
            if !closing {
                let _ = give_up(&house, &id, error.to_string()).await;
            }
        }
        drop(guard);
    });
}

struct Answering {
    busy: Arc<Mutex<HashSet<SessionId>>>,
    id: SessionId,
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Ok(mut busy) = self.busy.lock() {
            busy.remove(&self.id);
        }
    }
}

async fn converse(house: &Arc<House>, id: &SessionId) -> Result<(), Error> {
    loop {
        let session = house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
        if !session.is_busy() {
            return Ok(());
        }
        if session.closing {
            return close(house, &session).await;
        }
        let grant = desk::grant_of(&session.created_by);
        let sandbox = desk::ensure_session(house, id).await?;
        desk::wait_for(house, &grant, &sandbox).await?;
        if session.turn.is_none() && !desk::verify_session(house, &session, &sandbox).await? {
            continue;
        }
        let saves = session.repo.is_some();
        let rules = DeskRules { repo: session.repo.clone(), ..DeskRules::default() };
        let at = At { session: id, sandbox: &sandbox, rules, saves, asks_again: false };
        match Box::pin(turn::take(house, &at, closed(house, id))).await? {
            Went::Nothing => return Ok(()),
            // Somebody closes it.
            Went::Stopped => {}
            Went::Ended(Ending::Finished | Ending::Asked { .. }) => {}
            // It was said already, with the end of the turn. The next message tries again.
            Went::Ended(Ending::Failed { .. }) => {}
        }
    }
}

/// Keeps what was done under a ref of its own, ends the desk, and closes the session. May be repeated at any point.
async fn close(house: &Arc<House>, session: &Session) -> Result<(), Error> {
    let (id, grant) = (&session.id, desk::grant_of(&session.created_by));
    let mut notes = Vec::new();
    if let Some((repo, sandbox)) = session.repo.as_ref().zip(session.sandbox_id.as_ref()) {
        if matches!(desk::look(house, sandbox).await?, Found::There | Found::Asleep) {
            desk::wait_for(house, &grant, sandbox).await?;
            match work::save_work(house, sandbox).await {
                Ok(_) => {}
                // Its tree is gone, or cannot be saved as it is: what was saved before is what there is.
                Err(Error::Conflict { why }) => notes.push(format!("The last of it could not be saved: {why}")),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let holder = Holder::Session(id.clone());
        if let Ok(found) = repos::find(house, repo).await
            && let Some(base) = &found.default_branch
        {
            notes.extend(work::keep::keep(house, &holder, repo, None, base).await?);
        }
    }
    if let Some(sandbox) = &session.sandbox_id {
        match (SandboxesDesk { house }).destroy(&grant, sandbox).await {
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(repo) = &session.repo
        && repos::find(house, repo).await.is_ok()
    {
        house.library.mirror(repo).await?.forget_saved(&Holder::Session(id.clone())).await?;
    }
    let id = id.clone();
    let closed = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            for text in notes {
                tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
            }
            (session.phase, session.closing, session.turn) = (SessionPhase::Closed, false, None);
            session.note = None;
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    closed.await
}

/// Comes true when a session is to be closed.
async fn closed(house: &Arc<House>, id: &SessionId) {
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    loop {
        let open = house.store.sessions().find(id).await;
        if matches!(open, Ok(Some(session)) if session.closing || session.phase == SessionPhase::Closed) {
            return;
        }
        loop {
            match follower.next().await {
                Ok(News::Entries(entries)) => {
                    let own = |happening: &Happening| matches!(happening, Happening::Session { session } if session.id == *id);
                    if entries.iter().any(|written| own(&written.entry().happening)) {
                        break;
                    }
                }
                Ok(News::Reset(_)) => break,
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }
}

/// Says why there is no answer. The next message tries again.
async fn give_up(house: &Arc<House>, id: &SessionId, why: String) -> Result<(), Error> {
    let id = id.clone();
    let said = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            session.turn = None;
            session.delivered = session.asked;
            let text = format!("There is no answer: {why}");
            tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    said.await
}
