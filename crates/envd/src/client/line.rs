//! Lines: how they are opened, kept for a while, and spoken over.
//!
//! A line is driven by whoever waits for its answer; no task stands behind it. So an answer wakes exactly the one who
//! waits for it, and a stream that is dropped takes its line along.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use hyper::{
    body::Incoming,
    client::conn::http1::{Connection, SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Content, EnvdError};

/// Idle lines are kept for so long.
const KEPT_FOR: Duration = Duration::from_secs(20);
/// And so many of them.
const MOST_KEPT: usize = 8;

/// A line to an envd: whatever HTTP/1.1 can be spoken over.
pub trait Line: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Line for T {}

/// Opens lines to one envd. A provider gives one out for each sandbox.
#[async_trait]
pub trait Dial: Send + Sync {
    /// Opens a line.
    async fn dial(&self) -> io::Result<Box<dyn Line>>;

    /// What every request over its lines carries, where they lead past others: `Host`, `E2b-Sandbox-Id` and the like.
    fn headers(&self) -> HeaderMap {
        HeaderMap::new()
    }

    /// Opens a line to another port of the same sandbox, where ports are reached beside envd and not through it.
    /// Nothing where envd leads to them.
    async fn dial_port(&self, port: u16) -> Option<io::Result<Box<dyn Line>>> {
        let _ = port;
        None
    }
}

/// What a request carries.
pub(super) enum Load {
    Whole(Option<Bytes>),
    Stream(Content),
}

impl http_body::Body for Load {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Load::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Load::Stream(content) => content.as_mut().poll_next(cx).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Load::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Load::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Load::Stream(_) => SizeHint::default(),
        }
    }
}

/// An open line.
pub(super) struct Open {
    sender: SendRequest<Load>,
    connection: Option<Connection<TokioIo<Box<dyn Line>>, Load>>,
}

/// Why a request was not answered: the line may have been dead before anything was said, and then nothing was lost.
enum Unsent {
    Dead(Box<Request<Load>>),
    Broken(EnvdError),
}

impl Open {
    async fn dial(dial: &dyn Dial) -> Result<Open, EnvdError> {
        let line = dial.dial().await.map_err(EnvdError::Unreachable)?;
        let (sender, connection) = handshake(TokioIo::new(line)).await.map_err(EnvdError::of_http)?;
        Ok(Open { sender, connection: Some(connection) })
    }

    /// Lets the line work; `true` when it is closed.
    fn drive(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(cx).is_ready()
        {
            self.connection = None;
        }
        self.connection.is_none()
    }

    async fn send(&mut self, request: Request<Load>) -> Result<Response<Incoming>, Unsent> {
        // One look at an idle line shows whether the other side has hung up.
        let closed = poll_fn(|cx| Poll::Ready(self.drive(cx))).await;
        if closed || self.sender.is_closed() {
            return Err(Unsent::Dead(Box::new(request)));
        }
        let Open { sender, connection } = self;
        let mut sending = pin!(sender.try_send_request(request));
        let sent = poll_fn(|cx| {
            // Sending hands the request over, driving the line writes it and reads the answer.
            for _ in 0..2 {
                if let Poll::Ready(answer) = sending.as_mut().poll(cx) {
                    return Poll::Ready(answer);
                }
                if let Some(line) = connection
                    && Pin::new(line).poll(cx).is_ready()
                {
                    *connection = None;
                }
            }
            sending.as_mut().poll(cx)
        });
        sent.await.map_err(|mut error| match error.take_message() {
            Some(request) => Unsent::Dead(Box::new(request)),
            None => Unsent::Broken(EnvdError::of_http(error.into_error())),
        })
    }

    /// Waits until the other side has hung up.
    pub(super) async fn until_closed(mut self) {
        poll_fn(|cx| if self.drive(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// Opens lines and keeps idle ones.
pub(super) struct Lines {
    dial: Arc<dyn Dial>,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    lines: Vec<(Instant, Open)>,
    is_swept: bool,
}

impl Lines {
    pub(super) fn new(dial: Arc<dyn Dial>) -> Arc<Lines> {
        Arc::new(Lines { dial, idle: Mutex::default() })
    }

    /// A raw line that nothing was said on.
    pub(super) async fn dial(&self) -> Result<Box<dyn Line>, EnvdError> {
        self.dial.dial().await.map_err(EnvdError::Unreachable)
    }

    /// A raw line to a port beside envd, where there is a way to one.
    pub(super) async fn dial_port(&self, port: u16) -> Option<Result<Box<dyn Line>, EnvdError>> {
        Some(self.dial.dial_port(port).await?.map_err(EnvdError::Unreachable))
    }

    pub(super) fn hang_up(&self) {
        self.idle().lines.clear();
    }

    /// Asks over an idle line or, when none of them is alive, over a new one.
    pub(super) async fn send(self: &Arc<Self>, request: Request<Load>) -> Result<Answer, EnvdError> {
        let mut request = request;
        loop {
            let idle = self.idle().lines.pop();
            let (mut open, is_fresh) = match idle {
                Some((_, open)) => (open, false),
                None => (Open::dial(&*self.dial).await?, true),
            };
            match open.send(request).await {
                Ok(response) => return Ok(Answer::new(response, open, self)),
                Err(Unsent::Dead(unsent)) if !is_fresh => request = *unsent,
                Err(Unsent::Dead(_)) => return Err(EnvdError::Unreachable(io::ErrorKind::ConnectionReset.into())),
                Err(Unsent::Broken(error)) => return Err(error),
            }
        }
    }

    fn keep(self: &Arc<Self>, open: Open) {
        let mut idle = self.idle();
        if open.connection.is_none() || open.sender.is_closed() || idle.lines.len() >= MOST_KEPT {
            return;
        }
        idle.lines.push((Instant::now(), open));
        if !idle.is_swept
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            idle.is_swept = true;
            runtime.spawn(sweep(Arc::downgrade(self)));
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Closes lines that were idle for long, as long as there are any.
async fn sweep(lines: Weak<Lines>) {
    loop {
        tokio::time::sleep(KEPT_FOR / 4).await;
        let Some(lines) = lines.upgrade() else { return };
        let mut idle = lines.idle();
        idle.lines.retain(|(since, _)| since.elapsed() < KEPT_FOR);
        if idle.lines.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}

/// An answer on its line.
pub(super) struct Answer {
    pub(super) head: http::response::Parts,
    body: Incoming,
    open: Option<Open>,
    lines: Weak<Lines>,
}

impl Answer {
    fn new(response: Response<Incoming>, open: Open, lines: &Arc<Lines>) -> Answer {
        let (head, body) = response.into_parts();
        Answer { head, body, open: Some(open), lines: Arc::downgrade(lines) }
    }

    /// The next bytes; after the last ones the line is free for others.
    pub(super) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, EnvdError>>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.open = None;
                    return Poll::Ready(Some(Err(EnvdError::of_http(error))));
                }
                Poll::Ready(None) => {
                    if let Some(mut open) = self.open.take()
                        && let Some(lines) = self.lines.upgrade()
                        && !open.drive(cx)
                    {
                        lines.keep(open);
                    }
                    return Poll::Ready(None);
                }
                Poll::Pending => {
                    let Some(open) = &mut self.open else { return Poll::Pending };
                    open.drive(cx);
                    // What the line has read by now is there at once, or wakes us.
                    match Pin::new(&mut self.body).poll_frame(cx) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Some(Ok(frame))) => {
                            if let Ok(bytes) = frame.into_data() {
                                return Poll::Ready(Some(Ok(bytes)));
                            }
                        }
                        Poll::Ready(Some(Err(error))) => {
                            self.open = None;
                            return Poll::Ready(Some(Err(EnvdError::of_http(error))));
                        }
                        // The end is the end again above.
                        Poll::Ready(None) => {}
                    }
                }
            }
        }
    }

    /// All of it.
    pub(super) async fn whole(&mut self) -> Result<Bytes, EnvdError> {
        let mut all: Option<Vec<u8>> = None;
        let mut first: Option<Bytes> = None;
        while let Some(bytes) = poll_fn(|cx| self.poll_bytes(cx)).await {
            let bytes = bytes?;
            match (&mut first, &mut all) {
                (None, None) => first = Some(bytes),
                (Some(before), None) => all = Some([before.as_ref(), bytes.as_ref()].concat()),
                (_, Some(all)) => all.extend_from_slice(&bytes),
            }
        }
        Ok(all.map(Bytes::from).or(first).unwrap_or_default())
    }

    /// The line alone, when nobody reads the body.
    pub(super) fn into_line(self) -> Option<Open> {
        self.open
    }

    /// The bytes as a stream.
    pub(super) fn into_content(mut self) -> Content {
        Box::pin(futures::stream::poll_fn(move |cx| {
            self.poll_bytes(cx).map_err(|error| match error {
                EnvdError::Unreachable(error) => error,
                other => io::Error::other(other),
            })
        }))
    }
}
