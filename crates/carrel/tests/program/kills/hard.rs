//! Harder blows, for `make soak`: what a machine does to a house, not only what dies in it.
//!
//! They need root, and a network of our own: `scripts/soak` gives both. Clocks are moved for the server alone, by
//! libfaketime: a namespace of time moves the clocks that count, never the one that people read.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::world::World;

/// How large the disk of a house is that is to be filled.
const DISK: &str = "size=1500m";

/// A house on a small disk of its own, with a clock that can be moved.
pub(super) struct Hard {
    disk: PathBuf,
    clock: PathBuf,
    library: Option<PathBuf>,
}

impl Hard {
    /// Mounts the disk.
    pub(super) fn open(data: &Path) -> Hard {
        std::fs::create_dir(data).unwrap();
        run("mount", &["-t", "tmpfs", "-o", DISK, "carrel-soak", data.to_str().unwrap()]);
        let clock = data.with_extension("clock");
        std::fs::write(&clock, "+0\n").unwrap();
        let library = std::env::var_os("CARREL_SOAK_FAKETIME").map(PathBuf::from);
        Hard { disk: data.to_owned(), clock, library }
    }

    /// What the server is told of its clock.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let Some(library) = &self.library else { return Vec::new() };
        vec![
            ("LD_PRELOAD", library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.clock.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ]
    }

    /// Moves the clock of the server. It stays there until it is moved again.
    pub(super) fn jump(&self, seconds: i64) {
        assert!(self.library.is_some(), "libfaketime is missing: scripts/soak looks for it");
        let draft = self.clock.with_extension("draft");
        std::fs::write(&draft, format!("{seconds:+}\n")).unwrap();
        std::fs::rename(&draft, &self.clock).unwrap();
    }

    /// Fills the disk to its last byte, and makes room again after a while.
    pub(super) async fn fill(&self, lasts: Duration) {
        let place = self.disk.join("filler");
        let mut file = File::create(&place).unwrap();
        for size in [1 << 20, 4096, 1] {
            let piece = vec![7; size];
            while file.write_all(&piece).is_ok() {}
        }
        tokio::time::sleep(lasts).await;
        std::fs::remove_file(&place).unwrap();
    }
}

impl Drop for Hard {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.disk).status();
        let _ = std::fs::remove_file(&self.clock);
    }
}

/// Drops a part of everything that is sent on this network and slows down the rest, for a while.
pub(super) async fn disturb_the_line(percent: u64, lasts: Duration) {
    let rule = format!(
        "table inet soak {{\n chain lossy {{\n type filter hook input priority 0; policy accept;\n \
         meta l4proto tcp numgen random mod 100 < {percent} drop\n }}\n}}\n"
    );
    run("nft", &[&rule]);
    let slow = ["qdisc", "replace", "dev", "lo", "root", "tbf", "rate", "2mbit", "burst", "32kbit", "latency", "400ms"];
    run("tc", &slow);
    tokio::time::sleep(lasts).await;
    run("nft", &["delete table inet soak"]);
    run("tc", &["qdisc", "del", "dev", "lo", "root"]);
}

impl World<'_> {
    /// The server's own children that make sandboxes.
    pub(super) fn launchers(&self) -> Vec<rustix::process::Pid> {
        let Some(server) = self.server_pid() else { return Vec::new() };
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_launcher = |pid: &i32| {
            let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // After the name, which may hold anything: the state, then the parent.
            let parent = about.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<u32>().ok());
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            parent == Some(server) && line.split(|byte| *byte == 0).nth(1) == Some(b"launcher")
        };
        numbers.filter(is_launcher).filter_map(rustix::process::Pid::from_raw).collect()
    }
}

fn run(program: &str, args: &[&str]) {
    let told = Command::new(program).args(args).output().unwrap();
    assert!(told.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&told.stderr));
}
