//! Lines: the listeners, the connections they brought, and how all of them are closed for the night.
//!
//! `POST /hibernate` closes the listeners and every other connection before it is answered, and its own with the answer.
//! When the host sees that line end, nothing here leads outside any more and the tree can be dumped. From then on
//! envd is deaf for a moment (`hold_ms`), then tries every few milliseconds to listen at the same addresses again:
//! in the tree that was dumped, should it live on, and in every tree that is restored from the dump.

use std::{
    collections::HashMap,
    io,
    net::TcpListener as StdTcpListener,
    os::{
        fd::AsFd,
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddr, UnixListener as StdUnixListener},
    },
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, UnixListener, UnixStream},
    sync::{Notify, mpsc, watch},
    task::AbortHandle,
};

use super::{
    args::{Address, Args},
    guest::Guest,
    serve, timer,
};

const RETRY: Duration = Duration::from_millis(3);

/// Every line there is.
pub(super) struct Lines {
    open: Mutex<Open>,
    closed: Notify,
    nights: watch::Sender<Night>,
    deaf: mpsc::UnboundedSender<()>,
    deafened: tokio::sync::Mutex<mpsc::UnboundedReceiver<()>>,
    listeners: usize,
    host_only: bool,
    is_night: AtomicBool,
    guest: Arc<Guest>,
}

#[derive(Default)]
struct Open {
    next: u64,
    lines: HashMap<u64, AbortHandle>,
}

#[derive(Clone, Copy, Default)]
struct Night {
    count: u64,
    hold: Duration,
}

/// One line, to whoever serves it.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) id: u64,
    /// Whether the peer is surely the host: a process inside would be seen with its pid.
    pub(super) is_host: bool,
    pub(super) lines: Arc<Lines>,
}

impl Lines {
    pub(super) fn open(guest: Arc<Guest>, args: &Args) -> io::Result<Arc<Lines>> {
        let listeners = args.listen.iter().map(Listener::take).collect::<io::Result<Vec<_>>>()?;
        let (deaf, deafened) = mpsc::unbounded_channel();
        let lines = Arc::new(Lines {
            open: Mutex::default(),
            closed: Notify::new(),
            nights: watch::Sender::new(Night::default()),
            deaf,
            deafened: tokio::sync::Mutex::new(deafened),
            listeners: listeners.len(),
            host_only: args.host_only,
            is_night: AtomicBool::new(false),
            guest,
        });
        for listener in listeners {
            tokio::spawn(lines.clone().listen(listener));
        }
        Ok(lines)
    }

    /// Closes everything but the line of the one who asks. Returns when that is done.
    pub(super) async fn hibernate(&self, caller: u64, hold: Duration) {
        let mut deafened = self.deafened.lock().await;
        self.is_night.store(true, Ordering::Relaxed);
        self.nights.send_modify(|night| *night = Night { count: night.count + 1, hold });
        for _ in 0..self.listeners {
            deafened.recv().await;
        }
        for (id, line) in &self.lines().lines {
            if *id != caller {
                line.abort();
            }
        }
        loop {
            let closed = self.closed.notified();
            if self.lines().lines.keys().all(|id| *id == caller) {
                return;
            }
            closed.await;
        }
    }

    /// Serves a line as a task that can be ended with all others.
    pub(super) fn spawn<F: Future<Output = ()> + Send + 'static>(self: &Arc<Self>, line: impl FnOnce(u64) -> F) {
        let mut open = self.lines();
        open.next += 1;
        let id = open.next;
        let line = line(id);
        let listed = Listed { id, lines: self.clone() };
        // The task cannot run before we let go of the thread, so the line is listed when it ends.
        let task = tokio::spawn(async move {
            let _listed = listed;
            line.await;
        });
        open.lines.insert(id, task.abort_handle());
    }

    fn lines(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    async fn listen(self: Arc<Self>, mut listener: Listener) {
        let mut nights = self.nights.subscribe();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((line, is_host)) => match listener.leads_to() {
                        Some(path) => self.spawn(|_| forward(line, path)),
                        None => self.serve(line, is_host),
                    },
                    // Out of descriptors, most likely: some will come free.
                    Err(_) => timer::sleep(RETRY).await,
                },
                Ok(()) = nights.changed() => {
                    let hold = nights.borrow_and_update().hold;
                    let address = listener.close();
                    let _ = self.deaf.send(());
                    timer::sleep(hold).await;
                    listener = loop {
                        match address.listen() {
                            Ok(listener) => break listener,
                            Err(_) => timer::sleep(RETRY).await,
                        }
                    };
                    self.is_night.store(false, Ordering::Relaxed);
                }
            }
        }
    }

    fn serve(self: &Arc<Self>, line: Box<dyn Stream>, is_host: Option<bool>) {
        if self.host_only && is_host == Some(false) {
            return;
        }
        let (lines, guest) = (self.clone(), self.guest.clone());
        let line = Box::new(Ending { line, lines: lines.clone() });
        self.spawn(|id| serve::line(line, guest, Caller { id, is_host: is_host == Some(true), lines }));
    }
}

/// Hands a line on to a socket of the host, both ways, until either side has had enough.
async fn forward(mut line: Box<dyn Stream>, path: PathBuf) {
    if let Ok(mut host) = UnixStream::connect(path).await {
        let _ = tokio::io::copy_bidirectional(&mut line, &mut host).await;
    }
}

/// Takes the line from the list when its task ends, however it ends.
struct Listed {
    id: u64,
    lines: Arc<Lines>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.lines.lines().lines.remove(&self.id);
        self.lines.closed.notify_waiters();
    }
}

/// Whatever HTTP is spoken over.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A line that says its end only by being closed while the night falls: whoever hears the end may dump us at once, and
/// must not find the line half closed.
struct Ending {
    line: Box<dyn Stream>,
    lines: Arc<Lines>,
}

impl AsyncRead for Ending {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Ending {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.line).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.line).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.line.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lines.is_night.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.line).poll_shutdown(cx)
    }
}

enum Listener {
    Unix(UnixListener, Again),
    Tcp(TcpListener, std::net::SocketAddr),
    Forward(TcpListener, std::net::SocketAddr, PathBuf),
}

/// Where to listen again after a night.
#[derive(Clone)]
enum Again {
    Path(PathBuf),
    Name(UnixAddr),
    Tcp(std::net::SocketAddr),
    Forward(std::net::SocketAddr, PathBuf),
    Never,
}

impl Listener {
    fn take(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Stdin => {
                let listener = StdUnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
                // Nobody who is started from here may inherit it.
                match std::fs::File::open("/dev/null") {
                    Ok(null) => rustix::stdio::dup2_stdin(null)?,
                    Err(_) => rustix::stdio::dup2_stdin(std::fs::File::open("/")?)?,
                }
                let name = listener.local_addr()?;
                let again = match (name.as_abstract_name(), name.as_pathname()) {
                    (Some(_), _) => Again::Name(name),
                    (None, Some(path)) => Again::Path(path.to_owned()),
                    (None, None) => Again::Never,
                };
                Listener::unix(listener, again)
            }
            Address::Unix(path) => Again::Path(path.clone()).listen(),
            Address::Abstract(name) => Again::Name(UnixAddr::from_abstract_name(name)?).listen(),
            Address::Tcp(address) => Again::Tcp(*address).listen(),
            Address::Forward(address, path) => Again::Forward(*address, path.clone()).listen(),
        }
    }

    fn unix(listener: StdUnixListener, again: Again) -> io::Result<Listener> {
        listener.set_nonblocking(true)?;
        Ok(Listener::Unix(UnixListener::from_std(listener)?, again))
    }

    async fn accept(&self) -> io::Result<(Box<dyn Stream>, Option<bool>)> {
        match self {
            Listener::Unix(listener, _) => {
                let (line, _) = listener.accept().await?;
                let pid = line.peer_cred()?.pid().unwrap_or(0);
                Ok((Box::new(line), Some(pid == 0)))
            }
            Listener::Tcp(listener, _) | Listener::Forward(listener, ..) => {
                let (line, _) = listener.accept().await?;
                line.set_nodelay(true)?;
                Ok((Box::new(line), None))
            }
        }
    }

    /// The socket of the host that its lines are handed on to.
    fn leads_to(&self) -> Option<PathBuf> {
        match self {
            Listener::Forward(_, _, path) => Some(path.clone()),
            Listener::Unix(..) | Listener::Tcp(..) => None,
        }
    }

    fn close(self) -> Again {
        match self {
            Listener::Unix(_, again) => again,
            Listener::Tcp(_, address) => Again::Tcp(address),
            Listener::Forward(_, address, path) => Again::Forward(address, path),
        }
    }
}

impl Again {
    fn listen(&self) -> io::Result<Listener> {
        match self {
            Again::Path(path) => {
                // One that nobody listens at any more is in the way.
                if path.symlink_metadata().is_ok() && std::os::unix::net::UnixStream::connect(path).is_err() {
                    let _ = std::fs::remove_file(path);
                }
                Listener::unix(StdUnixListener::bind(path)?, self.clone())
            }
            Again::Name(name) => Listener::unix(StdUnixListener::bind_addr(name)?, self.clone()),
            Again::Tcp(address) => {
                let (listener, address) = listen_at(*address)?;
                Ok(Listener::Tcp(listener, address))
            }
            Again::Forward(address, path) => {
                let (listener, address) = listen_at(*address)?;
                Ok(Listener::Forward(listener, address, path.clone()))
            }
            Again::Never => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
}

/// Listens at a TCP port. One that was left to the system is kept once it is known.
fn listen_at(address: std::net::SocketAddr) -> io::Result<(TcpListener, std::net::SocketAddr)> {
    let listener = StdTcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}
