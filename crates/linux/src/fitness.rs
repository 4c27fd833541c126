//! What this host offers for jails. It looks and changes nothing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::cgroup::{cgroup_mount, roots};

/// One thing that a full jail wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked for.
    pub what: &'static str,
    /// Whether it is there.
    pub there: bool,
    /// A sentence.
    pub detail: String,
    /// What would give it.
    pub hint: Option<&'static str>,
}

/// What is missing for a full jail, each a sentence with what would give it. Empty when nothing is.
pub fn missing() -> Vec<String> {
    let lacking = survey().into_iter().filter(|finding| !finding.there);
    lacking
        .map(|finding| format!("{}: {}; {}", finding.what, finding.detail, finding.hint.unwrap_or_default()))
        .collect()
}

/// Everything a full jail wants, and whether it is there. Cgroups are looked at where they are used.
pub fn survey() -> Vec<Finding> {
    let found = |what, there, detail: &str, hint| Finding { what, there, detail: detail.to_owned(), hint };
    let root = rustix::process::geteuid().is_root();
    let filesystems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    // Most distributions have it as a module, which the kernel loads when somebody first asks.
    let modules = Path::new("/lib/modules").join(rustix::system::uname().release().to_string_lossy().as_ref());
    let modules = fs::read_to_string(modules.join("modules.dep")).unwrap_or_default();
    let overlay = filesystems.lines().any(|line| line.split_whitespace().last() == Some("overlay"))
        || modules.contains("/overlay.ko");
    let most = fs::read_to_string("/proc/sys/user/max_user_namespaces").unwrap_or_default();
    // Some distributions have a switch of their own for plain users.
    let barred =
        ["/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"];
    let barred = !root
        && (fs::read_to_string(barred[0]).is_ok_and(|text| text.trim() == "0")
            || fs::read_to_string(barred[1]).is_ok_and(|text| text.trim() == "1"));
    let namespaces = most.trim() != "0" && !most.is_empty() && !barred;
    let filters = fs::read_to_string("/proc/self/status").is_ok_and(|text| text.contains("Seccomp:"));
    vec![
        found(
            "user",
            root,
            if root {
                "root: every sandbox has users of its own"
            } else {
                "not root: a sandbox has one user, and few limits"
            },
            (!root)
                .then_some("run `carrel serve` as root for limits, a range of users per sandbox and idmapped layers"),
        ),
        found(
            "namespaces",
            namespaces,
            if namespaces { "users, processes, mounts, network" } else { "user namespaces are switched off" },
            (!namespaces).then_some("sysctl user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1"),
        ),
        found(
            "overlay",
            overlay,
            if overlay { "in the kernel" } else { "not in the kernel" },
            (!overlay).then_some("modprobe overlay"),
        ),
        found(
            "seccomp",
            filters,
            if filters { "in the kernel" } else { "not in the kernel" },
            (!filters).then_some("a kernel with CONFIG_SECCOMP_FILTER"),
        ),
    ]
}

/// The controllers of cgroups that this user can use, and how processes are frozen; each a word.
pub fn controllers() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let is_ours = |place: &PathBuf| rustix::fs::access(place, rustix::fs::Access::WRITE_OK).is_ok();
    let mut found = Vec::new();
    for (place, kind, options) in mounts.lines().filter_map(cgroup_mount) {
        if kind == "cgroup" {
            let offered = options.split(',').filter(|name| USED.contains(name) && is_ours(&place));
            found.extend(offered.map(|name| format!("{name} (v1)")));
        } else if let Some(root) = roots(&place).into_iter().find(is_ours) {
            found.push("freeze (v2)".to_owned());
            let listed = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
            let offered = listed.split_whitespace().filter(|name| USED.contains(name));
            found.extend(offered.map(|name| format!("{name} (v2)")));
        }
    }
    found
}

/// The controllers that limit a sandbox.
const USED: [&str; 3] = ["cpu", "memory", "pids"];
