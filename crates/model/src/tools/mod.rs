//! Which agent or role may use which tools of `/mcp`, as a file says it.
//!
//! ```yaml
//! roles:
//!   sandbox: { deny: [task_ask] }
//! agents:
//!   reviewer: { allow: ["files_*", git_diff, git_log, "pull_*"] }
//! ```
//!
//! A file takes away and never gives: what a grant does not cover stays closed whatever is written here.

use std::collections::HashMap;

use serde::Deserialize;

use crate::{AgentId, Grant, Role, command::is_like, ids::Malformed};

/// What one file says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolMap {
    /// By role: `admin`, `member`, `agent`, or `sandbox` for whoever works at a desk.
    pub roles: HashMap<Role, ToolRules>,
    /// By agent: whose key it is, or who works at the desk.
    pub agents: HashMap<AgentId, ToolRules>,
}

/// What one role or agent may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolRules {
    /// Only these, when they are named; an empty list is none at all.
    pub allow: Option<Vec<ToolPattern>>,
    /// Not these.
    pub deny: Vec<ToolPattern>,
}

/// A name of a tool; `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ToolPattern(String);

impl TryFrom<String> for ToolPattern {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || byte == b'*';
        if (1..=64).contains(&text.len()) && text.bytes().all(fits) {
            return Ok(ToolPattern(text));
        }
        Err(Malformed { rule: "a tool is 1 to 64 lower-case letters, `_` or `*`, such as `task_*`" })
    }
}

impl ToolMap {
    /// Reads a file. What is wrong with it is a sentence.
    pub fn from_yaml(text: &str) -> Result<ToolMap, String> {
        // A sentence goes to a log and to an agent: it quotes nothing of the file.
        let options = serde_saphyr::options! { with_snippet: false };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
    }

    /// Whether whoever has this role, and is this agent, may use a tool.
    pub fn permits(&self, role: Role, agent: Option<&AgentId>, tool: &str) -> bool {
        let of_role = self.roles.get(&role);
        let of_agent = agent.and_then(|agent| self.agents.get(agent));
        of_role.into_iter().chain(of_agent).all(|rules| rules.permit(tool))
    }

    /// The same for a grant that says itself whose it is.
    pub fn permits_grant(&self, grant: &Grant, at_desk_of: Option<&AgentId>, tool: &str) -> bool {
        let agent = match &grant.authority {
            crate::Authority::Agent(agent) => Some(agent),
            _ => at_desk_of,
        };
        self.permits(grant.authority.role(), agent, tool)
    }
}

impl ToolRules {
    fn permit(&self, tool: &str) -> bool {
        let any = |patterns: &[ToolPattern]| patterns.iter().any(|pattern| is_like(&pattern.0, tool));
        self.allow.as_deref().is_none_or(any) && !any(&self.deny)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: serde_json::Value) -> ToolMap {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_not_named_stays_open() {
        let map = map(json!({"roles": {"sandbox": {"deny": ["task_ask"]}}}));
        assert!(map.permits(Role::Admin, None, "task_ask"));
        assert!(map.permits(Role::Sandbox, None, "task_show"));
        assert!(!map.permits(Role::Sandbox, None, "task_ask"));
    }

    #[test]
    fn the_role_and_the_agent_must_both_permit() {
        let map = map(json!({
            "roles": {"agent": {"deny": ["sandbox_remove"]}},
            "agents": {"reviewer": {"allow": ["files_*", "sandbox_*"]}, "nobody": {"allow": []}},
        }));
        let (reviewer, nobody) = ("reviewer".parse().unwrap(), "nobody".parse().unwrap());
        assert!(map.permits(Role::Agent, Some(&reviewer), "files_read"));
        assert!(!map.permits(Role::Agent, Some(&reviewer), "git_push"));
        assert!(!map.permits(Role::Agent, Some(&reviewer), "sandbox_remove"));
        assert!(!map.permits(Role::Sandbox, Some(&nobody), "files_read"));
    }

    #[test]
    fn yaml_is_read_in_blocks_and_brackets() {
        let text = "---\n# who may what\nroles:\n  sandbox: { deny: [task_ask, \"area_*\"] } # not these\n  member:\n    allow:\n    - files_*\n    - 'git_log'\nagents:\n  reviewer:\n    allow: []\n    deny:\n      - git_push\n";
        let wanted = json!({
            "roles": {"sandbox": {"deny": ["task_ask", "area_*"]}, "member": {"allow": ["files_*", "git_log"]}},
            "agents": {"reviewer": {"allow": [], "deny": ["git_push"]}},
        });
        assert_eq!(ToolMap::from_yaml(text), Ok(map(wanted)));
        assert_eq!(ToolMap::from_yaml("# nothing\n\n"), Ok(ToolMap::default()));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_its_line() {
        for (odd, line) in [
            ("roles: [", 1),
            ("roles: [[], []]", 1),
            ("roles: {agent: words", 1),
            ("roles: *x", 1),
            ("roles:\n  agent: {}\n  agent: {}", 3),
            ("roles:\n\tagent: {}", 2),
            ("roles:\n  agent: {}\n member: {}", 3),
            ("roles: {}\n---\nagents: {}", 3),
            ("just words", 1),
            ("roles: {root: {}}", 1),
            ("agents: {x: {allow: task_show}}", 1),
        ] {
            let refused = ToolMap::from_yaml(odd).expect_err(odd);
            assert!(refused.contains(&format!("line {line}, ")), "{odd:?}: {refused}");
        }
        // A few lines that would be billions.
        let laughs = (1..30).map(|at| format!("a{at}: &a{at} [*a{0}, *a{0}, *a{0}]\n", at - 1)).collect::<String>();
        assert!(ToolMap::from_yaml(&format!("a0: &a0 [x]\n{laughs}roles: *a29\n")).is_err());
    }

    proptest::proptest! {
        #[test]
        fn reading_never_panics(text in "[ -~\n\t]{0,80}") {
            let _ = ToolMap::from_yaml(&text);
        }
    }

    #[test]
    fn what_is_misspelt_is_refused() {
        for odd in [
            json!({"role": {}}),
            json!({"roles": {"root": {}}}),
            json!({"roles": {"agent": {"permit": []}}}),
            json!({"agents": {"x": {"allow": ["Task Show"]}}}),
        ] {
            assert!(serde_json::from_value::<ToolMap>(odd.clone()).is_err(), "{odd}");
        }
    }
}
