//! The dialects, one file for each.
//!
//! Each has the same two things: `launch`, which says what to run for a turn, and a grammar that hears its lines.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{AgentSettings, Launch, Turn, heard::Heard};

pub(crate) mod acp;
pub(crate) mod aider;
pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod custom;
pub(crate) mod demo;
pub(crate) mod json;
pub(crate) mod opencode;
pub(crate) mod plain;
pub(crate) mod shell;
pub(crate) mod terminal;

/// Understands the lines of one program.
pub(crate) trait Grammar: Send {
    /// A line that is a JSON object; the line itself stands beside it.
    fn object(&mut self, value: &Value, line: &str, heard: &mut Heard);

    /// Any other line.
    fn text(&mut self, line: &str, heard: &mut Heard);

    /// Nothing more will come.
    fn end(&mut self, _heard: &mut Heard) {}

    /// Whether this program says when its turn is over, so that silence means that it was cut off.
    fn says_when_it_is_done(&self) -> bool {
        true
    }
}

/// A launch of a program with its arguments; what the settings say of variables is already in it.
pub(crate) fn run(settings: &AgentSettings, turn: &Turn, argv: Vec<String>, env: &[(&str, String)]) -> Launch {
    let mut all: BTreeMap<String, String> = desk(turn);
    all.extend(env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    all.extend(settings.env.clone());
    Launch { argv, env: all, stdin: None, terminal: false, files: Vec::new() }
}

/// The program as a list of words for `sh`, with arguments behind it: `sh -c 'COMMAND "$@"' sh ARGUMENTS…`.
///
/// A command of the settings may be a path, a program with options, or a whole line of shell.
pub(crate) fn program(settings: &AgentSettings, usual: &str, arguments: Vec<String>) -> Vec<String> {
    let Some(command) = settings.command() else {
        return std::iter::once(usual.to_owned()).chain(arguments).collect();
    };
    ["sh".to_owned(), "-c".to_owned(), format!("{command} \"$@\""), "sh".to_owned()]
        .into_iter()
        .chain(arguments)
        .collect()
}

/// What every agent may know of its desk.
fn desk(turn: &Turn) -> BTreeMap<String, String> {
    let rules = &turn.rules;
    let known = [
        ("CARREL_TASK", rules.task.map(|task| task.to_string())),
        ("CARREL_REPO", rules.repo.as_ref().map(|repo| repo.to_string())),
        ("CARREL_BRANCH", rules.branch.as_ref().map(|branch| branch.to_string())),
        ("CARREL_BASE", rules.base.as_ref().map(|base| base.to_string())),
        ("CARREL_CHECK", rules.check_command.clone()),
        ("CARREL_CONVERSATION", turn.conversation.clone()),
        ("CARREL_FIRST", Some(if turn.first { "yes" } else { "no" }.to_owned())),
        ("CARREL_GATEWAY", Some(turn.place.gateway.clone())),
        ("ANTHROPIC_BASE_URL", Some(turn.place.anthropic())),
        ("ANTHROPIC_API_KEY", Some(crate::Place::KEY.to_owned())),
        ("OPENAI_BASE_URL", Some(turn.place.openai())),
        ("OPENAI_API_KEY", Some(crate::Place::KEY.to_owned())),
        // A program that asks would wait for ever.
        ("GIT_TERMINAL_PROMPT", Some("0".to_owned())),
        ("GIT_EDITOR", Some("true".to_owned())),
        ("PAGER", Some("cat".to_owned())),
        ("CI", Some("1".to_owned())),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The model for this turn.
pub(crate) fn model<'a>(settings: &'a AgentSettings, turn: &'a Turn) -> Option<&'a str> {
    turn.model.as_deref().or(settings.model.as_deref())
}

/// One line for people from what a tool was given: the words under which tools have what matters most.
pub(crate) fn title(input: &Value) -> String {
    let words = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description", "prompt"];
    let found = words.iter().find_map(|word| match input.get(word)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    });
    found.unwrap_or_default()
}
