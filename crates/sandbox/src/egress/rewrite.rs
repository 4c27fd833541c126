//! The exit to a host for which a sandbox has headers: each request gets them on its way out.
//!
//! What comes by TLS is opened with the sandbox's own authority and goes on by TLS, to a host that is checked as any
//! other. Secrets are put in here, outside of the sandbox, for the length of one request; the policy is asked again each
//! time.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io,
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use carrel_envd::Line;
use carrel_model::sandbox::{HeaderName, HeaderText};
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use rustls_platform_verifier::BuilderVerifierExt;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::{
    Passed, Policy, Through, Traffic,
    proxy::{Unreached, forward, reach, sentence},
};

/// The port on which nobody speaks TLS.
const PLAIN: u16 = 80;
/// Before and after the name of a secret.
const SECRET: (&str, &str) = ("${e2b.secrets.", "}");

/// The exit of one sandbox to one port of one host.
#[derive(Clone)]
pub(super) struct Exit {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) policy: Arc<Policy>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) hatch: Option<Through>,
}

type Error = Box<dyn std::error::Error + Send + Sync>;

impl Exit {
    /// Serves one line from inside.
    pub(super) async fn serve(self, line: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        if self.port == PLAIN {
            return self.serve_requests(line).await;
        }
        let acceptor = self.policy.authority().map(|authority| authority.acceptor(&self.host));
        let Some(Ok(acceptor)) = acceptor else {
            tracing::warn!(sandbox = %self.policy.sandbox, host = self.host, "there is no authority for its headers");
            return;
        };
        match acceptor.accept(line).await {
            Ok(opened) => self.serve_requests(opened).await,
            Err(error) => {
                tracing::info!(sandbox = %self.policy.sandbox, host = self.host, "it does not believe its authority: {error}");
            }
        }
    }

    async fn serve_requests(self, line: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let answer = service_fn(|request| {
            let exit = self.clone();
            async move { Ok::<_, Infallible>(exit.answer(request).await) }
        });
        let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(line), answer);
        let _ = serving.await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Passed> {
        let reached = match reach(&self.policy, &self.host, self.port).await {
            Ok(reached) => reached,
            Err(Unreached::Refused(refused)) => {
                tracing::info!(sandbox = %self.policy.sandbox, host = self.host, "blocked on its way out: {refused}");
                if let Some(hatch) = &self.hatch {
                    hatch.turned_back(&self.host, Some(self.port), &refused.to_string());
                }
                return sentence(StatusCode::FORBIDDEN, &refused.to_string());
            }
            Err(unreached) => return self.broken(&unreached),
        };
        // What was there when the line was opened may have been taken away since.
        let headers = self.policy.headers(&self.host).unwrap_or_default();
        self.pass_plain(request, reached.line, reached.address, headers).await
    }

    /// Puts the headers into one request and passes it on.
    pub(super) async fn pass_plain(
        &self,
        mut request: Request<Incoming>,
        line: Box<dyn Line>,
        peer: IpAddr,
        headers: BTreeMap<HeaderName, HeaderText>,
    ) -> Response<Passed> {
        if let Err(why) = self.dress(&mut request, headers).await {
            return sentence(StatusCode::BAD_GATEWAY, &why);
        }
        match self.send(request, line, peer).await {
            Ok(response) => response,
            Err(error) => self.broken(&error),
        }
    }

    async fn dress(
        &self,
        request: &mut Request<Incoming>,
        headers: BTreeMap<HeaderName, HeaderText>,
    ) -> Result<(), String> {
        for (name, text) in headers {
            let text = self.fill(text.as_str()).await?;
            let name = http::HeaderName::from_bytes(name.as_str().as_bytes()).map_err(|error| error.to_string())?;
            let value = HeaderValue::from_str(text.expose_secret());
            let mut value =
                value.map_err(|_| format!("the secret in the header `{name}` does not fit into one line"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        Ok(())
    }

    /// The text with its secrets in it.
    async fn fill(&self, text: &str) -> Result<SecretString, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(SECRET.0) {
            let Some((name, after)) = after.split_once(SECRET.1) else { break };
            let secret = match &self.hatch {
                Some(hatch) => hatch.reveal(name).await,
                None => None,
            };
            let secret = secret.ok_or_else(|| {
                format!("the rule for {} names the secret `{name}`, and there is none of that name", self.host)
            })?;
            filled.push_str(before);
            filled.push_str(secret.expose_secret());
            rest = after;
        }
        filled.push_str(rest);
        Ok(SecretString::from(filled))
    }

    async fn send(
        &self,
        mut request: Request<Incoming>,
        line: Box<dyn Line>,
        peer: IpAddr,
    ) -> Result<Response<Passed>, Error> {
        let (policy, host, port) = (Policy::clone(&self.policy), self.host.clone(), self.port);
        let taken_back = async move { policy.takes_back(&host, port, peer).await };
        // Whatever the request says of its host: the headers are for this one.
        let usual = matches!((request.uri().scheme_str(), self.port), (Some("http"), PLAIN) | (None, PLAIN | 443));
        let authority = if usual { self.host.clone() } else { format!("{}:{}", self.host, self.port) };
        let was_plain = request.uri().scheme_str() == Some("http") || self.port == PLAIN;
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
        *request.uri_mut() = Uri::builder().scheme("http").authority(authority).path_and_query(path).build()?;
        request.headers_mut().remove(header::UPGRADE);
        if was_plain {
            return forward(request, line, &self.traffic, taken_back).await;
        }
        let name = ServerName::try_from(self.host.clone())?;
        let opened = tls()?.connect(name, line).await?;
        forward(request, opened, &self.traffic, taken_back).await
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> Response<Passed> {
        sentence(StatusCode::BAD_GATEWAY, &format!("{}:{} broke off: {error}", self.host, self.port))
    }
}

/// Believes whom this machine believes.
fn tls() -> io::Result<TlsConnector> {
    static TRUST: OnceLock<Result<TlsConnector, String>> = OnceLock::new();
    let made = TRUST.get_or_init(|| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let config = builder.with_platform_verifier().map_err(|error| error.to_string())?;
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    });
    made.clone().map_err(io::Error::other)
}
