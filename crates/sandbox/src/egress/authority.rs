//! An authority of one sandbox: made with it, gone with it, and believed by nobody else.
//!
//! It vouches for the hosts that the sandbox has headers for, and for no other. Its key never comes inside.

use std::{
    collections::HashMap,
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde::{Deserialize, Serialize};
use tokio_rustls::TlsAcceptor;

/// Whom the programs of one sandbox believe.
#[derive(Clone, Serialize, Deserialize)]
pub struct Authority {
    name: String,
    /// What the programs inside are given.
    certificate: String,
    /// What they are not.
    key: String,
    /// What it has vouched for so far.
    #[serde(skip)]
    vouched: Arc<Mutex<HashMap<String, TlsAcceptor>>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authority({})", self.name)
    }
}

impl Authority {
    /// A new one, for a sandbox of this name.
    pub fn make(name: &str) -> io::Result<Authority> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params(name).self_signed(&key).map_err(io::Error::other)?.pem();
        Ok(Authority { name: name.to_owned(), certificate, key: key.serialize_pem(), vouched: Arc::default() })
    }

    /// What the programs inside are given to believe.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Answers calls to a host in its name.
    pub(super) fn acceptor(&self, host: &str) -> io::Result<TlsAcceptor> {
        let mut vouched = self.vouched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(acceptor) = vouched.get(host) {
            return Ok(acceptor.clone());
        }
        let issuer = KeyPair::from_pem(&self.key).map_err(io::Error::other)?;
        let issuer = Issuer::new(params(&self.name), issuer);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut leaf = CertificateParams::new(vec![host.to_owned()]).map_err(io::Error::other)?;
        leaf.distinguished_name = rcgen::DistinguishedName::new();
        leaf.distinguished_name.push(DnType::CommonName, "Carrel");
        let leaf = leaf.signed_by(&key, &issuer).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = config.with_single_cert(vec![leaf.der().clone()], key).map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        vouched.insert(host.to_owned(), acceptor.clone());
        Ok(acceptor)
    }
}

/// The same every time, so that the key alone brings the authority back.
fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("Carrel sandbox {name}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_comes_back_from_its_record_and_prints_no_key() {
        let made = Authority::make("itest").expect("made");
        let text = serde_json::to_string(&made).expect("written");
        let back: Authority = serde_json::from_str(&text).expect("read");
        assert!(back.acceptor("api.example.org").is_ok());
        assert_eq!(back.certificate(), made.certificate());
        assert!(!format!("{made:?}").contains("PRIVATE"));
    }
}
