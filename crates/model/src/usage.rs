//! What models cost: tokens, prices, and money counted in millionths of a dollar.
//!
//! Money is a whole number, so that a thousand small requests add up to exactly what they cost.

use std::{fmt, ops::Add, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;

use crate::{AgentId, ProviderName, SandboxId, TaskId};

/// The two languages in which models are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Messages, as Anthropic has them.
    Anthropic,
    /// Chat completions and responses, as OpenAI has them. Most servers of local models speak it.
    Openai,
}

/// Tokens that a request took, each counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Tokens {
    /// Read by the model, and found in no cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Put into the cache, for however long.
    pub cache_write: u64,
    /// Those of them that were put there for an hour, which costs more.
    #[serde(skip)]
    pub cache_write_hour: u64,
}

/// Money, in millionths of a dollar. Outside it is written in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, ToSchema)]
#[schema(value_type = f64, minimum = 0)]
pub struct Dollars(i64);

/// What a million tokens cost, in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// What the model reads.
    pub input: f64,
    /// What it writes.
    #[serde(default)]
    pub output: f64,
    /// What it reads from the cache; as `input` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// What is put into the cache; as `input` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// What is put there for an hour; as `cache_write` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_hour: Option<f64>,
}

/// One request to a model, as its row remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// When it was asked.
    pub at: Timestamp,
    /// The task on whose behalf.
    pub task_id: Option<TaskId>,
    /// The session on whose behalf.
    pub session_id: Option<String>,
    /// The sandbox that asked.
    pub sandbox_id: Option<SandboxId>,
    /// The agent that asked.
    pub agent: Option<AgentId>,
    /// Who answered.
    pub provider: ProviderName,
    /// The model, as the answer names it.
    pub model: String,
    /// What it took.
    pub tokens: Tokens,
    /// What it cost; unknown when nobody says what the model costs.
    pub cost: Option<Dollars>,
    /// Whether the tokens were guessed from the length of what was said, because the answer was cut or did not count.
    pub is_estimated: bool,
    /// The status of the answer.
    pub status: u16,
    /// How long it took, until the last byte.
    pub took_ms: u64,
}

impl Tokens {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Tokens::default()
    }
}

impl Add for Tokens {
    type Output = Tokens;
    fn add(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_hour: self.cache_write_hour.saturating_add(other.cache_write_hour),
        }
    }
}

impl Price {
    /// What these tokens cost. A dollar for a million tokens is a millionth of a dollar for one.
    pub fn of(&self, tokens: &Tokens) -> Dollars {
        let cache_write = self.cache_write.unwrap_or(self.input);
        let (for_an_hour, usual) =
            (tokens.cache_write_hour, tokens.cache_write.saturating_sub(tokens.cache_write_hour));
        let parts = [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read.unwrap_or(self.input)),
            (usual, cache_write),
            (for_an_hour, self.cache_write_hour.unwrap_or(cache_write)),
        ];
        let micros: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        Dollars::from_micros(micros.round() as i64)
    }

    /// Whether every number in it is one that a price can be.
    pub fn is_sane(&self) -> bool {
        let all = [Some(self.input), Some(self.output), self.cache_read, self.cache_write, self.cache_write_hour];
        all.into_iter().flatten().all(|price| (0.0..=100_000.0).contains(&price))
    }
}

impl Dollars {
    /// Nothing.
    pub const ZERO: Dollars = Dollars(0);
    const RULE: &str = "an amount is a number of dollars from 0 to 1000000";

    /// So many millionths; what is below zero is zero.
    pub fn from_micros(micros: i64) -> Dollars {
        Dollars(micros.max(0))
    }

    /// An amount that somebody wrote, when it makes sense.
    pub fn new(dollars: f64) -> Option<Dollars> {
        (0.0..=1_000_000.0).contains(&dollars).then(|| Dollars((dollars * 1e6).round() as i64))
    }

    /// In millionths.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// A share of it, in hundredths.
    pub fn percent(self, percent: i64) -> Dollars {
        Dollars((i128::from(self.0) * i128::from(percent) / 100) as i64)
    }
}

impl Add for Dollars {
    type Output = Dollars;
    fn add(self, other: Dollars) -> Dollars {
        Dollars(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Dollars {
    /// To the cent, and finer where a cent is too much.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.0 as f64 / 1e6;
        if self.0 % 10_000 == 0 { write!(f, "${dollars:.2}") } else { write!(f, "${dollars:.4}") }
    }
}

impl FromStr for Dollars {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, &'static str> {
        text.trim().trim_start_matches('$').parse().ok().and_then(Dollars::new).ok_or(Dollars::RULE)
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e6)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Dollars::new(f64::deserialize(deserializer)?).ok_or_else(|| de::Error::custom(Dollars::RULE))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRICE: Price =
        Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75), cache_write_hour: Some(6.0) };

    #[test]
    fn each_kind_of_token_has_its_price() {
        let tokens = Tokens { input: 1000, output: 100, cache_read: 10_000, cache_write: 300, cache_write_hour: 100 };
        // 3000 + 1500 + 3000 + 200 · 3.75 + 100 · 6
        assert_eq!(PRICE.of(&tokens).micros(), 8850);
        let plain = Price { input: 2.0, output: 8.0, cache_read: None, cache_write: None, cache_write_hour: None };
        assert_eq!(plain.of(&tokens).micros(), 2000 + 800 + 20_000 + 600);
    }

    #[test]
    fn money_is_read_and_written_in_dollars() {
        let amount: Dollars = serde_json::from_str("2.5").unwrap();
        assert_eq!((amount.micros(), serde_json::to_string(&amount).unwrap().as_str()), (2_500_000, "2.5"));
        assert_eq!(amount.percent(80).to_string(), "$2.00");
        assert_eq!(Dollars::from_micros(1234).to_string(), "$0.0012");
        assert_eq!("$1.5".parse::<Dollars>().unwrap().micros(), 1_500_000);
        for bad in ["-1", "NaN", "1e9", "\"1\""] {
            assert!(serde_json::from_str::<Dollars>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_count_however_large_makes_money_out_of_nothing(input: u64, output: u64, read: u64, write: u64) {
            let tokens = Tokens { input, output, cache_read: read, cache_write: write, cache_write_hour: write };
            prop_assert!(PRICE.of(&tokens) >= Dollars::ZERO);
            prop_assert!(PRICE.of(&(tokens + tokens)) >= PRICE.of(&tokens));
        }
    }
}
