//! The configuration: defaults, then `carrel.toml`, then the environment, then flags; and where each value came from.

use std::{collections::BTreeMap, num::NonZeroU32, path::Path, time::Duration};

use carrel_control::{Patience, Retention};
use carrel_model::{ProviderName, TemplateName, breaker::Rules, number::Cpus, public::Defaults, sandbox};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::{
    data::DataDir,
    failure::{Exit, Failure},
};

/// Everything that can be configured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) database: Database,
    pub(crate) sandboxes: Sandboxes,
    pub(crate) keepers: Keepers,
    pub(crate) retention: Remember,
    pub(crate) limits: Limits,
    pub(crate) fake: Fake,
    pub(crate) log: Log,
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

section!(
    /// The doors.
    Server {
        listen: String = "127.0.0.1:7070".into(),
        /// What browsers see, when it is not `listen`: `https://carrel.example`.
        public_url: String = String::new(),
        drain_s: u64 = 30,
    }
);
section!(
    /// The memory.
    Database {
        /// SQLite in the data directory when empty.
        url: String = String::new(),
        schema: String = "carrel".into(),
        connections: u32 = 16,
    }
);
section!(
    /// What a sandbox gets where a request is silent.
    Sandboxes {
        provider: ProviderName = "fake".parse().expect("a good name"),
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
        at_once: usize = 64,
        lease_s: u64 = 15,
        sweep_s: u64 = 30,
        step_s: u64 = 600,
        first_retry_ms: u64 = 200,
        longest_retry_s: u64 = 60,
        tries: u32 = 10,
        breaker_failures: u32 = 5,
        breaker_rest_s: u32 = 15,
    }
);
section!(
    /// How long things are remembered.
    Remember {
        journal_days: u32 = 7,
        transcript_days: u32 = 30,
        request_hours: u32 = 24,
    }
);
section!(
    /// How much one key may ask.
    Limits {
        /// No limit when zero.
        requests_per_second: u32 = 500,
        burst: u32 = 1000,
    }
);
section!(
    /// The provider that only remembers.
    Fake {
        /// In the data directory when empty.
        folder: String = String::new(),
        create_ms: u64 = 0,
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
                Some(text) => text.to_owned(),
                None => value.to_string(),
            };
            flat.insert(format!("{section}.{key}"), text);
        }
    }
    flat
}

impl Config {
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
            lease: Duration::from_secs(keepers.lease_s.max(1)),
            sweep: Duration::from_secs(keepers.sweep_s.max(1)),
            step: Duration::from_secs(keepers.step_s.max(1)),
            first_retry: Duration::from_millis(keepers.first_retry_ms.max(1)),
            longest_retry: Duration::from_secs(keepers.longest_retry_s.max(1)),
            tries: keepers.tries.max(1),
            breaker: Rules {
                failures: keepers.breaker_failures.max(1),
                rest: SignedDuration::from_secs(keepers.breaker_rest_s.max(1).into()),
            },
        }
    }

    pub(crate) fn retention(&self) -> Retention {
        let keep = &self.retention;
        Retention {
            journal: SignedDuration::from_hours(i64::from(keep.journal_days) * 24),
            transcripts: SignedDuration::from_hours(i64::from(keep.transcript_days) * 24),
            requests: SignedDuration::from_hours(keep.request_hours.into()),
        }
    }

    pub(crate) fn request_rate(&self) -> (Option<NonZeroU32>, NonZeroU32) {
        let rate = NonZeroU32::new(self.limits.requests_per_second);
        (rate, NonZeroU32::new(self.limits.burst).unwrap_or(NonZeroU32::MIN))
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
    fn a_flag_goes_before_the_file_and_says_so() {
        let (folder, data) = data();
        std::fs::write(folder.path().join("carrel.toml"), "[server]\nlisten = \"127.0.0.1:1\"\ndrain_s = 3\n").unwrap();
        let understood = understand(&data, None, &[("server.listen", Some("127.0.0.1:2".into()))]).unwrap();
        assert_eq!((understood.config.server.listen.as_str(), understood.config.server.drain_s), ("127.0.0.1:2", 3));
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
        assert_eq!(understood.origins["database.url"].0, "postgres://me@h/x");
        assert!(understood.config.database.url.contains("hunter2"));
    }
}
