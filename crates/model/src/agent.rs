//! Agents: named ways to run a coding agent.

use std::{collections::BTreeMap, fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentId, Malformed, TemplateName,
    command::CommandRules,
    ids::{is_slug, name},
    sandbox::{EnvName, EnvValue, Network},
};

name!(
    /// Names a dialect: how a kind of agent is started and what it prints.
    DialectName,
    "a dialect is 1 to 31 lower-case letters, digits, `_` or `-`, such as `shell`",
    |text| is_slug(text, 31, b"_-")
);

/// An agent, as its row remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: AgentId,
    /// How it is started and read.
    pub dialect: DialectName,
    /// What is run, when it is not the dialect's own program.
    #[serde(default)]
    pub command: Option<String>,
    /// Its environment. May hold what is nobody's business: never shown.
    #[serde(default)]
    pub env: BTreeMap<EnvName, EnvValue>,
    /// The model that it asks for.
    #[serde(default)]
    pub model: Option<String>,
    /// What its sandboxes start from; the house's own when left out.
    #[serde(default)]
    pub template: Option<TemplateName>,
    /// How many of its tasks may work at the same time.
    #[serde(default)]
    pub at_once: Option<crate::number::Whole<1, 10_000>>,
    /// How an agent of dialect `custom` is run and read, as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phrases: Option<serde_json::Value>,
    /// Whether the tools of its desk are offered to it.
    #[serde(default)]
    pub mcp: bool,
    /// What may be run at its desks when somebody asks for it from outside.
    #[serde(default, skip_serializing_if = "CommandRules::is_open")]
    pub commands: CommandRules,
    /// Whom its desks may talk to when a card or a session does not say.
    #[serde(default, skip_serializing_if = "Network::is_none")]
    pub network: Network,
    /// It came with the house, and was not changed.
    #[serde(default)]
    pub built_in: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts its changes.
    pub revision: i64,
}

/// What can be wrong with a command from outside.
pub fn check_command(command: &str) -> Result<(), Malformed> {
    if command.trim().is_empty() || command.len() > 65_536 || command.contains('\0') {
        return Err(Malformed { rule: "a command is 1 to 65536 bytes without NUL" });
    }
    Ok(())
}

/// Who says something at a desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Voice {
    /// A person.
    User,
    /// The agent.
    Agent,
    /// Carrel itself.
    House,
}
