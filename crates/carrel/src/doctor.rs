//! `carrel doctor`: what this host offers, what is missing and how to get it. It looks and changes nothing.

use std::{path::Path, process::Command};

use carrel_model::public::Readiness;
use carrel_sandbox::{Provider, Reach, providers::fake};
use serde::Serialize;

use crate::{
    cli::{Common, FileArgs},
    client::Client,
    config::understand,
    data::DataDir,
    failure::Failure,
    say,
};

/// Coding agents that people have on their machines.
const AGENTS: [&str; 8] = ["claude", "codex", "gemini", "opencode", "aider", "goose", "cursor-agent", "amp"];

const AS_ROOT: &str = "run `carrel serve` as root";
const IN_A_UNIT: &str =
    "run `carrel serve` as root, or as `systemd-run --user --scope --property=Delegate=yes carrel serve`";

#[derive(Debug, Serialize)]
struct Finding {
    what: String,
    state: State,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    Missing,
    Bad,
}

/// What was looked at and how it stands, without the details.
pub(crate) async fn states(data: &DataDir, args: &FileArgs, common: &Common) -> Result<serde_json::Value, Failure> {
    let findings = examine(data, args, common).await?;
    Ok(findings.iter().map(|finding| serde_json::json!({"what": finding.what, "state": finding.state})).collect())
}

async fn examine(data: &DataDir, args: &FileArgs, common: &Common) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let mut find = |what: &str, state, detail: String, hint: Option<&str>| {
        findings.push(Finding { what: what.into(), state, detail, hint: hint.map(str::to_owned) });
    };
    let understood = understand(data, args.config.as_deref(), &[])?;
    find("configuration", State::Good, "understood".into(), None);
    for warning in &understood.warnings {
        find("environment", State::Missing, warning.clone(), None);
    }
    let (state, detail) = look_at_folder(data.path());
    find("data directory", state, detail, (state == State::Bad).then_some("give another one with --data"));
    match Client::new(common)?.readiness().await {
        Ok(ready) => {
            let state = match ready.status {
                Readiness::Ready => State::Good,
                Readiness::Degraded | Readiness::Draining => State::Missing,
                Readiness::Unavailable => State::Bad,
            };
            let word = serde_json::to_value(ready.status)
                .ok()
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default();
            find("server", state, format!("{word} at {}; database {}", common.url, ready.database), None);
        }
        Err(_) => find(
            "server",
            State::Missing,
            format!("nobody answers at {}", common.url),
            Some("start it with `carrel serve`"),
        ),
    }
    let is_root = rustix::process::geteuid().is_root();
    let survey = carrel_linux::fitness::survey();
    let lacks: Vec<_> =
        survey.iter().filter(|finding| !finding.there && finding.what != "user").map(|finding| finding.what).collect();
    for finding in survey {
        let state = if finding.there { State::Good } else { State::Missing };
        find(finding.what, state, finding.detail, finding.hint);
    }
    let controllers = carrel_linux::fitness::controllers();
    let limits: Vec<_> = ["cpu", "memory", "pids", "freeze"]
        .into_iter()
        .filter(|name| !controllers.iter().any(|found| found.starts_with(name)))
        .collect();
    match limits.is_empty() {
        true => find("cgroups", State::Good, controllers.join(", "), None),
        false => find(
            "cgroups",
            State::Missing,
            format!("no {} that this user may use", limits.join(", no ")),
            Some(if is_root { "mount cgroup2 with these controllers" } else { IN_A_UNIT }),
        ),
    }
    for (program, what, hint) in [
        ("mkfs.btrfs", "quick copies of sandboxes and disk limits by the filesystem", "apt-get install btrfs-progs"),
        ("criu", "pausing with memory to disk (4.1, from kernel 6.16 on 4.2)", "scripts/install-criu"),
        ("runsc", "isolation gvisor", "apt-get install runsc"),
        ("mmdebstrap", "the template debian", "apt-get install mmdebstrap"),
    ] {
        // `scripts/install-criu` lays its own beside the system.
        let cached = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache/carrel/criu/criu"));
        let is_there = in_path(program) || (program == "criu" && cached.is_some_and(|place| place.is_file()));
        match is_there {
            true if !is_root && program != "mmdebstrap" => {
                find(program, State::Missing, format!("there, for {what}; only root can use it"), Some(AS_ROOT));
            }
            true => find(program, State::Good, format!("for {what}"), None),
            false => find(program, State::Missing, format!("not found; it is for {what}"), Some(hint)),
        }
    }
    match lacks.is_empty() {
        true if is_root => find("isolation namespace", State::Good, "by the provider `local`".into(), None),
        true => find("isolation namespace", State::Good, "by the provider `local`, with one user inside".into(), None),
        false => find("isolation namespace", State::Missing, format!("no {}", lacks.join(", no ")), Some("see above")),
    }
    match in_path("runsc") && is_root {
        true => find("isolation gvisor", State::Good, "by the provider `oci`".into(), None),
        false => find(
            "isolation gvisor",
            State::Missing,
            "it wants `runsc`, and root".into(),
            Some("apt-get install runsc, and run `carrel serve` as root"),
        ),
    }
    // Looking must not make a folder: the fake says the same wherever it would live.
    let folder = std::env::temp_dir();
    let fake = fake::Config { folder, create_takes: Default::default(), reach: Reach::Node }.build();
    if let Ok(fake) = fake
        && let Ok(fitness) = fake.probe().await
    {
        find("isolation none", State::Good, format!("by the provider `fake`. {}", fitness.missing.join(" ")), None);
    }
    match crate::e2b::examine(&understood.config).await {
        Some(Ok(detail)) => find("isolation e2b", State::Good, detail, None),
        // It is the only place for sandboxes here, or one of several.
        Some(Err(detail)) if understood.config.sandboxes.provider.as_str() == "e2b" => {
            find("isolation e2b", State::Bad, detail, Some("set E2B_API_KEY to a good key"));
        }
        Some(Err(detail)) => find("isolation e2b", State::Missing, detail, Some("set E2B_API_KEY to a good key")),
        None => find("isolation e2b", State::Missing, "there is no key".into(), Some("set E2B_API_KEY")),
    }
    match version("git", "--version") {
        Some(said) => match carrel_git::too_old(said.split_whitespace().nth(2).unwrap_or_default()) {
            Some(why) => find("git", State::Missing, why, Some("without it there are no repositories and no tasks")),
            None => find("git", State::Good, said, None),
        },
        None => find("git", State::Missing, "not found".into(), Some("apt-get install git")),
    }
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    find("kernel", State::Good, kernel.trim().to_owned(), None);
    let agents: Vec<_> = AGENTS.into_iter().filter(|name| in_path(name)).collect();
    if agents.is_empty() {
        find(
            "agents",
            State::Missing,
            format!("none of {} was found", AGENTS.join(", ")),
            Some("install one, or use a shell command as agent"),
        );
    } else {
        find("agents", State::Good, agents.join(", "), None);
    }
    Ok(findings)
}

pub(crate) async fn doctor(data: &DataDir, args: &FileArgs, common: &Common) -> Result<(), Failure> {
    let findings = examine(data, args, common).await?;
    let bad = findings.iter().any(|finding| finding.state == State::Bad);
    if common.json {
        say::json(&findings)?;
    } else {
        for finding in findings {
            let mark = match finding.state {
                State::Good => "✓",
                State::Missing => "–",
                State::Bad => "✗",
            };
            say::line(format_args!("{mark} {:<16} {}", finding.what, say::printable(&finding.detail)));
            if let Some(hint) = finding.hint {
                say::line(format_args!("  {:<16} → {hint}", ""));
            }
        }
    }
    if bad { Err(Failure::new("Carrel cannot work here yet")) } else { Ok(()) }
}

/// Whether a folder is there and can be written, or could be made.
fn look_at_folder(path: &Path) -> (State, String) {
    let mut nearest = path;
    while !nearest.exists() {
        match nearest.parent() {
            Some(parent) => nearest = parent,
            None => break,
        }
    }
    let writable = rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK).is_ok();
    match (nearest == path, writable) {
        (true, true) => (State::Good, path.display().to_string()),
        (false, true) => (State::Good, format!("{} (made at the first start)", path.display())),
        (_, false) => (State::Bad, format!("{} cannot be written", nearest.display())),
    }
}

fn version(program: &str, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub(crate) fn in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin"].map(Into::into);
    std::env::split_paths(&path).chain(usual).any(|folder| folder.join(name).is_file())
}
