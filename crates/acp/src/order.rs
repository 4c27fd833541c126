//! What the program is asked to do.

use serde::{Deserialize, Serialize};

/// One turn with an agent, as a file in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Order {
    /// The agent and its arguments.
    pub agent: Vec<String>,
    /// The folder that the conversation is about.
    pub folder: String,
    /// What is asked when an earlier conversation goes on.
    pub prompt: String,
    /// What is asked when it has to be begun anew: everything that there is to know.
    pub whole_prompt: String,
    /// The earlier conversation.
    pub session: Option<String>,
    /// The model to choose, when the agent lets us.
    pub model: Option<String>,
    /// The address of an MCP server to offer.
    pub mcp: Option<String>,
}
