//! The past of a session: what changed since a checkpoint, its files as they were there, and another conversation that goes
//! on from there.
//!
//! Only sessions with a repository have checkpoints: a desk without one has nothing that is saved.

use std::sync::Arc;

use carrel_git::{GitError, Move};
use carrel_model::{
    Action, Branch, CommitId, Grant, Holder, RefName, RepoName, SessionId, Subject,
    public::{DiffFileView, NewSessionFork, NewSessionTask, NewTask, SandboxView, SessionView, TaskView},
    session::{Moment, Session},
};

use super::{
    agents,
    cards::{Talk, new_session},
    diffs::{Extract, Span},
    opening::{self, Past},
    repos,
    sessions::check_title,
    tasks::as_field,
};
use crate::{Error, Idempotency, SessionsDesk, TasksDesk, secret::new_session_id, tasks::desk::no_branch};

/// What is asked of a task that goes on from a session, when nobody says.
const FINISH: &str = "Finish what was begun here, so that it can be reviewed as a pull request.";
/// So many moments are read in one go.
const PAGE: u32 = 1000;

impl SessionsDesk<'_> {
    /// What a session changed, as text: from where it began up to its newest save, or between two checkpoints.
    pub async fn diff(&self, grant: &Grant, id: &SessionId, extract: &Extract) -> Result<Vec<u8>, Error> {
        extract.check()?;
        match self.span(grant, id, extract.from, extract.to).await? {
            Some(span) => span.patch(extract).await,
            None => Ok(Vec::new()),
        }
    }

    /// The files that a session changed, without their lines.
    pub async fn diff_files(
        &self,
        grant: &Grant,
        id: &SessionId,
        from: Option<i64>,
        to: Option<i64>,
    ) -> Result<Vec<DiffFileView>, Error> {
        match self.span(grant, id, from, to).await? {
            Some(span) => span.files().await,
            None => Ok(Vec::new()),
        }
    }

    async fn span(
        &self,
        grant: &Grant,
        id: &SessionId,
        from: Option<i64>,
        to: Option<i64>,
    ) -> Result<Option<Span>, Error> {
        let session = self.look(grant, id, Action::SessionRead).await?;
        let (repo, base) = self.place_of(&session).await?;
        let mirror = self.house.library.mirror(repo).await?;
        let at = async |seq: i64| {
            let moment = self.house.store.sessions().moment(id, seq).await?;
            let commit = moment.and_then(|moment| moment.commit);
            commit.ok_or_else(|| Error::NotFound { what: format!("checkpoint {seq} of session {id}") })
        };
        let newest = match to {
            Some(seq) => Some(at(seq).await?),
            None => self.newest(&session, repo).await?,
        };
        let Some(newest) = newest else { return Ok(None) };
        let began = match from {
            Some(seq) => Some(at(seq).await?),
            None => mirror.left_at(&base, &newest, 0).await?.or_else(|| session.base_commit.clone()),
        };
        Ok(began.map(|began| Span { mirror, from: began, to: newest }))
    }

    /// Opens a sandbox with the files of a checkpoint. It is nobody's desk: nothing is saved from it.
    pub async fn open_at(&self, grant: &Grant, id: &SessionId, seq: i64) -> Result<Arc<SandboxView>, Error> {
        let session = self.look(grant, id, Action::SessionRead).await?;
        let (repo, base) = self.place_of(&session).await?;
        let branch = Holder::Session(id.clone()).to_string();
        let past = Past { session: id, repo, agent: &session.agent, branch, base };
        opening::open(self.house, grant, past, seq).await
    }

    /// Begins another session that goes on from a checkpoint: with its files, and with what was said until then.
    pub async fn fork(
        &self,
        grant: &Grant,
        id: &SessionId,
        asked: NewSessionFork,
        idempotency: Option<Idempotency>,
    ) -> Result<(SessionView, bool), Error> {
        let origin = self.look(grant, id, Action::SessionRead).await?;
        if let Some(task) = origin.task_id {
            return Err(Error::Conflict { why: format!("this is the conversation of task {task}: fork the task") });
        }
        let agent = asked.agent.unwrap_or_else(|| origin.agent.clone());
        let subject = Subject::Session { id: None, agent: &agent, sandbox: None };
        self.house.admit(grant, Action::SessionCreate, subject).await?;
        let found = agents::find(self.house, &agent).await.map_err(|error| as_field("agent", error))?;
        self.place_of(&origin).await?;
        let seq = self.checkpoint_at(id, asked.from).await?;
        let commit = opening::checkpoint(self.house, id, seq).await?;
        let past = self.past(id, seq).await?;
        let title = asked.title.unwrap_or_else(|| origin.title.clone());
        check_title(&title)?;
        let mut session = new_session(grant, new_session_id(), agent, title, self.house.store.now());
        (session.repo, session.idle, session.network) = (origin.repo, origin.idle, origin.network.and(&found.network));
        (session.fork_of, session.base_commit) = (Some(id.clone()), Some(commit));
        session.turns = past.last().map_or(0, |moment| moment.turn);
        // Everything until then was heard; who answers is told of it, for it was not there.
        (session.last_seq, session.asked, session.delivered) = (seq, seq, seq);
        self.begin(grant, session, past, idempotency).await
    }

    /// Writes a card that goes on from a checkpoint: with its files, and with what was said until then. So the work of a
    /// session becomes a pull request.
    pub async fn write_card(
        &self,
        grant: &Grant,
        id: &SessionId,
        asked: NewSessionTask,
        idempotency: Option<Idempotency>,
    ) -> Result<(TaskView, bool), Error> {
        let origin = self.look(grant, id, Action::SessionRead).await?;
        if let Some(task) = origin.task_id {
            return Err(Error::Conflict { why: format!("this is the conversation of task {task}: fork the task") });
        }
        let (repo, _) = self.place_of(&origin).await?;
        let seq = self.checkpoint_at(id, asked.from).await?;
        let commit = opening::checkpoint(self.house, id, seq).await?;
        let mirror = self.house.library.mirror(repo).await?;
        if !mirror.has(&commit).await? {
            let why = format!("what session {id} saved at moment {seq} is not kept any more");
            return Err(Error::Conflict { why });
        }
        let talk = Talk { of: id.clone(), seq, commit: commit.clone(), past: self.past(id, seq).await? };
        let new = NewTask {
            repo: repo.clone(),
            title: asked.title.unwrap_or_else(|| origin.title.clone()),
            prompt: Some(asked.prompt.unwrap_or_else(|| FINISH.to_owned())),
            agent: Some(asked.agent.unwrap_or_else(|| origin.agent.clone())),
            base: None,
            start: asked.start,
            priority: None,
            due: None,
            labels: Vec::new(),
            depends_on: Vec::new(),
            isolation: None,
            network: None,
            budget_usd: None,
        };
        let (task, repeated) =
            (TasksDesk { house: self.house }).create_from(grant, new, Some(talk), idempotency).await?;
        // The session may be closed long before somebody works on the card. Who does already has saved it.
        if !repeated && mirror.saved_upon(&commit).await?.is_some() {
            let step = Move { name: RefName::wip(task.id), from: None, to: Some(commit) };
            match mirror.move_refs(&[step]).await {
                Ok(()) | Err(GitError::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((task, repeated))
    }

    /// The place of a checkpoint that is asked for: the newest one unless it is said which.
    async fn checkpoint_at(&self, id: &SessionId, from: Option<i64>) -> Result<i64, Error> {
        if let Some(seq) = from {
            return Ok(seq);
        }
        let newest = self.house.store.sessions().checkpoints(id, 1).await?;
        let none = || Error::Conflict { why: format!("session {id} has no checkpoint yet") };
        newest.first().map(|moment| moment.seq).ok_or_else(none)
    }

    /// What was said and done up to a moment.
    async fn past(&self, id: &SessionId, seq: i64) -> Result<Vec<Moment>, Error> {
        let mut past: Vec<Moment> = Vec::new();
        loop {
            let after = past.last().map_or(0, |moment| moment.seq);
            let mut more = self.house.store.sessions().moments(id, after, PAGE).await?;
            more.retain(|moment| moment.seq <= seq);
            if more.is_empty() {
                return Ok(past);
            }
            past.append(&mut more);
        }
    }

    /// The repository of a session, and the branch that it is compared with.
    async fn place_of<'s>(&self, session: &'s Session) -> Result<(&'s RepoName, Branch), Error> {
        let none =
            || Error::Conflict { why: format!("session {} has no repository: nothing is saved in it", session.id) };
        let repo = session.repo.as_ref().ok_or_else(none)?;
        let base = repos::find(self.house, repo).await?.default_branch.ok_or_else(|| no_branch(repo))?;
        Ok((repo, base))
    }

    /// The newest save of a session; of one that is closed, what was kept or its last checkpoint.
    async fn newest(&self, session: &Session, repo: &RepoName) -> Result<Option<CommitId>, Error> {
        let (mirror, holder) = (self.house.library.mirror(repo).await?, Holder::Session(session.id.clone()));
        if let Some(saved) = mirror.saved(&holder).await? {
            return Ok(Some(saved));
        }
        if let Some(kept) = mirror.find(&holder.kept()).await? {
            return Ok(Some(kept));
        }
        match &session.saved {
            Some(saved) if mirror.has(saved).await? => Ok(Some(saved.clone())),
            _ => Ok(None),
        }
    }
}
