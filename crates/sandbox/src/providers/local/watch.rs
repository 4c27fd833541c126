//! Keeps sandboxes within their disk where the filesystem does not: looks at those that work, and ends what fills them.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use carrel_model::SandboxId;
use rustix::process::{Pid, Signal, kill_process};

use super::{Inner, aside, disk::occupied, record::Record};

/// How often it looks. No bell rings when a filesystem fills.
const ROUND: Duration = Duration::from_secs(5);

/// Watches for as long as the provider is there, unless the filesystem does it.
pub(crate) fn start(inner: &Arc<Inner>) {
    if !inner.yard.disk().enforces() {
        tokio::spawn(watch(Arc::downgrade(inner)));
    }
}

async fn watch(inner: Weak<Inner>) {
    // Processor time at the last look: what has not worked since has written nothing.
    let mut worked: HashMap<SandboxId, u64> = HashMap::new();
    let mut round = tokio::time::interval(ROUND);
    loop {
        round.tick().await;
        let Some(inner) = inner.upgrade() else { return };
        let places: Vec<_> = inner.places().iter().map(|(id, place)| (id.clone(), Arc::clone(place))).collect();
        worked.retain(|id, _| places.iter().any(|(other, _)| other == id));
        for (id, place) in places {
            let Some(record) = place.desk().await.as_ref().map(|desk| desk.record.clone()) else { continue };
            if record.asleep.is_some() {
                continue;
            }
            // Whose work cannot be seen is always looked at.
            let used = inner.yard.cgroup(&record).read().cpu_us;
            if used.is_some_and(|used| worked.insert(id, used) == Some(used)) {
                continue;
            }
            let inner = Arc::clone(&inner);
            let _ = aside(move || {
                look(&inner, &record);
                Ok(())
            })
            .await;
        }
    }
}

fn look(inner: &Inner, record: &Record) {
    let (used, most) = (occupied(&inner.yard.upper(record)), record.limits.disk_mb.get() << 20);
    if used <= most {
        return;
    }
    tracing::warn!(sandbox = ?record.id, used, most, "its disk is full; what runs in it is ended");
    let Some(first) = record.first.map(|first| first.pid) else { return };
    let mut inside = inner.yard.cgroup(record).processes();
    if inside.is_empty() {
        inside = neighbours(first);
    }
    for pid in inside.into_iter().filter(|pid| *pid != first).filter_map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// The processes that see the same processes as this one: what is in a sandbox that has no cgroup.
fn neighbours(first: i32) -> Vec<i32> {
    let namespace = |pid: i32| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let Some(ours) = namespace(first) else { return Vec::new() };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| namespace(*pid).as_ref() == Some(&ours)).collect()
}
