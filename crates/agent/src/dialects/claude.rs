//! `claude`: Claude Code without its interface, in its stream of JSON lines.

use serde_json::{Value, json};

use super::{
    Grammar,
    json::{count, list, text},
    model, program, run, title,
};
use crate::{AgentSettings, Failure, File, Launch, Place, Spending, Turn, heard::Heard, launch::fit, trouble};

/// `claude -p`, with the prompt on standard input and the rules behind its own.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Launch {
    let mut arguments: Vec<String> = ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).into();
    // The sandbox is the permission. A name of its own for it exists, but asks once before it is believed.
    arguments.push("--dangerously-skip-permissions".to_owned());
    arguments.extend(["--append-system-prompt".to_owned(), fit(&turn.rules.text(), "the rest is left out")]);
    if let Some(model) = model(settings, turn) {
        arguments.extend(["--model".to_owned(), model.to_owned()]);
    }
    if let Some(conversation) = &turn.conversation {
        arguments.extend(["--resume".to_owned(), conversation.clone()]);
    }
    let mut files = Vec::new();
    if settings.mcp {
        let path = turn.place.own("claude-mcp.json");
        let servers = json!({"mcpServers": {"carrel": {"type": "http", "url": turn.place.mcp()}}});
        files.push(File::text(path.clone(), servers.to_string()));
        arguments.extend(["--mcp-config".to_owned(), path]);
    }
    let one = || "1".to_owned();
    let env = [
        ("ANTHROPIC_BASE_URL", turn.place.anthropic()),
        ("ANTHROPIC_API_KEY", Place::KEY.to_owned()),
        // It refuses to skip its questions as root unless it knows that it is in a sandbox.
        ("IS_SANDBOX", one()),
        // The gateway is the only way out; what is not the model would only fail slowly.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", one()),
        ("DISABLE_AUTOUPDATER", one()),
        ("DISABLE_TELEMETRY", one()),
        ("DISABLE_ERROR_REPORTING", one()),
    ];
    let mut launch = run(settings, turn, program(settings, "claude", arguments), &env);
    launch.stdin = Some(turn.prompt_with_past().into_bytes());
    launch.files = files;
    launch
}

/// Messages as Anthropic's interface has them, in an envelope, and a result at the end.
#[derive(Default)]
pub(crate) struct Stream;

impl Grammar for Stream {
    fn object(&mut self, value: &Value, _line: &str, heard: &mut Heard) {
        match text(value, "/type") {
            "system" => system(value, heard),
            "assistant" => assistant(value, heard),
            "user" => user(value, heard),
            "result" => result(value, heard),
            _ => {}
        }
    }

    /// It prints nothing else, unless it could not even begin.
    fn text(&mut self, line: &str, heard: &mut Heard) {
        heard.aside(line);
    }
}

fn system(value: &Value, heard: &mut Heard) {
    match text(value, "/subtype") {
        "init" => heard.conversation(text(value, "/session_id")),
        "api_retry" => {
            let status = value.pointer("/error_status").and_then(Value::as_u64);
            let status = status.map(|status| format!(" (status {status})")).unwrap_or_default();
            heard.noted(&format!("The model did not answer{status}; attempt {}.", count(value, "/attempt")));
        }
        "compact_boundary" => heard.noted("The conversation was summarised to make room."),
        _ => {}
    }
}

fn assistant(value: &Value, heard: &mut Heard) {
    // Messages of its own helpers are not the last word of the turn.
    let helper = value.pointer("/parent_tool_use_id").is_some_and(Value::is_string);
    let broken = value.pointer("/error").and_then(Value::as_str);
    for block in list(value, "/message/content") {
        match text(block, "/type") {
            "text" if helper => heard.thought(text(block, "/text")),
            "text" if broken.is_some() => {
                heard.failed_as(text(block, "/text"), failure(broken.unwrap_or_default(), text(block, "/text")));
            }
            "text" => heard.said(text(block, "/text")),
            "thinking" => heard.thought(text(block, "/thinking")),
            "tool_use" => {
                let (name, input) = (text(block, "/name"), block.get("input").cloned().unwrap_or_default());
                heard.tool_began(text(block, "/id"), name, &title(&input), input);
            }
            _ => {}
        }
    }
}

fn user(value: &Value, heard: &mut Heard) {
    for block in list(value, "/message/content").filter(|block| text(block, "/type") == "tool_result") {
        let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
        let output = match block.get("content") {
            Some(Value::String(output)) => output.clone(),
            Some(Value::Array(parts)) => parts.iter().map(|part| text(part, "/text")).collect::<Vec<_>>().join("\n"),
            _ => String::new(),
        };
        heard.tool_ended(text(block, "/tool_use_id"), !failed, &output);
    }
}

fn result(value: &Value, heard: &mut Heard) {
    heard.conversation(text(value, "/session_id"));
    heard.spent(Spending {
        input_tokens: count(value, "/usage/input_tokens"),
        output_tokens: count(value, "/usage/output_tokens"),
        cache_read_tokens: count(value, "/usage/cache_read_input_tokens"),
        cache_write_tokens: count(value, "/usage/cache_creation_input_tokens"),
        cost_usd: value.get("total_cost_usd").and_then(Value::as_f64),
    });
    let is_error = value.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    match text(value, "/subtype") {
        "success" if !is_error => {
            heard.recovered();
            heard.done();
        }
        "error_max_turns" => heard.failed_as("It has used all the steps that it may take in one turn.", Failure::Other),
        "error_max_budget_usd" => heard.failed_as("The money for this turn is spent.", Failure::Budget),
        subtype => {
            let said = text(value, "/result");
            let errors = list(value, "/errors").filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
            let why = [said, &errors, subtype].into_iter().find(|why| !why.is_empty()).unwrap_or_default();
            let status = count(value, "/api_error_status");
            heard.failed_as(why, trouble::judge(&format!("{why} (status {status})")));
        }
    }
}

/// What the envelope says of an error is surer than its words.
fn failure(word: &str, why: &str) -> Failure {
    match word {
        "authentication_failed" | "oauth_org_not_allowed" => Failure::Authentication,
        "billing_error" => Failure::Budget,
        "rate_limit" | "overloaded" => trouble::judge_or(why, Failure::RateLimited { retry_after_s: None }),
        "server_error" => trouble::judge_or(why, Failure::Transient),
        _ => trouble::judge(why),
    }
}
