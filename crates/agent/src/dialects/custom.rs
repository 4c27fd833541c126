//! `custom`: a dialect as data, in the words of [`Phrases`].

use serde_json::Value;

use super::{Grammar, model, plain::Plain, run};
use crate::{
    AgentError, AgentSettings, Launch, Phrases, Pointers, Spending, Turn,
    heard::{Heard, Kind},
    launch::fit,
    phrases::{Argument, blanks},
};

/// The program of the phrases, with what is known filled in.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Result<Launch, AgentError> {
    let phrases = of(settings)?;
    let fill = |text: &String| fill(text, settings, turn);
    let mut argv = Vec::new();
    for argument in &phrases.arguments {
        match argument {
            Argument::One(text) => argv.extend(fill(text)),
            Argument::Group(group) => {
                argv.extend(group.iter().map(fill).collect::<Option<Vec<_>>>().unwrap_or_default());
            }
        }
    }
    let argv = argv.iter().map(|text| fit(text, "the rest was too long")).collect();
    let env: Vec<_> = phrases.env.iter().filter_map(|(name, text)| Some((name.as_str(), fill(text)?))).collect();
    let mut launch = run(settings, turn, argv, &env);
    launch.stdin = phrases.stdin.as_ref().and_then(fill).map(String::into_bytes);
    Ok(launch)
}

/// What its lines mean.
pub(crate) fn grammar(settings: &AgentSettings) -> Box<dyn Grammar> {
    match &settings.phrases {
        Some(phrases) if !phrases.lines.is_empty() => Box::new(Mapped { phrases: phrases.clone() }),
        _ => Box::new(Plain),
    }
}

fn of(settings: &AgentSettings) -> Result<&Phrases, AgentError> {
    let phrases = settings.phrases.as_ref();
    let phrases = phrases.ok_or(AgentError::Phrases { why: "there are none".to_owned() })?;
    phrases.check()?;
    Ok(phrases)
}

/// The text with its blanks filled in; nothing when one of them has no value.
fn fill(text: &str, settings: &AgentSettings, turn: &Turn) -> Option<String> {
    let value = |name: &str| match name {
        "prompt" => Some(turn.everything()),
        "asked" => Some(turn.prompt.clone()),
        "rules" => Some(turn.rules.text()),
        "model" => model(settings, turn).map(str::to_owned),
        "conversation" => turn.conversation.clone(),
        "workspace" => Some(turn.place.workspace.clone()),
        "home" => Some(turn.place.home.clone()),
        "gateway" => Some(turn.place.gateway.clone()),
        "openai" => Some(turn.place.openai()),
        "anthropic" => Some(turn.place.anthropic()),
        "mcp" => settings.mcp.then(|| turn.place.mcp()),
        _ => None,
    };
    // One pass from left to right: what is filled in is never looked at again.
    let mut filled = String::new();
    let mut rest = text;
    for name in blanks(text) {
        let blank = format!("{{{name}}}");
        let (before, after) = rest.split_once(&blank)?;
        filled.push_str(before);
        filled.push_str(&value(name)?);
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

struct Mapped {
    phrases: Phrases,
}

impl Grammar for Mapped {
    fn object(&mut self, value: &Value, _line: &str, heard: &mut Heard) {
        for pointers in self.phrases.lines.iter().filter(|pointers| fits(pointers, value)) {
            apply(pointers, value, heard);
        }
    }

    fn text(&mut self, line: &str, heard: &mut Heard) {
        if self.phrases.plain {
            Plain.text(line, heard);
        }
    }

    fn says_when_it_is_done(&self) -> bool {
        self.phrases.lines.iter().any(|pointers| pointers.done)
    }
}

fn fits(pointers: &Pointers, value: &Value) -> bool {
    pointers.when.iter().all(|(pointer, wanted)| match value.pointer(pointer) {
        Some(found) => wanted == "*" && !found.is_null() || found == wanted,
        None => false,
    })
}

fn apply(pointers: &Pointers, value: &Value, heard: &mut Heard) {
    let at = |pointer: &String| value.pointer(pointer).filter(|found| !found.is_null());
    let text = |pointer: &Option<String>| pointer.as_ref().and_then(at).map(as_text);
    if let Some(id) = text(&pointers.conversation) {
        heard.conversation(&id);
    }
    if let Some(thought) = text(&pointers.thought) {
        heard.thought(&thought);
    }
    if let Some(piece) = text(&pointers.piece) {
        heard.piece(Kind::Said, &piece);
    }
    if let Some(said) = text(&pointers.said) {
        heard.said(&said);
    }
    if let Some(noted) = text(&pointers.noted) {
        heard.noted(&noted);
    }
    let part = |places: &std::collections::BTreeMap<String, String>, name: &str| places.get(name).and_then(at).cloned();
    if !pointers.tool_began.is_empty() {
        let of = |name| part(&pointers.tool_began, name);
        let word = |name| of(name).as_ref().map(as_text).unwrap_or_default();
        heard.tool_began(&word("id"), &word("name"), &word("title"), of("input").unwrap_or_default());
    }
    if !pointers.tool_ended.is_empty() {
        let of = |name| part(&pointers.tool_ended, name);
        let word = |name| of(name).as_ref().map(as_text).unwrap_or_default();
        let failed = of("failed").is_some_and(|failed| failed != Value::Bool(false) && failed != 0);
        heard.tool_ended(&word("id"), !failed, &word("output"));
    }
    if !pointers.spent.is_empty() {
        let count = |name| part(&pointers.spent, name).as_ref().and_then(Value::as_u64).unwrap_or_default();
        heard.spent(Spending {
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            cache_read_tokens: count("cache_read_tokens"),
            cache_write_tokens: count("cache_write_tokens"),
            cost_usd: part(&pointers.spent, "cost_usd").as_ref().and_then(Value::as_f64),
        });
    }
    if let Some(why) = text(&pointers.failed) {
        heard.failed(&why);
    }
    if pointers.done {
        heard.done();
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
