//! Values of the configuration that are more than a number or a text.

use std::{collections::BTreeMap, fmt};

use carrel_model::TemplateName;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A secret: it is read and used, and prints itself nowhere.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hidden(String);

impl Hidden {
    /// The secret, if there is one.
    pub(crate) fn reveal(&self) -> Option<&str> {
        Some(self.0.trim()).filter(|text| !text.is_empty())
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Hidden(empty)" } else { "Hidden(…)" })
    }
}

impl Serialize for Hidden {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.0.is_empty() { "" } else { "(hidden)" })
    }
}

/// Other names for templates: a table in the file, `ours=theirs,…` in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Renamed(pub(crate) BTreeMap<TemplateName, String>);

impl Serialize for Renamed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<_> = self.0.iter().map(|(ours, theirs)| format!("{ours}={theirs}")).collect();
        serializer.serialize_str(&pairs.join(","))
    }
}

impl<'de> Deserialize<'de> for Renamed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Table(BTreeMap<String, String>),
            Text(String),
        }
        let pairs: Vec<(String, String)> = match Written::deserialize(deserializer)? {
            Written::Table(table) => table.into_iter().collect(),
            Written::Text(text) => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                let pair = |word: &str| {
                    let (ours, theirs) = word.split_once('=')?;
                    Some((ours.trim().to_owned(), theirs.trim().to_owned()))
                };
                let pairs: Option<Vec<_>> = words.map(pair).collect();
                pairs.ok_or_else(|| D::Error::custom("expected `ours=theirs`, with commas in between"))?
            }
        };
        let good = |(ours, theirs): (String, String)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
            if theirs.is_empty() || theirs.len() > 256 || !theirs.chars().all(plain) {
                return Err(D::Error::custom(format!("`{theirs}` is not the name of a template at E2B")));
            }
            Ok((ours.parse::<TemplateName>().map_err(D::Error::custom)?, theirs))
        };
        pairs.into_iter().map(good).collect::<Result<_, _>>().map(Renamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_a_table_and_from_a_line() {
        let table: Renamed =
            toml::from_str::<toml::Table>("host = \"base\"\npy = \"team/py:3\"").unwrap().try_into().unwrap();
        let line: Renamed = serde_json::from_value("host=base, py=team/py:3".into()).unwrap();
        assert_eq!(table, line);
        assert_eq!(serde_json::to_value(&line).unwrap(), "host=base,py=team/py:3");
        for bad in ["host", "HOST=base", "host=", "host=a b", "=base"] {
            assert!(serde_json::from_value::<Renamed>(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_hidden_is_not_shown() {
        let hidden: Hidden = serde_json::from_value("e2b_secret".into()).unwrap();
        assert_eq!(hidden.reveal(), Some("e2b_secret"));
        assert!(!format!("{hidden:?} {}", serde_json::to_value(&hidden).unwrap()).contains("e2b_secret"));
    }
}
