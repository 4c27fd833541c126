//! The bundle: what a runtime is told of a sandbox, in the words of the OCI runtime specification.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{line, runtime::Kind};
use crate::providers::common::GATEWAY_PORT;
use crate::providers::local::guest;
use crate::template::Shown;

/// What a build needs: owning files, changing users, signalling, low ports. The same as in a jail.
const CAPABILITIES: [&str; 11] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_NET_BIND_SERVICE",
    "CAP_SYS_CHROOT",
    "CAP_SETFCAP",
];

/// What of `/proc` tells too much of the host.
const MASKED: [&str; 13] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/keys",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/sys/firmware",
];
/// What of `/proc` would change the host.
const READ_ONLY: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// A sandbox as its bundle tells it.
pub(crate) struct Bundle<'a> {
    pub(crate) kind: Kind,
    /// Where its root is mounted while the runtime starts.
    pub(crate) root: &'a Path,
    pub(crate) host_folders: &'a [PathBuf],
    pub(crate) shown: &'a [Shown],
    /// The folder with the daemon.
    pub(crate) guest: &'a Path,
    /// The folder of sockets.
    pub(crate) run: &'a Path,
    /// The cgroups it is put into, for runtimes that insist.
    pub(crate) cgroup: String,
    /// The first of its users on the host.
    pub(crate) base: u32,
    /// No file inside grows larger.
    pub(crate) largest_file: u64,
}

impl Bundle<'_> {
    /// The text of `config.json`.
    pub(crate) fn config(&self) -> Value {
        let forward = format!("127.0.0.1:{GATEWAY_PORT}={}/{}", line::FOLDER, line::GATEWAY);
        let listen = format!("unix:{}/{}", line::FOLDER, line::SOCKET);
        let most_files = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(1 << 20);
        let most_files = most_files.min(1 << 20);
        let limit = |kind: &str, value: u64| json!({"type": kind, "soft": value, "hard": value});
        json!({
            "ociVersion": "1.0.2",
            "process": {
                "terminal": false,
                "user": {"uid": 0, "gid": 0},
                "args": [guest::PROGRAM, "--listen", listen, "--forward", forward],
                "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                "cwd": "/",
                "capabilities": {"bounding": CAPABILITIES, "effective": CAPABILITIES, "permitted": CAPABILITIES},
                "rlimits": [
                    limit("RLIMIT_CORE", 0),
                    limit("RLIMIT_NOFILE", most_files),
                    limit("RLIMIT_FSIZE", self.largest_file),
                ],
                "noNewPrivileges": true,
            },
            "root": {"path": self.root, "readonly": false},
            "hostname": "carrel",
            "mounts": self.mounts(),
            "linux": self.linux(),
        })
    }

    fn mounts(&self) -> Vec<Value> {
        let mut mounts = vec![
            json!({"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]}),
            json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                   "options": ["nosuid", "noexec", "mode=755", "size=65536k"]}),
            json!({"destination": "/dev/pts", "type": "devpts", "source": "devpts",
                   "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]}),
            json!({"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
                   "options": ["nosuid", "noexec", "nodev", "mode=1777"]}),
        ];
        let bind = |inside: &Path, outside: &Path, how: &str| json!({"destination": inside, "type": "bind", "source": outside, "options": ["rbind", how, "nosuid", "nodev"]});
        for folder in self.host_folders {
            mounts.push(bind(folder, folder, "ro"));
        }
        for Shown { from, at } in self.shown {
            mounts.push(bind(at, from, "ro"));
        }
        let program = Path::new(guest::PROGRAM);
        mounts.push(bind(program.parent().unwrap_or(program), self.guest, "ro"));
        mounts.push(bind(Path::new(line::FOLDER), self.run, "rw"));
        if self.kind == Kind::Runsc {
            // It would put a filesystem in memory over an empty /tmp: what is written there is kept like all else.
            mounts.push(bind(Path::new("/tmp"), &self.root.join("tmp"), "rw"));
        }
        mounts
    }

    fn linux(&self) -> Value {
        let mut namespaces = vec!["pid", "mount", "ipc", "uts", "network", "user"];
        let range = json!([{"containerID": 0, "hostID": self.base, "size": carrel_linux::Mapping::WIDTH}]);
        let mut linux = json!({
            "maskedPaths": MASKED,
            "readonlyPaths": READ_ONLY,
            "uidMappings": range,
            "gidMappings": range,
        });
        if self.kind != Kind::Runsc {
            namespaces.push("cgroup");
            linux["cgroupsPath"] = json!(self.cgroup);
            linux["sysctl"] = json!({"net.ipv4.ip_unprivileged_port_start": "0"});
            linux["seccomp"] = carrel_linux::seccomp::oci_profile();
        }
        linux["namespaces"] = namespaces.into_iter().map(|kind| json!({"type": kind})).collect();
        linux
    }
}
