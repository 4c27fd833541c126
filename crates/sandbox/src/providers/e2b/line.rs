//! Lines to what runs in a sandbox: where they lead, and what says which sandbox is meant.
//!
//! Every sandbox of a cluster is reached through the cluster's own proxy. It finds the sandbox by the host name or by two
//! headers; we send both.

use std::{
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use carrel_envd::{Dial, Line};
use http::{
    HeaderMap, HeaderValue, Request, Uri,
    header::{HOST, PROXY_AUTHORIZATION},
};
use http_body_util::Empty;
use hyper::client::conn::http1::handshake;
use hyper_util::{
    client::proxy::matcher::{Intercept, Matcher},
    rt::TokioIo,
};
use reqwest::Url;
use rustls::{ClientConfig, pki_types::ServerName};
use rustls_platform_verifier::BuilderVerifierExt;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{clerk, wire::E2bId};
use crate::ProviderError;

/// The port of envd.
const ENVD: u16 = carrel_envd::wire::PORT;
/// E2B's own domains, where one host leads to every sandbox.
const SHARED: [&str; 4] = ["e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"];
/// How long it may take to get through.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// Where the sandboxes of a cluster are reached.
pub(super) struct Plane {
    /// One address for all of them, when somebody said so.
    one: Option<Origin>,
    domain: String,
    /// The proxies between this machine and others (`HTTPS_PROXY`, `NO_PROXY` and the like).
    proxies: Matcher,
}

/// The scheme, host and port of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

impl Plane {
    pub(super) fn new(one: Option<&str>, domain: String) -> Result<Plane, ProviderError> {
        Ok(Plane { one: one.map(Origin::parse).transpose()?, domain, proxies: Matcher::from_env() })
    }

    /// Opens a line, through a proxy where one stands in the way.
    async fn connect(&self, origin: &Origin) -> io::Result<Box<dyn Line>> {
        let through = origin.uri().and_then(|uri| self.proxies.intercept(&uri));
        let within = tokio::time::timeout(CONNECTS_WITHIN, async {
            let line = match through {
                Some(proxy) => tunnel(&proxy, origin).await?,
                None => origin.call().await?,
            };
            if !origin.secure {
                return Ok(line);
            }
            let name = ServerName::try_from(origin.bare_host().to_owned()).map_err(io::Error::other)?;
            Ok(Box::new(tls()?.connect(name, line).await?) as Box<dyn Line>)
        });
        within.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Where a port of a sandbox is reached. `domain` is what the control plane said of this sandbox.
    fn origin(&self, id: &E2bId, domain: Option<&str>, port: u16) -> Origin {
        if let Some(one) = &self.one {
            return one.clone();
        }
        let domain = domain.unwrap_or(&self.domain);
        let (domain, tls_port) = match domain.rsplit_once(':') {
            Some((domain, port)) => (domain, port.parse().unwrap_or(443)),
            None => (domain, 443),
        };
        let host = match SHARED.contains(&domain) {
            true => format!("sandbox.{domain}"),
            false => format!("{port}-{id}.{domain}"),
        };
        Origin { secure: true, host, port: tls_port }
    }
}

impl Origin {
    /// Understands an address without a path: what is asked inside has its own.
    pub(super) fn parse(address: &str) -> Result<Origin, ProviderError> {
        let odd = || ProviderError::Unfit {
            why: format!("`{address}` is not the address of a sandbox plane, such as https://sandbox.example.com"),
        };
        let url = Url::parse(address).map_err(|_| odd())?;
        let secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(odd()),
        };
        let plain = url.path() == "/" && url.query().is_none() && url.username().is_empty() && url.password().is_none();
        let host = url.host_str().filter(|_| plain).ok_or_else(odd)?.to_owned();
        Ok(Origin { secure, host, port: url.port_or_known_default().ok_or_else(odd)? })
    }

    fn authority(&self) -> String {
        let usual = if self.secure { 443 } else { 80 };
        if self.port == usual { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }

    /// An address of version 6 stands in brackets in a URL, and in nothing else.
    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    fn uri(&self) -> Option<Uri> {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}/", self.authority()).parse().ok()
    }

    async fn call(&self) -> io::Result<Box<dyn Line>> {
        let stream = TcpStream::connect((self.bare_host(), self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// Has a proxy lead a line to a place.
async fn tunnel(proxy: &Intercept, origin: &Origin) -> io::Result<Box<dyn Line>> {
    let refused = |why: String| io::Error::other(format!("the proxy {} {why}", proxy.uri().host().unwrap_or("?")));
    let (Some(host), Some("http")) = (proxy.uri().host(), proxy.uri().scheme_str()) else {
        return Err(refused("is of a kind that is not understood here; write http://host:port".into()));
    };
    let stream = TcpStream::connect((host, proxy.uri().port_u16().unwrap_or(80))).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection.with_upgrades());
    let place = format!("{}:{}", origin.host, origin.port);
    let mut request = Request::connect(&place).header(HOST, &place);
    if let Some(login) = proxy.basic_auth() {
        request = request.header(PROXY_AUTHORIZATION, login);
    }
    let request = request.body(Empty::<bytes::Bytes>::new()).map_err(io::Error::other)?;
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    if !answer.status().is_success() {
        return Err(refused(format!("answers {}", answer.status())));
    }
    let line = hyper::upgrade::on(answer).await.map_err(io::Error::other)?;
    Ok(Box::new(TokioIo::new(line)))
}

/// Who is trusted: whom this machine trusts (`SSL_CERT_FILE` names others). Read at the first use.
fn tls() -> io::Result<TlsConnector> {
    static TRUST: OnceLock<Result<TlsConnector, rustls::Error>> = OnceLock::new();
    let trust = TRUST.get_or_init(|| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = builder.with_platform_verifier()?.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    });
    trust.clone().map_err(io::Error::other)
}

/// What opens a sandbox to whoever knows it.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) token: Option<SecretString>,
    /// For ports other than envd's.
    pub(super) traffic: Option<SecretString>,
    pub(super) domain: Option<String>,
}

/// Calls one sandbox.
pub(super) struct Caller {
    pub(super) plane: Arc<Plane>,
    pub(super) id: E2bId,
    pub(super) access: Access,
}

impl Caller {
    fn marks(&self, port: u16, origin: &Origin) -> HeaderMap {
        let mut marks = HeaderMap::new();
        let text = |text: &str| HeaderValue::from_str(text).expect("an id or a host was checked where it came in");
        marks.insert(HOST, text(&origin.authority()));
        marks.insert("e2b-sandbox-id", text(self.id.as_str()));
        marks.insert("e2b-sandbox-port", HeaderValue::from(port));
        if let Some(traffic) = self.access.traffic.as_ref().filter(|_| port != ENVD) {
            let mut value = text(traffic.expose_secret());
            value.set_sensitive(true);
            marks.insert("e2b-traffic-access-token", value);
        }
        marks
    }

    fn origin(&self, port: u16) -> Origin {
        self.plane.origin(&self.id, self.access.domain.as_deref(), port)
    }
}

#[async_trait]
impl Dial for Caller {
    async fn dial(&self) -> io::Result<Box<dyn Line>> {
        self.plane.connect(&self.origin(ENVD)).await
    }

    fn headers(&self) -> HeaderMap {
        self.marks(ENVD, &self.origin(ENVD))
    }

    async fn dial_port(&self, port: u16) -> Option<io::Result<Box<dyn Line>>> {
        let origin = self.origin(port);
        let marks = self.marks(port, &origin);
        Some(async { clerk::employ(self.plane.connect(&origin).await?, marks).await }.await)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn id() -> E2bId {
        E2bId::try_from("i1".to_owned()).unwrap()
    }

    #[test]
    fn a_sandbox_is_looked_for_where_the_sdks_look_for_it() {
        let at = |one: Option<&str>, ours: &str, told: Option<&str>| {
            let origin = Plane::new(one, ours.into()).unwrap().origin(&id(), told, 3000);
            format!("{} {}", if origin.secure { "https" } else { "http" }, origin.authority())
        };
        assert_eq!(at(Some("http://127.0.0.1:7070"), "e2b.app", Some("x.org")), "http 127.0.0.1:7070");
        assert_eq!(at(None, "e2b.app", None), "https sandbox.e2b.app");
        assert_eq!(at(None, "e2b.app", Some("sbx.example.com")), "https 3000-i1.sbx.example.com");
        assert_eq!(at(None, "sbx.example.com:8443", None), "https 3000-i1.sbx.example.com:8443");
    }

    #[test]
    fn an_address_with_more_than_an_origin_is_refused() {
        for bad in ["x", "ftp://x", "https://x/y", "https://x?y", "https://u:p@x", "https://"] {
            assert!(Origin::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Origin::parse("https://x/").unwrap().authority(), "x");
    }

    /// A proxy that asks for a name and a word, and then leads to where it was told.
    async fn proxy() -> std::net::SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(near.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                // me:hunter2
                if !head.contains("proxy-authorization: Basic bWU6aHVudGVyMg==\r\n") {
                    near.write_all(b"HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                    continue;
                }
                let place = head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap().to_owned();
                let mut far = TcpStream::connect(place).await.unwrap();
                near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn a_proxy_in_the_way_is_gone_through() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = Origin::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let proxy = proxy().await;
        let mut plane = Plane::new(None, "e2b.app".into()).unwrap();
        plane.proxies = Matcher::builder().all(format!("http://me:hunter2@{proxy}")).build();
        let mut line = plane.connect(&origin).await.unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        line.write_all(b"hi").await.unwrap();
        let mut heard = [0; 2];
        far.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hi");
        // The proxy serves one after the other.
        drop((line, far));

        plane.proxies = Matcher::builder().all(format!("http://{proxy}")).build();
        let refused = plane.connect(&origin).await.err().unwrap().to_string();
        assert!(refused.contains("407"), "{refused}");
        plane.proxies = Matcher::builder().all(format!("http://{proxy}")).no("127.0.0.1").build();
        plane.connect(&origin).await.unwrap();
        listener.accept().await.unwrap();
    }

    #[test]
    fn every_question_says_which_sandbox_is_meant() {
        let access = Access { token: None, traffic: Some("secret".to_owned().into()), domain: None };
        let plane = Arc::new(Plane::new(None, "e2b.app".into()).unwrap());
        let caller = Caller { plane, id: id(), access };
        let envd = caller.headers();
        assert_eq!(
            (&envd[HOST], &envd["e2b-sandbox-id"], &envd["e2b-sandbox-port"]),
            (
                &HeaderValue::from_static("sandbox.e2b.app"),
                &HeaderValue::from_static("i1"),
                &HeaderValue::from_static("49983")
            )
        );
        assert!(!envd.contains_key("e2b-traffic-access-token"));
        let port = caller.marks(3000, &caller.origin(3000));
        assert_eq!(port["e2b-traffic-access-token"], "secret");
        assert!(!format!("{port:?}").contains("secret"));
    }
}
