//! Ports on which what listens inside speaks TLS itself.
//!
//! Who calls from outside was heard at our own door; this is the last step of the way, inside one machine. What listens
//! there has a certificate that it made itself, as E2B's users expect, so that any is taken: nothing is proved by it, and
//! nothing is lost, since the line ends in that sandbox whatever it shows.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use carrel_envd::Line;
use carrel_model::{SandboxId, public::SandboxView};
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring::default_provider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio_rustls::TlsConnector;

use crate::Error;

/// The line to a port as what listens there speaks on it.
pub(super) async fn dress(view: &SandboxView, port: u16, line: Box<dyn Line>) -> Result<Box<dyn Line>, Error> {
    if !view.tls_ports.contains(&port) {
        return Ok(line);
    }
    match wrap(line).await {
        Ok(line) => Ok(line),
        Err(error) => Err(silent(&view.id, port, &error)),
    }
}

fn silent(id: &SandboxId, port: u16, error: &io::Error) -> Error {
    Error::Inside { why: format!("what listens on port {port} in sandbox {id} does not speak TLS: {error}") }
}

async fn wrap(line: Box<dyn Line>) -> io::Result<Box<dyn Line>> {
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    Ok(Box::new(connector()?.connect(name, line).await?))
}

fn connector() -> io::Result<TlsConnector> {
    static MADE: OnceLock<Result<TlsConnector, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        let verifier = Arc::new(Anybody(provider));
        let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    });
    made.clone().map_err(io::Error::other)
}

/// Takes every certificate; what is signed must still be signed with it.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
