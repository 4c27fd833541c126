//! Templates: what sandboxes start from, as their rows remember them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ExecId, KeyId, NodeId, ProviderName, TemplateName};

/// The beginning of the names of snapshots.
pub const SNAPSHOT: &str = "snapshot/";

/// A template that somebody asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// Its name.
    pub name: TemplateName,
    /// The provider that has it.
    pub provider: ProviderName,
    /// How far it is.
    pub phase: TemplatePhase,
    /// What it was asked to be made from, without secrets.
    pub source: serde_json::Value,
    /// What it was made from, as a sentence.
    pub origin: Option<String>,
    /// Bytes of all its layers.
    pub bytes: Option<u64>,
    /// How many layers it has.
    pub layers: Option<u32>,
    /// Whether the memory of its processes was kept too.
    pub memory: bool,
    /// Why it is where it is, when that needs a sentence.
    pub note: Option<String>,
    /// The transcript of its making.
    pub log: ExecId,
    /// Who asked for it.
    pub created_by: KeyId,
    /// The node that makes it.
    pub node: NodeId,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// When it was ready.
    pub ready_at: Option<Timestamp>,
    /// Counts the changes of the row.
    pub revision: i64,
}

/// How far a template is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TemplatePhase {
    /// Asked for.
    Requested,
    /// Being made.
    Building,
    /// Sandboxes can start from it.
    Ready,
    /// It could not be made, and says why.
    Failed,
}

impl TemplatePhase {
    /// All of them.
    pub const ALL: [TemplatePhase; 4] =
        [TemplatePhase::Requested, TemplatePhase::Building, TemplatePhase::Ready, TemplatePhase::Failed];

    /// The word used in JSON, SQL and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            TemplatePhase::Requested => "requested",
            TemplatePhase::Building => "building",
            TemplatePhase::Ready => "ready",
            TemplatePhase::Failed => "failed",
        }
    }

    /// The phase that a word names.
    pub fn from_word(word: &str) -> Option<TemplatePhase> {
        TemplatePhase::ALL.into_iter().find(|phase| phase.word() == word)
    }

    /// Nothing happens to it by itself any more.
    pub fn is_settled(self) -> bool {
        matches!(self, TemplatePhase::Ready | TemplatePhase::Failed)
    }
}
