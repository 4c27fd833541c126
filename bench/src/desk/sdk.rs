//! The loop of E2B's own Python SDK (create, run `echo hi`, write a file, read it, kill) against the same with podman.
//!
//! The SDK is the unmodified one that `scripts/setup test` installs. Its loop is in one process and pays for HTTP and
//! JSON; podman's pays for a process for each verb, as whoever scripts it does.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
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
        match &podman {
            Some(podman) => {
                let theirs = podman.many(loops.min(20))?;
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
    flags: &'static [&'static str],
}

impl Podman {
    /// Tries it once; says why when it cannot be compared with.
    fn find() -> Outcome<Option<Podman>> {
        // Its usual runtime does not take every kind of cgroups; the first way that works is taken.
        const WAYS: [&[&str]; 2] = [&[], &["--runtime=runc"]];
        let folder = tempfile::Builder::new().prefix("carrel-bench-podman.").tempdir()?;
        runtimes::lay_root(&folder.path().join("rootfs"))?;
        fs::write(folder.path().join("in.txt"), "hi")?;
        let mut podman = Podman { folder, flags: WAYS[0] };
        let mut why = String::new();
        for flags in WAYS {
            podman.flags = flags;
            match podman.one(0) {
                Ok(_) => return Ok(Some(podman)),
                Err(error) => why = error.to_string(),
            }
        }
        report::line(format_args!("podman: {why} (apt-get install podman)"))?;
        Ok(None)
    }

    fn many(&self, loops: u32) -> Outcome<Histogram<u64>> {
        let (mut times, mut failed) = (Histogram::new(3)?, 0);
        for number in 1..=loops {
            match self.one(number) {
                Ok(took) => times.record(took.as_micros() as u64)?,
                Err(error) if times.is_empty() && number == loops => return Err(error),
                // A busy machine makes it stumble now and then; that is no reason to measure nothing.
                Err(_) => failed += 1,
            }
        }
        if failed > 0 {
            report::line(format_args!("podman: {failed} of {loops} loops failed and do not count"))?;
        }
        Ok(times)
    }

    /// One loop. Whatever happens in it, its container is gone afterwards.
    fn one(&self, number: u32) -> Outcome<Duration> {
        let name = format!("carrel-bench-{}-{number}", std::process::id());
        let began = Instant::now();
        let lived = self.live(&name);
        let removed = finish(self.verb(&["rm", "--force", "--time=0", "--ignore"]).arg(&name));
        let took = began.elapsed();
        lived.and(removed).map(|()| took)
    }

    fn live(&self, name: &str) -> Outcome<()> {
        let place = |file: &str| self.folder.path().join(file);
        let mut run = self.verb(&["run", "--detach", "--network=none", "--volume=/usr:/usr:ro"]);
        run.args(["--ulimit=nofile=20000:20000", "--ulimit=nproc=20000:20000"]);
        run.arg(format!("--name={name}")).arg("--rootfs").arg(format!("{}:O", place("rootfs").display()));
        finish(run.args(["/bin/sleep", "1000"]))?;
        finish(&mut self.verb(&["exec", name, "/bin/echo", "hi"]))?;
        finish(self.verb(&["cp"]).arg(place("in.txt")).arg(format!("{name}:/tmp/hi.txt")))?;
        finish(self.verb(&["cp"]).arg(format!("{name}:/tmp/hi.txt")).arg(place("out.txt")))?;
        match fs::read_to_string(place("out.txt"))?.as_str() {
            "hi" => Ok(()),
            other => Err(format!("podman read {other:?}").into()),
        }
    }

    fn verb(&self, words: &[&str]) -> Command {
        let mut command = Command::new("podman");
        command.args(self.flags).args(words).stdin(Stdio::null());
        command
    }
}
