//! What a sandbox is asked to be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentId, Malformed, ProviderName, RepoName, TaskId, TemplateName, VolumeId, VolumeName,
    number::{Cpus, Whole},
};

use super::{AddressRange, Checkout, Depth, ExitProxy};

/// What a sandbox is asked to be. Complete: defaults are already in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// What it starts from.
    pub template: TemplateName,
    /// Where it lives.
    pub provider: ProviderName,
    /// How strongly it is kept apart.
    pub isolation: Isolation,
    /// The agent it belongs to.
    pub agent_id: Option<AgentId>,
    /// The task it belongs to.
    pub task_id: Option<TaskId>,
    /// The repository that it works on: what its grant may fetch from, and its task may push to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoName>,
    /// The working tree of that repository that it begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<Checkout>,
    /// Environment of everything that runs inside. May hold secrets of the user: never shown, never journalled.
    pub env: BTreeMap<EnvName, EnvValue>,
    /// What the user wrote on it.
    pub metadata: Metadata,
    /// How long it lives after it was asked for, resumed or extended.
    pub lifetime: Lifetime,
    /// What happens when the lifetime has passed.
    pub at_end: AtEnd,
    /// How much it may use.
    pub limits: Limits,
    /// Whom it may talk to.
    pub network: Network,
    /// Who may call its ports by its own host name.
    #[serde(default, skip_serializing_if = "PortAccess::is_usual")]
    pub ports: PortAccess,
    /// The host that requests to its ports name, as they arrive inside; `localhost` and the port when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_host: Option<PortHost>,
    /// The ports on which what listens inside speaks TLS itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tls_ports: Vec<u16>,
    /// How deep it sleeps when nobody but its lifetime or its idleness pauses it.
    #[serde(default, skip_serializing_if = "Depth::is_usual")]
    pub pause_depth: Depth,
    /// The volumes that are mounted in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeMount>,
}

/// A volume, and where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VolumeMount {
    /// The volume.
    pub volume: VolumeId,
    /// What people call it.
    pub name: VolumeName,
    /// Where it is inside.
    pub path: VolumePath,
}

/// A lifetime in seconds, from one second to thirty days.
pub type Lifetime = Whole<1, 2_592_000>;
/// Memory in MiB.
pub type MemoryMb = Whole<16, 1_048_576>;
/// Disk in MiB.
pub type DiskMb = Whole<16, 16_777_216>;
/// A number of processes.
pub type Pids = Whole<8, 1_048_576>;

/// How strongly a sandbox is kept apart from the host and from its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Not at all: nothing runs in it. The fake provider's level.
    None,
    /// Namespaces, cgroups and seccomp on the host's kernel.
    Namespace,
    /// A second kernel in user space.
    Gvisor,
    /// A virtual machine.
    Microvm,
    /// E2B, or a cluster that speaks its API.
    E2b,
}

/// What happens when the lifetime has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// It ends.
    Destroy,
    /// It is paused, and keeps what it has.
    Pause,
}

/// How much a sandbox may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Processors.
    #[schema(value_type = f64, minimum = 0.1, maximum = 64)]
    pub cpus: Cpus,
    /// Memory in MiB.
    #[schema(value_type = u64, minimum = 16, maximum = 1_048_576)]
    pub memory_mb: MemoryMb,
    /// Disk in MiB.
    #[schema(value_type = u64, minimum = 16, maximum = 16_777_216)]
    pub disk_mb: DiskMb,
    /// Processes.
    #[schema(value_type = u64, minimum = 8, maximum = 1_048_576)]
    pub pids: Pids,
}

/// Whom a sandbox may talk to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Network {
    /// How open it is.
    pub mode: NetworkMode,
    /// With mode `allow`: the hosts that may be reached. With mode `open`: those that may be reached although they are denied.
    pub allow: Vec<HostRule>,
    /// With mode `open`: the addresses that may not be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub deny: Vec<AddressRange>,
    /// Headers that are put into requests on their way out, by host. What hides a secret is not shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, BTreeMap<String, String>>)]
    pub headers: Headers,
    /// With mode `open`: it has a network interface of its own besides the proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interface: bool,
    /// The proxy through which everything leaves; without its password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ExitProxy>,
}

/// Headers for each host.
pub type Headers = BTreeMap<HostRule, BTreeMap<HeaderName, HeaderText>>;

impl Network {
    /// Whether it is what a sandbox has when nobody says otherwise.
    pub fn is_none(&self) -> bool {
        *self == Network::default()
    }

    /// What both let through: the wider mode, the hosts and the headers of either. Of two headers with the same name for the
    /// same host the other's counts.
    pub fn and(&self, other: &Network) -> Network {
        let width = |mode: NetworkMode| match mode {
            NetworkMode::None => 0,
            NetworkMode::Allow => 1,
            NetworkMode::Open => 2,
        };
        let mut both = self.clone();
        if width(other.mode) > width(self.mode) {
            both.mode = other.mode;
        }
        both.allow.extend(other.allow.iter().filter(|host| !self.allow.contains(host)).cloned());
        both.deny.extend(other.deny.iter().filter(|range| !self.deny.contains(range)).cloned());
        for (host, headers) in &other.headers {
            both.headers.entry(host.clone()).or_default().extend(headers.clone());
        }
        both.interface |= other.interface;
        both.proxy = both.proxy.or_else(|| other.proxy.clone());
        // What only means something beside something else goes with it.
        if both.mode != NetworkMode::Open {
            (both.deny, both.interface) = (Vec::new(), false);
        } else if both.deny.is_empty() {
            both.allow.clear();
        }
        both
    }

    /// The same as it may be shown: a header whose value names no secret may be one itself.
    pub fn shown(&self) -> Network {
        let mut shown = self.clone();
        for text in shown.headers.values_mut().flat_map(BTreeMap::values_mut) {
            if !text.0.contains("${") {
                text.0 = "…".into();
            }
        }
        shown.proxy = self.proxy.as_ref().map(ExitProxy::shown);
        shown
    }
}

/// How open the network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkMode {
    /// Nobody but the gateway.
    #[default]
    None,
    /// The hosts on the list.
    Allow,
    /// Everybody.
    Open,
}

/// Who may call the ports of a sandbox by its own host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortAccess {
    /// Whoever shows a key that covers the sandbox.
    #[default]
    Keys,
    /// And whoever shows the token that its owner was given for that.
    Token,
    /// Everybody who knows its name, as at E2B.
    Public,
}

impl PortAccess {
    /// Whether it is what a sandbox has when nobody says otherwise.
    pub fn is_usual(&self) -> bool {
        *self == PortAccess::Keys
    }
}

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $rule:literal, $follows:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schema(value_type = String)]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Malformed;
            fn try_from(text: String) -> Result<Self, Malformed> {
                let follows: fn(&str) -> bool = $follows;
                if follows(&text) { Ok(Self(text)) } else { Err(Malformed { rule: $rule }) }
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> String {
                text.0
            }
        }
    };
}
pub(super) use checked_text;

checked_text!(
    /// A host that may be reached: a name, `*.name`, or either with a port; or a range of addresses.
    #[derive(Debug)]
    HostRule,
    "an allowed host is a name such as `example.org`, `*.example.org` or `example.org:443`, at most 253 characters, or a \
     range of addresses such as `10.0.0.0/8`",
    |text| is_host_rule(text) || text.parse::<AddressRange>().is_ok()
);
checked_text!(
    /// Where a volume is mounted: a folder inside that is no part of the system.
    #[derive(Debug)]
    VolumePath,
    "a volume is mounted at an absolute path of at most 255 characters without `.` and `..`, not at `/` nor in `/proc`, `/sys`, \
     `/dev`, `/run/carrel`, `/usr`, `/bin`, `/sbin`, `/lib` or `/etc`",
    is_volume_path
);
checked_text!(
    /// The name of an environment variable.
    #[derive(Debug)]
    EnvName,
    "the name of an environment variable is 1 to 128 letters, digits or `_`, and does not begin with a digit",
    |text| {
        (1..=128).contains(&text.len())
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    }
);
checked_text!(
    /// The value of an environment variable. It does not print itself: it may be a secret.
    EnvValue,
    "the value of an environment variable is at most 32768 bytes and holds no NUL",
    |text| text.len() <= 32_768 && !text.contains('\0')
);

checked_text!(
    /// The host that requests to the ports of a sandbox name; `${PORT}` stands for the port.
    #[derive(Debug)]
    PortHost,
    "a host is 1 to 253 letters, digits, `.`, `-` or `_`, with a port behind `:`; `${PORT}` stands for the port asked for",
    |text| {
        let plain = text.replace("${PORT}", "1");
        (1..=253).contains(&text.len())
            && plain.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':'))
    }
);
checked_text!(
    /// The name of a header that may be put into a request.
    #[derive(Debug)]
    HeaderName,
    "a header is 1 to 64 lower-case letters, digits or `-`, and none that says how a request travels",
    |text| {
        const TRAVEL: [&str; 8] =
            ["host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive"];
        (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
            && !TRAVEL.contains(&text)
            && !text.starts_with("proxy-")
    }
);
checked_text!(
    /// What a header is to say. It does not print itself: it may be a secret.
    HeaderText,
    "the value of a header is at most 2048 bytes of plain text in one line",
    // One that is shown is not taken back: it would overwrite what it hides.
    |text| text == "…" || (text.len() <= 2048 && text.bytes().all(|b| b == b'\t' || (b' '..=b'~').contains(&b)))
);

impl std::fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HeaderText(…)")
    }
}

impl std::fmt::Debug for EnvValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EnvValue(…)")
    }
}

/// What the user wrote on a sandbox: at most 64 entries of modest size.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
#[schema(value_type = BTreeMap<String, String>)]
pub struct Metadata(BTreeMap<String, String>);

impl Metadata {
    /// The entries.
    pub fn entries(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl TryFrom<BTreeMap<String, String>> for Metadata {
    type Error = Malformed;
    fn try_from(entries: BTreeMap<String, String>) -> Result<Self, Malformed> {
        let modest = |(key, value): (&String, &String)| {
            (1..=128).contains(&key.len()) && value.len() <= 4096 && !key.contains('\0') && !value.contains('\0')
        };
        if entries.len() <= 64 && entries.iter().all(modest) {
            Ok(Self(entries))
        } else {
            Err(Malformed {
                rule: "metadata is at most 64 entries, keys of 1 to 128 bytes, values of at most 4096 bytes, no NUL",
            })
        }
    }
}

impl From<Metadata> for BTreeMap<String, String> {
    fn from(metadata: Metadata) -> Self {
        metadata.0
    }
}

impl PortHost {
    /// The host for one port.
    pub fn of(&self, port: u16) -> String {
        self.0.replace("${PORT}", &port.to_string())
    }
}

impl HostRule {
    /// The addresses that it stands for, when it names addresses and no host.
    pub fn range(&self) -> Option<AddressRange> {
        self.0.parse().ok()
    }
}

fn is_volume_path(text: &str) -> bool {
    const SYSTEM: [&str; 10] =
        ["/proc", "/sys", "/dev", "/run/carrel", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];
    let plain = |name: &str| !name.is_empty() && name != "." && name != "..";
    let beneath = |folder: &str| text.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    text.len() <= 255
        && text.len() > 1
        && text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(plain))
        && !text.contains(|c: char| c.is_control())
        && !SYSTEM.iter().any(|folder| beneath(folder))
        && text != "/run"
}

/// At most this many hosts that headers are for, and this many headers for each.
pub const MOST_HEADERS: (usize, usize) = (10, 20);
/// At most this many volumes in one sandbox.
pub const MOST_VOLUMES: usize = 16;
/// At most this many environment variables.
pub const MOST_ENV: usize = 256;
/// At most this many hosts on the allow list.
pub const MOST_ALLOWED: usize = 256;

fn is_host_rule(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let name = host.strip_prefix("*.").unwrap_or(host);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253
        && name.split('.').all(label)
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|p| p > 0) && !port.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_networks_let_through_what_either_does() {
        let network = |text: &str| serde_json::from_str::<Network>(text).unwrap();
        let (none, npm) = (Network::default(), network(r#"{"mode": "allow", "allow": ["npm.example"]}"#));
        assert!(none.is_none() && none.and(&none).is_none());
        assert_eq!((none.and(&npm), npm.and(&none)), (npm.clone(), npm.clone()));
        let other = r#"{"mode": "allow", "allow": ["pip.example", "npm.example"], "headers": {"pip.example": {"x-key": "${e2b.secrets.pip}"}}}"#;
        let both = npm.and(&network(other));
        assert_eq!(both.allow.iter().map(HostRule::as_str).collect::<Vec<_>>(), ["npm.example", "pip.example"]);
        assert_eq!(both.headers.len(), 1);
        let open = npm.and(&network(r#"{"mode": "open", "allow": []}"#));
        assert_eq!((open.mode, open.allow.len()), (NetworkMode::Open, 0), "a list beside an open door means nothing");
    }

    #[test]
    fn an_allowed_host_is_a_host() {
        for good in
            ["example.org", "*.example.org", "example.org:443", "127.0.0.1", "localhost:8080", "10.0.0.0/8", "::/0"]
        {
            assert!(HostRule::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "*", "http://x", "a b", "a/b", "x:0", "x:99999", "x:+1", "-x.org", "*.*.org", "a..b", "x\n"] {
            assert!(HostRule::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_volume_covers_nothing_of_the_system() {
        for good in ["/data", "/home/user/work", "/mnt/a b", "/usrlocal", "/run/mine"] {
            assert!(VolumePath::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in [
            "", "/", "data", "/data/", "/a//b", "/a/../b", "/./a", "/proc", "/dev/x", "/etc/ssl", "/usr", "/run",
            "/a\nb",
        ] {
            assert!(VolumePath::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_value_of_a_variable_does_not_print_itself() {
        let value = EnvValue::try_from("hunter2".to_owned()).unwrap();
        assert!(!format!("{value:?}").contains("hunter2"));
    }
}
