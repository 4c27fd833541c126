//! How one agent of the house is set up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AgentError, Phrases};

/// An agent's own settings; the dialect stands beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    /// What to run, as a line for `sh`. Dialects that know their program run that when nothing is said.
    pub command: Option<String>,
    /// The agent's own variables. They win over what the dialect would set. No secrets: the agent sees them.
    pub env: BTreeMap<String, String>,
    /// The model to use, as the program spells it.
    pub model: Option<String>,
    /// The language of an agent of dialect `custom`.
    pub phrases: Option<Phrases>,
    /// Whether the house's MCP server is offered to the agent.
    pub mcp: bool,
}

impl AgentSettings {
    /// What is said of the command, when anything is.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref().map(str::trim).filter(|command| !command.is_empty())
    }

    /// Looks at what every dialect hands to a program.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        if self.command.as_deref().is_some_and(|command| command.contains('\0') || command.len() > 64 * 1024) {
            return Err(AgentError::Unusable { field: "command", rule: "is at most 64 KiB of text without a NUL" });
        }
        if !self.env.keys().all(|name| is_variable(name)) {
            return Err(AgentError::Unusable { field: "env", rule: "has names of letters, digits and `_`" });
        }
        if self.env.values().any(|value| value.contains('\0') || value.len() > 64 * 1024) {
            return Err(AgentError::Unusable { field: "env", rule: "has values of at most 64 KiB without a NUL" });
        }
        // It becomes an argument: nothing that could be taken for an option, nothing that ends a line.
        let rule = "begins with a letter or digit and has no spaces or control characters, at most 200";
        let spelled = |model: &String| {
            model.len() <= 200
                && model.starts_with(|first: char| first.is_ascii_alphanumeric())
                && !model.contains(|any: char| any.is_whitespace() || any.is_control())
        };
        if !self.model.as_ref().is_none_or(spelled) {
            return Err(AgentError::Unusable { field: "model", rule });
        }
        Ok(())
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
