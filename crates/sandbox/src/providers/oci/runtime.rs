//! The runtimes: which are there, what each of them gives, and how it is called.
//!
//! A runtime is a program that is run and ends; what it started lives on in cgroups of ours, which it was born into. So
//! nothing here asks a runtime to end a sandbox (`runsc delete` takes seconds and has left some running), and each
//! sandbox has a state folder of its own that can simply be removed.

use std::{
    fs, io,
    io::Write,
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use carrel_linux::{Bounds, Cgroup};
use carrel_model::sandbox::Isolation;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

/// How long a runtime may take to start, store or restore a sandbox.
const PATIENCE: Duration = Duration::from_secs(60);

/// The runtimes that are known, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// gVisor: a second kernel in user space. Its own process is nobody on the host, in namespaces and filters of its
    /// own; a helper opens files for it, as root of the sandbox's own range of users.
    Runsc,
    /// Namespaces on the host's kernel, with a range of users of its own.
    Runc,
    /// A small virtual machine by libkrun.
    Krun,
    /// A virtual machine by Kata Containers.
    Kata,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Runsc, Kind::Runc, Kind::Krun, Kind::Kata];

    /// What its program is called.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Kind::Runsc => "runsc",
            Kind::Runc => "runc",
            Kind::Krun => "krun",
            Kind::Kata => "kata-runtime",
        }
    }

    pub(crate) fn isolation(self) -> Isolation {
        match self {
            Kind::Runsc => Isolation::Gvisor,
            Kind::Runc => Isolation::Namespace,
            Kind::Krun | Kind::Kata => Isolation::Microvm,
        }
    }

    /// How its programs may be executed, the best first. gVisor's `kvm` is left out: where it does not work it hangs.
    pub(crate) fn platforms(self) -> &'static [Option<&'static str>] {
        match self {
            Kind::Runsc => &[Some("systrap"), Some("ptrace")],
            Kind::Runc | Kind::Krun | Kind::Kata => &[None],
        }
    }

    /// What a sandbox may use, with what the runtime itself needs: a second kernel counts as much as its guests do.
    pub(crate) fn bounds(self, asked: Bounds) -> Bounds {
        match self {
            Kind::Runc => asked,
            // Each process inside is one outside, and may have a thread of the second kernel.
            Kind::Runsc => Bounds { memory: asked.memory + (96 << 20), pids: asked.pids * 2 + 128, ..asked },
            Kind::Krun | Kind::Kata => Bounds { memory: asked.memory + (192 << 20), pids: asked.pids + 128, ..asked },
        }
    }

    fn of(program: &Path) -> Option<Kind> {
        let name = program.file_name()?.to_str()?;
        Kind::ALL.into_iter().find(|kind| name.starts_with(kind.program()))
    }
}

/// A runtime on this host, and how it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runtime {
    pub(crate) kind: Kind,
    pub(crate) program: PathBuf,
    pub(crate) platform: Option<&'static str>,
}

/// What a runtime is told to do with a container.
pub(crate) struct Task<'a> {
    pub(crate) name: &'a str,
    /// The folder that the runtime may keep its own things in.
    pub(crate) state: &'a Path,
    /// Where it says what went wrong.
    pub(crate) log: &'a Path,
}

impl Runtime {
    /// Those that are here, the best first; or the one that was asked for.
    pub(crate) fn find(asked: Option<&Path>) -> io::Result<Vec<Runtime>> {
        let runtime = |kind: Kind, program| Runtime { kind, program, platform: kind.platforms()[0] };
        if let Some(program) = asked {
            let odd =
                || io::Error::new(io::ErrorKind::InvalidInput, format!("{} is no known runtime", program.display()));
            return Ok(vec![runtime(Kind::of(program).ok_or_else(odd)?, program.to_owned())]);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path)
            .chain(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"].map(PathBuf::from))
            .collect();
        let here =
            |kind: Kind| folders.iter().map(|folder| folder.join(kind.program())).find(|program| program.is_file());
        Ok(Kind::ALL.into_iter().filter_map(|kind| Some(runtime(kind, here(kind)?))).collect())
    }

    /// Starts a container from a bundle, born into its cgroups, and says which process it is.
    pub(crate) fn run(&self, task: &Task<'_>, bundle: &Path, cgroup: &Cgroup) -> io::Result<i32> {
        let pid = bundle.join("pid");
        let mut command = self.command(task);
        command.args(["run", "--detach", "--bundle"]).arg(bundle).arg("--pid-file").arg(&pid).arg(task.name);
        self.start(task, command, cgroup, &pid)
    }

    /// Starts a container from a bundle and from the memory that was stored.
    pub(crate) fn restore(&self, task: &Task<'_>, bundle: &Path, image: &Path, cgroup: &Cgroup) -> io::Result<i32> {
        let pid = bundle.join("pid");
        let mut command = self.command(task);
        command.args(["restore", "--detach", "--bundle"]).arg(bundle).arg("--image-path").arg(image);
        command.arg("--pid-file").arg(&pid).arg(task.name);
        self.start(task, command, cgroup, &pid)
    }

    /// Whether it can store the memory of what runs.
    pub(crate) fn stores_memory(&self) -> bool {
        self.kind == Kind::Runsc
    }

    /// Stores the memory of a container, which ends with it, whether that worked or not.
    pub(crate) fn store(&self, task: &Task<'_>, image: &Path) -> io::Result<()> {
        let mut command = self.command(task);
        command.arg("checkpoint").arg("--image-path").arg(image).arg(task.name);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let ended = wait(&mut command.spawn()?, PATIENCE)?;
        if ended { Ok(()) } else { Err(complaint(task.log)) }
    }

    fn command(&self, task: &Task<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(task.state).arg("--log").arg(task.log).arg("--log-format").arg("json");
        if self.kind == Kind::Runsc {
            // Its cgroups are ours. It has no network but its own loopback, and reaches only the sockets it is shown.
            command.args(["--ignore-cgroups", "--network=none", "--host-uds=all"]);
        }
        if let Some(platform) = self.platform {
            command.arg(format!("--platform={platform}"));
        }
        command
    }

    /// Runs a command that is born into cgroups: a shell waits until it was moved there, then becomes the command. Should
    /// we die in between, it hears that and ends.
    fn start(&self, task: &Task<'_>, command: Command, cgroup: &Cgroup, pid: &Path) -> io::Result<i32> {
        let _ = fs::remove_file(pid);
        let _ = fs::remove_file(task.log);
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read go && exec \"$@\" </dev/null", "sh"])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let joined = cgroup.join(child.id() as i32);
        if joined.is_ok()
            && let Some(stdin) = &mut child.stdin
        {
            stdin.write_all(b"go\n")?;
        }
        drop(child.stdin.take());
        let ended = wait(&mut child, PATIENCE)?;
        joined?;
        if !ended {
            return Err(complaint(task.log));
        }
        let text = fs::read_to_string(pid)?;
        text.trim().parse().map_err(|_| io::Error::other("the runtime did not say which process it started"))
    }
}

/// Waits until a command has ended and says whether it was content. One that takes too long is killed.
fn wait(child: &mut Child, patience: Duration) -> io::Result<bool> {
    let pid = Pid::from_child(child);
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let end = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("the runtime took more than {patience:?}")));
        }
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)], Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The last complaint in a runtime's log, as one line: some of them print everything they know.
fn complaint(log: &Path) -> io::Error {
    const LONGEST: usize = 300;
    let text = fs::read_to_string(log).unwrap_or_default();
    let said = text.lines().rev().find_map(|line| {
        let entry: serde_json::Value = serde_json::from_str(line).ok()?;
        let worth = matches!(entry["level"].as_str(), Some("error" | "fatal" | "warning"));
        worth.then(|| entry["msg"].as_str().map(str::to_owned)).flatten()
    });
    let said = said.unwrap_or_else(|| "the runtime failed and did not say why".into());
    io::Error::other(said.lines().next().unwrap_or_default().chars().take(LONGEST).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_known_by_its_name() {
        let kind = |path: &str| Runtime::find(Some(Path::new(path))).map(|found| found[0].kind);
        assert_eq!(kind("/opt/runsc-2024").expect("known"), Kind::Runsc);
        assert_eq!(kind("/usr/sbin/runc").expect("known"), Kind::Runc);
        assert!(kind("/bin/true").is_err());
    }

    #[test]
    fn a_complaint_is_one_line_of_moderate_length() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let long = format!("it broke: {}\ngoroutine 1", "x".repeat(5000));
        let lines =
            [serde_json::json!({"level": "error", "msg": long}), serde_json::json!({"level": "info", "msg": "bye"})];
        fs::write(&log, lines.map(|line| line.to_string()).join("\n")).expect("written");
        let said = complaint(&log).to_string();
        assert!(said.starts_with("it broke: xxx") && said.len() == 300, "{said}");
        assert_eq!(complaint(&folder.path().join("none")).to_string(), "the runtime failed and did not say why");
    }
}
