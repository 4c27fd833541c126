//! What may be run and reached at a desk, as the outside asks for it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::NewNetwork;
use crate::{
    command::{CommandPattern, CommandRules},
    sandbox::HostRule,
};

/// Changes what may be run when somebody asks for it; what is left out stays, an empty list lifts it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CommandRulesChange {
    /// Only what fits one of these may be run, such as `git **`; at most 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<CommandPattern>>,
    /// What fits one of these may not be run, such as `git push **`; at most 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Vec<CommandPattern>>,
}

impl CommandRulesChange {
    /// The rules after this change.
    pub fn apply(self, rules: &CommandRules) -> CommandRules {
        CommandRules {
            allow: self.allow.unwrap_or_else(|| rules.allow.clone()),
            deny: self.deny.unwrap_or_else(|| rules.deny.clone()),
        }
    }
}

/// Changes an agent without saying the rest of it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentChange {
    /// What may be run at its desks when somebody asks for it from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<CommandRulesChange>,
    /// Whom its desks may talk to when a card or a session does not say. Headers name their secrets; no proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NewNetwork>,
}

/// Lets a sandbox reach more hosts than before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoreHosts {
    /// The hosts, such as `example.org`, `*.example.org` or `example.org:443`.
    #[schema(value_type = Vec<String>)]
    pub allow: Vec<HostRule>,
}
