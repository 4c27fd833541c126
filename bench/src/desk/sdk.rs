//! The loop of E2B's own Python SDK (create, run `echo hi`, write a file, read it, kill) against the same with podman.
//!
//! The SDK is the unmodified one that `scripts/setup test` installs. Its loop is in one process and pays for HTTP and
//! JSON; podman's pays for a process for each verb, as whoever scripts it does.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;

use super::{Desk, finish, runtimes};
use crate::{
    Outcome,
    report::{self, Measure, Unit, quantile},
};

/// What others say of themselves. Not measured here, on no machine of ours.
const PUBLISHED: [&str; 3] =
    ["E2B: 150-200 ms to start", "CubeSandbox: 60 ms, p99 137 ms at 50 at once", "Daytona: 90 ms"];

const LOOP: &str = include_str!("sdk.py");

pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let Some(python) = find_python() else {
        return report::line("\nsdk: E2B's Python SDK is not installed (scripts/setup test)").map_err(Into::into);
    };
    let (rounds, loops) = if quick { (1, 5) } else { (5, 40) };
    let podman = Podman::find()?;
    let desk = Desk::open(8).await?;
    let mut p50 = Measure::new("the SDK's loop, p50", Unit::Microseconds).aim("at most 0.10");
    let mut p99 = Measure::new("the SDK's loop, p99", Unit::Microseconds);
    house(&desk, &python, 3)?;
    for _ in 0..rounds {
        let ours = house(&desk, &python, loops)?;
        let theirs = podman.as_ref().map(|podman| podman.many(loops.min(20))).transpose()?.flatten();
        match theirs {
            Some(theirs) => {
                p50.note(quantile(&ours, 0.5), quantile(&theirs, 0.5));
                p99.note(quantile(&ours, 0.99), quantile(&theirs, 0.99));
            }
            None => {
                p50.note_alone(quantile(&ours, 0.5));
                p99.note_alone(quantile(&ours, 0.99));
            }
        }
    }
    report::table(
        "create, run, write, read, kill: E2B's Python SDK, against podman run, exec, cp, cp, rm",
        &[p50, p99],
    )?;
    report::line("  published by others for a start alone, not measured here:")?;
    for line in PUBLISHED {
        report::line(format_args!("    {line}"))?;
    }
    Ok(())
}

fn find_python() -> Option<PathBuf> {
    let under = |name: &str, rest: &str| env::var_os(name).map(|folder| Path::new(&folder).join(rest));
    let cache = under("CARREL_CACHE", "").or_else(|| under("XDG_CACHE_HOME", "carrel"));
    let cache = cache.or_else(|| under("HOME", ".cache/carrel"))?;
    Some(cache.join("sdk/python/bin/python")).filter(|python| python.is_file())
}

/// The loop through the SDK, so many times.
fn house(desk: &Desk, python: &Path, loops: u32) -> Outcome<Histogram<u64>> {
    let url = format!("http://{}", desk.server.address);
    let mut command = Command::new(python);
    command.args(["-c", LOOP, &loops.to_string()]).env("E2B_API_URL", &url).env("E2B_SANDBOX_URL", &url);
    command.env("E2B_API_KEY", desk.server.key().replacen("crl_", "e2b_", 1));
    let done = command.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    if !done.status.success() {
        return Err(format!("the SDK's loop failed: {}", String::from_utf8_lossy(&done.stderr).trim()).into());
    }
    let mut times = Histogram::new(3)?;
    for line in String::from_utf8(done.stdout)?.lines() {
        times.record(line.parse()?)?;
    }
    Ok(times)
}

/// Podman, as far as this machine lets it.
struct Podman {
    folder: tempfile::TempDir,
    way: Way,
    /// Every container has a name of its own: one that could not be removed stands in nobody's way.
    made: AtomicU32,
}

/// What podman is told beside the verb, and beside `run`.
#[derive(Clone, Copy)]
struct Way {
    always: &'static [&'static str],
    run: &'static [&'static str],
}

/// Its usual runtime does not take every kind of cgroups, and some hosts give it none; the first way that works is taken.
const WAYS: [Way; 4] = [
    Way { always: &[], run: &[] },
    Way { always: &["--runtime=runc"], run: &[] },
    Way { always: &["--runtime=runc", "--cgroup-manager=cgroupfs"], run: &[] },
    Way { always: &["--cgroup-manager=cgroupfs"], run: &["--cgroups=disabled"] },
];

impl Podman {
    /// Tries it; says why, for each way, when it cannot be compared with.
    fn find() -> Outcome<Option<Podman>> {
        let folder = tempfile::Builder::new().prefix("carrel-bench-podman.").tempdir()?;
        runtimes::lay_root(&folder.path().join("rootfs"))?;
        fs::write(folder.path().join("in.txt"), "hi")?;
        let mut podman = Podman { folder, way: WAYS[0], made: AtomicU32::new(0) };
        let mut reasons = Vec::new();
        for way in WAYS {
            podman.way = way;
            match podman.one() {
                Ok(_) => return Ok(Some(podman)),
                Err(error) if is_missing(&*error) => {
                    report::line("podman: not installed (apt-get install podman)")?;
                    return Ok(None);
                }
                Err(error) => reasons.push(error.to_string()),
            }
        }
        reasons.dedup();
        for reason in reasons {
            report::line(format_args!("podman: {reason}"))?;
        }
        Ok(None)
    }

    /// So many loops. Nothing when none of them went well: a peer that stumbles is no reason to measure nothing.
    fn many(&self, loops: u32) -> Outcome<Option<Histogram<u64>>> {
        let (mut times, mut failed, mut why) = (Histogram::new(3)?, 0, String::new());
        for _ in 0..loops {
            match self.one() {
                Ok(took) => times.record(took.as_micros() as u64)?,
                Err(error) => (failed, why) = (failed + 1, error.to_string()),
            }
        }
        if failed > 0 {
            report::line(format_args!("podman: {failed} of {loops} loops failed and do not count; the last: {why}"))?;
        }
        Ok((!times.is_empty()).then_some(times))
    }

    /// One loop. Whatever happens in it, its container is gone afterwards.
    fn one(&self) -> Outcome<Duration> {
        let name = format!("carrel-bench-{}-{}", std::process::id(), self.made.fetch_add(1, Ordering::Relaxed));
        let began = Instant::now();
        let lived = self.live(&name);
        let remove = || finish(self.verb(&["rm", "--force", "--time=0", "--ignore"]).arg(&name));
        let mut removed = remove();
        let took = began.elapsed();
        if removed.is_err() {
            // Its own cleaning up may hold the container for a moment; asked again it is not timed, and not left behind.
            removed = remove().and(removed);
        }
        lived.and(removed).map(|()| took)
    }

    fn live(&self, name: &str) -> Outcome<()> {
        let place = |file: &str| self.folder.path().join(file);
        let mut run = self.verb(&["run", "--detach", "--network=none", "--volume=/usr:/usr:ro"]);
        run.args(self.way.run).args(["--ulimit=nofile=20000:20000", "--ulimit=nproc=20000:20000"]);
        run.arg(format!("--name={name}")).arg("--rootfs").arg(format!("{}:O", place("rootfs").display()));
        finish(run.args(["/bin/sleep", "1000"]))?;
        finish(&mut self.verb(&["exec", name, "/bin/echo", "hi"]))?;
        finish(self.verb(&["cp"]).arg(place("in.txt")).arg(format!("{name}:/tmp/hi.txt")))?;
        finish(self.verb(&["cp"]).arg(format!("{name}:/tmp/hi.txt")).arg(place("out.txt")))?;
        let read = fs::read_to_string(place("out.txt"))?;
        fs::remove_file(place("out.txt"))?;
        match read.as_str() {
            "hi" => Ok(()),
            other => Err(format!("podman read {other:?}").into()),
        }
    }

    fn verb(&self, words: &[&str]) -> Command {
        let mut command = Command::new("podman");
        command.args(self.way.always).args(words).stdin(Stdio::null());
        command
    }
}

/// Whether a program is not there at all.
fn is_missing(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
