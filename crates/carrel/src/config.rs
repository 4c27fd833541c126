//! The configuration: defaults, then `carrel.toml`, then the environment, then flags; and where each value came from.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use carrel_control::{self as control, Patience, Retention};
use carrel_model::{
    AgentId, ProviderName, TemplateName,
    breaker::Rules,
    number::{Cpus, Whole},
    public::Defaults,
    sandbox,
    usage::Dollars,
};
use carrel_sandbox::providers::e2b;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::{
    data::DataDir,
    failure::{Exit, Failure},
    values::{Hidden, Renamed},
};

/// Variables of the field that keep their meaning, and our keys for them.
const KNOWN: [(&str, &str); 5] = [
    ("REDIS_URL", "nodes.redis"),
    ("E2B_API_KEY", "e2b.api_key"),
    ("E2B_DOMAIN", "e2b.domain"),
    ("E2B_API_URL", "e2b.api_url"),
    ("E2B_SANDBOX_URL", "e2b.sandbox_url"),
];

/// Everything that can be configured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) database: Database,
    pub(crate) nodes: Nodes,
    pub(crate) sandboxes: Sandboxes,
    pub(crate) keepers: Keepers,
    pub(crate) retention: Remember,
    pub(crate) limits: Limits,
    pub(crate) work: Work,
    pub(crate) hooks: Hooks,
    pub(crate) local: Local,
    pub(crate) oci: Oci,
    pub(crate) e2b: E2b,
    pub(crate) fake: Fake,
    pub(crate) log: Log,
    pub(crate) models: crate::models::Addresses,
    #[serde(default)]
    pub(crate) prices: crate::models::OwnPrices,
    pub(crate) budgets: Budgets,
    pub(crate) quotas: Quotas,
}

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty = $default:expr),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name { $($(#[$field_doc])* pub(crate) $field: $kind),+ }
        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),+ }
            }
        }
    };
}

/// A default that is in its own range.
fn whole<const LEAST: u64, const MOST: u64>(number: u64) -> Whole<LEAST, MOST> {
    Whole::new(number).expect("a default is in its range")
}

section!(
    /// The doors.
    Server {
        listen: String = "127.0.0.1:7070".into(),
        /// What browsers see, when it is not `listen`: `https://carrel.example`.
        public_url: String = String::new(),
        /// A certificate and its key, as PEM files: then we are called by https alone. `carrel tls init` makes them.
        tls_cert: String = String::new(),
        tls_key: String = String::new(),
        /// The domain below which sandboxes have names (`3000-ID.DOMAIN`), when it is not the name that clients call us by.
        sandbox_domain: String = String::new(),
        drain_s: Whole<0, 3600> = whole(30),
        /// How long whoever calls may take to say what they want.
        headers_s: Whole<1, 3600> = whole(30),
        /// How long open connections are told to go elsewhere before they are closed.
        notice_ms: Whole<0, 60_000> = whole(500),
    }
);
section!(
    /// The memory.
    Database {
        /// SQLite in the data directory when empty.
        url: String = String::new(),
        schema: String = "carrel".into(),
        connections: Whole<3, 1000> = whole(16),
    }
);
section!(
    /// Several servers that are one house.
    Nodes {
        /// Where other nodes reach this one, when it is not what browsers see: `http://10.0.0.5:7070`.
        url: String = String::new(),
        /// The folder that all nodes share, for the repositories; in the data directory when empty.
        library: String = String::new(),
        /// Who vouches for the certificates of other nodes (PEM), when they are not known everywhere.
        ca: String = String::new(),
        /// A Redis that all nodes share: `redis://:PASSWORD@host:6379/0`. Better in the environment than in a file.
        redis: Hidden = Hidden::default(),
    }
);
section!(
    /// What a sandbox gets where a request is silent.
    Sandboxes {
        provider: ProviderName = "local".parse().expect("a good name"),
        template: TemplateName = "host".parse().expect("a good name"),
        timeout_s: sandbox::Lifetime = sandbox::Lifetime::new(3600).expect("in range"),
        cpus: Cpus = Cpus::new(2.0).expect("in range"),
        memory_mb: sandbox::MemoryMb = sandbox::MemoryMb::new(2048).expect("in range"),
        disk_mb: sandbox::DiskMb = sandbox::DiskMb::new(10_240).expect("in range"),
        pids: sandbox::Pids = sandbox::Pids::new(1024).expect("in range"),
    }
);
section!(
    /// How patient the keepers are.
    Keepers {
        at_once: Whole<1, 10_000> = whole(64),
        lease_s: Whole<1, 3600> = whole(15),
        sweep_s: Whole<1, 3600> = whole(30),
        step_s: Whole<1, 86_400> = whole(600),
        first_retry_ms: Whole<1, 600_000> = whole(200),
        longest_retry_s: Whole<1, 86_400> = whole(60),
        tries: Whole<1, 1_000_000> = whole(10),
        breaker_failures: Whole<1, 1_000_000> = whole(5),
        breaker_rest_s: Whole<1, 86_400> = whole(15),
    }
);
section!(
    /// How long things are remembered.
    Remember {
        journal_days: Whole<1, 36_500> = whole(7),
        transcript_days: Whole<1, 36_500> = whole(30),
        kept_days: Whole<1, 36_500> = whole(90),
        request_hours: Whole<1, 8_760> = whole(24),
        /// Rows of sandboxes that are gone; for good when zero.
        gone_days: Whole<0, 36_500> = whole(0),
    }
);
section!(
    /// Webhooks out.
    Hooks {
        /// Whether they may lead into private networks and to this host.
        private: bool = false,
    }
);
section!(
    /// How much one key may ask.
    Limits {
        /// No limit when zero.
        requests_per_second: Whole<0, 1_000_000> = whole(500),
        burst: Whole<1, 1_000_000> = whole(1000),
    }
);
section!(
    /// How tasks are given out.
    Work {
        /// Who works when nobody says.
        agent: AgentId = "demo".parse().expect("a good name"),
        /// How many tasks are worked on at the same time.
        at_once: Whole<1, 10_000> = whole(16),
        /// How many of them in one repository.
        per_repo: Whole<1, 10_000> = whole(16),
        /// How long nothing may happen at a desk before it is paused; never when zero.
        idle_s: Whole<0, 2_592_000> = whole(300),
        /// How often the work of a turn in flight is saved.
        save_s: Whole<1, 86_400> = whole(30),
        /// After how many failures in a row a person is asked.
        tries: Whole<1, 1000> = whole(5),
    }
);
section!(
    /// Sandboxes on this machine's own kernel.
    Local {
        /// How many slots wait for each template and size that is in use; none when zero.
        pool: Whole<0, 10_000> = whole(4),
        /// How many wait for all of them together.
        pool_cap: Whole<0, 100_000> = whole(16),
        /// How many shells wait for templates that nothing waits for: namespaces and cgroups, without a root.
        shells: Whole<0, 1000> = whole(2),
        /// What sandboxes write to: `auto`, `folder` or `image`.
        disk: String = "auto".into(),
        /// How large an image may grow, in GiB; half of what is free when zero.
        disk_gb: Whole<0, 1_048_576> = whole(0),
        /// When the template of the code interpreter is made: `asked`, by the first who wants it, or `ahead`, at the start.
        interpreter: String = "asked".into(),
    }
);
section!(
    /// Sandboxes in a container runtime of this machine: gVisor, for code from strangers.
    Oci {
        /// `auto` takes the best one that is installed and works; `none` goes without; or the path of one.
        runtime: String = "auto".into(),
    }
);
section!(
    /// Sandboxes at E2B, or at a cluster that speaks its API.
    E2b {
        /// What E2B wants to be shown. Better in the environment than in a file.
        api_key: Hidden = Hidden::default(),
        domain: String = e2b::CLOUD.into(),
        /// The control plane; `https://api.DOMAIN` when empty.
        api_url: String = String::new(),
        /// One address for all sandboxes; by the domain when empty.
        sandbox_url: String = String::new(),
        /// What E2B calls our templates, where the names differ.
        templates: Renamed = Renamed([("host".parse().expect("a good name"), "base".into())].into()),
        /// How long a sandbox stays awake there while nobody prolongs it.
        lease_s: Whole<120, 86_400> = whole(3600),
    }
);
section!(
    /// The provider that only remembers.
    Fake {
        /// In the data directory when empty.
        folder: String = String::new(),
        create_ms: Whole<0, 3_600_000> = whole(0),
        /// Several nodes look at the same folder.
        shared: bool = false,
    }
);
section!(
    /// What is written to standard error.
    Log {
        level: String = "info".into(),
        /// `text` or `json`.
        format: String = "text".into(),
    }
);

section!(
    /// What models may cost. Nothing is stopped when zero.
    Budgets {
        /// A task that says nothing itself.
        task_usd: Dollars = Dollars::ZERO,
        /// Everything together in one day, in UTC.
        day_usd: Dollars = Dollars::ZERO,
    }
);

section!(
    /// How much one member and one repository may have. Nothing is refused when zero; admins are never refused.
    Quotas {
        /// Sandboxes that live, besides the desks of tasks.
        member_sandboxes: Whole<0, 1_000_000> = whole(0),
        /// Tasks that are not merged or closed.
        member_tasks: Whole<0, 1_000_000> = whole(0),
        /// What models may cost in one day, in UTC.
        member_day_usd: Dollars = Dollars::ZERO,
        /// Tasks that are not merged or closed.
        repo_tasks: Whole<0, 1_000_000> = whole(0),
        /// What models may cost in one day, in UTC.
        repo_day_usd: Dollars = Dollars::ZERO,
        /// How many MiB its mirror may take before nothing new begins in it.
        repo_disk_mb: Whole<0, 1_073_741_824> = whole(0),
    }
);

/// A configuration, and where each of its values came from.
pub(crate) struct Understood {
    pub(crate) config: Config,
    pub(crate) origins: BTreeMap<String, (String, String)>,
    /// What was set and has no effect.
    pub(crate) warnings: Vec<String>,
}

/// Puts the layers on top of each other. `flags` are the keys that the command line set.
pub(crate) fn understand(
    data: &DataDir,
    file: Option<&Path>,
    flags: &[(&str, Option<String>)],
) -> Result<Understood, Failure> {
    let keys = known_keys();
    let mut origins: BTreeMap<String, String> = keys.iter().map(|key| (key.clone(), "default".into())).collect();
    let defaults = config::Config::try_from(&Config::default()).map_err(|error| broken("the defaults", &error))?;
    let mut layers = config::Config::builder().add_source(defaults);

    let usual = data.path().join("carrel.toml");
    let file = file.map(|path| (path, true)).or_else(|| usual.exists().then_some((usual.as_path(), false)));
    if let Some((path, _)) = file {
        let place = path.display().to_string();
        let source = config::File::from(path).format(config::FileFormat::Toml).required(true);
        let alone =
            config::Config::builder().add_source(source.clone()).build().map_err(|error| broken(&place, &error))?;
        for key in &keys {
            if alone.get::<config::Value>(key).is_ok() {
                origins.insert(key.clone(), place.clone());
            }
        }
        layers = layers.add_source(source);
    }
    let mut warnings = Vec::new();
    let mut set: Vec<(String, String, String)> = Vec::new();
    if let Ok(url) = std::env::var("DATABASE_URL") {
        match carrel_store::Database::parse(&url) {
            Ok(_) => set.push(("database.url".into(), url, "DATABASE_URL".into())),
            Err(error) => warnings.push(format!("DATABASE_URL is left alone: {error}")),
        }
    }
    for (name, key) in KNOWN {
        if let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty()) {
            set.push((key.into(), value, name.into()));
        }
    }
    let names: Vec<_> = keys.iter().map(|key| format!("CARREL_{}", key.replace('.', "_").to_uppercase())).collect();
    let sections: Vec<_> =
        keys.iter().filter_map(|key| Some(format!("CARREL_{}_", key.split_once('.')?.0.to_uppercase()))).collect();
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if sections.iter().any(|section| name.starts_with(section.as_str()))
            && !names.iter().any(|known| *known == name)
        {
            warnings.push(format!("{name} means nothing here; `carrel config` lists what does"));
        }
    }
    for key in &keys {
        let name = format!("CARREL_{}", key.replace('.', "_").to_uppercase());
        if let Ok(value) = std::env::var(&name) {
            set.push((key.clone(), value, name));
        }
    }
    for (key, value) in flags {
        if let Some(value) = value {
            set.push(((*key).to_owned(), value.clone(), "flag".into()));
        }
    }
    let place = file.map_or("the configuration".to_owned(), |(path, _)| path.display().to_string());
    let mut config = read(&layers, &place)?;
    // One by one, so that the one that makes no sense is blamed.
    for (key, value, origin) in set {
        layers = layers.set_override(&key, value).map_err(|error| broken(&origin, &error))?;
        let place = if origin == "flag" { format!("the flag for {key}") } else { origin.clone() };
        config = read(&layers, &place)?;
        origins.insert(key, origin);
    }
    let values = flatten(&config);
    let origins = origins.into_iter().map(|(key, origin)| {
        let value = values.get(&key).cloned().unwrap_or_default();
        (key, (value, origin))
    });
    Ok(Understood { origins: origins.collect(), config, warnings })
}

fn read(layers: &config::ConfigBuilder<config::builder::DefaultState>, place: &str) -> Result<Config, Failure> {
    let understood = layers.clone().build().and_then(config::Config::try_deserialize::<Config>);
    understood.map_err(|error| broken(place, &error))
}

fn broken(place: &str, error: &config::ConfigError) -> Failure {
    Failure::new(format!("{place} cannot be understood: {error}"))
        .hint("`carrel config` without it lists every key and its default")
        .exit(Exit::Usage)
}

fn known_keys() -> Vec<String> {
    flatten(&Config::default()).into_keys().collect()
}

/// `section.key` and its value as text; addresses without their passwords.
fn flatten(config: &Config) -> BTreeMap<String, String> {
    let table = toml::Table::try_from(config).unwrap_or_default();
    let mut flat = BTreeMap::new();
    for (section, values) in table {
        for (key, value) in values.as_table().into_iter().flatten() {
            let text = match value.as_str() {
                Some(url) if section == "database" && key == "url" && !url.is_empty() => {
                    carrel_store::Database::parse(url).map_or_else(|error| error.to_string(), |url| url.to_string())
                }
                Some(text) => without_credentials(text),
                None => value.to_string(),
            };
            flat.insert(format!("{section}.{key}"), text);
        }
    }
    flat
}

/// An address as it may be shown: without who is named in it, and without what is asked of it.
fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |end| rest.split_at(end));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.find(['?', '#']).map_or(path, |end| &path[..end]);
    format!("{scheme}://{host}{path}")
}

impl Config {
    /// The folder that all nodes share, when there is one.
    pub(crate) fn shared_library(&self) -> Option<PathBuf> {
        Some(PathBuf::from(&self.nodes.library)).filter(|folder| !folder.as_os_str().is_empty())
    }

    pub(crate) fn defaults(&self) -> Defaults {
        let sandboxes = &self.sandboxes;
        Defaults {
            template: sandboxes.template.clone(),
            provider: sandboxes.provider.clone(),
            lifetime: sandboxes.timeout_s,
            limits: sandbox::Limits {
                cpus: sandboxes.cpus,
                memory_mb: sandboxes.memory_mb,
                disk_mb: sandboxes.disk_mb,
                pids: sandboxes.pids,
            },
        }
    }

    pub(crate) fn patience(&self) -> Patience {
        let keepers = &self.keepers;
        Patience {
            lease: Duration::from_secs(keepers.lease_s.get()),
            sweep: Duration::from_secs(keepers.sweep_s.get()),
            step: Duration::from_secs(keepers.step_s.get()),
            first_retry: Duration::from_millis(keepers.first_retry_ms.get()),
            longest_retry: Duration::from_secs(keepers.longest_retry_s.get()),
            tries: keepers.tries.get() as u32,
            breaker: Rules {
                failures: keepers.breaker_failures.get() as u32,
                rest: SignedDuration::from_secs(keepers.breaker_rest_s.get() as i64),
            },
        }
    }

    pub(crate) fn work(&self) -> control::Workload {
        let work = &self.work;
        control::Workload {
            agent: work.agent.clone(),
            at_once: work.at_once.get() as usize,
            per_repo: work.per_repo.get() as usize,
            idle: sandbox::Lifetime::new(work.idle_s.get()),
            save_every: Duration::from_secs(work.save_s.get()),
            tries: work.tries.get() as u32,
            quotas: self.quotas(),
        }
    }

    fn quotas(&self) -> control::Quotas {
        let most = |number: u64| Some(number).filter(|number| *number > 0);
        let cost = |budget: Dollars| Some(budget).filter(|budget| *budget > Dollars::ZERO);
        let quotas = &self.quotas;
        control::Quotas {
            member_sandboxes: most(quotas.member_sandboxes.get()),
            member_tasks: most(quotas.member_tasks.get()),
            member_day: cost(quotas.member_day_usd),
            repo_tasks: most(quotas.repo_tasks.get()),
            repo_day: cost(quotas.repo_day_usd),
            repo_disk_mb: most(quotas.repo_disk_mb.get()),
        }
    }

    pub(crate) fn retention(&self) -> Retention {
        let keep = &self.retention;
        Retention {
            journal: SignedDuration::from_hours(keep.journal_days.get() as i64 * 24),
            transcripts: SignedDuration::from_hours(keep.transcript_days.get() as i64 * 24),
            requests: SignedDuration::from_hours(keep.request_hours.get() as i64),
            kept: SignedDuration::from_hours(keep.kept_days.get() as i64 * 24),
            gone: Some(keep.gone_days.get())
                .filter(|days| *days > 0)
                .map(|days| SignedDuration::from_hours(days as i64 * 24)),
        }
    }

    pub(crate) fn request_rate(&self) -> (Option<NonZeroU32>, NonZeroU32) {
        let rate = NonZeroU32::new(self.limits.requests_per_second.get() as u32);
        (rate, NonZeroU32::new(self.limits.burst.get() as u32).unwrap_or(NonZeroU32::MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> (tempfile::TempDir, DataDir) {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::at(folder.path().to_owned());
        (folder, data)
    }

    #[test]
    fn an_address_is_shown_without_its_credentials() {
        for (address, shown) in [
            ("https://user:PASS@host:8443/path?key=PASS#PASS", "https://host:8443/path"),
            ("https://host?token=PASS", "https://host"),
            ("127.0.0.1:7070", "127.0.0.1:7070"),
        ] {
            assert_eq!(without_credentials(address), shown);
        }
    }

    #[test]
    fn the_guide_names_every_key() {
        let guide = include_str!("../../../docs/guides/configuration.md");
        for key in known_keys().iter().filter(|key| !key.starts_with("prices.")) {
            let name = format!("`CARREL_{}`", key.replace('.', "_").to_uppercase());
            assert!(guide.contains(&name), "docs/guides/configuration.md does not name {key}");
        }
    }

    #[test]
    fn a_flag_goes_before_the_file_and_says_so() {
        let (folder, data) = data();
        std::fs::write(folder.path().join("carrel.toml"), "[server]\nlisten = \"127.0.0.1:1\"\ndrain_s = 3\n").unwrap();
        let understood = understand(&data, None, &[("server.listen", Some("127.0.0.1:2".into()))]).unwrap();
        assert_eq!(
            (understood.config.server.listen.as_str(), understood.config.server.drain_s.get()),
            ("127.0.0.1:2", 3)
        );
        assert_eq!(understood.origins["server.listen"].1, "flag");
        assert!(understood.origins["server.drain_s"].1.ends_with("carrel.toml"));
        assert_eq!(understood.origins["limits.burst"], ("1000".into(), "default".into()));
    }

    #[test]
    fn a_key_that_nobody_knows_and_a_value_that_makes_no_sense_are_refused() {
        for bad in [
            "[server]\nlsten = \"x\"\n",
            "[servr]\n",
            "[keepers]\ntries = \"many\"\n",
            "[sandboxes]\ncpus = 1000\n",
            "not toml",
        ] {
            let (folder, data) = data();
            std::fs::write(folder.path().join("carrel.toml"), bad).unwrap();
            assert!(understand(&data, None, &[]).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let (_folder, data) = data();
        let flags = [("database.url", Some("postgres://me:hunter2@h/x".to_owned()))];
        let understood = understand(&data, None, &flags).unwrap();
        assert_eq!(understood.origins["database.url"].0, "postgres://me@h:5432/x");
        assert!(understood.config.database.url.contains("hunter2"));
    }
}
