//! A conversation with an agent, from the first word to the end of one turn.
//!
//! ```text
//! initialize ─► session/resume │ session/load ─► (session/set_config_option) ─► session/prompt ─► over
//!      │                 └──(it does not know it any more)──┐         ▲
//!      └──────────────► session/new ◄───────────────────────┘─────────┘
//! ```

use serde_json::{Value, json};

use crate::Order;

/// The number of our first request.
const INITIALIZE: u64 = 1;
/// The number of the request that begins a conversation or goes on with one.
pub const SESSION: u64 = 2;
const CHOICE: u64 = 3;
/// The number of the request that asks what the turn is about.
pub const PROMPT: u64 = 4;

/// The client's side of one turn. Lines in, lines out.
#[derive(Debug)]
pub struct Conversation {
    order: Order,
    stage: Stage,
    session: Option<String>,
    /// Whether the agent remembers what was said before this turn.
    remembers: bool,
    takes_http_mcp: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    /// An earlier conversation was asked for.
    Returning,
    Beginning,
    Choosing,
    Asking,
    Over,
}

impl Conversation {
    /// A conversation, and the line that begins it.
    pub fn begin(order: Order) -> (Conversation, Value) {
        let greeting = request(
            INITIALIZE,
            "initialize",
            json!({
                "protocolVersion": 1,
                "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
                "clientInfo": {"name": "carrel", "title": "Carrel", "version": env!("CARGO_PKG_VERSION")},
            }),
        );
        let stage = Stage::Greeting;
        (Conversation { order, stage, session: None, remembers: false, takes_http_mcp: false }, greeting)
    }

    /// What to answer to a line of the agent.
    pub fn hear(&mut self, line: &Value) -> Vec<Value> {
        let asked = line.get("method").and_then(Value::as_str);
        match (asked, line.get("id")) {
            (Some(method), Some(id)) if !id.is_null() => vec![answer(method, id, &line["params"])],
            (Some(_), _) => Vec::new(),
            (None, Some(id)) => self.answered(id.as_u64(), line),
            (None, None) => Vec::new(),
        }
    }

    /// Whether the turn is over, well or not.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// What to say to end the turn early; nothing when there is nothing to end.
    pub fn cancel(&mut self) -> Option<Value> {
        match (&self.session, self.stage) {
            (Some(session), Stage::Asking) => {
                Some(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))
            }
            _ => {
                self.stage = Stage::Over;
                None
            }
        }
    }

    fn answered(&mut self, id: Option<u64>, line: &Value) -> Vec<Value> {
        let result = line.get("result").filter(|_| line.get("error").is_none());
        match (self.stage, id, result) {
            (Stage::Greeting, Some(INITIALIZE), Some(greeting)) => vec![self.enter(&greeting["agentCapabilities"])],
            // What it forgot is told again, whole.
            (Stage::Returning, Some(SESSION), None) => vec![self.start()],
            (Stage::Returning, Some(SESSION), Some(entered)) => {
                self.remembers = true;
                self.session = self.order.session.clone();
                vec![self.choose(entered)]
            }
            (Stage::Beginning, Some(SESSION), Some(entered)) => {
                self.session = entered.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                if self.session.is_none() {
                    self.stage = Stage::Over;
                    return Vec::new();
                }
                vec![self.choose(entered)]
            }
            // A model that could not be chosen is no reason not to work; the transcript has its answer.
            (Stage::Choosing, Some(CHOICE), _) => vec![self.ask()],
            (Stage::Asking, Some(PROMPT), _) | (Stage::Greeting | Stage::Beginning, _, None) => {
                self.stage = Stage::Over;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn enter(&mut self, can: &Value) -> Value {
        self.takes_http_mcp = can.pointer("/mcpCapabilities/http") == Some(&Value::Bool(true));
        let Some(session) = &self.order.session else { return self.start() };
        let resumes = can.pointer("/sessionCapabilities/resume").is_some_and(|ability| !ability.is_null());
        let loads = can.get("loadSession") == Some(&Value::Bool(true));
        // Resuming is loading without being told everything again.
        let method = match (resumes, loads) {
            (true, _) => "session/resume",
            (false, true) => "session/load",
            (false, false) => return self.start(),
        };
        self.stage = Stage::Returning;
        let place = json!({"sessionId": session, "cwd": self.order.folder, "mcpServers": self.servers()});
        request(SESSION, method, place)
    }

    fn start(&mut self) -> Value {
        self.stage = Stage::Beginning;
        request(SESSION, "session/new", json!({"cwd": self.order.folder, "mcpServers": self.servers()}))
    }

    fn servers(&self) -> Value {
        match &self.order.mcp {
            Some(url) if self.takes_http_mcp => json!([{"type": "http", "name": "carrel", "url": url, "headers": []}]),
            _ => json!([]),
        }
    }

    /// Chooses the model, where the agent offers a choice and ours is among it.
    fn choose(&mut self, entered: &Value) -> Value {
        let Some(model) = self.order.model.clone() else { return self.ask() };
        let options = entered.get("configOptions").and_then(Value::as_array).into_iter().flatten();
        let named = |value: &Value| value.as_str().is_some_and(|value| value == model || ends_with(value, &model));
        for option in options.filter(|option| option.get("category").is_some_and(|category| category == "model")) {
            if let Some(value) = values(&option["options"]).into_iter().find(|value| named(value)) {
                self.stage = Stage::Choosing;
                let choice = json!({"sessionId": self.session, "configId": option["id"], "value": value});
                return request(CHOICE, "session/set_config_option", choice);
            }
        }
        // Agents of before that had a list of models beside.
        let models = entered.pointer("/models/availableModels").and_then(Value::as_array).into_iter().flatten();
        if let Some(model) = models.map(|model| &model["modelId"]).find(|id| named(id)) {
            self.stage = Stage::Choosing;
            return request(CHOICE, "session/set_model", json!({"sessionId": self.session, "modelId": model}));
        }
        self.ask()
    }

    fn ask(&mut self) -> Value {
        self.stage = Stage::Asking;
        let text = if self.remembers { &self.order.prompt } else { &self.order.whole_prompt };
        let prompt = json!([{"type": "text", "text": text}]);
        request(PROMPT, "session/prompt", json!({"sessionId": self.session, "prompt": prompt}))
    }
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// What the agent gets that asks us something: leave for everything, and a clear no to what we do not offer.
fn answer(method: &str, id: &Value, params: &Value) -> Value {
    if method != "session/request_permission" {
        let error = json!({"code": -32601, "message": format!("{method} is not offered here")});
        return json!({"jsonrpc": "2.0", "id": id, "error": error});
    }
    let options = params.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_kind = |kind: &str| options.iter().find(|option| option.get("kind").is_some_and(|any| any == kind));
    let outcome = match of_kind("allow_always").or_else(|| of_kind("allow_once")) {
        Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
        None => json!({"outcome": "cancelled"}),
    };
    json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}})
}

/// Values of a choice; they may stand in groups.
fn values(options: &Value) -> Vec<&Value> {
    let options = options.as_array().into_iter().flatten();
    options
        .flat_map(|option| match option.get("options") {
            Some(group) => values(group),
            None => option.get("value").into_iter().collect(),
        })
        .collect()
}

/// Whether a model with its provider in front is this model.
fn ends_with(value: &str, model: &str) -> bool {
    value.strip_suffix(model).is_some_and(|provider| provider.ends_with('/'))
}

#[cfg(test)]
mod tests;
