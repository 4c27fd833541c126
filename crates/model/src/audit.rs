//! The audit: who did or tried what, to what, from where, and how it ended.

use jiff::Timestamp;

use crate::{Grant, KeyId, Role};

/// One line of the audit, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// When.
    pub at: Timestamp,
    /// The key that asked, when it was known.
    pub key: Option<KeyId>,
    /// The key's name, or `nobody`, or `carrel` for the house itself.
    pub name: String,
    /// The key's role, when it was known.
    pub role: Option<Role>,
    /// What was asked, such as `sandbox.create`.
    pub action: String,
    /// What it was asked of.
    pub subject: Option<String>,
    /// Where the request came from.
    pub origin: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// More, when there is more to say. Never a secret.
    pub detail: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was refused.
    Denied,
}

impl Outcome {
    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Denied => "denied",
        }
    }

    /// The outcome that a word names.
    pub fn from_word(word: &str) -> Option<Outcome> {
        [Outcome::Done, Outcome::Denied].into_iter().find(|outcome| outcome.word() == word)
    }
}

impl AuditLine {
    /// A line about something a grant asked for.
    pub fn by(grant: &Grant, action: &str, subject: Option<String>, outcome: Outcome, at: Timestamp) -> AuditLine {
        AuditLine {
            at,
            key: Some(grant.key.clone()),
            name: grant.name.clone(),
            role: Some(grant.authority.role()),
            action: action.to_owned(),
            subject,
            origin: grant.origin.clone(),
            outcome,
            detail: None,
        }
    }

    /// The same line with more to say.
    pub fn with_detail(mut self, detail: impl Into<String>) -> AuditLine {
        self.detail = Some(detail.into());
        self
    }
}
