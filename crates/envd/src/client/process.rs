//! Processes.

use bytes::Bytes;
use futures::stream;

use super::{Ended, Envd, EnvdError, Event, Events, Process, Selector, Size, Start, ask::Messages};
use crate::wire::{
    Empty,
    process::{
        EndEvent, EventResponse, ListResponse, Named, ProcessConfig, ProcessInput, ProcessSelector, Pty, PtySize,
        SERVICE, SendInputRequest, SendSignalRequest, StartRequest, UpdateRequest,
    },
    signals,
};

impl Envd {
    /// Starts a command. The first event has been seen when this returns; the stream begins with it again.
    pub async fn start(&self, start: &Start) -> Result<Events, EnvdError> {
        let request = StartRequest {
            process: Some(ProcessConfig {
                cmd: start.program.clone(),
                args: start.args.clone(),
                envs: start.env.clone(),
                cwd: start.cwd.clone(),
            }),
            pty: start.terminal.map(|size| Pty { size: Some(size.into()) }),
            tag: start.tag.clone(),
            stdin: Some(start.stdin),
        };
        let messages = self.follow(SERVICE, "Start", start.user.as_deref(), start.timeout, &request).await?;
        events(messages).await
    }

    /// Follows a process that runs, from now on.
    pub async fn connect(&self, process: &Selector) -> Result<Events, EnvdError> {
        self.listen(process, None).await
    }

    /// Follows a process of which so many bytes were heard before. The first event says where the rest begins; an envd
    /// that does not know of this (E2B's) says nothing there, and begins with what comes.
    pub async fn reconnect(&self, process: &Selector, heard: u64) -> Result<Events, EnvdError> {
        self.listen(process, Some(heard)).await
    }

    async fn listen(&self, process: &Selector, heard: Option<u64>) -> Result<Events, EnvdError> {
        let request = Named { process: Some(process.into()), heard };
        events(self.follow(SERVICE, "Connect", None, None, &request).await?).await
    }

    /// What runs.
    pub async fn processes(&self) -> Result<Vec<Process>, EnvdError> {
        let answer: ListResponse = self.call(SERVICE, "List", None, &Empty {}).await?;
        let process = |process: crate::wire::process::ProcessInfo| {
            let config = process.config.unwrap_or_default();
            Process { pid: process.pid, tag: process.tag, program: config.cmd, args: config.args }
        };
        Ok(answer.processes.into_iter().map(process).collect())
    }

    /// Writes to a process: its terminal if it has one, else its standard input.
    pub async fn send_input(&self, process: &Selector, terminal: bool, bytes: Bytes) -> Result<(), EnvdError> {
        let input = match terminal {
            true => ProcessInput { pty: Some(bytes), stdin: None },
            false => ProcessInput { stdin: Some(bytes), pty: None },
        };
        let request = SendInputRequest { process: Some(process.into()), input: Some(input) };
        self.call(SERVICE, "SendInput", None, &request).await.map(|Empty {}| ())
    }

    /// Says that no more input comes.
    pub async fn close_stdin(&self, process: &Selector) -> Result<(), EnvdError> {
        let request = Named { process: Some(process.into()), heard: None };
        self.call(SERVICE, "CloseStdin", None, &request).await.map(|Empty {}| ())
    }

    /// Sends a signal: any number from 1 to 64 (to E2B's envd only 9 and 15 get through).
    pub async fn signal(&self, process: &Selector, signal: u32) -> Result<(), EnvdError> {
        self.send_signal(process, signal, false).await
    }

    /// The same, to its whole process group; at E2B's envd to it alone.
    pub async fn signal_group(&self, process: &Selector, signal: u32) -> Result<(), EnvdError> {
        self.send_signal(process, signal, true).await
    }

    async fn send_signal(&self, process: &Selector, signal: u32, group: bool) -> Result<(), EnvdError> {
        let signal = i32::try_from(signal).unwrap_or(i32::MAX);
        let request = SendSignalRequest { process: Some(process.into()), signal, group };
        self.call(SERVICE, "SendSignal", None, &request).await.map(|Empty {}| ())
    }

    /// Gives a terminal another size.
    pub async fn resize(&self, process: &Selector, size: Size) -> Result<(), EnvdError> {
        let pty = Some(Pty { size: Some(size.into()) });
        let request = UpdateRequest { process: Some(process.into()), pty };
        self.call(SERVICE, "Update", None, &request).await.map(|Empty {}| ())
    }
}

impl From<Size> for PtySize {
    fn from(Size { cols, rows }: Size) -> PtySize {
        PtySize { cols: cols.into(), rows: rows.into() }
    }
}

impl From<&Selector> for ProcessSelector {
    fn from(selector: &Selector) -> ProcessSelector {
        match selector {
            Selector::Pid(pid) => ProcessSelector { pid: Some(*pid), tag: None },
            Selector::Tag(tag) => ProcessSelector { pid: None, tag: Some(tag.clone()) },
        }
    }
}

/// The stream of events, once the first has come.
async fn events(mut messages: Messages) -> Result<Events, EnvdError> {
    let first = next(&mut messages).await?;
    let first = first.ok_or_else(|| EnvdError::Broken("the stream ended before it began".to_owned()))?;
    let rest = stream::unfold(Some(messages), |messages| async move {
        let mut messages = messages?;
        match next(&mut messages).await {
            Ok(Some(event @ Event::Ended(_))) => {
                messages.finish();
                Some((Ok(event), None))
            }
            Ok(Some(event)) => Some((Ok(event), Some(messages))),
            Ok(None) => Some((Err(EnvdError::Unreachable(std::io::ErrorKind::UnexpectedEof.into())), None)),
            Err(error) => Some((Err(error), None)),
        }
    });
    let rest = if let Event::Ended(_) = first {
        futures::future::Either::Left(stream::empty())
    } else {
        futures::future::Either::Right(rest)
    };
    Ok(Box::pin(futures::StreamExt::chain(stream::once(std::future::ready(Ok(first))), rest)))
}

async fn next(messages: &mut Messages) -> Result<Option<Event>, EnvdError> {
    loop {
        let Some(message) = messages.next::<EventResponse>().await? else { return Ok(None) };
        let event = message.event.unwrap_or_default();
        if let Some(start) = event.start {
            return Ok(Some(Event::Started { pid: start.pid, from: start.from }));
        }
        if let Some(data) = event.data {
            let event = data.stdout.map(Event::Stdout).or(data.stderr.map(Event::Stderr));
            if let Some(event) = event.or(data.pty.map(Event::Terminal)) {
                return Ok(Some(event));
            }
        }
        if let Some(end) = event.end {
            return Ok(Some(Event::Ended(end.into())));
        }
    }
}

impl From<EndEvent> for Ended {
    fn from(end: EndEvent) -> Ended {
        let exit_code = match end.exited {
            true => end.exit_code,
            false => 128 + end.status.strip_prefix("signal: ").and_then(signals::of_story).unwrap_or(0),
        };
        Ended { exit_code, exited: end.exited, status: end.status }
    }
}
