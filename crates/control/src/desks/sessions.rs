//! The sessions desk: conversations between people and agents, each at its own desk.

use std::sync::Arc;

use carrel_model::{
    Action, AgentId, Authority, Grant, RepoName, SandboxId, SessionId, Subject,
    audit::{AuditLine, Outcome},
    public::{NewMessage, NewSession, Page, SandboxView, SessionView, Timeline},
    sandbox::{Depth, Network, Phase},
    session::{Moment, MomentKind, Session, SessionPhase},
};
use carrel_store::SessionFilter;

use super::{
    agents, repos, see_request,
    tasks::{as_field, check_message, moment, new_session},
};
use crate::{
    Error, Idempotency, Paging, SandboxesDesk,
    house::House,
    secret::{new_sandbox_id, new_session_id},
    tasks::desk,
};

/// Begins, shows and ends sessions.
pub struct SessionsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// Which sessions are asked for.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// In this phase; everything but `closed` when not given.
    pub phase: Option<SessionPhase>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// With this repository.
    pub repo: Option<RepoName>,
    /// In which something holds this text.
    pub text: Option<String>,
    /// How much of the list.
    pub paging: Paging,
}

/// How long a caller waits for a session to be closed; it is closed all the same when that takes longer.
const CLOSES_WITHIN: std::time::Duration = std::time::Duration::from_secs(60);
/// What may be written on a session besides its title.
const LARGEST_META: usize = 64 * 1024;

impl SessionsDesk<'_> {
    /// Begins a session and asks for its desk at once.
    pub async fn create(
        &self,
        grant: &Grant,
        new: NewSession,
        idempotency: Option<Idempotency>,
    ) -> Result<(SessionView, bool), Error> {
        let own = || grant.authority.agent().cloned();
        let agent = new.agent.clone().or_else(own).unwrap_or_else(|| self.house.settings.work.agent.clone());
        let subject = Subject::Session { id: None, agent: &agent, sandbox: None };
        self.house.admit(grant, Action::SessionCreate, subject).await?;
        let found = agents::find(self.house, &agent).await.map_err(|error| as_field("agent", error))?;
        let title = new.title.unwrap_or_else(|| "Untitled".to_owned());
        if title.trim().is_empty() || title.chars().count() > 200 || title.contains(|letter: char| letter.is_control())
        {
            return Err(Error::field("title", "1 to 200 characters on one line"));
        }
        let meta = new.meta.unwrap_or_default();
        if serde_json::to_string(&meta).map_or(0, |text| text.len()) > LARGEST_META {
            return Err(Error::field("meta", "at most 64 KiB"));
        }
        if let Some(repo) = &new.repo {
            repos::find(self.house, repo).await.map_err(|error| as_field("repo", error))?;
        }
        let network = match new.network {
            Some(network) => network.policy().map_err(|fields| Error::Invalid { fields })?,
            None => Network::default(),
        };
        let mut session = new_session(grant, new_session_id(), agent, title, self.house.store.now());
        (session.repo, session.idle, session.meta) = (new.repo, new.idle_s.or(self.house.settings.work.idle), meta);
        session.network = network;
        // Its desk has a name before it exists, so that it is found whatever dies. Nothing was saved yet.
        session.sandbox_id = Some(new_sandbox_id());
        session.laid.clone_from(&session.sandbox_id);
        let (by, wanted) = (grant.clone(), session.clone());
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                if let Some(seen) = see_request(tx, &by, idempotency, wanted.id.as_str()).await? {
                    return Ok::<_, Error>(Err(seen));
                }
                let mut session = wanted;
                tx.put_session(&mut session).await?;
                let subject = Some(session.id.to_string());
                tx.audit(&AuditLine::by(&by, Action::SessionCreate.word(), subject, Outcome::Done, tx.now())).await?;
                Ok(Ok(session))
            })
        });
        match written.await? {
            Ok(session) => {
                desk::of_session(self.house, &session, &found).await?;
                Ok((SessionView::from(&session), false))
            }
            Err(earlier) => {
                let id = earlier.parse().map_err(|_| Error::NotFound { what: format!("session {earlier}") })?;
                Ok((self.get(grant, &id).await?, true))
            }
        }
    }

    /// Shows a session.
    pub async fn get(&self, grant: &Grant, id: &SessionId) -> Result<SessionView, Error> {
        let session = self.look(grant, id, Action::SessionRead).await?;
        let mut view = SessionView::from(&session);
        // Its desk may have fallen asleep by itself.
        if view.phase != SessionPhase::Closed
            && let Some(sandbox) = &session.sandbox_id
            && let Ok(desk) = (SandboxesDesk { house: self.house }).look(sandbox).await
        {
            let asleep = desk.phase == Phase::Paused || desk.want == carrel_model::sandbox::Want::Paused;
            view.phase = if asleep { SessionPhase::Idle } else { SessionPhase::Open };
        }
        Ok(view)
    }

    /// A page of sessions, newest first: those that the grant covers. Those of tasks are shown with their tasks.
    pub async fn list(&self, grant: &Grant, query: SessionQuery) -> Result<Page<SessionView>, Error> {
        let limit = query.paging.limit();
        let mut filter = SessionFilter {
            phase: query.phase,
            agent: query.agent,
            repo: query.repo,
            alone: true,
            text: query.text,
            before: query.paging.after()?,
            ..SessionFilter::default()
        };
        match &grant.authority {
            Authority::Admin | Authority::Member => {}
            Authority::Agent(me) => filter.agent = Some(me.clone()),
            Authority::Sandbox(me) => {
                let own = self.house.store.sessions().of_sandbox(me).await?;
                return Ok(Page { items: own.iter().map(SessionView::from).collect(), next: None });
            }
        }
        let mut sessions = self.house.store.sessions().list(&filter, limit + 1).await?;
        let next = Paging::cut(&mut sessions, limit, |session| Paging::place(session.created_at, session.id.as_str()));
        Ok(Page { items: sessions.iter().map(SessionView::from).collect(), next })
    }

    /// Says something. The answer comes as moments; a desk that sleeps is woken.
    pub async fn say(&self, grant: &Grant, id: &SessionId, message: NewMessage) -> Result<Moment, Error> {
        let session = self.look(grant, id, Action::SessionMessage).await?;
        if let Some(task) = session.task_id {
            let why = format!("this is the conversation of task {task}: say it to the task");
            return Err(Error::Conflict { why });
        }
        let voice = check_message(grant, &message)?;
        let (owned, text) = (id.clone(), message.text);
        let said = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&owned).await?.ok_or_else(|| no_session(&owned))?;
                if session.phase == SessionPhase::Closed || session.closing {
                    return Err(Error::Conflict { why: format!("session {owned} is closed") });
                }
                let mut said = moment(MomentKind::Message, voice, text);
                said.seq = tx.say(&mut session, said.clone()).await?;
                said.at = tx.now();
                session.phase = SessionPhase::Open;
                tx.put_session(&mut session).await?;
                Ok::<_, Error>(said)
            })
        });
        let said = said.await?;
        // An answer that stands still because somebody paused the desk under it goes on.
        desk::rouse(self.house, session.sandbox_id.as_ref(), &desk::grant_of(&session.created_by)).await;
        Ok(said)
    }

    /// What was said and done, oldest first.
    pub async fn timeline(&self, grant: &Grant, id: &SessionId, after: i64, limit: u32) -> Result<Timeline, Error> {
        self.look(grant, id, Action::SessionRead).await?;
        timeline(self.house, id, after, limit).await
    }

    /// What holds a text, newest first.
    pub async fn search(&self, grant: &Grant, id: &SessionId, text: &str, limit: u32) -> Result<Timeline, Error> {
        self.look(grant, id, Action::SessionRead).await?;
        Ok(Timeline { items: self.house.store.sessions().search(id, text, limit).await?, next: None })
    }

    /// The desk of a session.
    pub async fn sandbox(&self, grant: &Grant, id: &SessionId) -> Result<Arc<SandboxView>, Error> {
        let session = self.look(grant, id, Action::SessionRead).await?;
        SandboxesDesk { house: self.house }.look(desk_of(&session)?).await
    }

    /// Makes sure that a session has a desk: the one that it has, or a new one when that was lost.
    pub async fn provision(&self, grant: &Grant, id: &SessionId) -> Result<Arc<SandboxView>, Error> {
        let session = self.look(grant, id, Action::SessionDrive).await?;
        if session.phase == SessionPhase::Closed || session.closing {
            return Err(Error::Conflict { why: format!("session {id} is closed") });
        }
        let sandbox = desk::ensure_session(self.house, id).await?;
        SandboxesDesk { house: self.house }.look(&sandbox).await
    }

    /// Saves the work and lets the desk sleep.
    pub async fn pause(&self, grant: &Grant, id: &SessionId) -> Result<Arc<SandboxView>, Error> {
        let session = self.look(grant, id, Action::SessionDrive).await?;
        if session.turn.is_some() {
            return Err(Error::Conflict {
                why: "the agent works on an answer; it is never paused in the middle".into(),
            });
        }
        let sandbox = desk_of(&session)?.clone();
        let house = desk::grant_of(&session.created_by);
        let view = SandboxesDesk { house: self.house }.pause(&house, &sandbox, Depth::default()).await?;
        self.set_phase(id, SessionPhase::Idle).await?;
        Ok(view)
    }

    /// Wakes the desk.
    pub async fn resume(&self, grant: &Grant, id: &SessionId) -> Result<Arc<SandboxView>, Error> {
        let session = self.look(grant, id, Action::SessionDrive).await?;
        let sandbox = desk_of(&session)?.clone();
        let house = desk::grant_of(&session.created_by);
        let view = SandboxesDesk { house: self.house }.resume(&house, &sandbox).await?;
        self.set_phase(id, SessionPhase::Open).await?;
        Ok(view)
    }

    /// Ends a session, and its desk with it.
    pub async fn close(&self, grant: &Grant, id: &SessionId) -> Result<SessionView, Error> {
        let session = self.look(grant, id, Action::SessionDrive).await?;
        if let Some(task) = session.task_id {
            return Err(Error::Conflict { why: format!("this is the conversation of task {task}: close the task") });
        }
        let journal = self.house.store.journal();
        let mut follower = journal.follow(journal.head());
        let (owned, by) = (id.clone(), grant.clone());
        let wanted = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&owned).await?.ok_or_else(|| no_session(&owned))?;
                if session.phase != SessionPhase::Closed && !session.closing {
                    session.closing = true;
                    session.note = Some("It is being closed.".into());
                    tx.put_session(&mut session).await?;
                    let subject = Some(owned.to_string());
                    tx.audit(&AuditLine::by(&by, Action::SessionDrive.word(), subject, Outcome::Done, tx.now()))
                        .await?;
                }
                Ok::<_, Error>(session)
            })
        });
        let mut session = wanted.await?;
        // Whoever answers in it closes it: that is done once, however often it is begun.
        let end = tokio::time::sleep(CLOSES_WITHIN);
        tokio::pin!(end);
        while session.phase != SessionPhase::Closed {
            tokio::select! {
                news = follower.next() => drop(news?),
                () = &mut end => break,
            }
            session = self.house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
        }
        Ok(SessionView::from(&session))
    }

    async fn set_phase(&self, id: &SessionId, phase: SessionPhase) -> Result<Session, Error> {
        let owned = id.clone();
        let changed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&owned).await?.ok_or_else(|| no_session(&owned))?;
                if session.phase != phase && session.phase != SessionPhase::Closed {
                    session.phase = phase;
                    tx.put_session(&mut session).await?;
                }
                Ok::<_, Error>(session)
            })
        });
        changed.await
    }

    async fn look(&self, grant: &Grant, id: &SessionId, action: Action) -> Result<Session, Error> {
        let session = self.house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
        self.house.admit(grant, action, Subject::from(&session)).await?;
        Ok(session)
    }
}

pub(super) async fn timeline(house: &House, id: &SessionId, after: i64, limit: u32) -> Result<Timeline, Error> {
    let mut items = house.store.sessions().moments(id, after, limit + 1).await?;
    let next = Paging::cut(&mut items, limit, |moment| moment.seq.to_string());
    Ok(Timeline { items, next })
}

pub(crate) fn no_session(id: &SessionId) -> Error {
    Error::NotFound { what: format!("session {id}") }
}

fn desk_of(session: &Session) -> Result<&SandboxId, Error> {
    session.sandbox_id.as_ref().ok_or_else(|| Error::Conflict { why: format!("session {} has no desk", session.id) })
}
