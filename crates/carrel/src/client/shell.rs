//! `carrel sandbox shell`: a real terminal inside, over a WebSocket.

use std::io::IsTerminal;

use base64::Engine;
use futures::{SinkExt, StreamExt};
use reqwest::Method;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use serde::Deserialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::{
    Client,
    exec::{size, stdin},
    sandbox::resolve,
};
use crate::{failure::Failure, say};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sandbox: its id, or the beginning of it
    id: String,
    /// As whom
    #[arg(long, short)]
    user: Option<String>,
    /// Where
    #[arg(long, short = 'w', value_name = "PATH")]
    cwd: Option<String>,
    /// Sit down at this terminal again
    #[arg(long, value_name = "EXEC_ID")]
    attach: Option<String>,
    /// What to run; a login shell when left out
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        let words: Vec<_> = self.command.iter().map(|word| super::exec::quoted(word)).collect();
        let command = (!words.is_empty()).then(|| format!("exec {}", words.join(" ")));
        open(client, &id, command, self.user, self.cwd, self.attach).await
    }
}

/// What the server says about the terminal.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Told {
    Started { exec_id: Option<String> },
    Exit { code: Option<i32>, note: Option<String> },
    Trouble { detail: String },
}

/// How a sitting ended.
enum Left {
    Ended(Option<i32>, Option<String>),
    /// With the name of what goes on running, once it was told.
    Broken(Option<String>),
    Asked,
}

/// Sits down at a terminal until it ends, and passes its exit code on.
pub(super) async fn open(
    client: &Client,
    id: &str,
    command: Option<String>,
    user: Option<String>,
    cwd: Option<String>,
    attach: Option<String>,
) -> Result<(), Failure> {
    let mut query = Vec::new();
    if let Some(size) = size() {
        query.extend([("cols", size.cols.to_string()), ("rows", size.rows.to_string())]);
    }
    query.extend(command.map(|command| ("cmd", command)));
    query.extend(user.map(|user| ("user", user)));
    query.extend(cwd.map(|cwd| ("cwd", cwd)));
    query.extend(attach.map(|exec| ("exec_id", exec)));
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|error| Failure::new(format!("no random bytes: {error}")))?;
    let request = client
        .request(Method::GET, &format!("/sandboxes/{id}/terminal"))?
        .query(&query)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", base64::engine::general_purpose::STANDARD.encode(key));
    let line = client.send_upgrade(request).await?;
    let socket = WebSocketStream::from_raw_socket(line, Role::Client, None).await;
    let raw = Raw::enter();
    let left = sit(socket).await;
    drop(raw);
    match left {
        Left::Ended(Some(0), _) => Ok(()),
        Left::Ended(Some(code), _) => Err(Failure::pass_on(code)),
        Left::Ended(None, note) => {
            Err(Failure::new(note.unwrap_or_else(|| "the end of the terminal was not seen".into())))
        }
        Left::Asked => Err(Failure::pass_on(130)),
        Left::Broken(exec) => {
            let exec = exec.unwrap_or_else(|| "EXEC_ID".into());
            Err(Failure::new("the connection to the terminal broke").hint(format!(
                "what ran in it goes on; `carrel sandbox shell {id} --attach {exec}` sits down at it again"
            )))
        }
    }
}

async fn sit<S>(socket: WebSocketStream<S>) -> Left
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let (mut out, mut shown) = socket.split();
    let mut typed = stdin();
    let mut resized = signal(SignalKind::window_change()).ok();
    let mut ends = [SignalKind::terminate(), SignalKind::hangup()].map(|kind| signal(kind).ok());
    let [terminate, hangup] = &mut ends;
    let mut input_over = false;
    let mut exec = None;
    loop {
        let message = tokio::select! {
            message = shown.next() => match message {
                Some(Ok(Message::Binary(bytes))) => {
                    say::bytes(&bytes);
                    continue;
                }
                Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
                    Ok(Told::Exit { code, note }) => return Left::Ended(code, note),
                    Ok(Told::Trouble { detail }) => {
                        say::aside(format_args!("\r\ncarrel: {}\r", say::printable(&detail)));
                        continue;
                    }
                    Ok(Told::Started { exec_id }) => {
                        exec = exec_id;
                        continue;
                    }
                    Err(_) => continue,
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Left::Broken(exec),
                Some(Ok(_)) => continue,
            },
            bytes = typed.recv(), if !input_over => match bytes {
                Some(bytes) => Message::Binary(bytes),
                None => {
                    input_over = true;
                    // What was piped in has ended: says so as a person would.
                    Message::Binary(bytes::Bytes::from_static(b"\x04"))
                }
            },
            () = heard(&mut resized) => match size() {
                Some(size) => {
                    let told = serde_json::json!({"type": "resize", "cols": size.cols, "rows": size.rows});
                    Message::Text(told.to_string().into())
                }
                None => continue,
            },
            () = heard(terminate) => return Left::Asked,
            () = heard(hangup) => return Left::Asked,
        };
        if out.send(message).await.is_err() {
            return Left::Broken(exec);
        }
    }
}

async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The terminal here, passing on everything that is typed. It is as it was before when this is dropped.
pub(super) struct Raw(Option<Termios>);

impl Raw {
    pub(super) fn enter() -> Raw {
        if !std::io::stdin().is_terminal() {
            return Raw(None);
        }
        let Ok(before) = tcgetattr(rustix::stdio::stdin()) else { return Raw(None) };
        let mut raw = before.clone();
        raw.make_raw();
        match tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw) {
            Ok(()) => Raw(Some(before)),
            Err(_) => Raw(None),
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
        }
    }
}
