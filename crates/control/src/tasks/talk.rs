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
    desk::{self, Found, Stands},
    farewell::{self, Last},
    turn::{self, At, Went},
};
use crate::{
    Error, SandboxesDesk,
    desks::{cards::moment, repos, sessions::no_session},
    house::House,
    keeper::is_lost_lease,
    pulls::Hold,
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
        let Ok(Some(turn)) = ours(&house, &id).await else { return };
        if let Some(Err(error)) = stop.run_until_cancelled(Box::pin(converse(&house, &id))).await {
            if matches!(&error, Error::Internal(inner) if is_lost_lease(&**inner)) {
                tracing::info!(session = %id, "another node answers in this session by now");
                return;
            }
            tracing::warn!(session = %id, error = &error as &dyn std::error::Error, "a session could not go on");
            // One that is being closed is tried again by the next look.
            let closing = house.store.sessions().find(&id).await.is_ok_and(|found| found.is_some_and(|it| it.closing));
            if !closing {
                let _ = give_up(&house, &id, error.to_string()).await;
            }
        }
        drop(turn);
        drop(guard);
    });
}

/// Whether it is for this node to answer: the one that has the desk does; where none has it, whoever is first. Nothing when
/// it is for another.
async fn ours(house: &Arc<House>, id: &SessionId) -> Result<Option<Option<Hold>>, Error> {
    if !house.nodes.has_fellows() {
        return Ok(Some(None));
    }
    if let Some(desk) = house.store.sessions().find(id).await?.and_then(|session| session.sandbox_id)
        && matches!(desk::stands(house, &desk).await?, Stands::Elsewhere)
    {
        return Ok(None);
    }
    Ok(Hold::try_named(house, &format!("session {id}")).await?.map(Some))
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

/// So many desks that do not come up are left behind in one go, before there is no answer.
const DESKS: u32 = 3;

async fn converse(house: &Arc<House>, id: &SessionId) -> Result<(), Error> {
    let mut lost = 0;
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
        if let Err(error) = desk::wait_for(house, &grant, &sandbox).await {
            // One that came back wrong makes room for a new one.
            lost += 1;
            match desk::look(house, &sandbox).await? {
                Found::Lost(_) if lost < DESKS => continue,
                _ => return Err(error),
            }
        }
        if session.turn.is_none() && !desk::verify_session(house, &session, &sandbox).await? {
            continue;
        }
        let saves = session.repo.is_some();
        let rules = DeskRules { repo: session.repo.clone(), ..DeskRules::default() };
        let at = At { session: id, sandbox: &sandbox, rules, saves, asks_again: false };
        match Box::pin(turn::take(house, &at, unwanted(house, id))).await? {
            Went::Nothing => return Ok(()),
            // Somebody closes it, or broke the answer off: what was said since is next.
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
        // A tree that cannot be saved as it is keeps no session open: what was saved before is what there is.
        if let Last::Unsaved(why) = farewell::save_last(house, &grant, sandbox).await? {
            notes.push(format!("The last of it could not be saved: {why}"));
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

/// Comes true when the answer in flight is to be broken off, or the session to be closed.
async fn unwanted(house: &Arc<House>, id: &SessionId) {
    let journal = house.store.journal();
    let mut follower = journal.follow(journal.head());
    loop {
        if matches!(house.store.sessions().find(id).await, Ok(Some(session)) if session.is_unwanted()) {
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
            (session.turn, session.unwanted) = (None, None);
            session.delivered = session.asked;
            let text = format!("There is no answer: {why}");
            tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    said.await
}
