//! What the outside may ask for. Unknown fields are refused; every field is checked by its type.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, value::MapAccessDeserializer},
};
use utoipa::ToSchema;

use super::{FieldProblem, NewExec};
use crate::{
    AgentId, Branch, ProviderName, RepoName, Role, SandboxId, TaskId, TemplateName, VolumeName,
    number::{Cpus, Whole},
    sandbox::{
        AddressRange, AtEnd, Depth, DiskMb, EnvName, EnvValue, ExitProxy, Headers, HostRule, Isolation, Lifetime,
        Limits, MOST_ENV, Manners, MemoryMb, Metadata, Network, NetworkMode, Pids, PortAccess, PortHost, Spec,
        VolumePath,
    },
};

/// Asks for a sandbox. Everything has a default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSandbox {
    /// What it starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateName>,
    /// Where it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// How strongly it is kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The agent it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The repository that it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoName>,
    /// Checks the repository out at `/workspace`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub checkout: Option<NewCheckout>,
    /// Environment of everything that runs inside: at most 256 variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub env: Option<BTreeMap<EnvName, EnvValue>>,
    /// What you write on it: at most 64 entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// How many seconds it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 2_592_000)]
    pub timeout_s: Option<Lifetime>,
    /// Pause it, do not end it, when its lifetime has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_pause: Option<bool>,
    /// Bring it back by itself when somebody wants something inside while it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_resume: Option<bool>,
    /// Pause it when nothing was active for so many seconds: no command, no terminal, no traffic on a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 2_592_000)]
    pub idle_s: Option<Lifetime>,
    /// How much it may use.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub limits: Option<NewLimits>,
    /// Whom it may talk to.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub network: Option<NewNetwork>,
    /// Who may call its ports by its own host name: `keys` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortAccess>,
    /// The host that requests to its ports name, as they arrive inside; `${PORT}` stands for the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_host: Option<PortHost>,
    /// The ports on which what listens inside speaks TLS itself, with any certificate: at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ports: Option<Vec<u16>>,
    /// How deep it sleeps when its lifetime or its idleness pauses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_depth: Option<Depth>,
    /// The volumes that are mounted in it, at most 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<NewVolumeMount>>,
    /// A command that is run in it as soon as it is ready. The answer then waits for both, and tells how the command went.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub exec: Option<NewExec>,
}

/// How much a sandbox may use; what is left out has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLimits {
    /// Processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0.1, maximum = 64)]
    pub cpus: Option<Cpus>,
    /// Memory in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 16, maximum = 1_048_576)]
    pub memory_mb: Option<MemoryMb>,
    /// Disk in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 16, maximum = 16_777_216)]
    pub disk_mb: Option<DiskMb>,
    /// Processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 8, maximum = 1_048_576)]
    pub pids: Option<Pids>,
}

/// A volume that is to be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVolumeMount {
    /// What it is called.
    pub name: VolumeName,
    /// Where it is to be inside.
    pub path: VolumePath,
}

/// Whom a sandbox may talk to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewNetwork {
    /// How open it is.
    pub mode: NetworkMode,
    /// With mode `allow`: at most 256 hosts that may be reached. With mode `open` and `deny`: those that may be reached anyway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<HostRule>,
    /// With mode `open`: at most 256 addresses and ranges of addresses that may not be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub deny: Vec<AddressRange>,
    /// Headers that are put into requests to a host, at most 10 hosts with 20 headers each. `${e2b.secrets.NAME}` stands
    /// for a secret, which never comes into the sandbox.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, BTreeMap<String, String>>)]
    pub headers: Headers,
    /// With mode `open`: gives it a network interface of its own, for programs that speak more than TCP or know no proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interface: bool,
    /// A SOCKS5 proxy through which everything leaves. Without it nobody is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ExitProxy>,
}

/// The working tree that a sandbox begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCheckout {
    /// Where it begins, and what the work is for; the default branch of the repository when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Branch>,
    /// What is checked out; the branch of the task when left out, or the base where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
}

/// Starts a lifetime anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTimeout {
    /// How many seconds it lives from now on.
    #[schema(value_type = u64, minimum = 1, maximum = 2_592_000)]
    pub timeout_s: Lifetime,
}

/// Asks for a pause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPause {
    /// How deep it shall sleep: `frozen` when left out. Where that cannot be had it sleeps less deep, and says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
}

/// Asks for a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSnapshot {
    /// What to call it; its template is then `snapshot/NAME`. A name is found when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<TemplateName>,
    /// Keep the memory of its processes too, where that can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<bool>,
}

/// Asks for copies of a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFork {
    /// How many: 1 to 100, one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 100)]
    pub count: Option<Whole<1, 100>>,
    /// Copy the memory of its processes too, where that can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<bool>,
}

/// Asks for a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// What people will call it: 1 to 64 characters.
    #[schema(min_length = 1, max_length = 64)]
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The agent it is bound to; with the role `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The sandbox it is bound to; with the role `sandbox`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<SandboxId>,
    /// After how many seconds it is void; never when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 2_592_000)]
    pub expires_in_s: Option<Lifetime>,
}

/// Changes who holds a key, or what they may do; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyChange {
    /// What people call it from now on: 1 to 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64)]
    pub name: Option<String>,
    /// What it may do from now on: `admin` or `member`. A key of an agent or a sandbox stays what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// Signs a browser in: by the code of a sign-in link, or by a key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "CodeOrKey", rename_all = "snake_case")]
pub enum SignIn {
    /// The code of a sign-in link. It works once.
    Code(String),
    /// A key.
    Key(String),
}

/// How a sign-in is read: serde's own way with enums blames the JSON where a field is wrong.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeOrKey {
    code: Option<String>,
    key: Option<String>,
}

impl TryFrom<CodeOrKey> for SignIn {
    type Error = &'static str;
    fn try_from(asked: CodeOrKey) -> Result<SignIn, Self::Error> {
        match (asked.code, asked.key) {
            (Some(code), None) => Ok(SignIn::Code(code)),
            (None, Some(key)) => Ok(SignIn::Key(key)),
            _ => Err("expected either a `code` or a `key`"),
        }
    }
}

/// What a sandbox gets where the request is silent.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// The template.
    pub template: TemplateName,
    /// The provider.
    pub provider: ProviderName,
    /// The lifetime.
    pub lifetime: Lifetime,
    /// The limits.
    pub limits: Limits,
}

/// Reads an object. Left to itself serde also takes a list for one, field by field.
pub fn an_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    struct Reader<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Reader<T> {
        type Value = Option<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }
    deserializer.deserialize_any(Reader(PhantomData))
}

/// More ports than these speak no TLS of their own.
const MOST_TLS_PORTS: usize = 64;

/// A field with its complaint, to be collected.
pub type Field = FieldProblem;

impl NewSandbox {
    /// How it behaves while nobody looks.
    pub fn manners(&self) -> Manners {
        Manners { auto_resume: self.auto_resume.unwrap_or(false), idle: self.idle_s }
    }

    /// The whole spec, with defaults; `isolation` is what the chosen provider gives when the request is silent.
    pub fn into_spec(self, defaults: &Defaults, isolation: Isolation) -> Result<Spec, Vec<Field>> {
        let mut wrong = Vec::new();
        let env = self.env.unwrap_or_default();
        if env.len() > MOST_ENV {
            let detail = format!("at most {MOST_ENV} variables; there are {}", env.len());
            wrong.push(Field { field: "env".into(), detail });
        }
        let network = self.network.unwrap_or_default().policy().unwrap_or_else(|fields| {
            wrong.extend(fields);
            Network::default()
        });
        let tls_ports = self.tls_ports.unwrap_or_default();
        if tls_ports.len() > MOST_TLS_PORTS || tls_ports.contains(&0) {
            let detail = format!("at most {MOST_TLS_PORTS} ports, from 1 to 65535");
            wrong.push(Field { field: "tls_ports".into(), detail });
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let limits = self.limits.unwrap_or_default();
        Ok(Spec {
            template: self.template.unwrap_or_else(|| defaults.template.clone()),
            provider: self.provider.unwrap_or_else(|| defaults.provider.clone()),
            isolation: self.isolation.unwrap_or(isolation),
            agent_id: self.agent_id,
            task_id: self.task_id,
            repo: self.repo,
            checkout: None,
            env,
            metadata: self.metadata.unwrap_or_default(),
            lifetime: self.timeout_s.unwrap_or(defaults.lifetime),
            at_end: if self.auto_pause.unwrap_or(false) { AtEnd::Pause } else { AtEnd::Destroy },
            limits: Limits {
                cpus: limits.cpus.unwrap_or(defaults.limits.cpus),
                memory_mb: limits.memory_mb.unwrap_or(defaults.limits.memory_mb),
                disk_mb: limits.disk_mb.unwrap_or(defaults.limits.disk_mb),
                pids: limits.pids.unwrap_or(defaults.limits.pids),
            },
            network,
            ports: self.ports.unwrap_or_default(),
            port_host: self.port_host,
            tls_ports,
            pause_depth: self.pause_depth.unwrap_or_default(),
            volumes: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_refused_by_name() {
        let refusal = serde_json::from_str::<NewSandbox>(r#"{"tempalte": "host"}"#).unwrap_err().to_string();
        assert!(refusal.contains("tempalte") && refusal.contains("template"), "{refusal}");
        assert!(serde_json::from_str::<NewSandbox>(r#"{"limits": {"cpu": 1}}"#).is_err());
    }

    #[test]
    fn a_sign_in_is_a_code_or_a_key() {
        assert!(matches!(serde_json::from_str(r#"{"code": "abc"}"#), Ok(SignIn::Code(_))));
        assert!(matches!(serde_json::from_str(r#"{"key": "crl_"}"#), Ok(SignIn::Key(_))));
        assert!(serde_json::from_str::<SignIn>("{}").is_err());
    }
}
