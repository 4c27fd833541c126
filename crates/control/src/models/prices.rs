//! What models cost: a table that is data, and what the house's own people say differently.

use std::collections::BTreeMap;

use carrel_model::usage::Price;

/// Prices, by the names of models.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

/// A price that no model has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the price of `{model}` makes no sense: write dollars for a million tokens, from 0 to 100000")]
pub struct BadPrice {
    /// Of which model.
    pub model: String,
}

/// The table that the house comes with.
const LISTED: &str = include_str!("prices.toml");

impl Default for Prices {
    fn default() -> Self {
        // A test reads it: a table that is broken is not built.
        Prices(toml::from_str(LISTED).unwrap_or_default())
    }
}

impl Prices {
    /// The listed prices, with others before them.
    pub fn with(own: BTreeMap<String, Price>) -> Result<Prices, BadPrice> {
        let mut prices = Prices::default();
        for (model, price) in own {
            if !price.is_sane() {
                return Err(BadPrice { model });
            }
            prices.0.insert(model, price);
        }
        Ok(prices)
    }

    /// What a model costs, if anybody says: by its name, its name without a date, or without who sells it.
    pub fn of(&self, model: &str) -> Option<&Price> {
        let alone = model.rsplit('/').next().unwrap_or(model);
        [model, alone].into_iter().find_map(|name| self.0.get(name).or_else(|| self.0.get(undated(name))))
    }
}

/// `claude-sonnet-4-5-20250929`, `gpt-4o-2024-08-06` and `gpt-5-latest` without their ends.
fn undated(name: &str) -> &str {
    if let Some(name) = name.strip_suffix("-latest") {
        return name;
    }
    let digits = name.bytes().rev().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
    // Where the name itself has digits before the date, only the date's length is taken off.
    for length in ["-20250101".len(), "-2025-01-01".len()] {
        let Some(place) = name.len().checked_sub(length).filter(|_| digits >= length) else { continue };
        let (name, date) = name.split_at(place);
        let is_date = date.starts_with("-20") && date.bytes().filter(u8::is_ascii_digit).count() == 8;
        if is_date && (length == 9) == (date.matches('-').count() == 1) {
            return name;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listed_prices_are_all_sane() {
        let listed: BTreeMap<String, Price> = toml::from_str(LISTED).unwrap();
        assert!(listed.len() > 20 && listed.values().all(Price::is_sane));
    }

    #[test]
    fn a_model_is_found_by_its_name_with_a_date_and_behind_its_seller() {
        let prices = Prices::default();
        for (name, input) in [
            ("claude-sonnet-4-5", Some(3.0)),
            ("claude-sonnet-4-5-20250929", Some(3.0)),
            ("claude-opus-4-20250514", Some(15.0)),
            ("claude-3-7-sonnet-latest", Some(3.0)),
            ("gpt-4o-2024-08-06", Some(2.5)),
            ("openai/gpt-5-mini", Some(0.25)),
            ("gpt-5-mini-turbo", None),
            ("claude-sonnet-4-5-99", None),
            ("", None),
            ("llama-3", None),
        ] {
            assert_eq!(prices.of(name).map(|price| price.input), input, "{name}");
        }
    }

    #[test]
    fn what_people_write_goes_before_what_is_listed() {
        let price = Price { input: 9.0, output: 9.0, cache_read: None, cache_write: None, cache_write_hour: None };
        let prices = Prices::with([("gpt-5".to_owned(), price)].into()).unwrap();
        assert_eq!(prices.of("gpt-5").unwrap().input, 9.0);
        let bad = Price { input: -1.0, ..price };
        assert!(Prices::with([("gpt-5".to_owned(), bad)].into()).is_err());
    }
}
