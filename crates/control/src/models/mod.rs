//! The models that can be asked through the house: where they answer, what opens them, what they cost.

mod prices;

use std::collections::BTreeMap;

use carrel_model::{
    ProviderName, SecretName,
    usage::{Dialect, Dollars},
};

pub use prices::{BadPrice, Prices};

/// What the house knows of models.
#[derive(Debug, Clone)]
pub struct Models {
    /// Who answers, by name.
    pub providers: BTreeMap<ProviderName, ModelProvider>,
    /// What they cost.
    pub prices: Prices,
    /// What a task may cost that says nothing itself.
    pub task_budget: Option<Dollars>,
    /// What everything together may cost in one day, in UTC.
    pub day_budget: Option<Dollars>,
}

/// Somebody who answers for models: a company, or a server in the next room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProvider {
    /// What it is called here.
    pub name: ProviderName,
    /// What it speaks.
    pub dialect: Dialect,
    /// Where it is: what stands before `/v1/…`, without a slash at the end.
    pub url: String,
    /// The secret that opens it.
    pub secret: SecretName,
    /// Whether it answers nobody without a key.
    pub needs_key: bool,
}

/// Where those two are that everybody knows.
const WELL_KNOWN: [(&str, Dialect, &str); 2] = [
    ("anthropic", Dialect::Anthropic, "https://api.anthropic.com"),
    ("openai", Dialect::Openai, "https://api.openai.com"),
];

impl Default for Models {
    /// Those that everybody knows, at their own addresses and prices, with no budget.
    fn default() -> Self {
        let known = WELL_KNOWN.iter().filter_map(|(name, dialect, url)| {
            let provider = ModelProvider::new(name.parse().ok()?, Some(*dialect), url).ok()?;
            Some((provider.name.clone(), provider))
        });
        Models { providers: known.collect(), prices: Prices::default(), task_budget: None, day_budget: None }
    }
}

impl ModelProvider {
    /// A provider at an address. The address may end with `/v1`, as many write it. What is left open of a well-known one is
    /// known; another speaks OpenAI's dialect, as local models do.
    pub fn new(name: ProviderName, dialect: Option<Dialect>, url: &str) -> Result<ModelProvider, String> {
        let known = WELL_KNOWN.iter().find(|(known, ..)| *known == name.as_str());
        let url = url.trim().trim_end_matches('/');
        let url = url.strip_suffix("/v1").unwrap_or(url);
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let authority = rest.map(|rest| rest.split('/').next().unwrap_or_default());
        let plain = |c: char| c.is_ascii_graphic() && !"?#\\\"<>^`{|}".contains(c);
        match authority {
            Some(authority) if authority.contains('@') => {
                return Err("a key does not belong into an address; use `carrel secret set`".into());
            }
            Some(authority) if !authority.is_empty() && url.chars().all(plain) => {}
            _ => return Err(format!("`{url}` is not an address such as http://127.0.0.1:11434/v1")),
        }
        let secret = format!("{name}-api-key");
        Ok(ModelProvider {
            dialect: dialect.or(known.map(|(_, dialect, _)| *dialect)).unwrap_or(Dialect::Openai),
            needs_key: known.is_some_and(|(.., home)| *home == url),
            secret: secret.parse().map_err(|_| format!("the name `{name}` is too long"))?,
            url: url.to_owned(),
            name,
        })
    }

    /// The variable in which its key may also stand, when there is one.
    pub fn variable(&self) -> Option<&'static str> {
        let known = carrel_model::secret::KNOWN.iter().find(|(name, _)| *name == self.secret.as_str());
        known.and_then(|(_, variable)| *variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, url: &str) -> Result<ModelProvider, String> {
        ModelProvider::new(name.parse().unwrap(), None, url)
    }

    #[test]
    fn an_address_is_taken_with_and_without_its_version() {
        for url in ["http://127.0.0.1:11434", "http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1/"] {
            assert_eq!(at("local", url).unwrap().url, "http://127.0.0.1:11434");
        }
        let proxy = at("anthropic", "https://models.example/anthropic").unwrap();
        assert_eq!((proxy.dialect, proxy.needs_key), (Dialect::Anthropic, false));
        assert!(at("openai", "https://api.openai.com/v1").unwrap().needs_key);
    }

    #[test]
    fn what_is_no_address_or_holds_a_key_is_refused() {
        for bad in ["", "ftp://x", "https://", "https://me:key@host/", "http://host/?key=1", "http://ho st", "host"] {
            assert!(at("local", bad).is_err(), "{bad:?}");
        }
    }
}
