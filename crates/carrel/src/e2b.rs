//! E2B as an engine: from the configuration to the provider, and what is said when a key is missing.

use std::time::Duration;

use carrel_model::sandbox::Isolation;
use carrel_sandbox::{
    Fitness, Provider, ProviderError,
    providers::e2b::{CLOUD, Config as Settings, E2b},
};

use crate::{
    config::{Config, E2b as Section},
    failure::{Exit, Failure},
};

/// How long `carrel doctor` waits for E2B.
const PATIENCE: Duration = Duration::from_secs(10);

/// The provider as it is configured. `mark` is the house's; `front` is where this server itself answers.
pub(crate) fn open(config: &Config, mark: String, front: &str) -> Result<E2b, Failure> {
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let section = &config.e2b;
    // Whoever has the SDKs point at this server has the same variables set for it. It must not be its own engine.
    let is_itself = given(&section.api_url).is_some_and(|url| url.trim_end_matches('/') == front);
    if is_itself {
        tracing::warn!("E2B_API_URL is this server itself; it has no other E2B to work with");
    }
    let settings = Settings {
        api_url: given(&section.api_url),
        sandbox_url: given(&section.sandbox_url),
        domain: given(&section.domain).unwrap_or_else(|| CLOUD.to_owned()),
        api_key: section.api_key.reveal().filter(|_| !is_itself).map(|key| key.to_owned().into()),
        house: mark,
        templates: section.templates.0.clone(),
        lease: Duration::from_secs(section.lease_s.get()),
    };
    settings.build().map_err(|error| {
        Failure::new(format!("[e2b]: {error}"))
            .hint("`carrel config` shows where each value came from")
            .exit(Exit::Usage)
    })
}

/// Whether anybody means to use E2B.
fn is_meant(config: &Config) -> bool {
    let Section { api_key, domain, api_url, sandbox_url, .. } = &config.e2b;
    api_key.reveal().is_some()
        || domain != CLOUD
        || !api_url.is_empty()
        || !sandbox_url.is_empty()
        || config.sandboxes.provider.as_str() == "e2b"
}

/// What is wrong with the configuration, to be said at the start.
pub(crate) fn warnings(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    if is_meant(config) && config.e2b.api_key.reveal().is_none() {
        warnings.push("E2B is configured and has no key: set E2B_API_KEY".to_owned());
    }
    let (lease, sweep) = (config.e2b.lease_s.get(), config.keepers.sweep_s.get());
    if is_meant(config) && sweep.saturating_mul(3) > lease {
        warnings.push(format!(
            "e2b.lease_s ({lease} s) is short beside keepers.sweep_s ({sweep} s): sandboxes at E2B may fall asleep in between"
        ));
    }
    warnings
}

/// What `carrel doctor` says of E2B: whether it can be used, and a sentence. Nothing when nobody means to.
pub(crate) async fn examine(config: &Config) -> Option<Result<String, String>> {
    if !is_meant(config) {
        return None;
    }
    let provider = match open(config, "doctor".into(), "") {
        Ok(provider) => provider,
        Err(failure) => return Some(Err(failure.to_string())),
    };
    let probed: Result<Fitness, ProviderError> = match tokio::time::timeout(PATIENCE, provider.probe()).await {
        Ok(probed) => probed,
        Err(_) => return Some(Err(format!("no answer within {PATIENCE:?}"))),
    };
    Some(match probed {
        Ok(fitness) if fitness.isolation.contains(&Isolation::E2b) => {
            Ok(format!("the key is accepted; {} templates", fitness.templates.len()))
        }
        Ok(fitness) => Err(fitness.missing.join(" ")),
        Err(error) => Err(error.to_string()),
    })
}
