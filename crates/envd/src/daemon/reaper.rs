//! The reaper: the only one that waits for children, whoever's they were.

use std::{io, sync::Arc};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions},
};
use tokio::signal::unix::{SignalKind, signal};

use super::guest::Guest;

/// Waits for children and for the order to end.
pub(super) struct Reaper {
    guest: Arc<Guest>,
    children: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Reaper {
    pub(super) fn begin(guest: Arc<Guest>) -> io::Result<Reaper> {
        Ok(Reaper {
            guest,
            children: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Reaps until SIGTERM comes; passes it on, and returns once everybody is gone.
    pub(super) async fn until_told_to_end(mut self) {
        let mut ending = false;
        loop {
            let anyone_left = self.reap();
            if ending && !anyone_left {
                return;
            }
            tokio::select! {
                _ = self.children.recv() => {}
                _ = self.terminate.recv() => ending = self.pass_on(),
                _ = self.interrupt.recv() => ending = self.pass_on(),
            }
        }
    }

    /// Takes every child that has ended; answers whether there are more.
    fn reap(&self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.guest.processes.ended(pid.as_raw_nonzero().get() as u32, status),
                Ok(None) => return true,
                Err(Errno::INTR) => continue,
                Err(_no_children) => return false,
            }
        }
    }

    /// Asks everybody to end: as pid 1 the whole sandbox, else our own children.
    fn pass_on(&self) -> bool {
        let me = rustix::process::getpid();
        let pids: Vec<Pid> = if me.is_init() {
            let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.filter_map(|name| name.to_str()?.parse().ok()).filter_map(Pid::from_raw).collect()
        } else {
            self.guest.processes.pids().into_iter().filter_map(|pid| Pid::from_raw(pid as i32)).collect()
        };
        for pid in pids.into_iter().filter(|pid| *pid != me) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
            // A stopped one could not hear it.
            let _ = rustix::process::kill_process(pid, Signal::CONT);
        }
        true
    }
}
