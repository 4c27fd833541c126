//! Other ways to run a program in a sandbox, as far as this machine has them.
//!
//! Each is asked for the same: the host's `/usr`, read-only, a `/proc`, a `/dev`, a `/tmp`, namespaces of its own.

use std::{
    fs,
    io::Read,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;

use super::finish;
use crate::{Outcome, report};

/// The names that are looked for, and what would bring them.
const KNOWN: [&str; 5] = ["bwrap", "crun", "runc", "runsc", "podman"];

/// The runtimes that were found to work here.
pub(super) struct Runtimes {
    works: Vec<&'static str>,
    folder: TempDir,
}

/// A container that sleeps, for what is done to one that is there.
pub(super) struct Container<'r> {
    runtimes: &'r Runtimes,
    runtime: &'static str,
    name: String,
}

impl Runtimes {
    /// Tries each once, and says which cannot be compared with and why.
    pub(super) fn find() -> Outcome<Runtimes> {
        let folder = tempfile::Builder::new().prefix("carrel-bench-bundle.").tempdir()?;
        lay_bundle(folder.path(), "echo", &["/bin/echo", "hi"])?;
        lay_bundle(folder.path(), "sleep", &["/bin/sleep", "1000000"])?;
        let mut runtimes = Runtimes { works: Vec::new(), folder };
        for name in KNOWN {
            match runtimes.hi(name) {
                Ok(_) => runtimes.works.push(name),
                Err(error) => {
                    let missing = error
                        .downcast_ref::<std::io::Error>()
                        .is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound);
                    let package = if name == "bwrap" { "bubblewrap" } else { name };
                    let why =
                        if missing { format!("not installed (apt-get install {package})") } else { error.to_string() };
                    report::line(format_args!("{name}: {why}"))?;
                }
            }
        }
        Ok(runtimes)
    }

    /// Those that work, but bwrap, which is the peer and no context.
    pub(super) fn others(&self) -> impl Iterator<Item = &'static str> {
        self.works.iter().copied().filter(|name| *name != "bwrap")
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.works.contains(&name)
    }

    /// How long it takes from asking for a sandbox to the first byte of `echo hi` in it.
    pub(super) fn hi(&self, name: &str) -> Outcome<Duration> {
        let mut command = self.command(name, "echo", false);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn()?;
        let mut byte = [0];
        let heard = child.stdout.as_mut().map_or(Ok(0), |said| said.read(&mut byte))?;
        let took = began.elapsed();
        let done = child.wait_with_output()?;
        match heard == 1 && done.status.success() {
            true => Ok(took),
            false => {
                Err(String::from_utf8_lossy(&done.stderr).trim().lines().last().unwrap_or("it said nothing").into())
            }
        }
    }

    /// The command that runs a bundle.
    fn command(&self, name: &str, bundle: &str, detach: bool) -> Command {
        let place = self.folder.path().join(bundle);
        let mut command = Command::new(name);
        match name {
            "bwrap" => {
                command.args(["--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"]);
                command.args(["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]);
                command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "echo", "hi"]);
            }
            "podman" => {
                command.args([
                    "run",
                    "--rm",
                    "--network=none",
                    "--ulimit=nofile=20000:20000",
                    "--ulimit=nproc=20000:20000",
                ]);
                command.args(["--volume=/usr:/usr:ro", "--rootfs"]).arg(place.join("rootfs")).args(["/bin/echo", "hi"]);
            }
            _ => {
                self.global(&mut command, name);
                command.arg("run").args(detach.then_some("--detach")).arg("--bundle").arg(&place);
                command.arg(format!("bench-{bundle}-{}", std::process::id()));
            }
        }
        command
    }

    fn global(&self, command: &mut Command, name: &str) {
        command.arg("--root").arg(self.folder.path().join(name));
        if name == "runsc" {
            // What its default network and its own cgroups need is not given on every host.
            command.args(["--network=none", "--ignore-cgroups"]);
        }
    }

    /// Starts a container that sleeps, where the runtime can.
    pub(super) fn container(&self, runtime: &'static str) -> Outcome<Container<'_>> {
        let container = Container { runtimes: self, runtime, name: format!("bench-sleep-{}", std::process::id()) };
        let mut command = self.command(runtime, "sleep", true);
        // What goes on in the container holds the files it was given: nobody may wait for their end.
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        match status.success() {
            true => Ok(container),
            false => Err(format!("{runtime} could not start a container in the background").into()),
        }
    }
}

impl Container<'_> {
    /// A verb of the runtime, about this container.
    pub(super) fn verb(&self, verb: &str, after: &[&str]) -> Command {
        let mut command = Command::new(self.runtime);
        self.runtimes.global(&mut command, self.runtime);
        command.args([verb, &self.name]).args(after);
        command
    }
}

impl Drop for Container<'_> {
    fn drop(&mut self) {
        let _ = finish(&mut self.verb("kill", &["KILL"]));
        let mut delete = Command::new(self.runtime);
        self.runtimes.global(&mut delete, self.runtime);
        let _ = finish(delete.args(["delete", "--force", &self.name]));
    }
}

/// A root that stands on the host's `/usr`.
pub(super) fn lay_root(root: &Path) -> Outcome<()> {
    for part in ["usr", "proc", "dev", "tmp"] {
        fs::create_dir_all(root.join(part))?;
    }
    for (link, target) in [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")] {
        symlink(target, root.join(link))?;
    }
    Ok(())
}

fn lay_bundle(folder: &Path, name: &str, args: &[&str]) -> Outcome<()> {
    let place = folder.join(name);
    lay_root(&place.join("rootfs"))?;
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({ "type": kind }));
    let config = json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false, "user": {"uid": 0, "gid": 0}, "args": args, "env": ["PATH=/usr/bin"], "cwd": "/", "noNewPrivileges": true,
        },
        "root": {"path": "rootfs", "readonly": true},
        "hostname": "bench",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]},
        ],
        "linux": {"namespaces": namespaces},
    });
    Ok(fs::write(place.join("config.json"), config.to_string())?)
}
