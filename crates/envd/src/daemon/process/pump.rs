//! The pump: carries what a process says to everybody who listens.
//!
//! A pipe is read only when every listener has room, so a slow one slows the process and nothing is lost; one that
//! hangs up is forgotten; and with none at all everything is read all the same, for a process must not hang because
//! nobody listens. What is held is at most a few frames for each listener, and the end of what was said (`recent`), for
//! somebody whose line broke and who comes back.

use std::{
    cell::RefCell,
    collections::VecDeque,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use rustix::process::{Pid, Signal, WaitStatus};
use tokio::{
    net::unix::pipe,
    sync::{mpsc, oneshot},
};

use super::{
    super::{guest::Guest, timer::Timer},
    input::Input,
    recent::Recent,
    spawn::{Ends, Spawned},
    table::{Process, lock},
};
use crate::wire::{
    Code, Fault,
    process::{DataEvent, EndEvent, StartRequest},
    signals,
};

/// Frames that wait for one listener.
const ROOM: usize = 8;
const FRAME: usize = 32 << 10;
const TERMINAL_FRAME: usize = 16 << 10;
/// How much is still taken from the pipes of a process that was killed.
const LAST_WORDS: usize = 1 << 20;
/// How long a terminal may be silent after its process has ended. Linux hangs it up at once; other kernels (gVisor's)
/// leave it open for ever, and nobody can write to it any more.
const SILENCE: Duration = Duration::from_millis(200);

/// What a listener hears.
#[derive(Debug, Clone)]
pub(in crate::daemon) enum Heard {
    Data(DataEvent),
    End(EndEvent),
}

/// What was said while a listener was away, and how many bytes had been said before it.
type Meanwhile = (u64, VecDeque<DataEvent>);

/// A listener's end.
pub(in crate::daemon) struct Hearing {
    process: Arc<Process>,
    heard: mpsc::Receiver<Heard>,
    /// For one who comes back.
    meanwhile: Option<oneshot::Receiver<Meanwhile>>,
    from: Option<u64>,
    /// What of it is not told yet.
    rest: VecDeque<DataEvent>,
}

/// The pump's end of a listener.
pub(super) struct Reader {
    heard: mpsc::Sender<Heard>,
    /// Whether the time limit is this listener's.
    started_it: bool,
    /// How much one who comes back heard before, and who tells them the rest.
    away: Option<(u64, oneshot::Sender<Meanwhile>)>,
}

impl Hearing {
    pub(super) fn new(process: Arc<Process>, heard_before: Option<u64>) -> (Reader, Hearing) {
        let (sender, heard) = mpsc::channel(ROOM);
        let (away, meanwhile) = heard_before
            .map(|before| {
                let (tell, meanwhile) = oneshot::channel();
                ((before, tell), meanwhile)
            })
            .unzip();
        let reader = Reader { heard: sender, started_it: false, away };
        (reader, Hearing { process, heard, meanwhile, from: None, rest: VecDeque::new() })
    }

    /// Waits for what was said while this listener was away.
    pub(super) async fn catch_up(&mut self) {
        if let Some(meanwhile) = self.meanwhile.take()
            && let Ok((from, rest)) = meanwhile.await
        {
            (self.from, self.rest) = (Some(from), rest);
        }
    }

    /// How many bytes had been said before those that are heard here, to one who comes back.
    pub(super) fn from(&self) -> Option<u64> {
        self.from
    }

    /// The process that is heard.
    pub(in crate::daemon) fn pid(&self) -> u32 {
        self.process.pid
    }

    /// What is heard next; the last is the end. An error when the time of the process is over.
    pub(in crate::daemon) async fn next(&mut self) -> Result<Heard, Fault> {
        if let Some(data) = self.rest.pop_front() {
            return Ok(Heard::Data(data));
        }
        match self.heard.recv().await {
            Some(heard) => Ok(heard),
            None if self.process.timed_out.load(Ordering::Relaxed) => {
                Err(Fault::new(Code::DeadlineExceeded, "the time of the process is over; it was killed"))
            }
            None => Err(Fault::new(Code::Unavailable, "the process is not heard any more")),
        }
    }
}

impl Reader {
    /// Tells one who is alone and has all the room.
    pub(super) fn tell_alone(&self, heard: Heard) {
        let _ = self.heard.try_send(heard);
    }

    /// Tells one who comes back what was said meanwhile. They have heard nothing else yet.
    pub(super) fn catch_up(&mut self, recent: &Recent) {
        if let Some((heard, away)) = self.away.take() {
            let _ = away.send(recent.since(heard));
        }
    }
}

/// Puts a process that was just born into the table and begins to pump.
pub(super) fn begin(
    guest: &Arc<Guest>,
    spawned: Spawned,
    request: StartRequest,
    timeout: Option<Duration>,
) -> Result<Hearing, Fault> {
    let ended = guest.processes.expect(spawned.pid);
    let broken = |error: io::Error| {
        let _ = kill(spawned.pid);
        Fault::new(Code::Internal, format!("the process cannot be followed: {error}"))
    };
    let (input, outputs) = match spawned.ends {
        Ends::Pipes { stdin, stdout, stderr } => {
            let stdin = stdin.map(|stdin| pipe::Sender::from_owned_fd(stdin.into())).transpose().map_err(broken)?;
            let stdout = pipe::Receiver::from_owned_fd(stdout.into()).map_err(broken)?;
            let stderr = pipe::Receiver::from_owned_fd(stderr.into()).map_err(broken)?;
            (Input::pipe(stdin), Outputs { stdout: Some(stdout), stderr: Some(stderr), terminal: None })
        }
        Ends::Terminal(terminal) => {
            let reader = terminal.try_clone().and_then(pipe::Receiver::from_owned_fd_unchecked).map_err(broken)?;
            let outputs = Outputs { stdout: None, stderr: None, terminal: Some(reader) };
            (Input::terminal(terminal).map_err(broken)?, outputs)
        }
    };
    let (readers, attached) = mpsc::unbounded_channel();
    let process = Arc::new(Process {
        pid: spawned.pid,
        tag: request.tag,
        config: Mutex::new(request.process.unwrap_or_default()),
        input,
        readers,
        signalled: AtomicBool::new(false),
        exited: AtomicBool::new(false),
        timed_out: AtomicBool::new(false),
        end: Mutex::new(None),
        recent: Mutex::default(),
    });
    let (mut reader, hearing) = Hearing::new(process.clone(), None);
    reader.started_it = true;
    let limit = timeout.map(Timer::after).transpose().map_err(broken)?;
    guest.processes.add(&process);
    let pump = Pump { guest: guest.clone(), process, outputs, readers: vec![reader], attached, limit, silence: None };
    tokio::spawn(pump.run(ended));
    Ok(hearing)
}

struct Pump {
    guest: Arc<Guest>,
    process: Arc<Process>,
    outputs: Outputs,
    readers: Vec<Reader>,
    attached: mpsc::UnboundedReceiver<Reader>,
    limit: Option<Timer>,
    silence: Option<Timer>,
}

struct Outputs {
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    terminal: Option<pipe::Receiver>,
}

enum Ready {
    Output,
    Ended(Option<WaitStatus>),
    TimeIsOver,
    /// The terminal of a process that has ended says nothing more.
    Silence,
}

impl Pump {
    async fn run(mut self, mut ended: oneshot::Receiver<WaitStatus>) {
        let mut status = None;
        while status.is_none() || self.outputs.are_open() {
            let ready = tokio::select! {
                biased;
                Some(reader) = self.attached.recv() => {
                    self.attach(reader);
                    continue;
                }
                () = rings(&self.limit) => Ready::TimeIsOver,
                () = rings(&self.silence) => Ready::Silence,
                result = &mut ended, if status.is_none() => Ready::Ended(result.ok()),
                () = self.outputs.ready(&mut self.readers), if self.outputs.are_open() => Ready::Output,
            };
            match ready {
                Ready::Output => {
                    if let Some(data) = self.outputs.read() {
                        self.tell(data);
                    }
                    if let Some(silence) = &self.silence {
                        let _ = silence.again(SILENCE);
                    }
                }
                Ready::Ended(how) => {
                    // Without the reaper there is no status to wait for.
                    status = Some(how);
                    self.process.exited.store(true, Ordering::Relaxed);
                    self.process.input.let_go();
                    if self.process.signalled.load(Ordering::Relaxed) {
                        self.last_words().await;
                    }
                    if self.outputs.terminal.is_some() {
                        self.silence = Timer::after(SILENCE).ok();
                    }
                }
                Ready::Silence => {
                    self.silence = None;
                    self.last_words().await;
                }
                Ready::TimeIsOver => {
                    self.limit = None;
                    self.time_is_over();
                }
            }
        }
        self.end(status.flatten()).await;
    }

    /// From here on a listener hears everything.
    fn attach(&mut self, mut reader: Reader) {
        reader.catch_up(&lock(&self.process.recent));
        self.readers.push(reader);
    }

    /// Everybody has room: that was waited for.
    fn tell(&mut self, data: DataEvent) {
        lock(&self.process.recent).note(&data);
        self.readers.retain(|reader| reader.heard.try_send(Heard::Data(data.clone())).is_ok());
    }

    /// Takes what a killed process left in its pipes, without waiting for grandchildren that hold them.
    async fn last_words(&mut self) {
        let mut taken = 0;
        while taken < LAST_WORDS {
            room(&mut self.readers).await;
            let Some(data) = self.outputs.read() else { break };
            taken += [&data.stdout, &data.stderr, &data.pty].into_iter().flatten().map(Bytes::len).sum::<usize>();
            self.tell(data);
        }
        self.outputs = Outputs { stdout: None, stderr: None, terminal: None };
    }

    /// Kills the process with its group, and lets go of whoever set the limit. A process that has exited already and
    /// only left others behind with its pipes has kept the limit: those live on, nobody listens to them any more.
    fn time_is_over(&mut self) {
        self.process.timed_out.store(true, Ordering::Relaxed);
        if self.process.is_running() {
            self.process.note_signal();
            let _ = kill(self.process.pid);
        }
        self.readers.retain(|reader| !reader.started_it);
    }

    async fn end(mut self, status: Option<WaitStatus>) {
        let end = Heard::End(end_event(status));
        if let Heard::End(end) = &end {
            self.guest.processes.finish(&self.process, end.clone());
        }
        self.attached.close();
        while let Ok(reader) = self.attached.try_recv() {
            self.attach(reader);
        }
        self.readers.retain(|reader| !reader.heard.is_closed());
        if !self.readers.is_empty() {
            // Somebody hears it to its end. A little is kept all the same, should their line break just now.
            lock(&self.process.recent).forget_unless_small();
        }
        let mut full = Vec::new();
        for reader in self.readers {
            if let Err(mpsc::error::TrySendError::Full(end)) = reader.heard.try_send(end.clone()) {
                full.push((reader, end));
            }
        }
        for (reader, end) in full {
            let _ = reader.heard.send(end).await;
        }
    }
}

async fn rings(timer: &Option<Timer>) {
    match timer {
        Some(timer) => timer.rang().await,
        None => std::future::pending().await,
    }
}

/// Waits until every listener has room; forgets those that hung up.
async fn room(readers: &mut Vec<Reader>) {
    let mut at = 0;
    while at < readers.len() {
        let heard = &readers[at].heard;
        let still_there = match heard.capacity() {
            0 => heard.reserve().await.is_ok(),
            _ => !heard.is_closed(),
        };
        if still_there {
            at += 1;
        } else {
            readers.swap_remove(at);
        }
    }
}

impl Outputs {
    fn are_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some() || self.terminal.is_some()
    }

    /// Waits for room, then for something to read.
    async fn ready(&self, readers: &mut Vec<Reader>) {
        room(readers).await;
        let stdout = async {
            match &self.stdout {
                Some(pipe) => drop(pipe.readable().await),
                None => std::future::pending().await,
            }
        };
        let stderr = async {
            match &self.stderr {
                Some(pipe) => drop(pipe.readable().await),
                None => std::future::pending().await,
            }
        };
        let terminal = async {
            match &self.terminal {
                Some(terminal) => drop(terminal.readable().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stdout => {}
            () = stderr => {}
            () = terminal => {}
        }
    }

    /// Reads one frame of whatever has something; closes what is at its end.
    fn read(&mut self) -> Option<DataEvent> {
        thread_local! {
            static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; FRAME]);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let mut data = DataEvent::default();
            // At its end a terminal says EIO: the last one let go of the other side.
            if let Some(bytes) = read_pipe(&mut self.terminal, &mut scratch[..TERMINAL_FRAME]) {
                data.pty = Some(bytes);
                return Some(data);
            }
            if let Some(bytes) = read_pipe(&mut self.stdout, scratch) {
                data.stdout = Some(bytes);
                return Some(data);
            }
            if let Some(bytes) = read_pipe(&mut self.stderr, scratch) {
                data.stderr = Some(bytes);
                return Some(data);
            }
            None
        })
    }
}

fn read_pipe(pipe: &mut Option<pipe::Receiver>, scratch: &mut [u8]) -> Option<Bytes> {
    match pipe.as_ref()?.try_read(scratch) {
        Ok(0) => *pipe = None,
        Ok(length) => return Some(Bytes::copy_from_slice(&scratch[..length])),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        Err(_) => *pipe = None,
    }
    None
}

fn kill(pid: u32) -> rustix::io::Result<()> {
    let Some(pid) = Pid::from_raw(pid as i32) else { return Ok(()) };
    // With a terminal it leads a session, else a group; in both cases its number is the group's.
    let group = rustix::process::kill_process_group(pid, Signal::KILL);
    rustix::process::kill_process(pid, Signal::KILL).or(group)
}

fn end_event(status: Option<WaitStatus>) -> EndEvent {
    let exit = status.and_then(WaitStatus::exit_status);
    match (exit, status.and_then(WaitStatus::terminating_signal)) {
        (Some(code), _) => {
            let status = format!("exit status {code}");
            let error = Some(status.clone()).filter(|_| code != 0);
            EndEvent { exit_code: code, exited: true, status, error }
        }
        (None, Some(signal)) => {
            let status = format!("signal: {}", signals::story(signal));
            EndEvent { exit_code: -1, exited: false, status: status.clone(), error: Some(status) }
        }
        (None, None) => {
            let status = "ended, nobody saw how".to_owned();
            EndEvent { exit_code: -1, exited: false, status: status.clone(), error: Some(status) }
        }
    }
}
