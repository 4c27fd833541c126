//! Letters to a real NATS server: `nats-server` of the system's packages.

use std::{path::Path, process::Stdio, time::Duration};

use carrel_forge::courier::{Courier, Outgoing, new_secret};
use secrecy::SecretString;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
};

/// A server with a stream store, on a port that was free.
async fn serve(folder: &Path, token: Option<&str>) -> (Child, String) {
    let paths = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let mut command = Command::new("nats-server");
    command.env("PATH", paths).args(["-a", "127.0.0.1", "-p", "-1", "-js", "-sd"]).arg(folder.join("store"));
    command.arg("--ports_file_dir").arg(folder);
    if let Some(token) = token {
        // Not on the command line, where others see it.
        std::fs::write(folder.join("nats.conf"), format!("authorization {{ token: \"{token}\" }}\n")).unwrap();
        command.arg("-c").arg(folder.join("nats.conf"));
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn();
    let child = child.expect("nats-server is missing; `scripts/setup test` installs it");
    loop {
        let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        let ports = files.filter(|path| path.extension().is_some_and(|end| end == "ports"));
        let told = ports
            .filter_map(|path| std::fs::read(path).ok())
            .find_map(|text| serde_json::from_slice::<Value>(&text).ok());
        if let Some(url) = told.as_ref().and_then(|told| told["nats"][0].as_str()) {
            return (child, url.replace("nats://", ""));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn letter(number: u32) -> Outgoing {
    let body = format!(r#"{{"type":"task.needs_you","data":{{"cursor":{number}}}}}"#);
    Outgoing { id: format!("msg_1_{number}"), at: 1_800_000_000, body }
}

/// Somebody who listens.
struct Listener {
    reader: BufReader<tokio::net::tcp::OwnedReadHalf>,
    writer: tokio::net::tcp::OwnedWriteHalf,
}

impl Listener {
    async fn connect(address: &str, token: Option<&str>) -> Listener {
        let (reader, writer) = TcpStream::connect(address).await.unwrap().into_split();
        let mut listener = Listener { reader: BufReader::new(reader), writer };
        listener.line().await;
        let token = token.map(|token| format!(",\"auth_token\":\"{token}\"")).unwrap_or_default();
        listener
            .say(&format!("CONNECT {{\"verbose\":false,\"headers\":true{token}}}\r\nSUB carrel.> 1\r\nPING\r\n"))
            .await;
        while listener.line().await != "PONG" {}
        listener
    }

    async fn say(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    /// The subject, the headers and the body of the next message.
    async fn next(&mut self) -> (String, String, Value) {
        loop {
            let line = self.line().await;
            let words: Vec<&str> = line.split(' ').collect();
            let ["HMSG", subject, _, headers, whole] = words[..] else { continue };
            let (headers, whole): (usize, usize) = (headers.parse().unwrap(), whole.parse().unwrap());
            let mut bytes = vec![0; whole + 2];
            self.reader.read_exact(&mut bytes).await.unwrap();
            let text = String::from_utf8(bytes[..headers].to_vec()).unwrap();
            return (subject.to_owned(), text, serde_json::from_slice(&bytes[headers..whole]).unwrap());
        }
    }
}

#[tokio::test]
async fn a_letter_reaches_whoever_listens_at_a_nats_server_signed_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, address) = serve(folder.path(), None).await;
    let mut listener = Listener::connect(&address, None).await;
    let (courier, secret) = (Courier::new(true).unwrap(), SecretString::from(new_secret()));
    let url = format!("nats://{address}/carrel");
    for number in 1..=3 {
        assert!(courier.carry(&url, &letter(number), &secret).await.unwrap().is_taken());
        let (subject, headers, body) = listener.next().await;
        assert_eq!((subject.as_str(), &body["data"]["cursor"]), ("carrel.task.needs_you", &number.into()));
        assert!(headers.contains(&format!("Nats-Msg-Id: msg_1_{number}\r\n")), "{headers}");
        assert!(headers.contains("webhook-signature: v1,"), "{headers}");
    }
    // Addresses of this host are for those who allow it; what is no subject is none.
    assert!(Courier::new(false).unwrap().carry(&url, &letter(4), &secret).await.is_err());
    for odd in ["", "/", "/a..b", "/a/b", "/*", "/>", "/a?x=1", "/a b"] {
        assert!(courier.carry(&format!("nats://{address}{odd}"), &letter(4), &secret).await.is_err(), "{odd}");
    }
    server.kill().await.unwrap();
    let away = courier.carry(&url, &letter(5), &secret).await.unwrap_err();
    assert!(away.to_string().contains("does not answer"), "{away}");
}

#[tokio::test]
async fn a_server_that_wants_a_token_is_shown_the_hooks_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, address) = serve(folder.path(), Some("open-sesame")).await;
    let mut listener = Listener::connect(&address, Some("open-sesame")).await;
    let courier = Courier::new(true).unwrap();
    let url = format!("nats://{address}/carrel");
    let refused = courier.carry(&url, &letter(1), &SecretString::from("something else")).await.unwrap_err();
    assert!(refused.to_string().contains("refuses") && !refused.to_string().contains("something else"), "{refused}");
    assert!(courier.carry(&url, &letter(2), &SecretString::from("open-sesame")).await.unwrap().is_taken());
    let (_, headers, body) = listener.next().await;
    assert_eq!(body["data"]["cursor"], 2);
    assert!(!headers.contains("webhook-signature") && !headers.contains("sesame"), "{headers}");
    server.kill().await.unwrap();
}
