//! Hands letters to a NATS server, for those who follow the house there: `nats://HOST:PORT/SUBJECT`.
//!
//! What happened becomes the end of the subject: `carrel.task.needs_you`. The letter's name goes along as `Nats-Msg-Id`,
//! so that a stream that keeps them takes each once. A letter counts as taken when the server has answered what was asked
//! after it. One connection for each: entries are few, and nothing has to be kept alive.
//!
//! Absent on purpose: TLS, clusters, and a client library with twenty crates behind it for five words of a protocol.

use std::net::SocketAddr;

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use crate::courier::{Answer, NotCarried, Outgoing};

/// The port where nobody says another.
pub(crate) const PORT: u16 = 4222;
/// The longest line that a server may say.
const LONGEST: u64 = 64 * 1024;

/// What a server says of itself first.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Greeting {
    auth_required: bool,
    tls_required: bool,
    headers: bool,
    max_payload: Option<usize>,
}

/// Hands one letter over.
pub(crate) async fn hand_over(
    url: &Url,
    addresses: &[SocketAddr],
    letter: &Outgoing,
    signature: Option<String>,
    secret: &SecretString,
) -> Result<Answer, NotCarried> {
    let broken = |error: std::io::Error| NotCarried(format!("the NATS server broke off: {error}"));
    let stream = TcpStream::connect(addresses).await;
    let stream = stream.map_err(|error| NotCarried(format!("the NATS server does not answer: {error}")))?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let said = line(&mut reader).await.map_err(broken)?;
    let greeting: Greeting = said
        .strip_prefix("INFO ")
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(|| NotCarried("what answers there is no NATS server".into()))?;
    if greeting.tls_required {
        return Err(NotCarried("this NATS server wants TLS, which is not spoken here".into()));
    }
    if !greeting.headers {
        return Err(NotCarried("this NATS server knows no headers; 2.2 or newer is needed".into()));
    }
    let asked = question(url, &greeting, letter, signature, secret)?;
    writer.write_all(&asked).await.map_err(broken)?;
    loop {
        let said = line(&mut reader).await.map_err(broken)?;
        match said.split_whitespace().next() {
            // It was asked after the letter: what came before has been seen to.
            Some("PONG") => return Ok(Answer { status: 200, retry_after: None }),
            Some("-ERR") => return Err(NotCarried(format!("the NATS server refuses: {}", said[4..].trim()))),
            Some("PING") => writer.write_all(b"PONG\r\n").await.map_err(broken)?,
            _ => {}
        }
    }
}

/// Everything that is said to the server, in one piece.
fn question(
    url: &Url,
    greeting: &Greeting,
    letter: &Outgoing,
    signature: Option<String>,
    secret: &SecretString,
) -> Result<Vec<u8>, NotCarried> {
    #[derive(Deserialize)]
    struct Typed {
        r#type: String,
    }
    let happened: Typed =
        serde_json::from_str(&letter.body).map_err(|_| NotCarried("the letter does not say what happened".into()))?;
    let subject = format!("{}.{}", subject(url)?, happened.r#type);
    let mut headers =
        format!("NATS/1.0\r\nNats-Msg-Id: {0}\r\nwebhook-id: {0}\r\nwebhook-timestamp: {1}\r\n", letter.id, letter.at);
    if let Some(signature) = signature {
        headers.push_str(&format!("webhook-signature: {signature}\r\n"));
    }
    headers.push_str("\r\n");
    let whole = headers.len() + letter.body.len();
    if greeting.max_payload.is_some_and(|most| whole > most) {
        return Err(NotCarried(format!("the letter has {whole} bytes, more than this NATS server takes")));
    }
    let mut connect = serde_json::json!({"verbose": false, "pedantic": false, "tls_required": false, "headers": true,
        "name": "carrel", "lang": "rust", "version": env!("CARGO_PKG_VERSION")});
    if greeting.auth_required {
        connect["auth_token"] = secret.expose_secret().trim().into();
    }
    let mut asked = format!("CONNECT {connect}\r\nHPUB {subject} {} {whole}\r\n{headers}", headers.len()).into_bytes();
    asked.extend_from_slice(letter.body.as_bytes());
    asked.extend_from_slice(b"\r\nPING\r\n");
    Ok(asked)
}

/// The subject that an address names.
pub(crate) fn subject(url: &Url) -> Result<String, NotCarried> {
    let path = url.path().trim_matches('/');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_good = !path.is_empty() && path.bytes().all(plain) && path.split('.').all(|token| !token.is_empty());
    if is_good && url.query().is_none() {
        return Ok(path.to_owned());
    }
    Err(NotCarried("the address of a NATS server ends with a subject, such as `nats://host:4222/carrel`".into()))
}

async fn line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> std::io::Result<String> {
    let mut said = String::new();
    let length = reader.take(LONGEST).read_line(&mut said).await?;
    if length == 0 || !said.ends_with('\n') {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(said.trim_end().to_owned())
}
