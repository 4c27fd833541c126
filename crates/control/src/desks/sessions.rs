//! The sessions desk: conversations between people and agents, each at its own desk.

use std::sync::Arc;

use carrel_model::{
    Action, AgentId, Authority, Grant, RepoName, SandboxId, SessionId, Subject,
    agent::Voice,
    audit::{AuditLine, Outcome},
    public::{NewInterruption, NewMessage, NewSession, Page, SandboxView, SessionView, Timeline},
    sandbox::{Depth, Network},
    session::{Moment, MomentKind, Session, SessionPhase},
};
use carrel_store::SessionFilter;

use super::{
    agents,
    cards::{moment, new_session},
    repos, see_request,
    tasks::{as_field, check_message},
};
use crate::{
    Error, Idempotency, Paging, SandboxesDesk,
    house::House,
    secret::{new_sandbox_id, new_session_id},
    tasks::{desk, dozing},
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
/// How long a caller waits for an answer to be broken off; it is broken off all the same when that takes longer.
const STOPS_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);
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
        check_title(&title)?;
        let meta = new.meta.unwrap_or_default();
        if serde_json::to_string(&meta).map_or(0, |text| text.len()) > LARGEST_META {
            return Err(Error::field("meta", "at most 64 KiB"));
        }
        let repo = match &new.repo {
            Some(repo) => Some(repos::founded(self.house, repo).await.map_err(|error| as_field("repo", error))?),
            None => None,
        };
        let began = match &repo {
            Some(repo) => Some(desk::beginning_of(self.house, repo).await?),
            None => None,
        };
        let network = match new.network {
            Some(network) => network.policy().map_err(|fields| Error::Invalid { fields })?,
            None => repo.map_or_else(Network::default, |repo| repo.rules.network).and(&found.network),
        };
        let mut session = new_session(grant, new_session_id(), agent, title, self.house.store.now());
        (session.repo, session.idle, session.meta) = (new.repo, new.idle_s.or(self.house.settings.work.idle), meta);
        (session.network, session.base_commit) = (network, began);
        self.begin(grant, session, Vec::new(), idempotency).await
    }

    /// Writes a session down with what was said before it began, if anything was, and asks for its desk.
    pub(super) async fn begin(
        &self,
        grant: &Grant,
        mut session: Session,
        past: Vec<Moment>,
        idempotency: Option<Idempotency>,
    ) -> Result<(SessionView, bool), Error> {
        let agent = agents::find(self.house, &session.agent).await.map_err(|error| as_field("agent", error))?;
        // Its desk has a name before it exists, so that it is found whatever dies. Nothing was saved yet.
        session.sandbox_id = Some(new_sandbox_id());
        session.laid.clone_from(&session.sandbox_id);
        let (by, wanted) = (grant.clone(), session);
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                if let Some(seen) = see_request(tx, &by, idempotency, wanted.id.as_str()).await? {
                    return Ok::<_, Error>(Err(seen));
                }
                let mut session = wanted;
                for moment in past {
                    tx.complete(&session, moment).await?;
                }
                if let Some(origin) = &session.fork_of {
                    let text = format!("This goes on from session {origin}, at moment {}.", session.last_seq);
                    tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
                }
                tx.put_session(&mut session).await?;
                let subject = Some(session.id.to_string());
                tx.audit(&AuditLine::by(&by, Action::SessionCreate.word(), subject, Outcome::Done, tx.now())).await?;
                Ok(Ok(session))
            })
        });
        match written.await? {
            Ok(session) => {
                desk::of_session(self.house, &session, &agent).await?;
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
        // What follows its desk may be a moment behind, and the conversations of tasks do not follow theirs.
        if let Some(phase) = dozing::phase_of(self.house, &session).await? {
            view.phase = phase;
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

    /// Breaks off the answer in flight, politely at first, and waits until it is over. What the agent did so far stays, and
    /// what was said meanwhile is what it reads next. An answer that nobody began is not begun.
    pub async fn interrupt(&self, grant: &Grant, id: &SessionId, asked: NewInterruption) -> Result<SessionView, Error> {
        let session = self.look(grant, id, Action::SessionDrive).await?;
        if let Some(task) = session.task_id {
            return Err(Error::Conflict { why: format!("this is the conversation of task {task}: stop the task") });
        }
        let said = match asked.text {
            Some(text) => {
                self.house.admit(grant, Action::SessionMessage, Subject::from(&session)).await?;
                let message = NewMessage { role: None, text };
                let voice = check_message(grant, &message)?;
                Some(moment(MomentKind::Message, voice, message.text))
            }
            None => None,
        };
        let journal = self.house.store.journal();
        let mut follower = journal.follow(journal.head());
        let (owned, by) = (id.clone(), grant.clone());
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&owned).await?.ok_or_else(|| no_session(&owned))?;
                if session.phase == SessionPhase::Closed || session.closing {
                    return Err(Error::Conflict { why: format!("session {owned} is closed") });
                }
                let turn = session.turn.as_ref().map(|turn| turn.number);
                if turn.is_none() && said.is_none() && !session.is_asked() {
                    return Err(Error::Conflict { why: "nobody works on an answer".into() });
                }
                let is_new = if turn.is_some() { session.unwanted != turn } else { said.is_none() };
                if is_new {
                    let text = format!("`{}` stopped it.", by.name);
                    tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
                }
                session.unwanted = turn;
                match said {
                    Some(said) => {
                        tx.say(&mut session, said).await?;
                        session.phase = SessionPhase::Open;
                    }
                    None if turn.is_none() => session.delivered = session.asked,
                    None => {}
                }
                tx.put_session(&mut session).await?;
                let subject = Some(owned.to_string());
                tx.audit(&AuditLine::by(&by, Action::SessionDrive.word(), subject, Outcome::Done, tx.now())).await?;
                Ok::<_, Error>(session)
            })
        });
        let mut session = written.await?;
        // One that stands still because somebody paused the desk under it could not hear of it.
        desk::rouse(self.house, session.sandbox_id.as_ref(), &desk::grant_of(&session.created_by)).await;
        let end = tokio::time::sleep(STOPS_WITHIN);
        tokio::pin!(end);
        while session.unwanted.is_some() && session.is_unwanted() {
            tokio::select! {
                news = follower.next() => drop(news?),
                () = &mut end => break,
            }
            session = self.house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
        }
        Ok(SessionView::from(&session))
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

    pub(super) async fn look(&self, grant: &Grant, id: &SessionId, action: Action) -> Result<Session, Error> {
        let session = self.house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
        self.house.admit(grant, action, Subject::from(&session)).await?;
        Ok(session)
    }
}

pub(super) async fn timeline(house: &House, id: &SessionId, after: i64, limit: u32) -> Result<Timeline, Error> {
    let turn = house.store.sessions().find(id).await?.and_then(|session| session.turn);
    let growing = turn.and_then(|turn| turn.growing).map(|growing| growing.seq);
    let mut items = house.store.sessions().moments(id, after, limit + 1).await?;
    items.iter_mut().for_each(|moment| moment.unfinished = growing == Some(moment.seq));
    let next = Paging::cut(&mut items, limit, |moment| moment.seq.to_string());
    Ok(Timeline { items, next })
}

pub(crate) fn no_session(id: &SessionId) -> Error {
    Error::NotFound { what: format!("session {id}") }
}

pub(super) fn check_title(title: &str) -> Result<(), Error> {
    let fits = !title.trim().is_empty() && title.chars().count() <= 200 && !title.contains(char::is_control);
    if fits { Ok(()) } else { Err(Error::field("title", "1 to 200 characters on one line")) }
}

fn desk_of(session: &Session) -> Result<&SandboxId, Error> {
    session.sandbox_id.as_ref().ok_or_else(|| Error::Conflict { why: format!("session {} has no desk", session.id) })
}
