//! Sessions in the database, and what was said and done in them.

use carrel_model::{
    AgentId, RepoName, SandboxId, SessionId, TaskId, Timestamp,
    agent::Voice,
    public::{Happening, SessionView},
    session::{Moment, MomentKind, Session, SessionPhase},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Arg, Row, args, understood},
};

/// The sessions.
pub struct Sessions<'s> {
    pub(crate) store: &'s Store,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// In this phase; everything but `closed` when not given.
    pub phase: Option<SessionPhase>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// With this repository.
    pub repo: Option<RepoName>,
    /// Of this task.
    pub task: Option<TaskId>,
    /// Those that are not a task's.
    pub alone: bool,
    /// In which something holds this text.
    pub text: Option<String>,
    /// Older than this one: the last of the page before.
    pub before: Option<(Timestamp, SessionId)>,
}

impl Sessions<'_> {
    /// The session with this id.
    pub async fn find(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let sql = "SELECT * FROM sessions WHERE id = $1";
        self.store.sql().fetch_optional(sql, args![id.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// The session whose desk this is.
    pub async fn of_sandbox(&self, id: &SandboxId) -> Result<Option<Session>, StoreError> {
        let sql = "SELECT * FROM sessions WHERE sandbox_id = $1";
        self.store.sql().fetch_optional(sql, args![id.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// A page of sessions, newest first.
    pub async fn list(&self, filter: &SessionFilter, most: u32) -> Result<Vec<Session>, StoreError> {
        let mut conditions = vec![match filter.phase {
            Some(phase) => format!("phase = '{}'", phase.word()),
            None => "phase <> 'closed'".to_owned(),
        }];
        let mut values: Vec<Arg> = Vec::new();
        let mut only = |condition: &str, value: Option<Arg>| {
            if let Some(value) = value {
                values.push(value);
                conditions.push(condition.replace('?', &format!("${}", values.len())));
            }
        };
        only("agent = ?", filter.agent.as_ref().map(|id| id.as_str().into()));
        only("repo = ?", filter.repo.as_ref().map(|name| name.as_str().into()));
        only("task_id = ?", filter.task.map(|id| i64::from(id).into()));
        let text = filter.text.as_ref().map(|text| crate::sql::like(text).into());
        let said = "EXISTS (SELECT 1 FROM moments WHERE session_id = sessions.id AND text LIKE ? ESCAPE '\\')";
        only(said, text);
        if filter.alone {
            conditions.push("task_id IS NULL".into());
        }
        if let Some((at, id)) = &filter.before {
            values.extend(args![*at, id.as_str()]);
            conditions.push(format!("(created_at, id) < (${}, ${})", values.len() - 1, values.len()));
        }
        values.push(i64::from(most).into());
        let sql = format!(
            "SELECT * FROM sessions WHERE {} ORDER BY created_at DESC, id DESC LIMIT ${}",
            conditions.join(" AND "),
            values.len()
        );
        self.store.sql().fetch_all(sql, values).await?.iter().map(read).collect()
    }

    /// The sessions, not a task's, in which somebody waits for an answer or one is being given.
    pub async fn asked(&self) -> Result<Vec<Session>, StoreError> {
        let sql = "SELECT * FROM sessions WHERE is_asked = 1 AND task_id IS NULL AND phase <> 'closed'";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }

    /// What was said and done after a place, in order.
    pub async fn moments(&self, id: &SessionId, after: i64, most: u32) -> Result<Vec<Moment>, StoreError> {
        let sql = "SELECT body FROM moments WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let rows = self.store.sql().fetch_all(sql, args![id.as_str(), after, i64::from(most)]).await?;
        rows.iter().map(read_moment).collect()
    }

    /// What holds a text, newest first.
    pub async fn search(&self, id: &SessionId, text: &str, most: u32) -> Result<Vec<Moment>, StoreError> {
        let sql =
            "SELECT body FROM moments WHERE session_id = $1 AND text LIKE $2 ESCAPE '\\' ORDER BY seq DESC LIMIT $3";
        let values = args![id.as_str(), crate::sql::like(text), i64::from(most)];
        self.store.sql().fetch_all(sql, values).await?.iter().map(read_moment).collect()
    }

    /// The moment at a place.
    pub async fn moment(&self, id: &SessionId, seq: i64) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT body FROM moments WHERE session_id = $1 AND seq = $2";
        let row = self.store.sql().fetch_optional(sql, args![id.as_str(), seq]).await?;
        row.as_ref().map(read_moment).transpose()
    }

    /// The newest checkpoints, newest first.
    pub async fn checkpoints(&self, id: &SessionId, most: u32) -> Result<Vec<Moment>, StoreError> {
        let sql = "SELECT body FROM moments WHERE session_id = $1 AND kind = 'checkpoint' ORDER BY seq DESC LIMIT $2";
        let rows = self.store.sql().fetch_all(sql, args![id.as_str(), i64::from(most)]).await?;
        rows.iter().map(read_moment).collect()
    }

    /// What the agent was told after a place: the words of people and of the house.
    pub async fn said_to_agent(&self, id: &SessionId, after: i64) -> Result<Vec<Moment>, StoreError> {
        let sql = "SELECT body FROM moments WHERE session_id = $1 AND seq > $2 AND kind = 'message'
                   AND role <> 'agent' ORDER BY seq";
        let rows = self.store.sql().fetch_all(sql, args![id.as_str(), after]).await?;
        rows.iter().map(read_moment).collect()
    }
}

impl Tx {
    /// Reads a session and keeps others from changing it until this change is over.
    pub async fn lock_session(&mut self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM sessions WHERE id = $1{lock}");
        self.work.fetch_optional(sql, args![id.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// Writes a session as it now is, whether or not it was written before, and tells of it.
    pub async fn put_session(&mut self, session: &mut Session) -> Result<(), StoreError> {
        session.revision += 1;
        session.updated_at = self.now();
        let sql =
            "INSERT INTO sessions (id, phase, agent, repo, task_id, sandbox_id, is_asked, body, created_at, revision)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                   ON CONFLICT (id) DO UPDATE SET phase = $2, agent = $3, repo = $4, task_id = $5, sandbox_id = $6,
                       is_asked = $7, body = $8, revision = $10";
        let body = serde_json::to_string(&*session).map_err(|_| StoreError::Corrupt { what: "a session".into() })?;
        let values = args![
            session.id.as_str(),
            session.phase.word(),
            session.agent.as_str(),
            session.repo.as_ref().map(|name| name.as_str()),
            session.task_id.map(i64::from),
            session.sandbox_id.as_ref().map(|id| id.as_str()),
            i64::from(session.is_busy()),
            body,
            session.created_at,
            session.revision,
        ];
        self.work.execute(sql, values).await?;
        self.tell(Happening::Session { session: Box::new(SessionView::from(&*session)) });
        Ok(())
    }

    /// Writes down what was said or done at the end of a session that is locked in this change, and tells of it. The
    /// session itself is not written: whoever says something writes it when everything is said.
    pub async fn say(&mut self, session: &mut Session, mut moment: Moment) -> Result<i64, StoreError> {
        session.last_seq += 1;
        (moment.seq, moment.at) = (session.last_seq, self.now());
        let for_agent = moment.kind == MomentKind::Message && moment.role != Voice::Agent;
        if for_agent {
            session.asked = moment.seq;
        }
        self.put_moment(session, moment).await?;
        Ok(session.last_seq)
    }

    /// Writes a moment anew, now that there is more of it, and tells of it.
    pub async fn complete(&mut self, session: &Session, moment: Moment) -> Result<(), StoreError> {
        self.put_moment(session, moment).await
    }

    async fn put_moment(&mut self, session: &Session, moment: Moment) -> Result<(), StoreError> {
        let sql =
            "INSERT INTO moments (session_id, seq, kind, role, text, body, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
                   ON CONFLICT (session_id, seq) DO UPDATE SET text = $5, body = $6";
        let corrupt = || StoreError::Corrupt { what: "a moment".into() };
        let word = |value: Result<serde_json::Value, _>| match value {
            Ok(serde_json::Value::String(word)) => Ok(word),
            _ => Err(corrupt()),
        };
        // Whether it is still being said is known by the turn in flight: who stops saying it stops in the middle.
        let body = serde_json::to_string(&Moment { unfinished: false, ..moment.clone() }).map_err(|_| corrupt())?;
        let values = args![
            session.id.as_str(),
            moment.seq,
            word(serde_json::to_value(moment.kind))?,
            word(serde_json::to_value(moment.role))?,
            moment.text.replace('\0', ""),
            body,
            moment.at,
        ];
        self.work.execute(sql, values).await?;
        self.tell(Happening::Moment {
            session_id: session.id.clone(),
            agent: session.agent.clone(),
            task_id: session.task_id,
            moment: Box::new(moment),
        });
        Ok(())
    }

    /// The first message in a session that its agent was not given yet.
    pub async fn first_asked(&mut self, session: &Session) -> Result<Option<Moment>, StoreError> {
        let sql =
            "SELECT body FROM moments WHERE session_id = $1 AND seq > $2 AND kind = 'message' ORDER BY seq LIMIT 1";
        let row = self.work.fetch_optional(sql, args![session.id.as_str(), session.delivered]).await?;
        row.as_ref().map(read_moment).transpose()
    }

    /// The newest use of a tool that is known by this id in a session.
    pub async fn find_tool(&mut self, session: &Session, tool: &str) -> Result<Option<Moment>, StoreError> {
        let sql = "SELECT body FROM moments WHERE session_id = $1 AND kind = 'tool' ORDER BY seq DESC LIMIT 64";
        let rows = self.work.fetch_all(sql, args![session.id.as_str()]).await?;
        for row in &rows {
            let moment = read_moment(row)?;
            if moment.tool.as_ref().is_some_and(|used| used.id == tool) {
                return Ok(Some(moment));
            }
        }
        Ok(None)
    }
}

fn read(row: &Row) -> Result<Session, StoreError> {
    understood("sessions.body", serde_json::from_str(&row.text("body")?).ok())
}

fn read_moment(row: &Row) -> Result<Moment, StoreError> {
    understood("moments.body", serde_json::from_str(&row.text("body")?).ok())
}
