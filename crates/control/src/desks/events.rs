//! The events desk: the journal, as much of it as a grant covers.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, SandboxId, Subject, TaskId,
    public::{Cursor, Happening, Kind, Reset},
};
use carrel_store::{Follower, News, Written};

use crate::{Error, house::House};

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
}

/// Follows the journal on behalf of a grant.
pub struct Listener {
    follower: Follower,
    filter: EventFilter,
    grant: Grant,
}

impl EventsDesk<'_> {
    /// Follows the journal after a cursor, or from now on.
    pub async fn follow(&self, grant: &Grant, after: Option<Cursor>, filter: EventFilter) -> Result<Listener, Error> {
        self.house.admit(grant, Action::EventsFollow, Subject::House).await?;
        let journal = self.house.store.journal();
        let follower = journal.follow(after.unwrap_or_else(|| journal.head()));
        Ok(Listener { follower, filter, grant: grant.clone() })
    }

    /// The newest entry this node has seen.
    pub fn head(&self) -> Cursor {
        self.house.store.journal().head()
    }
}

impl Listener {
    /// Waits for what comes next. May be called off and called again: nothing is lost.
    pub async fn next(&mut self) -> Result<Heard, Error> {
        Ok(match self.follower.next().await? {
            News::Reset(reset) => Heard::Reset(reset),
            News::Entries(mut entries) => {
                entries.retain(|written| self.wants(&written.entry().happening));
                Heard::Entries(entries)
            }
        })
    }

    /// The last entry that was taken from the journal, whether it passed the filter or not.
    pub fn cursor(&self) -> Cursor {
        self.follower.cursor()
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
        };
        covered.is_ok()
            && self.filter.sandbox.as_ref().is_none_or(|wanted| sandbox == Some(wanted))
            && self.filter.task.is_none_or(|wanted| task == Some(wanted))
    }
}
