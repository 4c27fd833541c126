//! Dialects as data: how to start a program that we do not know, and what its lines mean.
//!
//! ```toml
//! arguments = ["my-agent", "run", "--json", ["--model", "{model}"], ["--resume", "{conversation}"], "{prompt}"]
//! env = { MY_AGENT_URL = "{openai}" }
//!
//! [[lines]]
//! when = { "/type" = "message" }
//! said = "/message/text"
//!
//! [[lines]]
//! when = { "/type" = "result" }
//! done = true
//! spent = { input_tokens = "/usage/input", output_tokens = "/usage/output", cost_usd = "/cost" }
//! ```
//!
//! A place in an object is a JSON pointer. An argument, or a group of them, that speaks of something that is not there
//! (no model was chosen, no conversation goes on) is left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::AgentError;

/// A dialect as data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Phrases {
    /// The program and its arguments, with `{prompt}`, `{asked}`, `{rules}`, `{model}`, `{conversation}`, `{workspace}`,
    /// `{home}`, `{gateway}`, `{openai}`, `{anthropic}` and `{mcp}` filled in. `{prompt}` is rules, past and wish in one
    /// text; `{asked}` is the wish alone.
    pub arguments: Vec<Argument>,
    /// What it reads on standard input, filled in the same way.
    pub stdin: Option<String>,
    /// Variables, filled in the same way.
    pub env: BTreeMap<String, String>,
    /// What its lines mean. Every entry that fits a line counts.
    pub lines: Vec<Pointers>,
    /// Whether lines that are no JSON object are something it says. They are when `lines` is empty.
    pub plain: bool,
}

/// One argument, or several that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Argument {
    /// One argument.
    One(String),
    /// An option and its value.
    Group(Vec<String>),
}

/// What a kind of line means, by JSON pointers into it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pointers {
    /// The line is meant when each of these places holds this value. `"*"` is any value.
    pub when: BTreeMap<String, Value>,
    /// A whole message.
    pub said: Option<String>,
    /// A piece of a message.
    pub piece: Option<String>,
    /// A whole thought.
    pub thought: Option<String>,
    /// Something worth a line.
    pub noted: Option<String>,
    /// What continues the conversation.
    pub conversation: Option<String>,
    /// A tool is used: `id`, `name`, `title`, `input`.
    pub tool_began: BTreeMap<String, String>,
    /// A tool came back: `id`, `output`, and `failed`, a place that holds something when it did not work.
    pub tool_ended: BTreeMap<String, String>,
    /// What was spent: `input_tokens`, `output_tokens`, `cache_read_tokens`, `cache_write_tokens`, `cost_usd`.
    pub spent: BTreeMap<String, String>,
    /// Why the turn failed.
    pub failed: Option<String>,
    /// The turn is over.
    pub done: bool,
}

const BLANKS: [&str; 11] =
    ["prompt", "asked", "rules", "model", "conversation", "workspace", "home", "gateway", "openai", "anthropic", "mcp"];

impl Phrases {
    /// Reads them as TOML.
    pub fn from_toml(text: &str) -> Result<Phrases, AgentError> {
        let phrases: Phrases =
            toml::from_str(text).map_err(|wrong| AgentError::Phrases { why: wrong.message().to_owned() })?;
        phrases.check()?;
        Ok(phrases)
    }

    /// Whether they can be used at all.
    pub fn check(&self) -> Result<(), AgentError> {
        let wrong = |why: String| Err(AgentError::Phrases { why });
        let mut texts: Vec<&str> = Vec::new();
        for argument in &self.arguments {
            match argument {
                Argument::One(text) => texts.push(text),
                Argument::Group(group) => texts.extend(group.iter().map(String::as_str)),
            }
        }
        if texts.is_empty() {
            return wrong("`arguments` names no program".to_owned());
        }
        texts.extend(self.stdin.as_deref());
        texts.extend(self.env.values().map(String::as_str));
        for text in &texts {
            if let Some(unknown) = blanks(text).find(|name| !BLANKS.contains(name)) {
                return wrong(format!("nothing is known that would fill in {{{unknown}}}"));
            }
        }
        if !texts.iter().any(|text| text.contains("{prompt}") || text.contains("{asked}")) {
            return wrong("the prompt is passed nowhere: write {prompt} into `arguments`, `stdin` or `env`".to_owned());
        }
        match self.lines.iter().flat_map(Pointers::all).find(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
        {
            Some(pointer) => wrong(format!("{pointer:?} is no JSON pointer; it would begin with `/`")),
            None => Ok(()),
        }
    }
}

impl Pointers {
    fn all(&self) -> impl Iterator<Item = &String> {
        [&self.said, &self.piece, &self.thought, &self.noted, &self.conversation, &self.failed]
            .into_iter()
            .flatten()
            .chain(self.when.keys())
            .chain([&self.tool_began, &self.tool_ended, &self.spent].into_iter().flat_map(BTreeMap::values))
    }
}

/// The names in braces, as far as they look like names.
pub(crate) fn blanks(text: &str) -> impl Iterator<Item = &str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
        .filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(toml: &str) -> String {
        Phrases::from_toml(toml).expect_err("it is wrong").to_string()
    }

    #[test]
    fn phrases_that_cannot_work_are_refused_with_the_reason() {
        assert!(why("").contains("names no program"));
        assert!(why("arguments = ['x']").contains("the prompt is passed nowhere"));
        assert!(why("arguments = ['x', '{prompt}', '{colour}']").contains("{colour}"));
        assert!(why("arguments = ['x', '{prompt}']\n[[lines]]\nsaid = 'text'").contains("no JSON pointer"));
        assert!(why("arguments = ['x', '{prompt}']\nsaid = 1").contains("said"));
    }

    #[test]
    fn json_in_an_argument_is_not_taken_for_a_blank() {
        Phrases::from_toml(r#"arguments = ['x', '{"a":{"b":1}}', '{prompt}']"#).expect("it can be used");
    }
}
