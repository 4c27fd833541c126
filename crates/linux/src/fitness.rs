//! What this host offers for jails.

use std::fs;

/// What is missing for a full jail, each a sentence with what would give it. Empty when nothing is.
pub fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    if !rustix::process::geteuid().is_root() {
        missing.push("not root: limits, idmapped layers and a range of users per sandbox need it; run `carrel serve` as root".to_owned());
    }
    if !fs::read_to_string("/proc/filesystems").is_ok_and(|text| text.lines().any(|line| line.trim_end().ends_with("overlay"))) {
        missing.push("the kernel has no overlay filesystem; try `modprobe overlay`".to_owned());
    }
    let namespaces = fs::read_to_string("/proc/sys/user/max_user_namespaces").unwrap_or_default();
    if namespaces.trim() == "0" {
        missing.push("user namespaces are switched off; set user.max_user_namespaces with sysctl".to_owned());
    }
    missing
}
