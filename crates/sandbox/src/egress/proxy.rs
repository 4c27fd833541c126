//! The proxy itself: one task for each listener, one for each connection.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use carrel_envd::Line;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::Semaphore,
    time::timeout,
};

use super::{GATEWAY, Passed, Policy, Refused, Through, policy::Named, rewrite::Exit, socks};

/// How many connections one sandbox may have open at once.
const MOST: usize = 512;
/// How long a host may take to answer the call.
const CONNECTS: Duration = Duration::from_secs(15);

/// Bytes through a gateway.
#[derive(Debug, Default)]
pub struct Traffic {
    /// From outside.
    pub received: AtomicU64,
    /// To outside.
    pub sent: AtomicU64,
}

/// Where a gateway takes its connections from.
#[async_trait]
pub trait Listens: Send + Sync {
    /// What a connection is.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Takes the next one.
    async fn take(&self) -> io::Result<Self::Stream>;
}

#[async_trait]
impl Listens for TcpListener {
    type Stream = TcpStream;

    async fn take(&self) -> io::Result<TcpStream> {
        Ok(self.accept().await?.0)
    }
}

#[async_trait]
impl Listens for UnixListener {
    type Stream = UnixStream;

    async fn take(&self) -> io::Result<UnixStream> {
        Ok(self.accept().await?.0)
    }
}

/// Serves a gateway until the task is ended. What is asked of the house goes through the hatch, where there is one.
pub async fn serve(listener: impl Listens, policy: Arc<Policy>, traffic: Arc<Traffic>, hatch: Option<Through>) {
    let (hatch, room) = (Arc::new(hatch), Arc::new(Semaphore::new(MOST)));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.take().await {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(sandbox = %policy.sandbox, %error, "the gateway could not take a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (policy, traffic, hatch) = (Arc::clone(&policy), Arc::clone(&traffic), Arc::clone(&hatch));
        tokio::spawn(async move {
            let answer = service_fn(|request| {
                let (policy, traffic, hatch) = (Arc::clone(&policy), Arc::clone(&traffic), Arc::clone(&hatch));
                async move {
                    Ok::<_, Infallible>(match hatch.as_ref().as_ref().filter(|_| is_for_the_house(&request)) {
                        Some(hatch) => pass_through(request, hatch, &traffic).await,
                        None => answer(request, policy, traffic, hatch.as_ref().clone()).await,
                    })
                }
            });
            let serving = hyper::server::conn::http1::Builder::new()
                .preserve_header_case(true)
                .serve_connection(TokioIo::new(stream), answer)
                .with_upgrades();
            let _ = serving.await;
            drop(permit);
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    policy: Arc<Policy>,
    traffic: Arc<Traffic>,
    hatch: Option<Through>,
) -> Response<Passed> {
    let target = target(&request);
    let Some((host, port)) = target else {
        return sentence(StatusCode::NOT_FOUND, "this is the gateway of the sandbox: use it as an HTTP proxy");
    };
    let turned_back = |unreached| match unreached {
        Unreached::Refused(refused) => {
            tracing::info!(sandbox = %policy.sandbox, host, port, "blocked on its way out: {refused}");
            metrics::counter!("carrel_egress_blocked_total").increment(1);
            if let Some(hatch) = &hatch {
                hatch.turned_back(&host, Some(port), &refused.to_string());
            }
            sentence(StatusCode::FORBIDDEN, &refused.to_string())
        }
        Unreached::Failed(error) => {
            sentence(StatusCode::BAD_GATEWAY, &format!("{host}:{port} does not answer: {error}"))
        }
    };
    if request.method() == Method::CONNECT && policy.headers(&host).is_some() {
        // The host is called for each request that comes over this line, and not for the line itself.
        if let Err(unreached) = find(&policy, &host, port).await {
            return turned_back(unreached);
        }
        let exit = Exit { host, port, policy, traffic, hatch };
        tokio::spawn(async move {
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                exit.serve(TokioIo::new(upgraded)).await;
            }
        });
        return Response::new(empty());
    }
    let Reached { line: stream, address: peer } = match reach(&policy, &host, port).await {
        Ok(reached) => reached,
        Err(unreached) => return turned_back(unreached),
    };
    if let Some(headers) = policy.headers(&host) {
        let exit = Exit { host, port, policy, traffic, hatch };
        return exit.pass_plain(request, stream, peer, headers).await;
    }
    if request.method() == Method::CONNECT {
        tokio::spawn(async move {
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                tokio::select! {
                    () = tunnel(upgraded, stream, &traffic) => {}
                    () = policy.takes_back(&host, port, peer) => {}
                }
            }
        });
        return Response::new(empty());
    }
    let (whose, target) = (Policy::clone(&policy), host.clone());
    let taken_back = async move { whose.takes_back(&target, port, peer).await };
    match forward(request, stream, &traffic, taken_back).await {
        Ok(response) => response,
        Err(error) => sentence(StatusCode::BAD_GATEWAY, &format!("{host}:{port} broke off: {error}")),
    }
}

/// Whether a request is meant for the house. A client that sends everything through its proxy names the gateway itself.
fn is_for_the_house(request: &Request<Incoming>) -> bool {
    let uri = request.uri();
    let named = uri.authority().map(|authority| authority.as_str());
    let own = GATEWAY.strip_prefix("http://");
    request.method() != Method::CONNECT && (named.is_none() || named == own) && Through::leads_to(uri.path())
}

/// Passes a request through the hatch, in origin form, and counts what goes by.
async fn pass_through(request: Request<Incoming>, hatch: &Through, traffic: &Arc<Traffic>) -> Response<Passed> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = match path.parse() {
        Ok(uri) => uri,
        Err(_) => return sentence(StatusCode::BAD_REQUEST, "the address cannot be read"),
    };
    for name in ["proxy-connection", "proxy-authorization"] {
        head.headers.remove(name);
    }
    let (sent, received) = (Arc::clone(traffic), Arc::clone(traffic));
    let asked = body.map_err(Into::into).map_frame(move |frame| {
        sent.sent.fetch_add(frame.data_ref().map_or(0, |bytes| bytes.len() as u64), Ordering::Relaxed);
        frame
    });
    let response = hatch.pass(Request::from_parts(head, asked.boxed_unsync())).await;
    response.map(|body| {
        let counted = body.map_frame(move |frame| {
            received.received.fetch_add(frame.data_ref().map_or(0, |bytes| bytes.len() as u64), Ordering::Relaxed);
            frame
        });
        counted.boxed_unsync()
    })
}

/// Where a request wants to go.
fn target(request: &Request<Incoming>) -> Option<(String, u16)> {
    let uri = request.uri();
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let usual = match (request.method(), uri.scheme_str()) {
        (&Method::CONNECT, _) => None,
        (_, Some("http")) => Some(80),
        _ => return None,
    };
    Some((host, uri.port_u16().or(usual)?))
}

/// Somebody who was reached.
pub(super) struct Reached {
    pub(super) line: Box<dyn Line>,
    /// Where they are, whoever carries what is said.
    pub(super) address: IpAddr,
}

pub(super) enum Unreached {
    Refused(Refused),
    Failed(io::Error),
}

impl std::fmt::Display for Unreached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreached::Refused(refused) => refused.fmt(f),
            Unreached::Failed(error) => error.fmt(f),
        }
    }
}

/// A host that may be called, and where.
struct Found {
    named: Named,
    addresses: Vec<SocketAddr>,
    own: Vec<IpAddr>,
}

/// Asks the policy, resolves, and asks again about each address.
async fn find(policy: &Policy, host: &str, port: u16) -> Result<Found, Unreached> {
    let named = policy.name(host, port).map_err(Unreached::Refused)?;
    let resolved = tokio::net::lookup_host((named.host.as_str(), port)).await.map_err(Unreached::Failed)?;
    let own = own_addresses();
    let (mut addresses, mut last) = (Vec::new(), Unreached::Failed(io::ErrorKind::NotFound.into()));
    for address in resolved {
        match named.address(address.ip(), &own) {
            Ok(()) => addresses.push(address),
            Err(refused) => last = Unreached::Refused(refused),
        }
    }
    if addresses.is_empty() { Err(last) } else { Ok(Found { named, addresses, own }) }
}

/// Calls exactly an address that the policy let pass.
pub(super) async fn reach(policy: &Policy, host: &str, port: u16) -> Result<Reached, Unreached> {
    let Found { named, addresses, own } = find(policy, host, port).await?;
    let mut last = Unreached::Failed(io::ErrorKind::NotFound.into());
    for address in addresses {
        match timeout(CONNECTS, call(&named, address, &own)).await {
            Ok(Ok(line)) => return Ok(Reached { line, address: address.ip() }),
            Ok(Err(error)) => last = Unreached::Failed(error),
            Err(_) => last = Unreached::Failed(io::ErrorKind::TimedOut.into()),
        }
    }
    Err(last)
}

/// Calls an address, through the sandbox's proxy where it has one.
async fn call(named: &Named, address: SocketAddr, own: &[IpAddr]) -> io::Result<Box<dyn Line>> {
    if let Some((proxy, at)) = named.proxy() {
        return socks::call(proxy, &at, address, own).await;
    }
    let stream = TcpStream::connect(address).await?;
    let _ = stream.set_nodelay(true);
    Ok(Box::new(stream))
}

async fn tunnel(upgraded: Upgraded, mut stream: Box<dyn Line>, traffic: &Traffic) {
    let mut upgraded = TokioIo::new(upgraded);
    if let Ok((sent, received)) = copy_bidirectional(&mut upgraded, &mut stream).await {
        traffic.sent.fetch_add(sent, Ordering::Relaxed);
        traffic.received.fetch_add(received, Ordering::Relaxed);
    }
}

/// Passes a plain request on, as the origin expects it.
pub(super) async fn forward(
    mut request: Request<Incoming>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    traffic: &Traffic,
    taken_back: impl Future<Output = ()> + Send + 'static,
) -> Result<Response<Passed>, Box<dyn std::error::Error + Send + Sync>> {
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    *request.uri_mut() = path.parse::<Uri>()?;
    let headers = request.headers_mut();
    headers.insert(header::HOST, authority.parse()?);
    for name in ["proxy-connection", "proxy-authorization", "connection", "keep-alive"] {
        headers.remove(name);
    }
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        tokio::select! {
            _ = connection => {}
            () = taken_back => {}
        }
    });
    let response = sender.send_request(request).await?;
    let length = |headers: &http::HeaderMap| {
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok()).unwrap_or(0)
    };
    traffic.received.fetch_add(length(response.headers()), Ordering::Relaxed);
    Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// The addresses of this machine: whoever calls one of them calls the host.
pub(super) fn own_addresses() -> Vec<IpAddr> {
    let v4 = std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut own = Vec::new();
    let mut last = None;
    for line in v4.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL")
            && let Some(address) = last
        {
            own.push(IpAddr::V4(address));
        }
    }
    let v6 = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    for line in v6.lines() {
        if let Some(digits) = line.split(' ').next().filter(|digits| digits.len() == 32)
            && let Ok(bits) = u128::from_str_radix(digits, 16)
        {
            own.push(IpAddr::V6(bits.into()));
        }
    }
    own
}

pub(super) fn sentence(status: StatusCode, text: &str) -> Response<Passed> {
    let body = Full::new(Bytes::from(format!("{text}\n"))).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn empty() -> Passed {
    Full::default().map_err(|never| match never {}).boxed_unsync()
}
