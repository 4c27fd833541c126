//! Has the programs of a sandbox believe its authority: a file with everybody whom they believed before, and the authority.

use carrel_envd::{Envd, EnvdError};
use futures::{StreamExt, stream};

use super::silent;
use crate::{ProviderError, egress::Authority};

/// The authority alone, and the authority with all others.
const ALONE: &str = "/etc/carrel/ca.pem";
const BUNDLE: &str = "/etc/carrel/bundle.pem";
/// Where systems keep whom they believe.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// What tells programs where to look: curl, OpenSSL, Python, git, cargo, pip and Go read a bundle, Node one more file.
pub(crate) fn trusting() -> Vec<(String, String)> {
    let bundle = [
        "SSL_CERT_FILE",
        "CURL_CA_BUNDLE",
        "REQUESTS_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO",
        "PIP_CERT",
        "AWS_CA_BUNDLE",
    ];
    let mut env: Vec<_> = bundle.iter().map(|name| ((*name).to_owned(), BUNDLE.to_owned())).collect();
    env.extend(["NODE_EXTRA_CA_CERTS", "DENO_CERT"].map(|name| (name.to_owned(), ALONE.to_owned())));
    env
}

/// Lays the files down. May be repeated.
pub(crate) async fn trust(envd: &Envd, authority: &Authority) -> Result<(), ProviderError> {
    let (mut bundle, mut place) = (Vec::new(), None);
    for path in SYSTEM {
        match read(envd, path).await {
            Ok(found) => {
                (bundle, place) = (found, Some(path));
                break;
            }
            Err(EnvdError::NotFound(_)) => {}
            Err(error) => return Err(silent(error)),
        }
    }
    let own = authority.certificate().as_bytes();
    let is_known = bundle.windows(own.len()).any(|part| part == own);
    if !is_known {
        if !bundle.is_empty() && !bundle.ends_with(b"\n") {
            bundle.push(b'\n');
        }
        bundle.extend_from_slice(own);
    }
    write(envd, ALONE, own.to_vec()).await.map_err(silent)?;
    write(envd, BUNDLE, bundle.clone()).await.map_err(silent)?;
    // For programs that read no variable. Where the system's own file cannot be written, they do without.
    if let Some(place) = place.filter(|_| !is_known) {
        let _ = write(envd, place, bundle).await;
    }
    Ok(())
}

async fn read(envd: &Envd, path: &str) -> Result<Vec<u8>, EnvdError> {
    let mut content = envd.download(path, Some("root")).await?.content;
    let mut bytes = Vec::new();
    while let Some(piece) = content.next().await {
        bytes.extend_from_slice(&piece.map_err(EnvdError::Unreachable)?);
    }
    Ok(bytes)
}

async fn write(envd: &Envd, path: &str, bytes: Vec<u8>) -> Result<(), EnvdError> {
    envd.upload(path, Some("root"), stream::iter([Ok(bytes.into())]).boxed()).await
}
