//! The daemon: pid 1 of a sandbox, which starts, watches and reaps processes and hands files in and out.
//!
//! One thread does everything; a second one comes for long work on files and goes when it is done. Nothing here keeps
//! a descriptor of the host but the listener, ptys come from the sandbox's own `/dev`, and every clock is a `timerfd`
//! that counts from now: so the whole tree can be dumped to disk and woken up on another day (see [`lines`]).
//!
//! Absent on purpose: logs (the sandbox's disk is not ours), TLS (the host terminates it), any idea of Carrel.

mod args;
mod body;
mod extension;
mod files;
mod filesystem;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod guest;
mod lines;
mod metrics;
mod paths;
mod process;
mod reaper;
mod serve;
mod shield;
mod timer;
mod users;

use std::{ffi::OsString, io::Write, process::ExitCode, time::Duration};

use args::{Args, Asked};
use guest::Guest;

/// Runs what was asked for on the command line until it ends.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let args = match args::understand(arguments) {
        Ok(Asked::Serve(args)) => args,
        Ok(Asked::ExecWithTerminal(command)) => return complain(&process::exec_with_terminal(command)),
        Err(message) => return complain(&message),
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("envd cannot go on: {error}")),
    }
}

fn run(args: Args) -> std::io::Result<()> {
    shield::raise()?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    if rustix::process::getpid().is_init() {
        // A session of its own, so that the tree can be dumped. It may have one already.
        let _ = rustix::process::setsid();
    } else if args.subreaper {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    let _ = std::env::set_current_dir("/");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .max_blocking_threads(4)
        .thread_keep_alive(Duration::from_secs(1))
        .thread_stack_size(256 << 10)
        .build()?;
    runtime.block_on(async {
        let guest = Guest::new();
        let reaper = reaper::Reaper::begin(guest.clone())?;
        let lines = lines::Lines::open(guest, &args)?;
        let _lines = lines;
        reaper.until_told_to_end().await;
        Ok(())
    })
}

fn complain(message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{message}");
    ExitCode::from(2)
}
