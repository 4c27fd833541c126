//! `codex`: OpenAI's Codex by `codex exec --json`.

use serde_json::Value;

use super::{
    Grammar,
    json::{count, list, text},
    model, program, run,
};
use crate::{AgentSettings, Launch, Place, Spending, Turn, heard::Heard};

/// `codex exec`, with the prompt on standard input. Its settings go with it, so no file of the user's is touched.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Launch {
    let mut arguments = vec!["exec".to_owned()];
    if turn.conversation.is_some() {
        arguments.push("resume".to_owned());
    }
    // The sandbox is the permission, and a jail inside a jail would only be in its way.
    arguments
        .extend(["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"].map(str::to_owned));
    let mut set = |key: &str, value: String| arguments.extend(["-c".to_owned(), format!("{key}={value}")]);
    set("model_provider", quoted("carrel"));
    set("model_providers.carrel.name", quoted("Carrel"));
    set("model_providers.carrel.base_url", quoted(&turn.place.openai()));
    set("model_providers.carrel.env_key", quoted("OPENAI_API_KEY"));
    set("model_providers.carrel.wire_api", quoted("responses"));
    set("developer_instructions", quoted(&turn.rules.text()));
    set("check_for_update_on_startup", "false".to_owned());
    set("analytics.enabled", "false".to_owned());
    if settings.mcp {
        set("mcp_servers.carrel.url", quoted(&turn.place.mcp()));
    }
    if let Some(model) = model(settings, turn) {
        arguments.extend(["-m".to_owned(), model.to_owned()]);
    }
    arguments.extend(turn.conversation.clone());
    arguments.push("-".to_owned());
    let env = [("OPENAI_API_KEY", Place::KEY.to_owned()), ("OPENAI_BASE_URL", turn.place.openai())];
    let mut launch = run(settings, turn, program(settings, "codex", arguments), &env);
    launch.stdin = Some(turn.prompt_with_past().into_bytes());
    launch
}

/// A text as TOML has it on one line.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string().replace('\n', "\\n")
}

/// Threads, turns and items.
#[derive(Default)]
pub(crate) struct Items {
    begun: Vec<String>,
}

impl Grammar for Items {
    fn object(&mut self, value: &Value, _line: &str, heard: &mut Heard) {
        match text(value, "/type") {
            "thread.started" => heard.conversation(text(value, "/thread_id")),
            "item.started" => self.began(&value["item"], heard),
            "item.completed" => self.ended(&value["item"], heard),
            "turn.completed" => {
                heard.spent(spending(&value["usage"]));
                heard.recovered();
                heard.done();
            }
            "turn.failed" => heard.failed(&reason(text(value, "/error/message"))),
            // It tells of each attempt to reach the model in this way, too, and may still succeed.
            "error" => heard.noted(&reason(text(value, "/message"))),
            _ => {}
        }
    }

    /// It prints nothing else, unless it could not even begin.
    fn text(&mut self, line: &str, heard: &mut Heard) {
        heard.aside(line);
    }
}

impl Items {
    fn began(&mut self, item: &Value, heard: &mut Heard) {
        let id = text(item, "/id");
        let used = match text(item, "/type") {
            "command_execution" => Some(("shell", bare(text(item, "/command")).to_owned(), Value::Null)),
            "mcp_tool_call" => {
                let title = format!("{}.{}", text(item, "/server"), text(item, "/tool"));
                Some((text(item, "/tool"), title, item.get("arguments").cloned().unwrap_or_default()))
            }
            "file_change" => {
                let changes = list(item, "/changes").map(|change| text(change, "/path")).collect::<Vec<_>>();
                Some(("edit", changes.join(", "), item.get("changes").cloned().unwrap_or_default()))
            }
            "web_search" => Some(("web_search", text(item, "/query").to_owned(), Value::Null)),
            _ => None,
        };
        if let Some((name, title, input)) = used {
            self.begun.push(id.to_owned());
            heard.tool_began(id, name, &title, input);
        }
    }

    fn ended(&mut self, item: &Value, heard: &mut Heard) {
        let id = text(item, "/id");
        match text(item, "/type") {
            "agent_message" => return heard.said(text(item, "/text")),
            "reasoning" => return heard.thought(text(item, "/text")),
            "error" => return heard.noted(text(item, "/message")),
            "todo_list" => return heard.noted(&plan(item)),
            _ => {}
        }
        // Some things are told only once they are over.
        if !self.begun.iter().any(|begun| begun == id) {
            self.began(item, heard);
        }
        if self.begun.iter().any(|begun| begun == id) {
            self.begun.retain(|begun| begun != id);
            let output = match text(item, "/type") {
                "command_execution" => text(item, "/aggregated_output").to_owned(),
                "mcp_tool_call" => {
                    let error = text(item, "/error/message");
                    let parts = list(item, "/result/content").map(|part| text(part, "/text"));
                    if error.is_empty() { parts.collect::<Vec<_>>().join("\n") } else { error.to_owned() }
                }
                _ => String::new(),
            };
            heard.tool_ended(id, text(item, "/status") != "failed", &output);
        }
    }
}

fn spending(usage: &Value) -> Spending {
    let (all, cached) = (count(usage, "/input_tokens"), count(usage, "/cached_input_tokens"));
    Spending {
        input_tokens: all.saturating_sub(cached),
        output_tokens: count(usage, "/output_tokens"),
        cache_read_tokens: cached,
        ..Spending::default()
    }
}

/// A provider's answer is passed on as JSON inside of the message.
fn reason(message: &str) -> String {
    let inner = serde_json::from_str::<Value>(message).ok();
    match inner.as_ref().map(|inner| text(inner, "/error/message")) {
        Some(said) if !said.is_empty() => said.to_owned(),
        _ => message.to_owned(),
    }
}

fn plan(item: &Value) -> String {
    let (mut done, mut all) = (0, 0);
    let mut next = "";
    for step in list(item, "/items") {
        all += 1;
        match step.get("completed").and_then(Value::as_bool) {
            Some(true) => done += 1,
            _ if next.is_empty() => next = text(step, "/text"),
            _ => {}
        }
    }
    if next.is_empty() {
        format!("Plan: {done} of {all} done.")
    } else {
        format!("Plan: {done} of {all} done; next: {next}")
    }
}

/// A command without the shell that it was handed to.
fn bare(command: &str) -> &str {
    let Some((_, line)) = command.split_once("bash -lc ") else { return command };
    for quote in ['\'', '"'] {
        if let Some(inner) = line.strip_prefix(quote).and_then(|line| line.strip_suffix(quote))
            && !inner.contains([quote, '\\'])
        {
            return inner;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_the_shell_around_it() {
        assert_eq!(bare("/bin/bash -lc 'sh check.sh'"), "sh check.sh");
        assert_eq!(bare(r#"/bin/bash -lc "printf 'a'""#), "printf 'a'");
        assert_eq!(bare(r#"/bin/bash -lc "a \"b\"""#), r#""a \"b\"""#);
        assert_eq!(bare("ls"), "ls");
    }
}
