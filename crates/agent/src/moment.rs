//! What an agent did, one thing at a time.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Something that happened in a turn. Each is bounded in size; what was left out of a long text is said in it.
///
/// An agent of our own writes a moment as one line of JSON: `{"moment":"said","text":"Looking around."}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "moment", rename_all = "snake_case")]
pub enum Moment {
    /// It said something to us.
    Said {
        /// What it said, as Markdown or plain text.
        text: String,
    },
    /// It thought aloud.
    Thought {
        /// What it thought.
        text: String,
    },
    /// It began to use a tool.
    ToolBegan {
        /// Names this use within the turn.
        id: String,
        /// The tool's own name, such as `bash`.
        name: String,
        /// One line for people, such as the command.
        #[serde(default)]
        title: String,
        /// What the tool was given.
        #[serde(default)]
        input: Value,
    },
    /// A tool came back.
    ToolEnded {
        /// The use that ended.
        id: String,
        /// Whether it did what it was asked for.
        ok: bool,
        /// What it answered.
        #[serde(default)]
        output: String,
    },
    /// The model was used. Each of these counts by itself: the turn's use is their sum.
    Spent(Spending),
    /// What continues this conversation later.
    Conversation {
        /// In the agent's own words.
        id: String,
    },
    /// It wants to know something from a person.
    Asked {
        /// What it wants to know.
        question: String,
    },
    /// Something worth a line that nobody said: a retry, a warning, a plan.
    Noted {
        /// One line.
        text: String,
    },
}

/// What a piece of work has used of a model, as the agent counts it. The gateway counts for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Spending {
    /// Tokens that were sent and were not known from before.
    pub input_tokens: u64,
    /// Tokens that came back.
    pub output_tokens: u64,
    /// Tokens that the provider remembered.
    pub cache_read_tokens: u64,
    /// Tokens that the provider was asked to remember.
    pub cache_write_tokens: u64,
    /// What the agent believes it costs.
    pub cost_usd: Option<f64>,
}

impl Spending {
    /// Whether it says anything at all.
    pub fn is_nothing(&self) -> bool {
        *self == Spending::default()
    }
}
