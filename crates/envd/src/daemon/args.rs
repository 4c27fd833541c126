//! The command line of envd.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

/// How to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Args {
    /// Where to listen; at least one.
    pub(super) listen: Vec<Address>,
    /// Whether only peers from outside the pid namespace are heard.
    pub(super) host_only: bool,
    /// Whether orphans come to us although we are not pid 1.
    pub(super) subreaper: bool,
}

/// An address to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// A listening socket handed over as standard input. Only that one: taking any other number would need `unsafe`,
    /// and not closing it would hand it to every child.
    Stdin,
    /// A socket in the filesystem.
    Unix(PathBuf),
    /// A socket in the abstract namespace.
    Abstract(Vec<u8>),
    /// A TCP port, for tests and for guests that are reached over a network.
    Tcp(SocketAddr),
    /// A TCP port whose lines are handed on to a socket of the host, unread: the gateway of a guest whose network is
    /// not the host's to enter.
    Forward(SocketAddr, PathBuf),
}

/// What the command line asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// To serve.
    Serve(Args),
    /// Internal: to become a command that owns the terminal on its standard input.
    ExecWithTerminal(Vec<OsString>),
}

pub(super) const EXEC_WITH_TERMINAL: &str = "exec-with-terminal";
const USAGE: &str = "usage: envd --listen fd:0|unix:PATH|abstract:NAME|tcp:ADDRESS [--listen …] [--forward ADDRESS=PATH] \
     [--host-only] [--subreaper]";

pub(super) fn understand(arguments: Vec<OsString>) -> Result<Asked, String> {
    if arguments.first().is_some_and(|first| first == EXEC_WITH_TERMINAL) {
        return Ok(Asked::ExecWithTerminal(arguments.into_iter().skip(1).collect()));
    }
    let mut args = Args { listen: Vec::new(), host_only: false, subreaper: false };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--listen") => {
                let address = arguments.next().and_then(|address| address.into_string().ok());
                args.listen.push(address.as_deref().and_then(understand_address).ok_or(USAGE)?);
            }
            Some("--forward") => {
                let both = arguments.next().and_then(|both| both.into_string().ok());
                args.listen.push(both.as_deref().and_then(understand_forward).ok_or(USAGE)?);
            }
            Some("--host-only") => args.host_only = true,
            Some("--subreaper") => args.subreaper = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    if args.listen.is_empty() {
        return Err(USAGE.to_owned());
    }
    Ok(Asked::Serve(args))
}

fn understand_address(text: &str) -> Option<Address> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        "fd" if rest == "0" => Some(Address::Stdin),
        "unix" if !rest.is_empty() => Some(Address::Unix(rest.into())),
        "abstract" if !rest.is_empty() => Some(Address::Abstract(rest.as_bytes().to_vec())),
        "tcp" => rest.parse().ok().map(Address::Tcp),
        _ => None,
    }
}

fn understand_forward(text: &str) -> Option<Address> {
    let (from, to) = text.split_once('=').filter(|(_, to)| !to.is_empty())?;
    Some(Address::Forward(from.parse().ok()?, to.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(line: &str) -> Result<Asked, String> {
        understand(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn every_kind_of_address_is_understood() {
        let asked = understood(
            "--listen fd:0 --listen unix:/run/envd --listen abstract:a --listen tcp:127.0.0.1:1 \
             --forward 127.0.0.1:2=/run/gateway --host-only",
        );
        let listen = vec![
            Address::Stdin,
            Address::Unix("/run/envd".into()),
            Address::Abstract(b"a".to_vec()),
            Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 1))),
            Address::Forward(SocketAddr::from(([127, 0, 0, 1], 2)), "/run/gateway".into()),
        ];
        assert_eq!(asked, Ok(Asked::Serve(Args { listen, host_only: true, subreaper: false })));
    }

    #[test]
    fn what_is_not_understood_is_answered_with_the_usage() {
        for line in [
            "",
            "--listen",
            "--listen fd:3",
            "--listen udp:1",
            "--listen tcp:nowhere",
            "--forward 127.0.0.1:1",
            "--what",
        ] {
            assert_eq!(understood(line), Err(USAGE.to_owned()));
        }
    }
}
