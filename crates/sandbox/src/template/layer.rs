//! The names of layers.

use std::{fmt, str::FromStr};

use carrel_model::{CommitId, Malformed};
use serde::{Deserialize, Serialize};

/// Names a layer: `sha256-` and 64 hexadecimal digits for one that is known by what it holds, `snap-` and 32 for one
/// that nobody has read (the files of a sandbox, kept as they were), `tree-`, 40 digits and perhaps a user's number for
/// a checkout of git's, which lies elsewhere.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LayerId(String);

impl LayerId {
    /// The rule that every name of this kind follows.
    pub const RULE: &'static str =
        "a layer id is `sha256-` and 64 hexadecimal digits, `snap-` and 32, or `tree-`, 40 and perhaps a user";

    /// The name of a layer that nobody has read, from random bytes.
    pub fn snapshot(random: [u8; 16]) -> Self {
        LayerId(format!("snap-{}", hex::encode(random)))
    }

    /// The name of a layer with this digest.
    pub(crate) fn of_digest(digest: [u8; 32]) -> Self {
        LayerId(format!("sha256-{}", hex::encode(digest)))
    }

    /// The name as text; also the name of its folder.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of a checkout, by its tree and whose its files are.
    pub fn checkout(tree: &CommitId, owner: Option<u32>) -> Self {
        LayerId(owner.map_or_else(|| format!("tree-{tree}"), |owner| format!("tree-{tree}-{owner}")))
    }

    /// Whether it is a checkout.
    pub fn is_checkout(&self) -> bool {
        self.0.starts_with("tree-")
    }

    /// Whether it was the upper of a sandbox.
    pub fn is_snapshot(&self) -> bool {
        self.0.starts_with("snap-")
    }

    /// Whether the name is a digest of what the layer holds.
    pub fn is_digest(&self) -> bool {
        self.0.starts_with("sha256-")
    }
}

impl TryFrom<String> for LayerId {
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
        if let Some(rest) = text.strip_prefix("tree-") {
            let (tree, owner) = rest.split_once('-').map_or((rest, None), |(tree, owner)| (tree, Some(owner)));
            let good = owner.is_none_or(|owner| owner.parse::<u32>().is_ok_and(|number| number.to_string() == owner));
            return match tree.parse::<CommitId>() {
                Ok(_) if good => Ok(LayerId(text)),
                _ => Err(Malformed { rule: Self::RULE }),
            };
        }
        let digits = match (text.strip_prefix("sha256-"), text.strip_prefix("snap-")) {
            (Some(digits), _) if digits.len() == 64 => digits,
            (_, Some(digits)) if digits.len() == 32 => digits,
            _ => return Err(Malformed { rule: Self::RULE }),
        };
        if digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(LayerId(text))
        } else {
            Err(Malformed { rule: Self::RULE })
        }
    }
}

impl FromStr for LayerId {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        text.to_owned().try_into()
    }
}

impl From<LayerId> for String {
    fn from(id: LayerId) -> String {
        id.0
    }
}

impl fmt::Display for LayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LayerId({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_id_is_never_a_path() {
        let digest = LayerId::of_digest([7; 32]);
        assert_eq!(digest.as_str().parse(), Ok(digest.clone()));
        assert!(digest.is_digest());
        let snapshot = LayerId::snapshot([9; 16]);
        assert_eq!(snapshot.as_str().parse(), Ok(snapshot.clone()));
        assert!(!snapshot.is_digest());

        let tree = LayerId::checkout(&"a".repeat(40).parse().expect("a tree"), Some(1000));
        assert_eq!(tree.as_str().parse(), Ok(tree.clone()));
        assert!(tree.is_checkout() && !tree.is_digest() && !tree.is_snapshot());

        let upper = digest.as_str().to_uppercase();
        let long = format!("{digest}0");
        for text in
            ["", "sha256-", "sha256-../../etc", "snap-..", "../x", "sha256", "tree-", "tree-../..", &upper, &long]
        {
            assert!(text.parse::<LayerId>().is_err(), "{text}");
        }
        let hidden = format!("\"sha256-{}\"", "/".repeat(64));
        assert!(serde_json::from_str::<LayerId>(&hidden).is_err());
    }
}
