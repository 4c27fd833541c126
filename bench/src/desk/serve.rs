//! Keeps a `carrel serve` for the benches: starts it in a folder of its own, and when the measuring process is gone, however
//! it went, ends its sandboxes, the server and the folder, and says so when something was left behind.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::SocketAddr,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::{
    Outcome,
    http::{Connection, Request},
    server,
};

/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps a server until the measuring process is gone: how many slots, how many shells, which database.
pub(crate) async fn serve() -> Outcome<()> {
    let (words, parent_is_gone) = server::hear_parent()?;
    let mut words = words.split_whitespace();
    let pool = words.next().unwrap_or("0");
    let (shells, database) = (words.next().filter(|word| *word != server::USUAL), words.next());
    let folder = tempfile::Builder::new().prefix("carrel-bench-desk.").tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    let (mut child, address) = start(folder.path(), pool, shells, database)?;
    let key = fs::read_to_string(folder.path().join("admin.key"))?.trim().to_owned();
    writeln!(io::stdout().lock(), "{address} {key} {} {}", child.id(), folder.path().display())?;
    let _ = parent_is_gone.await;
    let emptied = end_all(address, &key).await;
    end(&mut child);
    look_back(folder.path());
    folder.close()?;
    emptied
}

fn start(data: &Path, pool: &str, shells: Option<&str>, database: Option<&str>) -> Outcome<(Child, SocketAddr)> {
    // This very program, even when another one was built meanwhile.
    let mut command = Command::new("/proc/self/exe");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARREL_")) {
        command.env_remove(name);
    }
    if let Some(address) = database {
        // A schema of its own: what an earlier run left is not read.
        command.env("CARREL_DATABASE_URL", address);
        command.env("CARREL_DATABASE_SCHEMA", format!("carrel_bench_{}", std::process::id()));
    }
    command
        .env_remove("DATABASE_URL")
        .env("CARREL_LIMITS_REQUESTS_PER_SECOND", "0")
        .env("CARREL_LOCAL_POOL", pool)
        .env("CARREL_LOCAL_POOL_CAP", (2 * pool.parse::<usize>()?).to_string())
        .env("CARREL_WORK_AT_ONCE", "64")
        .env("CARREL_WORK_PER_REPO", "64")
        .env("CARREL_LOG_LEVEL", "warn")
        .envs(shells.map(|shells| ("CARREL_LOCAL_SHELLS", shells)))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The terminal's interrupt is for the measuring process; this one ends when told to.
        .process_group(0);
    let mut child = command.spawn()?;
    let troubles = BufReader::new(child.stderr.take().ok_or("no standard error")?);
    std::thread::spawn(move || {
        // What it says about its own end is expected.
        for line in troubles.lines().map_while(Result::ok).filter(|line| !line.starts_with("carrel: finishing")) {
            say(line);
        }
    });
    let mut said = BufReader::new(child.stdout.take().ok_or("no standard output")?);
    let mut line = String::new();
    while said.read_line(&mut line)? > 0 {
        if let Some((_, address)) = line.trim_end().split_once("ready at http://") {
            let address = address.parse()?;
            std::thread::spawn(move || io::copy(&mut said, &mut io::sink()));
            return Ok((child, address));
        }
        line.clear();
    }
    let _ = child.wait();
    Err("carrel serve did not start; see above".into())
}

/// Ends every sandbox that is left.
async fn end_all(address: SocketAddr, key: &str) -> Outcome<()> {
    let mut line = Connection::open(address).await?;
    loop {
        let list = Request::new("GET", "/api/v1/sandboxes?limit=1000", key, None);
        let page: Value = serde_json::from_slice(line.ask(&list).await?)?;
        let ids: Vec<String> = page["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| Some(one["id"].as_str()?.to_owned()))
            .collect();
        if ids.is_empty() {
            return Ok(());
        }
        let mut tasks = JoinSet::new();
        for part in ids.chunks(ids.len().div_ceil(16)) {
            let paths: Vec<String> =
                part.iter().map(|id| format!("/api/v1/sandboxes/{id}?wait=gone&timeout=120")).collect();
            let requests: Vec<Request> = paths.iter().map(|path| Request::new("DELETE", path, key, None)).collect();
            tasks.spawn(async move {
                let mut line = Connection::open(address).await?;
                for request in &requests {
                    line.ask(request).await?;
                }
                io::Result::Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
    }
}

fn end(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    let last = Instant::now() + PATIENCE;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > last {
            say("carrel serve did not end when told to; it was killed");
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Nothing may be left of a server whose sandboxes have all ended. What is left is said, for it is a bug, and removed.
fn look_back(data: &Path) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let ours =
        mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|place| Path::new(place).starts_with(data));
    for place in ours.collect::<Vec<_>>().into_iter().rev() {
        say(format_args!("left behind: the mount {place}"));
        let _ = Command::new("umount").arg("--").arg(place).status();
    }
    let node = fs::read_to_string(data.join("node")).unwrap_or_default();
    let cgroups = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let cgroups = cgroups.lines().filter(|line| line.contains(" - cgroup")).filter_map(|line| line.split(' ').nth(4));
    for place in cgroups.map(|mount| Path::new(mount).join("carrel").join(node.trim())).filter(|place| place.exists()) {
        if !node.trim().is_empty() {
            say(format_args!("left behind: the cgroup {}", place.display()));
        }
    }
}

fn say(what: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "carrel-bench: {what}");
}
