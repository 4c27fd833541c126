//! The events desk: the journal, as much of it as a grant covers.

use std::{sync::Arc, time::Duration};

use carrel_model::{
    Action, Grant, SandboxId, Subject, TaskId, Timestamp,
    public::{Cursor, Happening, Kind, Reset},
};
use carrel_store::{Follower, News, SignInKind, Store, Written};
use tokio::sync::broadcast;

use crate::{Error, house::House, secret::hash};

/// A browser that may have signed out at another node is looked for so often.
const LOOKS_AGAIN: Duration = Duration::from_secs(30);

/// Follows the journal.
pub struct EventsDesk<'h> {
    pub(crate) house: &'h House,
}

/// Which entries are asked for.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// About this sandbox.
    pub sandbox: Option<SandboxId>,
    /// About this task.
    pub task: Option<TaskId>,
    /// Of these kinds; of all kinds when empty.
    pub kinds: Vec<Kind>,
}

/// What a listener hears.
#[derive(Debug, Clone)]
pub enum Heard {
    /// Entries that passed the filter. Possibly none: then only the cursor moved.
    Entries(Vec<Arc<Written>>),
    /// The journal cannot go on from the cursor.
    Reset(Reset),
    /// The key behind the grant was rotated, revoked or has expired, or the browser signed out: there is nothing more to hear.
    Void,
}

/// Follows the journal on behalf of a grant.
pub struct Listener {
    follower: Follower,
    filter: EventFilter,
    grant: Grant,
    /// What happened to the key up to here was known when it was believed.
    believed: Cursor,
    /// How long the key lasts.
    lasts: Option<Duration>,
    began: tokio::time::Instant,
    visit: Option<Visit>,
}

/// The browser that listens, as long as it is signed in.
struct Visit {
    ticket: String,
    sign_outs: broadcast::Receiver<String>,
    store: Store,
    /// When it is looked for again.
    look_at: tokio::time::Instant,
}

impl EventsDesk<'_> {
    /// Follows the journal after a cursor, or from now on. Who came with a `cookie` hears no more when it is signed out.
    pub async fn follow(
        &self,
        grant: &Grant,
        cookie: Option<&str>,
        after: Option<Cursor>,
        filter: EventFilter,
    ) -> Result<Listener, Error> {
        self.house.admit(grant, Action::EventsFollow, Subject::House).await?;
        let journal = self.house.store.journal();
        let believed = journal.head();
        let follower = journal.follow(after.unwrap_or(believed));
        // After the head was taken: whatever ends the key now is heard.
        let lasts = self.lasts(grant).await?;
        let began = tokio::time::Instant::now();
        let mut visit = cookie.map(|cookie| Visit {
            ticket: hash(cookie),
            sign_outs: self.house.sign_outs.subscribe(),
            store: self.house.store.clone(),
            look_at: began + LOOKS_AGAIN,
        });
        // After it listens: a sign-out in between is seen here.
        let lasts = match &mut visit {
            Some(visit) if !visit.is_signed_in().await => Some(Duration::ZERO),
            _ => lasts,
        };
        Ok(Listener { follower, filter, grant: grant.clone(), believed, lasts, began, visit })
    }

    /// How long the key behind a grant lasts: no time at all when it has ended since.
    async fn lasts(&self, grant: &Grant) -> Result<Option<Duration>, Error> {
        let (key, now) = (self.house.store.keys().find(&grant.key).await?, self.house.store.now());
        let left = |end: Timestamp| Duration::try_from(end.duration_since(now)).unwrap_or_default();
        Ok(match key.filter(|key| key.is_good_at(now)) {
            Some(key) => key.expires_at.map(left),
            None => Some(Duration::ZERO),
        })
    }

    /// The newest entry this node has seen.
    pub fn head(&self) -> Cursor {
        self.house.store.journal().head()
    }
}

impl Listener {
    /// Waits for what comes next. May be called off and called again: nothing is lost.
    pub async fn next(&mut self) -> Result<Heard, Error> {
        let news = tokio::select! {
            biased;
            () = run_out(self.lasts.map(|lasts| self.began + lasts)) => return Ok(Heard::Void),
            () = signed_out(&mut self.visit) => {
                self.lasts = Some(Duration::ZERO);
                return Ok(Heard::Void);
            }
            news = self.follower.next() => news?,
        };
        Ok(match news {
            News::Reset(reset) => Heard::Reset(reset),
            News::Entries(mut entries) => {
                if let Some(end) = entries.iter().position(|written| self.ends_the_key(written)) {
                    entries.truncate(end);
                    self.lasts = Some(Duration::ZERO);
                }
                entries.retain(|written| self.wants(&written.entry().happening));
                Heard::Entries(entries)
            }
        })
    }

    /// Whatever happens to a key after it was believed is the end of its secret.
    fn ends_the_key(&self, written: &Written) -> bool {
        let own = |happening: &Happening| matches!(happening, Happening::Key { key } if key.id == self.grant.key);
        written.cursor() > self.believed && own(&written.entry().happening)
    }

    /// The last entry that was taken from the journal, whether it passed the filter or not.
    pub fn cursor(&self) -> Cursor {
        self.follower.cursor()
    }

    /// Budgets are for people: an agent hears of its own with the answer to its next question.
    fn covers_budgets(&self) -> Result<(), carrel_model::Denied> {
        self.grant.covers(Action::SecretRead, Subject::House)
    }

    fn wants(&self, happening: &Happening) -> bool {
        let kind = happening.kind();
        if !self.filter.kinds.is_empty() && !self.filter.kinds.contains(&kind) {
            return false;
        }
        let (covered, sandbox, task) = match happening {
            Happening::Sandbox { sandbox } => {
                let subject = Subject::Sandbox { id: Some(&sandbox.id), agent: sandbox.agent_id.as_ref() };
                (self.grant.covers(Action::SandboxRead, subject), Some(&sandbox.id), sandbox.task_id)
            }
            Happening::Key { key } => (self.grant.covers(Action::KeyRead, Subject::Key(&key.id)), None, None),
            Happening::Provider { .. } => (self.grant.covers(Action::ProviderRead, Subject::House), None, None),
            Happening::Template { template } => {
                (self.grant.covers(Action::TemplateRead, Subject::Template(&template.name)), None, None)
            }
            Happening::Repo { repo } => (self.grant.covers(Action::RepoRead, Subject::Repo(&repo.name)), None, None),
            Happening::Push { push } => {
                let covered = self.grant.covers(Action::RepoRead, Subject::Repo(&push.repo));
                (covered, push.sandbox_id.as_ref(), push.task_id)
            }
            Happening::Task { task } => {
                let sandbox = task.sandbox_id.as_ref();
                let subject = Subject::Task { id: Some(task.id), agent: &task.agent, sandbox };
                (self.grant.covers(Action::TaskRead, subject), sandbox, Some(task.id))
            }
            Happening::Session { session } => {
                let sandbox = session.sandbox_id.as_ref();
                let subject = Subject::Session { id: Some(&session.id), agent: &session.agent, sandbox };
                (self.grant.covers(Action::SessionRead, subject), sandbox, session.task_id)
            }
            Happening::Moment { session_id, agent, task_id, .. } => {
                let subject = Subject::Session { id: Some(session_id), agent, sandbox: None };
                (self.grant.covers(Action::SessionRead, subject), None, *task_id)
            }
            Happening::Agent { agent } => {
                (self.grant.covers(Action::AgentRead, Subject::Agent(&agent.name)), None, None)
            }
            Happening::Pull { pull, .. } => {
                (self.grant.covers(Action::RepoRead, Subject::Repo(&pull.repo)), None, pull.task_id)
            }
            Happening::Base { base } => (self.grant.covers(Action::RepoRead, Subject::Repo(&base.repo)), None, None),
            Happening::Budget { budget } => (self.covers_budgets(), None, budget.task_id),
        };
        covered.is_ok()
            && self.filter.sandbox.as_ref().is_none_or(|wanted| sandbox == Some(wanted))
            && self.filter.task.is_none_or(|wanted| task == Some(wanted))
    }
}

impl Visit {
    async fn is_signed_in(&self) -> bool {
        // A database that does not answer signs nobody out.
        self.store.keys().has_sign_in(&self.ticket, SignInKind::Visit).await.unwrap_or(true)
    }
}

/// Waits until a browser signs out: here, which is heard at once, or at another node, which is seen by and by.
async fn signed_out(visit: &mut Option<Visit>) {
    let Some(visit) = visit else { return std::future::pending().await };
    loop {
        let heard = tokio::time::timeout_at(visit.look_at, visit.sign_outs.recv()).await;
        match heard {
            Ok(Ok(ticket)) if ticket == visit.ticket => return,
            Ok(Ok(_)) => {}
            // Too many signed out at once, or nobody did for a while.
            Ok(Err(_)) | Err(_) => {
                if !visit.is_signed_in().await {
                    return;
                }
                visit.look_at = tokio::time::Instant::now() + LOOKS_AGAIN;
            }
        }
    }
}

async fn run_out(end: Option<tokio::time::Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}
