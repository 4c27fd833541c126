//! `[models]`, `[prices]` and `[budgets]` of the configuration: which models can be asked, and what they may cost.

use std::collections::BTreeMap;

use carrel_control::{Dialect, ModelProvider, Models, Prices};
use carrel_model::{
    ProviderName,
    usage::{Dollars, Price},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    config::Config,
    failure::{Exit, Failure},
};

/// Where models answer, by name: a table with `url` and perhaps `kind`, or the address alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Addresses(BTreeMap<ProviderName, Address>);

/// Prices that go before the listed ones, by the names of models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct OwnPrices(BTreeMap<String, Price>);

/// Where one provider answers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Address {
    url: String,
    kind: Option<Dialect>,
}

impl Default for Addresses {
    fn default() -> Self {
        let known = Models::default().providers.into_values();
        Addresses(known.map(|known| (known.name, Address { url: known.url, kind: None })).collect())
    }
}

impl Serialize for Address {
    /// As short as it can be said, so that one variable of the environment says it all.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(kind) = self.kind else { return serializer.serialize_str(&self.url) };
        BTreeMap::from([("url", self.url.as_str()), ("kind", word(kind))]).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Table(Table),
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            url: String,
            #[serde(default)]
            kind: Option<Dialect>,
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(url) => Address { url, kind: None },
            Written::Table(Table { url, kind }) => Address { url, kind },
        })
    }
}

/// What the house is to know of models, or a sentence about what makes no sense.
pub(crate) fn understood(config: &Config) -> Result<Models, Failure> {
    let mut providers = BTreeMap::new();
    for (name, address) in &config.models.0 {
        let provider = ModelProvider::new(name.clone(), address.kind, &address.url).map_err(|why| {
            let hint = "write `url = \"http://127.0.0.1:11434/v1\"`, and `kind = \"openai\"` or `\"anthropic\"`";
            Failure::new(format!("models.{name}: {why}")).hint(hint).exit(Exit::Usage)
        })?;
        providers.insert(name.clone(), provider);
    }
    let prices = Prices::with(config.prices.0.clone());
    let prices = prices.map_err(|error| Failure::new(format!("prices: {error}")).exit(Exit::Usage))?;
    let some = |budget: Dollars| Some(budget).filter(|budget| *budget > Dollars::ZERO);
    let (task_budget, day_budget) = (some(config.budgets.task_usd), some(config.budgets.day_usd));
    Ok(Models { providers, prices, task_budget, day_budget })
}

fn word(kind: Dialect) -> &'static str {
    match kind {
        Dialect::Anthropic => "anthropic",
        Dialect::Openai => "openai",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::understand, data::DataDir};

    fn models(toml: &str) -> Result<Models, Failure> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("carrel.toml"), toml).unwrap();
        understand(&DataDir::at(folder.path().to_owned()), None, &[]).and_then(|it| understood(&it.config))
    }

    #[test]
    fn models_prices_and_budgets_are_read_from_the_file() {
        let models = models(
            "[models]\nopenai = \"http://127.0.0.1:9/v1\"\n[models.local]\nurl = \"http://gpu:8000\"\nkind = \"anthropic\"\n\
             [prices.\"tiny-1.5\"]\ninput = 0.5\noutput = 1\n[budgets]\nday_usd = 2.5\n",
        )
        .unwrap();
        let provider = |name: &str| &models.providers[&name.parse::<ProviderName>().unwrap()];
        assert_eq!((provider("openai").url.as_str(), provider("openai").needs_key), ("http://127.0.0.1:9", false));
        assert_eq!(
            (provider("local").dialect, provider("local").secret.as_str()),
            (Dialect::Anthropic, "local-api-key")
        );
        assert!(provider("anthropic").needs_key, "what is not said is as everybody knows it");
        assert_eq!(models.prices.of("tiny-1.5").unwrap().output, 1.0);
        assert_eq!((models.task_budget, models.day_budget.unwrap().micros()), (None, 2_500_000));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [
            "[models]\nopenai = \"nowhere\"\n",
            "[models.local]\nurl = \"http://x\"\nkind = \"other\"\n",
            "[models.local]\nkind = \"openai\"\n",
            "[models.local]\nurl = \"http://me:key@x\"\n",
            "[prices.x]\ninput = -1\n",
            "[prices.x]\noutput = 1\n",
            "[budgets]\nday_usd = -1\n",
            "[budgets]\nweek_usd = 1\n",
        ] {
            assert!(models(bad).is_err(), "{bad:?} was taken");
        }
    }
}
