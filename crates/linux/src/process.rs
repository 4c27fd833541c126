//! Processes that are not our children, named so that a number used twice is not mistaken.

use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde::{Deserialize, Serialize};

/// A process, by its number and the moment it began (in the kernel's ticks since boot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Living {
    /// Its number.
    pub pid: i32,
    /// When it began.
    pub began: u64,
}

impl Living {
    /// The process that has this number now.
    pub fn of(pid: i32) -> io::Result<Living> {
        Ok(Living { pid, began: began(pid)? })
    }

    /// Where the first process of a jail is noted whose socket lies here.
    pub(crate) fn note_beside(socket: &Path) -> PathBuf {
        socket.with_file_name("first.json")
    }

    /// The process that was noted beside a socket, if one was.
    pub fn noted_beside(socket: &Path) -> Option<Living> {
        serde_json::from_slice(&fs::read(Living::note_beside(socket)).ok()?).ok()
    }

    /// Whether it lives. One that ended and waits to be collected does not.
    pub fn is_alive(&self) -> bool {
        match stat_of(self.pid) {
            Ok((state, began)) => began == self.began && state != 'Z' && state != 'X',
            Err(_) => false,
        }
    }

    /// A descriptor of it, while it lives.
    pub fn open(&self) -> io::Result<OwnedFd> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let pid = Pid::from_raw(self.pid).ok_or_else(gone)?;
        let fd = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
        // The number may have been given to another between the look and the opening.
        if began(self.pid)? == self.began { Ok(fd) } else { Err(gone()) }
    }

    /// Kills it, content to find it gone.
    pub fn kill(&self) -> io::Result<()> {
        match self.open() {
            Ok(fd) => match pidfd_send_signal(fd, Signal::KILL) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
                Err(error) => Err(error.into()),
            },
            Err(_) => Ok(()),
        }
    }

    /// Kills it and waits until it has ended; content to find it gone. The first process of a jail ends last.
    pub fn end(&self, patience: Duration) -> io::Result<()> {
        let Ok(fd) = self.open() else { return Ok(()) };
        match pidfd_send_signal(&fd, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
            match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Moves the memory of a process to swap, as far as the kernel will, and says how many bytes went there. An error when there
/// is no swap at all, or when the kernel refused every part.
pub fn page_out(pid: i32) -> io::Result<u64> {
    if fs::read_to_string("/proc/swaps")?.lines().count() < 2 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let process = pidfd_open(Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
    let before = swapped(pid)?;
    let (mut took, mut refused) = (false, None);
    for line in fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
        let Some((from, to)) = line.split_once(' ').and_then(|(range, _)| range.split_once('-')) else { continue };
        let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16)) else { continue };
        // What cannot be moved (the kernel's own pages, locked ones) stays.
        match crate::sys::page_out(&process, from, to - from) {
            Ok(()) => took = true,
            Err(error) => refused = Some(error),
        }
    }
    // The kernel takes the wish for the deed: only its account tells what went.
    match refused {
        Some(error) if !took => Err(error),
        _ => Ok(swapped(pid)?.saturating_sub(before)),
    }
}

/// The bytes of a process that lie in swap.
fn swapped(pid: i32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSwap:")?.split_whitespace().next());
    Ok(line.and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or_default() * 1024)
}

fn began(pid: i32) -> io::Result<u64> {
    stat_of(pid).map(|(_, began)| began)
}

fn stat_of(pid: i32) -> io::Result<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "the kernel describes a process in an unknown way");
    // The name in brackets may itself hold brackets and spaces: what follows the last one is plain.
    let rest = stat.rsplit_once(") ").ok_or_else(odd)?.1;
    let mut fields = rest.split(' ');
    let state = fields.next().and_then(|field| field.chars().next()).ok_or_else(odd)?;
    let began = fields.nth(18).and_then(|field| field.parse().ok()).ok_or_else(odd)?;
    Ok((state, began))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_ended_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("there is a sleep");
        let living = Living::of(child.id() as i32).expect("it lives");
        assert!(living.is_alive());
        living.end(Duration::from_secs(600)).expect("it can be ended");
        assert!(!living.is_alive(), "it is not on its way, it has ended");
        child.wait().expect("it is collected");
        living.end(Duration::from_secs(600)).expect("who is gone is content");
    }

    #[test]
    fn a_process_is_told_from_its_successor() {
        let me = Living::of(std::process::id() as i32).expect("we live");
        assert!(me.is_alive() && me.open().is_ok());
        let another = Living { began: me.began + 1, ..me };
        assert!(!another.is_alive() && another.open().is_err());
        assert!(another.kill().is_ok(), "and is not hit in its place");
    }
}
