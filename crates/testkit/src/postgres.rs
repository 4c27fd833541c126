//! A PostgreSQL of a test's own, which may be stopped while others use theirs.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// One that is gone with its folder when it is dropped.
pub struct Postgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl Postgres {
    /// Makes one and starts it.
    pub fn start() -> Postgres {
        let folder = tempfile::Builder::new().prefix("carrel-postgres").tempdir().unwrap();
        let postgres = Postgres { programs: programs(), port: free_port(), folder };
        let owner = format!("{}:", user());
        if rustix::process::geteuid().is_root() {
            good(Command::new("chown").arg(owner).arg(postgres.folder.path()).output().unwrap());
        }
        let data = postgres.data();
        // Nobody but this machine reaches it, and nothing in it is worth a password.
        good(postgres.run("initdb", &["-D", &data, "-U", "carrel", "--auth=trust", "--no-locale", "--encoding=UTF8"]));
        postgres.come_back();
        postgres
    }

    /// Where it is, as `carrel serve --database` takes it.
    pub fn url(&self) -> String {
        format!("postgres://carrel@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops it: whoever is connected is hung up on, and nobody is let in.
    pub fn go_away(&self) {
        good(self.run("pg_ctl", &["-D", &self.data(), "-m", "fast", "-w", "-s", "stop"]));
    }

    /// Starts it again.
    pub fn come_back(&self) {
        let options = format!("-p {} -c listen_addresses=127.0.0.1 -k {}", self.port, self.folder.path().display());
        let log = self.folder.path().join("log").display().to_string();
        good(self.run("pg_ctl", &["-D", &self.data(), "-w", "-s", "-o", &options, "-l", &log, "start"]));
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// PostgreSQL refuses to run as root.
    fn run(&self, program: &str, args: &[&str]) -> Output {
        let place = self.programs.join(program);
        let mut command = match rustix::process::geteuid().is_root() {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", user(), "--"]).arg(place);
                command
            }
            false => Command::new(place),
        };
        // What it starts keeps what it was given: nobody waits for a pipe to end.
        let out = tempfile::tempfile().unwrap();
        let status = command
            .args(args)
            .current_dir(self.folder.path())
            .stdout(out.try_clone().unwrap())
            .stderr(out.try_clone().unwrap())
            .status()
            .unwrap();
        Output { status, stdout: Vec::new(), stderr: read(out) }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "-s", "stop"]);
    }
}

fn read(mut file: std::fs::File) -> Vec<u8> {
    use std::io::{Read, Seek};
    let mut said = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut said).unwrap();
    said
}

fn good(output: Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn user() -> &'static str {
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    if known.lines().any(|line| line.starts_with("postgres:")) { "postgres" } else { "nobody" }
}

/// The newest that is installed.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(|path| number(path));
    newest.expect("PostgreSQL is missing: `scripts/setup test` installs it").join("bin")
}

/// A port that was free a moment ago, below those that the kernel hands out by itself.
fn free_port() -> u16 {
    let from = 15_000 + u16::try_from(std::process::id() % 15_000).unwrap_or_default();
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (from..32_000).find(is_free).expect("no port is free")
}
