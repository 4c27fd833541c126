//! An errand inside a sandbox: a script, its arguments, and what it says.

use std::{sync::Arc, time::Duration};

use carrel_envd::{Envd, EnvdError, Event, Start};
use carrel_git::inside;
use carrel_model::{CommitId, SandboxId, public::SandboxView, sandbox::Phase};
use futures::StreamExt;

use crate::{Error, SandboxesDesk, house::House};

/// How long an errand may take: a large tree is read whole once.
const PATIENCE: Duration = Duration::from_secs(600);
/// More of what it says is not heard.
const LONGEST: usize = 64 * 1024;

/// A script to be run inside.
pub(super) struct Errand {
    script: &'static str,
    args: Vec<String>,
    user: Option<String>,
}

/// What an errand said.
#[derive(Debug)]
pub(super) struct Told {
    code: i32,
    out: String,
    err: String,
}

impl Errand {
    pub(super) fn new(script: &'static str) -> Errand {
        Errand { script, args: Vec::new(), user: None }
    }

    pub(super) fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Errand {
        // A NUL would end the argument early.
        self.args.extend(args.into_iter().map(|arg| arg.replace('\0', " ")));
        self
    }

    /// As somebody else than whoever works there.
    pub(super) fn user(mut self, user: &str) -> Errand {
        self.user = Some(user.to_owned());
        self
    }

    /// Runs it in a sandbox that is ready.
    pub(super) async fn run(&self, house: &Arc<House>, id: &SandboxId) -> Result<Told, Error> {
        let view = SandboxesDesk { house }.look(id).await?;
        if view.phase != Phase::Ready {
            return Err(Error::Conflict { why: format!("sandbox {id} is {}, not ready", view.phase.word()) });
        }
        self.run_at(house, &view).await
    }

    /// Runs it in a sandbox that is awake, whatever its row says yet.
    pub(super) async fn run_at(&self, house: &Arc<House>, view: &SandboxView) -> Result<Told, Error> {
        let id = &view.id;
        let (envd, cut) = house.line(view).await?;
        let told = tokio::select! {
            told = self.run_by(&envd) => told,
            () = cut.cancelled() => Err(EnvdError::Unreachable(std::io::Error::other("its lines were cut"))),
        };
        told.map_err(|error| house.understand(id, "errand", error))
    }

    /// Runs it by this line.
    pub(super) async fn run_by(&self, envd: &Envd) -> Result<Told, EnvdError> {
        let args = ["-c", self.script, "carrel"].map(str::to_owned).into_iter().chain(self.args.clone()).collect();
        let start = Start {
            program: "/bin/sh".into(),
            args,
            // The working tree may be gone.
            cwd: Some("/".into()),
            user: self.user.clone(),
            timeout: Some(PATIENCE),
            ..Start::default()
        };
        let mut events = envd.start(&start).await?;
        let (mut out, mut err, mut code) = (Vec::new(), Vec::new(), None);
        let hear =
            |said: &mut Vec<u8>, bytes: &[u8]| said.extend(bytes.iter().take(LONGEST.saturating_sub(said.len())));
        while let Some(event) = events.next().await {
            match event? {
                Event::Stdout(bytes) | Event::Terminal(bytes) => hear(&mut out, &bytes),
                Event::Stderr(bytes) => hear(&mut err, &bytes),
                Event::Ended(ended) => code = Some(ended.exit_code),
                Event::Started { .. } => {}
            }
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        let code = code.ok_or_else(|| EnvdError::Broken("an errand did not say how it ended".into()))?;
        Ok(Told { code, out: text(out), err: text(err) })
    }
}

impl Told {
    /// What it said, when it went well.
    pub(super) fn good(self, what: &str) -> Result<String, Error> {
        let last = || self.err.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("git did not say why");
        match self.code {
            0 => Ok(self.out),
            inside::NO_TREE => Err(Error::Conflict { why: format!("could not {what}: its working tree is gone") }),
            inside::CONFLICTS => Err(Error::Conflict { why: format!("could not {what}: there are conflicts left") }),
            _ => {
                // Nobody behind the hatch just now: another time it works.
                let passing = ["unable to access", "Could not connect", "error: 5", "timed out"];
                let away = self.refusal().is_none() && passing.iter().any(|words| self.err.contains(words));
                let said: String = self.refusal().unwrap_or_else(|| last().to_owned()).chars().take(500).collect();
                let why = format!("could not {what}: {said}");
                if away { Err(Error::Unavailable { why, source: None }) } else { Err(Error::Conflict { why }) }
            }
        }
    }

    /// The files that it left because they are `large`, or `shut`.
    pub(super) fn left(&self, because: &str) -> Vec<String> {
        let readable = |path: &str| path.replace(|letter: char| letter.is_control() || letter == '`', "\u{fffd}");
        let named = |line: &str| line.strip_prefix(because)?.strip_prefix(' ').map(readable);
        let mut found: Vec<String> = self.out.lines().filter_map(named).collect();
        found.sort();
        found.dedup();
        found
    }

    /// The commit that it named, if it named one.
    pub(super) fn commit(self, what: &str) -> Result<Option<CommitId>, Error> {
        Ok(self.good(what)?.lines().last().and_then(|line| line.trim().parse().ok()))
    }

    /// What the gateway said to it.
    fn refusal(&self) -> Option<String> {
        let lines: Vec<&str> =
            self.err.lines().filter_map(|line| line.strip_prefix("remote:")).map(str::trim).collect();
        let said = lines.join(" ");
        (!said.trim().is_empty()).then(|| said.trim().to_owned())
    }
}
