//! The servers under measure: processes of their own, from both sides.
//!
//! A server reads one line from its standard input, says one line (`address key`, and of a server that has one of its own,
//! the process and the folder) on its standard output, and ends when its standard input does. However the measuring process dies, its servers end and take their folders with them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use axum::{Router, serve::ListenerExt};
use carrel_model::public::SandboxView;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::{Outcome, http::Request};

/// In the place of a number that stays as it is.
pub(crate) const USUAL: &str = "-";

/// A server that was started for a bench.
pub(crate) struct Server {
    process: Child,
    /// Open for as long as the server should live.
    words: Option<ChildStdin>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    key: String,
    /// The process that is measured.
    pub(crate) pid: u32,
    /// Where the server keeps everything, when that is of interest.
    pub(crate) folder: PathBuf,
    /// How long it may take to tidy up.
    patience: Duration,
}

impl Server {
    /// Starts a house with the fake provider.
    pub(crate) fn house() -> Outcome<Server> {
        Server::start("house", "", Duration::from_secs(5))
    }

    /// Starts the peers, which answer with a sandbox like this one.
    pub(crate) fn peer(sample: &SandboxView) -> Outcome<Server> {
        Server::start("peer", &serde_json::to_string(sample)?, Duration::from_secs(5))
    }

    /// Starts the real `carrel serve` with sandboxes of this machine, so many of them waiting in its pool, and with the
    /// database at an address, if there is one.
    pub(crate) fn desk(pool: usize, database: Option<&str>) -> Outcome<Server> {
        // Not by its arguments: those are for everybody to read, and an address may hold a password.
        Server::start("desk", &format!("{pool} {USUAL} {}", database.unwrap_or_default()), Duration::from_secs(300))
    }

    /// The same with nothing at all that waits: no slots, and no shells.
    pub(crate) fn bare_desk() -> Outcome<Server> {
        Server::start("desk", "0 0", Duration::from_secs(300))
    }

    fn start(role: &str, first_words: &str, patience: Duration) -> Outcome<Server> {
        // Not the path: the binary may be built anew while we measure.
        let mut command = Command::new("/proc/self/exe");
        // In a group of its own: what ends the group of the measuring process leaves it the time to tidy up.
        command.args(["bench", role]).process_group(0);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (words, said, pid) = (process.stdin.take(), process.stdout.take(), process.id());
        // From here on, dropping it ends the process.
        let placeholder = SocketAddr::from(([127, 0, 0, 1], 0));
        let (key, folder) = (String::new(), PathBuf::new());
        let mut server = Server { process, words, address: placeholder, key, pid, folder, patience };
        let mut answer = String::new();
        if let (Some(words), Some(said)) = (&mut server.words, said) {
            writeln!(words, "{first_words}")?;
            BufReader::new(said).read_line(&mut answer)?;
        }
        let mut answer = answer.trim_end().splitn(4, ' ');
        let (Some(address), Some(key)) = (answer.next(), answer.next()) else {
            return Err("a server did not start; see above".into());
        };
        (server.address, server.key) = (address.parse()?, key.to_owned());
        if let (Some(pid), Some(folder)) = (answer.next(), answer.next()) {
            (server.pid, server.folder) = (pid.parse()?, folder.into());
        }
        Ok(server)
    }

    /// The key that opens every door.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// A request that this server believes.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&str>) -> Request {
        Request::new(method, path, &self.key, body)
    }

    /// The processor time it has used so far.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        // Linux shows a hundred ticks to a second, whatever it counts with.
        Ok(Duration::from_millis(ticks(self.pid)? * 10))
    }
}

/// The processor time that a process has used so far, in ticks.
pub(crate) fn ticks(pid: u32) -> Outcome<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in the second field may hold blanks; it ends with the last parenthesis.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let both = fields.get(11..13).ok_or("a short stat file")?;
    Ok(both.iter().filter_map(|field| field.parse::<u64>().ok()).sum())
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.words.take());
        let patience = Instant::now() + self.patience;
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The first line that the measuring process says; then whether it is still there.
pub(crate) fn hear_parent() -> Outcome<(String, oneshot::Receiver<()>)> {
    let mut first = String::new();
    std::io::stdin().lock().read_line(&mut first)?;
    let (gone, is_gone) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = gone.send(());
    });
    // What ends our parent often reaches us too (the terminal's interrupt, `timeout`). We hear it and go on: we end
    // with our parent, and remove our folder first.
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut heard = signal(kind)?;
        tokio::spawn(async move { while heard.recv().await.is_some() {} });
    }
    Ok((first, is_gone))
}

/// Serves as `carrel serve` does until the parent is gone.
pub(crate) async fn serve(app: Router, key: &str, parent_is_gone: oneshot::Receiver<()>) -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout().lock(), "{} {key}", listener.local_addr()?)?;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::select! {
        served = async { axum::serve(listener, app).await } => Ok(served?),
        _ = parent_is_gone => Ok(()),
    }
}
