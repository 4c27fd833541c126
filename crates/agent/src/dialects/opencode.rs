//! `opencode`: `opencode run --format json`.

use serde_json::{Value, json};

use super::{
    Grammar,
    json::{count, text},
    model, program, run, title,
};
use crate::{AgentSettings, File, Launch, Place, Spending, Turn, heard::Heard};

/// `opencode run`, with the prompt on standard input. Its settings come in a variable and win over files.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Launch {
    let mut arguments: Vec<String> = ["run", "--format", "json", "--auto"].map(str::to_owned).into();
    if let Some(conversation) = &turn.conversation {
        arguments.extend(["--session".to_owned(), conversation.clone()]);
    }
    if let Some(model) = spelled(settings, turn) {
        arguments.extend(["--model".to_owned(), model]);
    }
    let (env, files) = setup(settings, turn);
    let mut launch = run(settings, turn, program(settings, "opencode", arguments), &env);
    launch.stdin = Some(turn.prompt_with_past().into_bytes());
    launch.files = files;
    launch
}

/// What points opencode at the gateway, for `run` and for `acp`.
pub(crate) fn setup(settings: &AgentSettings, turn: &Turn) -> (Vec<(&'static str, String)>, Vec<File>) {
    let rules = turn.place.own("rules.md");
    let mut config = json!({
        "share": "disabled",
        "autoupdate": false,
        // The sandbox is the permission.
        "permission": "allow",
        "instructions": [rules],
        "provider": {
            "anthropic": {"options": {"baseURL": format!("{}/v1", turn.place.anthropic()), "apiKey": Place::KEY}},
            "openai": {"options": {"baseURL": turn.place.openai(), "apiKey": Place::KEY}},
        },
    });
    if let Some(spelled) = spelled(settings, turn) {
        config["model"] = json!(spelled);
        // The small jobs (titles, summaries) go to the same model: another one may not be reachable.
        config["small_model"] = json!(spelled);
        // Its own list of models is fetched from outside. The one that was chosen has to be known without it.
        if let Some((provider @ ("anthropic" | "openai"), name)) = spelled.split_once('/') {
            config["provider"][provider]["models"] = json!({name: {}});
        }
    }
    if settings.mcp {
        config["mcp"] = json!({"carrel": {"type": "remote", "url": turn.place.mcp(), "enabled": true}});
    }
    let one = || "1".to_owned();
    let env = vec![
        ("OPENCODE_CONFIG_CONTENT", config.to_string()),
        ("OPENCODE_DISABLE_AUTOUPDATE", one()),
        ("OPENCODE_DISABLE_MODELS_FETCH", one()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", one()),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", one()),
        ("OPENCODE_DISABLE_SHARE", one()),
    ];
    // It installs a package for plugins into its folder before it begins. Without a network it tries for minutes; a
    // folder that looks complete is left alone.
    let folder = format!("{}/.config/opencode", turn.place.home);
    let complete = json!({"lockfileVersion": 3, "packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}});
    let files = vec![
        File::text(rules, turn.rules.text()),
        File::text(format!("{folder}/package-lock.json"), complete.to_string()),
        File::text(format!("{folder}/node_modules/.left-empty"), String::new()),
    ];
    (env, files)
}

/// The model with its provider in front, as opencode spells it.
fn spelled(settings: &AgentSettings, turn: &Turn) -> Option<String> {
    let model = model(settings, turn)?;
    Some(match model {
        _ if model.contains('/') => model.to_owned(),
        _ if model.starts_with("claude") => format!("anthropic/{model}"),
        _ => format!("openai/{model}"),
    })
}

/// Parts of messages, each in an envelope.
#[derive(Default)]
pub(crate) struct Parts;

impl Grammar for Parts {
    fn object(&mut self, value: &Value, _line: &str, heard: &mut Heard) {
        heard.conversation(text(value, "/sessionID"));
        let part = &value["part"];
        match text(value, "/type") {
            "text" => heard.said(text(part, "/text")),
            "reasoning" => heard.thought(text(part, "/text")),
            "tool_use" => tool(part, heard),
            "step_finish" => {
                heard.spent(Spending {
                    input_tokens: count(part, "/tokens/input"),
                    output_tokens: count(part, "/tokens/output") + count(part, "/tokens/reasoning"),
                    cache_read_tokens: count(part, "/tokens/cache/read"),
                    cache_write_tokens: count(part, "/tokens/cache/write"),
                    // It counts nothing for models whose price it does not know.
                    cost_usd: part.get("cost").and_then(Value::as_f64).filter(|cost| *cost > 0.0),
                });
                match text(part, "/reason") {
                    "tool-calls" => {}
                    "length" => heard.failed("The model's answer was cut off at its longest length."),
                    _ => {
                        heard.recovered();
                        heard.done();
                    }
                }
            }
            "error" => {
                let error = &value["error"];
                let said = text(error, "/data/message");
                let said = if said.is_empty() { text(error, "/message") } else { said };
                let status = error.pointer("/data/statusCode").and_then(Value::as_u64);
                let why = [text(error, "/name"), said].into_iter().filter(|word| !word.is_empty());
                let why = why.collect::<Vec<_>>().join(": ");
                let code = status.map(|status| format!(" (status {status})")).unwrap_or_default();
                heard.failed(&format!("{why}{code}"));
            }
            _ => {}
        }
    }

    /// It prints nothing else, unless it could not even begin.
    fn text(&mut self, line: &str, heard: &mut Heard) {
        heard.aside(line);
    }
}

/// A tool is told once, when it is over.
fn tool(part: &Value, heard: &mut Heard) {
    let id = text(part, "/callID");
    let state = &part["state"];
    let input = state.get("input").cloned().unwrap_or_default();
    let said = text(state, "/title");
    let line = if said.is_empty() { title(&input) } else { said.to_owned() };
    heard.tool_began(id, text(part, "/tool"), &line, input);
    match text(state, "/status") {
        "error" => heard.tool_ended(id, false, text(state, "/error")),
        _ => {
            let exit = state.pointer("/metadata/exit").and_then(Value::as_i64);
            heard.tool_ended(id, exit.is_none_or(|code| code == 0), text(state, "/output"));
        }
    }
}
