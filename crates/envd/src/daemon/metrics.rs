//! What the sandbox uses, as far as it can see itself.

use std::{
    fs,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use super::guest::Guest;

/// One look.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    ts: u64,
    cpu_count: u32,
    cpu_used_pct: f64,
    mem_total: u64,
    mem_used: u64,
    mem_cache: u64,
    mem_total_mib: u64,
    mem_used_mib: u64,
    disk_used: u64,
    disk_total: u64,
}

/// Remembers the last look at processor time.
#[derive(Default)]
pub(super) struct Meter {
    last: Option<(Instant, f64)>,
}

/// Looks around.
pub(super) fn measure(guest: &Guest) -> Measured {
    let memory = Memory::look();
    let disk = rustix::fs::statvfs("/").ok();
    let disk_total = disk.as_ref().map_or(0, |disk| disk.f_blocks * disk.f_frsize);
    let disk_free = disk.map_or(0, |disk| disk.f_bfree * disk.f_frsize);
    let mut meter = guest.meter.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Measured {
        ts: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        cpu_count: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        cpu_used_pct: meter.percent(),
        mem_total: memory.total,
        mem_used: memory.used,
        mem_cache: memory.cache,
        mem_total_mib: memory.total >> 20,
        mem_used_mib: memory.used >> 20,
        disk_used: disk_total - disk_free.min(disk_total),
        disk_total,
    }
}

impl Meter {
    /// Percent of one processor since the last look, or since the first process began.
    fn percent(&mut self) -> f64 {
        let (now, used) = (Instant::now(), processor_seconds());
        let (seconds, before) = match self.last.replace((now, used)) {
            Some((then, before)) => (now.saturating_duration_since(then).as_secs_f64(), before),
            None => (own_age(), 0.0),
        };
        if seconds <= 0.0 {
            return 0.0;
        }
        let percent = (used - before).max(0.0) / seconds * 100.0;
        (percent * 100.0).round() / 100.0
    }
}

/// The processor time of everybody here, and of those we have buried.
fn processor_seconds() -> f64 {
    let mut ticks = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Some(fields) = stat_fields(pid) else { continue };
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        ticks += number(11) + number(12);
        if pid == std::process::id() {
            ticks += number(13) + number(14);
        }
    }
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// The fields of a process after its name, which may contain anything.
fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn own_age() -> f64 {
    let fields = stat_fields(std::process::id()).unwrap_or_default();
    let began = fields.get(19).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0) as f64;
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let uptime = uptime.split_whitespace().next().and_then(|seconds| seconds.parse::<f64>().ok()).unwrap_or(0.0);
    uptime - began / rustix::param::clock_ticks_per_second() as f64
}

struct Memory {
    total: u64,
    used: u64,
    cache: u64,
}

impl Memory {
    /// By the limits of our own cgroup where they are shown, else by the machine's.
    fn look() -> Memory {
        let machine = Memory::of_machine();
        let number = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
        match number("memory.current") {
            Some(current) => {
                let stat = fs::read_to_string("/sys/fs/cgroup/memory.stat").unwrap_or_default();
                let cache = stat.lines().find_map(|line| line.strip_prefix("file ")?.parse().ok()).unwrap_or(0);
                let total = number("memory.max").unwrap_or(machine.total);
                Memory { total, used: current.saturating_sub(cache), cache }
            }
            None => machine,
        }
    }

    fn of_machine() -> Memory {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
        };
        let total = bytes("MemTotal");
        Memory { total, used: total.saturating_sub(bytes("MemAvailable")), cache: bytes("Cached") }
    }
}
