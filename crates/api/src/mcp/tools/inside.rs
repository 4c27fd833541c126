//! Tools that reach into a sandbox: commands, files, ports.

use axum::http::Method;
use base64::Engine;
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Args,
    Audience::{Everybody, KeyHolders},
    Does, Gives, Nature, Row, encoded,
    rest::sandbox,
    text,
};
use crate::mcp::desk::{Desk, Trouble};

/// How much of each stream a model is shown. The transcript has it all.
const MOST_OUTPUT: usize = 100 * 1024;
/// How much of the output a word of progress holds.
const MOST_WORD: usize = 500;

pub(super) static ROWS: [Row; 4] = [
    Row {
        name: "sandbox_exec",
        title: "Run a command",
        about: "Runs a command in a sandbox and shows how it went. Give a shell line as `command`, or a program and its arguments as `argv`. With `background` it answers as soon as it runs.",
        nature: Nature::Destroys,
        audience: KeyHolders,
        takes: || {
            json!({
                "sandbox_id": sandbox(),
                "command": {"type": "string", "description": "A line for the shell."},
                "argv": {"type": "array", "items": {"type": "string"}},
                "cwd": {"type": "string"},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "stdin": {"type": "string"},
                "timeout_s": {"type": "integer", "minimum": 1, "description": "It is ended after so many seconds; 300 when left out."},
                "background": {"type": "boolean"},
            })
        },
        needs: &["sandbox_id"],
        gives: Gives::Ran,
        does: Does::Runs,
    },
    Row {
        name: "files_read",
        title: "Read a file",
        about: "Reads a file in a sandbox, as text; in base64 when it is none.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: || json!({"sandbox_id": sandbox(), "path": {"type": "string"}}),
        needs: &["sandbox_id", "path"],
        gives: Gives::Thing,
        does: Does::ReadsFile,
    },
    Row {
        name: "files_write",
        title: "Write a file",
        about: "Writes a file in a sandbox, whole. Folders that are missing are made.",
        nature: Nature::Destroys,
        audience: KeyHolders,
        takes: || json!({"sandbox_id": sandbox(), "path": {"type": "string"}, "text": {"type": "string"}}),
        needs: &["sandbox_id", "path", "text"],
        gives: Gives::Done,
        does: Does::WritesFile,
    },
    Row {
        name: "sandbox_port",
        title: "Ask a port",
        about: "Sends a GET request to what listens on a port inside a sandbox, and says where a person can open it.",
        nature: Nature::Reads,
        audience: KeyHolders,
        takes: || {
            let port = json!({"type": "integer", "minimum": 1, "maximum": 65535});
            json!({"sandbox_id": sandbox(), "port": port, "path": {"type": "string", "description": "`/` when left out."}})
        },
        needs: &["sandbox_id", "port"],
        gives: Gives::Thing,
        does: Does::AsksPort,
    },
];

/// How whoever called hears of what is going on, and calls it off.
pub(in crate::mcp) struct Progress {
    pub(in crate::mcp) peer: Peer<RoleServer>,
    pub(in crate::mcp) token: Option<ProgressToken>,
    pub(in crate::mcp) called_off: CancellationToken,
}

impl Progress {
    async fn tell(&self, count: u64, word: &str) {
        if let Some(token) = &self.token {
            let word: String = word.chars().take(MOST_WORD).collect();
            let said = ProgressNotificationParam::new(token.clone(), count as f64).with_message(word);
            // Whoever does not listen any more misses nothing.
            let _ = self.peer.notify_progress(said).await;
        }
    }
}

/// What a command printed, as much as is shown.
#[derive(Default)]
struct Printed {
    text: String,
    more: bool,
}

impl Printed {
    fn add(&mut self, piece: &str) {
        let mut room = MOST_OUTPUT.saturating_sub(self.text.len());
        while !piece.is_char_boundary(room.min(piece.len())) {
            room -= 1;
        }
        self.more |= piece.len() > room;
        self.text.push_str(&piece[..room.min(piece.len())]);
    }
}

/// Runs a command, tells of its output, and ends it when it is called off.
pub(super) async fn run(desk: &Desk, mut args: Args, progress: &Progress) -> Result<Value, Trouble> {
    let id = encoded(&text(&args.remove("sandbox_id").unwrap_or_default()));
    args.retain(|_, value| !value.is_null());
    let body = Value::Object(args);
    if body.get("background") == Some(&Value::Bool(true)) {
        return desk.json(Method::POST, &format!("/sandboxes/{id}/execute"), Some(&body)).await;
    }
    let (mut out, mut err) = (Printed::default(), Printed::default());
    let (mut exec, mut count) = (Value::Null, 0_u64);
    let path = format!("/sandboxes/{id}/execute");
    let mut events = desk.events(&path, &body).await?;
    loop {
        let Some(event) = progress.called_off.run_until_cancelled(events.next()).await else {
            if let Some(exec) = exec["exec_id"].as_str() {
                let path = format!("/sandboxes/{id}/execs/{}/signal", encoded(exec));
                desk.ask(Method::POST, &path, Some(&json!({"signal": 9, "group": true}))).await?;
            }
            return Err(Trouble("It was called off, and the command was ended.".into()));
        };
        let Some((name, data)) = event else { break };
        let piece = match (data["text"].as_str(), data["base64"].as_str()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(packed)) => {
                let bytes = base64::prelude::BASE64_STANDARD.decode(packed).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            (None, None) => String::new(),
        };
        match name.as_str() {
            "start" | "end" => exec = data,
            "stdout" => out.add(&piece),
            "stderr" => err.add(&piece),
            _ => {}
        }
        if !piece.is_empty() {
            count += piece.len() as u64;
            progress.tell(count, &piece).await;
        }
    }
    Ok(json!({
        "exit_code": exec["exit_code"], "stdout": out.text, "stderr": err.text, "exec_id": exec["exec_id"],
        "timed_out": exec["timed_out"].as_bool().unwrap_or(false), "truncated": out.more || err.more,
    }))
}

/// Runs git commands one after the other, until one fails; what all of them printed.
pub(super) async fn run_git(
    desk: &Desk,
    args: &Args,
    plan: Vec<Vec<String>>,
    progress: &Progress,
) -> Result<Value, Trouble> {
    let (mut out, mut err) = (String::new(), String::new());
    let mut last = json!({"exit_code": 0, "stdout": "", "stderr": ""});
    for argv in plan {
        let mut command = Args::new();
        for name in ["sandbox_id", "cwd"] {
            command.insert(name.into(), args.get(name).cloned().unwrap_or_default());
        }
        command.insert("argv".into(), argv.into());
        // Nobody is there to be asked for a password, or to leave a pager.
        let alone = json!({"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_EDITOR": "true"});
        command.insert("env".into(), alone);
        last = Box::pin(run(desk, command, progress)).await?;
        out.push_str(last["stdout"].as_str().unwrap_or_default());
        err.push_str(last["stderr"].as_str().unwrap_or_default());
        if last["exit_code"] != 0 {
            break;
        }
    }
    last["stdout"] = out.into();
    last["stderr"] = err.into();
    Ok(last)
}

fn file(args: &Args) -> String {
    let path = form_urlencoded::Serializer::new(String::new())
        .append_pair("path", &args.get("path").map(text).unwrap_or_default())
        .finish();
    format!("/sandboxes/{}/files?{path}", encoded(&args.get("sandbox_id").map(text).unwrap_or_default()))
}

pub(super) async fn read_file(desk: &Desk, args: &Args) -> Result<Value, Trouble> {
    let answer = desk.ask(Method::GET, &file(args), None).await?;
    if answer.kind == "application/x-tar" {
        return Err(Trouble("That is a directory. Use files_list.".into()));
    }
    let size = answer.body.len();
    Ok(match String::from_utf8(answer.body) {
        Ok(text) => json!({"text": text, "size": size}),
        Err(odd) => json!({"base64": base64::prelude::BASE64_STANDARD.encode(odd.as_bytes()), "size": size}),
    })
}

pub(super) async fn write_file(desk: &Desk, args: &Args) -> Result<Value, Trouble> {
    let content = args.get("text").map(text).unwrap_or_default();
    desk.put(&file(args), content.into_bytes()).await?;
    Ok(json!({"done": true}))
}

pub(super) async fn ask_port(desk: &Desk, args: &Args) -> Result<Value, Trouble> {
    let (id, port) =
        (args.get("sandbox_id").map(text).unwrap_or_default(), args.get("port").map(text).unwrap_or_default());
    let path = args.get("path").map(text).unwrap_or_default();
    let place = format!("/sandboxes/{}/ports/{}/", encoded(&id), encoded(&port));
    let answer = desk.ask(Method::GET, &format!("{place}{}", path.trim_start_matches('/')), None).await?;
    Ok(json!({"url": format!("/api/v1{place}"), "kind": answer.kind, "text": String::from_utf8_lossy(&answer.body)}))
}
