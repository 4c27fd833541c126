//! One turn of an agent: started under a name that is written down first, read from its beginning however often the
//! server dies, and its moments written down once each.

mod hearing;
mod launch;

use std::{sync::Arc, time::Duration};

use carrel_agent::{DeskRules, Ending, Failure};
use carrel_model::{
    CommitId, SandboxId, SessionId, Timestamp,
    agent::Voice,
    session::{DeskState, MomentKind, Session, Turn},
};

pub(super) use self::hearing::signal;
use self::{
    hearing::{Ours, follow},
    launch::start,
};
use super::review;
use crate::{
    Error, ExecsDesk, SandboxesDesk,
    desks::{agents, cards::moment, sessions::no_session},
    house::House,
    secret::new_exec_id,
    work,
};

/// How long a save may take.
const SAVES_WITHIN: Duration = Duration::from_secs(120);

/// How a turn went.
pub(crate) enum Went {
    /// It came to an end.
    Ended(Ending),
    /// Nothing was asked.
    Nothing,
    /// Somebody wanted it to stop.
    Stopped,
}

/// Where a turn is taken.
pub(crate) struct At<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) sandbox: &'a SandboxId,
    pub(crate) rules: DeskRules,
    /// Whether there is a checkout whose work is saved.
    pub(crate) saves: bool,
    /// Whether what got no answer is asked again with the next turn.
    pub(crate) asks_again: bool,
}

impl At<'_> {
    /// Others who work on the same files hear of what was saved.
    fn tell_of_save(&self, house: &Arc<House>) {
        if let (Some(task), Some(repo)) = (self.rules.task, &self.rules.repo) {
            review::saved(house, repo, task);
        }
    }
}

/// Takes the next turn of a session, or goes on with the one in flight, until it ends or `unwanted` comes true.
pub(crate) async fn take<F>(house: &Arc<House>, at: &At<'_>, unwanted: F) -> Result<Went, Error>
where
    F: Future<Output = ()> + Send,
{
    let session = house.store.sessions().find(at.session).await?.ok_or_else(|| no_session(at.session))?;
    let agent = agents::find(house, &session.agent).await?;
    let grant = super::desk::grant_of(&session.created_by);
    let before = session.updated_at;
    let Some(session) = plan(house, at.session).await? else { return Ok(Went::Nothing) };
    let Some(turn) = session.turn.clone() else { return Ok(Went::Nothing) };
    let running = match (ExecsDesk { house }).follow(&turn.exec).await? {
        Some(running) => {
            tell_of_gap(house, at.session, before).await?;
            running
        }
        None if turn.begun => {
            // It began, and nothing is known of it: its row was forgotten. It is asked again.
            let why = "nothing is known any more of the turn that was in flight".to_owned();
            end(house, at.session, &turn, Over { delivered: true, ..Over::default() }).await?;
            return Ok(Went::Ended(Ending::Failed { why, failure: Failure::Transient }));
        }
        None => match start(house, &grant, at, &agent, &session, &turn).await {
            Ok(running) => running,
            Err(error) => {
                end(house, at.session, &turn, Over::default()).await?;
                return Err(error);
            }
        },
    };
    let followed = follow(house, &grant, at, &agent, &turn, running, unwanted).await?;
    let answered = match &followed {
        // In a conversation whoever breaks an answer off has had enough of it; a task still wants what was asked.
        Went::Ended(Ending::Failed { .. }) | Went::Stopped => !at.asks_again,
        Went::Ended(_) | Went::Nothing => true,
    };
    let mut over = Over { delivered: answered, ..Over::default() };
    if at.saves
        && matches!(followed, Went::Ended(Ending::Failed { .. }) | Went::Stopped)
        && let Err(error) = work::unlock(house, at.sandbox).await
    {
        tracing::debug!(sandbox = %at.sandbox, error = &error as &dyn std::error::Error, "locks may have stayed");
    }
    if at.saves {
        match save(house, at.sandbox).await {
            // What was saved during the turn is its checkpoint as well.
            Ok(commit) => {
                if commit.is_some() {
                    at.tell_of_save(house);
                }
                let last = commit.or(last_save(house, at.session, at.sandbox).await?);
                // A turn that left nothing is a checkpoint as well: where the work began.
                over.commit = last.or(beginning(house, &session).await?);
            }
            Err(why) => over.notes.push(format!("The work could not be saved: {why}")),
        }
    }
    if let Went::Ended(Ending::Failed { why, .. }) = &followed {
        over.notes.push(format!("There is no answer: {why}"));
    }
    end(house, at.session, &turn, over).await?;
    Ok(followed)
}

/// A turn that is found in flight was out of sight: its server died, or lost it. What it did meanwhile follows.
async fn tell_of_gap(house: &Arc<House>, id: &SessionId, since: Timestamp) -> Result<(), Error> {
    let id = id.clone();
    let told = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            let away = tx.now().duration_since(since).as_secs().max(0);
            let text = format!(
                "The house lost sight of the agent, {away} s after it was last heard of, and takes it up again: what it \
                 did meanwhile follows."
            );
            let mut said = moment(MomentKind::Note, Voice::House, text);
            said.turn = session.turns;
            tx.say(&mut session, said).await?;
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    told.await
}

/// Writes down what the next turn is to be, unless one is in flight or nothing was asked.
async fn plan(house: &Arc<House>, id: &SessionId) -> Result<Option<Session>, Error> {
    let (id, node) = (id.clone(), house.settings.node.clone());
    let planned = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            if let Some(turn) = &mut session.turn {
                // Whoever read it until now may only have slept.
                if turn.node.as_ref() != Some(&node) {
                    turn.node = Some(node);
                    tx.put_session(&mut session).await?;
                }
                return Ok(Some(session));
            }
            if !session.is_asked() {
                return Ok(None);
            }
            session.turns += 1;
            session.turn = Some(Turn {
                number: session.turns,
                upto: session.asked,
                exec: new_exec_id(),
                begun: false,
                moments: 0,
                growing: None,
                node: Some(node),
                at: tx.now(),
            });
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(Some(session))
        })
    });
    planned.await
}

/// Saves the work of a desk. A save that fails is tried again with the next one: nobody stops working for it.
async fn save(house: &Arc<House>, sandbox: &SandboxId) -> Result<Option<CommitId>, String> {
    let saved = match tokio::time::timeout(SAVES_WITHIN, work::save_work(house, sandbox)).await {
        Ok(saved) => saved.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it took longer than {SAVES_WITHIN:?}")),
    };
    if let Err(why) = &saved {
        tracing::warn!(%sandbox, why, "work was not saved");
    }
    saved
}

/// What a desk saved last, if anything was ever saved there.
async fn last_save(house: &Arc<House>, id: &SessionId, sandbox: &SandboxId) -> Result<Option<CommitId>, Error> {
    let session = house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
    let Some(repo) = &session.repo else { return Ok(None) };
    let Some(spec) = house.store.sandboxes().find(sandbox).await?.map(|found| found.spec) else { return Ok(None) };
    match work::holder_of(house, sandbox, &spec).await? {
        Some(holder) => Ok(house.library.mirror(repo).await?.saved(&holder).await?),
        None => Ok(None),
    }
}

/// Where the work of a session began: that of its task, or its own.
async fn beginning(house: &Arc<House>, session: &Session) -> Result<Option<CommitId>, Error> {
    match session.task_id {
        Some(task) => Ok(house.store.tasks().find(task).await?.and_then(|task| task.base_commit)),
        None => Ok(session.base_commit.clone()),
    }
}

/// How a turn is put away.
#[derive(Default)]
struct Over {
    /// What was asked was answered, or will not be.
    delivered: bool,
    commit: Option<CommitId>,
    notes: Vec<String>,
}

/// The turn is over, and the desk was saved.
async fn end(house: &Arc<House>, id: &SessionId, turn: &Turn, over: Over) -> Result<(), Error> {
    let Over { delivered, commit, notes } = over;
    let session = house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
    let files = match (&session.repo, &commit) {
        (Some(repo), Some(commit)) => {
            let mirror = house.library.mirror(repo).await?;
            let began = beginning(house, &session).await?;
            let before = match session.saved.clone().or(began) {
                Some(before) => Some(before),
                None => mirror.parent_of(commit).await?,
            };
            match before {
                Some(before) => mirror.changed_files(&before, commit).await.unwrap_or_default(),
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    let desk = desk_of(house, &session).await;
    let (id, ours) = (id.clone(), Ours::new(house, turn));
    let ended = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            let Some(turn) = ours.find(&mut session)?.cloned() else { return Ok(()) };
            session.turn = None;
            session.unwanted = None;
            // One that never began has delivered nothing, and one that was stopped is asked again.
            if delivered {
                session.delivered = turn.upto;
            }
            for note in notes {
                let mut said = moment(MomentKind::Note, Voice::House, note);
                said.turn = turn.number;
                tx.say(&mut session, said).await?;
            }
            if let Some(commit) = commit {
                session.saved = Some(commit.clone());
                let text = match files.len() {
                    0 => "The work was saved.".to_owned(),
                    1 => format!("The work was saved: {} changed.", files[0]),
                    count => format!("The work was saved: {count} files changed."),
                };
                let mut checkpoint = moment(MomentKind::Checkpoint, Voice::House, text);
                (checkpoint.turn, checkpoint.commit, checkpoint.files) = (turn.number, Some(commit), files);
                (checkpoint.cost_usd, checkpoint.desk) = (Some(session.spent_micros as f64 / 1e6), desk);
                tx.say(&mut session, checkpoint).await?;
            }
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    ended.await
}

/// How the desk of a session stands.
async fn desk_of(house: &Arc<House>, session: &Session) -> Option<DeskState> {
    let view = (SandboxesDesk { house }).look(session.sandbox_id.as_ref()?).await.ok()?;
    Some(DeskState {
        sandbox_id: view.id.clone(),
        phase: view.phase,
        provider: view.provider.clone(),
        template: view.template.clone(),
        isolation: view.isolation,
    })
}

async fn edit(
    house: &Arc<House>,
    id: &SessionId,
    edit: impl FnOnce(&mut Session) + Send + 'static,
) -> Result<Session, Error> {
    let id = id.clone();
    let edited = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            edit(&mut session);
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(session)
        })
    });
    edited.await
}
