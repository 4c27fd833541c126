//! Secrets, as the outside sees them: names, never values.

use std::fmt;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;

use crate::{KeyId, RepoName, SecretName, secret::Secret};

/// A secret. Its value is never shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretView {
    /// What it is called.
    pub name: SecretName,
    /// The repository it is for; the whole house when there is none.
    pub repo: Option<RepoName>,
    /// When it was first set.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When its value was last set.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// Who set it.
    pub updated_by: KeyId,
    /// Counts the values it had.
    pub revision: i64,
}

impl From<&Secret> for SecretView {
    fn from(secret: &Secret) -> Self {
        SecretView {
            name: secret.name.clone(),
            repo: secret.repo.clone(),
            created_at: secret.created_at,
            updated_at: secret.updated_at,
            updated_by: secret.updated_by.clone(),
            revision: secret.revision,
        }
    }
}

/// Sets a secret, or gives it a new value.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSecret {
    /// What it is called.
    pub name: SecretName,
    /// The repository it is for; the whole house when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoName>,
    /// Its value. It can be replaced, and never read again.
    #[schema(value_type = String, write_only, min_length = 1, max_length = 65536)]
    pub value: SecretText,
}

/// The value of a secret on its way in. It does not print itself and leaves nothing in memory when it goes.
#[derive(Clone)]
pub struct SecretText(SecretString);

impl SecretText {
    /// The longest value.
    pub const MOST_BYTES: usize = 64 * 1024;

    /// Takes a value, if it is one.
    pub fn new(text: String) -> Result<SecretText, &'static str> {
        match text.len() {
            0 => Err("a secret is not empty"),
            1..=Self::MOST_BYTES if !text.contains('\0') => Ok(SecretText(text.into())),
            1..=Self::MOST_BYTES => Err("a secret has no NUL in it"),
            _ => Err("a secret is at most 64 KiB long"),
        }
    }

    /// The value, to be sealed.
    pub fn into_secret(self) -> SecretString {
        self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

impl Serialize for SecretText {
    /// For the client that sends it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose_secret())
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SecretText::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_on_its_way_in_prints_nothing_of_itself() {
        let new: NewSecret = serde_json::from_str(r#"{"name": "github-token", "value": "hunter2"}"#).unwrap();
        assert!(!format!("{new:?}").contains("hunter2"));
        for bad in [
            r#"{"name": "github-token", "value": ""}"#,
            r#"{"name": "github-token", "value": 1}"#,
            r#"{"name": "../x", "value": "y"}"#,
            r#"{"name": "x", "value": "a\u0000b"}"#,
            r#"{"name": "x", "value": "y", "extra": 1}"#,
        ] {
            let error = serde_json::from_str::<NewSecret>(bad).unwrap_err().to_string();
            assert!(!error.is_empty(), "{bad}");
        }
        assert!(SecretText::new("x".repeat(SecretText::MOST_BYTES + 1)).is_err());
    }
}
