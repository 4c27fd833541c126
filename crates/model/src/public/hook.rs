//! Webhooks out, as the outside asks for them and sees them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Cursor, Entry, Field, Happening};
use crate::{
    HookId, KeyId,
    hook::{Delivery, Hook, HookUrl, Topic},
};

/// Adds a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewHook {
    /// Where it is called.
    pub url: HookUrl,
    /// What it wants to hear, such as `task`, `task.needs_you`, `pull`; `task` and `pull` when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Topic>,
    /// The place in the journal after which it begins; where the journal is now when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
}

impl NewHook {
    /// What is wrong with it, field by field.
    pub fn check(&self) -> Result<(), Vec<Field>> {
        let mut wrong = Vec::new();
        if self.events.len() > 64 {
            wrong.push(Field { field: "events".into(), detail: "at most 64".into() });
        }
        if self.after.is_some_and(|after| after < 0) {
            wrong.push(Field { field: "after".into(), detail: "a place in the journal, or 0".into() });
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

/// Asks for entries once more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewReplay {
    /// The place in the journal after which everything is delivered again; the entry that is stuck is tried at once when
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
}

/// A hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookView {
    /// Its name.
    pub id: HookId,
    /// Where it is called.
    pub url: HookUrl,
    /// What it wants to hear.
    pub events: Vec<Topic>,
    /// How it stands: `active`, `failing` or `stopped`.
    pub status: HookStatus,
    /// The last entry of the journal that it needs no more.
    pub cursor: i64,
    /// How many entries were delivered.
    pub delivered: u64,
    /// How often the present entry could not be delivered.
    pub failures: u32,
    /// When it is tried again.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_attempt_at: Option<Timestamp>,
    /// Why nothing is delivered any more.
    pub note: Option<String>,
    /// How the last try went.
    pub last: Option<Delivery>,
    /// Who added it.
    pub created_by: KeyId,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// How a hook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookStatus {
    /// What happens is delivered.
    Active,
    /// The last try failed; it is tried again.
    Failing,
    /// Nothing is delivered until somebody asks for a replay.
    Stopped,
}

impl HookStatus {
    /// The word used in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            HookStatus::Active => "active",
            HookStatus::Failing => "failing",
            HookStatus::Stopped => "stopped",
        }
    }
}

/// A hook that was added, with the secret that its deliveries are signed with. It is shown this once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookAdded {
    /// The hook.
    pub hook: HookView,
    /// `whsec_` and the key, in base64.
    pub secret: String,
}

/// What a hook is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HookLetter {
    /// What happened, such as `task.in_review`.
    pub r#type: String,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Timestamp,
    /// The entry of the journal.
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

impl HookLetter {
    /// The letter that tells of an entry.
    pub fn of(entry: &Entry) -> HookLetter {
        let data = serde_json::to_value(entry).unwrap_or_default();
        HookLetter { r#type: entry.happening.topic(), timestamp: entry.at, data }
    }

    /// A letter that tells of nothing, to try a hook out.
    pub fn test(at: Timestamp, head: Cursor) -> HookLetter {
        HookLetter { r#type: "test".into(), timestamp: at, data: serde_json::json!({"cursor": head}) }
    }
}

impl From<&Hook> for HookView {
    fn from(hook: &Hook) -> Self {
        let status = match (&hook.stopped, hook.failures) {
            (Some(_), _) => HookStatus::Stopped,
            (None, 0) => HookStatus::Active,
            (None, _) => HookStatus::Failing,
        };
        HookView {
            id: hook.id.clone(),
            url: hook.url.clone(),
            events: hook.events.clone(),
            status,
            cursor: hook.cursor,
            delivered: hook.delivered,
            failures: hook.failures,
            next_attempt_at: hook.next_attempt_at,
            note: hook.stopped.clone(),
            last: hook.last.clone(),
            created_by: hook.created_by.clone(),
            created_at: hook.created_at,
        }
    }
}

impl Happening {
    /// Whether it tells of something that is still being said, and will be told again when it is whole.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Happening::Moment { moment, .. } if moment.unfinished)
    }

    /// What happened in two words: the kind, and what became of it.
    pub fn topic(&self) -> String {
        let became = match self {
            Happening::Sandbox { sandbox } => sandbox.phase.word(),
            Happening::Task { task } => task.phase.word(),
            Happening::Session { session } => session.phase.word(),
            Happening::Pull { pull, .. } => pull.phase.word(),
            Happening::Budget { budget } => budget.state.word(),
            Happening::Push { push } => match push.refusal {
                None => "accepted",
                Some(_) => "refused",
            },
            Happening::Moment { moment, .. } => moment.kind.word(),
            Happening::Key { .. }
            | Happening::Provider { .. }
            | Happening::Template { .. }
            | Happening::Repo { .. }
            | Happening::Agent { .. }
            | Happening::Base { .. } => "changed",
        };
        format!("{}.{became}", self.kind().word())
    }
}
