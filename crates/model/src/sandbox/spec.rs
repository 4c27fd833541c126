//! What a sandbox is asked to be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentId, Malformed, ProviderName, RepoName, TaskId, TemplateName,
    number::{Cpus, Whole},
};

use super::Checkout;

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
    /// With mode `allow`: the hosts that may be reached.
    pub allow: Vec<HostRule>,
    /// With mode `open`: it has a network interface of its own besides the proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interface: bool,
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

checked_text!(
    /// A host that may be reached: a name, `*.name`, or either with a port.
    #[derive(Debug)]
    HostRule,
    "an allowed host is a name such as `example.org`, `*.example.org` or `example.org:443`, at most 253 characters",
    is_host_rule
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
    fn an_allowed_host_is_a_host() {
        for good in ["example.org", "*.example.org", "example.org:443", "127.0.0.1", "localhost:8080"] {
            assert!(HostRule::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "*", "http://x", "a b", "a/b", "x:0", "x:99999", "x:+1", "-x.org", "*.*.org", "a..b", "x\n"] {
            assert!(HostRule::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_value_of_a_variable_does_not_print_itself() {
        let value = EnvValue::try_from("hunter2".to_owned()).unwrap();
        assert!(!format!("{value:?}").contains("hunter2"));
    }
}
