//! `carrel sandbox exec`: a command inside, as if it ran here.

use std::{io::Read, time::Duration};

use base64::Engine;
use bytes::Bytes;
use carrel_model::{
    exec::ExecStatus,
    public::{ExecSize, ExecView, Executed, NewExec},
    sandbox::{EnvName, EnvValue, Lifetime},
};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use reqwest::{Method, Response};
use serde::Deserialize;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

use super::{
    Client,
    sandbox::{pairs, resolve},
    shell,
};
use crate::{
    failure::{Exit, Failure},
    say,
};

/// Longer than any sandbox lives.
const NO_LIMIT: u64 = 2_592_000;

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
    /// A variable of its environment
    #[arg(long = "env", short, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Give it a terminal
    #[arg(long, short)]
    tty: bool,
    /// Pass standard input on, also from a terminal
    #[arg(long, short)]
    interactive: bool,
    /// End it after so many seconds; never when left out
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<Lifetime>,
    /// Do not wait for it; print its id
    #[arg(long, conflicts_with_all = ["tty", "interactive"])]
    background: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A piece of output, as the API tells it.
#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
    base64: Option<String>,
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        if self.tty {
            let command = self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            let env = self.env()?;
            let prefix: String =
                env.iter().map(|(name, value)| format!("{}={} ", name.as_str(), quoted(value.as_str()))).collect();
            return shell::open(client, &id, Some(format!("{prefix}exec {command}")), self.user, self.cwd, None).await;
        }
        let passes_input = !self.background && (self.interactive || !is_terminal());
        let env = self.env()?;
        let new = NewExec {
            argv: Some(self.command),
            cwd: self.cwd,
            user: self.user,
            env: (!env.is_empty()).then_some(env),
            timeout_s: self.timeout.or(Lifetime::new(NO_LIMIT).filter(|_| !self.background)),
            background: self.background.then_some(true),
            keep_stdin: passes_input.then_some(true),
            ..NewExec::default()
        };
        let request = client.request(Method::POST, &format!("/sandboxes/{id}/execute"))?.json(&new);
        if self.background {
            let executed: Executed = client.fetch(request).await.map_err(Failure::of_program)?;
            if client.json() {
                return say::json(&executed);
            }
            say::line(&executed.exec_id);
            return Ok(());
        }
        let answer = client.send(request.header("accept", "text/event-stream")).await.map_err(Failure::of_program)?;
        let (exec, heard) = follow(client, &id, answer, passes_input).await?;
        if client.json() {
            say::json(&heard.with(&exec))?;
        }
        ended(&exec)
    }

    fn env(&self) -> Result<std::collections::BTreeMap<EnvName, EnvValue>, Failure> {
        let usage = |error: carrel_model::Malformed| Failure::new(error.to_string()).exit(Exit::Usage);
        let pair = |(name, value): (String, String)| {
            Ok((EnvName::try_from(name).map_err(usage)?, EnvValue::try_from(value).map_err(usage)?))
        };
        pairs("--env", &self.env)?.into_iter().map(pair).collect()
    }
}

/// Passes on how a command ended.
pub(super) fn ended(exec: &ExecView) -> Result<(), Failure> {
    match (exec.status, exec.exit_code) {
        (_, _) if exec.timed_out => Err(Failure::new("its time was up, and it was ended").exit(Exit::TimedOut)),
        (ExecStatus::Ended, Some(0)) => Ok(()),
        (ExecStatus::Ended, Some(code)) => Err(Failure::pass_on(code)),
        _ => {
            let why = exec.note.as_deref().unwrap_or("nobody knows why");
            Err(Failure::new(format!("the end of {} was not seen: {why}", exec.exec_id)))
        }
    }
}

/// Shows what a command prints until it ends. A connection that breaks is taken up where it was.
async fn follow(client: &Client, id: &str, answer: Response, passes_input: bool) -> Result<(ExecView, Heard), Failure> {
    let mut hearing = Hearing { client, id, exec: None, seen: 0, passes_input, heard: Heard::default() };
    if let Some(exec) = hearing.listen(answer).await {
        return Ok((exec, hearing.heard));
    }
    for pause in [100, 300, 1000, 3000, 5000, 5000, 5000] {
        let Some(exec) = hearing.exec.clone() else { break };
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let path = format!("/sandboxes/{id}/execs/{exec}/output?offset={}", hearing.seen);
        let again = client.request(Method::GET, &path)?.header("accept", "text/event-stream");
        match client.send(again).await {
            Ok(answer) => {
                if let Some(exec) = hearing.listen(answer).await {
                    return Ok((exec, hearing.heard));
                }
            }
            Err(failure) if failure.is_refusal() => return Err(failure),
            Err(_) => {}
        }
    }
    Err(Failure::new("the connection broke, and the command was not found again"))
}

struct Hearing<'c> {
    client: &'c Client,
    id: &'c str,
    exec: Option<String>,
    seen: i64,
    passes_input: bool,
    heard: Heard,
}

/// What a command printed, for those who want it in one piece.
#[derive(Default)]
struct Heard {
    out: Vec<u8>,
    err: Vec<u8>,
    is_cut: bool,
}

impl Heard {
    /// As much of each as the API tells in one piece.
    const MOST: usize = 10 << 20;

    fn take(&mut self, is_out: bool, bytes: &[u8]) {
        let kept = if is_out { &mut self.out } else { &mut self.err };
        let room = Self::MOST.saturating_sub(kept.len());
        self.is_cut |= bytes.len() > room;
        kept.extend(bytes.iter().take(room));
    }

    fn with(self, exec: &ExecView) -> Executed {
        let end = exec.ended_at.unwrap_or_else(jiff::Timestamp::now);
        Executed {
            exec_id: exec.exec_id.clone(),
            exit_code: exec.exit_code,
            stdout: String::from_utf8_lossy(&self.out).into_owned(),
            stderr: String::from_utf8_lossy(&self.err).into_owned(),
            duration_ms: end.duration_since(exec.started_at).as_millis().try_into().unwrap_or_default(),
            timed_out: exec.timed_out,
            truncated: self.is_cut,
            status: exec.status,
            note: exec.note.clone(),
        }
    }
}

impl Hearing<'_> {
    async fn listen(&mut self, answer: Response) -> Option<ExecView> {
        let mut events = answer.bytes_stream().eventsource();
        let mut signals = Signals::new();
        loop {
            let event = tokio::select! {
                event = events.next() => event?.ok()?,
                number = signals.next() => {
                    self.signal(number).await;
                    continue;
                }
            };
            match &*event.event {
                "start" => self.begin(serde_json::from_str(&event.data).ok()?),
                "end" => return serde_json::from_str(&event.data).ok(),
                name => {
                    let piece: Piece = serde_json::from_str(&event.data).ok()?;
                    let bytes = match (piece.text, piece.base64) {
                        (Some(text), _) => text.into_bytes(),
                        (None, Some(text)) => base64::engine::general_purpose::STANDARD.decode(text).ok()?,
                        (None, None) => Vec::new(),
                    };
                    if self.client.json() {
                        self.heard.take(name == "stdout", &bytes);
                    } else {
                        if name == "stdout" {
                            // Nobody reads on: the command hears of it as it would from a pipe of its own.
                            if !say::bytes(&bytes) {
                                self.signal(13).await;
                            }
                        } else {
                            say::aside_bytes(&bytes);
                        }
                    }
                    self.seen = event.id.parse().unwrap_or(self.seen);
                }
            }
        }
    }

    async fn signal(&self, number: u32) {
        let Some(exec) = &self.exec else { return };
        let path = format!("/sandboxes/{}/execs/{exec}/signal", self.id);
        if let Ok(request) = self.client.request(Method::POST, &path) {
            let _ = self.client.send(request.json(&serde_json::json!({"signal": number}))).await;
        }
    }

    fn begin(&mut self, exec: ExecView) {
        let path = format!("/sandboxes/{}/execs/{}", self.id, exec.exec_id);
        self.exec = Some(exec.exec_id.to_string());
        if !self.passes_input {
            return;
        }
        let mut typed = stdin();
        let client = self.client.clone();
        tokio::spawn(async move {
            while let Some(bytes) = typed.recv().await {
                let sent =
                    async { client.send(client.request(Method::POST, &format!("{path}/input"))?.body(bytes)).await };
                // It ended, or never reads: the rest is for nobody.
                if sent.await.is_err() {
                    return;
                }
            }
            if let Ok(request) = client.request(Method::POST, &format!("{path}/close_stdin")) {
                let _ = client.send(request).await;
            }
        });
    }
}

/// What is typed or piped in. Read by a thread of its own, which nobody waits for when the command ends.
pub(super) fn stdin() -> mpsc::Receiver<Bytes> {
    let (told, hears) = mpsc::channel(4);
    std::thread::spawn(move || {
        let (mut input, mut buffer) = (std::io::stdin().lock(), vec![0; 64 * 1024]);
        while let Ok(read @ 1..) = input.read(&mut buffer) {
            if told.blocking_send(Bytes::copy_from_slice(&buffer[..read])).is_err() {
                return;
            }
        }
    });
    hears
}

/// The signals that are passed on.
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    hang_up: Option<tokio::signal::unix::Signal>,
    first: Option<tokio::signal::unix::Signal>,
    second: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Self {
        let listen = |kind| signal(kind).ok();
        Signals {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
            hang_up: listen(SignalKind::hangup()),
            first: listen(SignalKind::user_defined1()),
            second: listen(SignalKind::user_defined2()),
        }
    }

    async fn next(&mut self) -> u32 {
        tokio::select! {
            () = heard(&mut self.interrupt) => 2,
            () = heard(&mut self.terminate) => 15,
            () = heard(&mut self.hang_up) => 1,
            () = heard(&mut self.first) => 10,
            () = heard(&mut self.second) => 12,
        }
    }
}

async fn heard(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stdin())
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The size of the terminal, when there is one.
pub(super) fn size() -> Option<ExecSize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    let whole = |number: u16| carrel_model::number::Whole::new(u64::from(number));
    Some(ExecSize { cols: whole(size.ws_col)?, rows: whole(size.ws_row)? })
}
