//! The way out through a SOCKS5 proxy (RFC 1928 and 1929), for a sandbox that has one.
//!
//! It fails closed: without the proxy nobody is reached. The proxy is told the address that the policy let pass, never a
//! name, so that it cannot be led elsewhere.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
};

use carrel_envd::Line;
use carrel_model::sandbox::{ExitProxy, ExitTls, ProxyWord};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::policy::Named;

const VERSION: u8 = 5;
/// The ways to say who we are: not at all, by name and password, and what the proxy says when it takes neither.
const NOBODY: u8 = 0;
const BY_NAME: u8 = 2;
/// Please connect.
const CONNECT: u8 = 1;
/// The kinds of addresses.
const FOUR: u8 = 1;
const NAME: u8 = 3;
const SIX: u8 = 4;

/// Has a proxy call an address. `at` is the name of the proxy itself.
pub(super) async fn call(
    proxy: &ExitProxy,
    at: &Named,
    address: SocketAddr,
    own: &[IpAddr],
) -> io::Result<Box<dyn Line>> {
    let line = find(at, own).await.map_err(|error| told("is not reached", &error))?;
    let mut line: Box<dyn Line> = match &proxy.tls {
        None => Box::new(line),
        Some(tls) => {
            let name = tls.server_name.as_ref().map_or(proxy.address.host(), |name| name.as_str());
            let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
            let opened = connector(tls)?.connect(name, line).await;
            Box::new(opened.map_err(|error| told("is not believed", &error))?)
        }
    };
    greet(&mut line, proxy).await?;
    ask(&mut line, address).await?;
    Ok(line)
}

fn told(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the proxy of this sandbox {what}: {error}"))
}

fn strange(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the proxy of this sandbox {what}"))
}

/// Resolves the proxy and calls it. It is no more the host or a neighbour than anybody else may be.
async fn find(at: &Named, own: &[IpAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in tokio::net::lookup_host((at.host.as_str(), at.port)).await? {
        if let Err(refused) = at.place(address.ip(), own) {
            last = io::Error::new(io::ErrorKind::PermissionDenied, refused);
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Says who we are.
async fn greet(line: &mut Box<dyn Line>, proxy: &ExitProxy) -> io::Result<()> {
    let login =
        proxy.username.as_ref().map(|name| (name.as_str(), proxy.password.as_ref().map_or("", ProxyWord::as_str)));
    let ways: &[u8] = if login.is_some() { &[VERSION, 2, NOBODY, BY_NAME] } else { &[VERSION, 1, NOBODY] };
    send(line, ways).await?;
    let mut chosen = [0; 2];
    line.read_exact(&mut chosen).await?;
    match (chosen, login) {
        ([VERSION, NOBODY], _) => Ok(()),
        ([VERSION, BY_NAME], Some((name, password))) => {
            // Each is at most 255 bytes long, by its type.
            let mut words = vec![1, name.len() as u8];
            words.extend(name.as_bytes());
            words.push(password.len() as u8);
            words.extend(password.as_bytes());
            send(line, &words).await?;
            let mut verdict = [0; 2];
            line.read_exact(&mut verdict).await?;
            if verdict[1] == 0 { Ok(()) } else { Err(strange("does not take its name and password")) }
        }
        ([VERSION, _], None) => Err(strange("wants a name and a password")),
        ([VERSION, _], Some(_)) => Err(strange("takes no name and password")),
        _ => Err(strange("does not speak SOCKS5")),
    }
}

/// Asks for the connection, and waits until it stands.
async fn ask(line: &mut Box<dyn Line>, address: SocketAddr) -> io::Result<()> {
    let mut question = vec![VERSION, CONNECT, 0];
    match address.ip() {
        IpAddr::V4(address) => {
            question.push(FOUR);
            question.extend(address.octets());
        }
        IpAddr::V6(address) => {
            question.push(SIX);
            question.extend(address.octets());
        }
    }
    question.extend(address.port().to_be_bytes());
    send(line, &question).await?;
    let mut answer = [0; 4];
    line.read_exact(&mut answer).await?;
    match answer {
        [VERSION, 0, _, _] => {}
        [VERSION, why, _, _] => return Err(strange(&format!("says no: {}", reason(why)))),
        _ => return Err(strange("does not speak SOCKS5")),
    }
    // From where it called, which is of no interest, and a port.
    let length = match answer[3] {
        FOUR => 4,
        SIX => 16,
        NAME => usize::from(line.read_u8().await?),
        _ => return Err(strange("answers in a way that is none of SOCKS5's")),
    };
    line.read_exact(&mut vec![0; length + 2]).await.map(drop)
}

async fn send(line: &mut Box<dyn Line>, words: &[u8]) -> io::Result<()> {
    line.write_all(words).await?;
    line.flush().await
}

fn reason(code: u8) -> &'static str {
    match code {
        2 => "its rules do not allow it",
        3 => "the network is not reached",
        4 => "the host is not reached",
        5 => "the connection is refused",
        6 => "it takes too long",
        7 | 8 => "it cannot do that",
        _ => "something is wrong with it",
    }
}

/// Believes the authorities that were named for the proxy; else whom this machine believes.
fn connector(tls: &ExitTls) -> io::Result<TlsConnector> {
    static USUAL: OnceLock<Result<TlsConnector, String>> = OnceLock::new();
    let Some(authorities) = &tls.authorities else {
        let made = USUAL.get_or_init(|| {
            let config = builder()?.with_platform_verifier().map_err(|error| error.to_string())?;
            Ok(TlsConnector::from(Arc::new(config.with_no_client_auth())))
        });
        return made.clone().map_err(io::Error::other);
    };
    let mut believed = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities.as_str().as_bytes()) {
        let certificate = certificate.map_err(|error| strange(&format!("has an authority that is none: {error}")))?;
        believed.add(certificate).map_err(io::Error::other)?;
    }
    let config = builder().map_err(io::Error::other)?.with_root_certificates(believed);
    Ok(TlsConnector::from(Arc::new(config.with_no_client_auth())))
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::{DuplexStream, duplex};

    fn proxy(login: bool) -> ExitProxy {
        let mut proxy = serde_json::json!({ "address": "proxy.example.org:1080" });
        if login {
            proxy["username"] = "me".into();
            proxy["password"] = "word".into();
        }
        serde_json::from_value(proxy).expect("a proxy")
    }

    /// Speaks with a proxy that says these words, one after each of ours; gives what we said to it.
    async fn speak(login: bool, address: &str, says: &[&[u8]]) -> (io::Result<()>, Vec<Vec<u8>>) {
        let (ours, theirs) = duplex(4096);
        let mut line: Box<dyn Line> = Box::new(ours);
        let says: Vec<Vec<u8>> = says.iter().map(|words| words.to_vec()).collect();
        let heard = tokio::spawn(listen(theirs, says));
        let proxy = proxy(login);
        let spoken = async {
            greet(&mut line, &proxy).await?;
            ask(&mut line, address.parse().expect("an address")).await
        };
        let spoken = spoken.await;
        drop(line);
        (spoken, heard.await.expect("heard"))
    }

    async fn listen(mut line: DuplexStream, says: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut heard = Vec::new();
        for words in says {
            let mut bytes = vec![0; 512];
            let length = line.read(&mut bytes).await.unwrap_or(0);
            bytes.truncate(length);
            heard.push(bytes);
            let _ = line.write_all(&words).await;
        }
        // It says no more, and hears us out.
        let _ = line.shutdown().await;
        while line.read(&mut [0; 512]).await.is_ok_and(|length| length > 0) {}
        heard
    }

    const DONE: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

    #[tokio::test]
    async fn a_proxy_is_told_the_address_and_not_the_name() {
        let (spoken, heard) = speak(false, "192.0.2.1:443", &[&[5, 0], DONE]).await;
        spoken.expect("connected");
        assert_eq!(heard, [vec![5, 1, 0], vec![5, 1, 0, 1, 192, 0, 2, 1, 1, 187]]);
        let (spoken, heard) = speak(false, "[2001:db8::1]:80", &[&[5, 0], &[5, 0, 0, 3, 1, b'x', 0, 80]]).await;
        spoken.expect("connected");
        assert_eq!((heard[1][3], heard[1].len()), (4, 22));
    }

    #[tokio::test]
    async fn a_proxy_that_asks_who_we_are_is_told_and_no_other() {
        let (spoken, heard) = speak(true, "192.0.2.1:443", &[&[5, 2], &[1, 0], DONE]).await;
        spoken.expect("connected");
        assert_eq!(heard[1], b"\x01\x02me\x04word");
        let (spoken, heard) = speak(true, "192.0.2.1:443", &[&[5, 0], DONE]).await;
        spoken.expect("connected");
        assert!(heard.iter().all(|words| !words.windows(4).any(|four| four == b"word")), "{heard:?}");
    }

    #[tokio::test]
    async fn whatever_else_a_proxy_says_nobody_is_reached() {
        let cases: [(bool, &[&[u8]], &str); 6] = [
            (false, &[&[5, 0xff]], "wants a name"),
            (true, &[&[5, 2], &[1, 1]], "does not take"),
            (false, &[&[5, 0], &[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]], "refused"),
            (false, &[b"HTTP/1.1 400 no"], "SOCKS5"),
            (false, &[&[5, 0], &[5, 0, 0, 9]], "none of"),
            (false, &[&[5]], ""),
        ];
        for (login, says, why) in cases {
            let (spoken, _) = speak(login, "192.0.2.1:443", says).await;
            let error = spoken.expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_breaks_it(first in prop::collection::vec(any::<u8>(), 0..8), then in prop::collection::vec(any::<u8>(), 0..300)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            // All at once: one that waits for an answer which it has is no matter of ours.
            let said = [first, then].concat();
            let (spoken, _) = runtime.block_on(speak(false, "192.0.2.1:443", &[&said]));
            // It stands only when the proxy said so, to both questions.
            prop_assert!(spoken.is_err() || (said.starts_with(&[5, 0]) && said[2..].starts_with(&[5, 0])));
        }
    }
}
