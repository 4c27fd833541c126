//! Networks that are made before a jail needs one.
//!
//! A namespace of the network is the dearest part of a jail, and at a bad moment ten times as dear. So the launcher
//! keeps a few: made while nobody waits, with the loopback up and the settings of a jail. Nobody owns one but this process,
//! and it ends with it. Its rights are the host's: root inside a jail has none over its own network, which it has no
//! use for.

use std::{
    fs::{self, File},
    io,
    os::fd::OwnedFd,
};

use crate::sys;

/// So many wait.
const WAITING: usize = 2;

/// What is set in a network. Low ports are for everybody.
pub(crate) const SETTING: (&str, &str) = ("proc/sys/net/ipv4/ip_unprivileged_port_start", "0");

/// Networks that wait, and the way home.
pub(crate) struct Spares {
    home: OwnedFd,
    waiting: Vec<OwnedFd>,
}

impl Spares {
    /// Finds the way home. There is none to go for a plain user, who may not make networks out here.
    pub(crate) fn open() -> io::Result<Option<Spares>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        Ok(Some(Spares { home: here()?, waiting: Vec::new() }))
    }

    /// Makes one more, unless enough wait. Says whether one was made.
    pub(crate) fn make_one(&mut self) -> io::Result<bool> {
        if self.waiting.len() >= WAITING {
            return Ok(false);
        }
        let made = sys::new_network_namespace().and_then(|()| {
            sys::raise_loopback()?;
            fs::write(format!("/{}", SETTING.0), SETTING.1)?;
            here()
        });
        // Whatever came of it: nothing else may be done out there.
        self.go_home()?;
        self.waiting.push(made?);
        Ok(true)
    }

    /// Goes into one that waited, for whoever is born there next. Says whether there was one; then comes `go_home`.
    pub(crate) fn go_into_one(&mut self) -> io::Result<bool> {
        let Some(network) = self.waiting.pop() else { return Ok(false) };
        sys::enter_namespace(&network, libc::CLONE_NEWNET).map(|()| true)
    }

    /// Comes back.
    pub(crate) fn go_home(&self) -> io::Result<()> {
        sys::enter_namespace(&self.home, libc::CLONE_NEWNET)
    }
}

fn here() -> io::Result<OwnedFd> {
    Ok(File::open("/proc/self/ns/net")?.into())
}
