//! The tools: a table. What each is called, what it takes and gives, and which request it becomes.

mod git;
mod inside;
mod own;
mod rest;
mod shapes;

use std::sync::Arc;

use axum::http::Method;
use carrel_model::Role;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::desk::{Desk, Trouble};

pub(super) use inside::Progress;

/// Arguments, as they were given.
pub(super) type Args = Map<String, Value>;

/// A tool.
pub(super) struct Row {
    pub(super) name: &'static str,
    title: &'static str,
    about: &'static str,
    /// What it does to the world.
    nature: Nature,
    /// Who may see it.
    pub(super) audience: Audience,
    /// What it takes: names, schemas, and which must be there.
    takes: fn() -> Value,
    needs: &'static [&'static str],
    gives: Gives,
    pub(super) does: Does,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// It only looks.
    Reads,
    /// It changes something, and can be repeated.
    Sets,
    /// It adds something.
    Adds,
    /// It may destroy something.
    Destroys,
}

/// Who may see a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Everybody, also a sandbox about itself.
    Everybody,
    /// People and agents with a key.
    KeyHolders,
    /// Everybody at the desk of one task, and nobody else: at other desks another tool of the same name takes more words.
    OwnTask,
}

/// What a tool gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    /// One thing, with its id.
    Thing,
    /// A list of things.
    List,
    /// Text.
    Text,
    /// How a command went.
    Ran,
    /// Nothing but that it was done.
    Done,
}

/// What a tool does.
pub(super) enum Does {
    /// One request to our doors: the path's `{names}` and the query are taken from the arguments, the rest is the body.
    Asks { method: Method, path: &'static str, query: &'static [&'static str], always: &'static str },
    /// A command inside, told of as it runs.
    Runs,
    /// Git inside: programs and their arguments, one after the other, until one fails.
    Git(fn(&Args) -> Result<Vec<Vec<String>>, Trouble>),
    /// Reads a file inside as text.
    ReadsFile,
    /// Writes a file inside.
    WritesFile,
    /// Asks what listens on a port inside.
    AsksPort,
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Row> {
    rest::ROWS.iter().chain(inside::ROWS.iter()).chain(git::ROWS.iter()).chain(own::ROWS.iter())
}

/// Those that this desk sees.
pub(super) fn seen_by(desk: &Desk) -> impl Iterator<Item = &'static Row> {
    let (is_inside, scope) = (desk.role() == Role::Sandbox, desk.scope.clone());
    let is_narrow = scope.sandbox.is_some() || scope.task.is_some();
    all().filter(move |row| {
        // At a desk of one's own nothing is made and nobody else is looked for.
        let knows = |name: &str| match name {
            "sandbox_id" => scope.sandbox.is_some(),
            "task_id" => scope.task.is_some(),
            _ => true,
        };
        if row.audience == Audience::OwnTask {
            return scope.task.is_some();
        }
        let is_own = row.needs.iter().any(|name| ["sandbox_id", "task_id"].contains(name))
            && row.needs.iter().all(|name| knows(name))
            || ["usage_show", "area_list"].contains(&row.name);
        (!is_inside || row.audience == Audience::Everybody) && (!is_narrow || is_own)
    })
}

impl Row {
    /// The tool as it is listed. What the desk knows by itself is not asked for.
    pub(super) fn listed(&self, desk: &Desk) -> Tool {
        let mut takes = (self.takes)();
        let mut needs = self.needs.to_vec();
        let scope = &desk.scope;
        let known = [
            ("sandbox_id", scope.sandbox.is_some()),
            ("task_id", scope.task.is_some()),
            ("repo", scope.repo.is_some()),
        ];
        for (name, known) in known {
            if known {
                takes.as_object_mut().map(|takes| takes.remove(name));
                needs.retain(|need| *need != name);
            }
        }
        let input = json!({"type": "object", "properties": takes, "required": needs, "additionalProperties": false});
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(self.nature == Nature::Reads)
            .destructive(self.nature == Nature::Destroys)
            .idempotent(matches!(self.nature, Nature::Reads | Nature::Sets))
            .open_world(matches!(self.does, Does::AsksPort | Does::Runs));
        Tool::new(self.name, self.about, object(input))
            .with_title(self.title)
            .with_raw_output_schema(object(self.answer()))
            .with_annotations(annotations)
    }

    /// The schema of what it gives. What a door answers is described where the door is.
    fn answer(&self) -> Value {
        let text = || json!({"type": "string"});
        match (&self.does, self.gives) {
            (Does::Asks { method, path, .. }, Gives::Thing) => shapes::of(method, path),
            (Does::ReadsFile, _) => json!({"type": "object", "properties": {
                "text": text(), "base64": text(), "size": {"type": "integer"}}, "required": ["size"]}),
            (Does::AsksPort, _) => json!({"type": "object", "properties": {
                "url": text(), "kind": text(), "text": text()}, "required": ["url", "kind", "text"]}),
            (_, gives) => gives.schema(),
        }
    }

    /// Does it; what it gives as its schema says.
    pub(super) async fn call(&self, desk: &Desk, args: Args, progress: &Progress) -> Result<Value, Trouble> {
        let args = self.complete(desk, args)?;
        match &self.does {
            Does::Asks { method, path, query, always } => {
                let (path, rest) = place(path, query, always, args)?;
                let body = (*method != Method::GET && *method != Method::DELETE).then_some(Value::Object(rest));
                let answer = desk.ask(method.clone(), &path, body.as_ref()).await?;
                self.gives.shape(&answer.body)
            }
            Does::Runs => inside::run(desk, args, progress).await,
            Does::Git(plan) => inside::run_git(desk, &args, plan(&args)?, progress).await,
            Does::ReadsFile => inside::read_file(desk, &args).await,
            Does::WritesFile => inside::write_file(desk, &args).await,
            Does::AsksPort => inside::ask_port(desk, &args).await,
        }
    }

    /// Adds what the desk knows, and refuses what the tool does not take.
    fn complete(&self, desk: &Desk, mut args: Args) -> Result<Args, Trouble> {
        let takes = (self.takes)();
        let known = [
            ("sandbox_id", desk.scope.sandbox.as_ref().map(|id| Value::from(id.as_str()))),
            ("task_id", desk.scope.task.map(|id| Value::from(i64::from(id)))),
            ("repo", desk.scope.repo.as_ref().map(|name| Value::from(name.as_str()))),
        ];
        let is_narrow = known.iter().any(|(_, value)| value.is_some());
        for (name, value) in known {
            if is_narrow && value.is_none() && name != "repo" && args.contains_key(name) {
                return Err(Trouble(format!(
                    "This server is for one desk alone, which has no {name}. Leave `{name}` out."
                )));
            }
            let Some(value) = value.filter(|_| takes.get(name).is_some()) else { continue };
            if args.get(name).is_some_and(|given| *given != value) {
                return Err(Trouble(format!("This server is for {name} {value} alone. Leave `{name}` out.")));
            }
            args.insert(name.to_owned(), value);
        }
        if let Some(unknown) = args.keys().find(|name| takes.get(name.as_str()).is_none()) {
            return Err(Trouble(format!("`{}` takes no argument `{unknown}`. Look at its input schema.", self.name)));
        }
        match self.needs.iter().find(|name| args.get(**name).is_none_or(Value::is_null)) {
            Some(missing) => Err(Trouble(format!("`{}` needs the argument `{missing}`.", self.name))),
            None => Ok(args),
        }
    }
}

impl Gives {
    fn schema(self) -> Value {
        match self {
            Gives::Thing => json!({"type": "object"}),
            Gives::List => {
                let next = json!({"type": ["string", "null"], "description": "Asks for the next page, as `cursor`."});
                json!({"type": "object", "properties": {"items": {"type": "array"}, "next": next}, "required": ["items"]})
            }
            Gives::Text => json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
            Gives::Ran => json!({"type": "object", "properties": {
                "exit_code": {"type": ["integer", "null"], "description": "0 when it succeeded; absent while it still runs."},
                "stdout": {"type": "string"}, "stderr": {"type": "string"}, "exec_id": {"type": "string"},
                "timed_out": {"type": "boolean"}, "truncated": {"type": "boolean"}},
                "required": ["exit_code", "stdout", "stderr"]}),
            Gives::Done => json!({"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]}),
        }
    }

    fn shape(self, body: &[u8]) -> Result<Value, Trouble> {
        match self {
            Gives::Text => Ok(json!({"text": String::from_utf8_lossy(body)})),
            Gives::Done => Ok(json!({"done": true})),
            Gives::Thing | Gives::List | Gives::Ran => {
                let value: Value = serde_json::from_slice(body).unwrap_or_default();
                Ok(match value {
                    // A list that is not in pages is shown as one page.
                    Value::Array(items) => json!({"items": items, "next": null}),
                    Value::Object(_) => value,
                    other => json!({"value": other}),
                })
            }
        }
    }
}

/// Puts arguments into a path and its query; what is left over is the body.
fn place(path: &str, query: &[&str], always: &str, mut args: Args) -> Result<(String, Args), Trouble> {
    let mut placed = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        placed.push('/');
        match part.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => placed.push_str(&encoded(&text(&args.remove(name).unwrap_or_default()))),
            None => placed.push_str(part),
        }
    }
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(always.as_bytes()) {
        pairs.append_pair(&name, &value);
    }
    for name in query {
        if let Some(value) = args.remove(*name).filter(|value| !value.is_null()) {
            pairs.append_pair(name, &text(&value));
        }
    }
    let pairs = pairs.finish();
    args.retain(|_, value| !value.is_null());
    Ok((if pairs.is_empty() { placed } else { format!("{placed}?{pairs}") }, args))
}

/// One part of a path, whatever is in it.
pub(super) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// An argument as a path or a query has it.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn object(value: Value) -> Arc<JsonObject> {
    Arc::new(match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    })
}
