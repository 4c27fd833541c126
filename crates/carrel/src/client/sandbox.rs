//! `carrel sandbox …`

use std::collections::BTreeMap;

use carrel_model::{
    AgentId, Branch, ProviderName, RepoName, TaskId, TemplateName,
    number::Cpus,
    public::{
        Happening, MoreHosts, NewCheckout, NewLimits, NewNetwork, NewPause, NewSandbox, NewTimeout, SandboxDetail,
        SandboxPage, SandboxView,
    },
    sandbox::{Depth, DiskMb, EnvName, EnvValue, HostRule, Isolation, Lifetime, MemoryMb, Metadata, NetworkMode, Pids},
};
use clap::{Args, Subcommand};
use reqwest::{Method, Response};

use super::{Client, ago, events, only_match, span};
use crate::{
    cli::PhaseArg,
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Ask for a sandbox
    Create(Box<Create>),
    /// List sandboxes, newest first
    Ls(List),
    /// Show one sandbox
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Run a command; its output, signals and exit code are passed through
    Exec(super::exec::Args),
    /// Open a terminal
    Shell(super::shell::Args),
    /// Make ports of a sandbox ports of this machine, until interrupted
    Forward(super::tunnel::Forward),
    /// Lead ssh to a desk: what `carrel ssh-config` puts into the configuration of ssh
    #[command(hide = true)]
    SshProxy(super::ssh::ProxyArgs),
    /// Copy files in and out; one side is ID:PATH, `-` is standard input or output
    Cp(super::copy::Args),
    /// Tell what happened to a sandbox
    Logs(super::watch::Logs),
    /// Show what a sandbox uses
    Stats(super::watch::Stats),
    /// Pause a sandbox
    Pause(Pause),
    /// Let a paused sandbox work again
    Resume(Act),
    /// Make copies of a sandbox
    Fork(super::watch::Fork),
    /// Keep a sandbox as it is now, as a template
    Snapshot(super::watch::Snapshot),
    /// Let a sandbox reach more hosts
    Network {
        /// Its id, or the beginning of it
        id: String,
        /// A host that may be reached from now on
        #[arg(long = "allow", value_name = "HOST", required = true)]
        allow: Vec<String>,
    },
    /// Start a sandbox's lifetime anew
    Timeout {
        /// Its id, or the beginning of it
        id: String,
        /// How many seconds it lives from now on
        seconds: Lifetime,
    },
    /// End sandboxes
    Rm {
        /// Their ids, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        wait: Wait,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// Wait until it is in this phase
    #[arg(long, value_enum, value_name = "PHASE", num_args = 0..=1, require_equals = true)]
    wait: Option<Option<PhaseArg>>,
    /// How many seconds to wait at most
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    wait_timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Act {
    /// Its id, or the beginning of it
    id: String,
    #[command(flatten)]
    wait: Wait,
}

#[derive(Debug, Args)]
pub(crate) struct Pause {
    /// Its id, or the beginning of it
    id: String,
    /// How deep it shall sleep: frozen, paged_out, stored or files
    #[arg(long, value_parser = word::<Depth>)]
    depth: Option<Depth>,
    #[command(flatten)]
    wait: Wait,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those in this phase; all but `gone` when left out
    #[arg(long, value_enum)]
    phase: Option<PhaseArg>,
    /// Only those of this agent
    #[arg(long)]
    agent: Option<AgentId>,
    /// Go on with what changes, until interrupted
    #[arg(long, short)]
    follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What it starts from
    #[arg(long)]
    template: Option<TemplateName>,
    /// Where it lives
    #[arg(long)]
    provider: Option<ProviderName>,
    /// How strongly it is kept apart
    #[arg(long, value_parser = word::<Isolation>)]
    isolation: Option<Isolation>,
    /// The agent it belongs to
    #[arg(long)]
    agent: Option<AgentId>,
    /// The task it belongs to
    #[arg(long, value_parser = |text: &str| text.parse::<i64>().map_err(|e| e.to_string()).and_then(|n| TaskId::try_from(n).map_err(|e| e.to_string())))]
    task: Option<TaskId>,
    /// The repository that it works on
    #[arg(long, value_name = "NAME")]
    repo: Option<RepoName>,
    /// Check the repository out at /workspace, at its default branch or at BRANCH
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true, requires = "repo")]
    checkout: Option<Option<Branch>>,
    /// A variable of its environment
    #[arg(long = "env", value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Something to write on it
    #[arg(long = "metadata", value_name = "KEY=VALUE")]
    metadata: Vec<String>,
    /// How many seconds it lives
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<Lifetime>,
    /// Pause it, do not end it, when its lifetime has passed
    #[arg(long)]
    auto_pause: bool,
    /// Bring it back by itself when somebody wants something inside
    #[arg(long)]
    auto_resume: bool,
    /// Pause it when nothing was active for so many seconds
    #[arg(long, value_name = "SECONDS")]
    idle: Option<Lifetime>,
    /// Processors
    #[arg(long)]
    cpus: Option<Cpus>,
    /// Memory in MiB
    #[arg(long)]
    memory_mb: Option<MemoryMb>,
    /// Disk in MiB
    #[arg(long)]
    disk_mb: Option<DiskMb>,
    /// Processes
    #[arg(long)]
    pids: Option<Pids>,
    /// How open its network is: none, allow or open
    #[arg(long, value_parser = word::<NetworkMode>)]
    network: Option<NetworkMode>,
    /// Give it a network interface of its own, with --network open
    #[arg(long)]
    interface: bool,
    /// A host that may be reached, with --network allow
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,
    /// Repeating the command with the same key makes one sandbox
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    wait: Wait,
}

/// Understands a word as the API does.
pub(super) fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| error.to_string())
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Create(create) => create.run(client).await,
            Verb::Ls(list) => list.run(client).await,
            Verb::Show { id } => {
                let id = resolve(client, &id).await?;
                let detail: SandboxDetail = client.get(&format!("/sandboxes/{id}")).await?;
                if client.json() {
                    return say::json(&detail);
                }
                show(client, &detail.sandbox)?;
                if !client.quiet() {
                    for lack in &detail.fitness {
                        say::line(format_args!("{:<10} {}", "lacks", say::printable(lack)));
                    }
                }
                Ok(())
            }
            Verb::Exec(args) => args.run(client).await,
            Verb::Shell(args) => args.run(client).await,
            Verb::Forward(args) => args.run(client).await,
            Verb::SshProxy(args) => args.run(client).await,
            Verb::Cp(args) => args.run(client).await,
            Verb::Logs(args) => args.run(client).await,
            Verb::Stats(args) => args.run(client).await,
            Verb::Fork(args) => args.run(client).await,
            Verb::Snapshot(args) => args.run(client).await,
            Verb::Pause(Pause { id, depth, wait }) => {
                let body = NewPause { depth };
                (Act { id, wait }).run(client, "pause", "paused", Some(&body)).await
            }
            Verb::Resume(act) => act.run(client, "resume", "ready", None).await,
            Verb::Network { id, allow } => {
                let id = resolve(client, &id).await?;
                let usage = |error: carrel_model::Malformed| Failure::new(error.to_string()).exit(Exit::Usage);
                let allow = allow.into_iter().map(HostRule::try_from).collect::<Result<_, _>>().map_err(usage)?;
                let request = client.request(Method::POST, &format!("/sandboxes/{id}/hosts"))?;
                show(client, &client.fetch(request.json(&MoreHosts { allow })).await?)
            }
            Verb::Timeout { id, seconds } => {
                let id = resolve(client, &id).await?;
                let request = client.request(Method::POST, &format!("/sandboxes/{id}/timeout"))?;
                show(client, &client.fetch(request.json(&NewTimeout { timeout_s: seconds })).await?)
            }
            Verb::Rm { ids, wait } => {
                // One that cannot be ended does not keep the others alive.
                let (mut ended, mut failure) = (Vec::new(), None);
                for id in ids {
                    match end(client, &id, &wait).await {
                        Ok(id) if client.json() => ended.push(id),
                        Ok(id) => say::line(id),
                        Err(error) => failure = Some(error),
                    }
                }
                if client.json() {
                    say::json(&ended)?;
                }
                failure.map_or(Ok(()), Err)
            }
        }
    }
}

async fn end(client: &Client, typed: &str, wait: &Wait) -> Result<String, Failure> {
    let id = resolve(client, typed).await?;
    let request = client.request(Method::DELETE, &format!("/sandboxes/{id}"))?.query(&wait.query("gone"));
    let waiting = wait.progress(&format!("waiting for {id} to be gone"));
    let answer = client.send(request).await?;
    waiting.finish_and_clear();
    wait.check(&answer, &id)?;
    Ok(id)
}

impl Wait {
    pub(super) fn query(&self, usual: &str) -> Vec<(&'static str, String)> {
        let Some(phase) = &self.wait else { return Vec::new() };
        let phase = phase.map_or(usual.to_owned(), PhaseArg::word);
        vec![("wait", phase), ("timeout", self.wait_timeout.to_string())]
    }

    pub(super) fn progress(&self, message: &str) -> indicatif::ProgressBar {
        if self.wait.is_some() { say::progress(message) } else { indicatif::ProgressBar::hidden() }
    }

    /// A wait that did not end well is a failure, although the request was done.
    pub(super) fn check(&self, answer: &Response, id: &str) -> Result<(), Failure> {
        match answer.headers().get("carrel-waited").and_then(|value| value.to_str().ok()) {
            Some("not-yet") => {
                let sentence = format!("sandbox {id} is not there yet after {} s", self.wait_timeout);
                Err(Failure::new(sentence)
                    .hint(format!("look at it with `carrel sandbox show {id}`"))
                    .exit(Exit::TimedOut))
            }
            Some("never") => Err(Failure::new(format!("sandbox {id} will not get there"))
                .hint(format!("`carrel sandbox show {id}` says why"))
                .exit(Exit::Failed)),
            _ => Ok(()),
        }
    }

    /// Shows what came back, then says if the wait did not end well.
    pub(super) async fn finish(
        &self,
        answer: Response,
        show: impl FnOnce(&SandboxView) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let late = self.check(&answer, "");
        let view: SandboxView =
            answer.json().await.map_err(|error| Failure::new(format!("the answer cannot be understood: {error}")))?;
        show(&view)?;
        match (late, &view.note) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(note)) if view.phase == carrel_model::sandbox::Phase::Failed => {
                Err(Failure::new(format!("sandbox {} failed: {note}", view.id)))
            }
            (Err(_), _) if view.phase == carrel_model::sandbox::Phase::Gone => {
                Err(Failure::new(format!("sandbox {} is gone", view.id)))
            }
            (Err(_), _) => {
                let sentence = format!("sandbox {} is {} after {} s", view.id, view.phase.word(), self.wait_timeout);
                Err(Failure::new(sentence).exit(Exit::TimedOut))
            }
        }
    }
}

impl Act {
    async fn run(self, client: &Client, verb: &str, usual: &str, body: Option<&NewPause>) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        let request = client.request(Method::POST, &format!("/sandboxes/{id}/{verb}"))?.query(&self.wait.query(usual));
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let waiting = self.wait.progress(&format!("waiting for {id} to be {usual}"));
        let answer = client.send(request).await?;
        waiting.finish_and_clear();
        self.wait.finish(answer, |view| show(client, view)).await
    }
}

impl Create {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let mut request = client.request(Method::POST, "/sandboxes")?.query(&self.wait.query("ready"));
        if let Some(key) = &self.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        let waiting = self.wait.progress("making a sandbox");
        let answer = client.send(request.json(&self.body()?)).await?;
        waiting.finish_and_clear();
        self.wait.finish(answer, |view| show(client, view)).await
    }

    fn body(&self) -> Result<NewSandbox, Failure> {
        let usage = |error: carrel_model::Malformed| Failure::new(error.to_string()).exit(Exit::Usage);
        let mut env = BTreeMap::new();
        for (name, value) in pairs("--env", &self.env)? {
            env.insert(EnvName::try_from(name).map_err(usage)?, EnvValue::try_from(value).map_err(usage)?);
        }
        let metadata = pairs("--metadata", &self.metadata)?;
        let allow: Result<Vec<_>, _> = self.allow.iter().cloned().map(HostRule::try_from).collect();
        let limits = NewLimits { cpus: self.cpus, memory_mb: self.memory_mb, disk_mb: self.disk_mb, pids: self.pids };
        let network = self
            .network
            .map(|mode| {
                Ok::<_, Failure>(NewNetwork {
                    mode,
                    allow: allow.map_err(usage)?,
                    interface: self.interface,
                    ..NewNetwork::default()
                })
            })
            .transpose()?;
        if network.is_none() && self.interface {
            return Err(Failure::new("--interface goes with --network open").exit(Exit::Usage));
        }
        if network.is_none() && !self.allow.is_empty() {
            return Err(Failure::new("--allow goes with --network allow").exit(Exit::Usage));
        }
        Ok(NewSandbox {
            template: self.template.clone(),
            provider: self.provider.clone(),
            isolation: self.isolation,
            agent_id: self.agent.clone(),
            task_id: self.task,
            repo: self.repo.clone(),
            checkout: self.checkout.clone().map(|base| NewCheckout { base, branch: None }),
            env: (!env.is_empty()).then_some(env),
            metadata: (!metadata.is_empty()).then(|| Metadata::try_from(metadata).map_err(usage)).transpose()?,
            timeout_s: self.timeout,
            auto_pause: self.auto_pause.then_some(true),
            auto_resume: self.auto_resume.then_some(true),
            idle_s: self.idle,
            limits: (limits != NewLimits::default()).then_some(limits),
            network,
            ..NewSandbox::default()
        })
    }
}

pub(super) fn pairs(flag: &str, texts: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Failure::new(format!("{flag} {text}: expected NAME=VALUE")).exit(Exit::Usage)),
    };
    texts.iter().map(pair).collect()
}

impl List {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let (sandboxes, as_of) = self.all(client).await?;
        if client.json() && !self.follow {
            return say::json(&sandboxes);
        }
        if client.quiet() {
            sandboxes.iter().for_each(|sandbox| say::line(&sandbox.id));
        } else if sandboxes.is_empty() && !self.follow {
            say::aside("No sandboxes. Make one with `carrel sandbox create`.");
        } else if !client.json() {
            say::table(
                &["ID", "PHASE", "TEMPLATE", "PROVIDER", "AGENT", "AGE", "LEFT", "NOTE"],
                sandboxes.iter().map(row),
            );
        }
        if !self.follow {
            return Ok(());
        }
        let wanted = self.agent.clone();
        events::follow(client, Some(as_of), &[("kind", "sandbox".into())], |entry| {
            if let Happening::Sandbox { sandbox } = &entry.happening
                && (wanted.is_none() || sandbox.agent_id == wanted)
            {
                if client.json() {
                    say::line(serde_json::to_string(sandbox).unwrap_or_default());
                } else if client.quiet() {
                    say::line(&sandbox.id);
                } else {
                    say::line(row(sandbox).join("  ").trim_end());
                }
            }
        })
        .await
    }

    async fn all(&self, client: &Client) -> Result<(Vec<SandboxView>, i64), Failure> {
        let (mut all, mut cursor, mut as_of) = (Vec::new(), None::<String>, None);
        loop {
            let mut query = vec![("limit", "1000".to_owned())];
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            query.extend(self.phase.map(|phase| ("phase", phase.word())));
            query.extend(self.agent.as_ref().map(|agent| ("agent_id", agent.to_string())));
            let page: SandboxPage = client.fetch(client.request(Method::GET, "/sandboxes")?.query(&query)).await?;
            all.extend(page.items);
            as_of.get_or_insert(page.as_of.0);
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok((all, as_of.unwrap_or_default())),
            }
        }
    }
}

pub(super) fn row(sandbox: &SandboxView) -> Vec<String> {
    let left = sandbox.expires_at.map(|end| span(end.duration_since(jiff::Timestamp::now()).as_secs()));
    vec![
        sandbox.id.to_string(),
        sandbox.phase.word().to_owned(),
        sandbox.template.to_string(),
        sandbox.provider.to_string(),
        sandbox.agent_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        ago(sandbox.created_at),
        left.unwrap_or_default(),
        sandbox.note.clone().or_else(|| sandbox.ended.as_ref().map(|ended| ended.why.clone())).unwrap_or_default(),
    ]
}

fn show(client: &Client, sandbox: &SandboxView) -> Result<(), Failure> {
    if client.json() {
        return say::json(sandbox);
    }
    if client.quiet() {
        say::line(&sandbox.id);
        return Ok(());
    }
    let field = |name: &str, value: String| {
        if !value.is_empty() {
            say::line(format_args!("{name:<10} {}", say::printable(&value)));
        }
    };
    field("id", sandbox.id.to_string());
    field("phase", sandbox.phase.word().to_owned());
    field("note", sandbox.note.clone().unwrap_or_default());
    field("sleeps", sandbox.paused.map(|paused| paused.depth.word().to_owned()).unwrap_or_default());
    field("template", sandbox.template.to_string());
    field("provider", sandbox.provider.to_string());
    field(
        "isolation",
        serde_json::to_value(sandbox.isolation).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default(),
    );
    field("agent", sandbox.agent_id.as_ref().map(ToString::to_string).unwrap_or_default());
    field("task", sandbox.task_id.map(|id| id.to_string()).unwrap_or_default());
    field("repo", sandbox.repo.as_ref().map(ToString::to_string).unwrap_or_default());
    let limits = &sandbox.limits;
    field(
        "limits",
        format!(
            "{} cpus, {} MiB memory, {} MiB disk, {} processes",
            limits.cpus.get(),
            limits.memory_mb,
            limits.disk_mb,
            limits.pids
        ),
    );
    field(
        "metadata",
        sandbox.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "),
    );
    field("env", sandbox.env_names.join(" "));
    field("created", format!("{} ({} ago)", sandbox.created_at, ago(sandbox.created_at)));
    field("expires", sandbox.expires_at.map(|at| at.to_string()).unwrap_or_default());
    field("ended", sandbox.ended.as_ref().map(|ended| format!("{} {}", ended.at, ended.why)).unwrap_or_default());
    Ok(())
}

/// A whole id is taken as it is; else the one living sandbox that begins with it.
pub(super) async fn resolve(client: &Client, typed: &str) -> Result<String, Failure> {
    if typed.parse::<carrel_model::SandboxId>().is_ok() {
        return Ok(typed.to_owned());
    }
    let everything = List { phase: None, agent: None, follow: false };
    let (sandboxes, _) = everything.all(client).await?;
    only_match("sandbox", typed, sandboxes.into_iter().map(|sandbox| sandbox.id.to_string()))
}
