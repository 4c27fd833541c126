//! `acp`: the Agent Client Protocol, one language of many agents.
//!
//! The conversation is led inside the sandbox, by `carrel-acp`; what the agent says in it is read here.

use std::borrow::Cow;

use carrel_acp::{Order, PROMPT, SESSION};
use serde_json::Value;

use super::{
    Grammar,
    json::{count, list, text},
    model, opencode, run, title,
};
use crate::{
    AgentError, AgentSettings, Failure, File, Launch, Spending, Turn,
    heard::{Heard, Kind},
    trouble,
};

pub(crate) const EXAMPLE: &str = "opencode acp";

/// The one who leads the conversation: a static program.
const LEADER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/carrel-acp"));

/// `carrel-acp` with its order.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Result<Launch, AgentError> {
    let command = settings.command().ok_or(AgentError::NoCommand { dialect: "acp", example: EXAMPLE })?;
    let anew = Turn { conversation: None, ..turn.clone() };
    let order = Order {
        agent: ["sh", "-c", command].map(str::to_owned).into(),
        folder: turn.place.workspace.clone(),
        prompt: turn.everything(),
        whole_prompt: anew.everything(),
        session: turn.conversation.clone(),
        model: model(settings, turn).map(str::to_owned),
        mcp: settings.mcp.then(|| turn.place.mcp()),
    };
    let (leader, paper) = (turn.place.own("acp"), turn.place.own("acp-order.json"));
    let mut files = vec![
        File { path: leader.clone(), mode: 0o755, bytes: Cow::Borrowed(LEADER) },
        File::text(paper.clone(), serde_json::to_string(&order).expect("an order is plain data")),
    ];
    // Most agents are pointed at the gateway by the usual variables; this one wants more.
    let mut env = Vec::new();
    if command.split_whitespace().any(|word| word == "opencode" || word.ends_with("/opencode")) {
        let (more_env, more_files) = opencode::setup(settings, turn);
        env.extend(more_env);
        files.extend(more_files);
    }
    let mut launch = run(settings, turn, vec![leader, paper], &env);
    launch.files = files;
    Ok(launch)
}

/// What the agent says, line by line.
#[derive(Default)]
pub(crate) struct Updates {
    /// Whether we are past what the agent tells again of an earlier conversation.
    entered: bool,
    /// The message that comes in pieces now, in the agent's words.
    message: String,
    /// Tools in use.
    tools: Vec<Tool>,
}

/// A tool in use: what is known of it so far.
#[derive(Default)]
struct Tool {
    id: String,
    name: String,
    title: String,
    input: Value,
    output: String,
    went_wrong: bool,
    told: bool,
}

impl Tool {
    fn learn(&mut self, call: &Value) {
        if let Some(input) = call.get("rawInput").filter(|input| !is_blank(input)) {
            self.input = input.clone();
        }
        for (known, new) in [(&mut self.title, text(call, "/title").to_owned()), (&mut self.output, output(call))] {
            if !new.is_empty() {
                *known = new;
            }
        }
        let exits = ["/rawOutput/metadata/exit", "/rawOutput/exit_code", "/rawOutput/exitCode"];
        self.went_wrong |=
            exits.iter().any(|place| call.pointer(place).and_then(Value::as_i64).is_some_and(|code| code != 0));
    }
}

impl Grammar for Updates {
    fn object(&mut self, value: &Value, _line: &str, heard: &mut Heard) {
        match (value.get("method").and_then(Value::as_str), value.get("id").and_then(Value::as_u64)) {
            (Some("session/update"), _) if self.entered => {
                heard.conversation(text(value, "/params/sessionId"));
                self.update(&value["params"]["update"], heard);
            }
            (Some("session/request_permission"), _) if self.entered => {
                // A tool may be told of for the first time by the question whether it may be used.
                self.tool(&value["params"]["toolCall"], heard);
            }
            (Some(_), _) => {}
            (None, Some(id)) => self.answered(id, value, heard),
            (None, None) => {}
        }
    }

    /// Lines of its logs, when they go astray.
    fn text(&mut self, line: &str, heard: &mut Heard) {
        heard.aside(line);
    }
}

impl Updates {
    fn answered(&mut self, id: u64, value: &Value, heard: &mut Heard) {
        match (id, value.get("error")) {
            // A conversation that is not known any more is begun anew; that it was new tells the next answer.
            (SESSION, Some(error)) if !self.entered && is_forgotten(error) => {
                heard.noted("The earlier conversation is gone; a new one was begun.");
            }
            (SESSION, None) => {
                self.entered = true;
                heard.recovered();
                heard.conversation(text(value, "/result/sessionId"));
            }
            (PROMPT, None) => self.over(&value["result"], heard),
            (3, Some(error)) => heard.noted(&format!("The model could not be chosen: {}", text(error, "/message"))),
            (_, Some(error)) => {
                let said = text(error, "/message");
                let more = match &error["data"] {
                    Value::Null => String::new(),
                    Value::String(more) => more.clone(),
                    more => {
                        let details = text(more, "/details");
                        let message = text(more, "/message");
                        [details, message]
                            .into_iter()
                            .find(|any| !any.is_empty())
                            .map_or_else(|| more.to_string(), str::to_owned)
                    }
                };
                let why = if more.is_empty() { said.to_owned() } else { format!("{said}: {more}") };
                let failure = match error.get("code").and_then(Value::as_i64) {
                    Some(-32000) => Failure::Authentication,
                    _ => trouble::judge(&why),
                };
                heard.failed_as(&why, failure);
            }
            _ => {}
        }
    }

    fn update(&mut self, update: &Value, heard: &mut Heard) {
        match text(update, "/sessionUpdate") {
            "agent_message_chunk" => self.piece(Kind::Said, update, heard),
            "agent_thought_chunk" => self.piece(Kind::Thought, update, heard),
            "tool_call" | "tool_call_update" => self.tool(update, heard),
            "plan" => heard.noted(&plan(update)),
            _ => {}
        }
    }

    fn piece(&mut self, kind: Kind, update: &Value, heard: &mut Heard) {
        let message = text(update, "/messageId");
        if message != self.message {
            heard.close();
            message.clone_into(&mut self.message);
        }
        heard.piece(kind, text(update, "/content/text"));
    }

    /// Agents tell of a tool when they begin to think of it, and what it is given comes later: it is told when it starts.
    fn tool(&mut self, call: &Value, heard: &mut Heard) {
        let id = text(call, "/toolCallId");
        if id.is_empty() {
            return;
        }
        let at = self.tools.iter().position(|tool| tool.id == id).unwrap_or_else(|| {
            self.tools.push(Tool { id: id.to_owned(), name: text(call, "/title").to_owned(), ..Tool::default() });
            self.tools.len() - 1
        });
        let tool = &mut self.tools[at];
        tool.learn(call);
        let status = text(call, "/status");
        let over = matches!(status, "completed" | "failed");
        if !tool.told && (over || status == "in_progress") {
            tool.told = true;
            let line = title(&tool.input);
            let line = if line.is_empty() { &tool.title } else { &line };
            heard.tool_began(id, &tool.name, line, tool.input.clone());
        }
        if over {
            let tool = self.tools.swap_remove(at);
            heard.tool_ended(id, status == "completed" && !tool.went_wrong, &tool.output);
        }
    }

    fn over(&mut self, result: &Value, heard: &mut Heard) {
        heard.spent(Spending {
            input_tokens: count(result, "/usage/inputTokens"),
            output_tokens: count(result, "/usage/outputTokens"),
            cache_read_tokens: count(result, "/usage/cachedReadTokens"),
            cache_write_tokens: count(result, "/usage/cachedWriteTokens"),
            cost_usd: None,
        });
        match text(result, "/stopReason") {
            "max_tokens" => heard.failed_as("The model's answer was cut off at its longest length.", Failure::Other),
            "max_turn_requests" => {
                heard.failed_as("It has used all the steps that it may take in one turn.", Failure::Other);
            }
            "refusal" => heard.failed_as("The agent refuses to go on.", Failure::Other),
            "cancelled" => heard.failed_as("The turn was cancelled.", Failure::Transient),
            _ => heard.done(),
        }
    }
}

fn is_forgotten(error: &Value) -> bool {
    error.get("code").and_then(Value::as_i64) == Some(-32002)
        || text(error, "/message").to_lowercase().contains("not found")
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// What a tool answered: its content, changes of files included, or what it gave back.
fn output(call: &Value) -> String {
    let parts: Vec<String> = list(call, "/content")
        .map(|part| match text(part, "/type") {
            "content" => text(part, "/content/text").to_owned(),
            "diff" => format!("changed {}", text(part, "/path")),
            _ => String::new(),
        })
        .filter(|part| !part.is_empty())
        .collect();
    if !parts.is_empty() {
        return parts.join("\n");
    }
    match call.get("rawOutput") {
        Some(Value::String(output)) => output.clone(),
        Some(Value::Object(fields)) => {
            let words = ["output", "stdout", "error", "message"];
            words.iter().find_map(|word| fields.get(*word)?.as_str()).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

fn plan(update: &Value) -> String {
    let (mut done, mut all, mut next) = (0, 0, "");
    for entry in list(update, "/entries") {
        all += 1;
        match text(entry, "/status") {
            "completed" => done += 1,
            _ if next.is_empty() => next = text(entry, "/content"),
            _ => {}
        }
    }
    let next = if next.is_empty() { String::new() } else { format!("; next: {next}") };
    format!("Plan: {done} of {all} done{next}")
}
