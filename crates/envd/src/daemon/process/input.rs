//! What is written to a process.

use std::{io, os::fd::OwnedFd};

use tokio::{
    io::AsyncWriteExt,
    net::unix::pipe,
    sync::{Mutex, watch},
};

use super::spawn::set_size;
use crate::wire::{
    Code, Fault,
    process::{ProcessInput, PtySize},
};

/// The input of a process: its pipe, its terminal, or none.
pub(in crate::daemon) struct Input {
    kind: Kind,
    closing: watch::Sender<bool>,
}

enum Kind {
    Pipe(Mutex<Option<pipe::Sender>>),
    /// The writer, and the same terminal for its size, which waits for no writer.
    Terminal(Mutex<Option<pipe::Sender>>, std::sync::Mutex<Option<OwnedFd>>),
}

impl Input {
    pub(super) fn pipe(pipe: Option<pipe::Sender>) -> Input {
        Input { kind: Kind::Pipe(Mutex::new(pipe)), closing: watch::Sender::new(false) }
    }

    pub(super) fn terminal(terminal: OwnedFd) -> io::Result<Input> {
        let writer = pipe::Sender::from_owned_fd_unchecked(terminal.try_clone()?)?;
        Ok(Input {
            kind: Kind::Terminal(Mutex::new(Some(writer)), std::sync::Mutex::new(Some(terminal))),
            closing: watch::Sender::new(false),
        })
    }

    /// Gives the terminal another size.
    pub(super) fn resize(&self, size: PtySize) -> Result<(), Fault> {
        let Kind::Terminal(_, terminal) = &self.kind else {
            return Err(Fault::new(Code::FailedPrecondition, "the process has no terminal"));
        };
        let terminal = terminal.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let terminal = terminal.as_ref().ok_or_else(closed)?;
        set_size(terminal, size)
            .map_err(|error| Fault::new(Code::Internal, format!("the terminal cannot be resized: {error}")))
    }

    /// Writes all of it, as fast as the process reads; writers take turns.
    pub(in crate::daemon) async fn write(&self, input: ProcessInput) -> Result<(), Fault> {
        match (&self.kind, input) {
            (Kind::Pipe(pipe), ProcessInput { stdin: Some(bytes), .. }) => {
                let mut closing = self.closing.subscribe();
                let mut pipe = pipe.lock().await;
                let Some(open) = pipe.as_mut().filter(|_| !*closing.borrow()) else { return Err(closed()) };
                let written = tokio::select! {
                    written = open.write_all(&bytes) => written,
                    _ = closing.wait_for(|closing| *closing) => return Err(closed()),
                };
                written.map_err(|error| broken(&error))
            }
            (Kind::Terminal(terminal, _), ProcessInput { pty: Some(bytes), .. }) => {
                let mut closing = self.closing.subscribe();
                let mut terminal = terminal.lock().await;
                let Some(open) = terminal.as_mut().filter(|_| !*closing.borrow()) else { return Err(closed()) };
                tokio::select! {
                    written = open.write_all(&bytes) => written.map_err(|error| broken(&error)),
                    _ = closing.wait_for(|closing| *closing) => Err(closed()),
                }
            }
            (Kind::Terminal(..), ProcessInput { stdin: Some(_), .. }) => {
                Err(Fault::new(Code::FailedPrecondition, "the process has a terminal: write to that"))
            }
            (Kind::Pipe(_), ProcessInput { pty: Some(_), .. }) => {
                Err(Fault::new(Code::FailedPrecondition, "the process has no terminal"))
            }
            (_, ProcessInput { stdin: None, pty: None }) => {
                Err(Fault::new(Code::InvalidArgument, "no input was given"))
            }
        }
    }

    /// Ends it. A writer that still waits for the process to read is told.
    pub(in crate::daemon) async fn close(&self) -> Result<(), Fault> {
        match &self.kind {
            Kind::Terminal(..) => {
                Err(Fault::new(Code::FailedPrecondition, "a terminal has no end of input: send it Ctrl-D"))
            }
            Kind::Pipe(pipe) => {
                self.closing.send_replace(true);
                match pipe.lock().await.take() {
                    Some(_) => Ok(()),
                    None => Err(closed()),
                }
            }
        }
    }

    /// Lets go of it when the process is gone; a writer that still waits lets go for us.
    pub(super) fn let_go(&self) {
        self.closing.send_replace(true);
        let (Kind::Pipe(writer) | Kind::Terminal(writer, _)) = &self.kind;
        if let Ok(mut writer) = writer.try_lock() {
            writer.take();
        }
        if let Kind::Terminal(_, terminal) = &self.kind {
            terminal.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        }
    }
}

fn closed() -> Fault {
    Fault::new(Code::FailedPrecondition, "stdin not enabled or closed")
}

fn broken(error: &io::Error) -> Fault {
    Fault::new(Code::FailedPrecondition, format!("the process does not read any more: {error}"))
}
