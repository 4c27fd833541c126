//! Certificates: read for the server, and made for trying things out.
//!
//! `carrel tls init` makes a certificate authority of one's own and a certificate that it signed, with a star before each
//! name, so that sandboxes have names too. The authority's key is thrown away at once: nobody can sign anything more.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use clap::Subcommand;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::{
    data::DataDir,
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a certificate authority and a certificate for this machine, for development
    Init {
        /// Names besides `localhost`; sandboxes get theirs below each of them
        #[arg(long = "domain", value_name = "NAME")]
        domains: Vec<String>,
        /// Replace what is there
        #[arg(long)]
        force: bool,
    },
}

impl Verb {
    pub(crate) fn run(self, data: &DataDir, json: bool) -> Result<(), Failure> {
        let Verb::Init { domains, force } = self;
        data.make()?;
        let folder = data.path().join("tls");
        let place = |name: &str| folder.join(name);
        if place("cert.pem").exists() && !force {
            let sentence = format!("there is a certificate in {} already", folder.display());
            return Err(Failure::new(sentence).hint("`--force` replaces it").exit(Exit::Conflict));
        }
        let made = make(&domains).map_err(|error| {
            Failure::new(format!("no certificate could be made: {error}"))
                .hint("names are written as in `--domain sandboxes.example.org`")
                .exit(Exit::Usage)
        })?;
        write(&folder, "ca.pem", &made.authority, 0o644)?;
        write(&folder, "cert.pem", &made.certificate, 0o644)?;
        write(&folder, "key.pem", &made.key, 0o600)?;
        let [authority, certificate, key] = ["ca.pem", "cert.pem", "key.pem"].map(place);
        if json {
            return say::json(&serde_json::json!({ "ca": authority, "cert": certificate, "key": key }));
        }
        say::line(format_args!("carrel serve --tls-cert {} --tls-key {}", certificate.display(), key.display()));
        say::line("  Python  SSL_CERT_FILE, Node NODE_EXTRA_CA_CERTS, curl --cacert:");
        say::line(format_args!("          {}", authority.display()));
        Ok(())
    }
}

struct Made {
    authority: String,
    certificate: String,
    key: String,
}

fn make(domains: &[String]) -> Result<Made, rcgen::Error> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "Carrel development authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);

    let mut names = vec!["127.0.0.1".to_owned(), "::1".to_owned()];
    // A star before a name of one part is believed by nobody: sandboxes have theirs below the second.
    for domain in ["localhost", "carrel.localhost"].into_iter().chain(domains.iter().map(String::as_str)) {
        names.extend([domain.to_owned(), format!("*.{domain}")]);
    }
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "Carrel");
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Made { authority: authority_certificate.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
}

fn write(folder: &Path, name: &str, text: &str, mode: u32) -> Result<(), Failure> {
    let place: PathBuf = folder.join(name);
    let written = fs::create_dir_all(folder).and_then(|()| {
        let _ = fs::remove_file(&place);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&place)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::new(format!("{} cannot be written: {error}", place.display())))
}

/// What the server shows to whoever calls by TLS; nothing when nobody asked for it.
pub(crate) fn config(certificate: &str, key: &str) -> Result<Option<ServerConfig>, Failure> {
    if certificate.is_empty() && key.is_empty() {
        return Ok(None);
    }
    let wrong = |what: &str, error: &dyn std::fmt::Display| {
        Failure::new(format!("{what}: {error}"))
            .hint("`carrel tls init` makes both for trying things out")
            .exit(Exit::Usage)
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificate).and_then(|certificates| certificates.collect());
    let chain = chain.map_err(|error| wrong(&format!("the certificate {certificate} cannot be read"), &error))?;
    let secret = PrivateKeyDer::from_pem_file(key);
    let secret = secret.map_err(|error| wrong(&format!("the key {key} cannot be read"), &error))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, secret);
    config.map(Some).map_err(|error| wrong("the certificate and its key do not fit", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_can_be_served_and_is_not_replaced_unasked() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::at(folder.path().to_owned());
        let init = |force| Verb::Init { domains: vec!["sandboxes.example".into()], force };
        init(false).run(&data, true).unwrap();
        assert!(init(false).run(&data, true).is_err());
        init(true).run(&data, true).unwrap();
        let place = |name: &str| folder.path().join("tls").join(name).display().to_string();
        assert!(config(&place("cert.pem"), &place("key.pem")).unwrap().is_some());
        assert!(config(&place("cert.pem"), &place("ca.pem")).is_err());
        assert!(config("", "").unwrap().is_none());
    }
}
