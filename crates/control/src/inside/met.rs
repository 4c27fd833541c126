//! Limits that were met: what an exec that ended badly is told when the kernel ended a process of its sandbox, or refused
//! it one. By itself it would know no more than `signal: killed`, or `cannot fork`.

use std::time::Duration;

use carrel_model::{public::SandboxView, sandbox::Limits};
use carrel_sandbox::MetLimits;

use crate::house::House;

/// The counters are read in a moment, or not at all.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a sandbox met its limits so far. Nothing where nobody counts.
pub(crate) async fn count(house: &House, view: &SandboxView) -> Option<MetLimits> {
    let post = house.providers.get(&view.provider)?;
    tokio::time::timeout(PATIENCE, post.provider.met_limits(&view.id)).await.ok()?
}

/// How everything begins that is told of a limit.
const BEGINS: &str = "its sandbox met its ";

/// What the note of an exec tells of limits, if anything.
pub(crate) fn in_note(note: &str) -> Option<&str> {
    note.find(BEGINS).map(|at| &note[at..])
}

/// What was met since, and how a sandbox is made that meets it later.
pub(crate) fn told(before: MetLimits, now: MetLimits, limits: &Limits) -> Option<String> {
    let mut met = Vec::new();
    if now.memory > before.memory {
        met.push(format!(
            "{BEGINS}memory limit of {0} MiB and the kernel ended a process (create one with a larger \
             `limits.memory_mb`, `--memory-mb`)",
            limits.memory_mb
        ));
    }
    if now.pids > before.pids {
        met.push(format!(
            "{BEGINS}limit of {0} processes and threads and could not begin another (create one with a larger \
             `limits.pids`, `--pids`)",
            limits.pids
        ));
    }
    if met.is_empty() { None } else { Some(met.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_met_since_is_told_with_the_limit_and_the_way_to_raise_it() {
        let limits = serde_json::json!({"cpus": 1, "memory_mb": 512, "disk_mb": 1024, "pids": 64});
        let limits: Limits = serde_json::from_value(limits).unwrap();
        let count = |memory, pids| MetLimits { memory, pids };
        assert_eq!(told(count(3, 5), count(3, 5), &limits), None);
        let memory = told(count(0, 5), count(1, 5), &limits).unwrap();
        assert!(memory.contains(&format!("{} MiB", limits.memory_mb)) && memory.contains("--memory-mb"), "{memory}");
        assert!(!memory.contains("pids"), "{memory}");
        let both = told(count(0, 0), count(1, 900), &limits).unwrap();
        assert!(both.contains("memory limit") && both.contains("`limits.pids`"), "{both}");
        assert_eq!(in_note(&format!("exit status 137: {both}")), Some(both.as_str()));
        assert_eq!(in_note("exit status 137"), None);
    }
}
