//! `process.Process`: the seven things that can be asked of processes.

mod input;
mod pump;
mod recent;
mod spawn;
mod table;

use std::{sync::Arc, time::Duration};

use rustix::process::{Pid, Signal};

use super::guest::Guest;
use crate::wire::{
    Code, Empty, Fault,
    process::{
        EventResponse, ListResponse, Named, ProcessEvent, ProcessSelector, SendInputRequest, SendSignalRequest,
        StartEvent, StartRequest, UpdateRequest,
    },
};

pub(super) use pump::{Heard, Hearing};
pub(super) use spawn::exec_with_terminal;
pub(super) use table::{Process, Table};

/// Starts a process, and follows it.
pub(super) fn start(
    guest: &Arc<Guest>,
    user: Option<&str>,
    request: StartRequest,
    timeout: Option<Duration>,
) -> Result<Hearing, Fault> {
    let user = guest.user(user)?;
    let settings = guest.settings().clone();
    let spawned = spawn::spawn(&user, &settings, &request)?;
    pump::begin(guest, spawned, request, timeout)
}

/// Follows a process from now on, or from where it was heard last; one that ended lately tells its end.
pub(super) async fn connect(guest: &Guest, request: &Named) -> Result<Hearing, Fault> {
    let process = guest.processes.find(request.process.as_ref(), table::Also::Ended)?;
    let mut hearing = process.hear(request.heard);
    if request.heard.is_some() {
        hearing.catch_up().await;
    }
    Ok(hearing)
}

/// What runs.
pub(super) fn list(guest: &Guest) -> ListResponse {
    ListResponse { processes: guest.processes.list() }
}

/// Gives a terminal another size.
pub(super) fn update(guest: &Guest, request: &UpdateRequest) -> Result<Empty, Fault> {
    let process = find(guest, request.process.as_ref())?;
    if let Some(size) = request.pty.and_then(|pty| pty.size) {
        process.resize(size)?;
    }
    Ok(Empty {})
}

/// Writes to a process.
pub(super) async fn send_input(guest: &Guest, request: SendInputRequest) -> Result<Empty, Fault> {
    let process = find(guest, request.process.as_ref())?;
    process.input.write(request.input.unwrap_or_default()).await?;
    Ok(Empty {})
}

/// Ends the standard input of a process.
pub(super) async fn close_stdin(guest: &Guest, request: &Named) -> Result<Empty, Fault> {
    find(guest, request.process.as_ref())?.input.close().await?;
    Ok(Empty {})
}

/// Sends a signal to a process: to it alone, unless its group is asked for.
pub(super) fn send_signal(guest: &Guest, request: &SendSignalRequest) -> Result<Empty, Fault> {
    let process = find(guest, request.process.as_ref())?;
    let gone = || Fault::new(Code::NotFound, format!("process with pid {} not found", process.pid));
    let pid = Pid::from_raw(process.pid as i32).ok_or_else(gone)?;
    if !process.is_running() {
        return Err(gone());
    }
    if !(1..=64).contains(&request.signal) {
        return Err(Fault::new(Code::Unimplemented, format!("there is no signal {}", request.signal)));
    }
    // Whoever is killed is not asked what its grandchildren still have to say.
    if request.signal == Signal::KILL.as_raw() || request.signal == Signal::TERM.as_raw() {
        process.note_signal();
    }
    match Signal::from_named_raw(request.signal) {
        // Its number is its group's, also when it has a terminal.
        Some(signal) if request.group => rustix::process::kill_process_group(pid, signal).map_err(|_| gone())?,
        Some(signal) => rustix::process::kill_process(pid, signal).map_err(|_| gone())?,
        None => real_time_signal(if request.group { "-" } else { "" }, process.pid, request.signal)?,
    }
    Ok(Empty {})
}

/// The real-time signals have no safe call of their own, and nearly nobody needs them: a shell sends them.
fn real_time_signal(group: &str, pid: u32, signal: i32) -> Result<(), Fault> {
    let line = format!("kill -{signal} {group}{pid}");
    let sent = std::process::Command::new("/bin/sh").arg("-c").arg(line).spawn();
    // Its end is the reaper's to see.
    sent.map(drop).map_err(|error| Fault::new(Code::Unimplemented, format!("signal {signal} needs /bin/sh: {error}")))
}

pub(super) fn find(guest: &Guest, selector: Option<&ProcessSelector>) -> Result<Arc<Process>, Fault> {
    guest.processes.find(selector, table::Also::Nobody)
}

/// The message that says that a process runs.
pub(super) fn started(hearing: &Hearing) -> EventResponse {
    let start = Some(StartEvent { pid: hearing.pid(), from: hearing.from() });
    EventResponse { event: Some(ProcessEvent { start, ..Default::default() }) }
}
