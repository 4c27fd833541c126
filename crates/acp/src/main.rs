//! `carrel-acp ORDER`: one turn with an agent that speaks the Agent Client Protocol, inside a sandbox.
//!
//! Prints every line of the agent. Ends with 0 when the agent's turn came to its end; with the agent's own code, or 1, when
//! it did not. Asked to end by a signal, it cancels the turn first.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "its standard error is where it speaks")]

use std::{
    io::Write as _,
    os::unix::process::ExitStatusExt as _,
    process::{ExitCode, Stdio},
    time::Duration,
};

use carrel_acp::{Conversation, Order};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    signal::unix::{SignalKind, signal},
    time::{Instant, timeout},
};

/// How long an agent may take to end once its turn is over or was cancelled.
const PATIENCE: Duration = Duration::from_secs(4);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let order = std::env::args_os().nth(1).ok_or_else(|| "usage: carrel-acp ORDER".to_owned()).and_then(|path| {
        let text = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        serde_json::from_slice::<Order>(&text).map_err(|error| format!("the order is not understood: {error}"))
    });
    let outcome = match order {
        Ok(order) => run(order).await,
        Err(why) => Err((2, why)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, why)) => {
            eprintln!("{why}");
            ExitCode::from(code)
        }
    }
}

type Trouble = (u8, String);

async fn run(order: Order) -> Result<(), Trouble> {
    let mut agent = start(&order)?;
    let group = agent.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let outcome = talk(order, &mut agent).await;
    let ended = timeout(PATIENCE, agent.wait()).await;
    // Its helpers go with it, whether it went by itself or not.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    match outcome {
        Ok(true) => Ok(()),
        Ok(false) => {
            let status = ended.ok().and_then(Result::ok);
            let code = status.and_then(|status| status.code().or(status.signal().map(|signal| 128 + signal)));
            let code = code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0).unwrap_or(1);
            Err((code, "The agent ended in the middle of its turn.".to_owned()))
        }
        Err(error) => Err((1, format!("The agent could not be talked to: {error}"))),
    }
}

fn start(order: &Order) -> Result<Child, Trouble> {
    let (program, arguments) = order.agent.split_first().ok_or((2, "The order names no agent.".to_owned()))?;
    Command::new(program)
        .args(arguments)
        .current_dir(&order.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // What is sent to us to end us is not for the agent: it is told in its own words.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| (127, format!("{program}: {error}")))
}

/// Talks until the turn is over. False: the agent went away before.
async fn talk(order: Order, agent: &mut Child) -> std::io::Result<bool> {
    let mut to_agent = agent.stdin.take().expect("its input is a pipe");
    let mut lines = BufReader::new(agent.stdout.take().expect("its output is a pipe")).split(b'\n');
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (mut talk, greeting) = Conversation::begin(order);
    say(&mut to_agent, &greeting).await?;
    let mut deadline = None;
    while !talk.is_over() {
        let mut asked_to_end = false;
        tokio::select! {
            line = lines.next_segment() => {
                let Some(mut line) = line? else { return Ok(false) };
                line.push(b'\n');
                // Whoever reads us is a log: to wait for it is right.
                let mut out = std::io::stdout().lock();
                out.write_all(&line)?;
                out.flush()?;
                drop(out);
                let Ok(value) = serde_json::from_slice::<Value>(&line) else { continue };
                for answer in talk.hear(&value) {
                    say(&mut to_agent, &answer).await?;
                }
            }
            _ = terminate.recv() => asked_to_end = true,
            _ = interrupt.recv() => asked_to_end = true,
            // A cancelled turn has an end of its own; an agent that does not come to it is not waited for.
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return Ok(false),
        }
        if asked_to_end && deadline.is_none() {
            deadline = Some(Instant::now() + PATIENCE);
            if let Some(cancel) = talk.cancel() {
                say(&mut to_agent, &cancel).await?;
            }
        }
    }
    // Its input is closed here: that is how agents are told to go.
    Ok(true)
}

async fn say(to: &mut ChildStdin, line: &Value) -> std::io::Result<()> {
    let mut text = line.to_string();
    text.push('\n');
    to.write_all(text.as_bytes()).await?;
    to.flush().await
}
