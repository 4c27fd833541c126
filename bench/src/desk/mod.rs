//! The desk: sandboxes that are real, measured through the HTTP API of a real `carrel serve`, beside what else one would use.
//!
//! What a bench does between two measurements (destroying, waiting for the pool) is not in its numbers.

pub(crate) mod checkout;
pub(crate) mod create;
pub(crate) mod exec;
pub(crate) mod files;
pub(crate) mod fleet;
pub(crate) mod fork;
pub(crate) mod many;
pub(crate) mod pause;
mod runtimes;
pub(crate) mod sdk;
mod serve;
pub(crate) mod task;

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde_json::Value;

pub(crate) use self::serve::serve;
use crate::{Outcome, http::Connection, server::Server};

/// A server with sandboxes of this machine, and a line to it.
struct Desk {
    server: Server,
    line: Connection,
}

impl Desk {
    /// A server of its own, so many slots waiting in its pool.
    async fn open(pool: usize) -> Outcome<Desk> {
        Desk::open_on(pool, None).await
    }

    /// The same with its rows in a PostgreSQL, where an address is given.
    async fn open_on(pool: usize, database: Option<&str>) -> Outcome<Desk> {
        Desk::at(Server::desk(pool, database)?).await
    }

    /// One where nothing waits: each sandbox is made from nothing.
    async fn bare() -> Outcome<Desk> {
        Desk::at(Server::bare_desk()?).await
    }

    async fn at(server: Server) -> Outcome<Desk> {
        let line = Connection::open(server.address).await?;
        Ok(Desk { server, line })
    }

    /// Asks, and waits for the whole answer.
    async fn ask(&mut self, method: &str, path: &str, body: Option<&str>) -> Outcome<Value> {
        let request = self.server.request(method, &format!("/api/v1{path}"), body);
        let answer = self.line.ask(&request).await?;
        Ok(if answer.is_empty() { Value::Null } else { serde_json::from_slice(answer)? })
    }

    /// A sandbox that is ready.
    async fn create(&mut self, body: &str) -> Outcome<String> {
        let sandbox = self.ask("POST", "/sandboxes?wait=ready", Some(body)).await?;
        is(&sandbox, "ready")?;
        Ok(text(&sandbox, "id")?.to_owned())
    }

    async fn destroy(&mut self, id: &str) -> Outcome<()> {
        self.ask("DELETE", &format!("/sandboxes/{id}?wait=gone"), None).await.map(drop)
    }

    /// Runs a line of shell to its end, and gives what it printed.
    async fn run(&mut self, id: &str, command: &str) -> Outcome<String> {
        let body = serde_json::json!({ "command": command }).to_string();
        let done = self.ask("POST", &format!("/sandboxes/{id}/execute"), Some(&body)).await?;
        if done["exit_code"] != 0 {
            let done = done.to_string();
            return Err(format!("`{command}` in a sandbox: {}…", done.get(..400).unwrap_or(&done)).into());
        }
        Ok(text(&done, "stdout")?.to_owned())
    }

    /// A number of the server's own.
    async fn metric(&mut self, name: &str) -> Outcome<f64> {
        let request = self.server.request("GET", "/metrics", None);
        let text = String::from_utf8(self.line.ask(&request).await?.to_vec())?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(line.map(str::parse).transpose()?.unwrap_or(0.0))
    }

    /// Where sandboxes write, for peers that shall write to the same disk.
    fn disk(&self) -> PathBuf {
        let local = self.server.folder.join("local");
        let image = local.join("disk");
        if image.join("slots").exists() { image } else { local }
    }
}

/// What a view says under a name.
fn text<'v>(view: &'v Value, name: &str) -> Outcome<&'v str> {
    Ok(view[name].as_str().ok_or_else(|| format!("no {name} in {view}"))?)
}

/// A sandbox that is not where it should be has no number.
fn is(sandbox: &Value, phase: &str) -> Outcome<()> {
    match text(sandbox, "phase")? == phase {
        true => Ok(()),
        false => Err(format!("a sandbox is not {phase}: {sandbox}").into()),
    }
}

/// Times of one way to do something.
struct Times(Histogram<u64>);

impl Times {
    fn new() -> Outcome<Times> {
        Ok(Times(Histogram::new(3)?))
    }

    fn note(&mut self, took: Duration) -> Outcome<()> {
        Ok(self.0.record(u64::try_from(took.as_micros())?)?)
    }

    /// Takes in what was noted elsewhere.
    fn add(&mut self, other: &Times) -> Outcome<()> {
        Ok(self.0.add(&other.0)?)
    }

    fn at(&self, quantile: f64) -> f64 {
        crate::report::quantile(&self.0, quantile)
    }
}

/// Runs a program to its end, without its words.
fn finish(command: &mut Command) -> Outcome<()> {
    let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr).trim()).into()),
    }
}

/// How long a program takes to its end.
fn time(command: &mut Command) -> Outcome<Duration> {
    let began = Instant::now();
    finish(command)?;
    Ok(began.elapsed())
}
