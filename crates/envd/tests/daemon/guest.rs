//! A daemon to ask, with a folder of its own; nothing of it is left when it goes.

use std::{
    ffi::OsStr,
    fs,
    os::{
        fd::OwnedFd,
        unix::{
            net::{SocketAddr, UnixListener},
            process::CommandExt,
        },
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use carrel_envd::{Content, Dial, Ended, Envd, Event, Events, Line, Start};
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

pub struct Guest {
    pub envd: Envd,
    pub folder: tempfile::TempDir,
    pub child: Child,
    pub socket: Arc<Socket>,
}

/// Where a guest listens.
pub struct Socket {
    pub path: PathBuf,
}

#[async_trait]
impl Dial for Socket {
    async fn dial(&self) -> std::io::Result<Box<dyn Line>> {
        Ok(Box::new(UnixStream::connect(&self.path).await?))
    }
}

impl Guest {
    /// A daemon that listens at a socket handed over to it, so it can be asked at once.
    pub fn new() -> Guest {
        Guest::behind(&[], &["--subreaper"])
    }

    /// The same behind another command, with more arguments.
    pub fn behind(before: &[&str], more: &[&str]) -> Guest {
        let folder = tempfile::tempdir().unwrap();
        // Other users have to pass through.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("line")).unwrap();
        let path = folder.path().join("line/envd.sock");
        let listener = UnixListener::bind_addr(&SocketAddr::from_pathname(&path).unwrap()).unwrap();
        let binary = binary();
        let words: Vec<&OsStr> = before.iter().map(OsStr::new).chain([binary.as_os_str()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["--listen", "fd:0"]).args(more);
        command.stdin(Stdio::from(OwnedFd::from(listener))).process_group(0);
        let child = command.spawn().unwrap();
        let socket = Arc::new(Socket { path });
        Guest { envd: Envd::new(socket.clone(), None), folder, child, socket }
    }

    /// A path in the guest's folder.
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a shell command to its end.
    pub async fn run(&self, script: &str) -> Ran {
        let events = self.envd.start(&shell(script)).await.unwrap();
        gather(events).await
    }

    /// Plain HTTP over a line of its own.
    pub async fn http(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        let line = UnixStream::connect(&self.socket.path).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(line)).await.unwrap();
        let driven = tokio::spawn(connection);
        let response = sender.send_request(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        driven.abort();
        Response::from_parts(head, body)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let everybody = below(self.child.id());
        let _ = self.child.kill();
        for pid in everybody {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid as i32).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
        let _ = self.child.wait();
    }
}

/// The daemon under test: the one that was built for it, or the one that `CARREL_TEST_ENVD` names (the static build).
pub fn binary() -> PathBuf {
    std::env::var_os("CARREL_TEST_ENVD").map_or_else(|| env!("CARGO_BIN_EXE_envd").into(), PathBuf::from)
}

/// Every descendant of a process.
pub fn below(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut look_at = vec![pid];
    while let Some(pid) = look_at.pop() {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            found.push(child);
            look_at.push(child);
        }
    }
    found
}

pub fn shell(script: &str) -> Start {
    Start { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()], ..Default::default() }
}

/// What a command said and how it ended.
#[derive(Debug, Default)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub terminal: String,
    pub ended: Option<Ended>,
}

impl Ran {
    pub fn code(&self) -> i32 {
        self.ended.as_ref().unwrap().exit_code
    }
}

pub async fn gather(mut events: Events) -> Ran {
    let mut ran = Ran::default();
    while let Some(event) = events.next().await {
        match event.unwrap() {
            Event::Started { .. } => {}
            Event::Stdout(bytes) => ran.stdout.push_str(&String::from_utf8_lossy(&bytes)),
            Event::Stderr(bytes) => ran.stderr.push_str(&String::from_utf8_lossy(&bytes)),
            Event::Terminal(bytes) => ran.terminal.push_str(&String::from_utf8_lossy(&bytes)),
            Event::Ended(ended) => ran.ended = Some(ended),
        }
    }
    ran
}

/// The number in the first event.
pub async fn pid(events: &mut Events) -> u32 {
    match events.next().await.unwrap().unwrap() {
        Event::Started { pid, .. } => pid,
        other => panic!("{other:?} came first"),
    }
}

/// Standard output until it contains something.
pub async fn until(events: &mut Events, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        match events.next().await.unwrap().unwrap() {
            Event::Stdout(bytes) | Event::Terminal(bytes) => seen.push_str(&String::from_utf8_lossy(&bytes)),
            Event::Ended(ended) => panic!("{ended:?} came after {seen:?}"),
            _ => {}
        }
    }
    seen
}

pub fn content(bytes: impl Into<Bytes>) -> Content {
    futures::stream::iter([Ok(bytes.into())]).boxed()
}

pub async fn all(mut content: Content) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(bytes) = content.next().await {
        all.extend_from_slice(&bytes.unwrap());
    }
    all
}

pub fn get(target: &str) -> Request<Full<Bytes>> {
    Request::get(target).header("host", "envd").body(Full::default()).unwrap()
}

pub fn post(target: &str, kind: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(target).header("host", "envd").header("content-type", kind).body(Full::new(body.into())).unwrap()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
